"""Totals and losses as debug_query shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strobe.model import Loss

if TYPE_CHECKING:
    from strobe.timeline.totals import ProbeTotals, Totals

_UNDECIDED = (
    "what it reads was not there or not readable, a division by zero, over 100,000 steps in one loop; or `once` is over"
)


def group(item: Totals, group_by: str) -> dict[str, Any]:
    """One group. `count` counts calls; what is missing of their events or durations is added where there is any. Of
    calls of which none has ended no time is known."""
    named: dict[str, Any]
    if group_by == "thread":
        named = {"threadId": item.thread_id, "threadName": item.key}
    else:
        named = {"function" if group_by == "function" else "sourceFile": item.key}
    missing = {
        "unwound": item.unwound,
        "exitsMissed": item.exits_missed,
        "evicted": item.evicted,
        "sampledOut": item.sampled_out,
        "lost": item.lost,
        "conditionFalse": item.unheld - item.undecided,
        "conditionUndecided": item.undecided,
    }
    times = {
        "totalNs": item.total_ns,
        **({} if item.self_ns is None else {"selfNs": item.self_ns}),
        "minNs": item.min_ns,
        "meanNs": item.mean_ns,
        "p50Ns": item.p50_ns,
        "p99Ns": item.p99_ns,
        "maxNs": item.max_ns,
    }
    return {
        **named,
        "count": item.count,
        **(times if item.completed else {}),
        **{name: count for name, count in missing.items() if count},
    }


def probe_totals(item: ProbeTotals) -> dict[str, Any]:
    """How often one probe was reached; `held` where that is not each time."""
    answer: dict[str, Any] = {"label": item.label, "hits": item.hits}
    if item.held != item.hits:
        answer["held"] = item.held
    if item.recorded != item.held:
        answer["recorded"] = item.recorded
    if item.undecided:
        answer |= {"undecided": item.undecided, "undecidedWhy": _UNDECIDED}
    return answer


def not_returned(count: int, why: str) -> dict[str, Any]:
    """Calls that a question about results leaves out, as they have no return; nothing where there are none."""
    return {"notReturned": count, "notReturnedWhy": why} if why else {}


def loss(counts: Loss) -> dict[str, Any]:
    """What is missing from the events, and from the totals, which are exact but for that."""
    answer: dict[str, Any] = {"eventsDropped": counts.evicted}
    if counts.evicted_until_ns is not None:
        answer["eventsDroppedUntilNs"] = counts.evicted_until_ns
    if counts.evicted_for:
        answer["eventsDroppedFor"] = f"{counts.evicted_for}; less serializationDepth, stack or watches keep more"
    if counts.sampled_out:
        answer["eventsSampledOut"] = counts.sampled_out
    if counts.lost:
        answer["eventsLost"] = counts.lost
    if counts.in_no_total:
        answer["callsInNoTotal"] = counts.in_no_total
    if counts.unwritten:
        answer |= {"outputUnwritten": counts.unwritten, "outputUnwrittenReason": counts.unwritten_reason}
    return answer
