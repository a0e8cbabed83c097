"""What a value is given as: members by name, a list of elements, or JSON text of these."""

from __future__ import annotations

import json
from typing import Any

from strobe.symbols.types.model import Record
from strobe.values.model import PointerTo
from strobe.values.model import Record as Fields


def as_object(value: Any) -> dict[str, Any] | None:
    """Members by name; None where it is nothing of that kind."""
    if isinstance(value, Fields):
        return dict(value)
    if isinstance(value, PointerTo) and isinstance(value.to, Fields):
        return dict(value.to)
    found: dict[str, Any] | None = value if isinstance(value, dict) else _parsed(value, "{", dict)
    return found if found is not None and all(isinstance(name, str) for name in found) else None


def as_tuple(record: Record, value: Any) -> dict[str, Any] | None:
    """All parts of a Rust tuple, by its fields."""
    elements = as_list(value)
    if elements is None or record.is_declaration or not record.parts.is_tuple:
        return None
    names = [field.name for field in record.parts.fields]
    return dict(zip(names, elements, strict=True)) if len(names) == len(elements) else None


def as_list(value: Any) -> list[Any] | None:
    """Elements; None where it is nothing of that kind."""
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
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, kind) else None
