"""What names mean at one instruction: variables and parameters in scope there, members of `this`, registers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from strobe import _abi
from strobe.dataclass import dataclass
from strobe.errors import StrobeError, failure
from strobe.symbols.calls.signature import CallValues, PassedValue
from strobe.symbols.calls.system_v import DWARF_TO_SOURCE, STACK
from strobe.symbols.dwarf.locations import (
    AtAddress,
    AtCfa,
    AtFrameBase,
    AtRegister,
    Computed,
    Constant,
    Location,
    OptimizedOut,
    ThreadLocal,
)
from strobe.symbols.dwarf.registers import STACK_POINTER
from strobe.symbols.frames.model import Call, Frame, Local
from strobe.symbols.names import components
from strobe.symbols.select.line_sites import LineSite, SourceRange, line_sites
from strobe.symbols.types.fields import path_to
from strobe.symbols.types.model import VOID, Encoding, Enum, Field, Pointer, Record, Reference, Scalar, Type
from strobe.values.lookup.computed import CALLED, Unlocated
from strobe.values.lookup.context import WORD_BYTES, needs_at_probe, register_number
from strobe.values.lookup.located import Locator
from strobe.values.lookup.locations import ValueLocation, pointer_to, step_into
from strobe.values.lookup.scope import Module
from strobe.values.memory.recipes import Recipe

THIS = "this"
_MOST_RANGES = 8  # of code in which a variable has a value that are looked at
_WORD_TYPE = pointer_to(VOID)  # a register mostly has an address, and other numbers are read in hexadecimal, too
_DOUBLE_TYPE = Scalar("double", 8, None, Encoding.FLOAT, None)
_WORDS = {source: register for register, source in DWARF_TO_SOURCE.items()}  # of what registers pass


@dataclass(frozen=True, slots=True)
class Here:
    """Where names are looked up. `file`, `line`: None and 0 where they are not known. `is_line`: it is where the line
    begins, so that nothing of it has run. `level`: which of the calls around the address; None: not known which."""

    file: str | None
    line: int
    level: int | None = 0
    is_line: bool = False

    def __str__(self) -> str:
        return "this instruction" if self.file is None else f"{PurePath(self.file).name}:{self.line}"


def scope_of_line(site: LineSite, module: Module, given: CallValues | None) -> AddressScope:
    """Names at a site of a line. `given`: what calls of its function are given."""
    here = Here(site.file, site.line, site.level, is_line=True)
    return _scope(site.address, module, here, given if site.is_entry else None)


def scope_of_address(address: int, module: Module, given: CallValues | None) -> AddressScope:
    """Names at any instruction, by its link-time address. `given`: what calls of the function around it are given."""
    row = None if module.details is None else module.details.lines.at(address)
    here = Here(None, 0) if row is None else Here(row.file, row.line)
    function = module.symbols.function_at(address)
    is_entry = function is not None and function.address == address
    frame = None if module.details is None or not is_entry else module.details.frames.at(address)
    if frame is not None and len(frame.calls) > 1:  # its first instruction is one of a call that was inlined
        own = frame.calls[-1]
        here = Here(own.file, own.line or 0, len(frame.calls) - 1)
    return _scope(address, module, here, given if is_entry else None)


def _scope(address: int, module: Module, here: Here, given: CallValues | None) -> AddressScope:
    frame = None if module.details is None else module.details.frames.at(address)
    is_prologue = False
    function = module.symbols.function_at(address)
    if module.details is not None and function is not None:
        row = module.details.lines.at(address)
        is_prologue = row is not None and row.address <= function.address
    return AddressScope(address, frame, module, here, given, is_prologue=is_prologue)


class AddressScope:
    """A Call of locations.py, of one instruction."""

    def __init__(
        self,
        address: int,
        frame: Frame | None,
        module: Module,
        here: Here,
        given: CallValues | None,
        *,
        is_prologue: bool,
    ) -> None:
        """`address` is link-time. `frame`: None where no debug information knows the function. `given`: what its call
        was given, of the first instruction alone. `is_prologue`: no parameter has been stored yet."""
        self._address = address
        self._frame = frame
        self._module = module
        self._here = here
        self._given = {} if given is None else {one.name: one for one in given.parameters}
        self._is_prologue = is_prologue
        self.names_lines = True
        """Whether it is said on which other lines an optimized variable has a value, which takes a while."""
        self.unread: dict[str, str] = {}
        """What was asked for and has no value at the instruction, and why: a sentence without its end."""

    @property
    def readable(self) -> list[str]:
        """Those of `names` that have a value at the instruction."""
        return [name for name in self.names if self._has_value(name)]

    def _has_value(self, name: str) -> bool:
        try:
            return self.location(name) is not None
        except StrobeError:
            return False

    @property
    def names(self) -> list[str]:
        """All that can be asked for, but members of `this` and registers; those of the calls around an inlined one
        with that one's name: `caller::x`."""
        return list(dict.fromkeys(asked for names in self.names_by_call for _, asked in names))

    @property
    def names_by_call(self) -> list[list[tuple[str, str]]]:
        """Of the call that the instruction is of, and of those around it, outwards: each variable's own name, and by
        what it is asked for."""
        if self._here.level is None:
            return []
        level = self._here.level
        own = [one.name for one in self._visible(level) if not self._is_unset(one, level) and not _is_internal(one)]
        found = [[(name, name) for name in own]]
        calls = () if self._frame is None else self._frame.calls
        for outer in range(level + 1, len(calls)):
            visible = [one.name for one in self._visible(outer) if not _is_internal(one)]
            found.append([(name, f"{_last(calls[outer].name)}::{name}") for name in visible])
        return found

    @property
    def calls(self) -> tuple[Call, ...]:
        """Those of names_by_call."""
        return () if self._frame is None or self._here.level is None else self._frame.calls[self._here.level :]

    def of_place(self, name: str) -> str | int | None:
        """$function, $file, $line of the instruction; None where that is not known."""
        function = self._module.symbols.function_at(self._address)
        if name == "$function":
            return None if function is None else function.function
        return {"$file": self._here.file, "$line": self._here.line or None}.get(name)

    def location(self, name: str) -> ValueLocation | None:
        """Where the value of that name lies at the instruction; None where it has no such name. Raises READ_FAILED
        where it has one that cannot be read."""
        if name.startswith("$"):
            return self._register(name)
        if self._here.level is None:
            raise _unread(
                name, f"has no certain meaning at {self._here}: nothing else is left of what was inlined here"
            )
        if name == THIS and self._closure() is not None:
            return self._captured(name)
        found = self._found(name)
        if found is not None:
            return self._location(*found)
        captured = self._captured(name)
        if captured is not None:
            return captured
        later = self._declared_later(name)
        if later is not None and not self.is_member(name) and not self._is_variable(name):
            raise _unread(name, f"is declared only at {PurePath(later[0] or '').name}:{later[1]}")
        return None

    def is_member(self, name: str) -> bool:
        """Whether `name` is short for `this->name`."""
        level = self._here.level
        this = None if level is None else self._named(THIS, level)
        target = None if this is None else _pointee(this.type)
        captured = self._closure()
        if captured is not None:
            target = _pointee(captured.type)
        return target is not None and path_to(target, name) is not None

    def _closure(self) -> Field | None:
        """Of a lambda as clang describes it, whose `this` is the lambda itself: the field that has the `this` that the
        source means."""
        this = None if self._here.level is None else self._named(THIS, self._here.level)
        record = None if this is None else _pointee(this.type)
        return None if record is None else next((field for field in record.parts.fields if field.name == THIS), None)

    def _captured(self, name: str) -> ValueLocation | None:
        """What a lambda of clang has captured, by its name."""
        level = self._here.level or 0
        this = self._named(THIS, level) if self._closure() is not None else None
        record = None if this is None else _pointee(this.type)
        field = None if record is None else next((one for one in record.parts.fields if one.name == name), None)
        if this is None or field is None:
            return None
        location = self._location(this, level)
        if not location.is_value:
            location.dereferenced[location.recipe.dereference()] = "this"
        location.is_value = False
        step_into(location, field)
        return location

    @property
    def counts_hits(self) -> bool:
        """It is a probe's."""
        return True

    @property
    def module(self) -> str:
        """The path of the file that has the instruction."""
        return self._module.symbols.path

    def needs(self, recipe: Recipe) -> int:
        """As needs_at_probe."""
        return needs_at_probe(recipe)

    def _found(self, name: str) -> tuple[Local, int] | None:
        level = self._here.level or 0
        prefix, separator, last = name.rpartition("::")
        if not separator:
            local = self._named(name, level)
            return None if local is None else (local, level)
        calls = () if self._frame is None else self._frame.calls
        for number, call in enumerate(calls[level:], level):
            if prefix and (call.name == prefix or call.name.endswith(f"::{prefix}")):
                local = self._named(last, number)
                if local is not None:
                    return local, number
        return None

    def _named(self, name: str, level: int) -> Local | None:
        return next((local for local in self._visible(level) if local.name == name), None)

    def _visible(self, level: int) -> Iterator[Local]:
        """Of one call, the innermost first, without those that the source declares below."""
        file, line = self._line(level)
        for local, declared in self._locals(level):
            if local.is_parameter or declared[0] != file or declared[1] <= line:
                yield local

    def _locals(self, level: int) -> list[tuple[Local, tuple[str | None, int]]]:
        """Of one call, the innermost first, with file and line of their declarations."""
        calls = () if self._frame is None else self._frame.calls
        if level >= len(calls):
            return []
        declared: tuple[str | None, int] = (None, 0)
        found = []
        for local in (*calls[level].parameters, *calls[level].locals):
            # clang has no lines of structured bindings: they follow what they are bound to
            declared = (local.file, local.line) if local.line else declared
            found.append((local, declared))
        return [(local, where) for local, where in reversed(found) if local.name]

    def _line(self, level: int) -> tuple[str | None, int]:
        """Where a call is in its source: at this instruction, or at a call that was inlined."""
        if level == (self._here.level or 0):
            return self._here.file, self._here.line
        assert self._frame is not None
        inner: Call = self._frame.calls[level - 1]
        return (None, 0) if inner.location is None else (inner.location.file, inner.location.line)

    def _declared_later(self, name: str) -> tuple[str | None, int] | None:
        """Where the source declares a variable that is not visible yet."""
        return next((where for local, where in self._locals(self._here.level or 0) if local.name == name), None)

    def _is_variable(self, name: str) -> bool:
        return self._module.details is not None and bool(self._module.details.variables.find(name))

    def _location(self, local: Local, level: int) -> ValueLocation:
        given = self._given.get(local.name) if local.is_parameter and self._is_outermost(level) else None
        passed = None if given is None or not given.sources else _passed(given, local.type)
        if passed is not None:
            return passed
        try:
            self._check(local, level)
            return self._located(local)
        except Unlocated as reason:
            other = self._elsewhere(local, level) or self._at_entry(local, level, str(reason))
            self.unread[local.name] = f"{local.name} {reason} at {self._here}{other}"
            raise failure("not_there", reason=self.unread[local.name]) from None

    def _elsewhere(self, local: Local, level: int) -> str:
        """On which other lines an optimized variable has a value."""
        file, line = self._line(level)
        if not self.names_lines or not isinstance(local.location, OptimizedOut) or file is None:
            return ""
        found = _lines_with_value(self._module, file, line, local.location.elsewhere)
        noun = "lines" if len(found) > 1 else "line"
        return f"; it has a value at {noun} {' and '.join(map(str, found))}" if found else ""

    def _at_entry(self, local: Local, level: int, reason: str) -> str:
        """Which probes have a parameter that only the caller's registers had."""
        if not local.is_parameter or not self._is_outermost(level) or CALLED not in reason:
            return ""
        name = self.of_place("$function")
        return f"; a probe of {name}, where it begins, has it, and one of {name}:return"

    def _is_outermost(self, level: int) -> bool:
        return self._frame is not None and level == len(self._frame.calls) - 1

    def _check(self, local: Local, level: int) -> None:
        """Of a variable that has one location wherever it is in scope: whether anything has been put there."""
        if self._is_prologue and self._is_outermost(level) and _needs_frame(local):
            if not self._is_callers(local.location):
                raise Unlocated("is not stored yet")
        elif self._is_unset(local, level):
            raise Unlocated("is declared by this very line, and has no value before it has run:")

    def _is_unset(self, local: Local, level: int) -> bool:
        """Whether the line declares it, and nothing of the line has run: what lies there is of another time. Rust
        has variables in scope afterwards."""
        is_elsewhere = isinstance(local.location, (AtAddress, ThreadLocal, Constant, OptimizedOut))
        if local.is_parameter or is_elsewhere or not self._is_unstarted(level):
            return False
        if local.line is None and not _is_in_frame(local):
            return False  # what a lambda of gcc has captured
        declared = next((where for one, where in self._locals(level) if one is local), None)
        return declared == self._line(level) and not (local.file or "").endswith(".rs")

    def _is_callers(self, location: Location) -> bool:
        """Whether it lies above the CFA, where the caller has put it."""
        base = None if self._frame is None else self._frame.frame_base
        if isinstance(location, AtFrameBase) and isinstance(base, AtCfa):
            location = AtCfa(base.offset + location.offset)
        return isinstance(location, AtCfa) and location.offset >= 0

    def _is_unstarted(self, level: int) -> bool:
        return self._here.is_line or level > (self._here.level or 0)

    def _located(self, local: Local) -> ValueLocation:
        assert self._frame is not None
        plain = local.type.bare
        location = ValueLocation(Recipe(), local.type)
        locator = Locator(self._frame, self._module.slide)
        size = WORD_BYTES if isinstance(plain, Reference) else local.type.size
        location.is_value = locator.go_to(location.recipe, local.location, size, is_signed=_is_signed(plain))
        if location.is_value and not isinstance(plain, (Scalar, Enum, Pointer, Reference)):
            raise Unlocated(f"is not in memory, and {local.type.name} is not put together from a number")
        if isinstance(local.location, AtAddress):
            location.module = location.root = self._module
        return location

    def _register(self, name: str) -> ValueLocation:
        number = register_number(name[1:])
        if number is None:
            raise failure("no_such_root", what=name, valid="$rax, $rsp, $rip, $xmm0 at an instruction")
        if number == _abi.CONTEXT_PC:
            location = ValueLocation(Recipe(), _WORD_TYPE, is_value=True)
            location.recipe.base(self._address + self._module.slide)
            return location
        location = ValueLocation(Recipe(), _DOUBLE_TYPE if number >= _abi.CONTEXT_XMM0 else _WORD_TYPE)
        location.recipe.passed([number])
        return location


