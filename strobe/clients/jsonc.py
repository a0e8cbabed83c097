"""JSON with comments as text: one member is set or removed, and all else stays as it was written, byte for byte.

What is read: JSON, line and block comments, commas before closing brackets. Settings of editors are such files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from strobe.dataclass import dataclass

_BLANK = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.S)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.S)
_PLAIN = re.compile(r"[-+.\w]+")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|\s+|[,{}\[\]]|[^"/,\s{}\[\]]+|.', re.S)
_INDENT = "  "
_DEEPEST = 100


class NotJson(ValueError):
    """The text is not JSON with comments; the message says where."""


@dataclass(frozen=True, slots=True)
class _Member:
    """From the key's first character to behind the value; `value` is where that begins."""

    key: str
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class _Object:
    """`start`, `end`: at the brackets, the closing one included."""

    start: int
    end: int
    members: tuple[_Member, ...]

    def member(self, key: str) -> _Member | None:
        """The last one of that name, which counts."""
        return next((one for one in reversed(self.members) if one.key == key), None)


def with_member(text: str, path: Sequence[str], value: Any) -> str:
    """The text with `value` at `path`, a key within objects; those on the way are made where they are missing. Raises
    NotJson, also where something else than an object is on the way."""
    if not text[_blank(text, 0) :].strip():
        text = text + ("" if not text or text.endswith("\n") else "\n") + "{}\n"
    around, asked = _root(text), value
    for depth, key in enumerate(path):
        found = around.member(key)
        is_last = depth == len(path) - 1
        if found is None:
            for name in reversed(path[depth + 1 :]):
                value = {name: value}
            return _checked(text, _added(text, around, key, value, depth + 1), path, asked)
        if is_last:
            after = text[: found.value] + _written(value, depth + 1) + text[found.end :]
            return _checked(text, after, path, asked)
        around = _object(text, found)
    raise ValueError("an empty path")


def without_member(text: str, path: Sequence[str]) -> str:
    """The text without what is at `path`; as it was where there is nothing. Raises NotJson."""
    if not text[_blank(text, 0) :].strip():
        return text
    around = _root(text)
    for key in path[:-1]:
        found = around.member(key)
        if found is None:
            return text
        around = _object(text, found)
    last = around.member(path[-1])
    if last is None:
        return text
    index = around.members.index(last)
    if index + 1 < len(around.members):  # up to the next one, with the comma
        return _checked(text, text[: last.start] + text[around.members[index + 1].start :], path, None)
    start = around.members[index - 1].end if index else around.start + 1
    end = last.end
    behind = _blank(text, end)
    if text[behind] == ",":  # as behind each member of that file
        end = behind + 1
        start = _blank(text, start) + 1 if index else start
    return _checked(text, text[:start] + text[end:], path, None)


def value_at(text: str, path: Sequence[str]) -> Any:
    """The value at `path`, without its comments; None where there is none. Raises NotJson."""
    if not text[_blank(text, 0) :].strip():
        return None
    around = _root(text)
    for depth, key in enumerate(path):
        found = around.member(key)
        if found is None:
            return None
        if depth == len(path) - 1:
            return _parsed(text[found.value : found.end])
        around = _object(text, found)
    return None


def _added(text: str, around: _Object, key: str, value: Any, depth: int) -> str:
    member = f"{json.dumps(key)}: {_written(value, depth)}"
    margin = "\n" + _INDENT * depth
    if not around.members:
        inside = text[around.start + 1 : around.end - 1].rstrip()
        closing = "\n" + _INDENT * (depth - 1)
        return f"{text[: around.start + 1]}{inside}{margin}{member}{closing}{text[around.end - 1 :]}"
    last = around.members[-1].end
    behind = _blank(text, last)
    if text[behind] == ",":
        return f"{text[: behind + 1]}{margin}{member},{text[behind + 1 :]}"
    return f"{text[:last]},{margin}{member}{text[last:]}"


def _written(value: Any, depth: int) -> str:
    return json.dumps(value, indent=len(_INDENT), ensure_ascii=False).replace("\n", "\n" + _INDENT * depth)


def _root(text: str) -> _Object:
    start = _blank(text, 0)
    found, end = _value(text, start, 0)
    if found is None:
        raise _wrong(text, start, "an object is expected")
    if _blank(text, end) != len(text):
        raise _wrong(text, _blank(text, end), "nothing is expected here")
    return found


def _object(text: str, member: _Member) -> _Object:
    found, _ = _value(text, member.value, 0)
    if found is None:
        raise _wrong(text, member.value, f"'{member.key}' is not an object")
    return found


def _value(text: str, at: int, depth: int) -> tuple[_Object | None, int]:
    """An object, if it is one, and where the value ends."""
    if depth > _DEEPEST:
        raise _wrong(text, at, "it is too deep")
    mark = text[at : at + 1]
    if mark == "{":
        return _members(text, at, depth)
    if mark == "[":
        at = _blank(text, at + 1)
        while text[at : at + 1] != "]":
            _, at = _value(text, at, depth + 1)
            at = _behind_comma(text, at, "]")
        return None, at + 1
    found = _STRING.match(text, at) or _PLAIN.match(text, at)
    if found is None:
        raise _wrong(text, at, "a value is expected")
    return None, found.end()


def _members(text: str, start: int, depth: int) -> tuple[_Object, int]:
    members = []
    at = _blank(text, start + 1)
    while text[at : at + 1] != "}":
        key = _STRING.match(text, at)
        if key is None:
            raise _wrong(text, at, "a name in quotes is expected")
        colon = _blank(text, key.end())
        if text[colon : colon + 1] != ":":
            raise _wrong(text, colon, "':' is expected")
        value = _blank(text, colon + 1)
        _, end = _value(text, value, depth + 1)
        members.append(_Member(json.loads(key[0], strict=False), at, value, end))
        at = _behind_comma(text, end, "}")
    return _Object(start, at + 1, tuple(members)), at + 1


def _behind_comma(text: str, at: int, closing: str) -> int:
    at = _blank(text, at)
    if text[at : at + 1] == ",":
        return _blank(text, at + 1)
    if text[at : at + 1] != closing:
        raise _wrong(text, at, f"',' or '{closing}' is expected")
    return at


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _bare(text: str) -> str:
    """Without comments, and commas before closing brackets."""
    parts: list[str] = []
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token.isspace() or token.startswith(("//", "/*")):
            continue
        if token[0] in "}]" and parts and parts[-1] == ",":
            parts.pop()
        parts.append(token)
    return "".join(parts)


def _checked(before: str, after: str, path: Sequence[str], value: Any) -> str:
    """`after`, if all else in it means what it did, and `value` (None: nothing) is at the path."""
    expected, found = _parsed(before), _parsed(after)
    for one in (expected, found):
        for key in path[:-1]:
            one = one.setdefault(key, {})
        own = one.pop(path[-1], None)
    if expected != found or own != value:
        raise NotJson(f"'{path[-1]}' is written in a way that is not changed here")
    return after


def _parsed(text: str) -> Any:
    bare = _bare(text)
    try:
        return json.loads(bare, strict=False) if bare else {}
    except json.JSONDecodeError as error:
        raise NotJson(f"it is no JSON: {error.msg}") from error


def _wrong(text: str, at: int, reason: str) -> NotJson:
    line = text.count("\n", 0, at) + 1
    return NotJson(f"line {line}: {reason}")
