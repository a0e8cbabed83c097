"""An ELF file as it lies on disk and as a process has it in memory, read in the same terms, to be compared.

Reads /proc/PID/mem and /proc/PID/maps from outside; the process notices nothing.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from strobe.dataclass import dataclass, replace
from strobe.model import LoadedModule
from strobe.process_maps import is_ambiguous, maps_lines
from strobe.resources import NATIVE_RECORDER
from strobe.symbols.objects.elf_headers import (
    PF_X,
    PT_DYNAMIC,
    PT_GNU_EH_FRAME,
    PT_LOAD,
    PT_NOTE,
    ElfHeaders,
    Read,
    Segment,
    build_id,
    dynamic_entries,
)

_DT_TEXTREL = 22
_MOST_SEGMENTS = 256
_MOST_NOTE_BYTES = 1 << 16
_CHUNK = 1 << 20
_MOST_FRAME_BYTES = 1 << 28
_FRAMES_HEADER = struct.Struct("<BBBBi")  # .eh_frame_hdr (LSB 5.0, section 10.6.2), with the encoding that all write
_PC_RELATIVE_32 = 0x1B

Peek = Callable[[int, int], bytes | None]  # (address, size) -> bytes, None where not all can be read


@dataclass(frozen=True, slots=True)
class Layout:
    """What distinguishes one build from another: where what is loaded, and the build id, where there is one."""

    loads: tuple[Segment, ...]
    link_base: int
    build_id: str | None


@dataclass(frozen=True, slots=True)
class Mapping:
    """One line of /proc/PID/maps that stands for a file. `path`: the name that it has, or had before it was removed."""

    start: int
    end: int
    offset: int
    is_code: bool
    device: int
    inode: int
    path: str


class MappedElf:
    """The ELF file that process `pid` has at `base`. Raises ProcessLookupError when the process is gone."""

    def __init__(self, pid: int, base: int, peek: Peek | None = None) -> None:
        """`peek`: how memory is read where the system does not permit to open it."""
        self._pid = pid
        self._base = base
        self._peek = peek
        self._memory = -1
        try:
            self._memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise ProcessLookupError(f"process {pid}") from error
        except PermissionError:
            if peek is None:
                raise

    def close(self) -> None:
        """Closes the process's memory; reads fail afterwards."""
        if self._memory >= 0:
            os.close(self._memory)

    def layout(self) -> Layout | None:
        """None where no ELF header lies at the base."""
        headers = _headers(lambda offset, size: self._read(self._base + offset, size))
        if headers is None:
            return None
        slide = self._base - headers.link_base
        return _layout(headers, lambda note: self._read(note.address + slide, note.size))

    def frames(self) -> tuple[int, bytes]:
        """.eh_frame as it lies in memory: where, and the bytes from there on to the end of what is loaded with it.
        (0, b"") where the module has none."""
        headers = _headers(lambda offset, size: self._read(self._base + offset, size))
        found = [item for item in headers.segments if item.kind == PT_GNU_EH_FRAME] if headers is not None else []
        if headers is None or not found:
            return 0, b""
        slide = self._base - headers.link_base
        head = self._read(found[0].address + slide, _FRAMES_HEADER.size)
        if len(head) != _FRAMES_HEADER.size or head[1] != _PC_RELATIVE_32:
            return 0, b""
        start = found[0].address + 4 + _FRAMES_HEADER.unpack(head)[4]
        for load in headers.segments:
            if load.kind == PT_LOAD and load.address <= start < load.address + load.memory_size:
                size = min(load.address + load.memory_size - start, _MOST_FRAME_BYTES)
                return start + slide, self._read(start + slide, size)
        return 0, b""

    def has_code_of(self, file: ElfFile) -> bool:
        """Whether all code of the file stands in memory, byte by byte."""
        lowest = file.layout.link_base
        for load in file.layout.loads:
            if load.flags & PF_X:
                for start in range(0, load.size, _CHUNK):
                    size = min(_CHUNK, load.size - start)
                    here = self._read(self._base + load.address - lowest + start, size)
                    if here != file.read(load.offset + start, size):
                        return False
        return True

    def file(self) -> tuple[int, int] | None:
        """Device and inode of what is mapped at the base; None where nothing is, or it may not be looked at."""
        try:
            at = self._mapping()
        except PermissionError:
            return None
        return None if at is None else (at.device, at.inode)

    def is_mapped(self) -> bool:
        """Whether a file is mapped at the base; also where that cannot be looked at."""
        try:
            return self._mapping() is not None
        except PermissionError:
            return True

    def _mapping(self) -> Mapping | None:
        return next((item for item in mappings(self._pid) if item.start <= self._base < item.end), None)

    def _read(self, address: int, size: int) -> bytes:
        if self._memory < 0:
            return (self._peek(address, size) if self._peek is not None else None) or b""
        try:
            return os.pread(self._memory, size, address)
        except (OSError, OverflowError):  # nothing is mapped there
            return b""


