"""What the load commands of a Mach-O file say (Apple's mach-o/loader.h, mach-o/fat.h): segments, symbol table, UUID.

Every read is bounded by the slice; what does not fit ends in ValueError or struct.error.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

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
            raise ValueError("a slice is cut short")
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
        raise ValueError("its load commands are cut short")
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
