"""From the syntax tree to terms: the only module that says what an expression means in the program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import TypeAlias

from strobe import _abi
from strobe.dataclass import dataclass, field, replace
from strobe.errors import StrobeError
from strobe.expressions import syntax
from strobe.expressions.integers import Kind
from strobe.expressions.syntax import ExpressionError
from strobe.symbols.select.nearest import nearest_names
from strobe.symbols.types.model import Pointer as PointerType
from strobe.values.language import terms
from strobe.values.language.callers import called_by, named_caller
from strobe.values.language.loading import characters, loaded, size_of
from strobe.values.language.roots import CALLER, FACTS, HIT, OF_PLACE, RETURN, SPECIAL, TIME, Roots, session_time
from strobe.values.language.terms import Float, Literal, Number, Row, Term, Text, constant, joined, steps
from strobe.values.language.texts import TEXT_SIGNS, by_thread_name, compared_texts, text_of_entry, thread_name_rows
from strobe.values.lookup import expression as paths
from strobe.values.lookup.locations import ValueLocation, location_of
from strobe.values.lookup.scope import Module, Scope, UnknownName
from strobe.values.memory.recipes import CONSTANTS, decoded_steps

_LITERAL_BYTES = CONSTANTS["MAX_LITERAL"]
_MOST_VARIABLES = CONSTANTS["MAX_VARIABLES"]
_WORD = (1 << 64) - 1
_NAME_BYTES = 16  # of a thread
_SPARE = 0  # the variable for an index while its element is looked for
_MEMORY = paths.Cast(paths.Number(0), "u8", 1)  # of which a calculated address is the element's number
UNKNOWN_BLOCK = 0xFFFF  # stands for the number of what was kept at the entry, until that is known
_NO_FLOATS = "an integer is needed here, not a floating-point number"
_NOT_KEPT = "<not kept: the call began before this was asked for, or there was no room>"

Binding: TypeAlias = Number | Callable[[], ValueLocation]
"""What a quantifier's variable is: a number, or where the element lies."""


@dataclass
class Kept:
    """What a return asks for of the entry: the rows of each number, in the order in which they are kept."""

    numbers: list[Number | Float] = field(default_factory=list)


