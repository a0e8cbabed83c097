"""Which parts of a value differ from what they were: members of structures, elements of arrays and containers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strobe.values.model import Mapping, Problem, Record, Rows, Tuple

_MOST = 64


def differences(before: Any, after: Any, name: str) -> Mapping | Problem:
    """By path what a part was and what it is; by `name` where the value is one. A Problem where either is not known."""
    for value in (before, after):
        if isinstance(value, Problem):
            return value
    found = list(_parts(before, after, ""))
    rows = [(path.removeprefix(".") or name, Record("", {"old": old, "new": new})) for path, old, new in found[:_MOST]]
    return Mapping(rows, len(found))


def _parts(before: Any, after: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(before, Record) and isinstance(after, Record) and dict(before).keys() == dict(after).keys():
        for name, value in before:
            yield from _parts(value, after[name], f"{path}.{name}")
    elif isinstance(before, Rows) and isinstance(after, Rows):
        yield from _elements(list(before), list(after), path)
        if before.total != after.total:
            yield f"{path}.size()", before.total, after.total
        elif before.total > len(before):
            yield f"{path}[{len(before)}..]", Problem("<not compared>"), Problem("<not compared>")
    elif isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys((*before, *after)):
            old, new = (one.get(key, Problem("<none>")) for one in (before, after))
            yield from _parts(old, new, f"{path}[{key!r}]" if isinstance(key, str) else f"{path}[{key}]")
        if before.total != after.total:
            yield f"{path}.size()", before.total, after.total
    elif isinstance(before, Tuple) and isinstance(after, Tuple) and len(before) == len(after):
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _parts(old, new, f"{path}.{place}")
    elif type(before) is not type(after) or before != after:
        yield path, before, after


def _elements(before: list[Any], after: list[Any], path: str) -> Iterator[tuple[str, Any, Any]]:
    for place in range(max(len(before), len(after))):
        old, new = (one[place] if place < len(one) else Problem("<none>") for one in (before, after))
        yield from _parts(old, new, f"{path}[{place}]")
