"""Reads of several sessions of one program, by several threads at once: each has a lock of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support.reads import ready
from support.sessions import Launch

from strobe.session import Session
from strobe.values.decode import text as values_text
from strobe.values.reading import ReadTarget

NAMES = ("gState", "gFirst", "gBits", "gVoice", "gTitles", "gMany", "gStatePointer", "gFlags", "*gTitles", "gCallback")
ROUNDS = 12


def all_values(session: Session) -> list[str]:
    """Without the addresses, which differ."""
    results = session.reader.read([ReadTarget(name) for name in NAMES], 5)
    shown = [values_text.shown(result.value) for result in results if result.error is None]
    return [" ".join(word for word in text.split() if "0x" not in word) for text in shown]


def test_sessions_do_not_wait_for_each_other(build_program: Callable[..., Path], launch: Launch) -> None:
    program = build_program("values", "-O0")
    sessions = [ready(launch(program)) for _ in range(3)]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(all_values, sessions * 2 * ROUNDS))
    assert len(found[0]) == len(NAMES)
    assert all(one == found[0] for one in found)


def test_a_read_goes_on_while_another_session_is_held(build_program: Callable[..., Path], launch: Launch) -> None:
    program = build_program("values", "-O0")
    held, free = (ready(launch(program)) for _ in range(2))
    assert held.reader.read([ReadTarget("gTempo")])[0].value == 120
    with held.reader.reads().lock, ThreadPoolExecutor(1) as pool:
        assert pool.submit(free.reader.read, [ReadTarget("gTempo")]).result(20)[0].value == 120
