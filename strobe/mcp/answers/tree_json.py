"""Events as a call tree, one line for a call with its return, as `strobe run` prints them; what comes again and again,
and arguments that are always the same, stand once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from strobe.dataclass import dataclass, replace
from strobe.mcp import results
from strobe.model import Argument, Event
from strobe.report import wording
from strobe.report.calltree import CallTree
from strobe.report.lengths import by_length
from strobe.report.palette import Palette
from strobe.report.shortened import shortened

_LINE, _LINE_END = 400, 80  # characters of one line, and of those its last ones: they have the result
_LEAST_CALLS = 4  # of a function, from which on what is the same in all of them stands once
_LEAST_REPEATS = 3
_LONGEST_BLOCK = 40  # lines that come again together
_BLOCK_CHARACTERS = 4_000  # of these lines: a block is shown whole, or not at all
_SAME, _ALL_SAME = 300, 2_000  # characters of what is the same in all calls of a function, and of all functions
_MARK = "\0"  # around durations, of which the last one of a line is meant
_DURATION = re.compile(rf" *{_MARK}([\d.]+ [num]?s){_MARK}")
_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


class _Marked(Palette):
    """Durations between marks, so that they differ from what the program has shown."""

    def __init__(self) -> None:
        super().__init__(False)

    def time(self, text: str) -> str:
        return f"{_MARK}{text}{_MARK}"


@dataclass(slots=True)
class _Line:
    """`events`: how many it stands for, with those before it that have no line of their own. `folds`: blocks that it
    ends, the inner one first: of how many lines, and how often they come in a row; `shortest`, `longest`: durations of
    all that it stands for."""

    shape: str
    events: int
    shortest: str
    longest: str
    folds: tuple[tuple[int, int], ...] = ()

    @property
    def text(self) -> str:
        """As it is shown."""
        same = self.shortest == self.longest
        took = self.shortest if same else f"{self.shortest} to {self.longest}"
        marks = [took] if took else []
        marks += [
            f"(x {times:,})" if lines == 1 else f"(these {lines} lines x {times:,})" for lines, times in self.folds
        ]
        return "  ".join((_clipped(self.shape), *marks))

    @property
    def kind(self) -> tuple[str, tuple[tuple[int, int], ...]]:
        """What is alike in lines that are folded."""
        return self.shape, self.folds


_Block = list[_Line]  # lines that are folded together: they are not taken apart


def blocks(
    events: Sequence[Event], is_whole: bool = True, names_threads: bool = False
) -> tuple[list[tuple[list[str], int]], dict[str, str]]:
    """Lines, those that belong together in one entry, with how many events each entry stands for, in order; and by
    function the arguments that all its calls here have alike, which their lines leave out. `is_whole`: no event
    between the first and the last one is missing; `names_threads`: there are several."""
    events = [_shortened(event) for event in events]
    same = _fitting(dict(_same_arguments(events)))
    shown = [_without(event, same.get(event.function or "")) for event in events]
    found = _folded([[line] for line in _lines(shown, is_whole, names_threads)])
    shared = {name: results.clipped(_listed(own), _SAME) for name, own in same.items()}
    return [([line.text for line in block], sum(line.events for line in block)) for block in found], shared


def _clipped(shape: str) -> str:
    more = len(shape) - _LINE
    if more <= 0:
        return shape
    return f"{shape[: _LINE - _LINE_END]}… [{more} more characters] …{shape[-_LINE_END:]}"


def _lines(events: Sequence[Event], is_whole: bool, names_threads: bool) -> Iterator[_Line]:
    tree = CallTree(_Marked(), with_output=True, is_whole=is_whole, names_threads=names_threads)
    written = 0
    for number, event in enumerate(events):
        for text in tree.feed([event]):
            done = number + (not tree.is_holding)
            yield _line(text, done - written)
            written = done
    for text in tree.flush():
        yield _line(text, len(events) - written)
        written = len(events)


def _line(text: str, events: int) -> _Line:
    *_, duration = (None, *_DURATION.finditer(text))
    if duration is None:
        return _Line(text, events, "", "")
    return _Line(text[: duration.start()] + text[duration.end() :], events, duration[1], duration[1])


def _listed(own: dict[str, str]) -> str:
    return ", ".join(f"{one}={text}" for one, text in own.items())


def _fitting(same: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Of the functions that come first, and no more than `same` of the answer has room for."""
    left, found = _ALL_SAME, {}
    for function, own in same.items():
        left -= len(function) + min(len(_listed(own)), _SAME)
        if left < 0:
            break
        found[function] = own
    return found


