"""Conditions are decided by the native program as the evaluation of each event decides them."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from support.sessions import Build, Launch, status

from strobe.dataclass import replace
from strobe.errors import StrobeError
from strobe.model import EventFilter, EventPage
from strobe.session import Session
from strobe.session.questions import question

CONDITIONS = 250
NUMBERS = (
    *("tiny", "byte", "small", "number", "big", "huge", "is_odd", "kind", "flags", "level", "letter", "single", "real"),
    *("place", "$return", "$duration", "$time", "$depth", "$line", "$thread", "$pid", "arg1"),
)
TEXTS = ("text", "name", "$return", "$threadName", "$function", "$type", "kind", "letter", "$thread", "$file")
CONSTANTS = (
    *("0", "1", "-1", "3", "7", "30", "255", "0x7fffffffffffffff", "0xffffffffffffffff", "0.1", "-2.5", "0.3", "1e20"),
    *("16777216", "SALE", "REFUND", "WRITE", "HIGH", "'a'", "'\\n'", "true", "null", "0.30000000000000004"),
)
WORDS = (
    *('""', '"bread"', '"refund"', '"b"', '"SALE"', '"WRITE"', '"sort-2"', '"a longer"', '"function_exit"', "'a'"),
    *('"sorts::told"', '"READ|WRITE"', '"a longer text that is cut, as it has more than is kept of one"'),
)


class Conditions:
    """Random ones, most of which make sense."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def __iter__(self) -> Iterator[str]:
        while True:
            yield self._truth(3)

    def _truth(self, depth: int) -> str:
        pick = self._random.randrange(12 if depth else 8)
        if pick < 4:
            sign = self._random.choice(("==", "!=", "<", "<=", ">", ">="))
            return f"{self._number(2)} {sign} {self._number(1)}"
        if pick < 7:
            sign = self._random.choice(("==", "!=", "<", ">=", "contains", "startswith", "endswith"))
            sides = [self._random.choice(TEXTS), self._random.choice(WORDS)]
            if self._random.random() < 0.1:
                sides.reverse()
            return f"{sides[0]} {sign} {sides[1]}"
        if pick == 7:
            return self._random.choice((f"has({self._random.choice(NUMBERS)})", self._random.choice(NUMBERS)))
        if pick == 8:
            return f"!({self._truth(depth - 1)})"
        sign = self._random.choice(("&&", "||"))
        return f"({self._truth(depth - 1)} {sign} {self._truth(depth - 1)})"

    def _number(self, depth: int) -> str:
        pick = self._random.randrange(10 if depth else 6)
        if pick < 4:
            return self._random.choice(NUMBERS)
        if pick < 6:
            return self._random.choice(CONSTANTS)
        if pick == 6:
            return f"({self._random.choice(('i8', 'u16', 'i64', 'f32', 'double', 'bool'))}){self._number(0)}"
        if pick == 7:
            form = self._random.choice(("-{}", "~{}", "abs({})", "size({})", "({} ? 1 : small)"))
            return form.format(self._random.choice((*NUMBERS, "text", "name")))
        sign = self._random.choice(("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"))
        return f"({self._number(depth - 1)} {sign} {self._number(depth - 1)})"


@pytest.fixture
def session(launch: Launch, build_program: Build) -> Session:
    """One run of sorts."""
    session = launch(build_program("sorts", "-O1"), patterns=["sorts::*"], sampling="off")
    assert status(session) == 0
    return session


def facts(page: EventPage) -> tuple[object, ...]:
    return ([event.id for event in page.events], page.total_count, page.checked, page.undecided, page.has_more)


def evaluated(session: Session, wanted: EventFilter, monkeypatch: pytest.MonkeyPatch) -> EventPage:
    """The answer of the evaluation of each event."""
    with monkeypatch.context() as patched:
        patched.setattr(question, "can_sieve", lambda reader, sight: False)
        return session.query(wanted)


@pytest.mark.parametrize(
    ("program", "names", "numbers"),
    [
        ("ledger", ("account->number", "account->cents", "account->last"), ("2", "100", "cents", "account->number")),
        ("list_of_nodes", ("node->number", "owner.count", "next->number", "node->next"), ("1", "2", "null", "0")),
    ],
)
def test_members_behind_arguments(
    launch: Launch,
    build_program: Build,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    names: tuple[str, ...],
    numbers: tuple[str, ...],
) -> None:
    session = launch(build_program(program, "-O0"), "50", patterns=["shop::*", "list::*"], sampling="off", depth=2)
    assert status(session) is not None
    forms = (
        "{} == {}",
        "!({} < {})",
        "{} + 1 > {}",
        "{} != {} && $return >= 0",
        "{} >= {} || $depth == 1",
        "has({}) || {}",
    )
    wrong = {}
    held = 0
    for name in names:
        for number in numbers:
            for form in forms:
                wanted = EventFilter(where=form.format(name, number), limit=20)
                native, slow = session.query(wanted), evaluated(session, wanted, monkeypatch)
                held += native.total_count > 0
                if facts(native) != facts(slow):
                    wrong[wanted.where] = (facts(native), facts(slow))
    assert not wrong, wrong
    assert held > len(names) * len(numbers)


def test_random_conditions_hold_for_the_same_events(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: dict[str, object] = {}
    compared = held = 0
    for place, where in enumerate(Conditions(12)):
        if compared == CONDITIONS:
            break
        wanted = EventFilter(where=where, limit=1 + place % 40, offset=place % 3, newest_first=place % 4 == 3)
        if place % 5 == 4:
            wanted = replace(wanted, select=("$return",))
        try:
            native = session.query(wanted)
        except StrobeError:
            continue  # no such name, a mistake in it
        slow = evaluated(session, wanted, monkeypatch)
        if facts(native) != facts(slow) or native.events != slow.events or native.values != slow.values:
            wrong[where] = (facts(native), facts(slow))
        compared += 1
        held += native.total_count > 0
    assert not wrong, wrong
    assert held > CONDITIONS // 3
