"""Descriptions of types, as TOML has them: read and checked, before any type is looked at."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from strobe.dataclass import dataclass, field
from strobe.symbols.select.nearest import nearest_names
from strobe.values.printers import formula
from strobe.values.printers.names import NameGlob

_T = TypeVar("_T")
_TABLE = "printer"
_COMMON = ("type", "layout")
_VALID_PATTERN = "valid is a regular expression with one group, as RE2 has them"


class DescriptionError(ValueError):
    """A mistake in a file of descriptions; the message names file, table and what is valid."""


@dataclass(frozen=True)
class Layout:
    """The keys that a layout needs, and those that it may have, with the kind of each."""

    needed: dict[str, str] = field(default_factory=dict)
    possible: dict[str, str] = field(default_factory=dict)

    @property
    def kinds(self) -> dict[str, str]:
        """All keys: name -> kind."""
        return self.needed | self.possible


_ELEMENTS = {"element": "type", "key": "path", "mapped": "path", "item": "path", "valid": "number"}
LAYOUTS = {
    "text": Layout({"start": "number"}, {"count": "number", "element": "type", "valid": "number"}),
    "sequence": Layout({"start": "number", "count": "number"}, _ELEMENTS),
    "list": Layout(
        {"first": "number", "next": "number", "at": "number"}, _ELEMENTS | {"end": "number", "count": "number"}
    ),
    "tree": Layout(
        {"first": "number", "end": "number", "count": "number", "links": "links", "at": "number"}, _ELEMENTS
    ),
    "slots": Layout(
        {"control": "number", "slots": "number", "count": "number"},
        _ELEMENTS | {"unused": "number", "stride": "number", "at": "number"},
    ),
    "blocks": Layout({"blocks": "number", "first": "number", "per": "number", "count": "number"}, _ELEMENTS),
    "ring": Layout({"start": "number", "first": "number", "count": "number", "places": "number"}, _ELEMENTS),
    "btree": Layout(
        {"root": "number", "height": "number", "count": "number", "element": "type", "key": "path"}
        | dict.fromkeys(("parent", "index", "keys", "children"), "number"),
        {"mapped": "path"},
    ),
    "bits": Layout({"start": "number", "count": "number"}, {"first": "number", "valid": "number", "is_number": "flag"}),
    "value": Layout({"value": "path"}),
    "pointer": Layout({"pointer": "number"}, {"target": "type", "alive": "number"}),
    "reference": Layout({"pointer": "number"}, {"target": "type"}),
    "optional": Layout({"present": "number", "value": "path"}, {"type_of_value": "type", "absent": "text"}),
    "variant": Layout({"index": "number", "storage": "path"}, {"none": "number"}),
    "tagged": Layout({"tag": "number", "members": "members"}),
    "tuple": Layout({}, {"leaves": "path", "parts": "paths"}),
    "quantity": Layout({"value": "path", "ratio": "type"}, {"clock": "type"}),
    "words": Layout({"number": "number"}, {"words": "words", "otherwise": "text"}),
    "function": Layout({"code": "number", "pattern": "pattern"}, {"stored": "number", "again": "separator"}),
    "trait": Layout({"pointer": "number", "vtable": "number"}),
    "flag": Layout({"number": "number"}),
    "span": Layout({"seconds": "number", "nanos": "number"}),
    "forms": Layout(),
    "fields": Layout({"fields": "fields"}),
}


@dataclass(frozen=True)
class Description:
    """One table. `keys`: of each key its alternatives, parsed; of those that have none, a single one."""

    where: str
    types: tuple[str, ...]
    patterns: tuple[NameGlob, ...]
    layout: str
    keys: dict[str, tuple[Any, ...]]


def load(text: str, where: str, *, checks_patterns: bool = True) -> list[Description]:
    """The descriptions of a file called `where`. Raises DescriptionError. `checks_patterns`: not of Strobe's own files,
    as RE2 takes 20 ms to be imported (tests check them)."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DescriptionError(f"{where} is not valid TOML: {error}") from error
    strange = next((name for name in content if name != _TABLE), None)
    if strange is not None:
        raise DescriptionError(f"{where}: there is no '{strange}' here; valid is [[{_TABLE}]]")
    tables = content.get(_TABLE, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise DescriptionError(f"{where}: '{_TABLE}' is to be written [[{_TABLE}]], once for each type")
    return [
        _description(table, f"{where}: [[{_TABLE}]] {number}", where, checks_patterns)
        for number, table in enumerate(tables, 1)
    ]


def _description(table: dict[str, Any], entry: str, where: str, checks_patterns: bool) -> Description:
    names = table.get("type")
    types = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, list) else ()
    if not types or not all(isinstance(name, str) and name for name in types):
        raise DescriptionError(f"{entry}: 'type' is missing; valid is type = \"ns::Name\", or several in brackets")
    entry = f"{entry} ({types[0]})"
    layout = LAYOUTS.get(str(table.get("layout")))
    if layout is None:
        reason = f"no layout is called '{table['layout']}'" if "layout" in table else "'layout' is missing"
        raise DescriptionError(f"{entry}: {reason}; valid are {', '.join(LAYOUTS)}")
    given = {name: value for name, value in table.items() if name not in _COMMON}
    _check_names(given, layout, entry, str(table["layout"]))
    keys = {name: _alternatives(value, layout.kinds[name], f"{entry}: {name}") for name, value in given.items()}
    for pattern in keys.get("pattern", ()) if checks_patterns else ():
        _check_pattern(pattern, f"{entry}: pattern")
    return Description(where, types, tuple(map(NameGlob, types)), str(table["layout"]), keys)


