"""Registers and addresses that are cast to numbers: read in hexadecimal everywhere, calculated with as numbers."""

from __future__ import annotations

from support.sessions import Build, Launch, all_events, outcome, untraced

from strobe.model import EventFilter
from strobe.values.decode.text import shown

ADDS = ["(u64)&gAdded", "(uintptr_t)&gAdded + 8", "(u64)&gAdded & 7", "&gAdded", "(long)&gAdded"]


def test_they_read_as_addresses(launch: Launch, build_program: Build) -> None:
    program = build_program("registers", "-O2")
    session = launch(program, probe=[f"add : $rdi, $rsi, {', '.join(ADDS)}"])
    assert outcome(session) == untraced(program)
    events = list(all_events(session, EventFilter(event_type="probe")))
    assert [shown((one.watch_values or {})["$rdi"]) for one in events] == [hex(number) for number in range(40)]
    values = events[3].watch_values or {}
    address = values["&gAdded"].address
    assert values["(u64)&gAdded"] == values["&gAdded"]
    assert shown(values["(uintptr_t)&gAdded + 8"]).startswith(f"{address + 8:#x}")
    assert (values["(u64)&gAdded & 7"], values["(long)&gAdded"]) == (0, address)
    for where, count in (
        ("$rdi == 3", 1),
        ("$rdi == 0x3", 1),
        ("$rdi % 2 == 1 && $rdi != null", 20),
        ("$rdi > 1 && $rdi < $rsi", 18),
        ("(u64)$rdi + 1 == 3", 1),
        ("`(u64)&gAdded` == `&gAdded`", 40),
    ):
        assert session.query(EventFilter(event_type="probe", where=where)).total_count == count, where
    page = session.query(EventFilter(event_type="probe", select=("$rdi", "(u64)$rdi", "(int)$rdi"), limit=1, offset=3))
    assert page.values == [{"$rdi": "0x3", "(u64)$rdi": "0x3", "(int)$rdi": 3}]


CALCULATED = {
    "*(long*)((u64)&gAdded)": lambda added: added,
    "*(u8*)((u64)&gAdded + 1)": lambda added: added >> 8,
    "*(long*)((u64)$rdi * 0 + (u64)&gAdded)": lambda added: added,
    "((long*)((u64)&gAdded + 8))[-1]": lambda added: added,
}


def test_memory_at_an_address_that_is_calculated(launch: Launch, build_program: Build) -> None:
    program = build_program("registers", "-O2")
    session = launch(program, probe=[f"add if *(long*)((u64)&gAdded + 0) == 300 : {', '.join(CALCULATED)}"])
    assert outcome(session) == untraced(program)
    (event,) = all_events(session, EventFilter(event_type="probe"))
    assert event.watch_values == {text: of(300) for text, of in CALCULATED.items()}
