from __future__ import annotations

import json
from pathlib import Path

import pytest

from strobe.config import KEYS, Settings, home, load_settings
from strobe.errors import StrobeError


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


def test_without_files_the_defaults_hold(strobe_home: Path, tmp_path: Path) -> None:
    assert load_settings(str(tmp_path)) == (Settings(4_000_000, 5_000, 30, 7, 10 << 30), [])


def test_project_overrides_home_overrides_defaults(strobe_home: Path, tmp_path: Path) -> None:
    write_settings(strobe_home, {"events.maxPerSession": 2000, "daemon.idleMinutes": 5})
    write_settings(tmp_path / "project" / ".strobe", {"events": {"maxPerSession": 3000}})
    settings, warnings = load_settings(str(tmp_path / "project"))
    assert (settings.events_max_per_session, settings.daemon_idle_minutes, settings.storage_retain_days) == (3000, 5, 7)
    assert warnings == []
    assert load_settings(None)[0].events_max_per_session == 2000


def test_settings_are_read_again_at_each_call(strobe_home: Path) -> None:
    write_settings(strobe_home, {"test.statusRetryMs": 600})
    assert load_settings(None)[0].test_status_retry_ms == 600
    write_settings(strobe_home, {"test.statusRetryMs": 700})
    assert load_settings(None)[0].test_status_retry_ms == 700


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


def test_an_unknown_key_is_told(strobe_home: Path) -> None:
    write_settings(strobe_home, {"events.max": 5000})
    assert "unknown setting 'events.max'" in load_settings(None)[1][0]
