"""The functions of a module: symbol tables and debug information put together, one function per address."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

from strobe.model import FunctionSymbol
from strobe.symbols import cache, names
from strobe.symbols.cache import CachedModule, SymbolCache
from strobe.symbols.damage import UNREADABLE
from strobe.symbols.debug_info import UNNAMED, CodeRow, DebugInfo
from strobe.symbols.details import ModuleDetails
from strobe.symbols.image import Image, TableFunction, open_image
from strobe.symbols.lines import SourceLines
from strobe.symbols.signature import Signatures

_KEPT_FACTS = ("has_debug_info", "has_symtab", "register_frame", "warnings")
_BIG_BYTES = 100 << 20
_BYTES_PER_SECOND = 100 << 20  # of .debug_info, about; for the announcement only


@dataclass
class ModuleSymbols:
    """What is known of one file. Addresses are link-time: at run time `base + (address - link_base)`.

    `has_debug_info`: some function comes with source and parameters. `inlined_sites`: name -> how often a function was
    inlined; `inlined_only`: of those, the ones without a copy of their own. `warnings` are worded for the user.
    """

    path: str
    build_id: str | None
    link_base: int
    functions: list[FunctionSymbol]
    has_debug_info: bool = False
    has_symtab: bool = False
    inlined_sites: dict[str, int] = field(default_factory=dict)
    register_frame: int | None = None
    warnings: list[str] = field(default_factory=list)

    @cached_property
    def inlined_only(self) -> dict[str, int]:
        own = {function.name for function in self.functions}
        return {name: sites for name, sites in self.inlined_sites.items() if name not in own}

    @cached_property
    def scoped_names(self) -> list[str]:
        """Names as patterns see them, in the order of `functions`."""
        return [names.scoped(function.name) for function in self.functions]

    @cached_property
    def scoped_inlined(self) -> list[str]:
        """The names of `inlined_only` as patterns see them, in its order."""
        return [names.scoped(name) for name in self.inlined_only]


class SymbolResolver(Protocol):
    """Where functions come from; `functions` of a module have no parameters until `detail` fills them in."""

    def module(self, path: str) -> ModuleSymbols: ...

    def detail(self, functions: Sequence[FunctionSymbol]) -> list[FunctionSymbol]: ...


@dataclass
class _Loaded:
    key: tuple[int, int, int]  # device, mtime in ns, size: another one, and the file was replaced
    symbols: ModuleSymbols
    signatures: Signatures | None

    @cached_property
    def details(self) -> ModuleDetails | None:
        return None if self.signatures is None else ModuleDetails(self.signatures.debug_info)


class ElfResolver:
    """Symbols of ELF files, each read once; may be shared by threads.

    `progress` is told, in a sentence, before a file that takes seconds.
    """

    def __init__(self, progress: Callable[[str], None] | None = None, cache: SymbolCache | None = None) -> None:
        self._progress = progress or (lambda sentence: None)
        self._cache = cache or SymbolCache()
        self._loaded: dict[str, _Loaded] = {}
        self._lock = threading.RLock()  # pyelftools reads by position: one reader at a time

    def module(self, path: str) -> ModuleSymbols:
        """Raises StrobeError where the file cannot be read or is no ELF file of this architecture."""
        with self._lock:
            return self._load(path).symbols

    def detail(self, functions: Sequence[FunctionSymbol]) -> list[FunctionSymbol]:
        """The same functions, in the same order, with parameters and return type where these are certain."""
        with self._lock:
            return [self._with_signature(function) for function in functions]

    def lines(self, path: str) -> SourceLines | None:
        """Line tables of a module; None where it has no debug information. Errors as module()."""
        details = self.details(path)
        return None if details is None else details.lines

    def details(self, path: str) -> ModuleDetails | None:
        """Lines, types, variables and frames of a module; None where it has no debug information. Errors as module().

        For one thread at a time.
        """
        with self._lock:
            return self._load(path).details

    def _with_signature(self, function: FunctionSymbol) -> FunctionSymbol:
        signatures = self._load(function.module).signatures
        return function if signatures is None else signatures.fill_in(function)

    def _load(self, path: str) -> _Loaded:
        key = _file_key(path)
        loaded = self._loaded.get(path)
        if loaded is None or loaded.key != key:
            loaded = self._loaded[path] = self._read(path, key)
        return loaded

    def _read(self, path: str, key: tuple[int, int, int]) -> _Loaded:
        image = open_image(path)
        try:
            if image.section_size(".debug_info") + image.section_size(".symtab") < cache.WORTH_BYTES:
                return _Loaded(key, *self._read_anew(image))
            name = cache.key_of(*_identity(image, key))
            kept = self._cache.load(name, path)
            if kept is not None:
                return _Loaded(key, *_from_cache(image, kept, self._cache.prefix(name)))
            symbols, signatures = self._read_anew(image, self._cache.prefix(name))
            # the first answer does not wait for the disk
            kept = _for_cache(symbols, signatures)
            threading.Thread(target=self._cache.save, args=(name, kept), name="strobe-symbols").start()
            return _Loaded(key, symbols, signatures)
        finally:
            image.close()

    def _read_anew(self, image: Image, files: Path | None = None) -> tuple[ModuleSymbols, Signatures | None]:
        symbols = ModuleSymbols(image.path, image.build_id, image.link_base, [], has_symtab=image.has_symtab)
        debug_info = self._debug_info(image, files, symbols.warnings)
        rows = _unique_rows(debug_info.rows()) if debug_info is not None else {}
        if debug_info is not None:
            symbols.warnings.extend(_complaints(Path(image.path).name, debug_info))
        table = _symbol_tables(image, symbols.warnings)
        symbols.functions = _merged(image.path, table, rows)
        symbols.has_debug_info = bool(rows)
        symbols.inlined_sites = debug_info.inlined_sites() if debug_info is not None else {}
        symbols.register_frame = next(
            (f.address for f in table if f.name == "__register_frame" and not f.is_exported), None
        )
        if debug_info is None:
            return symbols, None
        offsets = {row.address: row.die_offset for row in rows.values()}
        open_to_others = {function.address for function in table if function.is_global}
        return symbols, Signatures(debug_info, offsets, open_to_others, image.has_symtab)

    def _debug_info(self, image: Image, files: Path | None, warnings: list[str]) -> DebugInfo | None:
        size = image.section_size(".debug_info")
        name = Path(image.path).name
        if size == 0:
            return None
        if size > _BIG_BYTES:
            seconds = size // _BYTES_PER_SECOND
            self._progress(f"Reading {size >> 20} MB of debug information of {name}; takes about {seconds} s, once.")
        try:
            debug_info = DebugInfo(image, files)
            debug_info.scan()
            return debug_info
        except UNREADABLE as error:
            warnings.append(_unreadable(name, str(error) or type(error).__name__))
            return None


def _symbol_tables(image: Image, warnings: list[str]) -> list[TableFunction]:
    try:
        return list(image.functions())
    except UNREADABLE as error:
        reason = str(error) or type(error).__name__
        warnings.append(f"The symbol table of {Path(image.path).name} cannot be read ({reason}).")
        return []


def _file_key(path: str) -> tuple[int, int, int]:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return 0, 0, 0  # open_image words the error
    return status.st_dev ^ status.st_ino, status.st_mtime_ns, status.st_size


def _identity(image: Image, key: tuple[int, int, int]) -> tuple[object, ...]:
    """What tells a module from all others; a stripped copy has the same build id. The name is in the warnings."""
    sections = tuple((section.name, section.plain_size) for section in image.sections())
    return Path(image.path).name, image.build_id or (image.path, key), key[2], sections


def _for_cache(symbols: ModuleSymbols, signatures: Signatures | None) -> CachedModule:
    facts = {name: getattr(symbols, name) for name in _KEPT_FACTS} | {"has_signatures": signatures is not None}
    offsets = {} if signatures is None else signatures.die_offsets
    open_to_others = set() if signatures is None else signatures.global_addresses
    return CachedModule(facts, symbols.functions, symbols.inlined_sites, offsets, open_to_others)


def _from_cache(image: Image, kept: CachedModule, files: Path | None) -> tuple[ModuleSymbols, Signatures | None]:
    symbols = ModuleSymbols(
        image.path, image.build_id, image.link_base, kept.functions, inlined_sites=kept.inlined_sites
    )
    for name in _KEPT_FACTS:
        setattr(symbols, name, kept.facts[name])
    if not kept.facts["has_signatures"]:
        return symbols, None
    return symbols, Signatures(DebugInfo(image, files), kept.die_offsets, kept.open_addresses, image.has_symtab)


def _unreadable(name: str, reason: str) -> str:
    advice = "only function names are known. Build it without compression of debug sections (-gz=none)"
    return f"The debug information of {name} cannot be read ({reason}); {advice}."


def _complaints(name: str, debug_info: DebugInfo) -> list[str]:
    complaints = []
    split = debug_info.split_units()
    if split:
        complaints.append(
            f"{split} units of {name} keep their debug information in .dwo files, which are not read: functions there "
            "have no source lines and arguments. Build without -gsplit-dwarf."
        )
    if debug_info.damaged:
        count, reason = len({unit for unit, _ in debug_info.damaged}), debug_info.damaged[0][1]
        complaints.append(f"The debug information of {count} units of {name} is damaged ({reason}).")
    return complaints


def _unique_rows(rows: Iterable[CodeRow]) -> dict[int, CodeRow]:
    """One row per address; identical functions that were folded into one keep the first name."""
    unique: dict[int, CodeRow] = {}
    for row in rows:
        unique.setdefault(row.address, row)
    return unique


def _merged(path: str, symbols: list[TableFunction], rows: dict[int, CodeRow]) -> list[FunctionSymbol]:
    at_address: dict[int, list[TableFunction]] = {}
    for symbol in symbols:
        if not names.is_cold(symbol.name):
            at_address.setdefault(symbol.address, []).append(symbol)
    chosen = {address: _preferred(same, rows.get(address)) for address, same in at_address.items()}
    chosen = {address: symbol for address, symbol in chosen.items() if not names.is_adjuster(symbol.name)}
    readable = _readable_names(chosen, rows)
    merged = [
        _function(path, address, readable[address], chosen.get(address), at_address.get(address, []), rows.get(address))
        for address in chosen.keys() | rows.keys()
    ]
    return sorted(merged, key=lambda function: function.address)


def _preferred(same: list[TableFunction], row: CodeRow | None) -> TableFunction:
    """Of symbols at one address: the one debug information names, then clones, global ones, plain spellings."""
    linkage = None if row is None else row.linkage_name or row.name

    def rank(symbol: TableFunction) -> tuple[bool, bool, bool, int, int, str]:
        underscores = len(symbol.name) - len(symbol.name.lstrip("_"))
        is_clone = row is not None and names.is_clone(symbol.name)
        bare = symbol.name
        return bare != linkage, not is_clone, not symbol.is_global, underscores, len(bare), bare

    return min(same, key=rank)


def _readable_names(chosen: dict[int, TableFunction], rows: dict[int, CodeRow]) -> dict[int, str]:
    """Name by address. Debug information's, save for lambdas: `<lambda(int)>` there, numbered in the symbol."""
    readable = {address: names.rust_free(row.name) for address, row in rows.items()}
    unclear = [a for a in chosen if a not in readable or UNNAMED in readable[a] or "<lambda" in readable[a]]
    by_symbol = names.demangled([chosen[address].name for address in unclear])
    for address, name in zip(unclear, by_symbol, strict=True):
        if address not in readable or name != names.without_clone(chosen[address].name):
            readable[address] = name
    return readable


def _function(
    path: str,
    address: int,
    name: str,
    symbol: TableFunction | None,
    same: list[TableFunction],
    row: CodeRow | None,
) -> FunctionSymbol:
    raw_name = symbol.name if symbol is not None else (row.linkage_name if row is not None else None)
    size = row.size if row is not None else max((other.size for other in same), default=0)
    return FunctionSymbol(
        name=name,
        raw_name=raw_name or name,
        module=path,
        address=address,
        size=size,
        source_file=None if row is None else row.source_file,
        line=None if row is None else row.line,
        exported=any(other.is_exported for other in same),
    )
