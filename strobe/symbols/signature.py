"""Parameters and return type of one function, read when somebody asks, with the registers that are certain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from elftools.dwarf.die import DIE
from elftools.dwarf.locationlists import LocationParser

from strobe.model import FunctionSymbol, Parameter, ValueKind, ValueType
from strobe.symbols import names
from strobe.symbols.abi import INTEGER_REGISTERS, Doubt, Place, Places, Shape, assign
from strobe.symbols.captures import of_parameter, of_result
from strobe.symbols.damage import UNREADABLE
from strobe.symbols.debug_info import DebugInfo
from strobe.symbols.dies import bare, number, target
from strobe.symbols.entry_places import Seen, seen_at_entry
from strobe.symbols.function_table import FunctionTable
from strobe.symbols.optimization import (
    is_complete,
    is_kept_in_frame,
    is_like_elsewhere,
    is_plain_gcc,
    is_unoptimized,
    shows_convention,
    shows_optimization,
)
from strobe.symbols.shapes import returned_shape, shape_of
from strobe.symbols.types import Types

# DWARF 5, section 7.12, and the later numbers of dwarfstd.org
_C = frozenset({0x01, 0x02, 0x0C, 0x1D, 0x2C, 0x3E})
_CPLUSPLUS = frozenset({0x04, 0x1A, 0x21, 0x2A, 0x2B, 0x3A})
_RUST = 0x1C
_CC_NORMAL = 1
_OTHER_ABI = ("-mlong-double-128", "-mabi=ms")  # options that gcc notes
_IN_CHARGE = "__in_chrg"  # a constructor's parameter that seldom any code gets: only where one body serves all variants
_ENCODED_FLOAT = 4  # DW_ATE_float
_MAX_HOPS = 8
_NO_WORDS = (ValueKind.AGGREGATE, ValueKind.FLOAT, ValueKind.VOID)
_NEAR_CONVENTIONS = 256
_NEIGHBOURS = 16  # functions looked at on either side
Assigned = list[Places | None]


class Signatures:
    """Signatures of one module's functions, by address."""

    def __init__(self, debug_info: DebugInfo, functions: FunctionTable, has_symtab: bool) -> None:
        self.debug_info = debug_info
        self._functions = functions
        self._has_symtab = has_symtab
        self._types = Types(debug_info)
        self._unoptimized: dict[int, bool] = {}  # by unit
        self._foreign: dict[int, bool] = {}  # by DIE

    @cached_property
    def _locations(self) -> LocationParser:
        return LocationParser(self.debug_info.dwarf.location_lists())

    def fill_in(self, function: FunctionSymbol) -> FunctionSymbol:
        """The function with `parameters` and `returns`; both stay None where the compiler may have changed them."""
        offset = self._functions.die_at(function.address)
        if offset is None or names.is_changed_clone(function.raw_name):
            return function
        try:
            with self.debug_info.dwarf.lock:
                return self._read(function, self._die_at(offset))
        except UNREADABLE:  # a Doubt is one, too
            return function

    def _read(self, function: FunctionSymbol, die: DIE) -> FunctionSymbol:
        chain = _origins(die)
        language = next((found for origin in reversed(chain) if (found := _language(origin))), None)
        may_be_unseen_clone = not self._has_symtab and not self._functions.is_open(function.address)
        if language is None or may_be_unseen_clone or not _follows_abi(die):
            return function
        returned = next((d for d in chain if "DW_AT_type" in d.attributes), die)
        formals = self._formals(chain)
        if not formals and not self.debug_info.lists_parameters(die.offset):
            return function
        shapes = [_shape(formal, language) for formal in formals]
        result = _returned(returned, language)
        assigned: Assigned = [None] * len(formals)
        is_native = self.debug_info.machine == "x86-64"
        if is_native:
            self._check_convention(die, formals, shapes, result)
            assigned = self._certain(die, formals, shapes, assign(result, shapes))
        parameters = tuple(
            self._parameter(index, formal, shape, None if _is_promoted(formal, chain, language) else places)
            for index, (formal, shape, places) in enumerate(zip(formals, shapes, assigned, strict=True))
        )
        type_ = self._types.of_die(target(returned))
        is_kept = is_native and (_producer(die).startswith("GNU") or self._keeps_result(function.address))
        captures = of_result(type_, result, language) if is_kept else ()
        returns = self._types.value_type(target(returned))
        return replace(function, parameters=parameters, returns=returns, return_captures=captures)

    def _formals(self, chain: list[DIE]) -> list[DIE]:
        """The concrete function's parameters. Fewer or more than its origin has: then some were lost, a Doubt."""
        own = self._listed(chain[0])
        for origin in chain[1:]:
            declared = self._listed(origin)
            if len(_written(declared)) != len(_written(own)):
                raise Doubt("parameters were lost")
        if any(_inherited_text(f, "DW_AT_name") == _IN_CHARGE and "DW_AT_location" not in f.attributes for f in own):
            raise Doubt("a constructor that is only an outline")
        return own

    def _listed(self, die: DIE) -> list[DIE]:
        offsets = self.debug_info.parameters(die.offset)
        return [die.cu.get_DIE_from_refaddr(offset) for offset in offsets]

    def _certain(self, die: DIE, formals: list[DIE], shapes: list[Shape | None], assigned: Assigned) -> Assigned:
        """`assigned` without those that other evidence speaks against, or that have none where it is needed.

        gcc renames a function whose parameters it changes (`.isra`, `.constprop`). LLVM does not, and leaves out
        parameters nobody uses, or has callers pass anything for them; so its optimized code is believed only where
        debug information names the same place, which it does not for what is not used.
        """
        seen = self._seen(die, formals)
        if any(entry.contradicts(places) for entry, places in zip(seen, assigned, strict=True)):
            raise Doubt("parameters are not where the ABI puts them")
        producer = _producer(die)
        if producer.startswith("GNU") or (
            self._is_complete(die, formals, producer)
            and is_unoptimized(shapes, assigned, seen)
            and self._shows_no_optimization(die, producer)
        ):
            return assigned
        return [places if entry.confirms(places) else None for entry, places in zip(seen, assigned, strict=True)]

    def _is_complete(self, die: DIE, formals: list[DIE], producer: str) -> bool:
        """Whether all parameters are listed: clang leaves out objects passed by address that nothing uses."""
        chain = _origins(die)
        if "rustc" in producer or len(chain) > 1:
            return is_complete(producer, len(chain) > 1)
        if _language(die) != "c++" or _text(die, "DW_AT_name") == "main":
            return True
        count = names.parameter_count(_text(die, "DW_AT_linkage_name"))
        if count is not None and count != len(_written(formals)):
            raise Doubt("parameters are not all listed")
        return count is not None

    def _shows_no_optimization(self, die: DIE, producer: str) -> bool:
        """Parameters that stay in the frame are no proof: code that takes their address keeps them there, too. clang
        describes the calls of what it optimized; rustc does not, so the functions around must tell."""
        address = number(die, "DW_AT_low_pc")
        if shows_optimization(die) or address is None:
            return False
        return "rustc" not in producer or self._is_unoptimized_unit(address)

    def _seen(self, die: DIE, formals: list[DIE]) -> list[Seen]:
        low = number(die, "DW_AT_low_pc")
        return [seen_at_entry(formal, die, low, self._locations) for formal in formals]

    def _keeps_result(self, address: int) -> bool:
        """LLVM leaves out results that nobody uses, of functions that nobody else can call, where it optimizes."""
        return self._functions.is_open(address) or self._is_unoptimized_unit(address)

    def _check_convention(self, die: DIE, formals: list[DIE], shapes: list[Shape | None], result: Shape | None) -> None:
        """gcc does not note where a function has another calling convention (ms_abi). Where the parameters' places tell
        nothing of it, the functions around must have none of another: else a Doubt."""
        address = number(die, "DW_AT_low_pc")
        is_alike = not formals and (result is None or is_like_elsewhere(result))
        if is_alike or address is None or not _producer(die).startswith("GNU"):
            return
        found = list(zip(shapes, assign(result, shapes), self._seen(die, formals), strict=True))
        is_plain = is_plain_gcc(_producer(die))
        if any(shows_convention(*one, is_plain) for one in found):
            return
        if all(entry.confirms(places) for _, places, entry in found) and (result is None or is_like_elsewhere(result)):
            return
        if True in self._around(address, self._is_foreign, _NEAR_CONVENTIONS):
            raise Doubt("perhaps another calling convention")

    def _is_unoptimized_unit(self, address: int) -> bool:
        """Whether all parameters of the functions around, of the same unit, have their places in the frame."""
        offset = self._functions.die_at(address)
        unit = None if offset is None else self._die_at(offset).cu.cu_offset
        if unit is None:
            return False
        if unit not in self._unoptimized:
            verdicts = self._around(address, self._is_kept_in_frame, _NEIGHBOURS)
            self._unoptimized[unit] = True in verdicts and False not in verdicts
        return self._unoptimized[unit]

    def _around(self, address: int, judge: Callable[[DIE], bool | None], most: int) -> set[bool | None]:
        """What is found of `most` functions on either side, of the same unit; None where one tells nothing."""
        place = self._functions.at(address)
        own = self._functions.die_at(address)
        if place is None or own is None:
            return set()
        unit = self._die_at(own).cu.cu_offset
        near = range(max(0, place - most), min(len(self._functions), place + most + 1))
        offsets = (self._functions.die_at(self._functions[index].address) for index in near)
        dies = (self._die_at(offset) for offset in offsets if offset is not None)
        return {judge(die) for die in dies if die.cu.cu_offset == unit}

    def _is_kept_in_frame(self, die: DIE) -> bool | None:
        if shows_optimization(die):
            return False
        formals = self._listed(die)
        return is_kept_in_frame(self._shapes(die, formals), self._seen(die, formals))

    def _is_foreign(self, die: DIE) -> bool:
        """Whether its parameters are not where the ABI puts them."""
        if die.offset not in self._foreign:
            formals = self._listed(die)
            returned = next((d for d in _origins(die) if "DW_AT_type" in d.attributes), die)
            assigned = assign(_returned(returned, "c"), self._shapes(die, formals))
            found = zip(self._seen(die, formals), assigned, strict=True)
            self._foreign[die.offset] = any(entry.contradicts(places) for entry, places in found)
        return self._foreign[die.offset]

    def _shapes(self, die: DIE, formals: list[DIE]) -> list[Shape | None]:
        language = next((found for origin in reversed(_origins(die)) if (found := _language(origin))), "c")
        return [_shape(formal, language) for formal in formals]

    def _parameter(self, index: int, formal: DIE, shape: Shape | None, places: Places | None) -> Parameter:
        chain = _origins(formal)
        name = _inherited_text(formal, "DW_AT_name") or f"arg{index}"
        typed = next((d for d in chain if "DW_AT_type" in d.attributes), formal)
        die = _without_const(target(typed))
        kind = self._types.value_type(die)
        captures = of_parameter(self._types.of_die(die), shape, places)
        register = places[0] if places and places[0] < INTEGER_REGISTERS else None
        if shape is not None and shape.place is Place.REFERENCE:
            return Parameter(name, ValueType(ValueKind.REFERENCE, 8, kind.name), register, captures)
        if kind.kind is ValueKind.AGGREGATE and shape is not None and shape.integers == 2 and _is_fat_pointer(kind):
            return Parameter(name, ValueType(ValueKind.POINTER, 8, kind.name), register, captures)
        has_word = not kind.members and kind.kind not in _NO_WORDS and kind.size <= 8
        return Parameter(name, kind, register if has_word else None, captures)

    def _die_at(self, offset: int) -> DIE:
        die: DIE = self.debug_info.dwarf.get_DIE_from_refaddr(offset)
        return die


