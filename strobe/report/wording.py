"""Numbers and values as a person reads them: durations, counts, arguments, loss."""

from __future__ import annotations

import re
from collections.abc import Iterable

from strobe.errors import failure
from strobe.model import Argument, Loss, Value
from strobe.report.lengths import by_length
from strobe.timeline.decode import captured as values
from strobe.values import model
from strobe.values.decode import text

_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"))
_NS_PER_UNIT = {"": 1, "ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000}
_TIME = re.compile(r"(-?)(\d+(?:\.\d+)?)(ns|us|ms|s|m|)\Z")


def duration(ns: int) -> str:
    """Three digits and a unit: "812 ns", "1.20 us", "34.0 ms", "2.31 s"."""
    for size, unit in _UNITS:
        if ns >= size:
            value = ns / size
            digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
            return f"{value:.{digits}f} {unit}"
    return f"{ns} ns"


def moment(ns: int) -> str:
    """A time since session start, to the microsecond: "+0.001234 s"."""
    return f"+{ns / 1e9:.6f} s"


def counted(count: int, noun: str) -> str:
    """ "1 event", "12,000 events"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def value(shown: Value) -> str:
    """A captured value on one line."""
    is_deep = type(shown).__module__ == model.__name__
    return text.shown(shown) if is_deep else values.shown(shown)


def watches(read: dict[str, Value] | None) -> str:
    """ "  [gTempo=120, gNode->value=2]"; empty where nothing is watched."""
    return f"  [{', '.join(f'{name}={value(one)}' for name, one in read.items())}]" if read else ""


def arguments(items: Iterable[Argument] | None) -> str:
    """ "a=1, b=0x7f…"; without names just the values; "…" where the arguments are not known at all."""
    if items is None:
        return "…"
    shown = by_length(list(items))
    return ", ".join(f"{item.name}={value(item.value)}" if item.name else value(item.value) for item in shown)


def parse_ns(text: str, field: str) -> int:
    """Nanoseconds of "1500", "20us", "1.5ms", "2s"; raises VALIDATION_ERROR naming `field`."""
    found = _TIME.match(text)
    if found is None or found[1]:
        raise failure(
            "bad_value",
            field=field,
            value=f"'{text}'",
            reason="not a duration",
            valid="nanoseconds, or 20us, 1.5ms, 2s",
        )
    return round(float(found[2]) * _NS_PER_UNIT[found[3]])


def parse_moment(text: str, field: str) -> int | str:
    """A point in time: as parse_ns since session start; "-5s" before the newest event is passed on as text."""
    return text if text.startswith("-") else parse_ns(text, field)


def not_returned(count: int, why: str) -> str:
    """Of calls that a question about results leaves out."""
    verb = "has not returned, and is" if count == 1 else "have not returned, and are"
    return f"{counted(count, 'call')} {verb} not among these: {why}"


def loss_lines(loss: Loss) -> list[str]:
    """What is missing from the events, and from the totals, one line for each reason; empty when nothing is."""
    lines = []
    if loss.evicted:
        until = "" if loss.evicted_until_ns is None else f", up to {moment(loss.evicted_until_ns)}"
        lines.append(f"{counted(loss.evicted, 'event')} evicted to make room for newer ones{until}")
        if loss.evicted_for:
            lines[-1] += f" ({loss.evicted_for})"
    if loss.sampled_out:
        lines.append(
            f"{counted(loss.sampled_out, 'event')} left out by sampling of hot functions (--no-sampling keeps them)"
        )
    reasons = "no room in memory, too many threads, one without clock, or handlers that interrupt one another"
    if loss.lost:
        lines.append(f"{counted(loss.lost, 'event')} lost: {reasons}")
    if loss.in_no_total:
        are = "is" if loss.in_no_total == 1 else "are"
        lines.append(f"{counted(loss.in_no_total, 'call')} {are} in no total: {reasons}")
    if loss.unwritten:
        lines.append(f"{counted(loss.unwritten, 'line')} of output could not be written: {loss.unwritten_reason}")
    return lines


def one_line(text: str) -> str:
    """Output of a program as it may be shown in a terminal: one line, control characters as "\\x1b"."""
    shown = text.rstrip("\r\n").encode("utf-8", "replace").decode()
    return "".join(letter if letter.isprintable() or letter == "\t" else _escaped(letter) for letter in shown)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode()
