"""What debug information says for and against the sources that the ABI gives to parameters and results."""

from __future__ import annotations

from collections.abc import Sequence

from strobe.symbols import names
from strobe.symbols.calls.conventions import Conventions, contradicts, seen_in
from strobe.symbols.calls.entry_sources import Seen, frame_slot
from strobe.symbols.calls.module_code import ModuleCode
from strobe.symbols.calls.optimization import (
    OPTIMIZES,
    is_complete,
    is_kept_in_frame,
    is_like_elsewhere,
    is_plain_gcc,
    is_unoptimized,
    shows_convention,
)
from strobe.symbols.calls.prototypes import Prototype, Prototypes
from strobe.symbols.calls.replacements import Replacements, is_removal_marked
from strobe.symbols.calls.system_v import Shape, Sources, result_sources
from strobe.symbols.dwarf.debug_info import DebugInfo
from strobe.symbols.dwarf.dies import Doubt
from strobe.symbols.dwarf.signature_rows import SignatureRow, TypeKey
from strobe.symbols.function_table import FunctionTable
from strobe.symbols.types.model import Record

_IN_RAX = (1, 2, 4, 8)  # bytes of structs that Microsoft's convention returns there, whatever they hold
_NEIGHBOURS = 16  # functions looked at on either side


class Evidence:
    """Of one module. Its methods are called under the lock of `debug_info.dwarf`."""

    def __init__(self, debug_info: DebugInfo, functions: FunctionTable, prototypes: Prototypes) -> None:
        self._debug_info = debug_info
        self._functions = functions
        self._prototypes = prototypes
        self._unoptimized: dict[int, bool] = {}  # by unit
        self._code = ModuleCode(functions)
        self._replacements = Replacements()
        self._conventions = Conventions(debug_info, functions, prototypes)

    def certain(self, row: SignatureRow, prototype: Prototype) -> Sequence[Sources | None]:
        """Sources without those that other evidence speaks against, or that have none where it is needed.

        gcc renames a function whose parameters it changes (`.isra`, `.constprop`). LLVM does not, and leaves out
        parameters nobody uses, or has callers pass anything for them; so its optimized code is believed only where
        debug information names the same source, which it does not for what is not used, or the function's code puts it
        from there where debug information says that it lies. Raises Doubt.
        """
        assigned = prototype.assigned
        seen = seen_in(row)
        producer = self._debug_info.producer(row.unit)
        if producer.startswith("GNU"):
            self._check_convention(row, prototype, seen)
        if contradicts(seen, assigned):
            raise Doubt("parameters are not where the ABI puts them")
        if producer.startswith("GNU") or (
            _is_complete(row, producer)
            and is_unoptimized(prototype.shapes, assigned, seen)
            and self._shows_no_optimization(row, producer)
        ):
            return assigned
        found = [
            sources if sources and (entry.confirms(sources) or self._is_stored(row, parameter, sources)) else None
            for parameter, entry, sources in zip(row.parameters, seen, assigned, strict=True)
        ]
        if row.low is not None and self._functions.is_open(row.low):
            return found
        types = [passed.type for passed in prototype.passed]
        is_marked = is_removal_marked(producer)
        return self._replacements.certain(types, prototype.shapes, found, row.language or "c", is_marked)

    def keeps_result(self, row: SignatureRow, address: int, result: Shape | None) -> bool:
        """LLVM leaves out results that nobody uses, and those that are always the same, of functions that nobody else
        can call, where it optimizes. It does so for all callers: what one reads is there."""
        if self._debug_info.producer(row.unit).startswith("GNU"):
            return not self._may_be_foreign(row, address, result)
        if self._functions.is_open(address) or self._is_unoptimized_unit(row.unit, address):
            return True
        has_traps = "rustc" in self._debug_info.producer(row.unit)
        return self._has_known_code and self._code.reads_result(address, result_sources(result), has_traps)

    def _may_be_foreign(self, row: SignatureRow, address: int, result: Shape | None) -> bool:
        """Whether gcc may have compiled the function for another convention (ms_abi), which returns small structs
        elsewhere: it has no parameters that would show which one, and what calls it does not read the result."""
        if row.parameters or result is None or result.is_behind_pointer:
            return False
        _, returned = self._prototypes.types(row)
        is_struct = isinstance(returned.bare, Record)
        if is_like_elsewhere(result) and (not is_struct or (result.integers and returned.size in _IN_RAX)):
            return False
        sources = result_sources(result)
        return bool(sources) and self._has_known_code and self._code.ignores_result(address, sources)

    def _is_stored(self, row: SignatureRow, parameter: tuple[str, TypeKey, bytes, bool], sources: Sources) -> bool:
        """Whether a parameter that lies in the frame all the time is put there from where the ABI passes it."""
        _, _, location, is_list = parameter
        slot = None if is_list else frame_slot(location, row.frame_base)
        if slot is None or row.low is None or not self._has_known_code:
            return False
        return self._code.stores(row.low, *slot, sources)

    @property
    def _has_known_code(self) -> bool:
        return self._debug_info.machine == "x86-64"

    def _check_convention(self, row: SignatureRow, prototype: Prototype, seen: Sequence[Seen]) -> None:
        """gcc does not note where a function has another calling convention (ms_abi). Where the parameters' sources
        tell nothing of it, the functions around must have none of another: else a Doubt."""
        is_alike = prototype.result is None or is_like_elsewhere(prototype.result)
        if row.low is None or (is_alike and not row.parameters):
            return
        is_plain = is_plain_gcc(self._debug_info.producer(row.unit))
        found = zip(prototype.shapes, prototype.assigned, seen, strict=True)
        if any(shows_convention(number, *one, is_plain) for number, one in enumerate(found)):
            return
        if is_alike and all(map(Seen.confirms, seen, prototype.assigned)):
            return
        if self._conventions.is_foreign_around(row.unit, row.low):
            raise Doubt("perhaps another calling convention")

    def _shows_no_optimization(self, row: SignatureRow, producer: str) -> bool:
        """Parameters that stay in the frame are no proof: code that takes their address keeps them there, too. clang
        describes the calls of what it optimized; rustc does not, so the functions around must tell."""
        if row.shows_optimization or row.low is None:
            return False
        return "rustc" not in producer or self._is_unoptimized_unit(row.unit, row.low)

    def inlines_unseen(self, row: SignatureRow) -> bool:
        """Whether the function may have been inlined without a sign: LLVM says nothing of it where no instruction is
        left, and gcc does not with LTO."""
        producer = self._debug_info.producer(row.unit)
        if "GNU" in producer:
            return "GIMPLE" in producer and OPTIMIZES.search(producer) is not None
        return not self._shows_no_optimization(row, producer)

    def _is_unoptimized_unit(self, unit: int, address: int) -> bool:
        """Whether all parameters of the functions around, of the same unit, lie in the frame."""
        if unit not in self._unoptimized:
            rows = self._debug_info.signatures(self._functions.dies(self._functions.around_entry(address, _NEIGHBOURS)))
            verdicts = {self._is_kept_in_frame(row) for row in rows if row is not None and row.unit == unit}
            self._unoptimized[unit] = True in verdicts and False not in verdicts
        return self._unoptimized[unit]

    def _is_kept_in_frame(self, row: SignatureRow) -> bool | None:
        if row.shows_optimization:
            return False
        return is_kept_in_frame(self._prototypes.shapes(row, row.language or "c"), seen_in(row))


def _is_complete(row: SignatureRow, producer: str) -> bool:
    """Whether all parameters are listed: clang leaves out objects passed by address that nothing uses."""
    if "rustc" in producer or row.has_origin:
        return is_complete(producer, row.has_origin)
    if row.language != "c++" or row.name == "main":
        return True
    count = names.parameter_count(row.linkage_name)
    if count is not None and count != row.written:
        raise Doubt("parameters are not all listed")
    return count is not None
