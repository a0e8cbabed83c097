"""Parameters and return types of functions, read when somebody asks, with the sources that are certain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from strobe.dataclass import dataclass, replace
from strobe.model import FunctionSymbol, Parameter
from strobe.symbols import names
from strobe.symbols.calls.evidence import Evidence
from strobe.symbols.calls.prototypes import Prototype, Prototypes
from strobe.symbols.calls.system_v import Passing, Sources, result_sources
from strobe.symbols.dwarf.debug_info import DebugInfo
from strobe.symbols.dwarf.dies import Doubt
from strobe.symbols.dwarf.signature_rows import SignatureRow
from strobe.symbols.function_table import FunctionTable
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.types.model import Type, Void


@dataclass(frozen=True, slots=True)
class SignatureTypes:
    """Types of a function's parameters, in their order, and of what it returns. `returns_address`: of an object behind
    a hidden pointer, whose address certainly comes back in rax."""

    parameters: tuple[Type, ...]
    returned: Type
    returns_address: bool


@dataclass(frozen=True, slots=True)
class PassedValue:
    """What a call is given, or gives back. `sources`: STROBE_SOURCE_* of its words, in their order; none where it is
    not certain what they are. `is_address`: they hold the address where the value lies."""

    name: str
    type: Type
    sources: Sources
    is_address: bool


@dataclass(frozen=True, slots=True)
class CallValues:
    """`returned`: None of a function that returns nothing. `function`: whose calls they are."""

    parameters: tuple[PassedValue, ...]
    returned: PassedValue | None
    function: FunctionSymbol | None = None


_OTHER_ABI = ("-mlong-double-128", "-mabi=ms")  # options that gcc notes


class Signatures:
    """Signatures of one module's functions, by address."""

    def __init__(self, debug_info: DebugInfo, functions: FunctionTable, has_symtab: bool) -> None:
        self.debug_info = debug_info
        self._functions = functions
        self._has_symtab = has_symtab
        self._prototypes = Prototypes(debug_info)
        self._evidence = Evidence(debug_info, functions, self._prototypes)

    def anew(self) -> Signatures:
        """The same, without what has been read of single functions."""
        return Signatures(self.debug_info, self._functions, self._has_symtab)

    def fill_in(self, functions: Sequence[FunctionSymbol]) -> list[FunctionSymbol]:
        """The functions with `parameters` and `returns`; both stay None where the compiler may have changed them."""
        dies = [self._functions.die_at(function.address) for function in functions]
        rows = self._rows([die for die in dies if die is not None])
        return [
            function if die is None else self._filled(self._marked(function, row := next(rows)), row)
            for function, die in zip(functions, dies, strict=True)
        ]

    def _marked(self, function: FunctionSymbol, row: SignatureRow | None) -> FunctionSymbol:
        """Also a clone, and one whose parameters are in doubt."""
        try:
            with self.debug_info.dwarf.lock:
                is_unseen = row is not None and self._evidence.inlines_unseen(row)
        except UNREADABLE:  # a Doubt is one, too
            is_unseen = True
        return replace(function, inlines_unseen=True) if is_unseen else function

    def types_of(self, functions: Sequence[FunctionSymbol]) -> list[SignatureTypes | None]:
        """None for a function of which `fill_in` says nothing."""
        dies = [self._die_of(function) for function in functions]
        rows = self._rows([die for die in dies if die is not None])
        return [
            None if die is None else self._types(function, next(rows))
            for function, die in zip(functions, dies, strict=True)
        ]

    def _types(self, function: FunctionSymbol, row: SignatureRow | None) -> SignatureTypes | None:
        try:
            with self.debug_info.dwarf.lock:
                if row is None or row.language is None:
                    return None
                result = self._prototypes.of(row, row.language).result
                is_address = result is not None and result.is_behind_pointer
                is_kept = is_address and self._evidence.keeps_result(row, function.address, result)
                return SignatureTypes(*self._prototypes.types(row), is_kept)
        except UNREADABLE:  # a Doubt is one, too
            return None

    def values_of(self, functions: Sequence[FunctionSymbol]) -> list[CallValues | None]:
        """None for a function whose signature is not known."""
        dies = [self._die_of(function) for function in functions]
        rows = self._rows([die for die in dies if die is not None])
        return [
            None if die is None else self._values(function, next(rows))
            for function, die in zip(functions, dies, strict=True)
        ]

    def _values(self, function: FunctionSymbol, row: SignatureRow | None) -> CallValues | None:
        try:
            with self.debug_info.dwarf.lock:
                if row is None or row.language is None:
                    return None
                prototype = self._prototypes.of(row, row.language)
                types, returned = self._prototypes.types(row)
                parameters = tuple(self._passed_values(function, row, prototype, types))
                result = prototype.result
                is_kept = self._is_regular(function, row) and self._evidence.keeps_result(row, function.address, result)
                sources = result_sources(result) if is_kept else ()
                is_address = result is not None and result.is_behind_pointer
                is_void = isinstance(returned.bare, Void)
                given_back = None if is_void else PassedValue("", returned, sources, is_address)
                return CallValues(parameters, given_back, function)
        except UNREADABLE:  # a Doubt is one, too
            return None

    def _passed_values(
        self, function: FunctionSymbol, row: SignatureRow, prototype: Prototype, types: Sequence[Type]
    ) -> Iterator[PassedValue]:
        """Without sources where the compiler may have changed them."""
        certain: Sequence[Sources | None] = [None] * len(types)
        if self._is_regular(function, row):
            with suppress(Doubt):
                certain = self._evidence.certain(row, prototype)
        for number, (type_, passed, sources) in enumerate(zip(types, prototype.passed, certain, strict=True)):
            name = row.parameters[number][0] or f"arg{number}"
            is_changed = passed.is_promoted and not row.is_prototyped
            is_address = passed.shape is not None and passed.shape.passing is Passing.REFERENCE
            yield PassedValue(name, type_, () if is_changed else sources or (), is_address)

    def _is_regular(self, function: FunctionSymbol, row: SignatureRow) -> bool:
        return self.debug_info.machine == "x86-64" and self._is_plain(function, row)

    def _is_plain(self, function: FunctionSymbol, row: SignatureRow) -> bool:
        """Whether what the ABI says of the function holds, as far as can be seen."""
        may_be_unseen_clone = not self._has_symtab and not self._functions.is_open(function.address)
        return not (may_be_unseen_clone or row.is_incomplete) and self._follows_abi(row)

    def _die_of(self, function: FunctionSymbol) -> int | None:
        return None if names.is_changed_clone(function.raw_name) else self._functions.die_at(function.address)

    def _rows(self, dies: Sequence[int]) -> Iterator[SignatureRow | None]:
        try:
            return iter(self.debug_info.signatures(dies))
        except UNREADABLE:
            return iter([None] * len(dies))

    def _filled(self, function: FunctionSymbol, row: SignatureRow | None) -> FunctionSymbol:
        if names.is_changed_clone(function.raw_name):
            return function
        try:
            with self.debug_info.dwarf.lock:
                return function if row is None else self._read(function, row)
        except UNREADABLE:  # a Doubt is one, too
            return function

    def _read(self, function: FunctionSymbol, row: SignatureRow) -> FunctionSymbol:
        if row.language is None or not self._is_plain(function, row):
            return function
        if not row.parameters and not self.debug_info.lists_parameters(row.unit):
            return function
        prototype = self._prototypes.of(row, row.language)
        if self.debug_info.machine != "x86-64":
            return replace(
                function,
                parameters=_parameters(row, prototype, [None] * len(row.parameters)),
                returns=prototype.returns,
            )
        certain = self._evidence.certain(row, prototype)
        is_kept = self._evidence.keeps_result(row, function.address, prototype.result)
        return replace(
            function,
            parameters=_parameters(row, prototype, certain),
            returns=prototype.returns,
            return_captures=prototype.return_captures if is_kept else (),
        )

    def _follows_abi(self, row: SignatureRow) -> bool:
        producer = self.debug_info.producer(row.unit)
        return not row.has_other_abi and not any(option in producer for option in _OTHER_ABI)


def _parameters(row: SignatureRow, prototype: Prototype, certain: Iterable[Sources | None]) -> tuple[Parameter, ...]:
    parameters: list[Parameter] = []
    for (name, *_), passed, sources in zip(row.parameters, prototype.passed, certain, strict=True):
        is_promoted = passed.is_promoted and not row.is_prototyped
        parameters.append(Parameter(name or f"arg{len(parameters)}", *passed.at(None if is_promoted else sources)))
    return tuple(parameters)
