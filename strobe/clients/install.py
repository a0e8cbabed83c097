"""Adds Strobe to a client's list of MCP servers, or takes it out: one file, of which all else stays as it was."""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from strobe.clients import files, jsonc, toml_text
from strobe.clients.known import ARGUMENTS, SERVER, Client
from strobe.dataclass import dataclass

BACKUP = ".before-strobe"
_COMMAND_S = 30
_BOM = "\ufeff"
_LINE_FEED = re.compile(r"(?<!\r)\n")


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one file. `before` None: there is none yet. `keeps`: what it was is put beside it."""

    client: Client
    file: Path
    before: str | None
    after: str
    keeps: bool = True

    @property
    def is_needed(self) -> bool:
        """Whether the file would be another one."""
        return self.after != (self.before or "")


def home() -> Path:
    """Of this user, whatever HOME is not."""
    named = Path(os.environ.get("HOME", ""))
    return named if named.is_absolute() else Path(pwd.getpwuid(os.getuid()).pw_dir)


def found(clients: Mapping[str, Client], home: Path) -> list[Client]:
    """Those that are on this machine, by their folders and commands."""
    return [
        client
        for client in clients.values()
        if any(_is_folder(client.below(home, mark)) or shutil.which(mark) is not None for mark in client.found_by)
    ]


def _is_folder(path: Path) -> bool:
    """Also where it cannot be looked at, as below the home of another user: `Path.is_dir` raises there."""
    return os.path.isdir(path)  # noqa: PTH112


def entry_in(client: Client, file: Path) -> dict[str, Any] | None:
    """The entry that is there; None where there is none. Raises as `adding`."""
    found = _known(client, file, files.read(file) or "")
    return found if isinstance(found, dict) else None


def is_ours(entry: Any) -> bool:
    """Whether it starts Strobe, this one or another; an entry that starts nothing, as one of settings alone, may."""
    if not isinstance(entry, dict):
        return entry is None
    command, arguments = entry.get("command"), entry.get("args")
    words = [command] if isinstance(command, str) else command if isinstance(command, list) else []
    words = [*words, *(arguments if isinstance(arguments, list) else [])]
    if not words:
        return not any(name.lower().endswith("url") for name in entry)
    names = [Path(word).name for word in words if isinstance(word, str)]
    return SERVER in names and names[-1:] == [*ARGUMENTS]


def adding(client: Client, file: Path, executable: str) -> Change:
    """Raises cannot_edit where the file cannot be read, is not what the client reads, or has another server of that
    name."""
    before = files.read(file)
    known = _known(client, file, before or "")
    if not is_ours(known):
        raise files.cannot_edit(file, f"it has a server '{SERVER}' that is another one")
    entry = client.entry(executable)

    def changed(text: str) -> str:
        wanted = {**(known or {}), **entry}  # what a user has added, as an environment, stays
        if wanted == known:
            return text
        change = toml_text.with_table if client.is_toml else jsonc.with_member
        return change(text, (*client.path, SERVER), entry if client.is_toml else wanted)

    return Change(client, file, before, _changed(file, before or "", changed), keeps=known is None)


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
    """Nothing where the server of that name is another one. Raises cannot_edit as `adding`."""
    before = files.read(file)
    if not is_ours(_known(client, file, before or "")):
        return Change(client, file, before, before or "")

    def changed(text: str) -> str:
        change = toml_text.without_table if client.is_toml else jsonc.without_member
        return change(text, (*client.path, SERVER))

    return Change(client, file, before, _changed(file, before or "", changed), keeps=False)


def apply(change: Change) -> None:
    """The file is replaced at once, with its mode and owner; what it was before Strobe stays beside it. Raises
    cannot_edit, also where it has changed meanwhile."""
    # a link stays one: dotfiles are often kept elsewhere
    file = Path(os.path.realpath(change.file))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if files.read(file) != change.before:
            raise files.cannot_edit(change.file, "it was changed in this moment; do it again")
        like = file.stat() if change.before is not None else file.parent.stat()
        mode = stat.S_IMODE(like.st_mode) if change.before is not None else 0o600
        backup = file.with_name(file.name + BACKUP)
        if change.before is not None and (change.keeps or not backup.exists()):
            _replace(backup, change.before, mode, like)
        _replace(file, change.after, mode, like)
    except OSError as error:
        raise files.failed(change.file, error) from error
    except UnicodeEncodeError as error:
        raise files.cannot_edit(change.file, "the path of Strobe's program is not UTF-8") from error


def _replace(file: Path, text: str, mode: int, like: os.stat_result) -> None:
    """At once: never through a link that is there, never half."""
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        if os.geteuid() == 0:  # as by sudo, which may keep the home
            os.chown(name, like.st_uid, like.st_gid)
        Path(name).chmod(mode)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _known(client: Client, file: Path, text: str) -> Any:
    with _translate_errors(file):
        at = toml_text.table_at if client.is_toml else jsonc.value_at
        return at(text.removeprefix(_BOM), (*client.path, SERVER))


def _changed(file: Path, before: str, change: Callable[[str], str]) -> str:
    """With the mark at its beginning, and the ends of lines, that it has."""
    mark = _BOM if before.startswith(_BOM) else ""
    with _translate_errors(file):
        after = change(before.removeprefix(_BOM))
    if "\r\n" in before and not _LINE_FEED.search(before):
        after = _LINE_FEED.sub("\r\n", after)
    return mark + after


@contextlib.contextmanager
def _translate_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except (jsonc.NotJson, toml_text.NotToml) as error:
        raise files.cannot_edit(file, str(error)) from error
