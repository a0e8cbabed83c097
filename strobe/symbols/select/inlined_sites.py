"""From a pattern to where functions that it means were inlined."""

from __future__ import annotations

from strobe.symbols.details import ModuleDetails
from strobe.symbols.module_symbols import ModuleSymbols
from strobe.symbols.select.line_sites import LineSite
from strobe.symbols.select.patterns import Pattern, meant_inlined


def inlined_sites(pattern: Pattern, module: ModuleSymbols, details: ModuleDetails) -> list[LineSite]:
    """Each site, by address, where its code is entered: its file and line are those of the function that was inlined.
    None is exact, as no line of optimized code is: the compiler may have copied a site, or left nothing of it. Raises
    one of UNREADABLE where debug information is damaged."""
    names = list(module.inlined_sites)
    wanted = {names[number] for number in meant_inlined(pattern, module)}
    found = []
    for die, entry in details.frames.inlined_sites(wanted) if wanted else ():
        function = module.function_at(entry)
        calls = details.frames.calls_at(entry)
        level = next((number for number, call in enumerate(calls) if call.die_offset == die), None)
        if function is None or level is None:
            continue
        call, inlined = calls[level], tuple(one.name for one in calls[level:-1])
        found.append(LineSite(entry, function, call.file or "", call.line or 0, True, inlined, level, is_exact=False))
    return sorted(found, key=lambda site: site.address)