class Compiler(ABC):
    """Of one expression. `entry`: the roots at the entry of the call, where the expression is about its return."""

    def __init__(self, scope: Scope, roots: Roots, entry: Roots | None = None) -> None:
        self.scope = scope
        self.roots = roots
        self._entry = entry
        self._bound: dict[str, Binding] = {}
        self._used = 1
        self._at_return = entry is not None
        self.kept = Kept()

    # --- terms

    def truth(self, node: syntax.Expression) -> Number:
        """0 where it does not hold: the recipe's steps take any other number for true."""
        value = terms.as_number(self.value(node))
        if isinstance(value, Float):
            return terms.is_not_zero(value)
        if isinstance(value, Number):
            return value
        raise ExpressionError(node.at, "a text is not a condition", 'name == "x", name contains "x"')

    def number(self, node: syntax.Expression) -> Number:
        """Raises ExpressionError for what is none."""
        value = self.value(node)
        if isinstance(value, Number):
            return value
        if isinstance(value, Float):
            raise ExpressionError(node.at, _NO_FLOATS, "(int64_t)x")
        raise self._no_number(node, value)

    def numeric(self, node: syntax.Expression) -> Number | Float:
        """Raises ExpressionError for what is no number of either kind."""
        value = terms.as_number(self.value(node))
        if isinstance(value, Number | Float):
            return value
        raise self._no_number(node, value)

    def _no_number(self, node: syntax.Expression, value: Term) -> ExpressionError:
        is_of_program = isinstance(value, Text)
        reason = "a text is not a number" if is_of_program else "a number is needed here, not a text"
        return ExpressionError(node.at, reason)

    def value(self, node: syntax.Expression) -> Term:
        """What it gives. Raises ExpressionError, and UnknownName for a name that nothing has."""
        match node:
            case syntax.Literal():
                return _literal(node)
            case syntax.Name(name=name) if isinstance(bound := self._bound.get(name), Number):
                return bound
            case syntax.Name(name=name) if name.startswith("$") and name != RETURN:
                return self._fact(node)
            case syntax.PointerCast() if syntax.is_null(node):
                return constant(0, Kind.UNSIGNED_LONG, is_address=True)
            case syntax.Unary(sign="*" | "&") | syntax.PointerCast():
                return self._read(node)
            case syntax.Name() | syntax.Member() | syntax.Element():
                return self._read(node)
            case syntax.Unary(sign=sign, of=of):
                return self._unary(sign, of)
            case syntax.Binary():
                return self._binary(node)
            case syntax.Choice(condition=test, yes=yes, no=no):
                return terms.chosen_of(self.truth(test), self.numeric(yes), self.numeric(no))
            case syntax.Cast(type=kind, of=of):
                return terms.cast(kind, self.numeric(of))
            case syntax.Call():
                return self._call(node)
            case syntax.Quantifier():
                return self.quantified(node)
            case syntax.Slice():
                return self._part_of_text(node)
        raise ExpressionError(
            node.at, "this cannot be evaluated in the program", "a comparison of arguments, variables"
        )

    @abstractmethod
    def quantified(self, node: syntax.Quantifier) -> Number | Float:
        """`any(x in v: …)` and its kin; see loops."""

    def _part_of_text(self, node: syntax.Slice) -> Text:
        """`p[0..n]` of characters."""
        location = self.location(node.of)
        begin = characters(location)
        if begin is None:
            reason = f"it is {location.type.name}, and only a part of a text is a value"
            raise ExpressionError(node.at, reason, "p[3], ((char*)p)[0..n], any(x in p[0..n]: x > 0)")
        first = constant(0) if node.first is None else self.number(node.first)
        is_counted = not isinstance(location.type.bare, PointerType) and not location.is_flexible
        size = self._size(node.of) if is_counted else None
        end = size if node.end is None else self.number(node.end)
        if end is None:
            what = (
                "a pointer"
                if isinstance(location.type.bare, PointerType)
                else f"{location.type.name} at the end of a struct"
            )
            raise ExpressionError(node.of.at, f"{what} does not say how many there are", "p[0..n]")
        length = terms.chosen(terms.precedes(first, end), joined("MINUS", end, first), constant(0))
        if size is not None:
            length = terms.chosen(terms.precedes(size, end), terms.failing("it has fewer characters"), length)
        return Text((*length.rows, *joined("PLUS", begin, first).rows, *steps(("GO", 0, 0, 0))), 0)

    def _size(self, node: syntax.Expression) -> Number:
        return size_of(self.location(node), self.scope.printers, node.at)

    def _unary(self, sign: str, of: syntax.Expression) -> Number | Float:
        if sign == "!":
            return terms.opposite(self.truth(of))
        number = self.numeric(of)
        if isinstance(number, Float):
            if sign == "~":
                raise ExpressionError(of.at, _NO_FLOATS, "(int64_t)x")
            return terms.negative(number) if sign == "-" else number
        if sign == "-":
            return terms.negated(number)
        return number if sign == "+" else terms.inverted(number)

    def _call(self, node: syntax.Call) -> Term:
        name, of = node.name, node.of
        match name:
            case "size":
                return size_of(self.location(of), self.scope.printers, of.at)
            case "sizeof":
                return self._sizeof(of)
            case "abs":
                number = self.numeric(of)
                if isinstance(number, Float):
                    return terms.magnitude(number)
                is_negative = joined("SIGNED_LESS", number, constant(0), is_truth=True)
                return terms.chosen(is_negative, terms.negated(number), number) if number.kind.is_signed else number
            case "$entry":
                return self._kept(of)
            case "$changed":
                return self.value(syntax.Binary(node.at, "!=", of, syntax.Call(node.at, "$entry", of, node.text)))
            case "any" | "all" | "count" | "min" | "max" | "sum":
                variable = syntax.Name(of.at, "(element)")
                return self.quantified(syntax.Quantifier(node.at, name, "(element)", of, None, variable))
        raise ExpressionError(
            node.at, f"'{name}' cannot be evaluated in the program", "debug_query's `where`", len(name)
        )

    def _sizeof(self, of: syntax.Expression) -> Number:
        try:
            size = self.location(of).type.size
        except UnknownName:
            if not isinstance(of, syntax.Name):
                raise
            size = self.location(syntax.lying_at_null(of.at, of.name)).type.size
        if size is None:
            raise ExpressionError(of.at, "its size is not known")
        return constant(size, Kind.UNSIGNED_LONG)

    def _kept(self, of: syntax.Expression) -> Number | Float:
        """What `of` was at the entry of the call: calculated then, kept, and taken from there at the return."""
        if not self._at_return or self._entry is None:
            function = self.roots.of_place("$function") or "f"
            reason = f"$entry is known at returns: a probe of {function}:return has it, and one of {function} what"
            raise ExpressionError(of.at, f"{reason} the call is given")
        inner = type(self)(self.scope, self._entry)
        value = terms.as_number(inner.value(of))
        if not isinstance(value, Number | Float):
            raise ExpressionError(of.at, "a text of the entry is compared with a text in quotes", '$entry.name == "x"')
        self.kept.numbers.append(value)
        slot = len(self.kept.numbers) - 1
        row = Row(steps(("BEFORE", 0, UNKNOWN_BLOCK, slot))[0], _NOT_KEPT)
        kept = replace(value, rows=(row,), height=1)
        return replace(kept, constant=None) if isinstance(kept, Number) else kept

    # --- variables

    def _fact(self, node: syntax.Name) -> Term:
        """What is known of the moment, or a register."""
        name = node.name
        if name == "$threadName":
            return Text(thread_name_rows(), _NAME_BYTES)
        if name in FACTS:
            return Number(steps(("FACT", 0, FACTS[name], 0)))
        if name == HIT and self.roots.counts_hits:
            return Number(steps(("FACT", 0, _abi.FACT_HIT, 0)))
        if name == TIME:
            return session_time()
        if name in OF_PLACE and (value := self.roots.of_place(name)) is not None:
            return constant(value) if isinstance(value, int) else Literal(value.encode("utf-8", "surrogateescape"))
        if name == CALLER:
            return Number(steps(("FACT", 0, _abi.FACT_CALLER, 0)), Kind.UNSIGNED_LONG)
        try:
            if self.roots.location(name) is not None:
                return self._read(node)
        except StrobeError:
            pass
        near = nearest_names(name, list(SPECIAL)) or list(SPECIAL)
        reason = f"'{name}' is not known here; debug_query's `where` can ask for what was recorded"
        raise ExpressionError(node.at, reason, ", ".join(near), len(name))

    def bound(self, name: str, binding: Binding, within: Callable[[], Term]) -> Term:
        """What `within` gives while the name means that."""
        before = self._bound.get(name)
        self._bound[name] = binding
        try:
            return within()
        finally:
            del self._bound[name]
            if before is not None:
                self._bound[name] = before

    @contextmanager
    def variables(self, count: int, at: int) -> Iterator[range]:
        """Slots of numbers that nothing else uses meanwhile: what is compiled within has others."""
        before = self._used
        if before + count > _MOST_VARIABLES:
            raise ExpressionError(at, "its loops are nested too deeply")
        self._used += count
        try:
            yield range(before, self._used)
        finally:
            self._used = before

    def _read(self, node: syntax.Expression) -> Term:
        location = self.location(node)
        try:
            return loaded(location, self.scope.printers, node.at)
        except StrobeError as error:
            raise ExpressionError(node.at, error.message.rstrip("."), error.next_step) from error

    def location(self, node: syntax.Expression) -> ValueLocation:
        """Where it lies. Raises UnknownName for a name that nothing has, else ExpressionError."""
        try:
            location = location_of(self.path(node), self.scope, call=self.roots)
        except UnknownName:
            raise
        except StrobeError as error:
            raise ExpressionError(node.at, error.message.rstrip("."), error.next_step) from error
        if location.root is not None and not self._stays(location.root):
            library = PurePath(location.root.path).name
            reason = f"it is a variable of {library}, which may be unloaded, and other code asks"
            raise ExpressionError(node.at, reason, "a watch of its name alone")
        return self._of_this_thread(location, node) if location.is_thread_local else location

    def _stays(self, module: Module) -> bool:
        """Whether it is there whenever this is calculated: the program, or the library whose code it is."""
        if module is self.scope.program:
            return True
        own = self.roots.module
        return module.symbols.path == own and [one.symbols.path for one in self.scope.modules()].count(own) == 1

    def _of_this_thread(self, location: ValueLocation, node: syntax.Expression) -> ValueLocation:
        """Of a thread-local variable, found for the main thread: that of the thread which is there."""
        pointer = None if location.root is None else self.scope.thread_pointer(location.root)
        (base, address, _), *_ = decoded_steps(location.recipe)
        if pointer is None or base != "BASE":
            raise ExpressionError(node.at, "the location of this thread-local variable is not known")
        offset = address - pointer
        before = steps(
            ("BASE", 0, 0, 0), ("FACT", 0, _abi.FACT_THREAD_POINTER, 0), ("GO", 0, 0, 0), ("ADD", 0, 0, offset)
        )
        moved = len(before) - 1
        location.recipe.code[:1] = before
        location.dereferenced = {step + moved: text for step, text in location.dereferenced.items()}
        location.refused = {step + moved: text for step, text in location.refused.items()}
        location.is_thread_local = False
        return location

    def location_at(self, of: paths.Expression, index: Number) -> ValueLocation:
        """Where an element of it lies. Raises as `location_of`."""
        return location_of(paths.Computed(of, index.rows, _SPARE, "…"), self.scope, call=self.roots)

    def path(self, node: syntax.Expression) -> paths.Expression:
        """A chain of members as the lookup of variables has it."""
        match node:
            case syntax.Name(name=name) if name in self._bound:
                bound = self._bound[name]
                if isinstance(bound, Number):
                    raise ExpressionError(node.at, f"'{name}' is a number here", length=len(name))
                return paths.Bound(name, bound)
            case syntax.Name(name=name):
                return paths.Name(name)
            case syntax.Member(of=of, name=name):
                return paths.Member(self.path(of), f"__{name}" if name.isdecimal() else name, False)
            case syntax.Element(of=of, index=syntax.Literal(value=int() as index)):
                return paths.Index(self.path(of), index)
            case syntax.Element(of=of, index=index) as node:
                number = self.number(index)
                return paths.Computed(self.path(of), number.rows, _SPARE, in_brackets(node))
            case syntax.Binary(sign="+" | "-" as sign, left=of, right=right):
                number = self.number(right)
                number = number if sign == "+" else joined("MINUS", constant(0), number)
                return paths.AddressOf(paths.Computed(self.path(of), number.rows, _SPARE, "…"))
            case syntax.Unary(sign="*", of=of):
                return paths.Dereference(self.path(of))
            case syntax.Unary(sign="&", of=of):
                return paths.AddressOf(self.path(of))
            case syntax.PointerCast(of=syntax.Literal(value=int() as address) as of, type=name, stars=stars):
                _check_word(of.at, address)
                return paths.Cast(paths.Number(address), name, stars)
            case syntax.PointerCast(of=of, type=name, stars=stars):
                return paths.Cast(self._address(of), name, stars)
        raise ExpressionError(node.at, "a variable is needed here", "node->next->value")

    def _address(self, node: syntax.Expression) -> paths.Expression:
        """What is cast to a pointer: a variable, or a number that is calculated, as in `*(u64*)((u64)p + 8)`."""
        try:
            return self.path(node)
        except ExpressionError:
            return paths.AddressOf(paths.Computed(_MEMORY, self.number(node).rows, _SPARE, "…"))

    # --- operators

    def _binary(self, node: syntax.Binary) -> Term:
        sign = node.sign
        if sign in ("&&", "||"):
            name = "AND" if sign == "&&" else "OR"
            return joined(name, terms.truth(self.truth(node.left)), terms.truth(self.truth(node.right)), is_truth=True)
        if (at_entry := text_of_entry(node)) is not None:
            return self._kept(at_entry)
        if (callers := named_caller(node)) is not None:
            return called_by(node, self.number(callers[0]), callers[1], self.scope.program)
        left, right = self._operands(by_thread_name(node))
        if isinstance(left, Number):
            right = terms.as_number(right)
        if isinstance(right, Number):
            left = terms.as_number(left)
        if isinstance(left, Text | Literal) or isinstance(right, Text | Literal):
            return compared_texts(node, left, right)
        if sign in terms.COMPARISONS:
            return terms.compared(sign, left, right)
        if sign in TEXT_SIGNS:
            raise ExpressionError(node.at, f"'{sign}' needs a text on its left")
        if (moved := self._moved(node, left, right)) is not None:
            return moved
        if isinstance(left, Float) or isinstance(right, Float):
            return terms.calculated_floats(sign, left, right, node.at)
        return terms.calculated(sign, left, right, node.at)

    def _moved(self, node: syntax.Binary, left: Term, right: Term) -> Number | None:
        """Pointers count in what they point to, as in C; None where there is none."""
        if node.sign not in ("+", "-") or not isinstance(left, Number) or not isinstance(right, Number):
            return None
        of = self._target_size(node.left) if left.is_address else None
        other = self._target_size(node.right) if right.is_address else None
        if of is not None and other is not None and node.sign == "-":
            return joined("SIGNED_DIVIDED", joined("MINUS", left, right), constant(of))
        if of is not None and other is None:
            name = "PLUS" if node.sign == "+" else "MINUS"
            found = joined(name, left, joined("TIMES", right, constant(of)))
        elif other is not None and of is None and node.sign == "+":
            found = joined("PLUS", joined("TIMES", left, constant(other)), right)
        else:
            return None
        return replace(found, kind=Kind.UNSIGNED_LONG, is_address=True)

    def _target_size(self, node: syntax.Expression) -> int | None:
        """Of what a pointer points to; None of what is none. Of void it is 1, as gcc has it."""
        kept = len(self.kept.numbers)
        try:
            plain = self.location(node).type.bare
        except (StrobeError, ExpressionError):  # it is calculated in another way
            return None
        finally:
            del self.kept.numbers[kept:]
        return (plain.target.bare.size or 1) if isinstance(plain, PointerType) else None

    def _operands(self, node: syntax.Binary) -> tuple[Term, Term]:
        """A name on one side may be an enumerator of the other's type."""
        for first, second, is_swapped in ((node.left, node.right, False), (node.right, node.left, True)):
            if not isinstance(second, syntax.Name):
                continue
            kept = len(self.kept.numbers)
            try:
                value = self.value(first)
            except (StrobeError, ExpressionError):
                continue
            if isinstance(value, Number) and value.enum is not None:
                number = terms.enumerator(value.enum, second.name)
                if number is not None:
                    other = constant(number, value.kind)
                    return (other, value) if is_swapped else (value, other)
            del self.kept.numbers[kept:]
        return self.value(node.left), self.value(node.right)


