"""Extras of recorded calls as values: watches, and what arguments and results lead to. See the blocks of the ABI."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from strobe import _abi
from strobe.dataclass import dataclass, replace
from strobe.model import Argument, Event, Text, Value, ValueType
from strobe.values.decode import stored
from strobe.values.decode.differences import differences
from strobe.values.decode.messages import message
from strobe.values.decode.shapes import Decoding, Part, Scalar, Shape, problem, read_value
from strobe.values.decode.structures import Structure
from strobe.values.memory.recipes import BROKEN, ENDLESS, FULL, NULL, OK, UNREADABLE, Item, is_nowhere
from strobe.values.model import PointerTo, Problem, ReferenceTo

_WORD = 8
_NOT_KEPT = Problem("<not kept: the call began before this was asked for, or there was no room>")
_OTHER_VERSION = Problem("<recorded by another version of Strobe>")
NameAt = Callable[[int], str | None]


@dataclass(frozen=True, slots=True)
class Block:
    """One thing more that was recorded of a call: STROBE_EXTRA_* of the ABI. `words`: those behind the first one."""

    kind: int
    status: int
    number: int
    role: int
    words: Sequence[int]


@dataclass(frozen=True, slots=True)
class _Description:
    """What blocks of one number are. `label`: of a watch; `text`: what it is read of. `is_pointer`, `is_reference`: the
    argument is a pointer to it, or a reference. `shape`: None of a script's, and of what another version of Strobe has
    recorded. `pointers`: by the step that follows them; by the step that finds it out, what is not there. `library`:
    the file that has it, where that may be unloaded. `changed`: of what is asked how it has changed, "entry" or
    "return"."""

    shape: Shape | None
    label: str = ""
    text: str = ""
    key: int | None = None
    is_pointer: bool = False
    is_reference: bool = False
    pointers: tuple[tuple[int, str], ...] = ()
    library: str = ""
    changed: str = ""


class Recorded:
    """Fills in the values of one session's events. `descriptions` gives what is known of blocks by now."""

    def __init__(
        self,
        descriptions: Callable[[], dict[int, str]],
        name_at: Callable[[int, int], str | None],
        stack_of: Callable[[Block, int], tuple[str, ...]] = lambda block, time_ns: (),
    ) -> None:
        """`name_at`: what an address meant at a time, in ns since session start; `stack_of`: the callers in a block."""
        self._read = descriptions
        self._descriptions: dict[int, str] = {}
        self._name_at = name_at
        self._stack_of = stack_of

    def filled(self, event: Event) -> Event:
        """The event with its watch values, and with what its arguments and result point to."""
        if not event.extras:
            return _with_message(event, {})
        watches: dict[str, Any] = {}
        arguments = list(event.arguments or ())
        returned = event.return_value

        def name_at(address: int) -> str | None:
            return self._name_at(address, event.timestamp_ns)

        stack = None
        for block in blocks_of(event.extras):
            if block.kind == _abi.EXTRA_STACK:
                stack = self._stack_of(block, event.timestamp_ns)
                continue
            known = self._description(block.number)
            if known is None:
                continue
            if block.kind == _abi.EXTRA_SCRIPT:
                watches[known.label] = _script(block)
            elif block.kind == _abi.EXTRA_WATCH:
                watches[known.label] = _watched(block, known, name_at)
            elif block.role in (_abi.ROLE_WATCH, _abi.ROLE_BEFORE):
                value = _structure(block, known, known.text, name_at)
                if known.changed == "return":
                    value = differences(watches.get(known.label, _NOT_KEPT), value, known.text)
                watches[known.label] = value
            elif block.role == _abi.ROLE_RETURN:
                returned = _followed(block, known, "result", returned, name_at)
            elif block.role < len(arguments):
                own = arguments[block.role]
                arguments[block.role] = Argument(own.name, _followed(block, known, own.name, own.value, name_at))
        event = _with_message(event, watches)
        return replace(
            event,
            arguments=None if event.arguments is None else tuple(arguments),
            return_value=returned,
            watch_values=watches or None,
            stack=stack,
            extras=(),
        )

    def _description(self, number: int) -> _Description | None:
        if number not in self._descriptions:
            self._descriptions = self._read()
        text = self._descriptions.get(number)
        return None if text is None else _described(text)


def _with_message(event: Event, values: dict[str, Any]) -> Event:
    """What a probe says."""
    if event.event_type != "probe" or event.text is None:
        return event
    return replace(event, text=message(event.text, values))


def _watched(block: Block, known: _Description, name_at: NameAt) -> Any:
    if block.status == NULL:
        return Problem("Null pointer")
    if block.status == UNREADABLE and known.library and is_nowhere(block.words[0]):
        return _not_loaded(known)
    if block.status != OK:
        return Problem(f"Address not readable: {block.words[0]:#x}")
    if known.shape is None:
        return _OTHER_VERSION
    part = Part(block.words[0].to_bytes(_WORD, "little"), 0, 0, known.text)
    return known.shape.value(part, Decoding(iter(()), name_at, {}))


