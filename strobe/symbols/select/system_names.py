"""Functions of the system's libraries that are asked for by their name: `malloc`, `pthread_mutex_lock`.

Only exact names reach them, and only exported functions: what a wildcard matches there is seldom meant, and much of it
is called by the recorder or all the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from strobe.dataclass import dataclass
from strobe.model import FunctionSymbol
from strobe.symbols.module_symbols import ModuleSymbols
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.early_code import chosen_names
from strobe.symbols.select.never_hooked import is_sanitizer_runtime, is_standard_library, is_system_runtime

_SHOWN = 5  # names in one sentence
Matching = Callable[[ModuleSymbols], Iterable[FunctionSymbol]]


@dataclass(frozen=True, slots=True)
class Named:
    """`functions` that are meant; where there are none, `why` says what was found in place of them, in a sentence, or
    is empty."""

    functions: tuple[FunctionSymbol, ...] = ()
    why: str = ""


def named_in_system(text: str, is_exact: bool, matching: Matching, modules: Sequence[ModuleSymbols]) -> Named:
    """What a name pattern, `text`, means in those of the modules that are the system's. `matching`: what it matches in
    one of them."""
    system = [module for module in modules if is_system_runtime(module.path)]
    sanitizer = next((module for module in system if is_sanitizer_runtime(module.path)), None)
    why = ""
    for module in system:
        found = list(matching(module))
        exported = [function for function in found if function.exported]
        file = Path(module.path).name
        if not is_exact or sanitizer is not None or not is_standard_library(module.path):
            why = why or _by_library(text, is_exact, exported, file, sanitizer)
            continue
        if text in _chosen(module.path):
            return Named(why=_is_chosen(text, file))
        if exported:
            return Named(tuple(exported))
        why = why or _is_internal(text, found, file)
    return Named(why=why)


def _chosen(path: str) -> frozenset[str]:
    with suppress(*UNREADABLE):
        return chosen_names(path)
    return frozenset()


def _is_chosen(text: str, file: str) -> str:
    return (
        f"'{text}' of {file} is chosen among several implementations when the program starts, by the CPU (IFUNC), and "
        "its calls are not recorded by that name: trace the functions that call it, or put probes at the lines that do."
    )


def _is_internal(text: str, found: Sequence[FunctionSymbol], file: str) -> str:
    if not found:
        return ""
    at = next((f"{Path(one.source_file).name}:{one.line}" for one in found if one.source_file and one.line), None)
    lines = "" if at is None else f" A probe at a line of it can be placed: it begins at {at}."
    return f"'{text}' is in {file}, a system library, of which only exported functions are recorded.{lines}"


def _by_library(
    text: str, is_exact: bool, exported: Sequence[FunctionSymbol], file: str, sanitizer: ModuleSymbols | None
) -> str:
    """What is said of a wildcard, and of what a sanitizer may have taken the place of."""
    if not exported:
        return ""
    if sanitizer is not None and is_exact:
        own = Path(sanitizer.path).name
        return (
            f"'{text}' is in {file}, a system library, and the program has a sanitizer, {own}, which may take such "
            f"calls itself: @lib:{file} traces all functions of the one, @lib:{own} all of the other."
        )
    if is_exact:
        return f"'{text}' is in {file}, a system library, of which only @lib:{file} records functions: all of them."
    names = list(dict.fromkeys(function.name for function in exported))
    shown = ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
    return (
        f"'{text}' matches only in {file}, a system library, where wildcards do not reach: give the exact names "
        f"({shown}), or @lib:{file} for all of its functions."
    )
