"""From where a probe is to be, as it is asked for (`at`), to the sites that this has in one module."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from strobe.dataclass import replace
from strobe.errors import failure
from strobe.model import FunctionSymbol, Probe
from strobe.session.modules import TracedModule
from strobe.symbols import ModuleSymbols, SymbolResolver, select
from strobe.symbols.objects.instructions import around
from strobe.symbols.select.copies import each_once
from strobe.symbols.select.inlined_sites import inlined_sites
from strobe.symbols.select.line_sites import LineSite, line_sites, parsed_lines
from strobe.symbols.select.never_hooked import is_system_runtime, unsafe_reason
from strobe.symbols.select.patterns import Pattern, matching, meant_in_system, meant_inlined, parse_all

_ADDRESS = re.compile(r"0[xX][0-9a-fA-F]+\Z")
_AT_RETURN = re.compile(r":return\Z")
_AT_ENTRY = re.compile(r":entry\Z")
_WITH_INLINED = re.compile(r":inlined\Z")


def is_at_return(probe: Probe) -> bool:
    """Whether it is of the returns of functions."""
    return _AT_RETURN.search(probe.at) is not None


def sites_of(probe: Probe, module: TracedModule, resolver: SymbolResolver, project_root: str | None) -> list[LineSite]:
    """In the order of lines or addresses; of functions their entries.

    Raises where the module has none: no_code_at_line, unknown_source_file, no_debug_information, probe_failed; one of
    UNREADABLE where debug information is damaged.
    """
    if is_at_address(probe):
        return [_at_address(int(probe.at, 16), module, resolver)]
    return sites_in_file(probe, module.symbols, resolver, project_root)


def is_at_address(probe: Probe) -> bool:
    """Whether it is at an instruction of one process."""
    return _ADDRESS.match(probe.at) is not None


def sites_in_file(
    probe: Probe, symbols: ModuleSymbols, resolver: SymbolResolver, project_root: str | None
) -> list[LineSite]:
    """As `sites_of`, of a file that need not be loaded; not at an address."""
    lines = parsed_lines(probe.at)
    if lines is None:
        return _of_pattern(probe, symbols, resolver, project_root)
    details = resolver.details(symbols.path)
    if details is None:
        raise failure("no_debug_information", path=symbols.path, hint="Build it with -g.")
    return line_sites(lines, symbols, details)


def _of_pattern(
    probe: Probe, symbols: ModuleSymbols, resolver: SymbolResolver, project_root: str | None
) -> list[LineSite]:
    pattern = _name_of(probe)
    parsed = Pattern.parse(pattern, project_root)
    selection = select(parse_all([pattern], project_root), [symbols])
    found = [_entry(function) for function in selection.functions]
    if _WITH_INLINED.search(probe.at) and (details := resolver.details(symbols.path)) is not None:
        found += inlined_sites(parsed, symbols, details)
    if found:
        return found
    if selection.matches[pattern] == [] and (elsewhere := meant_inlined(parsed, symbols)):
        hint = f"A probe at '{pattern}:inlined' is where it was inlined."
        reason = "it has no copy of its own" if len(elsewhere) == 1 else "none of them has a copy of its own"
        raise failure("probe_failed", what=probe.name, reason=reason, hint=hint)
    if refused := next((why for one in matching(parsed, [symbols]) if (why := unsafe_reason(one)) is not None), None):
        raise failure("probe_failed", what=probe.name, reason=refused, hint="")
    raise failure("probe_failed", what=probe.name, reason="no function matches", hint=selection.meant(pattern))


def _name_of(probe: Probe) -> str:
    """The name or pattern of what is no line and no address."""
    return _WITH_INLINED.sub("", _AT_ENTRY.sub("", _AT_RETURN.sub("", probe.at)))


def sites_in_system(
    probe: Probe, modules: Sequence[TracedModule], project_root: str | None
) -> list[tuple[TracedModule, list[LineSite]]]:
    """Where it is in the system's libraries, of a name that is nowhere else in all the modules; none where it is not
    there either. Raises probe_failed where it is there and cannot be."""
    text = _name_of(probe)
    parsed = Pattern.parse(text, project_root)
    system = [module for module in modules[1:] if is_system_runtime(module.module.path)]
    if library := next(
        (one for one in system if parsed.kind == "lib" and parsed.matches_library(one.module.path)), None
    ):
        count = sum(function.exported for function in library.symbols.functions)
        reason = f"of a system library the functions are named one by one, and it has {count:,}"
        hint = f"A probe at malloc:return is one of them; a trace of {text} records the calls of all."
        raise failure("probe_failed", what=probe.name, reason=reason, hint=hint)
    named = meant_in_system(parsed, [module.symbols for module in modules])
    good = [function for function in named.functions if unsafe_reason(function) is None]
    why = named.why or next((unsafe_reason(function) for function in named.functions), None)
    if not good and why:
        raise failure("probe_failed", what=probe.name, reason=why.rstrip("."), hint="")
    by_module = {module.symbols.path: module for module in modules}
    return [
        (by_module[path], [_entry(one) for one in each_once(list(functions), [by_module[path].symbols])])
        for path, functions in groupby(good, key=lambda one: one.module)
    ]


def _at_address(address: int, module: TracedModule, resolver: SymbolResolver) -> LineSite:
    is_within = module.module.base <= address < module.module.base + module.module.size
    link = address - module.module.base + module.symbols.link_base
    function = module.symbols.function_at(link) if is_within else None
    if function is None:
        raise failure("probe_failed", what=hex(address), reason="no function is there", hint="")
    if link != function.address:
        _check_begins(function, link, address, module, resolver)
    return replace(_entry(function), address=link)


def _check_begins(
    function: FunctionSymbol, link: int, address: int, module: TracedModule, resolver: SymbolResolver
) -> None:
    """A jump in the middle of an instruction would end the program. Raises probe_failed."""
    details = resolver.details(module.symbols.path)
    row = None if details is None else details.lines.at(link)
    start = function.address if row is None else row.address
    try:
        found = around(module.symbols.path, start, link)
    except (OSError, ValueError):
        found = None
    if found is None:
        reason, hint = "it is not known whether an instruction begins there", "Name a line."
        raise failure("probe_failed", what=hex(address), reason=reason, hint=hint)
    if found[0] != link:
        first, second = (module.address(one) for one in found)
        hint = f"Instructions around it begin at {first:#x} and {second:#x}."
        raise failure("probe_failed", what=hex(address), reason="no instruction begins there", hint=hint)


def _entry(function: FunctionSymbol) -> LineSite:
    """Where nothing of it has run: its parameters are where the caller has put them."""
    return LineSite(function.address, function, "", 0, True, (), 0)
