"""What has to be written so that a variable has a value: from type and value to bytes for addresses.

All of a value is checked before anything is written: `changes_of` returns every change, or raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from strobe.errors import failure
from strobe.model import Text
from strobe.symbols.nearest import nearest_names
from strobe.symbols.record_model import Base, Field
from strobe.symbols.type_model import Array, Encoding, Function, Pointer, Record, Reference, Scalar, Type, Void
from strobe.values.elements import row_of
from strobe.values.encoding import encode, number_of, refused, whole_number
from strobe.values.model import PointerTo, Problem
from strobe.values.model import Record as Fields
from strobe.values.places import field_names, is_const, path_to
from strobe.values.shaping import character_width
from strobe.values.written_texts import StringObject, encoded, in_array, string_object

_ADDRESS = re.compile(r"(0[xX][0-9a-fA-F]{1,16})(?: <[^<>]*>)?")  # as a read shows it
_NULL = ("null", "nullptr", "NULL", "None", "0")
_MOST_TEXT = 1 << 20
_WORD = 8
# Classes of the libraries that hold one value and nothing else
_TRANSPARENT = (
    "std::atomic<",
    "std::__atomic",
    "std::chrono::duration<",
    "std::chrono::time_point<",
    "core::sync::atomic::Atomic",
    "core::cell::Cell<",
    "core::cell::UnsafeCell<",
    "core::num::wrapping::Wrapping<",
    "core::mem::manually_drop::ManuallyDrop<",
)


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
        data = self.peek(address, _WORD)
        return None if data is None else int.from_bytes(data, "little")


def changes_of(type_: Type, bits: Field | None, address: int, value: Any, what: str, memory: Memory) -> list[Change]:
    """`bits`: of a bit-field, which begins in the byte at `address`. Raises WRITE_FAILED, READ_FAILED."""
    found = list(_Changes(memory).of(type_, bits, address, value, what))
    _check_apart(found, what)
    return found


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
            raise refused(what, type_.name, str(value), "it stands for what was not read", "a value")
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
                raise refused(what, type_.name, value, "a reference is bound for good", "what it stands for, by name")
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
        inner = _only_part(record) if record.name.startswith(_TRANSPARENT) else None
        fields = _object(value)
        if inner is not None and fields is None:
            yield from self.of(inner[1], None, address + inner[0], value, what)
            return
        if fields is None or record.is_declaration or record.parts.variants is not None:
            raise refused(what, record.name, value, _why_not(record, value), _members(record))
        for name, item in fields.items():
            yield from self._member(record, address, name, item, what)

    def _member(self, record: Record, address: int, name: str, value: Any, what: str) -> Iterator[Change]:
        path = path_to(record, name)
        if path is None:
            near = nearest_names(name, field_names(record))
            hint = f"Names like it: {', '.join(near)}." if near else _members(record)
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
            raise refused(what, record.name, value, "it is no text", "text")
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
        row = row_of(array)
        width = character_width(row)
        if width is not None and isinstance(value, str):
            if count is None:
                raise refused(what, array.name, value, "its length is not known", "its elements, by their index")
            yield Change(address, in_array(value, width, count, array.name, what), what=what)
            return
        elements = _list(value)
        if elements is None or count is None:
            valid = f"a list of {count} values" if width is None else f"text of up to {(count or 1) - 1} bytes"
            raise refused(what, array.name, value, "it is no list", valid)
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
            raise refused(what, type_.name, value, "it is no address", _valid_pointer(pointer))
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
            raise refused(what, type_.name, value, "it is out of range", _valid_pointer(pointer))
        return number

    def _expressed(self, pointer: Pointer, type_: Type, text: str, what: str) -> int:
        address, target = self._memory.address_of(text)
        if target is not None and not _fits(pointer.target, target):
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
            reason = f"no text that ends lies at {start:#x}, where it points to"
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
    fields, elements = _object(value), _list(value)
    parts = [fields.get("re"), fields.get("im")] if fields is not None else elements
    if parts is None or len(parts) != 2 or half not in (4, 8, 16):
        raise refused(what, scalar.name, value, "it is no complex number", '{"re": 1.0, "im": 2.0}')
    part = Scalar("long double" if half == 16 else "float", half, None, Encoding.FLOAT, None)
    for index, item in enumerate(parts):
        yield Change(address + index * half, encode(part, item, what), what=what)


def _object(value: Any) -> dict[str, Any] | None:
    if isinstance(value, Fields):
        return dict(value)
    if isinstance(value, PointerTo) and isinstance(value.to, Fields):
        return dict(value.to)
    return value if isinstance(value, dict) else _parsed(value, "{", dict)


def _list(value: Any) -> list[Any] | None:
    if isinstance(value, list | tuple):
        return list(value)
    found: list[Any] | None = _parsed(value, "[", list)
    return found


def _parsed(value: Any, mark: str, kind: type) -> Any:
    """JSON that was given as text."""
    if not isinstance(value, str) or not value.lstrip().startswith(mark):
        return None
    try:
        found = json.loads(value)
    except ValueError:
        return None
    return found if isinstance(found, kind) else None


def _only_part(record: Record) -> tuple[int, Type] | None:
    """Offset and type of the one part that has a size."""
    parts: list[Field | Base] = [*record.parts.fields, *record.parts.bases]
    sized = [part for part in parts if part.offset is not None and not _is_empty(part.type.bare)]
    return (sized[0].offset or 0, sized[0].type) if len(sized) == 1 else None


def _is_empty(type_: Type) -> bool:
    if not type_.size:
        return True
    return (
        isinstance(type_, Record) and not type_.parts.fields and all(_is_empty(b.type.bare) for b in type_.parts.bases)
    )


def _fits(wanted: Type, given: Type) -> bool:
    """Whether a pointer to the one may be assigned to one to the other, in C++ or in C."""
    one, other = wanted.bare, given.bare
    if one is other or isinstance(one, Void) or isinstance(other, Void) or one.name == other.name:
        return True
    if isinstance(one, Record) and isinstance(other, Record):
        bases = [base for base in other.parts.bases if base.offset == 0]
        return any(_fits(one, base.type) for base in bases)
    if isinstance(other, Array):
        return _fits(wanted, row_of(other))
    return isinstance(one, Function) and isinstance(other, Function)


def _why_not(record: Record, value: Any) -> str:
    if record.is_declaration:
        return "it is only declared: its fields are not known"
    if record.parts.variants is not None:
        return "which variant an enum is cannot be changed"
    text = isinstance(value, str) and not value.lstrip().startswith("{")
    return "a text cannot be put into this type" if text else "it is no object of members"


def _members(record: Record) -> str:
    if record.is_declaration:
        return "the address of what is meant, with a type"
    names = field_names(record)[:6]
    return "{" + ", ".join(f'"{name}": …' for name in names) + "}" if names else "nothing: it has no fields"


def _valid_pointer(pointer: Pointer) -> str:
    return '"0x…", null, "&function"' if isinstance(pointer.target.bare, Function) else '"0x…", null, "&gFoo"'
