from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from strobe.config import KEYS, Settings, home, load_settings
from strobe.errors import StrobeError
from strobe.mcp.daemon import LOCK_NAME
from strobe.mcp.endpoint import LOG_NAME, SOCKET_NAME, START_LOCK_NAME, Unreachable, establish
from strobe.mcp.http_transport import TOKEN_NAME

NOBODY = 65534
FILES = (LOCK_NAME, LOG_NAME, SOCKET_NAME, START_LOCK_NAME)


@pytest.fixture
def strobe_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("STROBE_HOME", str(folder))
    return folder


def write_settings(folder: Path, content: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(content if isinstance(content, str) else json.dumps(content))


def test_home_is_created_for_the_user_alone(strobe_home: Path) -> None:
    assert home() == strobe_home
    assert strobe_home.stat().st_mode & 0o777 == 0o700


def test_home_that_is_a_file_is_refused(strobe_home: Path) -> None:
    strobe_home.write_text("")
    with pytest.raises(StrobeError, match=r"VALIDATION_ERROR.*cannot be used as Strobe's home"):
        home()


@pytest.mark.parametrize("mode", [0o755, 0o775, 0o777, 0o1777, 0o500])
def test_a_home_of_ours_becomes_private(strobe_home: Path, mode: int) -> None:
    strobe_home.mkdir()
    (strobe_home / "strobe.db").touch()
    strobe_home.chmod(mode)
    home()
    assert strobe_home.stat().st_mode & 0o077 == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("name", ["strobe.db", "strobe.db-wal", TOKEN_NAME, "sessions", "owners", "symbols", *FILES])
def test_what_is_anothers_in_our_home_is_named(strobe_home: Path, name: str) -> None:
    """As after `sudo strobe` with this home, before it was given back: SQLite said that a database is read-only."""
    strobe_home.mkdir(mode=0o700)
    (strobe_home / name).touch()
    os.chown(strobe_home / name, NOBODY, NOBODY)
    with pytest.raises(StrobeError, match=f"'{name}' in it belongs to user {NOBODY}.*chown -R"):
        home()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_what_strobe_does_not_use_may_be_anothers(strobe_home: Path, mode: int) -> None:
    """As root's `lost+found` where the home is a volume of its own."""
    (strobe_home / "lost+found").mkdir(parents=True)
    os.chown(strobe_home / "lost+found", NOBODY, NOBODY)
    strobe_home.chmod(mode)
    assert home() == strobe_home
    assert strobe_home.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_settings_may_be_anothers(strobe_home: Path) -> None:
    write_settings(strobe_home, {})
    strobe_home.chmod(0o700)
    os.chown(strobe_home / "settings.json", NOBODY, NOBODY)
    assert home() == strobe_home


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("mode", [0o700, 0o755, 0o777])
def test_a_home_of_another_user_is_refused(strobe_home: Path, mode: int) -> None:
    strobe_home.mkdir()
    os.chown(strobe_home, NOBODY, NOBODY)
    strobe_home.chmod(mode)
    with pytest.raises(StrobeError, match=f"belongs to user {NOBODY}.*STROBE_HOME.*chown"):
        home()
    with pytest.raises(Unreachable, match=f"belongs to user {NOBODY}"):
        establish(str(strobe_home))
    assert (list(strobe_home.iterdir()), strobe_home.stat().st_mode & 0o777) == ([], mode)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_what_another_user_has_put_into_a_home_is_not_taken_for_ours(strobe_home: Path) -> None:
    strobe_home.mkdir()
    strobe_home.chmod(0o777)
    (strobe_home / "strobe.db").touch()
    os.chown(strobe_home / "strobe.db", NOBODY, NOBODY)
    with pytest.raises(StrobeError, match=f"'strobe.db' in it belongs to user {NOBODY}"):
        home()


def test_a_home_that_is_a_link_to_one_of_ours(strobe_home: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o755)
    strobe_home.symlink_to(tmp_path / "real")
    assert home() == strobe_home
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o700


def test_without_files_the_defaults_hold(strobe_home: Path, tmp_path: Path) -> None:
    assert load_settings(str(tmp_path)) == (Settings(4_000_000, 30, 7, 10 << 30), [])


def test_project_overrides_home_overrides_defaults(strobe_home: Path, tmp_path: Path) -> None:
    write_settings(strobe_home, {"events.maxPerSession": 2000, "daemon.idleMinutes": 5})
    write_settings(tmp_path / "project" / ".strobe", {"events": {"maxPerSession": 3000}})
    settings, warnings = load_settings(str(tmp_path / "project"))
    assert (settings.events_max_per_session, settings.daemon_idle_minutes, settings.storage_retain_days) == (3000, 5, 7)
    assert warnings == []
    assert load_settings(None)[0].events_max_per_session == 2000


def test_settings_are_read_again_at_each_call(strobe_home: Path) -> None:
    write_settings(strobe_home, {"daemon.idleMinutes": 6})
    assert load_settings(None)[0].daemon_idle_minutes == 6
    write_settings(strobe_home, {"daemon.idleMinutes": 7})
    assert load_settings(None)[0].daemon_idle_minutes == 7


@pytest.mark.parametrize("key", KEYS)
def test_both_ends_of_the_range_are_valid_and_beyond_is_ignored(strobe_home: Path, key: str) -> None:
    name, low, high = KEYS[key]
    for value in (low, high):
        write_settings(strobe_home, {key: value})
        settings, warnings = load_settings(None)
        assert (getattr(settings, name), warnings) == (value, [])
    for value in (low - 1, high + 1):
        write_settings(strobe_home, {key: value})
        settings, warnings = load_settings(None)
        assert settings == Settings()
        assert len(warnings) == 1
        assert f"'{key}' must be from {low} to {high}; {value} ignored" in warnings[0]


@pytest.mark.parametrize("value", ["many", True, None, 5.5, [1]])
def test_a_value_of_the_wrong_type_is_ignored_with_a_warning(strobe_home: Path, value: object) -> None:
    write_settings(strobe_home, {"storage.retainDays": value, "daemon.idleMinutes": 9})
    settings, warnings = load_settings(None)
    assert settings == Settings(daemon_idle_minutes=9)
    assert len(warnings) == 1
    assert "'storage.retainDays' must be a whole number from 0 to 365" in warnings[0]


@pytest.mark.parametrize("content", ["{", "[]", "7", "[" * 100_000])
def test_a_broken_file_is_ignored_with_a_warning(strobe_home: Path, content: str) -> None:
    write_settings(strobe_home, content)
    settings, warnings = load_settings(None)
    assert settings == Settings()
    assert [str(strobe_home) in text for text in warnings] == [True]


def test_an_unknown_key_is_reported(strobe_home: Path) -> None:
    write_settings(strobe_home, {"events.max": 5000})
    assert "unknown setting 'events.max'" in load_settings(None)[1][0]