def in_brackets(node: syntax.Element) -> str:
    """The index as it was written."""
    depth = 0
    for at in range(len(node.text) - 1, 0, -1):
        depth += {"]": 1, "[": -1}.get(node.text[at], 0)
        if depth == 0:
            return node.text[at + 1 : -1]
    return node.text


def _check_word(at: int, number: int) -> None:
    if not -(1 << 63) <= number <= _WORD:
        raise ExpressionError(at, "this number has more than 64 bits")


def _literal(node: syntax.Literal) -> Term:
    match node.value:
        case bool() as holds:
            return replace(constant(int(holds), Kind.INT), is_truth=True)
        case int() as number:
            _check_word(node.at, number)
            return constant(number, node.kind)
        case float() as number:
            found = Float(terms.double(number).rows)
            return terms.as_single(found) if node.is_single else found
        case str() as text if node.is_character:
            return constant(node.code, Kind.INT)
        case str() as text:
            data = text.encode("utf-8", "surrogateescape")
            if len(data) > _LITERAL_BYTES:
                reason = f"the text has {len(data)} bytes, and {_LITERAL_BYTES} are compared"
                raise ExpressionError(node.at, reason)
            return Literal(data)
    return constant(0, Kind.UNSIGNED_LONG, is_address=True)  # null
