"""Where a session's segment lies: in shared memory while it lives, in the session's folder when it is kept."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import shutil
from pathlib import Path

from strobe import _core
from strobe.limits import PLAIN_EVENT_BYTES
from strobe.timeline.records import SessionRecord

SHARED_MEMORY = Path("/dev/shm")
SEGMENT_FILE = "segment"
_FIXED_BYTES = 64 << 20  # header, tables and totals of a busy program; the file is sparse
_BLOCK_BYTES = 64 << 10
_PREFIX = f"strobe-{os.getuid()}-"


def place_segment(record: SessionRecord) -> Path:
    """Path for the live segment of a new session, which is not created; the session's folder is.

    In /dev/shm where that may be written to and has room for twice the size, as others want to use it too; else in the
    session's folder.
    Every call gives another name there, for everybody may make files in it.
    """
    make_folder(record)
    wanted = record.event_limit * PLAIN_EVENT_BYTES + _FIXED_BYTES
    has_room = os.access(SHARED_MEMORY, os.W_OK | os.X_OK) and _free_bytes(SHARED_MEMORY) >= 2 * wanted
    return _new_shared_path(record) if has_room else record.folder / SEGMENT_FILE


def make_folder(record: SessionRecord) -> Path:
    """The session's folder, made if it is not there, for this user alone."""
    record.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return record.folder


def move_to_folder(record: SessionRecord) -> Path:
    """Moves a live segment into the session's folder, taking only what was used of it. Returns where it lies then.

    The file appears under its name when it is complete; where it already lies there it stays. Processes that still
    have it mapped record nothing any more.
    """
    kept = make_folder(record) / SEGMENT_FILE
    with contextlib.suppress(OSError, ValueError):  # there is none, or none that can be read
        _core.end_recording(str(record.segment_path))
    if record.segment_path == kept or not record.segment_path.exists():
        return kept
    partial = kept.with_suffix(".part")
    try:
        copy_sparse(record.segment_path, partial)
        partial.replace(kept)
    except OSError:  # the disk is full: there is one copy then, as before
        partial.unlink(missing_ok=True)
        raise
    _release(record)
    record.segment_path.unlink()
    return kept


def remove_files(record: SessionRecord) -> None:
    """Removes the session's folder and its live segment, and nothing that is not its own.

    Processes that still have the segment mapped record nothing any more, and do not keep its memory.
    """
    if not record.retained:
        _release(record)
    if is_shared(record.segment_path, record.folder.parent):
        record.segment_path.unlink(missing_ok=True)
    if record.folder.name == record.id:
        shutil.rmtree(record.folder, ignore_errors=True)


def _release(record: SessionRecord) -> None:
    with contextlib.suppress(OSError, ValueError):  # there is none, or none that can be read
        _core.end_recording(str(record.segment_path))
        _core.release_memory(str(record.segment_path))


def copy_sparse(source: Path, target: Path) -> None:
    """A copy with the holes of the original, and with holes where it holds nothing but zeros. Mode 0600."""
    with open(source, "rb", opener=_open_own) as reader, open(target, "wb", opener=_open_private) as writer:
        size = os.fstat(reader.fileno()).st_size
        end = 0
        while (start := _next_data(reader.fileno(), end)) is not None:
            end = os.lseek(reader.fileno(), start, os.SEEK_HOLE)
            _copy_range(reader.fileno(), writer.fileno(), start, end)
        os.ftruncate(writer.fileno(), size)


def disk_bytes(folder: Path) -> int:
    """What the files in a folder take on disk."""
    return sum(file.lstat().st_blocks * 512 for file in folder.rglob("*")) if folder.is_dir() else 0


def shared_segments(sessions: Path) -> list[Path]:
    """The segments in /dev/shm of one home, whose sessions' folders lie in `sessions`."""
    return [path for path in SHARED_MEMORY.glob(f"{_PREFIX}*") if is_shared(path, sessions)]


def is_shared(path: Path, sessions: Path) -> bool:
    """Whether that is the name of a segment in /dev/shm of this home."""
    return path.parent == SHARED_MEMORY and path.name.startswith(_PREFIX) and path.name.endswith(_mark(sessions))


def _new_shared_path(record: SessionRecord) -> Path:
    return SHARED_MEMORY / f"{_PREFIX}{record.id}-{secrets.token_hex(8)}{_mark(record.folder.parent)}"


def _mark(sessions: Path) -> str:
    """Homes do not know each other's session ids, but share /dev/shm: the home is part of the name."""
    return "-" + hashlib.sha256(os.fsencode(sessions)).hexdigest()[:8]


def _free_bytes(folder: Path) -> int:
    try:
        status = os.statvfs(folder)
    except OSError:
        return 0
    return status.f_bavail * status.f_frsize


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _open_own(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)


def _next_data(descriptor: int, offset: int) -> int | None:
    try:
        return os.lseek(descriptor, offset, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:  # nothing but a hole up to the end
            return None
        raise


def _copy_range(reader: int, writer: int, start: int, end: int) -> None:
    for offset in range(start, end, _BLOCK_BYTES):
        block = os.pread(reader, min(_BLOCK_BYTES, end - offset), offset)
        if block.count(0) != len(block):
            _write(writer, block, offset)


def _write(writer: int, block: bytes, offset: int) -> None:
    """All of it: what a disk has room for is written without an error, and only the next attempt has one."""
    written = 0
    while written < len(block):
        written += os.pwrite(writer, block[written:], offset + written)
