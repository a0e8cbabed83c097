"""Lists of parameter types, each described once: what is read of them, and where the ABI puts values of them."""

from __future__ import annotations

from elftools.dwarf.die import DIE

from strobe.dataclass import dataclass
from strobe.model import Capture, ValueKind, ValueType
from strobe.symbols.calls.captures import of_parameter, of_result
from strobe.symbols.calls.passing import returned_shape, shape_of
from strobe.symbols.calls.system_v import INTEGER_REGISTERS, Passing, Shape, Sources, assign
from strobe.symbols.dwarf.debug_info import DebugInfo
from strobe.symbols.dwarf.dies import bare, number, target
from strobe.symbols.dwarf.signature_rows import SignatureRow, TypeKey
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.types.model import Type
from strobe.symbols.types.module_types import Types

_NO_WORDS = (ValueKind.AGGREGATE, ValueKind.FLOAT, ValueKind.VOID)
_ENCODED_FLOAT = 4  # DW_ATE_float
AsPassed = tuple[ValueType, int | None, tuple[Capture, ...]]  # a Parameter without its name


class PassedType:
    """A type as functions of one language take values of it. `is_promoted`: K&R's callers pass a double for it."""

    def __init__(self, type_: Type, shown: ValueType, shape: Shape | None, is_promoted: bool) -> None:
        self.shape = shape
        self.is_promoted = is_promoted
        self.type = type_
        self._shown = shown
        self._at: dict[Sources | None, AsPassed] = {}

    def at(self, sources: Sources | None) -> AsPassed:
        """How a value of the type is shown and recorded where it is passed at these sources; None: nowhere known."""
        if sources not in self._at:
            self._at[sources] = self._as_passed(sources)
        return self._at[sources]

    def _as_passed(self, sources: Sources | None) -> AsPassed:
        kind, shape = self._shown, self.shape
        captures = of_parameter(self.type, shape, sources)
        register = sources[0] if sources and sources[0] < INTEGER_REGISTERS else None
        if shape is not None and shape.passing is Passing.REFERENCE:
            return ValueType(ValueKind.REFERENCE, 8, kind.name), register, captures
        if kind.kind is ValueKind.AGGREGATE and shape is not None and shape.integers == 2 and _is_fat_pointer(kind):
            return ValueType(ValueKind.POINTER, 8, kind.name), register, captures
        has_word = not kind.members and kind.kind not in _NO_WORDS and kind.size <= 8
        return kind, register if has_word else None, captures


@dataclass(frozen=True, slots=True)
class Prototype:
    """`assigned`: as `assign` gives it; `result`: None in doubt. `return_captures`: what is recorded of a value that
    really is returned."""

    passed: tuple[PassedType, ...]
    assigned: tuple[Sources | None, ...]
    result: Shape | None
    returns: ValueType
    return_captures: tuple[Capture, ...]

    @property
    def shapes(self) -> list[Shape | None]:
        """Of the parameters, in their order; None in doubt."""
        return [passed.shape for passed in self.passed]


class Prototypes:
    """Of one module. Its methods are called under the lock of `debug_info.dwarf`."""

    def __init__(self, debug_info: DebugInfo) -> None:
        self._debug_info = debug_info
        self._types = Types(debug_info)
        self._known: dict[tuple[TypeKey | str, ...], Prototype] = {}
        self._passed: dict[tuple[TypeKey, str], PassedType] = {}
        self._shapes: dict[tuple[TypeKey, str], Shape | None] = {}

    def of(self, row: SignatureRow, language: str) -> Prototype:
        """Raises one of UNREADABLE where a type is damaged."""
        key = (language, row.returned, *(type_ for _, type_, _, _ in row.parameters))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._make(row, language)
        return found

    def types(self, row: SignatureRow) -> tuple[tuple[Type, ...], Type]:
        """Those of the parameters, and of the result. Raises one of UNREADABLE where one is damaged."""
        parameters = tuple(self._types.of_die(_without_const(self._die(type_))) for _, type_, _, _ in row.parameters)
        return parameters, self._types.of_die(self._die(row.returned))

    def shapes(self, row: SignatureRow, language: str) -> list[Shape | None]:
        """Those of the parameters, None in doubt."""
        return [self._shape(type_, language) for _, type_, _, _ in row.parameters]

    def result(self, row: SignatureRow, language: str) -> Shape | None:
        """That of the value returned; None in doubt."""
        try:
            return returned_shape(self._die(row.returned), language)
        except UNREADABLE:  # a Doubt is one, too
            return None

    def _make(self, row: SignatureRow, language: str) -> Prototype:
        passed = tuple(self._passed_type(type_, language) for _, type_, _, _ in row.parameters)
        die, result = self._die(row.returned), self.result(row, language)
        sources = tuple(assign(result, [one.shape for one in passed]))
        captures = of_result(self._types.of_die(die), result, language)
        return Prototype(passed, sources, result, self._types.value_type(die), captures)

    def _passed_type(self, key: TypeKey, language: str) -> PassedType:
        found = self._passed.get((key, language))
        if found is None:
            die = self._die(key)
            plain = _without_const(die)
            is_promoted = language == "c" and _is_short_float(die)
            shape = self._shape(key, language)
            found = PassedType(self._types.of_die(plain), self._types.value_type(plain), shape, is_promoted)
            self._passed[key, language] = found
        return found

    def _shape(self, key: TypeKey, language: str) -> Shape | None:
        if key is None:  # a parameter has a type
            return None
        if (key, language) not in self._shapes:
            try:
                shape = shape_of(self._die(key), language)
            except UNREADABLE:  # a Doubt is one, too
                shape = None
            self._shapes[key, language] = shape
        return self._shapes[key, language]

    def _die(self, key: TypeKey) -> DIE | None:
        if key is None:
            return None
        dwarf = self._debug_info.dwarf
        die: DIE = dwarf.get_DIE_from_refaddr(key) if key >= 0 else dwarf.get_DIE_by_sig8(~key)
        return die


def _without_const(die: DIE | None) -> DIE | None:
    """`T* const this` is `T* this` to a caller."""
    return target(die) if die is not None and die.tag == "DW_TAG_const_type" else die


def _is_short_float(die: DIE | None) -> bool:
    plain = bare(die)
    if plain is None or plain.tag != "DW_TAG_base_type":
        return False
    return number(plain, "DW_AT_encoding") == _ENCODED_FLOAT and (number(plain, "DW_AT_byte_size") or 0) < 8


def _is_fat_pointer(kind: ValueType) -> bool:
    return kind.name.startswith(("&", "*", "alloc::boxed::Box<"))
