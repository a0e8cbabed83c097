"""Quantifiers: `any`, `all`, `count`, `first`, `min`, `max`, `sum` over numbers, elements and nodes, as loops.

Where the body is one comparison of each element's number with a number that stays the same, one step does it all
(SCAN); where all of it can be done for many elements at once, another one does (SWEEP). No loop gives a wrong answer
where it could not see every element that matters: its number is bad then.
"""

from __future__ import annotations

from collections.abc import Callable

from strobe.dataclass import dataclass, replace
from strobe.expressions import syntax
from strobe.expressions.integers import Kind
from strobe.expressions.syntax import ExpressionError
from strobe.symbols.types.fields import path_to
from strobe.symbols.types.model import Pointer, Record, Type
from strobe.values.language import terms
from strobe.values.language.compiler import Binding, Compiler, in_brackets
from strobe.values.language.loading import rows_of, size_of
from strobe.values.language.scans import Elements, member_of, scanned
from strobe.values.language.sweeps import swept
from strobe.values.language.terms import Float, Number, Row, Rows, constant, joined, set_variable, steps, variable
from strobe.values.lookup import expression as paths
from strobe.values.lookup.locations import ValueLocation
from strobe.values.memory.recipes import Recipe, quiet, rows
from strobe.values.printers.inside import MOST_NODES, Walk, walk_of

_MOST_TURNS = MOST_NODES

_VARIABLES = 7  # of a loop
_ENTRY = "(entry)"


@dataclass(frozen=True, slots=True)
class _Loop:
    """`before`: what comes before it; `begin`: how it begins; `each`: what comes first in each turn; `after`: what
    comes behind it. `index` counts the turns. `start` and `doubt`: numbers that are bad where not every element could
    be seen. `turns`: of one over numbers, the variable that says how many, and the first one."""

    before: Rows
    begin: Rows
    each: Rows
    index: Number
    start: Number | None = None
    turns: tuple[int, Number] | None = None
    after: Rows = ()
    doubt: Number | None = None
    height: int = 4


class WithLoops(Compiler):
    """Loops, and maps by their keys."""

    def quantified(self, node: syntax.Quantifier) -> Number | Float:
        """Raises ExpressionError for what cannot be gone over."""
        return _quantified(self, node)

    def path(self, node: syntax.Expression) -> paths.Expression:
        """A value of a map by its key as well: `table["x"]`."""
        if isinstance(node, syntax.Element):
            location = self.location(node.of)
            walk = None if location.is_value else walk_of(location.type, self.scope.printers)
            names = None if walk is None else parts_of_entry(walk.type)
            if walk is not None and names is not None:
                return _of_key(self, node, location, walk, *names)
        return super().path(node)


def parts_of_entry(type_: Type) -> tuple[str, str] | None:
    """What the key and the value of a map's entry are called; None of what is none."""
    plain = type_.bare
    for names in (("first", "second"), ("__0", "__1")):
        if isinstance(plain, Record) and all(path_to(plain, name) is not None for name in names):
            return names
    return None


def _of_key(
    compiler: Compiler, node: syntax.Element, location: ValueLocation, walk: Walk, key: str, value: str
) -> paths.Expression:
    """The entry is looked for one by one."""
    entry = syntax.Member(node.at, syntax.Name(node.at, _ENTRY), key, "")
    with compiler.variables(_VARIABLES, node.at) as own:
        found, where, one = own[:3]
        before, each, element = nodes_of(location, walk, where)
        test = syntax.Binary(node.index.at, "==", entry, node.index)
        is_key = compiler.bound(_ENTRY, element, lambda: compiler.value(test))
        assert isinstance(is_key, Number)
        code = (
            *set_variable(found, terms.failing(f"there is no key {in_brackets(node)}")),
            *before,
            *each,
            *set_variable(one, is_key),
            *set_variable(found, terms.chosen(variable(one), variable(where), variable(found))),
            *variable(one).rows,
            *steps(("LEAVE", 0, 0, 0), ("NEXT", 0, 0, 0)),
            *set_variable(found, terms.known(variable(found), Number(steps(("LOCATION", 0, 0, 0))))),
        )

    def make() -> ValueLocation:
        made = ValueLocation(Recipe(list(code)), walk.type)
        made.refused |= {at: row.reason for at, row in enumerate(code) if isinstance(row, Row)}
        made.recipe.base(0)
        made.recipe.code += variable(found).rows
        made.recipe.go()
        return made

    return paths.Member(paths.Bound(node.text, make), value, False)


def nodes_of(location: ValueLocation, walk: Walk, where: int) -> tuple[Rows, Rows, Callable[[], ValueLocation]]:
    """What begins a loop over nodes, what comes first in each turn, and where the element lies then."""
    before = rows_of(location)
    if walk.valid:
        before += (*rows(walk.valid), Row(steps(("REQUIRE", 0, 0, 0))[0], f"<no valid {location.type.name}>"))
    before += (*rows(walk.bounds), *rows(walk.first), *steps(("GO", 0, 0, 0)))
    before += (quiet(walk.loop, _MOST_TURNS, walk.operand, walk.width),)
    return before, set_variable(where, Number(steps(("LOCATION", 0, 0, walk.at)))), _at_variable(where, walk.type)


