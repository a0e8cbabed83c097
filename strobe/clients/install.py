"""Adds Strobe to a client's list of MCP servers, or takes it out: one file, of which all else stays as it was."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from strobe.clients import jsonc, toml_text
from strobe.clients.known import ARGUMENTS, SERVER, Client
from strobe.dataclass import dataclass
from strobe.errors import StrobeError, failure

BACKUP = ".before-strobe"
_COMMAND_S = 30


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one file. `before` None: there is none yet."""

    client: Client
    file: Path
    before: str | None
    after: str

    @property
    def is_needed(self) -> bool:
        """Whether the file would be another one."""
        return self.after != (self.before or "")


def found(clients: Mapping[str, Client], home: Path) -> list[Client]:
    """Those that are on this machine, by their folders and commands."""
    return [
        client
        for client in clients.values()
        if any((home / mark).is_dir() or shutil.which(mark) is not None for mark in client.found_by)
    ]


def entry_in(client: Client, file: Path) -> dict[str, Any] | None:
    """The entry that is there; None where there is none. Raises as `adding`."""
    text = _read(file) or ""
    with _told(file):
        at = toml_text.table_at if client.is_toml else jsonc.value_at
        found = at(text, (*client.path, SERVER))
    return found if isinstance(found, dict) else None


def adding(client: Client, file: Path, executable: str) -> Change:
    """Raises cannot_edit where the file cannot be read, or is not what the client reads."""
    before = _read(file)
    entry = client.entry(executable)
    with _told(file):
        if client.is_toml:
            known = toml_text.table_at(before or "", (*client.path, SERVER))
            kept = _merged(known, entry)
            after = before or ""
            if kept != known:
                after = toml_text.with_table(after, (*client.path, SERVER), kept)
        else:
            known = jsonc.value_at(before or "", (*client.path, SERVER))
            kept = _merged(known, entry)
            after = before or ""
            if kept != known:
                after = jsonc.with_member(after, (*client.path, SERVER), kept)
    return Change(client, file, before, after)


def add_by_command(client: Client, executable: str) -> bool:
    """By the client's own command, which knows its file best; False where it has none here, or it does not."""
    if client.command is None or shutil.which(client.command[0]) is None:
        return False
    words = [*client.command, SERVER, "--", executable, *ARGUMENTS]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_COMMAND_S)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def removing(client: Client, file: Path) -> Change:
    """Raises as `adding`."""
    before = _read(file)
    with _told(file):
        change = toml_text.without_table if client.is_toml else jsonc.without_member
        after = change(before or "", (*client.path, SERVER))
    return Change(client, file, before, after)


def apply(change: Change) -> None:
    """The file is replaced at once, with its mode; what it was stays beside it. Raises cannot_edit."""
    # a link stays one: dotfiles are often kept elsewhere
    file = Path(os.path.realpath(change.file))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(file.stat().st_mode) if change.before is not None else 0o600
        if change.before is not None:
            shutil.copy2(file, file.with_name(file.name + BACKUP))
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
                stream.write(change.after)
                stream.flush()
                os.fsync(stream.fileno())
            Path(name).chmod(mode)
            Path(name).replace(file)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _cannot(change.file, error.strerror or str(error)) from error


def _merged(known: Any, entry: Mapping[str, Any]) -> dict[str, Any]:
    """What a user has added, as an environment, stays."""
    return {**(known if isinstance(known, dict) else {}), **entry}


def _read(file: Path) -> str | None:
    try:
        with file.open(encoding="utf-8", newline="") as stream:
            return stream.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _cannot(file, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise _cannot(file, "it is not UTF-8") from error


@contextlib.contextmanager
def _told(file: Path) -> Iterator[None]:
    try:
        yield
    except (jsonc.NotJson, toml_text.NotToml) as error:
        raise _cannot(file, str(error)) from error


def _cannot(file: Path, reason: str) -> StrobeError:
    return failure("cannot_edit", file=file, reason=reason)
