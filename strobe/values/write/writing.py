"""Writes variables and memory of a process: all of a value is checked first, then written, many at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from strobe.dataclass import dataclass, replace
from strobe.errors import StrobeError, failure
from strobe.symbols.later import Later
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.types.model import VOID, Array, Encoding, Field, Function, Pointer, Record, Scalar, Type
from strobe.values.decode import raw
from strobe.values.decode.shapes import Decoding, Part
from strobe.values.decode.shaping import Shaping
from strobe.values.lookup.expression import parse
from strobe.values.lookup.locations import ValueLocation, location_of, pointer_to
from strobe.values.lookup.scope import Scope, UnknownVariable
from strobe.values.memory.memory_map import MemoryMap
from strobe.values.memory.process_memory import ProcessMemory
from strobe.values.model import PointerTo, Shown
from strobe.values.reading import Reader, ReadResult, ReadTarget
from strobe.values.write.changes import Change, Memory, changes_of

_DEPTH = 2  # to which a struct is shown as it was
_WORDS = (1, 2, 4, 8)
_ENCODINGS = {"i": Encoding.SIGNED, "u": Encoding.UNSIGNED, "f": Encoding.FLOAT}

# Writes each of them; for each "" or why it was not written, and whether each aligned word is written at once.
Store = Callable[[Sequence[Change]], tuple[list[str], bool]]


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """A `value` for a `variable`, or for what lies at an `address` as `type`, one of raw.NAMES but "bytes".

    `value`: what a read gives, what JSON has, or its text. `thread`: whose variable a thread-local one is, by its id.
    """

    variable: str | None = None
    value: Any = None
    address: int | None = None
    type: str | None = None
    thread: int | None = None

    @property
    def location(self) -> ReadTarget:
        """The same location as a target of a read."""
        return ReadTarget(self.variable, self.address, None, self.type, self.thread)


@dataclass(frozen=True, slots=True)
class WriteResult:
    """`previous` and `value` where `error` is None. `is_atomic`: no thread can have seen a part of the new value."""

    target: str
    address: int | None = None
    type: str | None = None
    previous: Shown = None
    value: Shown = None
    is_atomic: bool = False
    error: StrobeError | None = None


@dataclass(frozen=True, slots=True)
class _Planned:
    """`before`: what was there. `bits`: of a bit-field."""

    before: ReadResult
    type: Type
    bits: Field | None
    changes: list[Change]


class Writer:
    """Writes one process. Not for several threads at once."""

    def __init__(self, memory: ProcessMemory, reader: Reader) -> None:
        self._memory = memory
        self._reader = reader

    def write(self, targets: Sequence[WriteTarget], scope: Scope, maps: str, store: Store) -> list[WriteResult]:
        """A result for each target. What is wrong with one does not affect the others, and nothing of it is written.

        `maps`: /proc/PID/maps. Raises OSError where the process is gone (ESRCH) or may not be read (EPERM).
        """
        memory_map = MemoryMap(maps)
        planned = [self._plan(target, scope, memory_map) for target in targets]
        good = [plan for plan in planned if isinstance(plan, _Planned)]
        changes = [change for plan in good for change in plan.changes]
        problems, is_whole = store(changes) if changes else ([], False)
        left = iter(problems)
        return [
            self._result(target, plan, [next(left) for _ in plan.changes], is_whole, scope)
            if isinstance(plan, _Planned)
            else WriteResult(target.location.text, target.address, error=plan)
            for target, plan in zip(targets, planned, strict=True)
        ]

    def _plan(self, target: WriteTarget, scope: Scope, memory_map: MemoryMap) -> _Planned | StrobeError:
        try:
            return self._planned(target, scope, memory_map)
        except StrobeError as error:
            return error
        except UNREADABLE as error:
            reason = str(error) or type(error).__name__
            return failure("debug_info_unreadable", path=scope.program.path, what=target.location.text, reason=reason)

    def _planned(self, target: WriteTarget, scope: Scope, memory_map: MemoryMap) -> _Planned:
        type_, bits = self._type(target, scope)
        depth = 0 if isinstance(type_.bare, Pointer) else _DEPTH
        (before,) = self._reader.read([target.location], depth, scope)
        if before.error is not None:
            raise before.error
        assert before.address is not None
        memory = Memory(self._memory.peek, lambda text: self._pointed(text, target.thread, scope))
        what = target.location.text
        changes = changes_of(type_, bits, before.address, target.value, what, memory)
        for change in changes:
            refusal = memory_map.why_not_written(change.address, len(change.data), change.what)
            if refusal is not None:
                raise refusal
        return _Planned(before, type_, bits, changes)

    def _type(self, target: WriteTarget, scope: Scope) -> tuple[Type, Field | None]:
        if target.variable is None:
            return _raw_type(target.type or ""), None
        location = self._location(target.variable, target.thread, scope)
        if location.is_value or isinstance(location.type.bare, Function):
            raise failure("written_nowhere", what=target.variable.strip(), type=location.type.name)
        if location.is_const:
            raise failure("written_const", what=target.variable.strip(), type=location.type.name)
        return location.type, location.bits

    def _location(self, text: str, thread: int | None, scope: Scope) -> ValueLocation:
        try:
            return location_of(parse(text), scope, thread)
        except UnknownVariable as error:
            raise failure("written_local", what=error.variable, hint=error.next_step) from error

    def _pointed(self, text: str, thread: int | None, scope: Scope) -> tuple[int, Type | None]:
        """What an expression is that stands for an address: "&gFoo", "(Node*)0x1000"; and the type of what is there."""
        function = scope.function(text[1:].strip()) if text.startswith("&") else None
        if function is not None:
            return function, Function("", None, None, Later(lambda: VOID, nullcontext()), (), False)
        location = self._location(text, thread, scope)
        if isinstance(location.type.bare, Function) and not location.is_value:
            location.is_value, location.type = True, pointer_to(location.type)
        if not location.is_value:
            raise failure("no_address", expression=text)
        location.recipe.read(0)
        ((item,),) = self._memory.run([location.recipe.finished()])
        if not item.is_there:
            raise failure("address_unreadable", address=f"{item.address:#x}", at=f", for {text}")
        plain = location.type.bare
        return item.address, plain.target if isinstance(plain, Pointer) else None

    def _result(
        self, target: WriteTarget, plan: _Planned, problems: list[str], is_whole: bool, scope: Scope
    ) -> WriteResult:
        before = plan.before
        result = WriteResult(before.target, before.address, before.type, before.value)
        if any(problems):
            written = "a part of it was" if not all(problems) else "nothing was"
            reason = next(filter(None, problems))
            return replace(result, error=failure("not_written", what=before.target, reason=reason, written=written))
        value = self._written(target, plan, scope)
        return replace(result, value=value, is_atomic=len(plan.changes) == 1 and _is_atomic(plan.changes[0], is_whole))

    def _written(self, target: WriteTarget, plan: _Planned, scope: Scope) -> Shown:
        """What was written, whatever the program has made of it since; of larger things what is there now."""
        (first, *more), type_ = plan.changes, plan.type
        is_one = not more and first.address == plan.before.address
        if is_one and isinstance(type_.bare, Pointer):
            address = int.from_bytes(first.data, "little")
            return PointerTo(address, scope.name_at(address) if address else None)
        if is_one and not isinstance(type_.bare, Record | Array):
            shape = Shaping().shape(type_, 0) if plan.bits is None else Shaping().field(plan.bits, 0)
            return shape.value(Part(first.data, 0, first.address, first.what), Decoding(iter(()), scope.name_at, {}))
        depth = 0 if isinstance(type_.bare, Pointer) else _DEPTH
        (after,) = self._reader.read([target.location], depth, scope)
        return after.value


def _is_atomic(change: Change, is_whole: bool) -> bool:
    size = len(change.data)
    if change.mask:  # a word of four bytes is exchanged
        return is_whole and change.address // 4 == (change.address + size - 1) // 4
    return size == 1 or (is_whole and size in _WORDS and change.address % size == 0)


def _raw_type(name: str) -> Type:
    if name == raw.BYTES or name not in raw.NAMES:
        valid = ", ".join(one for one in raw.NAMES if one != raw.BYTES)
        raise failure("bad_value", field="type", value=f"'{name}'", reason="there is no such type", valid=valid)
    size = raw.width_of(name)
    if name == "pointer":
        return pointer_to(VOID)
    return Scalar(name, size, None, _ENCODINGS[name[0]], None)
