"""Quantifiers whose body is calculated for many elements at once: one step of the recipe does the body's (SWEEP)."""

from __future__ import annotations

from strobe.dataclass import dataclass, field
from strobe.values.language import terms
from strobe.values.language.terms import Number, Rows, joined, steps, variable
from strobe.values.memory.recipes import CONSTANTS, OPERATIONS, named_rows

_SAME, _EVEN, _EACH = range(3)  # in all turns; from one turn to the next; for each turn, put down
_ONCE = ("CONSTANT", "FACT", "BEFORE")
_MOST_COLUMNS = CONSTANTS["COLUMNS"] - 2  # one step may need two more
_MOST_NUMBERS = CONSTANTS["COLUMN_NUMBERS"]
_MOST_LOCATIONS = CONSTANTS["COLUMN_LOCATIONS"]
_KINDS = {"any": "ANY", "all": "ALL", "first": "FIRST", "count": "COUNT", "sum": "SUM", "min": "LEAST", "max": "MOST"}


@dataclass
class _Columns:
    """What the steps so far have: how each number, the location, those that are kept and variables differ by turn."""

    stack: list[int] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    variables: dict[int, int] = field(default_factory=dict)
    location: int = _SAME
    columns: int = 0  # the most that are put down at once
    numbers: int = 0
    locations: int = 0

    def measure(self) -> None:
        every = (*self.stack, *self.kept, *self.variables.values(), self.location)
        self.columns = max(self.columns, every.count(_EACH))
        self.numbers = max(self.numbers, len(self.stack))
        self.locations = max(self.locations, len(self.kept))


def swept(name: str, body: Rows, own: Number, many: int, most: int, at: int, low: Number) -> Number | None:
    """What the quantifier is over the turns that variable `many` says, `most` at most. `body`: pushes each turn's
    number, which is like `own`; `at`: a variable for it; `low`: what `first` begins with. None where the loop has to do
    it."""
    if not _fits(body):
        return None
    kind = _KINDS[name]
    if name in ("min", "max") and not own.is_big:
        kind = f"SIGNED_{kind}"
    code = (
        *variable(many).rows,
        *steps(("SWEEP", CONSTANTS[f"SWEEP_{kind}"], len(body), most)),
        *body,
        *steps(("SET", 0, at, 0)),
    )
    found = _result(name, own, variable(at), variable(many), low)
    return Number((*code, *found.rows), found.kind, max(own.height, found.height, 2), found.enum, found.is_truth)


def _result(name: str, own: Number, value: Number, many: Number, low: Number) -> Number:
    match name:
        case "any" | "all":
            return Number(value.rows, terms.INT, is_truth=True)
        case "first":
            is_there = joined("LESS", value, many, is_truth=True)
            return terms.chosen(is_there, joined("PLUS", value, low), terms.failing("it holds for no element"))
        case "min" | "max":
            some = Number(value.rows, own.kind)
            return terms.chosen(terms.opposite(terms.opposite(many)), some, terms.failing(f"{name} of no elements"))
    return value


def _fits(body: Rows) -> bool:
    """Whether each step can be done for many turns at once, and there is room for what it gives."""
    found = _Columns()
    try:
        for name, _, count in named_rows(body):
            if not _do(found, name, count):
                return False
            found.measure()
    except IndexError:
        return False
    is_small = found.columns <= _MOST_COLUMNS and found.numbers <= _MOST_NUMBERS and found.locations <= _MOST_LOCATIONS
    return is_small and len(found.stack) == 1 and not found.kept


def _do(found: _Columns, name: str, count: int) -> bool:
    stack = found.stack
    match name:
        case "BASE" | "PASSED":
            found.location = _SAME
        case "ADD":
            pass
        case "DEREF":
            found.location = _SAME if found.location == _SAME else _EACH
        case "SAVE":
            found.kept.append(found.location)
        case "RESTORE":
            found.location = found.kept.pop()
        case "NUMBER":
            stack.append(_SAME if found.location == _SAME else _EACH)
        case "LOCATION":
            stack.append(found.location)
        case "TURN":
            stack.append(_EVEN)
        case "PICK":
            stack.append(stack[-1 - count])
        case "DROP" | "REQUIRE":
            stack.pop()
        case "GO":
            found.location = stack.pop()
        case "SET":
            found.variables[count] = stack.pop()
        case "GET":
            stack.append(found.variables.get(count, _SAME))
        case "EXTEND":
            stack[-1] = _SAME if stack[-1] == _SAME else _EACH
        case "SELECT":
            taken = [stack.pop(), stack.pop(), stack.pop()]
            stack.append(_SAME if max(taken) == _SAME else _EACH)
        case _ if name in OPERATIONS:
            right, left = stack.pop(), stack.pop()
            stack.append(_calculated(name, left, right))
        case _ if name in _ONCE:
            stack.append(_SAME)
        case _:
            return False
    return True


def _calculated(name: str, left: int, right: int) -> int:
    if name in ("PLUS", "MINUS") or (name == "TIMES" and _SAME in (left, right)):
        return max(left, right)
    return _SAME if left == right == _SAME else _EACH