class ElfFile:
    """The file on disk, held open: what is read of it is of one file, whatever happens to its name meanwhile."""

    def __init__(self, path: str) -> None:
        """Raises OSError where it cannot be opened, ValueError where it is not a 64-bit ELF file."""
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        headers = _headers(self.read)
        if headers is None:
            self.close()
            raise ValueError(f"{path} is not an ELF file")
        self.layout = _layout(headers, lambda note: self.read(note.offset, note.size))
        self.relocates_code = _has_text_relocations(headers, self.read)
        self.status = os.fstat(self._descriptor)

    def close(self) -> None:
        """Closes the file."""
        os.close(self._descriptor)

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes at a file offset; b"" where they cannot be read."""
        try:
            return os.pread(self._descriptor, size, offset)
        except (OSError, OverflowError):
            return b""

    def code(self, address: int, size: int) -> bytes:
        """Up to `size` bytes of what is loaded at a link-time address; none where nothing of the file is."""
        for load in self.layout.loads:
            if load.address <= address < load.address + load.size:
                start = address - load.address
                return self.read(load.offset + start, min(size, load.size - start))
        return b""


def mappings(pid: int, text: str | None = None) -> list[Mapping]:
    """What a process has mapped of files, in order of address. `text`: of /proc/PID/maps, where it is known already.

    Raises ProcessLookupError when it is gone.
    """
    if text is not None:
        return list(_parsed(text))
    try:
        text = Path(f"/proc/{pid}/maps").read_text(errors="surrogateescape")
    except (FileNotFoundError, ProcessLookupError) as error:
        raise ProcessLookupError(f"process {pid}") from error
    return list(_parsed(text))


def located(module: LoadedModule, maps: Callable[[], str]) -> LoadedModule:
    """Under the name that its file has, or had before it was removed: the loader may have been given a relative one,
    and Frida has it from /proc/PID/maps, whose text `maps` gives and raises what is raised here."""
    if module.path.startswith("/") and not is_ambiguous(module.path):
        return module
    at = next((item for item in _parsed(maps()) if item.start <= module.base < item.end), None)
    return module if at is None else replace(module, path=at.path)


def unlisted(pid: int, listed: Sequence[LoadedModule], maps: str | None = None) -> list[LoadedModule]:
    """ELF files that are mapped with code and that Frida does not list: libraries in namespaces of their own (dlmopen).
    Raises ProcessLookupError when the process is gone."""
    found: list[LoadedModule] = []
    run: list[Mapping] = []
    for mapping in [*mappings(pid, maps), None]:
        continues = mapping is not None and run and mapping.offset > 0 and _same_file(mapping, run[0])
        if run and not continues:
            found.extend(_as_module(run))
            run = []
        if mapping is not None and (continues or mapping.offset == 0):
            run.append(mapping)
    known = [(module.base, module.base + module.size) for module in listed]
    own = str(NATIVE_RECORDER)  # which must never be hooked
    return [item for item in found if item.path != own and not any(start <= item.base < end for start, end in known)]


def _same_file(one: Mapping, other: Mapping) -> bool:
    return (one.device, one.inode) == (other.device, other.inode)


def _as_module(run: Sequence[Mapping]) -> Iterator[LoadedModule]:
    first = run[0]
    if any(mapping.is_code for mapping in run) and not first.path.startswith(("/memfd:", "/dev/")):
        size = run[-1].end - first.start
        yield LoadedModule(Path(first.path).name, first.path, first.start, size, (first.device, first.inode))


def _parsed(text: str) -> Iterator[Mapping]:
    for line in maps_lines(text):
        if line.name.startswith("/"):
            is_code = "x" in line.permissions
            yield Mapping(line.start, line.end, line.offset, is_code, line.device, line.inode, line.path)


def _headers(read: Read) -> ElfHeaders | None:
    """None where no header of a program lies there."""
    try:
        headers = ElfHeaders(read, _MOST_SEGMENTS)
        return headers if headers.cpu and headers.segments is not None else None
    except (ValueError, struct.error):
        return None


def _layout(headers: ElfHeaders, read: Callable[[Segment], bytes]) -> Layout:
    notes = (item for item in headers.segments if item.kind == PT_NOTE and item.size <= _MOST_NOTE_BYTES)
    loads = tuple(item for item in headers.segments if item.kind == PT_LOAD)
    return Layout(loads, headers.link_base, build_id(read(item) for item in notes))


def _has_text_relocations(headers: ElfHeaders, read: Read) -> bool:
    """Whether the loader writes into the code, which then differs from the file's."""
    dynamic = next((item for item in headers.segments if item.kind == PT_DYNAMIC), None)
    if dynamic is None or dynamic.size > _MOST_NOTE_BYTES:
        return False
    return any(tag == _DT_TEXTREL for tag, _ in dynamic_entries(read(dynamic.offset, dynamic.size)))
