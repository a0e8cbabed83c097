"""A condition over two events, `join.on`: what must be equal in both, and what must hold for both together.

In `LEFT == RIGHT` the left is of the event, the right of the other one. Where `$other.` stands, all that has none is of
the event: `$other.p == $return && $other.$time < $time + 5000000`. What is equal becomes a key, by which the other
events are found; the rest is evaluated for each pair, over values that each event was asked for once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from strobe.dataclass import dataclass, field, replace
from strobe.errors import StrobeError, failure
from strobe.expressions.evaluation import compiled
from strobe.expressions.names import Known, root_names
from strobe.expressions.normal import Absent, Normal, Undecided, truth
from strobe.expressions.parser import OTHER, parse
from strobe.expressions.syntax import (
    Binary,
    Call,
    Cast,
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
    children,
)
from strobe.session.questions.contexts import EventContext
from strobe.session.questions.question import Part, Value

_OTHER_SIGNS = ("||", "!=", "<", "<=", ">", ">=")
_THREADS = frozenset(("$thread", "$threadName"))
_TIME = "$time"
_OWN = "own:"  # begins names of what was asked of the event; those of the other one begin with _OTHERS
_OTHERS = "other:"

Values: TypeAlias = tuple[Value, ...]


@dataclass(slots=True)
class PairCondition:
    """`keys` of the event, and those of the other one: they have to be equal. `own` and `others`: what `conditions`
    are about. `is_of_threads`: it says itself of which threads the events are."""

    own_keys: list[Part] = field(default_factory=list)
    other_keys: list[Part] = field(default_factory=list)
    own: list[Part] = field(default_factory=list)
    others: list[Part] = field(default_factory=list)
    conditions: list[tuple[str, Expression]] = field(default_factory=list)
    is_of_threads: bool = False

    def own_parts(self, known: Known) -> list[Part]:
        """For the question for the event; `known` of the other one."""
        return [replace(part, elsewhere=(known, f"{OTHER}.")) for part in (*self.own_keys, *self.own)]

    def other_parts(self) -> list[Part]:
        """For the question for the other one."""
        return [*self.other_keys, *self.others]


class PairTest:
    """The conditions, to be tried: `holds` says whether all do for the event and the other one; Absent counts as that
    they do not, and `absent` such pairs there were. `is_over`: whether the last one that did not will not do either for
    any other event farther away."""

    def __init__(self, of: PairCondition, context: EventContext, is_after: bool) -> None:
        """`context`: by which members of values are found. Raises expression_wrong."""
        self._values = _Values(context)
        times = {f"{_OTHERS}{index}" for index, part in enumerate(of.others) if _is_time(part.tree)}
        self._all = [(_compiled(text, tree), _ends(tree, times, is_after)) for text, tree in of.conditions]
        self._all.sort(key=lambda one: not one[1])
        self.is_over = False
        self.absent = 0
        self.absent_why = ""

    def __bool__(self) -> bool:
        return bool(self._all)

    def holds(self, own: Values, other: Values) -> bool:
        """Raises Undecided."""
        self.is_over = False
        self._values.own, self._values.other = own, other
        for holds, is_last in self._all:
            try:
                if truth(holds(self._values)):
                    continue
            except Absent as error:
                self.absent += 1
                self.absent_why = self.absent_why or str(error)
                return False
            self.is_over = is_last
            return False
        return True


class _Values:
    """A pair of events as expressions see it."""

    def __init__(self, context: EventContext) -> None:
        self.own: Values = ()
        self.other: Values = ()
        self._context = context

    def root(self, name: str) -> Normal:
        side, _, index = name.partition(":")
        value = (self.own if side == "own" else self.other)[int(index)]
        if isinstance(value, Undecided):
            raise type(value)(str(value))
        return value

    def watch(self, label: str) -> Normal:
        raise Undecided(f"no value is called '{label}'")

    def has_watch(self, label: str) -> bool:
        return False

    def normal(self, raw: Any) -> Normal:
        return self._context.normal(raw)


def pair_condition(on: Sequence[str]) -> PairCondition:
    """Of `on`, all of which has to hold. Raises expression_wrong, bad_value."""
    found = PairCondition()
    for text in on:
        _add(found, text.strip())
    return found


def _add(found: PairCondition, text: str) -> None:
    tree = _parsed(text)
    inner = _within_brackets(text)
    if inner is not None and (_has_other(tree) or (isinstance(inner, Binary) and inner.sign in ("==", "&&"))):
        _add(found, text[1:-1].strip())
        return
    if inner is None and isinstance(tree, Binary) and tree.sign == "&&":
        _add(found, text[: tree.at].strip())
        _add(found, text[tree.at + (3 if text.startswith("and", tree.at) else 2) :].strip())
        return
    if _has_other(tree):
        _add_of_both(found, text, tree)
        return
    left = right = text
    if inner is None and isinstance(tree, Binary):
        if tree.sign in _OTHER_SIGNS:
            reason = "it does not say what is of the other event"
            valid = "key != $other.key; in brackets, (cents < 0), whether it holds is to be the same for both"
            raise failure("bad_value", field="join.on", value=text[:80], reason=reason, valid=valid)
        if tree.sign == "==":
            left, right = text[: tree.at].strip(), text[tree.at + 2 :].strip()
    found.own_keys.append(Part(left))
    found.other_keys.append(Part(right))


def _add_of_both(found: PairCondition, text: str, tree: Expression) -> None:
    """A condition in which `$other` stands."""
    own: list[Part] = []
    others: list[Part] = []
    changed = _split(text, tree, own, others, frozenset(), True, (len(found.own), len(found.others)))
    found.is_of_threads |= any(root_names(part.tree) & _THREADS for part in others if part.tree is not None)
    is_equality = isinstance(changed, Binary) and changed.sign == "==" and len(own) == len(others) == 1
    if is_equality and all(isinstance(side, Name) for side in children(changed)):
        found.own_keys += own
        found.other_keys += others
        return
    found.own += own
    found.others += others
    found.conditions.append((text, changed))


def _split(
    text: str,
    node: Expression,
    own: list[Part],
    others: list[Part],
    bound: frozenset[str],
    is_needed: bool,
    counts: tuple[int, int],
) -> Expression:
    """With names in the place of what is asked of one event alone, which is put into `own` and `others`. `bound`:
    variables of quantifiers; `counts`: how many there are already."""
    if isinstance(node, Call) and node.name == OTHER:
        if _has_other(node.of):
            raise _wrong(text, ExpressionError(node.at, "there is one other event", "$other.key", len(OTHER)))
        if root_names(node.of) & bound:
            raise _wrong(text, ExpressionError(node.at, "the other event has no variable of this loop", "", len(OTHER)))
        others.append(Part(text, node.of, is_needed))
        return Name(node.at, f"{_OTHERS}{counts[1] + len(others) - 1}")
    if isinstance(node, Literal) or (isinstance(node, Name) and node.name in bound):
        return node
    if not _has_other(node) and not root_names(node) & bound and not _is_constant(node):
        own.append(Part(text, node, is_needed))
        return Name(node.at, f"{_OWN}{counts[0] + len(own) - 1}")

    def part(child: Expression, is_sure: bool = True, more: frozenset[str] = frozenset()) -> Expression:
        return _split(text, child, own, others, bound | more, is_needed and is_sure, counts)

    match node:
        case Member(of=of):
            return replace(node, of=part(of), text="")
        case Element(of=of, index=index):
            return replace(node, of=part(of), index=part(index), text="")
        case Slice(of=of, first=first, end=end):
            first, end = (None if one is None else part(one) for one in (first, end))
            return replace(node, of=part(of), first=first, end=end)
        case Unary(of=of, sign=sign):
            return replace(node, of=part(of, sign != "!"))
        case Cast(of=of) | PointerCast(of=of):
            return replace(node, of=part(of))
        case Call(of=of, name=name):
            return replace(node, of=part(of, name != "has"))
        case Binary(sign=sign, left=left, right=right):
            return replace(node, left=part(left, sign != "||"), right=part(right, sign != "||"))
        case Choice(condition=condition, yes=yes, no=no):
            return replace(node, condition=part(condition), yes=part(yes, False), no=part(no, False))
        case Quantifier(over=over, end=end, body=body, variable=variable):
            stop = None if end is None else part(end)
            return replace(node, over=part(over), end=stop, body=part(body, False, frozenset((variable,))))
    return node


def _is_constant(node: Expression) -> bool:
    is_asked = isinstance(node, Name | WatchLabel) or (isinstance(node, Call) and bool(node.text))
    return not is_asked and all(map(_is_constant, children(node)))


def _has_other(node: Expression) -> bool:
    return (isinstance(node, Call) and node.name == OTHER) or any(map(_has_other, children(node)))


def _is_time(tree: Expression | None) -> bool:
    return isinstance(tree, Name) and tree.name == _TIME


def _ends(tree: Expression, times: set[str], is_after: bool) -> bool:
    """Whether it, if it does not hold, does not for other events farther away either: a bound of their times."""
    if not isinstance(tree, Binary) or tree.sign not in ("<", "<=", ">", ">="):
        return False
    left, right = _slope(tree.left, times), _slope(tree.right, times)
    if left is None or right is None:
        return False
    rises = left - right if tree.sign in ("<", "<=") else right - left  # what has to be less, as time goes on
    return rises > 0 if is_after else rises < 0


def _slope(tree: Expression, times: set[str]) -> int | None:
    """How much it rises with the time of the other event; None: that is not known."""
    match tree:
        case Name(name=name):
            return 1 if name in times else None if name.startswith(_OTHERS) else 0
        case Literal():
            return 0
        case Binary(sign="+" | "-" as sign, left=left, right=right):
            one, other = _slope(left, times), _slope(right, times)
            return None if one is None or other is None else one + other if sign == "+" else one - other
    return None


def _within_brackets(text: str) -> Expression | None:
    """The expression, of one that stands in brackets as a whole."""
    if not (text.startswith("(") and text.endswith(")")):
        return None
    try:
        return parse(text[1:-1], of_two=True)
    except ExpressionError:
        return None


def _parsed(text: str) -> Expression:
    try:
        return parse(text, of_two=True)
    except ExpressionError as error:
        raise _wrong(text, error) from error


def _compiled(text: str, tree: Expression) -> Callable[[_Values], Normal]:
    try:
        return compiled(tree)
    except ExpressionError as error:
        raise _wrong(text, error) from error


def _wrong(text: str, error: ExpressionError) -> StrobeError:
    facts = {"field": text[:200], "at": error.at + 1, "near": error.near(text), "reason": error.reason}
    hint = f" Nearest, or valid: {error.hint}." if error.hint else ""
    return failure("expression_wrong", **facts, hint=f"Valid: key == node, or key != $other.key.{hint}")
