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
from strobe.report.palette import Palette
from strobe.report.shortened import shortened

_LINE = 400  # characters of one line
_LEAST_CALLS = 4  # of a function, from which on what is the same in all of them stands once
_LEAST_REPEATS = 3
_LONGEST_BLOCK = 40  # lines that come again together
_SAME = 300  # characters of what is the same in all calls of a function
_MARK = "\0"  # around durations: no value has one, as it would be shown as \0
_DURATION = re.compile(f" *{_MARK}([^{_MARK}]*){_MARK}")
_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


class _Marked(Palette):
    """Durations between marks, so that they are told from what the program has shown."""

    def __init__(self) -> None:
        super().__init__(False)

    def time(self, text: str) -> str:
        return f"{_MARK}{text}{_MARK}"


@dataclass(slots=True)
class _Line:
    """`events`: how many it stands for, with those before it that have no line of their own. `times`: how often it,
    or the block of `block` lines that it ends, comes in a row; `shortest`, `longest`: their durations."""

    shape: str
    events: int
    shortest: str
    longest: str
    times: int = 1
    block: int = 1

    @property
    def text(self) -> str:
        """As it is shown."""
        shape = results.clipped(self.shape, _LINE)
        same = self.shortest == self.longest
        took = self.shortest if same else f"{self.shortest} to {self.longest}"
        took = f"  {took}" if took else ""
        if self.times == 1:
            return shape + took
        what = "x" if self.block == 1 else f"these {self.block} lines x"
        return f"{shape}{took}  ({what} {self.times:,})"

    @property
    def kind(self) -> tuple[str, int, int]:
        """What is alike in lines that are folded."""
        return self.shape, self.times, self.block


def lines(events: Sequence[Event]) -> tuple[list[tuple[str, int]], dict[str, str]]:
    """Lines with how many events each stands for, in order; and by function the arguments that all its calls here
    have alike, which their lines leave out."""
    events = [_shortened(event) for event in events]
    same = dict(_same_arguments(events))
    found = _folded(list(_lines([_without(event, same.get(event.function or "")) for event in events])))
    told = {
        name: results.clipped(", ".join(f"{one}={text}" for one, text in own.items()), _SAME)
        for name, own in same.items()
    }
    return [(line.text, line.events) for line in found], told


def _lines(events: Sequence[Event]) -> Iterator[_Line]:
    tree = CallTree(_Marked(), with_output=True)
    told = 0
    for number, event in enumerate(events):
        for text in tree.feed([event]):
            done = number + (not tree.is_holding)
            yield _line(text, done - told)
            told = done
    for text in tree.flush():
        yield _line(text, len(events) - told)
        told = len(events)


def _line(text: str, events: int) -> _Line:
    duration = _DURATION.search(text)
    took = "" if duration is None else duration[1]
    return _Line(_DURATION.sub("", text), events, took, took)


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
        arguments=arguments and tuple(Argument(one.name, shortened(one.value)) for one in arguments),
        return_value=shortened(event.return_value),
        watch_values=watched and {name: shortened(value) for name, value in watched.items()},
    )


def _without(event: Event, same: dict[str, str] | None) -> Event:
    if not same or event.event_type != "function_enter" or event.arguments is None:
        return event
    return replace(event, arguments=tuple(one for one in event.arguments if one.name not in same))


def _folded(found: list[_Line]) -> list[_Line]:
    """Short blocks first, so that loops within loops are seen as alike."""
    for length in range(1, min(_LONGEST_BLOCK, len(found) // _LEAST_REPEATS) + 1):
        kept: list[_Line] = []
        kinds = [line.kind for line in found]
        at = 0
        while at < len(found):
            times = _times(kinds, at, length)
            if times < _LEAST_REPEATS or (length > 1 and found[at + length - 1].times > 1):
                kept.append(found[at])
                at += 1
                continue
            kept += _once(found[at : at + length * times], length, times)
            at += length * times
        found = kept
    return found


def _times(kinds: Sequence[tuple[str, int, int]], at: int, length: int) -> int:
    """How often the block of so many lines stands there in a row."""
    block, end = kinds[at : at + length], at + length
    while kinds[end : end + length] == block:
        end += length
    return (end - at) // length


def _once(every: Sequence[_Line], length: int, times: int) -> list[_Line]:
    told = []
    for place in range(length):
        own = every[place::length]
        took = sorted((one for line in own for one in (line.shortest, line.longest) if one), key=_ns)
        shortest, longest = (took[0], took[-1]) if took else ("", "")
        told.append(replace(own[0], shortest=shortest, longest=longest))
    counts = [line.events for line in every]
    told[-1] = replace(told[-1], events=told[-1].events + sum(counts[length:]), times=times, block=length)
    return told


def _ns(text: str) -> float:
    number, _, unit = text.partition(" ")
    return float(number) * _NS[unit]
