"""Functions that patterns match, as `strobe symbols` lists them: by source file, in the order they are written in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from strobe.cli.symbols.page import Page
from strobe.cli.symbols.subject import Subject
from strobe.dataclass import dataclass, field
from strobe.errors import failure
from strobe.model import FunctionSymbol, ValueType
from strobe.report import wording
from strobe.symbols import Pattern, select, unsafe_reason
from strobe.symbols.select.patterns import matching

_ALSO = "also inlined at"


@dataclass
class FunctionList:
    """`inlined`: matching functions without a copy of their own, and their sites. `misses`: why patterns failed.
    `other_names`: sentences on patterns that name a function by another of its names."""

    functions: list[FunctionSymbol] = field(default_factory=list)
    inlined: dict[str, int] = field(default_factory=dict)
    misses: list[str] = field(default_factory=list)
    other_names: list[str] = field(default_factory=list)


def find_functions(subject: Subject, patterns: Sequence[Pattern]) -> FunctionList:
    """Functions that match any of the patterns, by address, and why a pattern matches none."""
    found: dict[int, FunctionSymbol] = {}
    result = FunctionList()
    for pattern in patterns:
        matches = {function.address: function for function in matching(pattern, [subject.module])}
        inlined = _inlined(subject, pattern)
        if not matches and not inlined:
            result.misses.append(_miss(subject, pattern))
        if matches and pattern.is_exact and (other := subject.other_name(pattern.text)) is not None:
            result.other_names.append(f"'{pattern.text}' is another name of '{other}'.")
        found |= matches
        result.inlined |= inlined
    if len(result.misses) > 1 and all(Path(pattern.text).exists() for pattern in patterns):
        result.misses = ["The patterns are names of files here: put a pattern with '*' in quotes."]
    result.functions = sorted(found.values(), key=_order)
    return result


def _order(function: FunctionSymbol) -> tuple[bool, str, int, str, int]:
    """By file and line; those without source at the end, by name."""
    file = function.source_file or ""
    return not file, file, function.line or 0, function.name, function.address


def _inlined(subject: Subject, pattern: Pattern) -> dict[str, int]:
    """Matching functions without a copy of their own, and at how many sites they are inlined."""
    module = subject.module
    names = list(module.inlined_sites)
    if pattern.kind == "name":
        numbers: Iterable[int] = pattern.matching_names(module.scoped_inlined)
    elif pattern.kind == "lib":
        numbers = ()
    else:
        numbers = (i for i, file in enumerate(module.inlined_files) if pattern.matches_file(file))
    return {names[i]: module.inlined_only[names[i]] for i in numbers if names[i] in module.inlined_only}


def _miss(subject: Subject, pattern: Pattern) -> str:
    """Why nothing is called so, and what is."""
    if pattern.kind in ("usercode", "file") and not subject.module.has_debug_info:
        return str(failure("no_debug_information", path=subject.named, hint="Source files are known from there alone."))
    selection = select([pattern], [subject.module])
    near = selection.nearest.get(pattern.text, [])
    if pattern.kind == "lib":
        return f"'{pattern.text}' does not mean this file, which is called {near[0] if near else subject.named}."
    where = {"usercode": selection.warnings[0] if selection.warnings else ""}.get(pattern.kind)
    if where:
        return where
    noun = "source file" if pattern.kind == "file" else "function"
    return f"No {noun} matches '{pattern.text}'. {selection.meant(pattern.text)}".rstrip()


def function_lines(subject: Subject, found: FunctionList, page: Page) -> list[str]:
    """The functions by source file, as text."""
    shown = subject.resolver.detail(list(page.shown(found.functions)))
    lines: list[str] = []
    addresses = max((len(hex(function.address)) for function in shown), default=0)
    sizes = max((len(str(function.size)) for function in shown), default=0)
    numbers = max((len(str(function.line or "")) for function in shown), default=0)
    for file, group in groupby(shown, key=lambda function: function.source_file):
        heading = subject.source(file) or "without source"
        lines += ["", page.palette.heading(heading)] if lines else [page.palette.heading(heading)]
        for function in group:
            number = f"{function.line or '':>{numbers}}  " if numbers else ""
            left = f"  {number}{function.address:#{addresses}x}  {function.size:>{sizes}} B  "
            lines.append(_entry(subject, function, left, page))
    return [
        *lines,
        *page.rest(len(found.functions)),
        *_inlined_lines(found, page),
        *_below(subject, found),
        *found.other_names,
    ]


def _entry(subject: Subject, function: FunctionSymbol, left: str, page: Page) -> str:
    """One function, and behind it what keeps its calls from being seen."""
    notes = "".join(f"  {text}" for text in (_unsafe(function), _partly_inlined(subject, function)) if text)
    painted = _painted(function, page.fit(declaration(function), len(left) + len(notes)), page)
    if page.verbose and function.raw_name != function.name:
        painted += page.palette.note(f"  [{function.raw_name}]")
    return left + painted + page.palette.note(notes)


def _painted(function: FunctionSymbol, shown: str, page: Page) -> str:
    """With the name in colour; of one that was shortened, what stands where the name does."""
    if function.name in shown:
        return shown.replace(function.name, page.palette.function(function.name), 1)
    before = declaration(function).find(function.name)
    start = shown.find(function.name.partition("<")[0], max(before - 1, 0))
    end = shown.find("(", start)
    if start < 0 or "(" in function.name:
        return shown
    end = len(shown) if end < 0 else end
    return shown[:start] + page.palette.function(shown[start:end]) + shown[end:]


def _unsafe(function: FunctionSymbol) -> str | None:
    """The reason is given once, below all."""
    return None if unsafe_reason(function) is None else "never traced"


def _partly_inlined(subject: Subject, function: FunctionSymbol) -> str | None:
    sites = subject.module.inlined_sites.get(function.name, 0)
    return f"{_ALSO} {wording.counted(sites, 'site')}" if sites else None


def _inlined_lines(found: FunctionList, page: Page) -> list[str]:
    if not found.inlined:
        return []
    rows = sorted(found.inlined.items(), key=lambda item: (-item[1], item[0]))
    width = max(len(f"{sites:,}") for _, sites in rows)
    lines = [page.fit(f"  {sites:>{width},}  {name}", 0) for name, sites in page.shown(rows)]
    heading = page.palette.heading("inlined everywhere, no copy to trace (sites)")
    return [*([""] if found.functions else []), heading, *lines, *page.rest(len(rows))]


def _below(subject: Subject, found: FunctionList) -> list[str]:
    """How many there are, and what a trace of them would not show."""
    lines = []
    if len(found.functions) > 1:
        files = len({function.source_file for function in found.functions if function.source_file})
        where = f" in {wording.counted(files, 'source file')}" if files else ""
        lines.append(f"{wording.counted(len(found.functions), 'function')}{where}")
    reasons = Counter(reason for function in found.functions if (reason := unsafe_reason(function)) is not None)
    lines += [f"Never traced: {wording.counted(count, 'function')}: {reason}." for reason, count in reasons.items()]
    if any(function.name in subject.module.inlined_sites for function in found.functions):
        lines.append("A trace does not see calls at sites where a function was inlined.")
    return ["", *lines] if lines else []


def declaration(function: FunctionSymbol) -> str:
    """As its language writes it, `int ns::f(long a)`, `fn m::f(a: i32) -> u8`; the name where no more is known."""
    if function.parameters is None:
        return function.name
    if (function.source_file or "").endswith(".rs"):
        shown = ", ".join(f"{parameter.name}: {parameter.type.name}" for parameter in function.parameters)
        returns = "" if _is_nothing(function.returns) else f" -> {function.returns.name}" if function.returns else ""
        return f"fn {function.name}({shown}){returns}"
    shown = ", ".join(_c_parameter(parameter.type.name, parameter.name) for parameter in function.parameters)
    returned = "" if function.returns is None else f"{function.returns.name} "
    return f"{returned}{function.name}({shown})"


def _is_nothing(returned: ValueType | None) -> bool:
    return returned is None or returned.name in ("void", "()")


def _c_parameter(kind: str, name: str) -> str:
    """`int (*)(long)` and `f` are `int (*f)(long)`."""
    if "(*)" in kind:
        return kind.replace("(*)", f"(*{name})", 1)
    if kind.endswith("[]"):
        return f"{kind.removesuffix('[]')} {name}[]"
    return f"{kind} {name}"


def functions_json(subject: Subject, found: FunctionList, limit: int | None) -> dict[str, Any]:
    """The first `limit` functions (None: all) with details, and how many there are."""
    listed = found.functions if limit is None else found.functions[:limit]
    return {
        "functions": [_function_json(subject, function) for function in subject.resolver.detail(listed)],
        "functionCount": len(found.functions),
        "inlinedOnly": [{"name": name, "sites": sites} for name, sites in sorted(found.inlined.items())[:limit]],
        "inlinedOnlyCount": len(found.inlined),
    }


def _function_json(subject: Subject, function: FunctionSymbol) -> dict[str, Any]:
    return {
        "name": function.name,
        "linkageName": function.raw_name,
        "address": hex(function.address),
        "size": function.size,
        "file": function.source_file,
        "line": function.line,
        "returns": None if function.returns is None else function.returns.name,
        "parameters": None if function.parameters is None else list(_parameters_json(function)),
        "exported": function.exported,
        "untraceable": unsafe_reason(function),
        "inlinedSites": subject.module.inlined_sites.get(function.name, 0),
    }


def _parameters_json(function: FunctionSymbol) -> Iterable[dict[str, Any]]:
    for parameter in function.parameters or ():
        yield {"name": parameter.name, "type": parameter.type.name, "size": parameter.type.size}
