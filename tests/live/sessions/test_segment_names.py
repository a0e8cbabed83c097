"""Everybody may make files in /dev/shm: what others put there neither keeps a program from starting nor is used."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from support.leftovers import SHARED_MEMORY, segments
from support.sessions import Build, Launch, outcome

from strobe import _core
from strobe.capture import program
from strobe.capture.target import Target
from strobe.errors import StrobeError
from strobe.model import ExitStatus, LaunchSpec
from strobe.session import SessionManager
from strobe.timeline import placement

NOBODY = 65534
Claim = Callable[[list[Path]], None]


@pytest.fixture
def claim_as_another_user() -> Iterator[Claim]:
    """`claim_as_another_user(paths)`: user nobody makes these files; they are removed afterwards."""
    made: list[Path] = []

    def claim(paths: list[Path]) -> None:
        made.extend(paths)
        command = ["sh", "-c", 'for path; do echo mine > "$path"; done', "sh", *map(str, paths)]
        subprocess.run(command, user=NOBODY, group=NOBODY, extra_groups=[], check=True, timeout=60)

    yield claim
    for path in made:
        path.unlink(missing_ok=True)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_a_name_that_another_user_has_taken(
    launch: Launch, build_program: Build, strobe_home: Path, claim_as_another_user: Claim
) -> None:
    """The names that Strobe gave once: program, minute and home are known to everybody."""
    name = build_program("hello").name
    mark = placement._mark(strobe_home / "sessions")
    minutes = [datetime.now() + timedelta(minutes=later) for later in range(3)]
    taken = [SHARED_MEMORY / f"strobe-{os.getuid()}-{name}-{minute:%Y-%m-%d-%Hh%M}{mark}" for minute in minutes]
    claim_as_another_user(taken)
    assert outcome(launch(build_program("hello"))).status == 0
    assert [path.read_text() for path in taken] == ["mine\n"] * 3


def test_names_cannot_be_guessed(launch: Launch, build_program: Build, strobe_home: Path) -> None:
    program = build_program("steady")
    for _ in range(2):
        launch(program)
    found = [re.search(r"-([0-9a-f]{16})-[0-9a-f]{8}$", path.name) for path in segments(strobe_home)]
    assert len({match[1] for match in found if match}) == 2


def test_another_name_is_taken_where_one_exists(
    manager: SessionManager, build_program: Build, strobe_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two random names that are alike: nobody has seen that yet, so the numbers are given here."""
    numbers = iter(["0" * 16, "0" * 16, "1" * 16])
    monkeypatch.setattr(secrets, "token_hex", lambda size: next(numbers))
    first = manager.launch(LaunchSpec(str(build_program("steady"))))
    record = manager._store.get_session(first.id)
    begun = datetime.strptime(first.id, "steady-%Y-%m-%d-%Hh%M")
    a_minute_later = f"{begun + timedelta(minutes=1):steady-%Y-%m-%d-%Hh%M}"
    names = (record.segment_path.name.replace(first.id, other) for other in (f"{first.id}-2", a_minute_later))
    taken = [record.segment_path.with_name(name) for name in names]
    try:
        for path in taken:
            path.write_text("mine")
        second = manager.launch(LaunchSpec(str(build_program("steady"))))
        assert "1" * 16 in manager._store.get_session(second.id).segment_path.name
        assert [path.read_text() for path in taken] == ["mine", "mine"]
        first.stop()
        second.stop()
    finally:
        for path in taken:
            path.unlink()


class Silent:
    """Who is told nothing."""

    def on_output(self, stream: str, data: bytes) -> None: ...
    def on_exit(self, status: ExitStatus) -> None: ...
    def on_module_added(self, module: object, ready: Callable[[], None]) -> None:
        ready()

    def on_module_removed(self, removal: object) -> None: ...


def test_the_target_follows_no_link(build_program: Build, tmp_path: Path) -> None:
    _core.create_segment(str(tmp_path / "segment"), 1000)
    (tmp_path / "link").symlink_to(tmp_path / "segment")
    spec = LaunchSpec(str(build_program("steady")))
    with pytest.raises(StrobeError, match="cannot open"):
        Target.spawn(spec, program.resolve(spec), str(tmp_path / "link"), None, Silent(), print)  # type: ignore[arg-type]
