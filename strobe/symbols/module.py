"""The symbols of modules: read once, kept where that takes time, and read again when a file is replaced."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

from strobe import threads
from strobe._core import SymbolTable, settle_entries
from strobe.dataclass import dataclass
from strobe.model import FunctionSymbol
from strobe.own_memory import give_back, own_kb, trim_arenas
from strobe.symbols import cache
from strobe.symbols.cache import SymbolCache
from strobe.symbols.calls.signature import CallValues, Signatures, SignatureTypes
from strobe.symbols.details import ModuleDetails
from strobe.symbols.dwarf.columns import Columns, Deferred
from strobe.symbols.dwarf.debug_info import DebugInfo
from strobe.symbols.dwarf.lines import SourceLines
from strobe.symbols.dwarf.scan import Scan
from strobe.symbols.frames.beginnings import find_beginnings
from strobe.symbols.frames.unwinding import UnwindTables
from strobe.symbols.function_table import FunctionTable
from strobe.symbols.go_code import go_rows
from strobe.symbols.kept import Kept
from strobe.symbols.module_symbols import ModuleSymbols
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.debug_files import CompleteImage
from strobe.symbols.objects.debug_search import Stamp, stamp
from strobe.symbols.objects.formats import open_image

Stamps = dict[str, Stamp]
KEPT_FILES = 16  # however long they are not used
KEPT_S = 600.0  # others, after their last use
IDLE_S = 60.0  # after its last use, what was read of a file's types, functions and variables one by one goes
TRIMMED_KB = 128 << 10
FULL_KB = 400 << 10  # of memory, from which on less is kept:
FULL_FILES = 4
FULL_S = 20.0
_LOOK_S = 10.0
_BIG_BYTES = 100 << 20
_BEGINNINGS = "beginnings-1"
_BYTES_PER_SECOND = 100 << 20  # of .debug_info, about; for the announcement only


class SymbolResolver(Protocol):
    """Where functions come from; `functions` of a module have no parameters until `detail` fills them in."""

    def module(self, path: str) -> ModuleSymbols:
        """Symbols of a file. Raises StrobeError where it cannot be read."""

    def detail(self, functions: Sequence[FunctionSymbol]) -> list[FunctionSymbol]:
        """The same functions, in the same order, with parameters and return type where these are certain."""

    def signature_types(self, functions: Sequence[FunctionSymbol]) -> list[SignatureTypes | None]:
        """Types of parameters and results, in the same order; None where they are not known."""

    def call_values(self, functions: Sequence[FunctionSymbol]) -> list[CallValues | None]:
        """What calls of the functions are given and give back, in the same order; None where it is not known."""

    def details(self, path: str) -> ModuleDetails | None:
        """Lines, types, variables and frames; None where a file has no debug information."""

    def unwind_tables(self, path: str) -> UnwindTables:
        """How frames of a file are unwound."""

    def beginnings(self, path: str) -> bytes:
        """For each function of a file, in order, what else leads to its first bytes (frames/beginnings.py)."""


@dataclass
class _Loaded:
    files: Stamps  # the module's own, and where others were looked for: read again when one is there, gone or replaced
    symbols: ModuleSymbols
    signatures: Signatures | None
    cache_key: str = ""  # "" where it is not worth one
    is_used: bool = True  # since `forget_details`
    beginnings: bytes | None = None  # None: nobody has asked

    def forget_details(self) -> None:
        """Lets go what grows with what is asked for; it is read again in milliseconds."""
        self.is_used = False
        self.__dict__.pop("details", None)
        self.__dict__.pop("unwind_tables", None)
        if self.signatures is not None:
            self.signatures.debug_info.forget_units()
            self.signatures = self.signatures.anew()

    def find_beginnings(self) -> bytes:
        """As ElfResolver.beginnings."""
        functions = self.symbols.functions
        if not isinstance(functions, FunctionTable):
            return b""
        return find_beginnings(functions, self.unwind_tables.frames)

    @cached_property
    def details(self) -> ModuleDetails | None:
        return None if self.signatures is None else ModuleDetails(self.signatures.debug_info, self.symbols.path)

    @cached_property
    def unwind_tables(self) -> UnwindTables:
        return UnwindTables(self.symbols.path, None if self.signatures is None else self.signatures.debug_info)


class ElfResolver:
    """Symbols of ELF files, each read once; may be shared by threads.

    `progress` gets a sentence before a file that takes seconds.
    """

    def __init__(self, progress: Callable[[str], None] | None = None, cache: SymbolCache | None = None) -> None:
        self._progress = progress or (lambda sentence: None)
        self._cache = cache or SymbolCache()
        self._loaded: dict[str, _Loaded] = {}
        self._used: dict[str, float] = {}  # when each was, by time.monotonic
        self._next_look = 0.0
        self._next_forgetting = 0.0
        self._lock = threading.RLock()  # pyelftools reads by position: one reader at a time

    def module(self, path: str) -> ModuleSymbols:
        """Raises StrobeError where the file cannot be read or is not an ELF file of this architecture."""
        with self._lock:
            return self._load(path).symbols

    def detail(self, functions: Sequence[FunctionSymbol]) -> list[FunctionSymbol]:
        """The same functions, in the same order, with parameters and return type where these are certain."""
        with self._lock:
            by_path: dict[str, list[FunctionSymbol]] = {}
            for function in functions:
                by_path.setdefault(function.module, []).append(function)
            detailed = {path: iter(self._detail(path, own)) for path, own in by_path.items()}
            return [next(detailed[function.module]) for function in functions]

    def signature_types(self, functions: Sequence[FunctionSymbol]) -> list[SignatureTypes | None]:
        """Types of the parameters and results of functions, in the same order; None where they are not known."""
        with self._lock:
            by_path: dict[str, list[FunctionSymbol]] = {}
            for function in functions:
                by_path.setdefault(function.module, []).append(function)
            found = {path: iter(self._types_of(path, own)) for path, own in by_path.items()}
            return [next(found[function.module]) for function in functions]

    def call_values(self, functions: Sequence[FunctionSymbol]) -> list[CallValues | None]:
        """What calls of functions are given and give back, in the same order; None where that is not known."""
        with self._lock:
            found: list[CallValues | None] = [None] * len(functions)
            by_path: dict[str, list[int]] = {}
            for number, function in enumerate(functions):
                by_path.setdefault(function.module, []).append(number)
            for path, numbers in by_path.items():
                signatures = self._load(path).signatures
                values = () if signatures is None else signatures.values_of([functions[number] for number in numbers])
                for number, value in zip(numbers, values, strict=False):
                    found[number] = value
            return found

    def unwind_tables(self, path: str) -> UnwindTables:
        """Errors as module()."""
        with self._lock:
            return self._load(path).unwind_tables

    def beginnings(self, path: str) -> bytes:
        """For each function of a file, in order, what else leads to its first bytes (frames/beginnings.py); empty where
        nothing is known of that. Raises OSError, ValueError where the file is gone or damaged; errors as module()."""
        with self._lock:
            loaded = self._load(path)
            if loaded.beginnings is None:
                loaded.beginnings = self.derived(path, _BEGINNINGS, loaded.find_beginnings)
            return loaded.beginnings

    def derived(self, path: str, name: str, derive: Callable[[], bytes]) -> bytes:
        """What `derive` makes of a module's symbols; where these are cached, that is, too, under `name`, which is to
        change with what it makes. Errors as module()."""
        with self._lock:
            loaded = self._load(path)
            key = loaded.cache_key and f"{loaded.cache_key}-{name}"
            kept = self._cache.load(key) if key else None
            if kept is not None and name in kept:
                return kept[name]
            made = derive()
            if key and stamp(path) == loaded.files[path]:
                self._cache.save(key, {name: made})
            return made

    def _types_of(self, path: str, functions: Sequence[FunctionSymbol]) -> Sequence[SignatureTypes | None]:
        signatures = self._load(path).signatures
        return [None] * len(functions) if signatures is None else signatures.types_of(functions)

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

    def _detail(self, path: str, functions: Sequence[FunctionSymbol]) -> Sequence[FunctionSymbol]:
        signatures = self._load(path).signatures
        return functions if signatures is None else signatures.fill_in(functions)

    def _load(self, path: str) -> _Loaded:
        loaded = self._loaded.get(path)
        if loaded is None or any(stamp(file) != was for file, was in loaded.files.items()):
            loaded = self._loaded[path] = self._read(path)
            self._next_look = 0.0
        self._used[path] = time.monotonic()
        loaded.is_used = True
        if self._used[path] >= self._next_look:
            self._next_look = self._used[path] + _LOOK_S
            self._forget_unused()
        return loaded

    def forget_unused(self) -> None:
        """Lets go of what was read of files not used for IDLE_S; does nothing while another thread reads symbols."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            used = [loaded for loaded in self._loaded.values() if loaded.is_used]
            self._forget_unused()
            if not all(loaded.is_used for loaded in used):
                give_back()
        finally:
            self._lock.release()

    def _forget_unused(self) -> None:
        """Each build of a test may have a name of its own, and a daemon lives for weeks. What is read of a file's types
        grows with what is asked for, and goes with it."""
        memory_kb = own_kb()
        is_full = memory_kb > FULL_KB
        files, seconds = (FULL_FILES, FULL_S) if is_full else (KEPT_FILES, KEPT_S)
        oldest_first = sorted(self._used, key=self._used.__getitem__)
        for path in oldest_first[:-files]:
            if time.monotonic() - self._used[path] < seconds:
                break
            del self._loaded[path], self._used[path]
        for path, loaded in self._loaded.items():
            if loaded.is_used and time.monotonic() - self._used[path] >= IDLE_S:
                loaded.forget_details()
        if not is_full and memory_kb > TRIMMED_KB:
            trim_arenas()
        if is_full and time.monotonic() >= self._next_forgetting:
            self._next_forgetting = time.monotonic() + FULL_S
            for loaded in self._loaded.values():
                if loaded.signatures is not None:
                    loaded.signatures.debug_info.forget()
            give_back()

    def _read(self, path: str) -> _Loaded:
        own = stamp(path)
        image = CompleteImage(open_image(path))
        key = {path: own, **image.looked_at}
        try:
            if sum(map(image.section_size, (".debug_info", ".symtab", ".gopclntab"))) < cache.WORTH_BYTES:
                return self._read_anew(image, key, None)[0]
            name = cache.key_of(*_identity(image, own))
            files = self._cache.prefix(name)
            known = _from_cache(image, key, self._cache.load(name), files)
            if known is not None:
                known.cache_key = name
                return known
            loaded, kept = self._read_anew(image, key, files)
            loaded.cache_key = name
            if stamp(path) == own:  # else it was built anew meanwhile
                # the first answer does not wait for the disk
                threads.start("strobe-symbols", lambda: self._save(name, kept), threads.logged_only, daemon=False)
            return loaded
        finally:
            image.close()

    def _save(self, name: str, kept: Kept) -> None:
        self._cache.save(name, kept.columns())

    def _read_anew(self, image: CompleteImage, key: Stamps, files: Path | None) -> tuple[_Loaded, Kept]:
        symbols = ModuleSymbols(image.path, image.build_id, image.link_base, [], has_symtab=image.has_symtab)
        symbols.warnings, symbols.missing_parts = image.warnings, image.missing_parts
        debug_info, scan = self._scanned(image, files, symbols.warnings)
        table = SymbolTable()
        image.add_functions(table)
        others, go_code = go_rows(image.program, symbols.warnings, wanted=scan is None)
        index = None if scan is None else scan.index
        if index is not None:
            settle_entries(index, table)
        functions = symbols.functions = FunctionTable.merged(image.path, table, index, others, go_code)
        symbols.register_frame = table.hidden_address("__register_frame")
        if debug_info is None or scan is None:
            return _Loaded(key, symbols, None), Kept(symbols, functions, None)
        symbols.warnings[:0] = _complaints(Path(image.path).name, debug_info.split_units(), scan.damaged)
        symbols.has_debug_info = scan.has_rows
        symbols.inlined, symbols.parts = Deferred(scan.inlined), scan.parts()
        debug_info.named = scan.named()
        debug_info.forget()
        signatures = Signatures(debug_info, functions, image.has_symtab)
        return _Loaded(key, symbols, signatures), Kept(symbols, functions, debug_info.named)

    def _scanned(
        self, image: CompleteImage, files: Path | None, warnings: list[str]
    ) -> tuple[DebugInfo, Scan] | tuple[None, None]:
        size = image.section_size(".debug_info")
        name = Path(image.path).name
        if size == 0:
            return None, None
        if size > _BIG_BYTES:
            seconds = size // _BYTES_PER_SECOND
            self._progress(f"Reading {size >> 20} MB of debug information of {name}; takes about {seconds} s, once.")
        try:
            debug_info = DebugInfo(image.debug, files, alternate=image.alternate)
            return debug_info, debug_info.scan()
        except UNREADABLE as error:
            reason = str(error) or type(error).__name__
        if image.alternate is not None:
            image.without_alternate(reason)
            return self._scanned(image, files, warnings)
        warnings.append(_unreadable(name, reason))
        return None, None


