"""Classes that every program has and that its debug information may only declare: std::string of libstdc++.

clang leaves out classes whose instance is promised by another unit (`extern template`); that unit is in libstdc++,
which has no debug information as a rule. Their layout is part of the library's ABI, and has not changed since GCC 5.
"""

from __future__ import annotations

from contextlib import nullcontext

from strobe.symbols.later import Later
from strobe.symbols.types.model import (
    Array,
    Dimension,
    Encoding,
    Field,
    Pointer,
    Record,
    RecordHead,
    RecordParts,
    Scalar,
    TemplateParameter,
    Type,
)

_STRING = "std::__cxx11::basic_string<"
_CHARACTERS = {
    "char": (1, Encoding.SIGNED_CHAR),
    "wchar_t": (4, Encoding.SIGNED),
    "char8_t": (1, Encoding.UTF),
    "char16_t": (2, Encoding.UTF),
    "char32_t": (4, Encoding.UTF),
}
_BYTES = 32
_LOCAL_BYTES = 16
_SIZE = Scalar("unsigned long", 8, None, Encoding.UNSIGNED, None)


def known_record(name: str) -> tuple[RecordHead, RecordParts] | None:
    """What a declared class of that name is; None for all that is not known."""
    character = name.removeprefix(_STRING).partition(",")[0].rstrip("> ") if name.startswith(_STRING) else ""
    if character not in _CHARACTERS or not name.endswith(">"):
        return None
    size, encoding = _CHARACTERS[character]
    return RecordHead(_BYTES, 8), _string(Scalar(character, size, None, encoding, None), size)


def _string(character: Scalar, size: int) -> RecordParts:
    pointer = Pointer("", 8, None, _later(character))
    holder = _record("std::__cxx11::basic_string<>::_Alloc_hider", "struct", 8, (_field("_M_p", pointer, 0),))
    count = Dimension(_LOCAL_BYTES // size)
    local = Array("", None, None, _later(character), (count,), None, False)
    fields = (_field("_M_local_buf", local, 0), _field("_M_allocated_capacity", _SIZE, 0))
    room = _record("", "union", _LOCAL_BYTES, fields)
    return RecordParts(
        (_field("_M_dataplus", holder, 0), _field("_M_string_length", _SIZE, 8), _field("", room, 16)),
        template_parameters=(TemplateParameter("_CharT", _later(character), True),),
    )


def _record(name: str, kind: str, size: int, fields: tuple[Field, ...]) -> Record:
    head, parts = RecordHead(size, 8), RecordParts(fields)
    return Record(name, None, None, kind, Later(lambda: head, nullcontext()), Later(lambda: parts, nullcontext()))


def _field(name: str, type_: Type, offset: int) -> Field:
    return Field(name, _later(type_), 8 * offset)


def _later(type_: Type) -> Later[Type]:
    return Later(lambda: type_, nullcontext())
