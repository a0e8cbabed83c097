"""The words of an expression: numbers, texts, names and marks, with their positions."""

from __future__ import annotations

import re
from typing import Literal

from strobe.dataclass import dataclass
from strobe.expressions.syntax import ExpressionError

Kind = Literal["number", "text", "character", "name", "label", "mark", "end"]
MARKS = (
    *("<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "->", "..", "::"),
    *"+-*/%&|^~!<>=?:().,[]",
)
_NAME = re.compile(r"\$?[^\W\d]\w*(?:::~?[^\W\d]\w*)*|\$")
_NUMBER = re.compile(
    r"0[xX](?P<hex>[0-9a-fA-F](?:['_]?[0-9a-fA-F])*)|0[bB](?P<binary>[01](?:['_]?[01])*)"
    r"|(?P<float>(?:\d+(?:['_]\d+)*)?\.\d+(?:[eE][+-]?\d+)?|\d+\.(?![.\w])|\d+(?:\.\d+)?[eE][+-]?\d+)"
    r"|(?P<decimal>\d+(?:['_]\d+)*)"
)
_SUFFIX = re.compile(r"[A-Za-z_]\w*")
_INTEGER_SUFFIXES = {"u", "l", "ul", "lu", "ll", "ull", "llu", "z", "uz", "zu"} | {
    f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64, "size")
}
_FLOAT_SUFFIXES = {"f", "l", "f32", "f64"}
_ESCAPES = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11, "e": 27, "\\": 92, "'": 39, '"': 34, "?": 63}
_HEX_ESCAPE = re.compile(r"x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})")


@dataclass(frozen=True, slots=True)
class Token:
    """One token, from `at` to before `end` in the text."""

    kind: Kind
    value: str | int | float
    at: int
    end: int


def tokens(text: str) -> list[Token]:
    """All of them, "end" last. Raises ExpressionError."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        found.append(_token(text, at))
        at = found[-1].end
    found.append(Token("end", "", len(text), len(text)))
    return found


def _token(text: str, at: int) -> Token:
    letter = text[at]
    if letter in "\"'":
        return _quoted(text, at, letter)
    if letter == "`":
        end = text.find("`", at + 1)
        if end < 0:
            raise ExpressionError(at, "the label of a watch does not end", "a second ` at its end")
        return Token("label", text[at + 1 : end], at, end + 1)
    if number := _NUMBER.match(text, at):
        return _number(text, at, number)
    if name := _NAME.match(text, at):
        if name[0] == "$":
            raise ExpressionError(at, "a name is missing after $", "$return, $thread, $time …")
        return Token("name", name[0], at, name.end())
    for mark in MARKS:
        if text.startswith(mark, at):
            return Token("mark", mark, at, at + len(mark))
    raise ExpressionError(at, f"unexpected character '{letter}'")


def _number(text: str, at: int, found: re.Match[str]) -> Token:
    end = found.end()
    suffix = _SUFFIX.match(text, end)
    word = "" if suffix is None else suffix[0].lower().lstrip("_")
    is_float = found["float"] is not None or word in ("f", "f32", "f64")
    allowed = _FLOAT_SUFFIXES if is_float else _INTEGER_SUFFIXES
    if word and word not in allowed:
        raise ExpressionError(end, f"'{suffix[0] if suffix else ''}' is not a suffix of a number", length=len(word))
    digits = re.sub("['_]", "", found[0])
    if suffix is not None:
        end = suffix.end()
    if is_float:
        return Token("number", float(digits), at, end)
    return Token("number", _integer(digits, at), at, end)


def _integer(digits: str, at: int) -> int:
    if len(digits) > 1 and digits.isdecimal() and digits[0] == "0":
        try:
            return int(digits, 8)
        except ValueError:
            raise ExpressionError(at, f"'{digits}' is not an octal number", digits.lstrip("0"), len(digits)) from None
    value = int(digits, 0)
    if value >= 1 << 128:
        raise ExpressionError(at, "the number has more than 128 bits", length=len(digits))
    return value


def _quoted(text: str, at: int, mark: str) -> Token:
    """In double quotes a text; in single ones a character, or a text where there are several."""
    letters: list[str] = []
    end = at + 1
    while end < len(text) and text[end] != mark:
        if text[end] == "\\":
            letter, end = _escape(text, end)
            letters.append(letter)
        else:
            letters.append(text[end])
            end += 1
    if end >= len(text):
        raise ExpressionError(at, "the text does not end", f"a second {mark} at its end")
    is_character = mark == "'" and len(letters) == 1
    return Token("character" if is_character else "text", "".join(letters), at, end + 1)


def _escape(text: str, at: int) -> tuple[str, int]:
    if found := _HEX_ESCAPE.match(text, at + 1):
        digits, base = (found[4], 8) if found[4] else (found[1] or found[2] or found[3], 16)
        code = int(digits, base)
        if code >= 0x110000:
            raise ExpressionError(at, "there is no such character", length=len(digits) + 2)
        return chr(code), found.end()
    letter = text[at + 1 : at + 2]
    if letter not in _ESCAPES:
        raise ExpressionError(at, f"'\\{letter}' is not an escape sequence", "\\n, \\t, \\\\, \\x41 …", 2)
    return chr(_ESCAPES[letter]), at + 2
