"""Which parts of a value differ from what they were: members of structures, elements of arrays and containers.

What was not recorded, on one side or both, is no difference: it is shown as not compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strobe.values.decode.shapes import TOO_MUCH, is_too_much
from strobe.values.model import Mapping, Problem, Record, Rows, Tuple

_MOST = 64
_NONE = Problem("<none>")
_NOT_COMPARED = Problem("<not compared>")


def differences(before: Any, after: Any, name: str) -> Mapping | Problem:
    """By path what a part was and what it is; by `name` where the value is one. A Problem where either is not known."""
    for value in (before, after):
        if isinstance(value, Problem):
            return value
    found = list(_parts(before, after, ""))
    rows = [(path.removeprefix(".") or name, Record("", {"old": old, "new": new})) for path, old, new in found[:_MOST]]
    return Mapping(rows, len(found))


def _parts(before: Any, after: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if is_too_much(before) or is_too_much(after):
        yield path, _NOT_COMPARED, _NOT_COMPARED
    elif isinstance(before, Record) and isinstance(after, Record) and dict(before).keys() == dict(after).keys():
        for name, value in before:
            yield from _parts(value, after[name], f"{path}.{name}")
    elif isinstance(before, Rows) and isinstance(after, Rows):
        yield from _elements(before, after, path)
        if before.total != after.total:
            yield f"{path}.size()", before.total, after.total
    elif isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _entries(before, after, path)
        if before.total != after.total:
            yield f"{path}.size()", before.total, after.total
    elif isinstance(before, Tuple) and isinstance(after, Tuple) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _parts(old, new, f"{path}.{index}")
    elif type(before) is not type(after) or before != after:
        yield path, before, after


def _elements(before: Rows, after: Rows, path: str) -> Iterator[tuple[str, Any, Any]]:
    read = [_read(before), _read(after)]
    for index in range(max(before.total, after.total)):
        old, new = (_element(one, index, many) for one, many in zip((before, after), read, strict=True))
        if is_too_much(old) or is_too_much(new):
            yield f"{path}[{index}..]", _NOT_COMPARED, _NOT_COMPARED
            return
        yield from _parts(old, new, f"{path}[{index}]")


def _read(rows: Rows) -> int:
    """How many elements come before what was not recorded."""
    return next((index for index, one in enumerate(rows) if is_too_much(one)), len(rows))


def _element(rows: Rows, index: int, read: int) -> Any:
    if index >= rows.total:
        return _NONE
    return rows[index] if index < read else TOO_MUCH


def _entries(before: Mapping, after: Mapping, path: str) -> Iterator[tuple[str, Any, Any]]:
    """By key. An entry that one side has not is new or gone only if all that this side has is known."""
    are_whole = [_is_whole(one) for one in (before, after)]
    for key in dict.fromkeys((*before, *after)):
        if is_too_much(key):
            continue
        if all(key in one or is_whole for one, is_whole in zip((before, after), are_whole, strict=True)):
            old, new = (one.get(key, _NONE) for one in (before, after))
            yield from _parts(old, new, f"{path}[{key!r}]" if isinstance(key, str) else f"{path}[{key}]")
    if not all(are_whole):
        yield f"{path}[..]", _NOT_COMPARED, _NOT_COMPARED


def _is_whole(entries: Mapping) -> bool:
    return entries.trouble is None and len(entries) == entries.total and not any(map(is_too_much, entries))
