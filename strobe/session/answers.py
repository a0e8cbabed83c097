"""What debug_trace answers: one sentence that says whether all is well, or what to try."""

from __future__ import annotations

import re

from strobe.dataclass import dataclass
from strobe.errors import command_names
from strobe.model import TraceAnswer
from strobe.session import hook_report
from strobe.session.hooks import Hooks
from strobe.symbols import Selection
from strobe.timeline.records import SessionRecord


def runtime_answer(hooks: Hooks, warnings: list[str], event_limit: int) -> TraceAnswer:
    """The answer to a change of a running session's traces."""
    return TraceAnswer(
        mode="runtime",
        active_patterns=list(hooks.patterns),
        matched_functions=hooks.matched,
        hooked_functions=hooks.enabled,
        warnings=warnings,
        event_limit=event_limit,
        status=_status(hooks),
        active_watches=hooks.extras.watches,
        unmatched={text: _nothing_of(hooks, text) for text in hook_report.unmatched(hooks)},
        probes=[] if hooks.probes is None else hooks.probes.answers,
    )


def pending_answer(
    patterns: list[str], project_root: str, warnings: list[str], event_limit: int, *, probes: int = 0, watches: int = 0
) -> TraceAnswer:
    """The answer to a change of what is staged for a project's next launch. `probes`, `watches`: how many are."""
    launch = command_names()["launch"]
    counts = {"pattern": len(patterns), "probe": probes, "watch": watches}
    staged = " and ".join(counted(count, noun) for noun, count in counts.items() if count)
    status = (
        f"{staged} staged; each {launch} with projectRoot {project_root} applies them "
        "before main begins, until they are removed."
        if staged
        else f"Nothing is staged for {project_root}."
    )
    return TraceAnswer("pending", patterns, 0, 0, warnings, event_limit, status)


_OF_ONE_NAME = re.compile(r"[<>(){}\[\]]|operator")  # with which a name may have a comma
_PLACE = re.compile(r"(?<!:):(?:inlined|return|entry)$")


@dataclass(frozen=True, slots=True)
class Ending:
    """How a session's program ended, as far as it is known. `how`: the same in words."""

    exit_code: int | None
    signal: str | None  # "SIGSEGV"
    how: str
    crash: str | None = None  # where it happened, in a sentence


def ending_of(record: SessionRecord) -> Ending | None:
    """None while the program itself runs."""
    if record.status == "running" and record.exit_code is None and record.signal is None:
        return None
    crash = record.notes.get("crash")
    where = str(crash) if crash is not None and record.status != "stopped" else None
    return Ending(record.exit_code, record.signal, how_it_ended(record), where)


def how_it_ended(record: SessionRecord) -> str:
    """What is known of the end of the program itself."""
    if record.status == "stopped":
        return "the session was stopped"
    if record.signal is not None:
        return f"signal {record.signal}"
    return "exit status unknown" if record.exit_code is None else f"exit status {record.exit_code}"


def going_on(record: SessionRecord) -> str | None:
    """A sentence about children that are still recorded after the program's end; None where there are none."""
    if not record.children:
        return None
    pids = ", ".join(map(str, record.children))
    recorded = f"its child {pids} is" if len(record.children) == 1 else f"its children {pids} are"
    return f"The program (process {record.pid}) has ended ({how_it_ended(record)}); {recorded} still recorded."


def _status(hooks: Hooks) -> str:
    if not hooks.patterns and hooks.probes is not None and (count := hooks.probes.recording):
        return f"Recording at {counted(count, 'place')} of probes; no patterns are active."
    if not hooks.patterns:
        return "No patterns are active: only output is recorded."
    empty = [text for text, found in hooks.selection.matches.items() if not found]
    if empty:
        return " ".join(nothing_matched(hooks.selection, text) for text in empty)
    if hooks.enabled == 0:
        return f"{counted(hooks.matched, 'function')} matched, but none can be hooked; the warnings say why."
    if hooks.enabled < hooks.matched:
        return (
            f"Recording {hooks.enabled} of {counted(hooks.matched, 'function')}; the warnings say which are left out."
        )
    return f"Recording all of {counted(hooks.matched, 'function')}."


def _nothing_of(hooks: Hooks, pattern: str) -> str:
    """Why nothing of a pattern is recorded: what it may have meant, or the warnings about what it matches."""
    if not hooks.selection.matches.get(pattern) and not hooks.selection.warnings:
        return nothing_matched(hooks.selection, pattern)
    if meant := hooks.selection.meant(pattern):
        return f"No function matches '{pattern}'. {meant}"
    return " ".join([f"Nothing of '{pattern}' can be recorded.", *hook_report.warnings(hooks)])


def nothing_matched(selection: Selection, pattern: str) -> str:
    """Why a pattern matches nothing: what it may have meant."""
    if (place := _PLACE.search(pattern)) is not None:
        return f"No function matches '{pattern}': with '{place[0]}' it is the place of a probe."
    several = [part.strip() for part in re.split(r"[,|;]", pattern)]
    if len(several) > 1 and all(several) and _OF_ONE_NAME.search(pattern) is None:
        each = ", ".join(f"'{part}'" for part in several)
        return f"No function matches '{pattern}'. Several patterns are given one by one: {each}."
    if meant := selection.meant(pattern):
        return f"No function matches '{pattern}'. {meant}"
    if selection.warnings:
        return f"Nothing that can be recorded matches '{pattern}'; see the warnings."
    return f"No function matches '{pattern}', and no name is similar."


def counted(number: int, noun: str) -> str:
    """`1 match`, `2 matches`."""
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