def _check_names(given: Mapping[str, Any], layout: Layout, entry: str, name: str) -> None:
    valid = f"layout '{name}' has {_listed(layout)}"
    for key in given:
        if key not in layout.kinds:
            near = nearest_names(key, list(layout.kinds))
            raise DescriptionError(f"{entry}: '{key}' is not known{f', {near[0]} is' if near else ''}; {valid}")
    if name == "tagged" and isinstance(given.get("tag"), list):
        raise DescriptionError(f"{entry}: 'tag' is one formula; {valid}")
    missing = next((key for key in layout.needed if key not in given), None)
    if missing is not None:
        raise DescriptionError(f"{entry}: '{missing}' is missing; {valid}")
    if name == "tuple" and len(given) != 1:
        raise DescriptionError(f"{entry}: either 'leaves' or 'parts' is needed; {valid}")


def _listed(layout: Layout) -> str:
    needed, possible = ", ".join(layout.needed), ", ".join(layout.possible)
    return f"{needed}{f' and may have {possible}' if needed and possible else possible}"


def _alternatives(value: Any, kind: str, entry: str) -> tuple[Any, ...]:
    """Several in brackets, the first of which that a type has is taken."""
    several = value if isinstance(value, list) and kind not in ("links", "paths") else [value]
    if not several:
        raise DescriptionError(f"{entry}: it is empty")
    return tuple(_KINDS[kind](one, entry) for one in several)


def _formula(value: Any, entry: str) -> formula.Formula:
    if isinstance(value, int) and not isinstance(value, bool):
        return formula.Number(value)
    return _parsed(value, entry, formula.parse, '"_M_finish - _M_start", or a number')


def _path(value: Any, entry: str) -> formula.Path:
    return _parsed(value, entry, formula.parse_path, '"_M_impl._M_start"')


def _type(value: Any, entry: str) -> formula.TypeOf:
    return _parsed(value, entry, formula.parse_type, '"$0", "*_M_ptr", "_M_value", "_M_impl.$1"')


