"""From patterns to the functions to hook, with everything a user should know about what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from strobe.errors import failure
from strobe.model import FunctionSymbol
from strobe.symbols.function_table import FunctionTable
from strobe.symbols.module_symbols import ModuleSymbols
from strobe.symbols.select.hooking import is_start_code, is_system_runtime, unsafe_reason
from strobe.symbols.select.inlining import inlined_everywhere, partly_inlined, partly_inlined_warning
from strobe.symbols.select.nearest import nearest_files, nearest_functions
from strobe.symbols.select.patterns import Pattern

_SHOWN = 5  # names in one warning


@dataclass
class Selection:
    """What patterns match.

    `functions`: every match once, without those that must not be hooked. `matches`: the same by pattern text, all
    patterns included. `nearest`: for patterns that match nothing, names or patterns they may have meant.
    `partly_inlined`: of the functions, those that were also inlined, by name, with the number of sites.
    """

    functions: list[FunctionSymbol] = field(default_factory=list)
    matches: dict[str, list[FunctionSymbol]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    nearest: dict[str, list[str]] = field(default_factory=dict)
    partly_inlined: dict[str, int] = field(default_factory=dict)


def select(patterns: Sequence[Pattern], modules: Sequence[ModuleSymbols]) -> Selection:
    """Matches patterns against modules, the first of which is the main program.

    Name and file patterns see all modules except for the system's runtime libraries, which only @lib: reaches.
    """
    searched = [module for index, module in enumerate(modules) if index == 0 or not is_system_runtime(module.path)]
    sanitized = _with_sanitizer(searched)
    selection = Selection()
    refused: dict[FunctionSymbol, str] = {}
    for pattern in patterns:
        found = list(matching(pattern, modules if pattern.kind == "lib" else searched))
        reasons = {
            function: reason
            for function in found
            if (reason := unsafe_reason(function, function.module in sanitized)) is not None
        }
        refused.update(reasons)
        selection.matches[pattern.text] = [function for function in found if function not in reasons]
        selection.warnings.extend(inlined_everywhere(pattern, searched))
        if not found:
            _explain_nothing(selection, pattern, searched, modules)
    unique = {(f.module, f.address): f for functions in selection.matches.values() for f in functions}
    selection.functions = list(unique.values())
    selection.partly_inlined = partly_inlined(selection.functions, modules)
    selection.warnings.extend(partly_inlined_warning(selection.partly_inlined))
    named = {pattern.text for pattern in patterns if pattern.is_exact}
    selection.warnings.extend(_refusal_warnings(refused, named))
    selection.warnings.extend(_debug_warnings(patterns, selection, modules))
    selection.warnings = list(dict.fromkeys(selection.warnings))
    return selection


def matching(pattern: Pattern, modules: Iterable[ModuleSymbols]) -> Iterator[FunctionSymbol]:
    """Every function that a pattern means, those that must not be hooked as well."""
    for module in modules:
        if pattern.kind == "name":
            yield from (module.functions[index] for index in pattern.matching_names(module.scoped_names))
        elif pattern.kind == "lib":
            if pattern.matches_library(module.path):
                yield from (function for function in module.functions if function.exported)
        elif isinstance(module.functions, FunctionTable):
            yield from (module.functions[index] for index in module.functions.in_files(pattern.matches_file))
        else:
            yield from (function for function in module.functions if pattern.matches_file(function.source_file))


def called(names: Container[str], modules: Iterable[ModuleSymbols]) -> Iterator[FunctionSymbol]:
    """Every function with one of these names."""
    for module in modules:
        if isinstance(module.functions, FunctionTable):
            own = enumerate(module.functions.names)
            yield from (module.functions[index] for index, name in own if name in names)
        else:
            yield from (function for function in module.functions if function.name in names)


def _with_sanitizer(modules: Sequence[ModuleSymbols]) -> set[str]:
    """Paths of those that contain AddressSanitizer, as clang links it, and have debug information besides."""
    described = [module for module in modules if module.has_debug_info]
    return {function.module for function in matching(Pattern.parse("__asan_init", None), described)}


def _explain_nothing(
    selection: Selection, pattern: Pattern, searched: Sequence[ModuleSymbols], modules: Sequence[ModuleSymbols]
) -> None:
    if pattern.kind == "lib":
        names = [Path(module.path).name for module in modules]
        selection.nearest[pattern.text] = nearest_files(pattern.argument, names) or names[:_SHOWN]
    elif pattern.kind == "file":
        files = {Path(path).name for module in searched for path in _source_paths(module)}
        selection.nearest[pattern.text] = nearest_files(Path(pattern.argument).name, files)
    elif pattern.kind == "usercode":
        selection.warnings.extend(_elsewhere(pattern, searched[:1]))
    elif pattern.kind == "name":
        selection.nearest[pattern.text] = nearest_functions(pattern.text, searched)
        selection.warnings.extend(_runtime_hint(pattern, modules))


def _elsewhere(pattern: Pattern, modules: Sequence[ModuleSymbols]) -> Iterator[str]:
    """Where the sources of the main program do lie, when none is in the project root."""
    files = (path for module in modules for path in _source_paths(module))
    folders = Counter(str(Path(file).parent) for file in files if not file.startswith(("/usr/", "/rustc/")))
    if folders:
        shown = ", ".join(folder for folder, _ in folders.most_common(3))
        yield f"No function's source lies in the project root '{pattern.argument}'; the program was built from {shown}."


def _source_paths(module: ModuleSymbols) -> Iterable[str]:
    if isinstance(module.functions, FunctionTable):
        return module.functions.source_paths
    return {function.source_file for function in module.functions if function.source_file}


def _runtime_hint(pattern: Pattern, modules: Iterable[ModuleSymbols]) -> Iterator[str]:
    if not pattern.literals:  # '*' says nothing about what is looked for
        return
    for module in modules:
        if is_system_runtime(module.path) and pattern.matching_names(module.scoped_names):
            name = Path(module.path).name
            yield f"'{pattern.text}' is in {name}, a system library: trace that library's functions with @lib:{name}."
            return


def _refusal_warnings(refused: dict[FunctionSymbol, str], named: set[str]) -> Iterator[str]:
    """Start code only where it was asked for by name."""
    by_reason: dict[str, list[str]] = {}
    for function, reason in refused.items():
        if function.name in named or not is_start_code(function):
            by_reason.setdefault(reason, []).append(function.name)
    for reason, names in by_reason.items():
        shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        yield f"Not traced: {shown}: {reason}."


def _debug_warnings(
    patterns: Sequence[Pattern], selection: Selection, modules: Sequence[ModuleSymbols]
) -> Iterator[str]:
    for module in modules:
        yield from module.warnings
    if not modules or all(pattern.kind == "lib" for pattern in patterns):
        return
    main = modules[0]
    if main.has_debug_info:
        return
    if not main.functions:
        yield str(failure("no_debug_symbols", path=main.path))
    elif any(pattern.kind in ("usercode", "file") for pattern in patterns):
        yield str(failure("no_source_files", path=main.path))
    else:
        kind = "names" if main.has_symtab else "exported names"
        yield (
            f"'{main.path}' has no debug information: functions are known by their {kind} alone, without arguments, "
            "return values and source lines. Build it with -g to see these."
        )
