"""Text as arrays and strings have it, and where the parts of std::string lie."""

from __future__ import annotations

from strobe.dataclass import dataclass
from strobe.symbols.types.model import Array, Field, Pointer, Record, Type
from strobe.values.write.encoding import refused

_ENCODINGS = {1: "utf-8", 2: "utf-16-le", 4: "utf-32-le"}
_GNU = ("std::__cxx11::basic_string<", "std::string", "std::basic_string<")
_OTHER = ("std::__1::basic_string", "std::basic_string_view<", "std::__1::basic_string_view<", "alloc::string::String")


@dataclass(frozen=True, slots=True)
class StringObject:
    """Offsets in a std::string of libstdc++. `reason`: why texts are not written into this class; empty: they are."""

    width: int = 1
    pointer: int = 0
    size: int = 0
    local: int = 0
    local_room: int = 0  # characters, without the zero
    capacity: int = 0
    reason: str = ""


def string_object(record: Record) -> StringObject | None:
    """None for all classes that are no strings."""
    if record.name.startswith(_OTHER):
        return StringObject(reason="only std::string of libstdc++ can be written, within its capacity")
    if not record.name.startswith(_GNU) or record.is_declaration:
        return None
    fields = {field.name: field for field in _spread(record)}
    pointer, size = _pointer(fields.get("_M_dataplus")), fields.get("_M_string_length")
    local, capacity = fields.get("_M_local_buf"), fields.get("_M_allocated_capacity")
    if pointer is None or size is None or local is None or capacity is None:
        return StringObject(reason="strings of this class share their characters")
    buffer = local.type.bare
    width = _width(buffer)
    count = buffer.count if isinstance(buffer, Array) else None
    if width is None or count is None:
        return None
    offsets = (pointer, size.offset or 0, local.offset or 0)
    return StringObject(width, *offsets, count - 1, capacity.offset or 0)


def encoded(value: str, width: int, type_name: str, what: str, no_zero: bool = False) -> bytes:
    """Without the zero at its end."""
    try:
        data = value.encode(_ENCODINGS[width])
    except UnicodeEncodeError:
        raise refused(what, type_name, value, "it is not valid text", "text") from None
    if no_zero and "\0" in value:
        raise refused(what, type_name, value, "it contains a NUL character, which would end it", "text without it")
    return data


def in_array(value: str, width: int, count: int, type_name: str, what: str) -> bytes:
    """With the zero at its end, which has to fit, too."""
    data = encoded(value, width, type_name, what, no_zero=True) + bytes(width)
    if len(data) > count * width:
        unit = "bytes" if width == 1 else "characters"
        reason = f"it has {len(data) // width - 1} {unit}, and {count - 1} fit before the zero"
        raise refused(what, type_name, value, reason, f"up to {count - 1} {unit}")
    return data


def _width(buffer: Type) -> int | None:
    size = buffer.element.size if isinstance(buffer, Array) else None
    return size if size in _ENCODINGS else None


def _pointer(holder: Field | None) -> int | None:
    """Where the pointer to the characters is, in the class that holds it and the allocator."""
    record = None if holder is None else holder.type.bare
    if holder is None or not isinstance(record, Record):
        return None
    pointers = [one for one in record.parts.fields if one.name == "_M_p" and isinstance(one.type.bare, Pointer)]
    return (holder.offset or 0) + (pointers[0].offset or 0) if pointers else None


def _spread(record: Record) -> list[Field]:
    """Its fields, and those of its unnamed union, at their offsets in the class."""
    found: list[Field] = []
    for field in record.parts.fields:
        inner = field.type.bare
        if not field.name and isinstance(inner, Record):
            base = field.bit_offset or 0
            found += [Field(one.name, one.link, base + (one.bit_offset or 0)) for one in inner.parts.fields]
        else:
            found.append(field)
    return found
