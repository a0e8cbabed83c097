"""Watches: what is read whenever a traced function begins and returns."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import PurePath

from strobe import _abi
from strobe.capture.agent.extras_request import MAX_WATCH_DEREFERENCES, ExtrasRequest, WatchAddress
from strobe.dataclass import dataclass, replace
from strobe.errors import StrobeError, command_names, failure
from strobe.expressions import syntax
from strobe.expressions.parser import parse as parse_expression
from strobe.expressions.syntax import ExpressionError
from strobe.limits import WATCHES
from strobe.model import Watch
from strobe.symbols import Pattern
from strobe.values.decode import raw, shapes, stored
from strobe.values.decode.shapes import Shape, add_read
from strobe.values.decode.shaping import Shaping
from strobe.values.language import CALCULATED, Roots, is_part_of_text
from strobe.values.lookup.expression import NO_PATH, VALID, Bound, Cast, Expression, Name, Number, parse
from strobe.values.lookup.locations import ValueLocation, location_of
from strobe.values.lookup.scope import Module, Scope
from strobe.values.memory.recipes import NOWHERE, STEP_BYTES, Recipe, decoded_steps
from strobe.values.printers.containers import Sequence as Elements

_WIDTHS = (1, 2, 4, 8)
_SCRIPT_WORDS = 2 + _abi.SCRIPT_BYTES // 8
MAX_BYTES = 4088  # of one value that is not a number; an item of 4,096 has no place in a record
_MAX_ITEMS = 128  # as the recorder has room for; a map has two for each of its entries


@dataclass(frozen=True, slots=True)
class InLibrary:
    """Where a library has what is watched. `steps`: how it is read from there on, wherever that is."""

    path: str
    base: int
    watch: WatchAddress
    steps: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class CompiledWatch:
    """`capture`: as the recorder has it. `words`: the most that its block takes. `library`: None for what the program
    itself has, which stays where it is."""

    spec: Watch
    number: int
    capture: bytes
    words: int
    description: str
    patterns: tuple[Pattern, ...] = ()
    library: InLibrary | None = None

    def is_read_like(self, other: CompiledWatch) -> bool:
        """Whether all but the address is the same."""
        libraries = self.library is not None and other.library is not None and self.library.steps == other.library.steps
        return libraries and (self.capture, self.description) == (other.capture, other.description)


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
        return _compiled(spec, number, _abi.CAPTURE_SCRIPT, 0, _SCRIPT_WORDS, {"script": True})
    if spec.variable is None:
        return _of_address(spec, number, request)
    with scope() as found:
        return _of_variable(spec, spec.variable, number, found, request)


def is_calculated(variable: str) -> bool:
    """Whether it is more than the path to a variable, so that calls calculate it. Raises bad_expression for what is
    neither."""
    try:
        path = parse(variable)
    except StrobeError as no_path:
        try:
            tree = parse_expression(variable)
        except ExpressionError as error:
            if NO_PATH not in no_path.message:
                raise no_path from None
            reason = f"{error.reason}, at '{error.near(variable)}'"
            raise failure("bad_expression", expression=variable, reason=reason, valid=error.hint or VALID) from error
        if is_plain(tree) and not isinstance(tree, syntax.Literal):
            raise
        return True
    root = root_name(path)
    with suppress(ExpressionError):
        if isinstance(path, Number) or isinstance(parse_expression(variable), syntax.Literal):
            return True
    return _casts_to_number(path) or root in CALCULATED


def _casts_to_number(path: Expression) -> bool:
    """Anywhere in it."""
    if isinstance(path, Name | Number | Bound):
        return False
    return (isinstance(path, Cast) and not path.stars) or _casts_to_number(path.of)


def is_plain(tree: syntax.Expression) -> bool:
    """Whether it is nothing but a path."""
    match tree:
        case syntax.Name() | syntax.Literal():
            return True
        case syntax.Member(of=of) | syntax.Unary(sign="*", of=of):
            return is_plain(of)
        case syntax.Element(of=of, index=index):
            return is_plain(of) and isinstance(index, syntax.Literal) and isinstance(index.value, int)
    return False


def is_whole(tree: syntax.Expression, scope: Scope, roots: Roots) -> bool:
    """Whether it names a place in memory, what lies at which is shown whole: also by calculated indexes, and of a call
    its result, and several elements. Raises what the lookup of names raises."""
    if isinstance(tree, syntax.Slice):
        return not is_part_of_text(tree, scope, roots)
    return _leads_somewhere(tree)


def _leads_somewhere(tree: syntax.Expression) -> bool:
    match tree:
        case syntax.Name(name=name):
            return name not in CALCULATED
        case syntax.Unary(sign="*" | "&"):
            return True
        case syntax.PointerCast():
            return not syntax.is_null(tree)
        case syntax.Call(name="first" | "last", of=of):
            return _leads_somewhere(of)
        case syntax.Member(of=of) | syntax.Element(of=of):
            is_moved = isinstance(of, syntax.Binary) and of.sign in ("+", "-")
            return is_moved or _leads_somewhere(of)
    return False


def root_name(path: Expression) -> str:
    """The name that a path begins with; "" of one that has none."""
    while not isinstance(path, (Name, Number, Bound)):
        path = path.of
    return path.text if isinstance(path, Name) else ""


def _of_variable(spec: Watch, variable: str, number: int, scope: Scope, request: ExtrasRequest) -> CompiledWatch:
    location = location_of(parse(variable), scope)
    shape = shape_at(location, scope)
    library = location.root if location.root is not scope.program else None
    described = {"shape": json.loads(stored.dump(shape)), "text": variable}
    if library is not None:
        described["library"] = PurePath(library.path).name
    chain = _chain(location.recipe) if _is_number(shape) and not location.is_value else None
    is_local = location.is_thread_local
    pointer = scope.thread_pointer(location.root) if is_local and location.root is not None else None
    if is_local and (chain is None or pointer is None):
        reason = (
            "of thread-local variables, numbers and pointers are watched, of modules that were loaded with the program"
        )
        raise failure(
            "watch_failed",
            what=spec.name,
            reason=reason,
            hint=f"Read it with {command_names()['read']}, for one thread.",
        )
    if chain is None:
        return _of_recipe(spec, number, location, shape, request, described, library)
    address = chain.address - (pointer or 0)
    request.add_watch(number, address, chain.offsets, shape.size, is_thread_local=pointer is not None)
    watch = _compiled(spec, number, _abi.CAPTURE_WATCH, 0, 2, described)
    return _in_library(watch, WatchAddress(number, False, address), (chain.offsets, shape.size), library, request)


def _in_library(
    watch: CompiledWatch,
    at: WatchAddress,
    steps: tuple[object, ...],
    library: Module | None,
    request: ExtrasRequest,
) -> CompiledWatch:
    if library is None:
        return watch
    request.leave_with(at, library.base, NOWHERE)
    return replace(watch, library=InLibrary(library.path, library.base, at, steps))


def _of_address(spec: Watch, number: int, request: ExtrasRequest) -> CompiledWatch:
    width = raw.width_of(spec.type or "")
    shape = raw.raw_shape(spec.type or "", width)
    request.add_watch(number, spec.address or 0, (), width, is_thread_local=False)
    return _compiled(
        spec, number, _abi.CAPTURE_WATCH, 0, 2, {"shape": json.loads(stored.dump(shape)), "text": spec.name}
    )


def _of_recipe(
    spec: Watch,
    number: int,
    location: ValueLocation,
    shape: Shape,
    request: ExtrasRequest,
    described: dict[str, object],
    library: Module | None,
) -> CompiledWatch:
    if location.is_value:
        raise failure("watch_failed", what=spec.name, reason="it is an address that never changes", hint="")
    if shape.size > MAX_BYTES:
        reason = f"it has {shape.size} bytes, and {MAX_BYTES} are recorded"
        raise failure("watch_failed", what=spec.name, reason=reason, hint="Watch a part of it.")
    code, size, items = read_steps(location, shape)
    request.add_recipe(number, code, size, items)
    names = {str(step): text for step, text in (location.dereferenced | location.refused).items()}
    words = 2 + 2 * items + (size + 7) // 8
    watch = _compiled(spec, number, _abi.CAPTURE_RECIPE, _abi.ROLE_WATCH, words, {**described, "pointers": names})
    base, address, _ = decoded_steps(location.recipe)[0]
    assert base == "BASE"  # of a variable's address, always
    return _in_library(watch, WatchAddress(number, True, address), (code[STEP_BYTES:], size, items), library, request)


def _compiled(
    spec: Watch, number: int, kind: int, role: int, words: int, described: dict[str, object]
) -> CompiledWatch:
    text = json.dumps({"label": spec.name, **described})
    return CompiledWatch(spec, number, _abi.CAPTURE.pack(0, kind, role, 0, number, number), words, text)


def shape_at(location: ValueLocation, scope: Scope) -> Shape:
    """How what lies there is read; the location is moved to where that begins."""
    shaping = Shaping(scope.printers)
    if location.row is not None:
        count, here = (("GET", 0, location.row.variable, 0),), (("LOCATION", 0, 0, 0),)
        element = shaping.shape(location.type, 1)
        return Elements(f"{location.type.name}[]", element, False, (), count, 0, here, location.row.stride)
    if location.bits is None:
        return shaping.shape(location.type, 1)
    location.recipe.add(location.bits.offset or 0)
    return shaping.field(location.bits, 1)


def read_steps(location: ValueLocation, shape: Shape) -> tuple[bytes, int, int]:
    """The whole recipe, and how many bytes and items it gives at most."""
    if location.row is not None:  # which may have none, so that there is nothing to read
        location.recipe.numbers((("GET", 0, location.row.variable, 0),))
        location.recipe.note()
        location.recipe.drop()
        shape.add_steps(location.recipe)
    elif location.is_value:
        location.recipe.numbers((("LOCATION", 0, 0, 0),))
        location.recipe.note()
        location.recipe.drop()
    else:
        add_read(location.recipe, shape)
    code, size, items = location.recipe.finished()
    return code, min(size, MAX_BYTES), min(items, _MAX_ITEMS)


def _is_number(shape: Shape) -> bool:
    return isinstance(shape, (shapes.Scalar, shapes.Pointer)) and shape.size in _WIDTHS


def _chain(recipe: Recipe) -> _Chain | None:
    """None for what is more than offsets and pointers."""
    address, offsets = 0, [0]
    for name, operand, _ in decoded_steps(recipe):
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
    """Those that are staged for a launch, the newest of each name, and what was wrong."""
    names = {one.name for one in before}
    problems = [f"Watch '{name}' was not staged." for name in unwatch if name not in names]
    kept = {one.name: one for one in before if one.name not in unwatch} | {one.name: one for one in watch}
    if len(kept) > WATCHES:
        raise failure("too_many_watches", count=len(kept), limit=WATCHES)
    for one in watch:
        if one.variable is not None:
            is_calculated(one.variable)
    return list(kept.values()), problems
