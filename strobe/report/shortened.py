"""Values in which what says nothing is shown once: elements that are equal, structures of zeros."""

from __future__ import annotations

from typing import Any

from strobe.values.decode import text
from strobe.values.model import Char, Pairs, PointerTo, Problem, Record, Rows, Shown, Variant

_RUN = 4  # equal elements, from which on they stand once
_LEAST_FIELDS = 3  # of a structure that is shown as empty


def shortened(value: Shown, is_outermost: bool = True) -> Shown:
    """`[0 x 40]` for equal elements, `{all 0}` for an empty structure within another."""
    match value:
        case Variant() | Pairs():
            return value
        case Record():
            fields = dict(value.written())
            if not is_outermost and len(fields) >= _LEAST_FIELDS and all(map(_is_empty, fields.values())):
                return Problem("{all 0}")
            return Record(value._type_name, {name: shortened(one, False) for name, one in fields.items()})
        case PointerTo() if value.to is not None:
            return type(value)(value.address, value.symbol, shortened(value.to))
        case list():
            elements = list(value)
            found = _runs(elements)
            if not isinstance(value, Rows) or not _is_cut(value) or isinstance(elements[-1], Problem):
                return Rows(found, len(found))
            if len(found) == len(elements):
                return Rows(found, value.total)
            return Rows([*found, Problem(f"… {value.total} in all")], len(found) + 1)
    return value


def _runs(elements: list[Any]) -> list[Any]:
    found: list[Any] = []
    at = 0
    while at < len(elements):
        shown = text.shown(elements[at])
        end = at + 1
        while end < len(elements) and text.shown(elements[end]) == shown:
            end += 1
        own = shortened(elements[at], False)
        found += [Problem(f"{text.shown(own)} x {end - at}")] if end - at >= _RUN else [own] * (end - at)
        at = end
    return found


def _is_cut(value: list[Any]) -> bool:
    return isinstance(value, Rows) and value.total > len(value)


def _is_empty(value: Shown) -> bool:
    match value:
        case Variant():  # Some(0) is not None
            return False
        case Record():
            return all(_is_empty(one) for _, one in value.written())
        case list():
            return not _is_cut(value) and all(map(_is_empty, value))
        case PointerTo():
            return value.address == 0
        case Char():
            return value.code == 0
        case bool():
            return not value
        case int() | float():
            return value == 0
        case str():
            return value == ""
    return value is None