def _without_const(die: DIE | None) -> DIE | None:
    """`T* const this` is `T* this` to a caller."""
    return target(die) if die is not None and die.tag == "DW_TAG_const_type" else die


def _origins(die: DIE) -> list[DIE]:
    """A DIE, its abstract instance, and that one's declaration."""
    chain = [die]
    while len(chain) < _MAX_HOPS:
        last = chain[-1]
        origin = target(last, "DW_AT_abstract_origin") or target(last, "DW_AT_specification")
        if origin is None:
            break
        chain.append(origin)
    return chain


def _language(die: DIE) -> str | None:
    code = number(die.cu.get_top_DIE(), "DW_AT_language")
    if code in _C:
        return "c"
    if code in _CPLUSPLUS:
        return "c++"
    return "rust" if code == _RUST else None


def _follows_abi(die: DIE) -> bool:
    producer = _producer(die)
    stated = number(die, "DW_AT_calling_convention")
    return stated in (None, _CC_NORMAL) and not any(option in producer for option in _OTHER_ABI)


def _is_promoted(formal: DIE, chain: list[DIE], language: str) -> bool:
    """Whether callers pass a double where debug information says float: a definition in the way of K&R."""
    if language != "c" or any("DW_AT_prototyped" in die.attributes for die in chain):
        return False
    typed = next((d for d in _origins(formal) if "DW_AT_type" in d.attributes), None)
    plain = None if typed is None else bare(target(typed))
    if plain is None or plain.tag != "DW_TAG_base_type":
        return False
    return number(plain, "DW_AT_encoding") == _ENCODED_FLOAT and (number(plain, "DW_AT_byte_size") or 0) < 8


