"""Where an address is found in an event: as an argument or result, in what these lead to, in a watch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from strobe import _abi
from strobe.model import Capture, CaptureKind, Event, FunctionSymbol, Parameter, ValueKind, ValueType
from strobe.timeline.decode.captured import words_of
from strobe.timeline.scan import Row
from strobe.values.decode.recorded import Block, blocks_of, items_of
from strobe.values.memory.recipes import OK
from strobe.values.model import Mapping, Pairs, PointerTo, Record, ReferenceTo, TextAt

_MOST = 8  # of one event that are shown
_WORD = 8
_DEEPEST = 20
_LEAST = 1 << 16  # below, nothing lies there, and an integer is a number
_RESULT = "$return"
_ADDRESSES = (ValueKind.POINTER, ValueKind.REFERENCE, ValueKind.FUNCTION)
_WHOLE = (ValueKind.SIGNED, ValueKind.UNSIGNED)
_POINTS_TO_TEXT = (CaptureKind.CHARS, CaptureKind.PAIR)


def places_in_call(
    address: int, row: Row, event: Event, symbol: FunctionSymbol | None, descriptions: dict[int, str]
) -> list[str]:
    """As expressions name them, or "in *account (+16)" for memory that was recorded. `event`: the same, decoded;
    `descriptions` of extras, by number."""
    words = words_of(row[9] or b"")
    is_enter = row[2] == _abi.RECORD_ENTER
    found: list[str] = []
    inside: list[str] = []  # values of several words; mostly a member has a name
    rest = _captured(address, words, is_enter, bool(row[10]), symbol, found, inside)
    found += [path for name, value in _values(event) for path in _paths(address, value, name, _DEEPEST)]
    found += [] if found else inside
    names = [item.name for item in (symbol.parameters if symbol else None) or ()]
    pointers: dict[int, str] = {}
    for name, value in _values(event):
        _add_pointers(value, name, _DEEPEST, pointers)
    for block in blocks_of(rest):
        found += _in_block(address, block, names, descriptions, pointers, bool(found))
    return list(dict.fromkeys(found))[:_MOST]


def places_in_snapshot(address: int, event: Event) -> list[str]:
    """Of variables that were polled or written."""
    own = f"{address:#x}"
    values = {**(event.values or {}), **{f"{name} before": old for name, old in (event.previous or {}).items()}}
    found = [name for name in values if name == own]
    return [*found, *(path for name, value in values.items() for path in _paths(address, value, name, _DEEPEST))][
        :_MOST
    ]


def _values(event: Event) -> Iterator[tuple[str, Any]]:
    yield from ((item.name, item.value) for item in event.arguments or ())
    yield _RESULT, event.return_value
    yield from (event.watch_values or {}).items()
    yield from (event.values or {}).items()


def _captured(
    address: int,
    words: Sequence[int],
    is_enter: bool,
    has_more: bool,
    symbol: FunctionSymbol | None,
    found: list[str],
    inside: list[str],
) -> Sequence[int]:
    """Looks at arguments, or the result, as they were captured; gives the words of the extras."""
    if not is_enter:
        if symbol is None or symbol.returns is None:
            values: Sequence[Parameter] = [Parameter(_RESULT, _UNKNOWN, None, (Capture(0),))] if words else ()
        else:
            values = [Parameter(_RESULT, symbol.returns, None, symbol.return_captures)]
        if not has_more:
            return words
    elif symbol is None or symbol.parameters is None:
        found += [f"arg{index}" for index, word in enumerate(words) if word == address and not has_more]
        return words if has_more else ()
    else:
        values = symbol.parameters
    at = 0
    for value in values:
        at = _look_at(address, words, at, value, found, inside)
    return words[at:]


_UNKNOWN = ValueType(ValueKind.POINTER, _WORD, "")


def _look_at(address: int, words: Sequence[int], at: int, value: Parameter, found: list[str], inside: list[str]) -> int:
    captures = value.captures
    if not captures:
        return at
    if captures[-1].is_text or captures[0].kind is CaptureKind.BYTES:
        pointer = words[at] if captures[-1].is_text and at < len(words) else None
        at += captures[-1].is_text
        kept = words[at] & _abi.TEXT_KEPT if at < len(words) else 0
        data = words[at + 1 : at + 1 + (kept + 7) // 8]
        if pointer == address:
            found.append(value.name)
        elif pointer is not None and captures[-1].kind in _POINTS_TO_TEXT and pointer < address < pointer + kept:
            found.append(f"in the text of {value.name} (+{address - pointer})")
        elif pointer is None:
            inside += [f"in {value.name} (+{_WORD * index})" for index, word in enumerate(data) if word == address]
        return at + 1 + len(data)
    count = sum(2 if capture.kind in (CaptureKind.VECTOR, CaptureKind.X87) else 1 for capture in captures)
    own = words[at : at + count]
    is_whole = value.type.kind in _WHOLE and value.type.size == _WORD and address >= _LEAST
    if value.type.kind in _ADDRESSES or is_whole:
        found += [value.name] if address in own[:1] else []
    elif value.type.members or value.type.kind is ValueKind.AGGREGATE:
        inside += [f"in {value.name} (+{_WORD * index})" for index, word in enumerate(own) if word == address]
    return at + count


def _paths(address: int, value: Any, path: str, depth: int) -> Iterator[str]:
    """Pointers to the address among decoded values."""
    if isinstance(value, PointerTo | TextAt):
        if value.address == address:
            yield path
    elif isinstance(value, str) and value.startswith("0x") and value.partition(" ")[0] == f"{address:#x}":
        yield path
    if depth:
        for name, part in _parts(value, path):
            yield from _paths(address, part, name, depth - 1)


def _parts(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """What is right within a decoded value, and what a pointer leads to, with the path of each."""
    match value:
        case ReferenceTo():
            yield from _parts(value.to, path)
        case PointerTo(to=Record() as to):
            yield from ((f"{path}->{name}", member) for name, member in to)
        case PointerTo(to=to) if to is not None:
            yield f"*{path}", to
        case Record():
            yield from ((f"{path}.{name}", member) for name, member in value)
        case Mapping() | dict():
            is_struct = not isinstance(value, Mapping)
            yield from ((f"{path}.{key}" if is_struct else f"{path}[{key}]", member) for key, member in value.items())
        case Pairs():
            for index, (key, member) in enumerate(value):
                yield f"{path}: key {index}", key
                yield f"{path}: value {index}", member
        case list() | tuple():
            yield from ((f"{path}[{index}]", member) for index, member in enumerate(value))


def _add_pointers(value: Any, path: str, depth: int, found: dict[int, str]) -> None:
    """Where what was followed lies: the address, and the path of a pointer to it."""
    if isinstance(value, TextAt) or (isinstance(value, PointerTo) and value.to is not None):
        found.setdefault(value.address, path)
    if depth:
        for name, part in _parts(value, path):
            _add_pointers(part, name, depth - 1, found)


def _in_block(
    address: int,
    block: Block,
    names: Sequence[str],
    descriptions: dict[int, str],
    pointers: dict[int, str],
    is_named: bool,
) -> Iterator[str]:
    described = json.loads(descriptions.get(block.number, "{}"))
    name = str(described.get("label", "a watch"))
    if block.kind == _abi.EXTRA_WATCH:
        if block.status == OK and address >= _LEAST and address in block.words[:1]:
            yield name
        return
    if block.kind != _abi.EXTRA_RECIPE:
        return
    if block.role == _abi.ROLE_RETURN:
        name = _RESULT
    elif block.role not in (_abi.ROLE_WATCH, _abi.ROLE_BEFORE):
        name = names[block.role] if block.role < len(names) else f"arg{block.role}"
    for index, item in enumerate(items_of(block.words)):
        if not item.is_there:
            continue
        offset = address - item.address
        if 0 <= offset < len(item.data) and (offset or not is_named):
            if (path := pointers.get(item.address)) is not None:
                yield f"in *{path} (+{offset})"
            else:
                yield f"in {name} (+{offset})" if index == 0 else f"{name}: in {item.address:#x} (+{offset})"
        if is_named or address < _LEAST:
            continue
        for at in range(-item.address % _WORD, len(item.data) - _WORD + 1, _WORD):
            if int.from_bytes(item.data[at : at + _WORD], "little") == address:
                yield f"{name}: at {item.address + at:#x}"