def _lines_with_value(module: Module, file: str, line: int, ranges: tuple[tuple[int, int], ...]) -> list[int]:
    """Up to two lines near one whose sites lie where a variable has a value."""
    assert module.details is not None
    bounds = [address for start, end in ranges[:_MOST_RANGES] for address in (start, end - 1)]
    rows = [row for address in bounds if (row := module.details.lines.at(address)) is not None]
    near = sorted({row.line for row in rows if row.file == file and row.line}, key=lambda found: abs(found - line))
    found: list[int] = []
    for candidate in near[:_MOST_RANGES]:
        sites = line_sites(SourceRange(file, candidate, candidate), module.symbols, module.details)
        if any(start <= site.address < end for site in sites for start, end in ranges):
            found.append(candidate)
    return sorted(found[:2])


def _passed(given: PassedValue, type_: Type) -> ValueLocation | None:
    """At a function's first instruction: where the caller has put a parameter; None where not all of that is known."""
    size = WORD_BYTES if given.is_address else type_.size or 0
    location = ValueLocation(Recipe(), type_)
    if all(source >= STACK for source in given.sources):
        location.recipe.passed([STACK_POINTER])
        location.recipe.dereference()
        location.recipe.add(WORD_BYTES * (1 + given.sources[0] - STACK))  # above the return address
    elif any(source not in _WORDS for source in given.sources) or len(given.sources) * WORD_BYTES < size:
        return None
    else:
        location.recipe.passed([_WORDS[source] for source in given.sources])
    if given.is_address:
        location.dereferenced[location.recipe.dereference()] = given.name
    return location


