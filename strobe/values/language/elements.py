"""Single elements of containers, and whether something is there: `first(v)`, `last(v)`, `v contains x`, `has(x)`."""

from __future__ import annotations

from strobe.dataclass import replace
from strobe.errors import StrobeError
from strobe.expressions import syntax
from strobe.expressions.integers import Kind
from strobe.expressions.parser import parse
from strobe.expressions.syntax import ExpressionError
from strobe.expressions.syntax import Literal as Quoted
from strobe.symbols.types.model import Array, Pointer, Record
from strobe.symbols.types.texts import points_to_text, text_object
from strobe.values.decode.shaping import character_width
from strobe.values.language import terms
from strobe.values.language.loading import characters, rows_of, size_of
from strobe.values.language.loops import WithLoops, nodes_of, parts_of_entry
from strobe.values.language.roots import Roots
from strobe.values.language.terms import Float, Literal, Number, Row, Term, Text, constant, joined, set_variable, steps
from strobe.values.language.texts import by_thread_name, data_steps
from strobe.values.lookup import expression as paths
from strobe.values.lookup.locations import ValueLocation
from strobe.values.lookup.scope import Scope, UnknownName
from strobe.values.memory.recipes import Recipe
from strobe.values.printers.inside import Walk, walk_of

_ENDS = ("first", "last")
_ELEMENT = "(element)"
_SPARE = 0  # as the compiler has it


