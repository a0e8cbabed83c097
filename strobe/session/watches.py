"""Watches: what is read whenever a traced function begins and returns."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from strobe.capture.agent.extras_request import MAX_WATCH_DEREFERENCES, ExtrasRequest
from strobe.errors import failure
from strobe.model import Watch
from strobe.symbols import Pattern
from strobe.values.decode import raw, shapes, stored
from strobe.values.decode.shapes import Shape, add_read
from strobe.values.decode.shaping import Shaping
from strobe.values.lookup.expression import parse
from strobe.values.lookup.place import Place
from strobe.values.lookup.places import place_of
from strobe.values.lookup.scope import Scope
from strobe.values.memory.recipes import Recipe, decoded_steps

MAX_WATCHES = 32
_CAPTURE = struct.Struct("<BBBBHH")  # struct strobe_capture
_WATCH, _RECIPE, _SCRIPT = 8, 9, 10  # STROBE_CAPTURE_*
_ROLE_WATCH = 254  # STROBE_ROLE_WATCH
_WIDTHS = (1, 2, 4, 8)
_SCRIPT_WORDS = 2 + 512 // 8  # STROBE_SCRIPT_BYTES
_MAX_BYTES = 1032  # of one value that is no number: 1,024 characters
_MAX_ITEMS = 16


@dataclass(frozen=True, slots=True)
class CompiledWatch:
    """`capture`: as the recorder has it. `words`: the most that its block takes."""

    spec: Watch
    number: int
    capture: bytes
    words: int
    description: str
    patterns: tuple[Pattern, ...] = ()


@dataclass(frozen=True, slots=True)
class _Chain:
    """A number at the end of a chain of pointers: see struct strobe_watch."""

    address: int
    offsets: tuple[int, ...]


def compiled(
    spec: Watch, number: int, scope: Callable[[], AbstractContextManager[Scope]], request: ExtrasRequest
) -> CompiledWatch:
    """Adds what the target has to know to `request`. Raises what a read of it raises, before anything is read."""
    if spec.expr is not None:
        request.scripts.append((number, spec.expr))
        return _compiled(spec, number, _SCRIPT, 0, _SCRIPT_WORDS, {"script": True})
    if spec.variable is None:
        return _of_address(spec, number, request)
    with scope() as found:
        return _of_variable(spec, spec.variable, number, found, request)


def _of_variable(spec: Watch, variable: str, number: int, scope: Scope, request: ExtrasRequest) -> CompiledWatch:
    place = place_of(parse(variable), scope)
    shape = _shape(place, scope)
    described = {"shape": json.loads(stored.dump(shape)), "text": variable}
    chain = _chain(place.recipe) if _is_number(shape) and not place.is_value else None
    pointer = scope.thread_pointer(place.module) if place.is_thread_local and place.module is not None else None
    if place.is_thread_local and (chain is None or pointer is None):
        reason = (
            "of thread-local variables, numbers and pointers are watched, of modules that were loaded with the program"
        )
        raise failure("watch_failed", what=spec.name, reason=reason, hint="Read it with debug_read and a threadId.")
    if chain is None:
        return _of_recipe(spec, number, place, shape, request, described)
    request.add_watch(
        number,
        chain.address - (pointer or 0),
        chain.offsets,
        shape.size,
        is_thread_local=pointer is not None,
    )
    return _compiled(spec, number, _WATCH, 0, 2, described)


def _of_address(spec: Watch, number: int, request: ExtrasRequest) -> CompiledWatch:
    width = raw.width_of(spec.type or "")
    shape = raw.raw_shape(spec.type or "", width)
    request.add_watch(number, spec.address or 0, (), width, is_thread_local=False)
    return _compiled(spec, number, _WATCH, 0, 2, {"shape": json.loads(stored.dump(shape)), "text": spec.name})


def _of_recipe(
    spec: Watch, number: int, place: Place, shape: Shape, request: ExtrasRequest, described: dict[str, object]
) -> CompiledWatch:
    if place.is_value:
        raise failure("watch_failed", what=spec.name, reason="it is an address that never changes", hint="")
    if shape.size > _MAX_BYTES:
        reason = f"it has {shape.size} bytes, and {_MAX_BYTES} are recorded"
        raise failure("watch_failed", what=spec.name, reason=reason, hint="Watch a part of it.")
    add_read(place.recipe, shape)
    code, size, items = place.recipe.finished()
    size, items = min(size, _MAX_BYTES), min(items, _MAX_ITEMS)
    request.add_recipe(number, code, size, items)
    names = {str(step): text for step, text in (place.dereferenced | place.refused).items()}
    words = 2 + 2 * items + (size + 7) // 8
    return _compiled(spec, number, _RECIPE, _ROLE_WATCH, words, {**described, "pointers": names})


def _compiled(
    spec: Watch, number: int, kind: int, role: int, words: int, described: dict[str, object]
) -> CompiledWatch:
    text = json.dumps({"label": spec.name, **described})
    return CompiledWatch(spec, number, _CAPTURE.pack(0, kind, role, 0, number, number), words, text)


def _shape(place: Place, scope: Scope) -> Shape:
    shaping = Shaping(scope.printers)
    if place.bits is None:
        return shaping.shape(place.type, 1)
    place.recipe.add(place.bits.offset or 0)
    return shaping.field(place.bits, 1)


def _is_number(shape: Shape) -> bool:
    return isinstance(shape, (shapes.Scalar, shapes.Pointer)) and shape.size in _WIDTHS


def _chain(recipe: Recipe) -> _Chain | None:
    """None for what is more than offsets and pointers."""
    address, offsets = 0, [0]
    for name, operand in decoded_steps(recipe):
        if name == "BASE":
            address = operand
        elif name in ("ADD", "DEREF"):
            offsets[-1] += operand
            if name == "DEREF":
                offsets.append(0)
        else:
            return None
    if len(offsets) - 1 > MAX_WATCH_DEREFERENCES:
        return None
    return _Chain((address + offsets[0]) & (1 << 64) - 1, tuple(offsets[1:]))


def staged_watches(
    before: Sequence[Watch], watch: Sequence[Watch], unwatch: Sequence[str]
) -> tuple[list[Watch], list[str]]:
    """Those that are put aside for a launch, the newest of each name, and what was wrong."""
    names = {one.name for one in before}
    problems = [f"Watch '{name}' was not staged." for name in unwatch if name not in names]
    kept = {one.name: one for one in before if one.name not in unwatch} | {one.name: one for one in watch}
    if len(kept) > MAX_WATCHES:
        raise failure("too_many_watches", count=len(kept), limit=MAX_WATCHES)
    for one in watch:
        if one.variable is not None:
            parse(one.variable)
    return list(kept.values()), problems
