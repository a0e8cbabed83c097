"""A function's parameters and return type as JSON, the form in which strobe.db keeps them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from strobe.model import Capture, CaptureKind, Parameter, ValueKind, ValueType

_KEPT = 1 << 10  # of thousands of functions many have the same parameters


@lru_cache(maxsize=_KEPT)
def dump_returns(value: ValueType | None, captures: tuple[Capture, ...]) -> str | None:
    """A function's result type and captures as the store keeps them; None where the type is not known."""
    if value is None:
        return None
    row = _type_fields(value) | {"captures": [_capture_fields(item) for item in captures]}
    return json.dumps(row, separators=(",", ":"))


def load_returns(text: str | None) -> tuple[ValueType | None, tuple[Capture, ...]]:
    """What `dump_returns` made."""
    if text is None:
        return None, ()
    row = json.loads(text)
    return _type_of(row), _captures_of(row)


def dump_parameters(parameters: Sequence[Parameter] | None) -> str | None:
    """A function's parameters as the store keeps them; None where they are not known."""
    if parameters is None:
        return None
    return f"[{','.join(map(_parameter_text, parameters))}]"


def load_parameters(text: str | None) -> tuple[Parameter, ...] | None:
    """What `dump_parameters` made."""
    if text is None:
        return None
    return tuple(
        Parameter(row["name"], _type_of(row["type"]), row["register"], _captures_of(row)) for row in json.loads(text)
    )


@lru_cache(maxsize=_KEPT)
def _parameter_text(item: Parameter) -> str:
    captures = [_capture_fields(capture) for capture in item.captures]
    row = {"name": item.name, "register": item.register, "type": _type_fields(item.type), "captures": captures}
    return json.dumps(row, separators=(",", ":"))


def _capture_fields(item: Capture) -> list[int]:
    return [item.source, item.kind.value, item.second, item.offset, item.other, item.text_words]


def _captures_of(row: dict[str, Any]) -> tuple[Capture, ...]:
    return tuple(Capture(source, CaptureKind(kind), *rest) for source, kind, *rest in row.get("captures", ()))


def _type_fields(value: ValueType) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": value.kind.value, "size": value.size, "name": value.name}
    if value.enumerators:
        row["enumerators"] = value.enumerators
    if value.members:
        row["members"] = [(name, offset, _type_fields(member)) for name, offset, member in value.members]
    if value.is_flags:
        row["flags"] = True
    if value.bits is not None:
        row["bits"] = value.bits
    if value.is_unsigned:
        row["unsigned"] = True
    return row


def _type_of(row: dict[str, Any]) -> ValueType:
    enumerators = tuple((int(number), str(name)) for number, name in row.get("enumerators", ()))
    members = tuple((str(name), int(offset), _type_of(member)) for name, offset, member in row.get("members", ()))
    first, count = row.get("bits", (0, 0))
    bits = (int(first), int(count)) if count else None
    marks = (bool(row.get("flags", False)), bits, bool(row.get("unsigned", False)))
    return ValueType(ValueKind(row["kind"]), row["size"], row["name"], enumerators, members, *marks)
