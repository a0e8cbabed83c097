"""A function's parameters and return type as JSON, the form in which strobe.db keeps them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from strobe.model import Parameter, ValueKind, ValueType


def dump_type(value: ValueType | None) -> str | None:
    return None if value is None else json.dumps(_type_fields(value), separators=(",", ":"))


def load_type(text: str | None) -> ValueType | None:
    return None if text is None else _type_of(json.loads(text))


def dump_parameters(parameters: Sequence[Parameter] | None) -> str | None:
    if parameters is None:
        return None
    rows = [{"name": item.name, "register": item.register, "type": _type_fields(item.type)} for item in parameters]
    return json.dumps(rows, separators=(",", ":"))


def load_parameters(text: str | None) -> tuple[Parameter, ...] | None:
    if text is None:
        return None
    return tuple(Parameter(row["name"], _type_of(row["type"]), row["register"]) for row in json.loads(text))


def _type_fields(value: ValueType) -> dict[str, object]:
    row: dict[str, object] = {"kind": value.kind.value, "size": value.size, "name": value.name}
    if value.enumerators:
        row["enumerators"] = value.enumerators
    return row


def _type_of(row: dict[str, object]) -> ValueType:
    enumerators = row.get("enumerators", [])
    assert isinstance(enumerators, list)
    pairs = tuple((int(number), str(name)) for number, name in enumerators)
    return ValueType(ValueKind(str(row["kind"])), int(str(row["size"])), str(row["name"]), pairs)
