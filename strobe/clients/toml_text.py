"""A table of a TOML file as text: set or removed, and all else stays as it was written.

Headers and keys are distinguished from what looks like them within texts and arrays of several lines, and each result
is read again: one that means anything else than was wanted is not given out.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from strobe.dataclass import dataclass, field

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}]|\n|[^"\'#\[\]{}\n]+',
    re.S,
)
_ONE_PART = re.compile(r'[ \t]*(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\')[ \t]*=')  # a = 1, not a.b = 1

Path = tuple[str, ...]


class NotToml(ValueError):
    """The text is not TOML, or has the table in a way that is not changed here; the message says where."""


@dataclass(slots=True)
class _Table:
    """From its header's line on; `end`: behind its last line that is no comment. `keys`: those of one part, with their
    lines."""

    path: Path
    start: int
    end: int
    is_array: bool = False
    keys: dict[str, tuple[int, int]] = field(default_factory=dict)


def with_table(text: str, path: Sequence[str], entry: Mapping[str, Any]) -> str:
    """The text in which the table `path`, as `[mcp_servers.strobe]`, has these values, and what else it has as it is;
    tables among the values are inline ones. Raises NotToml."""
    known = table_at(text, path)
    if not isinstance(known, dict | None):
        raise _otherwise(path)
    wanted = {**(known or {}), **entry}
    if known is None:
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        lines = "".join(f"{_key(key)} = {_written(value)}\n" for key, value in entry.items())
        after = f"{text}{gap}[{'.'.join(map(_key, path))}]\n{lines}"
    else:
        after = text
        for key, value in entry.items():
            if known.get(key) != value:
                after = _with_key(after, path, key, f"{_key(key)} = {_written(value)}\n")
    return _checked(text, after, path, wanted)


def without_table(text: str, path: Sequence[str]) -> str:
    """The text without that table; as it was where there is none. Raises NotToml."""
    if table_at(text, path) is None:
        return text
    own = _own_tables(text, path)
    before, behind = text[: own[0].start].rstrip("\r\n"), text[own[-1].end :].lstrip("\r\n")
    after = before + ("\n" if before else "") + ("\n" if before and behind else "") + behind
    return _checked(text, after, path, None)


def table_at(text: str, path: Sequence[str]) -> Any:
    """What is there; None where there is nothing. Raises NotToml."""
    found = _read(text)
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _read(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotToml(str(error)) from error


def _with_key(text: str, path: Sequence[str], key: str, line: str) -> str:
    table = _own_tables(text, path)[0]
    start, end = table.keys.get(key, (table.end, table.end))
    gap = "" if text[:start].endswith("\n") else "\n"
    return f"{text[:start]}{gap}{line}{text[end:]}"


def _own_tables(text: str, path: Sequence[str]) -> list[_Table]:
    """The table and those in it, which follow it. Raises NotToml where they lie otherwise."""
    whole = tuple(path)
    tables = list(_tables(text))
    own = [index for index, table in enumerate(tables) if table.path[: len(whole)] == whole]
    is_one = bool(own) and own == list(range(own[0], own[-1] + 1))
    if not is_one or tables[own[0]].path != whole or tables[own[0]].is_array:
        raise _otherwise(path)
    return [tables[index] for index in own]


def _otherwise(path: Sequence[str]) -> NotToml:
    return NotToml(f"'{'.'.join(path)}' is there in another form than a table of its own")


def _tables(text: str) -> Iterator[_Table]:
    """Of a text that is TOML."""
    table = _Table((), 0, 0)
    for start, end in _statements(text):
        line = text[start:end]
        if line.lstrip().startswith("["):
            yield table
            path, is_array = _path(tomllib.loads(line))
            table = _Table(path, start, end, is_array)
        else:
            path, _ = _path(tomllib.loads(line))
            table.end = end
            if _ONE_PART.match(line):
                table.keys[path[0]] = (start, end)
    yield table


def _path(found: Any) -> tuple[Path, bool]:
    """The names on the way to the first value; whether a list lies on it."""
    path, is_array = [], False
    while isinstance(found, (dict, list)) and found:
        if isinstance(found, list):
            found, is_array = found[0], True
            continue
        name, found = next(iter(found.items()))
        path.append(name)
    return tuple(path), is_array


def _statements(text: str) -> Iterator[tuple[int, int]]:
    """Headers and keys with their values, whole lines of each; no comments between them."""
    start, depth, is_empty, at = 0, 0, True, 0
    for token in _TOKEN.finditer(text):
        at = token.end()
        mark = token[0]
        if mark == "\n" and depth == 0:
            if not is_empty:
                yield start, at
            start, is_empty = at, True
        elif not mark.startswith("#") and mark.strip():
            is_empty = False
            depth += (mark in ("[", "{")) - (mark in ("]", "}"))
    if not is_empty:
        yield start, at


def _checked(before: str, after: str, path: Sequence[str], wanted: Any) -> str:
    """`after`, if it means what is wanted."""
    expected = copy.deepcopy(_read(before))
    _set(expected, path, wanted)
    found = _read(after)
    if wanted is None:  # tables on the way may be there because of it alone
        for one in (expected, found):
            _set(one, path, None)
    if found != expected:
        raise NotToml(f"'{'.'.join(path)}' is written in a way that is not changed here")
    return after


def _set(found: Any, path: Sequence[str], wanted: Any) -> None:
    around = [found]
    for key in path[:-1]:
        around.append(around[-1].setdefault(key, {}))
    if wanted is not None:
        around[-1][path[-1]] = wanted
        return
    around[-1].pop(path[-1], None)
    for key, one in zip(path[-2::-1], around[-2::-1], strict=True):
        if not one[key]:
            del one[key]


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_written(one)}' for key, one in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(value: str) -> str:
    """JSON's form of a text is TOML's, but for DEL; and letters beyond 16 bits stay what they are."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)
