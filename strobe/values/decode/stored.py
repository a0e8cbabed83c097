"""Shapes as JSON and back: what was recorded is decoded when nobody has the program any more."""

from __future__ import annotations

import json
import sys
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from strobe.model import ValueKind, ValueType
from strobe.values.decode.shapes import Shape

_TYPE = "@"


def dump(shape: Shape) -> str:
    return json.dumps(_plain(shape), separators=(",", ":"))


def load(text: str) -> Shape:
    """Raises ValueError for what `dump` of this version cannot have made."""
    try:
        shape = _object(json.loads(text))
    except (KeyError, TypeError) as error:
        raise ValueError(f"no shape: {error}") from error
    if not isinstance(shape, Shape):
        raise ValueError("no shape")
    return shape


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        own = {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
        return {_TYPE: type(value).__name__, **own}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a shape with {type(value).__name__}")


def _object(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_object(item) for item in value)
    if not isinstance(value, dict):
        return value
    made = _known()[value[_TYPE]]
    own = {name: _object(item) for name, item in value.items() if name != _TYPE}
    if made is ValueType:
        own["kind"] = ValueKind(own["kind"])
    return made(**own)


@cache
def _known() -> dict[str, type]:
    """Classes of shapes, and of what they consist of, by name."""
    found: dict[str, type] = {"ValueType": ValueType}
    waiting: list[type] = [Shape]
    while waiting:
        shape = waiting.pop()
        waiting += shape.__subclasses__()
        found |= _dataclasses_of(shape.__module__)
    return found


def _dataclasses_of(module: str) -> dict[str, type]:
    own = vars(sys.modules[module]).values()
    return {item.__name__: item for item in own if isinstance(item, type) and is_dataclass(item)}