_NULL_AT = "Null pointer at "


def _structure(block: Block, known: _Description, name: str, name_at: NameAt) -> Any:
    items = items_of(block.words)
    if block.status == ENDLESS:
        return Problem("<not decided: more than 100,000 steps>")
    if not items:
        return _NOT_KEPT if block.role == _abi.ROLE_BEFORE and block.status == BROKEN else Problem("<not recorded>")
    if known.shape is None:
        return _OTHER_VERSION
    first = items[0]
    if known.library and any(not item.is_there and is_nowhere(item.address) for item in items):
        return _not_loaded(known)
    if not first.is_there:
        pointer = dict(known.pointers).get(first.step)
        if pointer and (first.status == BROKEN or pointer.startswith(_NULL_AT)):  # of calculated values: a sentence
            return Problem(pointer)
        return Problem(_NULL_AT + pointer) if first.status == NULL and pointer else problem(first)
    joint = "->" if known.is_pointer else "."
    return read_value(known.shape, Decoding(_endless(items), name_at, {}), name, known.key, joint)


def _followed(block: Block, known: _Description, name: str, own: Value, name_at: NameAt) -> Any:
    """A null pointer, and one that leads nowhere, as it is."""
    items = items_of(block.words)
    if not items or items[0].status in (NULL, UNREADABLE):
        return own
    found = _structure(block, known, name, name_at)
    if not (known.is_pointer or known.is_reference) or isinstance(found, Problem):
        return found if not known.is_pointer else own
    address = items[0].address
    return (PointerTo if known.is_pointer else ReferenceTo)(address, name_at(address), found)


def _not_loaded(known: _Description) -> Problem:
    return Problem(f"{known.library} is not loaded")


def blocks_of(words: Sequence[int]) -> Iterator[Block]:
    """The blocks of extras, as far as they make sense."""
    at = 0
    while at < len(words):
        head = words[at]
        size = head & 0xFFFF
        if size == 0 or at + size > len(words):
            return
        yield Block(
            head >> 16 & 0xFF, head >> 24 & 0xFF, head >> 32 & 0xFFFF, head >> 48 & 0xFF, words[at + 1 : at + size]
        )
        at += size


def items_of(words: Sequence[int]) -> list[Item]:
    """What a recipe has read, from its block's words."""
    heads, at = [], 1
    for _ in range(words[0] if words else 0):
        if at >= len(words):
            return []
        first, at = words[at], at + 1
        size, status = first & 0xFFF, first >> 12 & 0xF
        if status == OK:
            heads.append((status, first >> 16, 0, size))
        elif at < len(words):
            heads.append((status, words[at], first >> 32, size))
            at += 1
    data = b"".join(word.to_bytes(_WORD, "little") for word in words[at:])
    items, start = [], 0
    for status, address, step, size in heads:
        items.append(Item(status, address, step, data[start : start + size]))
        start += size
    return items


def _endless(items: Sequence[Item]) -> Iterator[Item]:
    """What there was no room for is FULL."""
    yield from items
    while True:
        yield Item(FULL, 0, 0, b"")


def _script(block: Block) -> Any:
    """JSON; or why there is none."""
    size = block.words[0] if block.words else 0
    text = b"".join(word.to_bytes(_WORD, "little") for word in block.words[1:])[:size].decode("utf-8", "replace")
    if block.status == FULL:
        return problem(Item(FULL, 0, 0, b""))
    if block.status == UNREADABLE:
        return "<not evaluated: in a signal handler, or in a forked child>"
    try:
        value = json.loads(text)
    except ValueError:
        return f"<no value: {text}>"
    if block.status != OK:
        return f"<{value}>"
    return Text(value) if isinstance(value, str) else value  # one that ends with "…" was cut


def members_of(text: str) -> dict[str, tuple[int, ValueType]]:
    """Offset and type of members that are one number each, of what blocks with this description have; none where it is
    no structure."""
    shape = _described(text).shape
    found: dict[str, tuple[int, ValueType]] = {}
    for member in shape.members if isinstance(shape, Structure) and not shape.is_tuple else ():
        if member.is_spread:  # the fields of a base come before those of one name
            break
        if member.offset is not None and isinstance(member.shape, Scalar):
            found.setdefault(member.name, (member.offset, member.shape.type))
    return found


def shown_by(text: str) -> tuple[str, Shape | None]:
    """The label of what blocks with this description are, and how it is read; None where more than its bytes decide."""
    found = _described(text)
    return found.label, None if found.library or found.changed else found.shape


@lru_cache(maxsize=1 << 10)
def _described(text: str) -> _Description:
    row = json.loads(text)
    try:
        shape = stored.load(json.dumps(row["shape"])) if "shape" in row else None
    except ValueError:
        shape = None
    pointers = tuple((int(step), name) for step, name in row.get("pointers", {}).items())
    return _Description(
        shape,
        row.get("label", ""),
        row.get("text", ""),
        row.get("key"),
        row.get("pointer", False),
        row.get("reference", False),
        pointers,
        row.get("library", ""),
        row.get("changed", ""),
    )
