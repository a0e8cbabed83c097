"""Plain tables: columns as wide as their widest cell, numbers to the right, the last column free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from strobe.report import wording
from strobe.report.palette import Palette

if TYPE_CHECKING:
    from strobe.timeline.totals import Totals


def table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], palette: Palette, right: frozenset[int] = frozenset()
) -> list[str]:
    """Lines of a table; columns whose index is in `right` are aligned to the right."""
    widths = [max(len(row[i]) for row in (headings, *rows)) for i in range(len(headings))]

    def line(cells: Sequence[str]) -> str:
        columns = enumerate(zip(cells, widths, strict=True))
        padded = (f"{cell:>{width}}" if i in right else f"{cell:{width}}" for i, (cell, width) in columns)
        return "  ".join(padded).rstrip()

    return [palette.heading(line(headings)), *(line(row) for row in rows)]


def totals_table(totals: Sequence[Totals], key: str, palette: Palette) -> list[str]:
    """Totals, most calls first; times are of completed calls and "-" where there is none."""
    headings = ("calls", "total", "self", "mean", "p50", "p99", "max", key)
    rows = [_totals_row(group) for group in sorted(totals, key=lambda group: -group.count)]
    return table(headings, rows, palette, frozenset(range(7)))


def _totals_row(group: Totals) -> tuple[str, ...]:
    times = (group.total_ns, group.self_ns, group.mean_ns, group.p50_ns, group.p99_ns, group.max_ns)
    shown = ("-" if ns is None or not group.completed else wording.duration(ns) for ns in times)
    thread = f" {group.thread_id}" if group.thread_id is not None else ""
    return (f"{group.count:,}", *shown, f"{wording.one_line(group.key)}{thread}{_remarks(group)}")


def _remarks(group: Totals) -> str:
    """What of a group's calls has no duration, or no events."""
    counts = ((group.unwound, "left without return"), (group.exits_missed, "return not seen"))
    lost = ((group.evicted, "evicted"), (group.sampled_out, "sampled out"), (group.lost, "lost"))
    parts = [f"{count:,} {what}" for count, what in counts if count]
    if group.unheld:
        held = f"the condition held in {group.count - group.unheld:,} of {group.count:,}"
        parts.append(f"{held}, {group.undecided:,} undecided" if group.undecided else held)
    parts += [f"{wording.counted(count, 'event')} {what}" for count, what in lost if count]
    return f"  ({', '.join(parts)})" if parts else ""
