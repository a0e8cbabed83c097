"""What a tool answers with, in the form that every client shows to its model: small, and safe in JavaScript."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson

from strobe.limits import WARNING_CHARACTERS, WARNINGS

if TYPE_CHECKING:
    from strobe.mcp.redaction import Redaction

# Codex keeps 14 KB of a result and Claude Code moves 50 KB to a file: under these nothing is cut behind our back.
ASKED_BYTES = 48_000

NO_TEXT = "(no text: "  # begins what `readable` says
_LONG_CHARACTERS = 400
_CONTROLS = "\t\n\r\f\v\a\b\x1b"
_STRANGE = 8  # one of so many characters that are none makes it no text
_TEMPLATE_ARGUMENTS = re.compile(r"(?<!operator)<[^<>]*(?<!-)>")
_MAX_EXACT = 1 << 53  # beyond it, a JavaScript client rounds


def success(answer: dict[str, Any], redaction: Redaction | None = None, group_by: object = ()) -> dict[str, Any]:
    """A tool's result. The answer stands in both fields, because clients show the model only one of them. `group_by`:
    as Redaction.answer has it."""
    shown = plain(answer)
    encoded = orjson.dumps(shown)
    if redaction is not None and (group_by or redaction.is_marked(encoded)):
        shown = redaction.answer(shown, group_by)
        encoded = orjson.dumps(shown)
    return {"content": [{"type": "text", "text": encoded.decode()}], "structuredContent": shown, "isError": False}


def failed(text: str) -> dict[str, Any]:
    """A tool's failure; `text` begins with the code. Without structuredContent, which would hide it."""
    return {"content": [{"type": "text", "text": _text(text)}], "isError": True}


def encode(value: Any) -> str:
    """Compact JSON."""
    return orjson.dumps(value).decode()


def fitting(items: Sequence[Any], budget_bytes: int) -> int:
    """How many of the first `items` fit into a JSON array of `budget_bytes`; at least one, so that paging goes on."""
    used = 2
    for count, item in enumerate(items):
        used += len(orjson.dumps(plain(item))) + 1
        if used > budget_bytes:
            return max(count, 1)
    return len(items)


def clipped(text: str, limit: int) -> str:
    """`text`, or its first `limit` characters and how many were left out."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… [{len(text) - limit} more characters]"


def clipped_value(value: Any, most: int) -> Any:
    """The value, or where its JSON is longer than `most` characters the first ones of it on one line, as a text."""
    return value if len(encode(plain(value))) <= most else clipped(one_line(value), most)


def one_line(value: Any) -> str:
    """A value of JSON as C would write it, without the quotes that JSON within JSON has: `0x55… -> {used = 2}`."""
    if isinstance(value, dict):
        if set(value) == {"pointer", "to"}:
            return f"{value['pointer']} -> {one_line(value['to'])}"
        return "{" + ", ".join(f"{name} = {one_line(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(one_line, value)) + "]"
    return value if isinstance(value, str) else encode(plain(value))


def readable(text: str) -> str:
    """Output as it is; of what is no text only how much it is."""
    strange = sum(letter == "\ufffd" or (letter < " " and letter not in _CONTROLS) for letter in text)
    return text if strange * _STRANGE < len(text) or not strange else f"{NO_TEXT}some {len(text):,} bytes)"


def bounded(warnings: list[str]) -> list[str]:
    """As many as fit, up to WARNINGS, and how many more there are. None is cut: template arguments of a long one go."""
    shown: list[str] = []
    left = WARNING_CHARACTERS
    for text in map(shortened, warnings):
        if len(text) <= left and len(shown) < WARNINGS:
            shown.append(text)
            left -= len(text)
    left_out = len(warnings) - len(shown)
    return [*shown, f"… and {left_out} more"] if left_out else shown


def shortened(warning: str, most: int = _LONG_CHARACTERS) -> str:
    """`Map<…>::find` for a text that is longer."""
    if len(warning) <= most:
        return warning
    before = ""
    while before != warning:  # the innermost ones first
        before, warning = warning, _TEMPLATE_ARGUMENTS.sub("\0", warning)
    return warning.replace("\0", "<…>")


def plain(value: Any) -> Any:
    """As every client reads it: without numbers that JavaScript rounds, infinities and lone surrogates."""
    if isinstance(value, dict):
        return {_text(str(name)): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int) and abs(value) > _MAX_EXACT:
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _text(text: str) -> str:
    """Without the lone surrogates by which Python stands for undecodable bytes, and which JSON cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
