"""What Rust's `{:?}` writes, and values of ours, in one form that tests compare.

numbers, bools: as they are; a text: ("text", "abc"); a character: ("char", "a"); a list, a set and a tuple: [...];
a map: {"map": [[key, value], ...]}; a struct or variant: ("Name", its fields by name, or a list); a unit: ("Name",).
Cells, locks and Cow are what is in them.
"""

from __future__ import annotations

import re
from typing import Any

from strobe.model import Enumerator, Text
from strobe.values.model import Char, Pairs, PointerTo, Problem, Record, Tuple, Variant

_TOKEN = re.compile(
    r"\s*(?:(?P<text>\"(?:[^\"\\]|\\.)*\")|(?P<char>'(?:[^'\\]|\\[^u]|\\u\{\w+\})')"
    r"|(?P<range>-?\d+\.\.=?-?\d+)|(?P<time>\d+(?:\.\d+)?(?:ns|µs|ms|s)\b)|(?P<number>-?(?:\d[\d.]*(?:e-?\d+)?|inf|NaN)\b)"
    r"|(?P<word><\w+>|[A-Za-z_]\w*(?:::\w+)*(?:<[\w:<>, ]*>)?)|(?P<mark>\.\.|[\[\](){},:]))"
)
_ESCAPE = re.compile(r"\\(?:u\{(\w+)\}|(.))")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_ENDS = {"[": "]", "(": ")", "{": "}"}
# What shows as the one field named: Debug's names of it.
_WRAPPERS = {"Cell": "value", "RefCell": "value", "Mutex": "data", "RwLock": "data", "ManuallyDrop": "value"}
_TUPLE_WRAPPERS = ("MaybeDangling", "OnceLock")


def of_debug(text: str) -> Any:
    """What `{:?}` has written."""
    return _Parser(text).whole()


def of_ours(value: Any) -> Any:
    """A value that Strobe has read; pointers are what they point to."""
    match value:
        case bool() | int() | float():
            return value
        case Char():
            return ("char", str(value))
        case Text():
            return ("text", str(value))
        case PointerTo():
            return of_ours(value.to)
        case Variant() if value._type_name.startswith("alloc::borrow::Cow<"):
            return of_ours(value._content[0])
        case Variant():
            return (value._variant, of_ours_content(value._content))
        case Record():
            fields = {name: of_ours(field) for name, field in value}
            return (_short(value._type_name), fields) if fields else (_short(value._type_name),)
        case Tuple() if value.struct_name:
            return (value.struct_name, of_ours_content(value))
        case dict():
            return {"map": [[of_ours(key), of_ours(content)] for key, content in value.items()]} if value else []
        case Pairs():
            return {"map": [[of_ours(key), of_ours(content)] for key, content in value]}
        case list() | tuple():
            return [of_ours(element) for element in value]
        case Enumerator() | str() if not isinstance(value, Problem):
            return float(value) if value in ("inf", "-inf") else (str(value),)
    return repr(value)


def of_ours_content(content: Any) -> Any:
    if isinstance(content, Tuple):
        return [of_ours(element) for element in content]
    return {name: of_ours(field) for name, field in content}


def _short(name: str) -> str:
    return name.partition("<")[0].rpartition("::")[2]


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def whole(self) -> Any:
        found = self._value()
        assert self._at == len(self._text.rstrip()), f"not understood: {self._text[self._at :]!r}"
        return found

    def _peek(self) -> str:
        found = _TOKEN.match(self._text, self._at)
        return "" if found is None else found[0].strip()

    def _take(self) -> tuple[str, str]:
        found = _TOKEN.match(self._text, self._at)
        assert found is not None and found.lastgroup is not None, f"not understood: {self._text[self._at :]!r}"
        self._at = found.end()
        return found.lastgroup, found[found.lastgroup]

    def _value(self) -> Any:
        kind, token = self._take()
        match kind:
            case "text" | "char":
                return (kind, _ESCAPE.sub(_unescaped, token[1:-1]))
            case "number":
                return int(token) if re.fullmatch(r"-?\d+", token) else float(token)
            case "time":
                return (token,)
            case "range":
                return _range(*token.split(".."))
            case "word":
                return self._named(token)
        return self._elements(_ENDS[token])

    def _named(self, word: str) -> Any:
        if word in ("true", "false"):
            return word == "true"
        name = _short(word)
        if self._peek() == "(":
            content = self._value()
            if name == "OnceCell":  # Strobe shows the Option that is in it
                return ("None",) if content == [("<uninit>",)] else ("Some", content)
            return content[0] if name in _TUPLE_WRAPPERS else (name, content)
        if self._peek() == "{":
            content = {key[0]: field for key, field in self._value()["map"]}
            return content[_WRAPPERS[name]] if name in _WRAPPERS else (name, content)
        return (name or word,)

    def _elements(self, end: str) -> Any:
        found: list[Any] = []
        is_map = False
        while self._peek() != end:
            if self._peek() == "..":  # there are fields that Debug does not show
                self._take()
                continue
            element = self._value()
            if self._peek() == ":":
                self._take()
                element, is_map = [element, self._value()], True
            found.append(element)
            if self._peek() == ",":
                self._take()
        self._take()
        return {"map": found} if is_map else found


def _range(start: str, end: str) -> Any:
    if end.startswith("="):
        return ("RangeInclusive", {"start": int(start), "end": int(end[1:]), "exhausted": False})
    return ("Range", {"start": int(start), "end": int(end)})


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _ESCAPES.get(found[2], found[2])
