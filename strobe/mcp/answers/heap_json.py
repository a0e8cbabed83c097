"""What is held of what was allocated, as debug_query shows it."""

from __future__ import annotations

from typing import Any

from strobe.mcp.results import clipped
from strobe.session import Session
from strobe.session.questions.heap import Group, HeapReport, heap_report, shown_stack

_FRAME_CHARACTERS = 140


def of(session: Session, from_ns: int | None, to_ns: int | None, top: int) -> dict[str, Any]:
    """As heap_report has it. Raises as Session.query."""
    return heap_json(heap_report(session, from_ns, to_ns), top)


def heap_json(report: HeapReport, top: int) -> dict[str, Any]:
    """The first `top` stacks."""
    answer: dict[str, Any] = {"bytes": report.size, "blocks": report.blocks, "stacks": len(report.groups)}
    has_growth = report.from_ns is not None
    answer["top"] = [_group(one, has_growth) for one in report.groups[:top]]
    if report.notes:
        answer["notes"] = report.notes
    return answer


def _group(group: Group, has_growth: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {"bytes": group.size, "blocks": group.blocks}
    if has_growth:
        answer |= {"grownBytes": group.grown_size, "grownBlocks": group.grown_blocks}
    answer["stack"] = [clipped(text, _FRAME_CHARACTERS) for text in shown_stack(group.stack)]
    if group.newest is not None:
        newest = group.newest
        answer["newest"] = {"address": hex(newest.address), "bytes": newest.size, "event": newest.event}
    return answer
