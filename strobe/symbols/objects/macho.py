"""Mach-O files as an Image: 64-bit objects, programs, libraries, dSYMs, and slices of universal files (Apple's
mach-o/loader.h, mach-o/fat.h).
"""

from __future__ import annotations

import bisect
import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path

from strobe._core import FileMap, SymbolTable
from strobe.dataclass import dataclass, field
from strobe.errors import failure
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.image import StoredSection

_NLIST = struct.Struct("<IBBHQ")  # nlist_64: string, type, section, description, value
_N_STAB, _N_PRIVATE_EXTERNAL, _N_TYPE, _N_EXTERNAL = 0xE0, 0x10, 0x0E, 0x01
_N_SECTION = 0x0E  # the type of what is defined in a section
_READ_BYTES = 64 << 20
_SECTION_NAME_BYTES = 16  # what is longer is cut
_LONG_NAMES = (".debug_str_offsets", ".zdebug_str_offsets", ".zdebug_line_str", ".zdebug_rnglists", ".zdebug_loclists")
_LOCAL_LABEL = re.compile(r"(?:ltmp\d+|[lL].*)$")  # the assembler's own, where a function's name begins with `_`


class MachOImage:
    """An Image of x86-64 or arm64. `build_id` is the UUID; `link_base` the address of the segment __TEXT."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._content = _read(path)
            layout = read_layout(self._content)
        except UNREADABLE as error:
            raise failure("damaged_macho", path=path, reason=str(error) or type(error).__name__) from error
        if layout.cpu not in (CPU_X86_64, CPU_ARM64):
            raise failure("wrong_architecture", path=path, machine=layout.machine, host="x86-64")
        self._take(layout)

    def _take(self, layout: MachLayout) -> None:
        self._layout = layout
        self.machine = layout.machine
        self.build_id = layout.uuid
        self.link_base = 0 if layout.file_type == MH_OBJECT else layout.segments.get("__TEXT", 0)
        self._code = [section for section in layout.sections if section.is_code and section.size]
        self.executable = [(section.address, section.address + section.size) for section in self._code]
        self.has_symtab = layout.symbols is not None and layout.symbols[1] > 0

    def close(self) -> None:
        """As Image."""
        self._content.release()

    def sections(self) -> list[StoredSection]:
        """As Image; with the names that ELF has for them."""
        start = self._layout.start
        return [
            StoredSection(
                elf_name(section), start + section.offset, section.size, section.size, address=section.address
            )
            for section in self._layout.sections
            if section.offset
        ]

    def section_size(self, name: str) -> int:
        """Of a section compressed as `__zdebug_`: what the file has."""
        if name == ".symtab":
            return (self._layout.symbols or (0, 0, 0, 0))[1] * _NLIST.size
        wanted = (name, name.replace(".debug_", ".zdebug_"))
        return next((section.size for section in self.sections() if section.name in wanted), 0)

    def add_functions(self, table: SymbolTable) -> None:
        """Defined symbols of sections with code; entries for debuggers and the assembler's own labels are left out.

        The format has no sizes: a function ends where the next begins. Raises one of UNREADABLE for a damaged table.
        """
        found = list(self._symbols())
        starts = sorted({address for _, address, _, _ in found} | set(self._function_starts()))
        for name, address, is_global, is_exported in found:
            table.add(name, address, self._end(address, starts) - address, is_global, is_exported)

    def _end(self, address: int, starts: list[int]) -> int:
        following = bisect.bisect_right(starts, address)
        end = next(stop for start, stop in self.executable if start <= address < stop)
        return min(end, starts[following]) if following < len(starts) else end

    def _symbols(self) -> Iterator[tuple[str, int, bool, bool]]:
        """Name, address, whether other files of the program see it, whether other modules do."""
        if self._layout.symbols is None:
            return
        table, count, strings_at, strings_bytes = self._layout.symbols
        strings = bytes(self._piece(strings_at, strings_bytes))
        sections = self._layout.sections
        for offset, kind, section, _, address in _NLIST.iter_unpack(self._piece(table, count * _NLIST.size)):
            if kind & _N_STAB or kind & _N_TYPE != _N_SECTION or not 0 < section <= len(sections):
                continue
            home = sections[section - 1]
            if not home.is_code or not home.address <= address < home.address + home.size:
                continue
            name = strings[offset : strings.find(b"\0", offset)].decode("utf-8", "replace")
            is_global = bool(kind & _N_EXTERNAL)
            if name and (is_global or not _LOCAL_LABEL.match(name)):
                yield name.removeprefix("_"), address, is_global, is_global and not kind & _N_PRIVATE_EXTERNAL

    def _function_starts(self) -> Iterator[int]:
        """Addresses of LC_FUNCTION_STARTS: differences as LEB128, from __TEXT on."""
        if self._layout.function_starts is None:
            return
        address, difference, shift = self.link_base, 0, 0
        for byte in self._piece(*self._layout.function_starts):
            difference |= (byte & 0x7F) << shift
            shift += 7
            if byte & 0x80 and shift < 64:
                continue
            if difference == 0:
                return
            address += difference
            yield address
            difference = shift = 0

    def _piece(self, offset: int, size: int) -> memoryview:
        if offset + size > self._layout.size:
            raise ValueError("a table is truncated")
        start = self._layout.start + offset
        return self._content[start : start + size]


def elf_name(section: MachSection) -> str:
    """`__debug_str_offs`, which is cut at 16 characters, is `.debug_str_offsets`."""
    name = "." + section.name.removeprefix("__")
    if len(section.name) == _SECTION_NAME_BYTES:
        return next((long for long in _LONG_NAMES if long.startswith(name)), name)
    return name


def _read(path: str) -> memoryview:
    """Large files are mapped, for memory's sake."""
    try:
        with Path(path).open("rb") as stream:
            if os.fstat(stream.fileno()).st_size <= _READ_BYTES:
                return memoryview(stream.read())
            return memoryview(FileMap(stream.fileno()))
    except OSError as error:
        raise failure("no_such_file", path=path, hint=f"({error.strerror}.)") from error


