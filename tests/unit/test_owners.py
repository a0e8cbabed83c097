"""Which Strobe processes live, as others see it by their locks: those of other PID namespaces, which may have the home
at another path."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from strobe.timeline import owners
from strobe.timeline.owners import OwnerLock, is_alive, remove_stale
from strobe.timeline.store import Store


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process takes all others for those of another PID namespace."""
    monkeypatch.setattr(owners.Owner, "is_of_this_namespace", lambda _: False)


@pytest.mark.usefixtures("elsewhere")
def test_an_owner_lives_wherever_the_home_is(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    store = Store(home)
    store.add_session("/bin/app", None, 1000)
    moved = home.rename(tmp_path / "moved")
    other = Store(moved)
    assert other.abandoned_sessions() == []
    store.close()
    assert len(other.abandoned_sessions()) == 1
    other.close()


@pytest.mark.usefixtures("elsewhere")
def test_a_file_that_was_made_anew_stays(tmp_path: Path) -> None:
    first = OwnerLock(tmp_path)
    (path,) = (tmp_path / "owners").iterdir()
    with path.open("rb") as found:
        first.release()
        second = OwnerLock(tmp_path)
        assert path.exists() and os.fstat(found.fileno()).st_nlink == 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("builtins.open", lambda *_: os.fdopen(os.dup(found.fileno()), "rb"))
            remove_stale(tmp_path)
    assert is_alive(second.owner, tmp_path)
    second.release()
    assert not is_alive(second.owner, tmp_path)


@pytest.mark.usefixtures("elsewhere")
def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session is better left alone than ended; no descriptor stays open."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    lock = OwnerLock(tmp_path)
    monkeypatch.setattr(fcntl, "flock", refuse)
    assert is_alive(lock.owner, tmp_path)
    lock.release()
    store = Store(tmp_path)
    before = descriptors()
    records = [store.add_session("/bin/app", None, 1000) for _ in range(5)]
    assert descriptors() == before
    assert {record.owner_namespace for record in records} == {0}
    store.close()


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_who_waits_for_a_lock_gives_up(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError), holder(tmp_path):
        OwnerLock(tmp_path)


class holder:
    """Somebody who asks, and was stopped in the middle of it."""

    def __init__(self, home: Path) -> None:
        self._path = owners._path(owners.this_process(), home)

    def __enter__(self) -> None:
        self._path.parent.mkdir()
        self._file = self._path.open("wb")
        fcntl.flock(self._file, fcntl.LOCK_SH)

    def __exit__(self, *_: object) -> None:
        self._file.close()
