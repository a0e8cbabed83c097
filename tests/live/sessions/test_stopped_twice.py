"""Two that stop one session at once, and both have no need of it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from support.sessions import Build

from strobe.model import LaunchSpec, TraceRequest
from strobe.session import SessionManager


def test_each_is_told_how_many_events_it_had(manager: SessionManager, build_program: Build) -> None:
    program = str(build_program("calls_all_the_time", "-O1"))
    session = manager.launch(LaunchSpec(program), TraceRequest(["called"]))
    both = threading.Barrier(2)

    def stop(_: int) -> int:
        both.wait(60)
        return session.stop()

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(stop, range(2))
    assert first == second > 0
    assert not manager.list()