MH_OBJECT = 1
CPU_X86_64, CPU_ARM64 = 0x01000007, 0x0100000C
MACHINES = {CPU_X86_64: "x86-64", CPU_ARM64: "aarch64", 7: "x86 (32 bit)", 12: "ARM (32 bit)"}

_MAGIC_64, _MAGIC_32 = 0xFEEDFACF, 0xFEEDFACE
_FAT_32, _FAT_64 = 0xCAFEBABE, 0xCAFEBABF
_MAX_SLICES = 40  # a Java class has the same magic number, and its version, 45 and more, where the slices are counted
_HEADER = struct.Struct("<IIIIIIII")  # magic, cpu, subtype, file type, commands, their bytes, flags, reserved
_COMMAND = struct.Struct("<II")
_SEGMENT = struct.Struct("<16sQQQQIIII")  # name, address, size, file offset and size, protections, sections, flags
_SECTION = struct.Struct("<16s16sQQIIIIIIII")  # name, segment, address, size, offset, …, flags, three reserved
_LC_SYMTAB, _LC_SEGMENT_64, _LC_UUID, _LC_FUNCTION_STARTS = 0x02, 0x19, 0x1B, 0x26
_ZERO_FILLED = (0x01, 0x0C, 0x12)  # section types without content in the file
_INSTRUCTIONS = 0x80000400  # S_ATTR_PURE_INSTRUCTIONS, S_ATTR_SOME_INSTRUCTIONS


@dataclass(frozen=True, slots=True)
class MachSection:
    """`offset` counts from the slice's start; 0 for one without content here."""

    segment: str
    name: str
    address: int
    size: int
    offset: int
    is_code: bool


@dataclass(slots=True)
class MachLayout:
    """One slice. `start` and `size` in bytes, of the slice in the file; `symbols` as LC_SYMTAB has them.

    `symbols`: offset and number of entries, offset and size of strings. `function_starts`: offset and size.
    """

    start: int
    size: int
    cpu: int
    file_type: int
    segments: dict[str, int] = field(default_factory=dict)  # name -> address
    sections: list[MachSection] = field(default_factory=list)
    uuid: str | None = None
    symbols: tuple[int, int, int, int] | None = None
    function_starts: tuple[int, int] | None = None

    @property
    def machine(self) -> str:
        """ "x86-64", "ARM64"; "machine 7" where it has no name here."""
        return MACHINES.get(self.cpu, f"machine {self.cpu}")