def _at_variable(where: int, type_: Type) -> Callable[[], ValueLocation]:
    def element() -> ValueLocation:
        location = ValueLocation(Recipe(), type_)
        location.recipe.base(0)
        location.recipe.code += variable(where).rows
        location.recipe.go()
        return location

    return element


def _quantified(compiler: Compiler, node: syntax.Quantifier) -> Number | Float:
    with compiler.variables(_VARIABLES, node.at) as own:
        over = node.over
        if node.end is not None:
            elements = Elements(compiler.number(over), compiler.number(node.end))
            return _over_range(compiler, node, elements, own)
        if isinstance(over, syntax.Chain):
            return _over_chain(compiler, node, over, own)
        if isinstance(over, syntax.Slice):
            return _over_range(compiler, node, sliced(compiler, over), own)
        location = compiler.location(over)
        walk = None if location.is_value else walk_of(location.type, compiler.scope.printers)
        if walk is not None:
            return _over_nodes(compiler, node, location, walk, own)
        return _over_range(compiler, node, _whole(compiler, over, location), own)


def _whole(compiler: Compiler, of: syntax.Expression, location: ValueLocation) -> Elements:
    if isinstance(location.type.bare, Pointer) or location.is_flexible:
        what = (
            "a pointer" if isinstance(location.type.bare, Pointer) else f"{location.type.name} at the end of a struct"
        )
        raise ExpressionError(of.at, f"{what} does not say how many there are", "x in p[0..n]")
    return Elements(constant(0), size_of(location, compiler.scope.printers, of.at), of)


def sliced(compiler: Compiler, node: syntax.Slice) -> Elements:
    """From which element to which. Raises ExpressionError where the last one is not known."""
    first = constant(0) if node.first is None else compiler.number(node.first)
    if node.end is None:
        return replace(_whole(compiler, node.of, compiler.location(node.of)), first=first)
    return Elements(first, compiler.number(node.end), node.of)


def _over_range(compiler: Compiler, node: syntax.Quantifier, over: Elements, own: range) -> Number | Float:
    if (found := scanned(compiler, node, over, own)) is not None:
        return found
    first, end, many, at = own[:4]
    low, high = variable(first, over.first.kind), variable(end, over.end.kind)
    count = terms.chosen(terms.precedes(low, high), joined("MINUS", high, low), constant(0))
    index = variable(at)
    path = None if over.of is None else compiler.path(over.of)

    def element() -> ValueLocation:
        assert path is not None
        return compiler.location_at(path, index)

    loop = _Loop(
        (*set_variable(first, over.first), *set_variable(end, over.end), *set_variable(many, count)),
        (*variable(many).rows, *steps(("REPEAT_MANY", 0, _MOST_TURNS, 0))),
        set_variable(at, joined("PLUS", Number(steps(("TURN", 0, 0, 0))), low)),
        index,
        start=variable(many),
        turns=(many, low),
        height=max(terms.highest((over.first, over.end)), 4),
    )
    return _looped(compiler, node, loop, index if path is None else element, own)


def _over_chain(compiler: Compiler, node: syntax.Quantifier, over: syntax.Chain, own: range) -> Number | Float:
    location = compiler.location(over.of)
    plain = location.type.bare
    if not isinstance(plain, Pointer):
        raise ExpressionError(over.of.at, f"it is {location.type.name}, not a pointer to the first node")
    offsets = [_link(compiler, plain.target, name, over.at) for name in (over.link, over.right) if name]
    first = compiler.number(over.of)
    bounds = () if over.right else (*constant(_MOST_TURNS).rows, *constant(0).rows)
    before = (*bounds, *first.rows)
    before += (*steps(("SET", 0, own[0], 0), ("BASE", 0, 0, 0)), *variable(own[0]).rows, *steps(("GO", 0, 0, 0)))
    loop = "BRANCHES" if over.right else "CHAIN"
    begin = quiet(loop, _MOST_TURNS, offsets[0] | offsets[-1] << 32 if over.right else offsets[0])
    return _over_slots(compiler, node, before, begin, 0, plain.target, first.height + 2, own)


def _link(compiler: Compiler, node: Type, name: str, at: int) -> int:
    """How far behind a node its pointer to another one lies."""
    offset, link = member_of(compiler, node, (name,), at)
    if not isinstance(link.bare, Pointer):
        raise ExpressionError(at, f"{name} is {link.name}, not a pointer to another node")
    return offset


def _over_nodes(
    compiler: Compiler, node: syntax.Quantifier, location: ValueLocation, walk: Walk, own: range
) -> Number | Float:
    (*before, begin), _, _ = nodes_of(location, walk, own[2])
    return _over_slots(compiler, node, tuple(before), begin, walk.at, walk.type, 10, own)


