"""What is said of functions that the compiler has inlined: their calls, all or some of them, leave no event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from strobe.model import FunctionSymbol
from strobe.symbols.module_symbols import ModuleSymbols
from strobe.symbols.select.patterns import Pattern

_SHOWN = 5  # names in one warning
_ADVICE = "Build with -O0 (or -fno-inline) to see them."


def inlined_everywhere(pattern: Pattern, modules: Iterable[ModuleSymbols]) -> Iterator[str]:
    """One sentence on the functions that a pattern means and that have no copy of their own."""
    sites: Counter[str] = Counter()
    for module in modules:
        names = list(module.inlined_sites)
        only = module.inlined_only
        sites.update({names[i]: only[names[i]] for i in _meant(pattern, module) if names[i] in only})
    if len(sites) == 1:
        name, count = next(iter(sites.items()))
        yield (
            f"'{name}' is inlined at {_sites(count)} and has no copy of its own: its calls cannot be seen, and no "
            f"event does not mean that it was not called. {_ADVICE}"
        )
    elif sites:
        yield (
            f"{len(sites)} functions that match '{pattern.text}' are inlined everywhere and have no copy of their own, "
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


def _meant(pattern: Pattern, module: ModuleSymbols) -> Sequence[int]:
    """Numbers of the module's inlined functions that a pattern means, by name or by where they are declared."""
    if pattern.kind == "name":
        return pattern.matching_names(module.scoped_inlined)
    if pattern.kind == "lib":
        return []
    return [number for number, file in enumerate(module.inlined_files) if pattern.matches_file(file)]


def _sites(count: int) -> str:
    return "1 site" if count == 1 else f"{count} sites"


def _listed(sites: Counter[str]) -> str:
    shown = ", ".join(f"{name} ({count})" for name, count in sites.most_common(_SHOWN))
    return f"{shown}, …" if len(sites) > _SHOWN else shown