def is_macho(head: bytes) -> bool:
    """By the first 8 bytes of a file; thin ones of 32 bits and universal ones, too."""
    if len(head) < _COMMAND.size:
        return False
    if _COMMAND.unpack_from(head)[0] in (_MAGIC_64, _MAGIC_32):
        return True
    magic, count = struct.unpack_from(">II", head)
    return magic in (_FAT_32, _FAT_64) and 0 < count < _MAX_SLICES


def read_layout(content: memoryview) -> MachLayout:
    """The slice for x86-64, else the one for arm64, else the first, which is not one of 64 bits or of a known machine.

    Raises ValueError or struct.error where the file is damaged.
    """
    slices = [_read_header(content, start, size) for start, size in _slices(content)]
    if not slices:
        raise ValueError("it has no slice")
    order = (CPU_X86_64, CPU_ARM64)
    layout = min(slices, key=lambda one: order.index(one.cpu) if one.cpu in order else len(order))
    if layout.cpu in order:
        _read_commands(content[layout.start : layout.start + layout.size], layout)
    return layout


def _slices(content: memoryview) -> Iterator[tuple[int, int]]:
    magic, count = struct.unpack_from(">II", content)
    if magic not in (_FAT_32, _FAT_64):
        yield 0, len(content)
        return
    entry = struct.Struct(">IIIII" if magic == _FAT_32 else ">IIQQII")
    for number in range(count):
        _, _, start, size, *_ = entry.unpack_from(content, 8 + number * entry.size)
        if start + size > len(content):
            raise ValueError("a slice is truncated")
        yield start, size


def _read_header(content: memoryview, start: int, size: int) -> MachLayout:
    magic, cpu, _, file_type, *_ = _HEADER.unpack_from(content[start : start + size])
    if magic not in (_MAGIC_64, _MAGIC_32):
        raise ValueError("a slice is not Mach-O")
    return MachLayout(start, size, cpu, file_type)


def _read_commands(content: memoryview, layout: MachLayout) -> None:
    _, _, _, _, count, size, _, _ = _HEADER.unpack_from(content)
    position, end = _HEADER.size, _HEADER.size + size
    if end > len(content):
        raise ValueError("its load commands are truncated")
    for _ in range(count):
        command, length = _COMMAND.unpack_from(content[:end], position)
        if length < _COMMAND.size or position + length > end:
            raise ValueError("a load command is longer than all of them")
        _read_command(command, content[position + _COMMAND.size : position + length], layout)
        position += length


def _read_command(command: int, body: memoryview, layout: MachLayout) -> None:
    if command == _LC_SEGMENT_64:
        _read_segment(body, layout)
    elif command == _LC_SYMTAB:
        layout.symbols = struct.unpack_from("<IIII", body)
    elif command == _LC_FUNCTION_STARTS:
        layout.function_starts = struct.unpack_from("<II", body)
    elif command == _LC_UUID:
        (uuid,) = struct.unpack_from("16s", body)
        layout.uuid = uuid.hex()


def _read_segment(body: memoryview, layout: MachLayout) -> None:
    raw_name, address, _, _, file_size, _, _, count, _ = _SEGMENT.unpack_from(body)
    layout.segments.setdefault(_text(raw_name), address)
    for number in range(count):
        values = _SECTION.unpack_from(body, _SEGMENT.size + number * _SECTION.size)
        raw_section, raw_segment, start, size, offset, _, _, _, flags, *_ = values
        # a dSYM keeps the program's segments without their content
        has_content = file_size > 0 and flags & 0xFF not in _ZERO_FILLED
        section = MachSection(
            _text(raw_segment),
            _text(raw_section),
            start,
            size,
            offset if has_content else 0,
            bool(flags & _INSTRUCTIONS),
        )
        layout.sections.append(section)


def _text(raw: bytes) -> str:
    return raw.split(b"\0")[0].decode("utf-8", "replace")
