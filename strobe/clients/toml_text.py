"""A table of a TOML file as text: set or removed, and all else stays as it was written."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"^[ \t]*\[", re.M)


class NotToml(ValueError):
    """The text is not TOML, or has the table in a way that is not changed here; the message says where."""


def with_table(text: str, path: Sequence[str], entry: Mapping[str, Any]) -> str:
    """The text with the table `path`, as `[mcp_servers.strobe]`, having these values; tables in it become inline ones.
    Raises NotToml."""
    table = f"[{'.'.join(path)}]\n" + "".join(f"{_key(key)} = {_written(value)}\n" for key, value in entry.items())
    found = _span(text, path)
    if found is not None:
        start, end = found
        return f"{text[:start]}{table}{_gap(text, end)}{text[end:]}"
    if table_at(text, path) is not None:
        raise NotToml(f"'{'.'.join(path)}' is there in another form than a table of its own")
    gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
    return f"{text}{gap}{table}"


def without_table(text: str, path: Sequence[str]) -> str:
    """The text without that table; as it was where there is none. Raises NotToml."""
    found = _span(text, path)
    if found is None:
        if table_at(text, path) is not None:
            raise NotToml(f"'{'.'.join(path)}' is there in another form than a table of its own")
        return text
    start, end = found
    before = text[:start].rstrip("\n")
    return (before + "\n" if before else "") + (("\n" + text[end:]) if text[end:] and before else text[end:])


def table_at(text: str, path: Sequence[str]) -> Any:
    """What is there; None where there is nothing. Raises NotToml."""
    try:
        found: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotToml(str(error)) from error
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_written(one)}' for key, one in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return json.dumps(value) if isinstance(value, (str, bool)) else str(value)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name)


def _span(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """From the table's header up to the next table that is none of its own. Raises NotToml."""
    if table_at(text, path) is None:
        return None
    name = r"[ \t]*\.[ \t]*".join(f'(?:{re.escape(key)}|"{re.escape(key)}")' for key in path)
    header = re.search(rf"^[ \t]*\[[ \t]*{name}[ \t]*\]", text, re.M)
    if header is None:
        return None
    own = re.compile(rf"[ \t]*\[[ \t]*{name}[ \t]*\.")  # [mcp_servers.strobe.env]
    at = header.end()
    while (following := _HEADER.search(text, at)) is not None:
        if not own.match(text, following.start()):
            return header.start(), following.start()
        at = following.end()
    return header.start(), len(text)


def _gap(text: str, end: int) -> str:
    return "\n" if end < len(text) else ""