def _identity(image: CompleteImage, own: Stamp) -> tuple[object, ...]:
    """What identifies a module; a stripped copy has the same build id. The name is in the warnings."""
    sections = tuple((section.name, section.plain_size) for section in image.sections())
    return Path(image.path).name, image.build_id or (image.path, own), own[2], sections, image.identity()


def _from_cache(image: CompleteImage, key: Stamps, content: Columns | None, files: Path | None) -> _Loaded | None:
    try:
        if content is None:
            return None
        kept = Kept.of_columns(image, content)
        if kept.named is None:
            return _Loaded(key, kept.symbols, None)
        debug_info = DebugInfo(image.debug, files, kept.named, image.alternate)
        return _Loaded(key, kept.symbols, Signatures(debug_info, kept.functions, image.has_symtab))
    except UNREADABLE:
        return None


def _unreadable(name: str, reason: str) -> str:
    advice = "only function names are known. Build it without compression of debug sections (-gz=none)"
    return f"The debug information of {name} cannot be read ({reason}); {advice}."


def _complaints(name: str, split: int, damaged: list[tuple[int, str]]) -> list[str]:
    complaints = []
    if split:
        complaints.append(
            f"{split} units of {name} keep their debug information in .dwo files, which are not read: functions there "
            "have no source lines and arguments. Build without -gsplit-dwarf."
        )
    if damaged:
        count, reason = len({unit for unit, _ in damaged}), damaged[0][1]
        complaints.append(f"The debug information of {count} units of {name} is damaged ({reason}).")
    return complaints
