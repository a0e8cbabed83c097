"""Regular expressions for the program: as tables that take one look for each byte of a text, and have a bounded size.

What is taken is a part of RE2's syntax, which means what it does there; what needs more is refused, and can be asked of
what was recorded. Texts are UTF-8; bytes that are none match nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from strobe.dataclass import dataclass, field
from strobe.values.memory.recipes import CONSTANTS

MOST_STATES = 250
MOST_BYTES = CONSTANTS["MAX_TABLE"]
_MOST_NODES = 3000
_MOST_REPEATS = 100
_MOST_DIGITS = 4
_DEAD, _FOUND = 0, 1
_LAST = 0x10FFFF
_SPECIAL = "\\^$.|?*+()[]{}"
_ESCAPES = {"t": 9, "n": 10, "r": 13, "f": 12, "v": 11, "a": 7}
Ranges = tuple[tuple[int, int], ...]
_DIGITS: Ranges = ((0x30, 0x39),)
_WORDS: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACES: Ranges = ((9, 10), (12, 13), (0x20, 0x20))
_CLASSES = {"d": _DIGITS, "w": _WORDS, "s": _SPACES}
_FOLDED = tuple((ord(letter), sign) for letter, sign in (("K", 0x212A), ("k", 0x212A), ("S", 0x17F), ("s", 0x17F)))
_TIMES = re.compile(r"\{(0|[1-9][0-9]*)(,)?(0|[1-9][0-9]*)?\}")  # as RE2: else a bracket stands for itself
_LENGTHS = ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, _LAST))  # of UTF-8, one to four bytes


class NotTaken(ValueError):
    """What is not known here; the text says what, and is the end of a sentence about the expression."""


@dataclass(slots=True)
class _Node:
    """`steps`: by a range of bytes to another node; `free`: nodes that are reached by none, at the text's begin or end
    alone where that is said."""

    steps: list[tuple[int, int, int]] = field(default_factory=list)
    free: list[tuple[str, int]] = field(default_factory=list)


Part = tuple[int, int]  # nodes: where it begins, and where it has been gone through


@lru_cache(64)
def table_of(text: str) -> bytes:
    """What step MATCH_TEXT has: see recipe.h. Raises NotTaken."""
    return _Table(_Parser(text)).data


class _Parser:
    def __init__(self, text: str) -> None:
        self.nodes: list[_Node] = []
        self._text = text
        self._at = 0
        self._folds = text.startswith("(?i)")
        if self._folds:
            self._at = 4
        self.begin, self.end = self._choices()
        if self._at < len(text):
            raise NotTaken(f"'{text[self._at :]}' has no beginning")

    # --- nodes

    def _node(self) -> int:
        if len(self.nodes) == _MOST_NODES:
            raise NotTaken("it is too large")
        self.nodes.append(_Node())
        return len(self.nodes) - 1

    def _free(self, first: int, then: int, when: str = "") -> None:
        self.nodes[first].free.append((when, then))

    def _then(self, first: Part, second: Part) -> Part:
        self._free(first[1], second[0])
        return first[0], second[1]

    def _nothing(self, when: str = "") -> Part:
        begin, end = self._node(), self._node()
        self._free(begin, end, when)
        return begin, end

    def _characters(self, ranges: Ranges) -> Part:
        begin, end = self._node(), self._node()
        for first, last in ranges:
            for low, high in _LENGTHS:
                if max(first, low) <= min(last, high):
                    self._encoded(begin, end, chr(max(first, low)), chr(min(last, high)))
        return begin, end

    def _encoded(self, begin: int, end: int, first: str, last: str) -> None:
        """One character of a range whose ends have as many bytes."""
        low, high = (one.encode("utf-8", "surrogatepass") for one in (first, last))
        for parts in _sequences(low, high):
            at = begin
            for index, (lowest, highest) in enumerate(parts):
                to = end if index == len(parts) - 1 else self._node()
                self.nodes[at].steps.append((lowest, highest, to))
                at = to

    # --- syntax

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self) -> str:
        if self._at == len(self._text):
            raise NotTaken("it ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def _choices(self) -> Part:
        parts = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            parts.append(self._sequence())
        if len(parts) == 1:
            return parts[0]
        begin, end = self._node(), self._node()
        for part in parts:
            self._free(begin, part[0])
            self._free(part[1], end)
        return begin, end

    def _sequence(self) -> Part:
        whole = self._nothing()
        while self._peek() and self._peek() not in "|)":
            start = self._at
            whole = self._then(whole, self._repeated(self._one, start))
        return whole

    def _repeated(self, one: Callable[[], Part], start: int) -> Part:
        part = one()
        sign = self._peek()
        if sign and sign in "*+?":
            self._at += 1
            found = self._loop(part) if sign in "*+" else part
            if sign in "*?":
                self._free(found[0], found[1])
        elif bounds := self._bounds():
            found = self._times(one, start, *bounds)
        else:
            return part
        if self._peek() == "?":  # as few as possible: what is found is the same
            self._at += 1
        if self._peek() and (self._peek() in "*+?" or self._bounds()):
            raise NotTaken("a repetition is repeated")
        return found

    def _loop(self, part: Part) -> Part:
        begin, end = self._node(), self._node()
        self._free(begin, part[0])
        self._free(part[1], end)
        self._free(part[1], part[0])
        return begin, end

    def _bounds(self) -> tuple[int, int | None] | None:
        """Of `{2}`, `{2,}`, `{2,3}`."""
        found = _TIMES.match(self._text, self._at)
        if found is None or (found[3] and not found[2]):
            return None
        self._at = found.end()
        inside = found[0][1:-1]
        if max(map(len, inside.split(","))) > _MOST_DIGITS:
            raise NotTaken(f"{{{inside}}} repeats too often")
        least, most = int(found[1]), int(found[3]) if found[3] else None if found[2] else int(found[1])
        if least > _MOST_REPEATS or (most is not None and not least <= most <= _MOST_REPEATS):
            raise NotTaken(f"{{{inside}}} repeats too often")
        return least, most

    def _times(self, one: Callable[[], Part], start: int, least: int, most: int | None) -> Part:
        """The part from `start` on once more for each time."""
        behind = self._at
        whole = self._nothing()
        for number in range(least if most is None else most):
            self._at = start
            part = one()
            if number >= least:
                self._free(part[0], part[1])
            whole = self._then(whole, part)
        if most is None:
            self._at = start
            part = self._loop(one())
            self._free(part[0], part[1])
            whole = self._then(whole, part)
        self._at = behind
        return whole

    def _one(self) -> Part:
        sign = self._take()
        match sign:
            case "(":
                return self._group()
            case "[":
                return self._characters(self._folded(self._set()))
            case ".":
                return self._characters(((0, 9), (11, _LAST)))
            case "^" | "$":
                return self._nothing(sign)
            case "\\":
                return self._escaped()
            case "*" | "+" | "?":
                raise NotTaken(f"'{sign}' repeats nothing")
        return self._characters(self._folded(((ord(sign), ord(sign)),)))

    def _group(self) -> Part:
        if self._peek() == "?":
            named = self._text.startswith(("?P<", "?<"), self._at)
            if named and (end := self._text.find(">", self._at)) > 0:
                self._at = end + 1
            elif self._text.startswith("?:", self._at):
                self._at += 2
            else:
                raise NotTaken(f"'({self._text[self._at : self._at + 3]}' is not calculated there")
        part = self._choices()
        if self._take() != ")":
            raise NotTaken("a bracket has no end")
        return part

    def _escaped(self) -> Part:
        sign = self._take()
        if sign == "A":
            return self._nothing("^")
        if sign == "z":
            return self._nothing("$")
        if (ranges := self._class(sign)) is not None:
            return self._characters(_with_cases(ranges) if self._folds and sign.islower() else ranges)
        code = self._code(sign)
        return self._characters(self._folded(((code, code),)))

    def _class(self, sign: str) -> Ranges | None:
        """Of `\\d` and its kin."""
        ranges = _CLASSES.get(sign.lower())
        if ranges is None or sign.islower():
            return ranges
        return _others(_with_cases(ranges) if self._folds else ranges)

    def _code(self, sign: str) -> int:
        """Of the character that stands behind a backslash."""
        if sign in _ESCAPES:
            return _ESCAPES[sign]
        if sign == "x":
            digits = self._take()
            digits = self._braced() if digits == "{" else digits + self._take()
            if any(one not in "0123456789abcdefABCDEF" for one in digits) or not digits or int(digits, 16) > _LAST:
                raise NotTaken(f"'\\x{digits}' is no character")
            return int(digits, 16)
        if sign.isalnum() or ord(sign) > 0x7F:
            raise NotTaken(f"'\\{sign}' is not calculated there")
        return ord(sign)

    def _braced(self) -> str:
        found = ""
        while (one := self._take()) != "}":
            found += one
        return found

    def _set(self) -> Ranges:
        """Behind the bracket that opens it."""
        is_negated = self._peek() == "^"
        self._at += is_negated
        ranges: list[tuple[int, int]] = []
        is_first = True
        while is_first or self._peek() != "]":
            if self._text.startswith("[:", self._at):
                raise NotTaken("'[:…:]' is not calculated there")
            first = self._member()
            is_first = False
            if not isinstance(first, int):
                ranges += first
                continue
            last = first
            if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                end = self._member()
                if not isinstance(end, int) or end < first:
                    raise NotTaken("a range of characters has no end")
                last = end
            ranges.append((first, last))
        self._at += 1
        return _others(self._folded(tuple(ranges))) if is_negated else tuple(ranges)

    def _member(self) -> int | Ranges:
        sign = self._take()
        if sign != "\\":
            return ord(sign)
        sign = self._take()
        found = self._class(sign)
        return self._code(sign) if found is None else found

    def _folded(self, ranges: Ranges) -> Ranges:
        """With capital and small letters, where these are the same."""
        if not self._folds:
            return ranges
        if any(last > 0x7F for _, last in ranges):
            raise NotTaken("(?i) is of ASCII there")
        return _with_cases(ranges)


class _Table:
    """Of the states that the nodes a text may have led to are together."""

    def __init__(self, parsed: _Parser) -> None:
        self._nodes, self._begin, self._end = parsed.nodes, parsed.begin, parsed.end
        self._classes = self._byte_classes()
        self._numbers: dict[frozenset[int] | None, int] = {frozenset(): _DEAD, None: _FOUND}
        self._rows: dict[int, list[int]] = {}
        self._check_order()
        start = self._number(self._reached({self._begin}, "^"))
        self._build()
        self.data = self._written(start)

    def _byte_classes(self) -> list[int]:
        """For each byte the number of those that are not distinguished from it."""
        bounds = {0, 256}
        for node in self._nodes:
            for first, last, _ in node.steps:
                bounds |= {first, last + 1}
        found, number = [], -1
        for byte in range(256):
            number += byte in bounds
            found.append(number)
        return found

    def _check_order(self) -> None:
        """That no text has to begin where it has ended."""
        waiting = [to for node in self._nodes for condition, to in node.free if condition == "$"]
        found = set(waiting)
        while waiting:
            for condition, to in self._nodes[waiting.pop()].free:
                if condition == "^":
                    raise NotTaken("'^' behind '$' is not calculated there")
                if to not in found:
                    found.add(to)
                    waiting.append(to)

    def _reached(self, nodes: set[int], when: str = "") -> frozenset[int] | None:
        """Where one is without a byte more; None where that is the end. Nodes that lead nowhere are left out."""
        waiting, found = list(nodes), set(nodes)
        while waiting:
            for condition, to in self._nodes[waiting.pop()].free:
                if condition in ("", when) and to not in found:
                    found.add(to)
                    waiting.append(to)
        if self._end in found:
            return None
        return frozenset(one for one in found if self._nodes[one].steps or self._asks_for_end(one))

    def _asks_for_end(self, node: int) -> bool:
        return any(condition == "$" for condition, _ in self._nodes[node].free)

    def _number(self, state: frozenset[int] | None) -> int:
        number = self._numbers.setdefault(state, len(self._numbers))
        if len(self._numbers) > MOST_STATES:
            raise NotTaken(f"it has more than {MOST_STATES} states")
        return number

    def _build(self) -> None:
        """Rows of all states, those that are found meanwhile included."""
        firsts = [self._classes.index(one) for one in range(self._classes[-1] + 1)]
        done = 0
        while done < len(self._numbers):
            state = list(self._numbers)[done]
            self._rows[done] = [self._next(state, byte, done) for byte in firsts]
            done += 1

    def _next(self, state: frozenset[int] | None, byte: int, number: int) -> int:
        if state is None or not state:
            return number
        to = {then for one in state for first, last, then in self._nodes[one].steps if first <= byte <= last}
        return self._number(self._reached({*to, self._begin}))

    def _ends(self, state: frozenset[int] | None) -> bool:
        """Whether the text may end there."""
        return state is None or self._reached(set(state), "$") is None

    def _written(self, start: int) -> bytes:
        states = sorted(self._numbers.items(), key=lambda item: (item[1] > _FOUND and self._ends(item[0]), item[1]))
        order = {number: at for at, (_, number) in enumerate(states)}
        ends_from = next((at for at, (one, _) in enumerate(states) if at > _FOUND and self._ends(one)), len(states))
        width = self._classes[-1] + 1
        data = bytes([width % 256, order[start], ends_from, len(states), *bytes(4), *self._classes])
        data += bytes(order[to] for _, number in states for to in self._rows[number])
        if len(data) > MOST_BYTES or width > 255:
            raise NotTaken(f"its table has {len(data):,} bytes, and {MOST_BYTES:,} are possible")
        return data


def _with_cases(ranges: Ranges) -> Ranges:
    """With the other case of each letter of ASCII, in RE2's sense: k is also the Kelvin sign, s the long s."""
    more = []
    for low, high, apart in ((0x41, 0x5A, 0x20), (0x61, 0x7A, -0x20)):
        for first, last in ranges:
            if max(first, low) <= min(last, high):
                more.append((max(first, low) + apart, min(last, high) + apart))
    letters = {(letter, sign) for letter, sign in _FOLDED if any(low <= letter <= high for low, high in ranges)}
    return (*ranges, *more, *((sign, sign) for _, sign in sorted(letters)))


def _others(ranges: Ranges) -> Ranges:
    """All characters that are none of these."""
    found, behind = [], 0
    for first, last in sorted(ranges):
        if first > behind:
            found.append((behind, first - 1))
        behind = max(behind, last + 1)
    return tuple(found) if behind > _LAST else (*found, (behind, _LAST))


def _sequences(low: bytes, high: bytes) -> Iterator[list[tuple[int, int]]]:
    """Ranges for each byte, which are together all encodings from `low` to `high`, of one length."""
    if len(low) == 1:
        yield [(low[0], high[0])]
        return
    if low[0] == high[0]:
        for rest in _sequences(low[1:], high[1:]):
            yield [(low[0], low[0]), *rest]
        return
    least, most = bytes([0x80]) * (len(low) - 1), bytes([0xBF]) * (len(low) - 1)
    first, last = low[0], high[0]
    if low[1:] != least:
        for rest in _sequences(low[1:], most):
            yield [(first, first), *rest]
        first += 1
    if high[1:] != most:
        last -= 1
    if first <= last:
        yield [(first, last), *([(0x80, 0xBF)] * (len(low) - 1))]
    if high[1:] != most:
        for rest in _sequences(least, high[1:]):
            yield [(high[0], high[0]), *rest]
