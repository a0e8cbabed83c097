"""`arg('…')` and `probe('…')` in SQL."""

from __future__ import annotations

import pytest
from support.sessions import Build, Launch, status

from strobe.session import Session


@pytest.fixture
def session(launch: Launch, build_program: Build) -> Session:
    found = launch(
        build_program("slices", "-O0"), patterns=["Pool::*"], depth=3, probe=["Pool::add : used, nodes[0..2], spare"]
    )
    assert status(found) == 0
    return found


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("select arg('this->used'), arg('this.capacity') from events where arg('this.used') between 2 and 4", [
            (2, 4), (3, 4), (4, 4), (4, 70),
        ]),
        ("select distinct arg('this->nodes->name'), arg('this.recent[1]') from events where arg('this.used') = 3", [
            ("node", 1),
        ]),
        ("select arg('to') from events where function like '%grow' and event_type = 'function_enter'", [(4,), (70,)]),
        ("select probe('used') from events where probe('used') > 67", [(68,), (69,)]),
        ("select probe('nodes[0..2]'), probe('spare[9]'), probe('none') from events where probe('used') = 0", [
            ('[{"id": -1, "name": "free"}, {"id": -1, "name": "free"}]', None, None),
        ]),
        ("select a.number = b.number from events a, events b where arg(a.all_arguments, 'to') = 4 "
         "and arg(b.all_arguments, 'to') = 4", [(1,)]),
        ("select count(*), 'arg' from events where arg('cents') is not null", [(0, "arg")]),
    ],
)  # fmt: skip
def test_parts_of_values(session: Session, asked: str, expected: list[tuple[object, ...]]) -> None:
    order = (
        ""
        if "count(" in asked or "distinct" in asked or " a, " in asked
        else " and function is not null order by number"
    )
    assert session.sql(asked + order)[1] == expected
