"""What is said of functions that a pattern means and does not get, or whose calls leave no event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from strobe.errors import enumerated, failure
from strobe.model import FunctionSymbol
from strobe.symbols.function_table import FunctionTable
from strobe.symbols.module_symbols import ModuleSymbols
from strobe.symbols.select.never_hooked import is_start_code

_SHOWN = 5  # names in one warning
_APART = "Built with -fno-ipa-icf they are apart."
_ADVICE = "A probe at NAME:inlined records them there; built with -fno-inline they are calls."


def inlined_everywhere(pattern: str, sites: Counter[str]) -> Iterator[str]:
    """One sentence on the functions that a pattern means and that have no copy of their own, by name, with the number
    of sites."""
    if len(sites) == 1:
        name, count = next(iter(sites.items()))
        yield (
            f"'{name}' is inlined at {_sites(count)} and has no copy of its own: its calls cannot be seen, and no "
            f"event does not mean that it was not called. {_ADVICE}"
        )
    elif sites:
        yield (
            f"{len(sites)} functions that match '{pattern}' are inlined everywhere and have no copy of their own, "
            f"so their calls cannot be seen (with the number of sites): {_listed(sites)}. {_ADVICE}"
        )


def partly_inlined(functions: Iterable[FunctionSymbol], modules: Iterable[ModuleSymbols]) -> dict[str, int]:
    """Of these functions, which have a copy of their own: name -> sites where they were inlined nevertheless."""
    inlined = {module.path: module.inlined_sites for module in modules}
    none: dict[str, int] = {}
    return {f.name: sites for f in functions if (sites := inlined.get(f.module, none).get(f.name))}


def partly_inlined_warning(sites: dict[str, int]) -> Iterator[str]:
    """One sentence on all of them."""
    if len(sites) == 1:
        name, count = next(iter(sites.items()))
        yield (
            f"'{name}' is partly inlined: calls of its own copy are recorded, those at {_sites(count)} where it was "
            f"inlined are not, so few or no events do not mean that it was not called. {_ADVICE}"
        )
    elif sites:
        yield (
            f"{len(sites)} of the traced functions are partly inlined: calls of their own copies are recorded, those "
            f"where they were inlined are not (with the number of sites): {_listed(Counter(sites))}. Few or no events "
            f"do not mean that these were not called. {_ADVICE}"
        )


def with_same_code(functions: Iterable[FunctionSymbol], modules: Iterable[ModuleSymbols]) -> dict[str, list[str]]:
    """Of the functions those whose code is that of others, too: under which names, beside their own."""
    wanted = {(function.module, function.address) for function in functions}
    shared: dict[str, list[str]] = {}
    for module in modules:
        table = module.functions
        if isinstance(table, FunctionTable):
            for name, number in table.shared:
                if (module.path, table.addresses[number]) in wanted:
                    shared.setdefault(table.names[number], []).append(name)
    return shared


def shared_code(shared: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """One sentence on functions that `with_same_code` has found."""
    if len(shared) == 1:
        name, others = next(iter(shared.items()))
        yield (
            f"'{name}' has the same code as {enumerated(others, _SHOWN)}, folded by the compiler or the linker, or as "
            f"an alias: calls of any of them are recorded as '{name}', with its arguments and types."
        )
    elif shared:
        listed = [f"{name} (also {enumerated(others, _SHOWN)})" for name, others in shared.items()]
        yield (
            f"{len(shared)} of the traced functions have the same code as others, folded by the compiler or the "
            "linker, or as aliases: calls of any of them are recorded under the first name, with its arguments and "
            f"types: {enumerated(listed, _SHOWN)}."
        )


def folded_warning(folded: dict[str, str]) -> Iterator[str]:
    """One sentence on all of them, as `folded` finds them."""
    if len(folded) == 1:
        name, other = next(iter(folded.items()))
        yield (
            f"'{name}' is only a jump to '{other}', as gcc leaves of functions with the same code: its callers may "
            f"call '{other}' directly, and those calls are recorded as '{other}' where that is traced. {_APART}"
        )
    elif folded:
        listed = enumerated([f"{name} ({other})" for name, other in folded.items()], _SHOWN)
        yield (
            f"{len(folded)} functions are only a jump to another, as gcc leaves of functions with the same code: their "
            "callers may call that one directly, and those calls are recorded under its name where it is traced: "
            f"{listed}. {_APART}"
        )


def refusal_warnings(refused: dict[FunctionSymbol, str], named: set[str]) -> Iterator[str]:
    """On functions that must not be hooked, by reason. Start code only where it was asked for by name."""
    by_reason: dict[str, list[str]] = {}
    for function, reason in refused.items():
        if function.name in named or not is_start_code(function):
            by_reason.setdefault(reason, []).append(function.name)
    for reason, names in by_reason.items():
        yield f"Not traced: {enumerated(names, _SHOWN)}: {reason}."


def elsewhere(root: str, paths: Iterable[str]) -> Iterator[str]:
    """Where the sources of the main program do lie, when none is in the project root."""
    folders = Counter(str(Path(file).parent) for file in paths if not file.startswith(("/usr/", "/rustc/")))
    if folders:
        shown = ", ".join(folder for folder, _ in folders.most_common(3))
        yield f"No function's source lies in the project root '{root}'; the program was built from {shown}."


def debug_warning(main: ModuleSymbols, by_files: bool) -> str:
    """What cannot be seen of a program without debug information. `by_files`: a pattern means source files."""
    if not main.functions:
        return str(failure("no_debug_symbols", path=main.path))
    if by_files:
        return str(failure("no_source_files", path=main.path))
    kind = "names" if main.has_symtab else "exported names"
    return (
        f"'{main.path}' has no debug information: functions are known by their {kind} alone, without arguments, "
        "return values and source lines. Build it with -g to see these."
    )


def _sites(count: int) -> str:
    return "1 site" if count == 1 else f"{count} sites"


def _listed(sites: Counter[str]) -> str:
    shown = ", ".join(f"{name} ({count})" for name, count in sites.most_common(_SHOWN))
    return f"{shown}, …" if len(sites) > _SHOWN else shown
