"""`arg('this->m_count')` and `probe('cents')` in SQL: parts of the JSON that columns of the view have."""

from __future__ import annotations

import json
import re
from typing import Any

import apsw

_COLUMNS = {"arg": "all_arguments", "probe": "watch_values"}
_ONE_ARGUMENT = re.compile(r"\b(arg|probe)\s*\(\s*('(?:[^']|'')*')\s*\)", re.IGNORECASE)
_STEPS = re.compile(r"->|\.|\[(\d+)\]")


def with_columns(statement: str) -> str:
    """The statement, in which these functions are told which column they are of. With several `events` they are called
    with it: `arg(e.all_arguments, 'cents')`."""
    return _ONE_ARGUMENT.sub(lambda found: f"{found[1]}({_COLUMNS[found[1].lower()]}, {found[2]})", statement)


def create_functions(connection: apsw.Connection) -> None:
    """`arg` and `probe`."""

    def part_of(*given: Any) -> Any:
        return part(*given)

    for name in _COLUMNS:
        connection.create_scalar_function(name, part_of, 2, deterministic=True)


def part(values: Any, path: Any) -> Any:
    """Of a JSON object the value that is called so, or that the path leads to; structures as JSON; None where there is
    none. `->` and `.` both follow pointers that were followed when they were recorded."""
    if values is None or path is None:
        return None
    found = json.loads(values)
    if path in found:
        return _shown(found[path])
    at = 0
    for step in [*_STEPS.finditer(path), None]:
        name = path[at : len(path) if step is None else step.start()]
        if name:
            found = _target(found).get(name) if isinstance(_target(found), dict) else None
        if step is not None and step[1] is not None:
            found = _element(_target(found), int(step[1]))
        at = len(path) if step is None else step.end()
    return _shown(found)


def _target(value: Any) -> Any:
    """What a pointer leads to, the elements of an array that was cut; else the value."""
    if isinstance(value, dict) and "pointer" in value and "to" in value:
        return value["to"]
    return value["elements"] if isinstance(value, dict) and value.keys() == {"count", "elements"} else value


def _element(value: Any, index: int) -> Any:
    return value[index] if isinstance(value, list) and index < len(value) else None


def _shown(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"pointer", "to"}:
        return value["pointer"]
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    # SQLite's integers end at 2^63 - 1
    return str(value) if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63 else value
