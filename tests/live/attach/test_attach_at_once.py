"""Several clients attach to one process at the same moment: one of them records it, and the others are told so."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor

from support.sessions import Build, totals
from support.wait import wait_until

from strobe.errors import StrobeError
from strobe.model import LaunchSpec, TraceRequest
from strobe.session import Session, SessionManager

CLIENTS = 3
ROUNDS = 4


def test_one_of_them_records(manager: SessionManager, build_program: Build) -> None:
    """They are given the same process by one manager, as clients of one daemon are."""
    with (
        subprocess.Popen([build_program("steady")], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process,
        ThreadPoolExecutor(CLIENTS) as clients,
    ):
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"

        def attach() -> Session | StrobeError:
            try:
                return manager.launch(LaunchSpec("", pid=process.pid), TraceRequest(["steady_*"]))
            except StrobeError as error:
                return error

        try:
            for _ in range(ROUNDS):
                found = [asked.result(120) for asked in [clients.submit(attach) for _ in range(CLIENTS)]]
                (session,) = (one for one in found if isinstance(one, Session))
                refusals = [str(one) for one in found if isinstance(one, StrobeError)]
                assert len(refusals) == CLIENTS - 1
                assert all(f"already recorded by session '{session.id}'" in text for text in refusals), refusals
                wait_until(lambda: totals(session).get("steady_two"), "calls")  # noqa: B023
                session.stop()
        finally:
            process.kill()