def _pointee(type_: Type) -> Record | None:
    """The class that a pointer leads to, where it is known."""
    plain = type_.bare
    target = plain.target.bare if isinstance(plain, Pointer) else None
    return target if isinstance(target, Record) and not target.is_declaration else None


def _is_internal(local: Local) -> bool:
    """Made by the compiler, as `__for_range`; `this` and structured bindings are, too."""
    return local.is_artificial and local.name.startswith("__")


def _is_in_frame(local: Local) -> bool:
    """Whether it has one location in the frame wherever it is in scope, as without optimization."""
    return isinstance(local.location, (AtFrameBase, AtRegister, AtCfa)) and not local.ranges


def _needs_frame(local: Local) -> bool:
    """The same, or it is computed from what lies in the frame, as what a lambda has captured."""
    location = local.location
    if not isinstance(location, Computed) or local.ranges:
        return _is_in_frame(local)
    return any(step.name in ("fbreg", "call_frame_cfa", "register_plus") for step in location.operations)


def _is_signed(type_: Type) -> bool:
    if isinstance(type_, Enum):
        type_ = VOID if type_.underlying is None else type_.underlying.bare
    return isinstance(type_, Scalar) and type_.is_signed


def _last(name: str) -> str:
    """A function's name without what encloses it: `ns::f<a::b>` -> `f<a::b>`."""
    return components(name)[-1]


def _unread(name: str, reason: str) -> Exception:
    return failure("not_there", reason=f"{name} {reason}")
