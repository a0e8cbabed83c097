"""Where Strobe keeps its files, and the settings: defaults, then the home's settings.json, then the project's."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from strobe.dataclass import dataclass
from strobe.errors import failure
from strobe.low_descriptors import none_left
from strobe.private_folder import make_private

SETTINGS_FILE = "settings.json"


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits and retention; the keys and ranges of the file are in `KEYS`. Sizes in bytes, times as named."""

    events_max_per_session: int = 4_000_000
    daemon_idle_minutes: int = 30
    storage_retain_days: int = 7
    storage_max_bytes: int = 10 << 30
    events_text_bytes: int = 256
    mcp_redact: int = 1


# key in the file -> (field of Settings, lowest, highest value)
KEYS: dict[str, tuple[str, int, int]] = {
    "events.maxPerSession": ("events_max_per_session", 1_000, 1_000_000_000),
    "events.textBytes": ("events_text_bytes", 8, 1_024),
    "mcp.redact": ("mcp_redact", 0, 1),
    "daemon.idleMinutes": ("daemon_idle_minutes", 1, 1_440),
    "storage.retainDays": ("storage_retain_days", 0, 365),
    "storage.maxBytes": ("storage_max_bytes", 10 << 20, 1 << 40),
}


def home() -> Path:
    """Folder of the socket, log, database and sessions: `STROBE_HOME` or `~/.strobe`, created with mode 0700.

    Raises `home_unusable` where it cannot be created, is no folder, or is not this user's alone.
    """
    return create_home(Path(os.environ.get("STROBE_HOME") or Path.home() / ".strobe").expanduser().absolute())


def create_home(path: Path) -> Path:
    """Makes a folder that is to be a home, with mode 0700, which one that is there gets too. Raises `home_unusable`."""
    try:
        make_private(path)
    except OSError as error:
        if error.errno == errno.EMFILE:
            raise none_left(path) from error
        raise failure("home_unusable", path=path, reason=error.strerror) from error
    return path


def load_settings(project_root: str | None, own_home: Path | None = None) -> tuple[Settings, list[str]]:
    """The settings in force for a project, read anew from disk, and a warning for each entry that was ignored.

    `own_home` stands for `home()` where sessions are kept elsewhere.
    """
    files = [(own_home or home()) / SETTINGS_FILE]
    if project_root:
        files.append(Path(project_root) / ".strobe" / SETTINGS_FILE)
    values: dict[str, int] = {item.name: item.default for item in fields(Settings)}  # type: ignore[misc]
    warnings: list[str] = []
    for file in files:
        _apply(file, values, warnings)
    return Settings(**values), warnings


def _apply(file: Path, values: dict[str, int], warnings: list[str]) -> None:
    for key, value in _flat(_read(file, warnings)):
        if key not in KEYS:
            warnings.append(f"{file}: unknown setting '{key}' ignored; known: {', '.join(KEYS)}")
            continue
        name, low, high = KEYS[key]
        # bool is an int to Python, but `true` is not a number to the person who wrote the file
        if not isinstance(value, int) or isinstance(value, bool):
            warnings.append(f"{file}: '{key}' must be a whole number from {low} to {high}; {json.dumps(value)} ignored")
        elif not low <= value <= high:
            warnings.append(f"{file}: '{key}' must be from {low} to {high}; {value} ignored")
        else:
            values[name] = value


def _read(file: Path, warnings: list[str]) -> dict[str, object]:
    try:
        content = json.loads(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:
        warnings.append(f"{file}: ignored, it could not be read: {error}")
        return {}
    if isinstance(content, dict):
        return content
    warnings.append(f"{file}: ignored, it must hold a JSON object")
    return {}


def _flat(content: dict[str, object]) -> Iterator[tuple[str, object]]:
    """Both spellings of a key: `{"events.maxPerSession": 1}` and `{"events": {"maxPerSession": 1}}`."""
    for key, value in content.items():
        if isinstance(value, dict):
            for inner, leaf in value.items():
                yield f"{key}.{inner}", leaf
        else:
            yield key, value