def _over_slots(
    compiler: Compiler,
    node: syntax.Quantifier,
    before: Rows,
    begin: bytes,
    at: int,
    type_: Type,
    height: int,
    own: range,
) -> Number | Float:
    index, where, walked = own[1:4]

    element = _at_variable(where, type_)
    each = (
        *set_variable(index, Number(steps(("TURN", 0, 0, 0)))),
        *set_variable(where, Number(steps(("LOCATION", 0, 0, at)))),
    )
    after = set_variable(walked, joined("BIT_AND", Number(steps(("LOCATION", 0, 0, 0))), constant(0)))
    loop = _Loop(before, (begin,), each, variable(index), after=after, doubt=variable(walked), height=height)
    return _looped(compiler, node, loop, element, own)


def _looped(
    compiler: Compiler, node: syntax.Quantifier, loop: _Loop, binding: Binding, variables: range
) -> Number | Float:
    found, one, unknown = variables[4:7]
    own = compiler.bound(node.variable, binding, lambda: compiler.value(node.body))
    if node.name in ("any", "all", "count", "first"):
        own = terms.as_number(own)
        if isinstance(own, Float):
            own = terms.is_not_zero(own)
    if not isinstance(own, Number | Float):
        raise ExpressionError(node.body.at, f"{node.name} is of numbers and conditions")
    if loop.turns is not None and isinstance(own, Number):
        many, low = loop.turns
        whole = swept(node.name, (*loop.each, *own.rows), own, many, _MOST_TURNS, found, low)
        if whole is not None:
            code = (*loop.before, *whole.rows)
            return _typed(node.name, own, replace(whole, rows=code, height=max(loop.height, whole.height)))
    if isinstance(own, Float):
        start, update, leave = *_folded_floats(node.name, found, one, own), None
    else:
        start, update, leave = _folded(
            node.name, found, variable(one, own.kind, is_truth=own.is_truth), loop.index, unknown
        )
    start = start if loop.start is None else terms.known(start, loop.start)
    code = (
        *set_variable(unknown, constant(0)),
        *(() if loop.start is not None else set_variable(found, start)),
        *loop.before,
        *(() if loop.start is None else set_variable(found, start)),
        *loop.begin,
        *loop.each,
        *set_variable(one, own),
        *update,
        *(() if leave is None else (*leave.rows, *steps(("LEAVE", 0, 0, 0)))),
        *steps(("NEXT", 0, 0, 0)),
        *loop.after,
    )
    result = terms.known(variable(found), variable(unknown))
    result = result if loop.doubt is None else terms.known(result, loop.doubt)
    height = max(loop.height, own.height + 2, 6)
    if isinstance(own, Float):
        return Float((*code, *result.rows), height, own.is_single)
    return _typed(node.name, own, Number((*code, *result.rows), height=height))


def _typed(name: str, own: Number, found: Number) -> Number:
    """What a loop over such numbers has found."""
    is_address = own.is_address and name in ("min", "max")
    return Number(found.rows, _kind(name, own), found.height, None, name in ("any", "all"), is_address)


def _kind(name: str, own: Number) -> Kind:
    """What a loop over such numbers gives: a sum and a count have 64 bits."""
    match name:
        case "any" | "all":
            return Kind.INT
        case "min" | "max":
            return own.kind
    return Kind.UNSIGNED_LONG if name == "sum" and own.is_big else Kind.LONG


def _folded_floats(name: str, found: int, one: int, own: Float) -> tuple[Number, Rows]:
    """As _folded, of floating-point numbers."""
    sofar, new = (replace(own, rows=variable(location).rows, height=1) for location in (found, one))
    if name == "sum":
        return terms.double(0.0), set_variable(found, terms.calculated_floats("+", sofar, new, 0))
    is_better = terms.less(new, sofar) if name == "min" else terms.less(sofar, new)
    is_first = joined("EQUAL", Number(steps(("TURN", 0, 0, 0))), constant(0))
    better = terms.chosen_of(joined("OR", is_first, is_better), new, sofar)
    return terms.failing(f"{name} of no elements"), set_variable(found, better)


def _folded(name: str, found: int, own: Number, index: Number, unknown: int) -> tuple[Number, Rows, Number | None]:
    """The number before the first turn, what each turn does with its own, and the number that ends the loop."""
    sofar = variable(found, own.kind)
    none = terms.failing(f"{name} of no elements")
    match name:
        case "any":
            return constant(0), set_variable(found, joined("OR", terms.truth(own), sofar)), sofar
        case "all":
            update = set_variable(found, joined("AND", terms.truth(own), sofar))
            return constant(1), update, terms.opposite(sofar)
        case "count":
            return constant(0), set_variable(found, joined("PLUS", sofar, terms.truth(own))), None
        case "first":
            absent = terms.failing("it holds for no element")
            doubt = joined("PLUS", variable(unknown), joined("BIT_AND", own, constant(0)))
            update = (*set_variable(found, terms.chosen(own, index, absent)), *set_variable(unknown, doubt))
            return absent, update, own
        case "sum":
            return constant(0), set_variable(found, joined("PLUS", sofar, own)), None
    is_better = terms.less(own, sofar) if name == "min" else terms.less(sofar, own)
    better = terms.chosen(is_better, own, sofar)
    is_first = joined("EQUAL", Number(steps(("TURN", 0, 0, 0))), constant(0))
    return none, set_variable(found, terms.chosen(is_first, own, better)), None