def _parsed(value: Any, entry: str, parse: Callable[[str], _T], valid: str) -> _T:
    if not isinstance(value, str):
        raise DescriptionError(f"{entry} is {value!r}; valid is {valid}")
    try:
        return parse(value)
    except formula.FormulaError as error:
        raise DescriptionError(f"{entry}: {error}; valid is {valid}") from error


def _text(value: Any, entry: str) -> str:
    if not isinstance(value, str):
        raise DescriptionError(f"{entry} is {value!r}; valid is a text")
    try:
        value.format(0)
    except (IndexError, KeyError, ValueError, AttributeError) as error:
        raise DescriptionError(f"{entry} is {value!r}; valid is a text in which {{}} stands for the number") from error
    return value


def _pattern(value: Any, entry: str) -> str:
    if not isinstance(value, str):
        raise DescriptionError(f"{entry} is {value!r}; {_VALID_PATTERN}")
    return value


def _check_pattern(value: str, entry: str) -> None:
    from strobe.symbols.select.linear_regex import LinearRegex, RegexError

    try:
        groups = LinearRegex(value).groups
    except RegexError as error:
        raise DescriptionError(f"{entry}: {error}; {_VALID_PATTERN}") from error
    if groups != 1:
        raise DescriptionError(f"{entry} is {value!r}; {_VALID_PATTERN}")


def _separator(value: Any, entry: str) -> str:
    if not isinstance(value, str) or not value:
        raise DescriptionError(f"{entry} is {value!r}; valid is a text that stands behind a name, before the same name")
    return value


def _flag(value: Any, entry: str) -> bool:
    if not isinstance(value, bool):
        raise DescriptionError(f"{entry} is {value!r}; valid are true and false")
    return value


def _links(value: Any, entry: str) -> tuple[int, ...]:
    is_good = isinstance(value, list) and len(value) == 3 and all(isinstance(one, int) for one in value)
    if not is_good or not all(0 <= one < 1 << 16 for one in value):
        raise DescriptionError(f"{entry} is {value!r}; valid are the offsets of left, right and parent: [16, 24, 8]")
    return tuple(value)


def _paths(value: Any, entry: str) -> tuple[formula.Path, ...]:
    if not isinstance(value, list) or not value:
        raise DescriptionError(f'{entry} is {value!r}; valid are members: ["first", "second"]')
    return tuple(_path(one, entry) for one in value)


def _words(value: Any, entry: str) -> tuple[tuple[int, str], ...]:
    try:
        return tuple((int(number, 0), _text(word, f"{entry}.{number}")) for number, word in value.items())
    except (AttributeError, ValueError) as error:
        raise DescriptionError(f'{entry} is {value!r}; valid are numbers and their words: {{0 = "off"}}') from error


def _members(value: Any, entry: str) -> tuple[tuple[int | str, formula.Path], ...]:
    if not isinstance(value, dict) or not value:
        reason = 'valid are tags, numbers or enumerators, and members of the union: {0 = "u.i", TEXT = "u.s"}'
        raise DescriptionError(f"{entry} is {value!r}; {reason}")
    return tuple((_tag(tag), _path(one, f"{entry}.{tag}")) for tag, one in value.items())


def _tag(text: str) -> int | str:
    try:
        return int(text, 0)
    except ValueError:
        return text


def _fields(value: Any, entry: str) -> tuple[tuple[str, formula.Formula], ...]:
    if not isinstance(value, dict) or not value:
        raise DescriptionError(
            f'{entry} is {value!r}; valid are names and members: {{x = "_x", size = "_end - _begin"}}'
        )
    return tuple((name, _formula(one, f"{entry}.{name}")) for name, one in value.items())


_KINDS: dict[str, Callable[[Any, str], Any]] = {
    "number": _formula,
    "path": _path,
    "paths": _paths,
    "type": _type,
    "text": _text,
    "pattern": _pattern,
    "separator": _separator,
    "flag": _flag,
    "links": _links,
    "words": _words,
    "fields": _fields,
    "members": _members,
}
