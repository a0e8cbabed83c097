"""Reads variables and memory of a process: from names to values, many at once."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence

from strobe.dataclass import dataclass, replace
from strobe.errors import StrobeError, failure
from strobe.limits import RAW_BYTES
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.types.model import Function
from strobe.values.decode import raw
from strobe.values.decode.shapes import Decoding, Leading, Nothing, Part, Shape, add_read, read_value
from strobe.values.decode.shaping import Shaping
from strobe.values.lookup.expression import parse
from strobe.values.lookup.locations import Call, ValueLocation, location_of, pointer_to
from strobe.values.lookup.scope import Scope
from strobe.values.memory.process_memory import ProcessMemory
from strobe.values.memory.recipes import BROKEN, NULL, Item, Recipe
from strobe.values.model import Mapping, Rows, Shown

_MAX_KNOWN = 512  # plans that are kept


@dataclass(frozen=True, slots=True)
class ReadTarget:
    """A `variable`, or `size` bytes at an `address` as `type`, one of raw.NAMES.

    `thread`: whose variable a thread-local one is, by its id; None: the main thread's.
    """

    variable: str | None = None
    address: int | None = None
    size: int | None = None
    type: str | None = None
    thread: int | None = None

    @property
    def text(self) -> str:
        """As it is named in results and messages."""
        text = self.variable if self.variable is not None else f"{self.address or 0:#x}"
        return text if self.thread is None else f"{text} (thread {self.thread})"


@dataclass(frozen=True, slots=True)
class ReadResult:
    """`value` where `error` is None; `content` instead of it for "bytes". `count`: elements of an array."""

    target: str
    address: int | None = None
    type: str | None = None
    size: int | None = None
    value: Shown = None
    count: int | None = None
    content: bytes | None = None
    error: StrobeError | None = None


@dataclass(frozen=True, slots=True)
class _Plan:
    """`dereferenced`: step -> the pointer that it followed; `refused`: step -> why there is no value. `is_value`: the
    value is the address that is reached."""

    code: tuple[bytes, int, int]
    shape: Shape
    text: str
    type: str
    size: int | None
    key: int | None
    dereferenced: dict[int, str]
    refused: dict[int, str]
    is_value: bool = False
    is_raw: bool = False
    is_calculated: bool = False
    in_library: bool = False
    is_thread_local: bool = False


class Prepared:
    """Targets whose plans are made, in one scope: what it knows is asked for nothing but names that pointers lead to.

    `refused`: target -> why there is no plan for it. `in_library`: whether some lie in a library, or may once it comes.
    `is_thread_local`: whether one is a thread's, which may be elsewhere the next time.
    """

    def __init__(self, memory: ProcessMemory, plans: Sequence[tuple[ReadTarget, _Plan | StrobeError]]) -> None:
        self._memory = memory
        self._plans = plans
        self._code = [plan.code for _, plan in plans if isinstance(plan, _Plan)]
        self.refused = {target: plan for target, plan in plans if isinstance(plan, StrobeError)}
        self.is_thread_local = any(isinstance(plan, _Plan) and plan.is_thread_local for _, plan in plans)
        self.in_library = any(isinstance(plan, StrobeError) or plan.in_library for _, plan in plans)

    def read(self, name_at: Callable[[int], str | None]) -> list[ReadResult]:
        """A result for each target, as near to one instant as it can be. What fails for one does not affect the others.

        Raises OSError where the process is gone (ESRCH) or may not be read (EPERM).
        """
        runs = iter(self._memory.run(self._code))
        return [
            _result(plan, next(runs), name_at)
            if isinstance(plan, _Plan)
            else ReadResult(target.text, address=target.address, error=plan)
            for target, plan in self._plans
        ]


class Reader:
    """Reads one process. Not for several threads at once."""

    def __init__(self, memory: ProcessMemory) -> None:
        self._memory = memory
        self._scope: Scope | None = None
        self._plans: dict[tuple[ReadTarget, int], _Plan] = {}

    def read(self, targets: Sequence[ReadTarget], depth: int, scope: Scope) -> list[ReadResult]:
        """As Prepared.read."""
        return self.prepare(targets, depth, scope).read(scope.name_at)

    def prepare(self, targets: Sequence[ReadTarget], depth: int, scope: Scope) -> Prepared:
        """Reads of these targets, as many as wanted; a target with an error keeps its position. Plans are cached."""
        if scope is not self._scope:
            self._plans, self._scope = {}, scope
        return Prepared(self._memory, [(target, self._planned(target, depth, scope)) for target in targets])

    def _planned(self, target: ReadTarget, depth: int, scope: Scope) -> _Plan | StrobeError:
        known = self._plans.get((target, depth))
        if known is not None:
            return known
        try:
            plan = _plan_of_variable(target, depth, scope) if target.variable is not None else _plan_of_address(target)
        except StrobeError as error:
            return error
        except UNREADABLE as error:
            reason = str(error) or type(error).__name__
            return failure("debug_info_unreadable", path=scope.program.path, what=target.text, reason=reason)
        if plan.is_thread_local:
            return plan
        if len(self._plans) >= _MAX_KNOWN:
            self._plans.clear()
        self._plans[target, depth] = plan
        return plan


def prepared_at(names: Sequence[str], depth: int, scope: Scope, call: Call, memory: ProcessMemory) -> Prepared:
    """Reads of what these names mean to `call`: at an instruction, in a frame that `memory` has."""
    plans: list[tuple[ReadTarget, _Plan | StrobeError]] = []
    for name in names:
        target = ReadTarget(name)
        try:
            plans.append((target, _plan_of_variable(target, depth, scope, call)))
        except StrobeError as error:
            plans.append((target, error))
    return Prepared(memory, plans)


def _plan_of_variable(target: ReadTarget, depth: int, scope: Scope, call: Call | None = None) -> _Plan:
    text = replace(target, variable=(target.variable or "").strip()).text
    try:
        path = parse(target.variable or "")
    except StrobeError as error:
        if call is not None:
            raise
        return _plan_of_expression(target.variable or "", text, scope, depth, error)
    location = location_of(path, scope, target.thread, call)
    shaping = Shaping(scope.printers)
    if isinstance(location.type.bare, Function):  # it is shown as a pointer to it
        location.is_value, location.type = True, pointer_to(location.type)
    if location.is_value:
        return _with_library(_plan_of_value(location, text, shaping, depth), location, scope)
    shape = shaping.field(location.bits, depth) if location.bits is not None else shaping.shape(location.type, depth)
    if location.bits is not None:
        location.recipe.add(location.bits.offset or 0)
    add_read(location.recipe, shape)
    plain = location.type.bare
    code = location.recipe.finished()
    pointers, refused = location.dereferenced, location.refused
    plan = _Plan(code, shape, text, location.type.name, location.type.size, id(plain), pointers, refused)
    return _with_library(plan, location, scope)


def _plan_of_expression(expression: str, text: str, scope: Scope, depth: int, no_path: StrobeError) -> _Plan:
    from strobe.values.calculated import calculation_of

    found = calculation_of(expression, scope, depth, no_path)
    pointers = {step: reason.removeprefix("Null pointer at ") for step, reason in found.reasons.items()}
    return _Plan(found.code, found.shape, text, found.type, None, None, pointers, found.reasons, is_calculated=True)


def _with_library(plan: _Plan, location: ValueLocation, scope: Scope) -> _Plan:
    in_library = any(module not in (None, scope.program) for module in (location.root, location.module))
    return replace(plan, in_library=in_library, is_thread_local=location.is_thread_local)


def _plan_of_value(location: ValueLocation, text: str, shaping: Shaping, depth: int) -> _Plan:
    """`&x`, `(Node*)0x1000`: the pointer lies nowhere, what it leads to is read as that of any other."""
    shape = shaping.shape(location.type, depth)
    location.recipe.read(0)
    if isinstance(shape, Leading):
        shape.add_target(location.recipe)
    code = location.recipe.finished()
    return _Plan(code, shape, text, location.type.name, 8, None, location.dereferenced, location.refused, is_value=True)


def _plan_of_address(target: ReadTarget) -> _Plan:
    name = target.type or raw.BYTES
    size = target.size if target.size is not None else raw.width_of(name)
    if not 1 <= size <= RAW_BYTES:
        valid = f"1 to {RAW_BYTES}"
        raise failure("bad_value", field="size", value=size, reason="it is out of range", valid=valid)
    is_bytes = raw.width_of(name) == 1 and name == raw.BYTES
    shape = Nothing("", size) if is_bytes else raw.raw_shape(name, size)
    recipe = Recipe()
    recipe.base(target.address or 0)
    recipe.read(size)
    return _Plan(recipe.finished(), shape, target.text, name, size, None, {}, {}, is_raw=True)


def _result(plan: _Plan, items: list[Item], name_at: Callable[[int], str | None]) -> ReadResult:
    first = items[0]
    if not first.is_there:
        return ReadResult(plan.text, type=plan.type, size=plan.size, error=_error(plan, first))
    if plan.is_raw and isinstance(plan.shape, Nothing):
        return ReadResult(plan.text, first.address, plan.type, plan.size, content=first.data)
    if plan.is_value:
        decoding = Decoding(iter(items[1:]), name_at, {})
        part = Part(first.address.to_bytes(8, "little"), 0, 0, plan.text)
        return ReadResult(plan.text, None, plan.type, plan.size, plan.shape.value(part, decoding))
    value = read_value(plan.shape, Decoding(iter(items), name_at, {}), plan.text, plan.key)
    count = value.total if isinstance(value, (Rows, Mapping)) else None
    return ReadResult(plan.text, None if plan.is_calculated else first.address, plan.type, plan.size, value, count)


def _error(plan: _Plan, item: Item) -> StrobeError:
    pointer = plan.dereferenced.get(item.step, plan.text)
    if item.status == NULL:
        return failure("null_pointer", what=pointer)
    if item.status == BROKEN and item.step in plan.refused:
        return failure("not_there", reason=plan.refused[item.step])
    at = "" if plan.is_raw else f", for {plan.text}"
    return failure("address_unreadable", address=f"{item.address:#x}", at=at)


def failed_process(error: OSError, pid: int) -> StrobeError | None:
    """Why a process cannot be read; None where it is gone."""
    if error.errno in (errno.EPERM, errno.EACCES):
        return failure("read_refused", pid=pid)
    if error.errno in (errno.ESRCH, errno.ENOENT):
        return None
    return failure("internal", reason=str(error), log="strobe.log")
