"""Types as JSON: what docs/symbols.md says of the key `types`."""

from __future__ import annotations

from typing import Any

from strobe.cli.symbols.subject import Subject
from strobe.cli.symbols.types import KINDS, TypeAnswer
from strobe.symbols.types.model import (
    Array,
    Enum,
    Field,
    Pointer,
    Record,
    RecordParts,
    Reference,
    Scalar,
    Type,
    Typedef,
    Variant,
)
from strobe.symbols.types.text import layout


def type_json(subject: Subject, answer: TypeAnswer) -> dict[str, Any]:
    """Types with their layout (offsets and sizes in bytes), and the names that a pattern lists."""
    with subject.reading(f"'{answer.asked}'"):
        found = [_described(type_) | {"layout": layout(type_)} for type_ in answer.types]
    listed = [{"name": row.name, "kind": KINDS.get(row.tag, "type")} for row in answer.rows]
    return {"asked": answer.asked, "found": found + listed}


def _described(type_: Type) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": type_.name, "kind": _kind(type_), "size": type_.size}
    if type_.alignment is not None:
        facts["alignment"] = type_.alignment
    if isinstance(type_, Typedef):
        facts["target"] = type_.target.name
        return facts | ({} if type_.bare is type_.target else {"bare": type_.bare.name})
    if isinstance(type_, Record):
        return facts | _record(type_.parts)
    if isinstance(type_, Enum):
        facts["underlying"] = None if type_.underlying is None else type_.underlying.name
        facts["enumerators"] = [{"name": one.name, "value": one.value} for one in type_.enumerators]
    if isinstance(type_, (Pointer, Reference)):
        facts["target"] = type_.target.name
    if isinstance(type_, Array):
        facts["element"], facts["count"] = type_.element.name, type_.count
    if isinstance(type_, Scalar):
        facts["encoding"] = type_.encoding.value
    return facts


def _kind(type_: Type) -> str:
    if isinstance(type_, Record):
        return type_.kind
    kinds = {Typedef: "typedef", Enum: "enum", Scalar: "base type", Pointer: "pointer", Reference: "reference"}
    return next((kind for known, kind in kinds.items() if isinstance(type_, known)), type(type_).__name__.lower())


def _record(parts: RecordParts) -> dict[str, Any]:
    facts: dict[str, Any] = {"fields": [_field(one) for one in parts.fields]}
    if parts.bases:
        facts["bases"] = [
            {"type": one.type.name, "offset": one.offset, "isVirtual": one.is_virtual, "access": one.access}
            for one in parts.bases
        ]
    if parts.statics:
        facts["statics"] = [{"name": one.name, "type": one.type.name} for one in parts.statics]
    if parts.template_parameters:
        facts["templateArguments"] = [
            {"name": one.name, "type": one.type.name, "value": _value(one.value)} for one in parts.template_parameters
        ]
    if parts.variants is not None:
        part = parts.variants
        facts["discriminant"] = None if part.discriminant is None else _field(part.discriminant)
        facts["variants"] = [_variant(one) for one in part.variants]
    return facts


def _field(one: Field) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": one.name,
        "type": one.type.name,
        "offset": one.offset,
        "size": one.type.size,
        "access": one.access,
    }
    if one.bit_size is not None:
        facts |= {"bitOffset": one.bit_offset, "bitSize": one.bit_size}
    if isinstance(one.type, Record) and not one.type.own_name:  # nothing else will ever describe it
        facts |= _record(one.type.parts)
    return facts


def _variant(one: Variant) -> dict[str, Any]:
    payload = None if one.field is None else _field(one.field)
    return {"name": one.name, "values": [list(pair) for pair in one.values], "payload": payload}


def _value(value: float | bytes | None) -> float | str | None:
    return value.hex() if isinstance(value, bytes) else value