def _same_arguments(events: Sequence[Event]) -> Iterator[tuple[str, dict[str, str]]]:
    calls: dict[str, list[dict[str, str]]] = {}
    for event in events:
        if event.event_type == "function_enter" and event.arguments:
            shown = {one.name: wording.value(one.value) for one in event.arguments if one.name}
            calls.setdefault(event.function or "", []).append(shown)
    for function, every in calls.items():
        first, *others = every
        if len(every) >= _LEAST_CALLS:
            same = {name: text for name, text in first.items() if all(one.get(name) == text for one in others)}
            if same:
                yield function, same


def _shortened(event: Event) -> Event:
    arguments, watched = event.arguments, event.watch_values
    return replace(
        event,
        arguments=arguments and tuple(Argument(one.name, shortened(one.value)) for one in by_length(arguments)),
        return_value=shortened(event.return_value),
        watch_values=watched and {name: shortened(value) for name, value in watched.items()},
    )


def _without(event: Event, same: dict[str, str] | None) -> Event:
    if not same or event.event_type != "function_enter" or event.arguments is None:
        return event
    return replace(event, arguments=tuple(one for one in event.arguments if one.name not in same))


def _folded(found: list[_Block]) -> list[_Block]:
    """Short blocks first, so that loops within loops are seen as alike. What is folded counts as one from then on: a
    line is never part of two blocks of which neither is within the other."""
    for length in range(1, min(_LONGEST_BLOCK, len(found) // _LEAST_REPEATS) + 1):
        kept: list[_Block] = []
        numbers: dict[object, int] = {}
        kinds = [numbers.setdefault(tuple(line.kind for line in block), len(numbers)) for block in found]
        at = 0
        while at < len(found):
            times = _times(kinds, at, length)
            if times < _LEAST_REPEATS or _is_too_long(found[at : at + length]):
                kept.append(found[at])
                at += 1
                continue
            kept.append(_once(found[at : at + length * times], length, times))
            at += length * times
        found = kept
    return found


def _is_too_long(block: Sequence[_Block]) -> bool:
    lines = [line for inner in block for line in inner]
    return len(lines) > _LONGEST_BLOCK or sum(len(_clipped(line.shape)) for line in lines) > _BLOCK_CHARACTERS


def _times(kinds: Sequence[int], at: int, length: int) -> int:
    """How often the block of so many entries stands there in a row."""
    end = at + length
    while end < len(kinds) and kinds[end] == kinds[end - length]:
        end += 1
    return (end - at) // length


def _once(every: Sequence[_Block], length: int, times: int) -> _Block:
    """One block of `times` of `length` entries each."""
    rounds = [[line for block in every[at : at + length] for line in block] for at in range(0, len(every), length)]
    lines_so_far: _Block = []
    for own in zip(*rounds, strict=True):
        took = sorted((one for line in own for one in (line.shortest, line.longest) if one), key=_ns)
        shortest, longest = (took[0], took[-1]) if took else ("", "")
        lines_so_far.append(replace(own[0], shortest=shortest, longest=longest))
    more = sum(line.events for lines in rounds[1:] for line in lines)
    last = lines_so_far[-1]
    lines_so_far[-1] = replace(last, events=last.events + more, folds=(*last.folds, (len(lines_so_far), times)))
    return lines_so_far


def _ns(text: str) -> float:
    number, _, unit = text.partition(" ")
    return float(number) * _NS[unit]