class Complete(WithLoops):
    """All that there is."""

    def __init__(self, scope: Scope, roots: Roots, entry: Roots | None = None) -> None:
        super().__init__(scope, roots, entry)
        self._expanding: list[str] = []  # macros

    def value(self, node: syntax.Expression) -> Term:
        """As Compiler.value."""
        match node:
            case syntax.Name(name=name) if not name.startswith("$"):
                return self._named(node)
            case syntax.Call(name="has", of=of):
                return self._has(of)
            case syntax.Call(name=name) if name in _ENDS:
                return self._read(node)
            case syntax.Binary(sign="matches") if not _is_of_entry(node.left):
                return self._matched(node)
            case syntax.Binary(sign="contains"):
                membership = self._membership(node)
                return super().value(node) if membership is None else self.quantified(membership)
        return super().value(node)

    def _named(self, node: syntax.Name) -> Term:
        """A name that nothing else has may be a macro's."""
        try:
            return super().value(node)
        except UnknownName:
            texts = self.scope.macro(node.name)
            if not texts:
                raise
        if len(texts) > 1:
            shown = " and as ".join(f"'{one}'" for one in sorted(texts)[:3])
            raise ExpressionError(node.at, f"the macro {node.name} is defined as {shown}", length=len(node.name))
        (text,) = texts
        if node.name in self._expanding:
            raise ExpressionError(node.at, f"the macro {node.name} stands for itself", length=len(node.name))
        self._expanding.append(node.name)
        try:
            return self.value(parse(text))
        except (ExpressionError, UnknownName) as error:
            why = error.reason if isinstance(error, ExpressionError) else error.message.rstrip(".")
            reason = f"the macro {node.name} stands for '{text[:60]}', which is no value here: {why}"
            raise ExpressionError(node.at, reason, length=len(node.name)) from error
        finally:
            self._expanding.pop()

    def path(self, node: syntax.Expression) -> paths.Expression:
        """The first or the last element of a container as well."""
        if not isinstance(node, syntax.Call) or node.name not in _ENDS:
            return super().path(node)
        location = self.location(node.of)
        walk = None if location.is_value else walk_of(location.type, self.scope.printers)
        if walk is not None:
            return self._end_of_walk(node, location, walk)
        if node.name == "first":
            return paths.Computed(self.path(node.of), constant(0).rows, _SPARE, "0")
        if isinstance(location.type.bare, Pointer):
            raise ExpressionError(node.of.at, "a pointer does not say how many there are", "p[n - 1]")
        if text_object(location.type) is None and characters(location) is not None:
            raise ExpressionError(node.of.at, "the length of a text in an array is not computed here", "name[3]")
        size = size_of(location, self.scope.printers, node.of.at)
        return paths.Computed(self.path(node.of), joined("MINUS", size, constant(1)).rows, _SPARE, "size - 1")

    def _end_of_walk(self, node: syntax.Call, location: ValueLocation, walk: Walk) -> paths.Expression:
        """The node that a loop over all of them has come to first, or last."""
        with self.variables(2, node.at) as (found, where):
            before, each, _ = nodes_of(location, walk, where)
            leave = (*constant(1).rows, *steps(("LEAVE", 0, 0, 0))) if node.name == "first" else ()
            code = (
                *set_variable(found, terms.failing("it has no elements")),
                *before,
                *each,
                *set_variable(found, terms.variable(where)),
                *leave,
                *steps(("NEXT", 0, 0, 0)),
                *set_variable(found, terms.known(terms.variable(found), Number(steps(("LOCATION", 0, 0, 0))))),
            )

        def make() -> ValueLocation:
            made = ValueLocation(Recipe(list(code)), walk.type)
            made.refused |= {at: row.reason for at, row in enumerate(code) if isinstance(row, Row)}
            made.recipe.base(0)
            made.recipe.code += terms.variable(found).rows
            made.recipe.go()
            return made

        return paths.Bound(f"{node.name}(…)", make)

    def _matched(self, node: syntax.Binary) -> Number:
        """Whether a regular expression finds a text, by a table that the recipe has."""
        from strobe.expressions.normal import checked_regex
        from strobe.values.language.automata import NotTaken, table_of

        node = by_thread_name(node)
        of, right = node.left, node.right
        if not isinstance(right, Quoted) or not isinstance(right.value, str):
            reason = "'matches' needs a quoted regular expression on its right"
            raise ExpressionError(right.at, reason, 'name matches "^till-[0-9]$"')
        regex, left = checked_regex(right.value, right.at), self.value(of)
        if isinstance(left, Literal):
            found = regex.finds(left.data.decode("utf-8", "surrogateescape"))
            return replace(constant(int(found), Kind.INT), is_truth=True)
        if not isinstance(left, Text):
            raise ExpressionError(node.at, "'matches' needs a text on its left")
        try:
            table = table_of(right.value)
        except NotTaken as error:
            reason = f"in the program this regular expression is not calculated: {error}"
            hint = "contains, startswith, endswith; or ask debug_query's `where` of what was recorded"
            raise ExpressionError(right.at, reason, hint) from error
        test = steps(("MATCH_TEXT", 0, len(table), left.most), *data_steps(table))
        return Number((*left.rows, *test), height=2, is_truth=True)

    def _membership(self, node: syntax.Binary) -> syntax.Quantifier | None:
        """`any(x in v: x == y)` of a container, of a map by its keys; None of a text."""
        try:
            location = self.location(node.left)
        except (ExpressionError, StrobeError):
            return None
        plain = location.type.bare
        is_text = points_to_text(location.type) == 1 or text_object(location.type) is not None
        is_text = is_text or (isinstance(plain, Array) and character_width(plain.element) == 1)
        if location.is_value or is_text or not isinstance(plain, Array | Record):
            return None
        walk = walk_of(location.type, self.scope.printers)
        names = None if walk is None else parts_of_entry(walk.type)
        element: syntax.Expression = syntax.Name(node.at, _ELEMENT)
        if names is not None:
            element = syntax.Member(node.at, element, names[0], "")
        body = syntax.Binary(node.right.at, "==", element, node.right)
        return syntax.Quantifier(node.at, "any", _ELEMENT, node.left, None, body)

    def _has(self, of: syntax.Expression) -> Number:
        """Whether it has a value: no null pointer on the way, an optional that holds one, a variant that is there."""
        number, must_hold = self._there(of)
        with self.variables(1, of.at) as (there,):
            test = number if must_hold else joined("BIT_OR", number, constant(1))
            code = (
                *test.rows,
                *set_variable(there, constant(0)),  # behind what may use the same variable
                *steps(("WHEN", 0, 2, 0)),
                *set_variable(there, constant(1)),
                *terms.variable(there).rows,
            )
        return Number(code, terms.INT, test.height + 1, is_truth=True)

    def _there(self, of: syntax.Expression) -> tuple[Number, bool]:
        """A number that is bad where it is not there; and whether it is not where that is 0."""
        try:
            term = terms.as_number(self.value(of))
        except ExpressionError:
            location = self.location(of)  # of what has no number
            return Number((*rows_of(location), *steps(("LOCATION", 0, 0, 0)))), False
        match term:
            case Literal():
                return constant(1), False
            case Text():
                return Number((*term.rows, *steps(("TEST_TEXT", 0, 0, term.most))), height=2), False
            case Float():
                return terms.is_not_zero(term), False
        is_optional = term.is_truth and isinstance(of, syntax.Name | syntax.Member | syntax.Element)
        return term, is_optional and isinstance(self.location(of).type.bare, Record)


def _is_of_entry(node: syntax.Expression) -> bool:
    """Whether it is calculated at the entry, with what it is compared with."""
    return isinstance(node, syntax.Call) and node.name == "$entry"
