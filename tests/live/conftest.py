"""Fixtures of tests with a real program under a real agent, in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from support.programs import PROGRAMS
from support.sessions import Launch

from strobe.errors import StrobeError
from strobe.model import LaunchSpec, Sampling, TraceRequest, Watch
from strobe.session import Session, SessionManager
from strobe.session.probes.text_form import probes_of


@pytest.fixture
def manager(strobe_home: Path) -> Iterator[SessionManager]:
    """The sessions of this test; what still runs at its end is ended."""
    manager = SessionManager()
    yield manager
    manager.close()


@pytest.fixture
def launch(manager: SessionManager) -> Iterator[Launch]:
    """`launch(program, "argument", patterns=["ns::*"], sampling="off")`: a session; user code is tests/programs."""
    sessions: list[Session] = []

    def launch(
        program: Path | str,
        *arguments: str,
        patterns: Sequence[str] = (),
        sampling: Sampling = "auto",
        stdin: str | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        watch: Sequence[Watch] = (),
        depth: int | None = None,
        where: str | None = None,
        probe: Sequence[str] = (),
        check: Callable[[Session], None] | None = None,
    ) -> Session:
        spec = LaunchSpec(str(program), arguments, cwd, env or {}, project_root=str(PROGRAMS), stdin=stdin)
        asked = TraceRequest(patterns, sampling=sampling, watch=watch, depth=depth, where=where, probe=probes_of(probe))
        sessions.append(manager.launch(spec, asked, check=check))
        return sessions[-1]

    yield launch
    for session in sessions:
        with suppress(StrobeError):  # the test itself has stopped or deleted it
            session.stop()


@pytest.fixture(params=["native", "portable"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A test that uses it runs with each form of the recorder."""
    monkeypatch.setenv("STROBE_RECORDER", request.param)
    return str(request.param)


@pytest.fixture
def settings(strobe_home: Path) -> Callable[[dict[str, object]], None]:
    """`settings({"events.maxPerSession": 1000})` writes the user's settings.json."""

    def write(values: dict[str, object]) -> None:
        strobe_home.mkdir(mode=0o700, exist_ok=True)
        (strobe_home / "settings.json").write_text(json.dumps(values))

    return write
