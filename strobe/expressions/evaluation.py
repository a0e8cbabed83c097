"""An expression as a function of one event's values.

What an event has not is `Undecided`; `&&` and `||` are decided where one side is enough. No more than MAX_STEPS
elements are looked at in one evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

from strobe.expressions import normal
from strobe.expressions.integers import UnsignedLong, typed
from strobe.expressions.normal import (
    Absent,
    Character,
    CutText,
    Elements,
    Entries,
    Fields,
    NamedNumber,
    Normal,
    NoValue,
    Pointer,
    Undecided,
)
from strobe.expressions.syntax import (
    Binary,
    Call,
    Cast,
    Chain,
    Choice,
    Element,
    Expression,
    ExpressionError,
    Literal,
    Member,
    Name,
    PointerCast,
    Quantifier,
    Slice,
    Unary,
    WatchLabel,
    is_null,
)
from strobe.model import Enumerator

__all__ = ["Context", "Evaluate", "Undecided", "compiled"]

MAX_STEPS = 100_000
_COMPARISONS = ("<", "<=", ">", ">=")
_TEXT_TESTS: dict[str, Callable[[Normal, Normal], bool]] = {
    "startswith": normal.startswith,
    "endswith": normal.endswith,
}


class Context(Protocol):
    """The values of one event."""

    def root(self, name: str) -> Normal:
        """Of a name, `$return` among them. Raises Undecided where the event has none."""
        ...

    def watch(self, label: str) -> Normal:
        """Of a watch. Raises Undecided."""
        ...

    def has_watch(self, label: str) -> bool:
        """Whether the event has a value of that watch."""
        ...

    def normal(self, raw: Any) -> Normal:
        """A member or an element of a value, in normal form."""
        ...


class State:
    """One evaluation: the event, the values of quantifiers' variables, and how many elements were looked at."""

    __slots__ = ("context", "steps", "variables")

    def __init__(self, context: Context) -> None:
        self.context = context
        self.variables: dict[str, Normal] = {}
        self.steps = 0

    def step(self) -> None:
        """Counts one element that is looked at. Raises Undecided after MAX_STEPS."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise Undecided(f"more than {MAX_STEPS:,} elements are looked at")


Evaluate: TypeAlias = Callable[[State], Normal]


def compiled(tree: Expression) -> Callable[[Context], Normal]:
    """A function that evaluates it; that raises Undecided. Raises ExpressionError for what can never be."""
    evaluate = _compiled(tree)
    return lambda context: evaluate(State(context))


def _compiled(node: Expression) -> Evaluate:
    match node:
        case Literal():
            constant = _literal(node)
            return lambda state: constant
        case Name():
            return _name(node)
        case WatchLabel(label=label):
            return lambda state: state.context.watch(label)
        case Member() | Element():
            return _part(node)
        case Slice():
            return _slice(node)
        case Unary():
            return _unary(node)
        case Binary():
            return _binary(node)
        case Choice(condition=condition, yes=yes, no=no):
            return _choice(_compiled(condition), _compiled(yes), _compiled(no))
        case Cast(type=kind, of=of):
            inner = _compiled(of)
            return lambda state: normal.cast(kind, inner(state))
        case PointerCast() if is_null(node):
            return lambda state: None
        case PointerCast(type="void", stars=1, of=of):
            pointed = _compiled(of)
            return lambda state: normal.address(pointed(state))
        case PointerCast(at=at):
            raise ExpressionError(at, "recorded values are not read as other structures", "(void*)x, the address alone")
        case Chain(at=at):
            raise ExpressionError(
                at, "lists and trees are followed by conditions of traces and by watches", "any(x in v: …)", 5
            )
        case Call():
            return _call(node)
        case Quantifier():
            return _quantifier(node)


def _literal(node: Literal) -> Normal:
    value = node.value
    if node.is_character and isinstance(value, str):
        return Character(value, is_byte=node.is_byte)
    if isinstance(value, int) and not isinstance(value, bool) and value < 1 << 64:
        return typed(value, node.kind)
    return value


def _choice(test: Evaluate, yes: Evaluate, no: Evaluate) -> Evaluate:
    def evaluate(state: State) -> Normal:
        chosen, other = (yes, no) if normal.truth(test(state)) else (no, yes)
        value = chosen(state)
        try:
            return normal.chosen(value, other(state))
        except Undecided:
            return value

    return evaluate


def _name(node: Name) -> Evaluate:
    name = node.name

    def evaluate(state: State) -> Normal:
        if name in state.variables:
            return state.variables[name]
        return state.context.root(name)

    return evaluate


def _part(node: Member | Element) -> Evaluate:
    """A member or an element; or a watch that is called so as a whole."""
    of, label = _compiled(node.of), node.text
    if isinstance(node, Member):
        name = node.name

        def found(state: State) -> Normal:
            return _member(state, of(state), name)

    else:
        index = _compiled(node.index)

        def found(state: State) -> Normal:
            return _element(state, of(state), index(state))

    def evaluate(state: State) -> Normal:
        return state.context.watch(label) if state.context.has_watch(label) else found(state)

    return evaluate


def _member(state: State, value: Normal, name: str) -> Normal:
    if isinstance(value, Pointer):
        value = _followed(state, value)
    if isinstance(value, Fields):
        if name in value.members:
            return state.context.normal(value.members[name])
        raise Undecided(f"no member '{name}' was recorded; there are: {', '.join(list(value.members)[:8])}")
    if isinstance(value, Elements) and name.isdecimal():
        return _element(state, value, int(name))
    raise Undecided(f"{normal.described(value)} has no member '{name}'")


def _followed(state: State, value: Pointer) -> Normal:
    if value.address == 0:
        raise Undecided("a null pointer leads nowhere")
    if value.to is None:
        raise Undecided("what the pointer leads to was not recorded: trace with a depth")
    return state.context.normal(value.to)


def _element(state: State, value: Normal, index: Normal) -> Normal:
    if isinstance(value, Pointer):
        value = _followed(state, value)
        if not isinstance(value, Elements | Entries) and normal.integer(index) == 0:
            return value
    if isinstance(value, Entries):
        return _value_of_key(state, value, index)
    at = normal.integer(index)
    if isinstance(value, str):
        if 0 <= at < len(value):
            return Character(value[at])
        raise Undecided(f"the text has no character {at}")
    if not isinstance(value, Elements):
        raise Undecided(f"{normal.described(value)} has no elements")
    if 0 <= at < len(value.items):
        return state.context.normal(value.items[at])
    reason = "was not recorded" if 0 <= at < value.total else "is not there"
    raise Undecided(f"element {at} {reason}: there are {value.total}")


def _value_of_key(state: State, value: Entries, key: Normal) -> Normal:
    for own, content in value.items:
        state.step()
        if _same(state.context.normal(own), key):
            return state.context.normal(content)
    raise Undecided("there is no such key" if len(value.items) >= value.total else "the key was not recorded")


def _same(left: Normal, right: Normal) -> bool:
    """Keys of one map are of one sort: others are not the same."""
    try:
        return normal.equal(left, right)
    except Undecided:
        return False


def _slice(node: Slice) -> Evaluate:
    of = _compiled(node.of)
    first = None if node.first is None else _compiled(node.first)
    end = None if node.end is None else _compiled(node.end)

    def evaluate(state: State) -> Normal:
        value = of(state)
        if isinstance(value, Pointer):
            value = _followed(state, value)
        begin = 0 if first is None else normal.integer(first(state))
        if isinstance(value, str):
            return value[max(0, begin) : None if end is None else normal.integer(end(state))]
        if not isinstance(value, Elements):
            raise Undecided(f"{normal.described(value)} has no elements")
        stop = value.total if end is None else normal.integer(end(state))
        begin, stop = max(0, begin), max(begin, stop)
        return Elements(value.items[begin:stop], min(stop, value.total) - min(begin, value.total))

    return evaluate


def _unary(node: Unary) -> Evaluate:
    of, sign = _compiled(node.of), node.sign
    if sign == "&":
        raise ExpressionError(node.at, "addresses of recorded values are not known", "the value itself")
    if sign == "!":
        return lambda state: not normal.truth(of(state))
    if sign in ("-", "+", "~"):
        return lambda state: normal.changed(sign, of(state))

    def follow(state: State) -> Normal:
        value = of(state)
        if isinstance(value, Pointer):
            return _followed(state, value)
        raise Undecided(f"{normal.described(value)} leads nowhere")

    return follow


def _binary(node: Binary) -> Evaluate:
    sign = node.sign
    if sign == "matches":
        return _matches(node)
    for one, other in ((node.left, node.right), (node.right, node.left)):
        if sign in ("==", "!=") and is_null(one):
            return _with_null(sign == "==", _compiled(other), one)
    left, right = _compiled(node.left), _compiled(node.right)
    if sign in ("&&", "||"):
        return _logical(sign == "||", left, right)
    if sign == "==":
        return lambda state: normal.equal(left(state), right(state))
    if sign == "!=":
        return lambda state: not normal.equal(left(state), right(state))
    if sign in _COMPARISONS:
        return lambda state: normal.compared(sign, left(state), right(state))
    if sign == "contains":
        return lambda state: _contains(state, left(state), right(state))
    if sign in _TEXT_TESTS:
        test = _TEXT_TESTS[sign]
        return lambda state: test(left(state), right(state))
    if sign in ("+", "-"):
        return lambda state: _moved(sign, left(state), right(state))
    return lambda state: normal.calculated(sign, left(state), right(state))


def _with_null(is_equal: bool, of: Evaluate, null: Expression) -> Evaluate:
    """Whether it is null; of a number, whether it is 0. What a `char*` leads to was recorded: then it is not null."""
    zero = _literal(null) if isinstance(null, Literal) else None

    def evaluate(state: State) -> Normal:
        value = of(state)
        is_text = isinstance(value, str) and not isinstance(value, Enumerator | Character)
        return (not is_text and normal.equal(value, zero)) is is_equal

    return evaluate


def _moved(sign: str, left: Normal, right: Normal) -> Normal:
    """A sum; of an address and a number it is an address."""
    found = normal.calculated(sign, left, right)
    is_address = isinstance(left, Pointer) != isinstance(right, Pointer)
    return Pointer(found) if is_address and isinstance(found, int) and found >= 0 else found


def _logical(decides: bool, left: Evaluate, right: Evaluate) -> Evaluate:
    """`decides`: what one side alone decides: true for `||`."""

    def evaluate(state: State) -> Normal:
        try:
            if normal.truth(left(state)) is decides:
                return decides
        except Undecided as unknown:
            try:
                if normal.truth(right(state)) is decides:
                    return decides
            except Absent:
                raise unknown from None
            raise
        return normal.truth(right(state))

    return evaluate


def _matches(node: Binary) -> Evaluate:
    if not isinstance(node.right, Literal) or not isinstance(node.right.value, str):
        raise ExpressionError(
            node.right.at, "'matches' needs a quoted regular expression on its right", '"^till-[0-9]$"'
        )
    regex = normal.checked_regex(node.right.value, node.right.at)
    left = _compiled(node.left)

    def evaluate(state: State) -> Normal:
        value = left(state)
        if regex.finds(normal.text(value)):
            return True
        if isinstance(value, CutText):
            raise Undecided("only the beginning of the text was recorded")
        return False

    return evaluate


def _contains(state: State, value: Normal, part: Normal) -> bool:
    if isinstance(value, Pointer) and value.to is not None:
        value = _followed(state, value)
    if not isinstance(value, Elements | Entries):
        return normal.contains(value, part)
    found = (item if isinstance(value, Elements) else item[0] for item in value.items)
    for item in found:
        state.step()
        if _same(state.context.normal(item), part):
            return True
    if len(value.items) < value.total:
        raise Undecided(f"only {len(value.items)} of {value.total} elements were recorded")
    return False


def _call(node: Call) -> Evaluate:
    if node.text:
        return _of_one_call(node)
    of, name = _compiled(node.of), node.name
    if name == "sizeof":
        raise ExpressionError(node.at, "sizes of types are not recorded", "size(v) counts elements", length=6)
    if name == "has":

        def has(state: State) -> Normal:
            try:
                return not isinstance(of(state), NoValue)
            except Undecided:
                return False

        return has
    if name == "abs":
        return lambda state: normal.changed("abs", of(state))
    if name == "size":
        return lambda state: UnsignedLong(_size(state, of(state)))
    if name == "last":
        return lambda state: _last(state, of(state))
    if name == "first":
        return lambda state: _element(state, of(state), 0)
    return lambda state: _folded(name, state, _items(state, of(state)), lambda item: item)


def _of_one_call(node: Call) -> Evaluate:
    """A watch that is called so; nothing else knows what was there at the entry."""

    def evaluate(state: State) -> Normal:
        if state.context.has_watch(node.text):
            return state.context.watch(node.text)
        raise Undecided(f"{node.text} was not watched")

    return evaluate


def _size(state: State, value: Normal) -> int:
    if isinstance(value, Pointer):
        value = _followed(state, value)
    if isinstance(value, CutText):
        raise Undecided("only the beginning of the text was recorded")
    if isinstance(value, str) and not isinstance(value, Enumerator | Character):
        return len(value.encode("utf-8", "surrogateescape"))
    if isinstance(value, Elements | Entries):
        return value.total
    raise Undecided(f"{normal.described(value)} has no size")


def _last(state: State, value: Normal) -> Normal:
    if isinstance(value, Pointer):
        value = _followed(state, value)
    if isinstance(value, Elements | Entries):
        return _element(state, Elements(value.items, value.total), value.total - 1)
    if isinstance(value, str):
        return _element(state, value, len(value) - 1)
    raise Undecided(f"{normal.described(value)} has no elements")


def _items(state: State, value: Normal) -> tuple[Iterable[Normal], bool]:
    """The elements of a list or text, the values of a map; and whether these are all."""
    if isinstance(value, Pointer):
        value = _followed(state, value)
    if isinstance(value, Entries):
        raws: Sequence[Any] = [content for _, content in value.items]
        return (state.context.normal(raw) for raw in raws), len(raws) >= value.total
    if isinstance(value, Elements):
        return (state.context.normal(raw) for raw in value.items), len(value.items) >= value.total
    if isinstance(value, str) and not isinstance(value, Enumerator | Character):
        return (Character(letter) for letter in value), not isinstance(value, CutText)
    raise Undecided(f"{normal.described(value)} has no elements")


def _quantifier(node: Quantifier) -> Evaluate:
    over, body, variable, name = _compiled(node.over), _compiled(node.body), node.variable, node.name
    end = None if node.end is None else _compiled(node.end)

    def evaluate(state: State) -> Normal:
        if end is None:
            items = _items(state, over(state))
        else:
            first, stop = normal.integer(over(state)), normal.integer(end(state))
            items = (iter(range(first, stop)), True)
        hidden = state.variables.get(variable)
        was_there = variable in state.variables

        def of(item: Normal) -> Normal:
            state.variables[variable] = item
            return body(state)

        try:
            return _folded(name, state, items, of)
        finally:
            if was_there:
                state.variables[variable] = hidden
            else:
                state.variables.pop(variable, None)

    return evaluate


def _folded(name: str, state: State, items: tuple[Iterable[Normal], bool], of: Callable[[Normal], Normal]) -> Normal:
    """any, all, count, first, min, max, sum."""
    elements, are_all = items
    if name in ("any", "all", "first"):
        return _decided(name, state, elements, are_all, of)
    found: list[int | float] = []
    held = 0
    for item in elements:
        state.step()
        value = of(item)
        if name == "count":
            held += normal.truth(value)
        else:
            found.append(normal.number(value))
    if not are_all:
        raise Undecided("not all elements were recorded")
    if name == "count":
        return held
    if name == "sum":
        return sum(found)
    if not found:
        raise Undecided(f"{name} of no elements")
    best = found[0]
    for value in found[1:]:
        if normal.compared("<" if name == "min" else ">", value, best):
            best = value
    return best


def _decided(
    name: str, state: State, elements: Iterable[Normal], are_all: bool, of: Callable[[Normal], Normal]
) -> Normal:
    """Where one element decides, others that are not known do not matter."""
    unknown: Undecided | None = None if are_all else Undecided("not all elements were recorded")
    for item in elements:
        state.step()
        try:
            holds = normal.truth(of(item))
        except Undecided as error:
            unknown = error
            if name == "first":
                break
            continue
        if name == "first" and holds:
            return item
        if name != "first" and holds is (name == "any"):
            return holds
    if unknown is not None:
        raise unknown
    if name == "first":
        raise Undecided("it holds for no element")
    return name == "all"


def named_number(number: int, name: str) -> NamedNumber:
    """A thread: its id, and its name where it is compared with a text."""
    return NamedNumber(number, name)
