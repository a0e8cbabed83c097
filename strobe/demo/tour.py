"""What `strobe demo` finds out about its program, through the Python API and from nothing but the recorded calls.

The search knows nothing of shops. Where one call hands the result of a second call to a third one, it does so each
time: so it looks for a rule of the form "what A returned is what B was given as x" that holds in nearly all calls of
some function, and shows the calls that break it.
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from strobe import api
from strobe.calls import Call
from strobe.dataclass import dataclass, field
from strobe.errors import failure
from strobe.model import Event, EventFilter
from strobe.resources import DEMO_PROGRAM

if TYPE_CHECKING:
    from strobe.timeline.totals import Totals

FOLDER = Path(__file__).parent
SOURCES = "/strobe-demo"  # where its debug information says that its sources lie, see CMakeLists.txt

_RUN_SECONDS = 30.0
_FIRST_EVENTS = 24
_RULE_CALLS = 100  # a rule needs so many calls to be one
_RULE_SHARE = 0.99


@dataclass(frozen=True, slots=True)
class Rule:
    """In `holds` calls of `caller`, `receiver` was given as `argument` what `giver` returned."""

    caller: str
    giver: str
    receiver: str
    argument: str
    holds: int


@dataclass(frozen=True, slots=True)
class Offence:
    """A call that broke a rule: `returned` by the giver, `given` to the receiver; `events` are all of the call."""

    rule: Rule
    call: Call
    receiver: Call
    returned: int
    given: int
    events: list[Event]


@dataclass(frozen=True, slots=True)
class Finding:
    """`first_events` are the first that happened; `seconds` from launch to answer."""

    output: str
    exit_code: int | None
    calls: int
    first_events: list[Event]
    totals: list[Totals]
    offences: list[Offence]
    seconds: float


def explore() -> Finding:
    """Runs the demo's program with all its functions traced and looks for what is odd. Leaves nothing behind."""
    started = time.monotonic()
    if not DEMO_PROGRAM.exists():
        raise failure("no_such_file", path=DEMO_PROGRAM, hint="Install Strobe (make install), which builds it.")
    with (
        tempfile.TemporaryDirectory(prefix="strobe-demo-") as home,
        api.launch([DEMO_PROGRAM], trace=["@usercode"], project_root=SOURCES, sampling="off", home=home) as shop,
    ):
        status = shop.wait(_RUN_SECONDS)
        calls = shop.calls()
        first = shop.query(EventFilter(limit=_FIRST_EVENTS)).events
        offences = [_offence(shop, rule, call) for rule, call in broken_rules(calls)]
        found = (shop.stdout, status.code, len(calls), first, shop.totals(), offences)
        return Finding(*found, seconds=time.monotonic() - started)


@dataclass
class _Evidence:
    holds: int = 0
    broken: list[Call] = field(default_factory=list)


def broken_rules(calls: Iterable[Call]) -> Iterator[tuple[Rule, Call]]:
    """Each call that breaks a rule which nearly all calls of its function keep."""
    evidence: dict[tuple[str, str, str, str], _Evidence] = defaultdict(_Evidence)
    for call in calls:
        for giver, receiver, argument, value in _handed_on(call):
            seen = evidence[call.function, giver.function, receiver.function, argument]
            if value == giver.return_value:
                seen.holds += 1
            else:
                seen.broken.append(call)
    for key, seen in evidence.items():
        if seen.holds >= _RULE_CALLS and seen.holds >= _RULE_SHARE * (seen.holds + len(seen.broken)):
            yield from ((Rule(*key, seen.holds), call) for call in seen.broken)


def _handed_on(call: Call) -> Iterator[tuple[Call, Call, str, object]]:
    """(giver, receiver, argument, value) for every value that one child could have handed to a later one."""
    for index, giver in enumerate(call.children):
        if not isinstance(giver.return_value, int):
            continue
        for receiver in call.children[index + 1 :]:
            for argument, value in receiver.arguments.items():
                if isinstance(value, int):
                    yield giver, receiver, argument, value


def _offence(shop: api.ProgramSession, rule: Rule, call: Call) -> Offence:
    giver, receiver = call.child(rule.giver), call.child(rule.receiver)
    assert giver is not None and receiver is not None  # or the call would not have broken the rule
    until = call.start_ns + (call.duration_ns or 0) + 1  # both are rounded down from the clock's ticks
    window = EventFilter(thread_id=call.thread_id, time_from=call.start_ns, time_to=until)
    given, received = giver.return_value, receiver.arguments[rule.argument]
    assert isinstance(given, int) and isinstance(received, int)
    return Offence(rule, call, receiver, given, received, events=list(shop.events(window)))


def source_line(call: Call) -> str | None:
    """The line of the demo's sources where the called function is defined."""
    if call.source_file is None or call.line is None:
        return None
    lines = (FOLDER / Path(call.source_file).name).read_text().splitlines()
    return lines[call.line - 1].strip() if call.line <= len(lines) else None