def _shape(formal: DIE, language: str) -> Shape | None:
    typed = next((d for d in _origins(formal) if "DW_AT_type" in d.attributes), None)
    try:
        return None if typed is None else shape_of(target(typed), language)
    except UNREADABLE:  # a Doubt is one, too
        return None


def _returned(die: DIE, language: str) -> Shape | None:
    try:
        return returned_shape(target(die), language)
    except UNREADABLE:  # a Doubt is one, too
        return None


def _written(formals: list[DIE]) -> list[DIE]:
    """Parameters of the source, without `this` and what constructors with virtual bases get besides."""
    return [formal for formal in formals if not any("DW_AT_artificial" in die.attributes for die in _origins(formal))]


def _inherited_text(die: DIE, attribute: str) -> str:
    return next((_text(d, attribute) for d in _origins(die) if attribute in d.attributes), "")


def _producer(die: DIE) -> str:
    return _text(die.cu.get_top_DIE(), "DW_AT_producer")


def _text(die: DIE, attribute: str) -> str:
    found = die.attributes.get(attribute)
    return found.value.decode("utf-8", "replace") if found is not None and isinstance(found.value, bytes) else ""


def _is_fat_pointer(kind: ValueType) -> bool:
    return kind.name.startswith(("&", "*", "alloc::boxed::Box<"))
