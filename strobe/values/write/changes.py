"""What has to be written so that a variable has a value: from type and value to bytes for addresses.

All of a value is checked before anything is written: `changes_of` returns every change, or raises.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from strobe.dataclass import dataclass, replace
from strobe.errors import failure
from strobe.model import Text
from strobe.symbols.select.nearest import nearest_names
from strobe.symbols.types.fields import field_names, path_to
from strobe.symbols.types.model import Array, Base, Encoding, Field, Pointer, Record, Reference, Scalar, Type
from strobe.values.decode.elements import row_of
from strobe.values.decode.shaping import character_width
from strobe.values.lookup.locations import is_const
from strobe.values.model import PointerTo, Problem
from strobe.values.write.assignable import fits, is_transparent, members_of, only_part, valid_pointer, why_no_record
from strobe.values.write.encoding import encode, number_of, refused, whole_number
from strobe.values.write.given import as_list, as_object, as_tuple
from strobe.values.write.written_texts import StringObject, encoded, in_array, string_object

_ADDRESS = re.compile(r"(0[xX][0-9a-fA-F]{1,16})(?: <[^<>]*>)?")  # as a read shows it
_NULL = ("null", "nullptr", "NULL", "None", "0")
_MOST_TEXT = 1 << 20
_WORD = 8


@dataclass(frozen=True, slots=True)
class Change:
    """Bytes for an address. `mask`: which of their bits are changed; empty: all. `what`: the part that it is of."""

    address: int
    data: bytes
    mask: bytes = b""
    what: str = ""


class Memory:
    """What changes need to know of the process. `address_of`: of an expression as "&gFoo", and what it points to."""

    def __init__(
        self, peek: Callable[[int, int], bytes | None], address_of: Callable[[str], tuple[int, Type | None]]
    ) -> None:
        self.peek = peek
        self.address_of = address_of

    def word(self, address: int) -> int | None:
        """The 8 bytes at an address as a number; None where they cannot be read."""
        data = self.peek(address, _WORD)
        return None if data is None else int.from_bytes(data, "little")


def changes_of(type_: Type, bits: Field | None, address: int, value: Any, what: str, memory: Memory) -> list[Change]:
    """`bits`: of a bit-field, which begins in the byte at `address`. Raises WRITE_FAILED, READ_FAILED."""
    found = list(_Changes(memory).of(type_, bits, address, value, what))
    if not found:
        raise refused(what, type_.name, value, "there is nothing in it to write", "at least one element or member")
    _check_apart(found, what)
    return _joined(found)


def _joined(changes: Sequence[Change]) -> list[Change]:
    """What follows one another is one change: it is written in words all the same, and an array has many elements."""
    found: list[list[Change]] = []
    end = None
    for change in changes:
        if found and change.address == end and not change.mask and not found[-1][0].mask:
            found[-1].append(change)
        else:
            found.append([change])
        end = change.address + len(change.data)
    return [
        replace(parts[0], data=b"".join(part.data for part in parts)) if len(parts) > 1 else parts[0] for parts in found
    ]


def _check_apart(changes: Sequence[Change], what: str) -> None:
    """Members of a union lie in the same place: only one of them can be given."""
    before: Change | None = None
    for change in sorted(changes, key=lambda one: one.address):
        if before is not None and _overlap(before, change):
            raise failure("written_twice", what=what, one=before.what, other=change.what)
        before = change


def _overlap(one: Change, other: Change) -> bool:
    first = other.address - one.address
    here = zip(_all_bits(one)[first:], _all_bits(other), strict=False)
    return any(mine & theirs for mine, theirs in here)


def _all_bits(change: Change) -> bytes:
    return change.mask or b"\xff" * len(change.data)


class _Changes:
    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def of(self, type_: Type, bits: Field | None, address: int, value: Any, what: str) -> Iterator[Change]:
        if isinstance(value, Problem):
            raise refused(what, type_.name, str(value), "it is a placeholder for what was not read", "a value")
        if bits is not None and bits.bit_size is not None:
            yield _of_bits(type_, (bits.bit_offset or 0) % 8, bits.bit_size, address, value, what)
            return
        match type_.bare:
            case Record() as record:
                yield from self._record(record, address, value, what)
            case Array() as array:
                yield from self._array(array, address, value, what)
            case Pointer() as pointer:
                yield self._pointer(pointer, type_, address, value, what)
            case Reference():
                raise refused(
                    what, type_.name, value, "a reference cannot be bound again", "what it refers to, by name"
                )
            case Scalar(encoding=Encoding.COMPLEX) as scalar:
                yield from _complex(scalar, address, value, what)
            case _:
                yield Change(address, encode(type_, _as_number(type_, value), what), what=what)

    # --- structs, classes, unions

    def _record(self, record: Record, address: int, value: Any, what: str) -> Iterator[Change]:
        string = string_object(record)
        if string is not None:
            yield from self._string(string, record, address, value, what)
            return
        inner = only_part(record) if is_transparent(record) else None
        fields = as_object(value) or as_tuple(record, value)
        if inner is not None and fields is None:
            yield from self.of(inner[1], None, address + inner[0], value, what)
            return
        if fields is None or record.is_declaration or record.parts.variants is not None:
            raise refused(what, record.name, value, why_no_record(record, value), members_of(record))
        for name, item in fields.items():
            yield from self._member(record, address, name, item, what)

    def _member(self, record: Record, address: int, name: str, value: Any, what: str) -> Iterator[Change]:
        path = path_to(record, name)
        if path is None:
            near = nearest_names(name, field_names(record))
            hint = f"Names like it: {', '.join(near)}." if near else members_of(record)
            raise failure("no_such_field", type=record.name, what=name, hint=hint)
        bits: Field | None = None
        for part in path:
            if isinstance(part, Base) and part.offset is None:
                raise refused(what, record.name, value, f"'{name}' lies in a virtual base", f"{what}.{name} by itself")
            bits = part if isinstance(part, Field) and part.bit_size is not None else None
            address += part.offset or 0
        last = path[-1].type
        if is_const(last):
            raise failure("written_const", what=f"{what}.{name}", type=last.name)
        yield from self.of(last, bits, address, value, f"{what}.{name}")

    def _string(self, string: StringObject, record: Record, address: int, value: Any, what: str) -> Iterator[Change]:
        """Its characters, then its size; what it has room for stays."""
        if not isinstance(value, str):
            raise refused(what, record.name, value, "it is not text", "text")
        if string.reason:
            raise refused(what, record.name, value, string.reason, "another variable")
        data = encoded(value, string.width, record.name, what)
        start = self._memory.word(address + string.pointer)
        is_local = start == address + string.local
        room = string.local_room if is_local else self._memory.word(address + string.capacity)
        if start is None or room is None:
            raise failure("address_unreadable", address=f"{address:#x}", at=f", for {what}")
        count = len(data) // string.width
        if count > room:
            reason = f"it has {count} characters, and the string has room for {room} without other memory"
            raise refused(what, record.name, value, reason, f"up to {room} characters")
        yield Change(start, data + bytes(string.width), what=what)
        yield Change(address + string.size, count.to_bytes(_WORD, "little"), what=f"{what}'s size")

    # --- arrays

    def _array(self, array: Array, address: int, value: Any, what: str) -> Iterator[Change]:
        count = array.dimensions[0].count if array.dimensions else None
        if count is None:
            raise refused(what, array.name, value, "its length is not known", f"its elements, as {what}[0]")
        row = row_of(array)
        width = character_width(row)
        if width is not None and isinstance(value, str):
            yield Change(address, in_array(value, width, count, array.name, what), what=what)
            return
        elements = as_list(value)
        if elements is None:
            valid = f"a list of {count} values" if width is None else f"text of up to {max(count - 1, 0)} characters"
            raise refused(what, array.name, value, "it is not a list", valid)
        if len(elements) != count:
            reason = f"it has {count} elements, {len(elements)} are given"
            raise refused(what, array.name, value, reason, f"all {count}; or single ones, as {what}[0]")
        stride = (array.stride if len(array.dimensions) == 1 else row.size) or 0
        for index, element in enumerate(elements):
            yield from self.of(row, None, address + index * stride, element, f"{what}[{index}]")

    # --- pointers

    def _pointer(self, pointer: Pointer, type_: Type, address: int, value: Any, what: str) -> Change:
        width = character_width(pointer.target)
        given = self._address(pointer, type_, value, what, is_text=width is not None)
        if given is not None:
            return Change(address, given.to_bytes(_WORD, "little"), what=what)
        if width is None:
            raise refused(what, type_.name, value, "it is not an address", valid_pointer(pointer))
        return self._text_behind(type_, width, address, value, what)

    def _address(self, pointer: Pointer, type_: Type, value: Any, what: str, is_text: bool) -> int | None:
        if value is None:
            return 0
        if isinstance(value, PointerTo):
            return value.address
        if isinstance(value, Text) or not isinstance(value, str | int) or isinstance(value, bool):
            return None
        text = value.strip() if isinstance(value, str) else ""
        if text[:1] == "&" or (text[:1] == "(" and not is_text):
            return self._expressed(pointer, type_, text, what)
        found = _ADDRESS.fullmatch(text)
        number = int(found[1], 16) if found else whole_number(value) if isinstance(value, int) else None
        if text in _NULL and not is_text:
            number = 0
        if number is not None and not 0 <= number < 1 << 64:
            raise refused(what, type_.name, value, "it is out of range", valid_pointer(pointer))
        return number

    def _expressed(self, pointer: Pointer, type_: Type, text: str, what: str) -> int:
        address, target = self._memory.address_of(text)
        if target is not None and not fits(pointer.target, target):
            reason = f"it points to {target.name}"
            raise refused(what, type_.name, text, reason, f"({type_.name}){text} where that is meant")
        return address

    def _text_behind(self, type_: Type, width: int, address: int, value: Any, what: str) -> Change:
        """Into what lies there now: nobody knows how much room there is behind its end."""
        if not isinstance(value, str):
            raise refused(what, type_.name, value, "it is neither text nor an address", 'text, "0x…", null, "&gFoo"')
        data = encoded(value, width, type_.name, what, no_zero=True)
        start = self._memory.word(address)
        if not start:
            reason = "it is a null pointer" if start == 0 else "it cannot be read"
            raise refused(what, type_.name, value, reason, 'an address: "0x…", "&gText"')
        present = _text_bytes(self._memory, start, width)
        if present is None:
            reason = f"no terminated text lies at {start:#x}, where it points to"
            raise refused(what, type_.name, value, reason, 'an address: "0x…", "&gText"')
        if len(data) > present:
            reason = f"it has {len(data) // width} characters, and the text there now has {present // width}"
            raise refused(what, type_.name, value, reason, f"up to {present // width} characters, or an address")
        return Change(start, data + bytes(width), what=f"*{what}")


def _text_bytes(memory: Memory, start: int, width: int) -> int | None:
    """Bytes of a text up to its zero; None where it does not end where it can be read."""
    length, page = 0, 4096
    while length < _MOST_TEXT:
        size = page - (start + length) % page
        data = memory.peek(start + length, size)
        if data is None:
            return None
        for at in range((-length) % width, len(data) - width + 1, width):
            if not any(data[at : at + width]):
                return length + at
        length += size
    return None


def _as_number(type_: Type, value: Any) -> Any:
    """In C, wchar_t and its like are other names of integers."""
    is_letter = isinstance(value, str) and len(value) == 1 and not value.isdigit()
    return ord(value) if is_letter and character_width(type_) in (2, 4) else value


def _of_bits(type_: Type, first: int, bits: int, address: int, value: Any, what: str) -> Change:
    """The bytes that have a bit of it, and nothing but these bits of them."""
    number = number_of(type_, value, what, bits)
    size = (first + bits + 7) // 8
    mask = ((1 << bits) - 1) << first
    return Change(address, (number << first).to_bytes(size, "little"), mask.to_bytes(size, "little"), what)


def _complex(scalar: Scalar, address: int, value: Any, what: str) -> Iterator[Change]:
    half = (scalar.size or 0) // 2
    fields, elements = as_object(value), as_list(value)
    parts = [fields.get("re"), fields.get("im")] if fields is not None else elements
    if parts is None or len(parts) != 2 or half not in (4, 8, 16):
        raise refused(what, scalar.name, value, "it is not a complex number", '{"re": 1.0, "im": 2.0}')
    part = Scalar("long double" if half == 16 else "float", half, None, Encoding.FLOAT, None)
    for index, item in enumerate(parts):
        yield Change(address + index * half, encode(part, item, what), what=what)
