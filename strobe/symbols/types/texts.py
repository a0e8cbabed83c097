"""Which types are text: pointers to characters, and objects with a pointer to them and a length.

Fields are found by the names that the standard libraries give them, their places come from debug information. Strings
of libc++ keep short text inside of themselves, which the recorder knows how to read.
"""

from __future__ import annotations

from strobe.dataclass import dataclass
from strobe.symbols.types.model import Field, Pointer, Qualified, Record, Scalar, Type, Typedef

_MAX_HOPS = 64
_MAX_DEPTH = 6
_LIBSTDCXX_POINTER = ("_M_dataplus", "_M_p")
# what a type's name begins with: the fields that lead to its pointer and to its length
_OBJECTS = (
    ("std::__cxx11::basic_string<", _LIBSTDCXX_POINTER, ("_M_string_length",)),
    # clang describes the class around the pointer only where its constructor is
    ("std::__cxx11::basic_string<", _LIBSTDCXX_POINTER[:1], ("_M_string_length",)),
    ("std::basic_string_view<", ("_M_str",), ("_M_len",)),
    ("std::__1::basic_string_view<", ("__data_",), ("__size_",)),
    ("std::__1::basic_string_view<", ("__data",), ("__size",)),
    ("&str", ("data_ptr",), ("length",)),
    ("&mut str", ("data_ptr",), ("length",)),
    ("alloc::string::String", ("vec", "buf"), ("vec", "len")),
)


_CHARACTERS = {"char": (1,), "char8_t": (1,), "char16_t": (2,), "char32_t": (4,), "wchar_t": (2, 4)}  # and their bytes
_LIBCXX = "std::__1::basic_string<"


@dataclass(frozen=True, slots=True)
class TextObject:
    """Where in an object the pointer to its text and the text's length are, in bytes; `unit`: bytes of a character."""

    pointer_offset: int
    length_offset: int
    unit: int = 1
    is_libcxx: bool = False


def points_to_text(type_: Type) -> int:
    """Bytes of a character of `char*`, `const wchar_t*`; 0 of other types: 8-bit integers are data as often as text."""
    plain = type_.bare
    return _character_bytes(plain.target) if isinstance(plain, Pointer) and not plain.own_name else 0


def is_const_text(type_: Type) -> bool:
    """Whether it is a pointer to something const: characters there are text, and not a buffer to be filled."""
    plain = type_.bare
    return isinstance(plain, Pointer) and _is_const(plain.target)


def text_object(type_: Type) -> TextObject | None:
    """Of std::string, its views and Rust's; None for other types, and for layouts that are not known."""
    plain = type_.bare
    if not isinstance(plain, Record):
        return None
    unit = _unit(plain.name)
    if unit and plain.name.startswith(_LIBCXX):
        return TextObject(16, 8, unit, is_libcxx=True) if _has_known_layout(plain, 0) else None
    for name, to_pointer, to_length in _OBJECTS:
        if not (plain.name.startswith(name) and unit if name.endswith("<") else plain.name == name):
            continue
        pointer, length = _offset(plain, to_pointer), _offset(plain, to_length)
        if pointer is not None and length is not None and length[1] == 8:
            return TextObject(pointer[0], length[0], unit or 1)
    return None


def _unit(name: str) -> int:
    """Bytes of a character of a template's first argument; wchar_t has four on Linux."""
    argument = name.partition("<")[2].partition(",")[0]
    return max(_CHARACTERS.get(argument, (0,)))


def _has_known_layout(record: Record, depth: int) -> bool:
    """Whether long text is kept as capacity, length, pointer: libc++ may be built in another way."""
    if record.name.endswith("::__long"):
        offsets = {field.name: field.offset for field in record.parts.fields}
        return record.size == 24 and offsets.get("__size_") == 8 and offsets.get("__data_") == 16
    if depth > _MAX_DEPTH:
        return False
    inner = [base.type.bare for base in record.parts.bases] + [field.type.bare for field in record.parts.fields]
    return any(isinstance(part, Record) and _has_known_layout(part, depth + 1) for part in inner)


def _offset(record: Record, path: tuple[str, ...]) -> tuple[int, int] | None:
    """Offset and size of the field that a path leads to; of a record there (Rust's buffers) its first pointer."""
    at: Type = record
    offset = 0
    for name in path:
        field = _field(at, name)
        if field is None or field.offset is None or field.bit_size is not None:
            return None
        offset += field.offset
        at = field.type.bare
    if isinstance(at, Record):
        inner = 0 if path == _LIBSTDCXX_POINTER[:1] else _first_pointer(at, 0)
        return None if inner is None else (offset + inner, 8)
    return offset, at.size or 0


def _field(type_: Type, name: str) -> Field | None:
    fields = type_.parts.fields if isinstance(type_, Record) else ()
    return next((field for field in fields if field.name == name), None)


def _first_pointer(record: Record, depth: int) -> int | None:
    for field in record.parts.fields if depth < _MAX_DEPTH else ():
        plain = field.type.bare
        if field.offset is None:
            continue
        if isinstance(plain, Pointer):
            return field.offset
        inner = _first_pointer(plain, depth + 1) if isinstance(plain, Record) else None
        if inner is not None:
            return field.offset + inner
    return None


def _character_bytes(type_: Type) -> int:
    plain = type_.bare
    size = plain.size or 0
    return size if isinstance(plain, Scalar) and size in _CHARACTERS.get(plain.own_name, ()) else 0


def _is_const(type_: Type) -> bool:
    for _ in range(_MAX_HOPS):
        if isinstance(type_, Qualified) and type_.word == "const":
            return True
        if not isinstance(type_, (Qualified, Typedef)):
            return False
        type_ = type_.target
    return False
