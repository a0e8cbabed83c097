"""Local variables that a probe of a return asks for: their frame is gone by then. Where they can be had instead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePath

from strobe.errors import StrobeError
from strobe.expressions import syntax
from strobe.expressions.parser import parse
from strobe.model import FunctionSymbol
from strobe.symbols.details import ModuleDetails
from strobe.symbols.objects.code_bytes import code_at
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.select.line_sites import LineSite, SourceRange, line_sites
from strobe.values.lookup.address_scope import scope_of_line
from strobe.values.lookup.scope import Module, Scope

_RET = b"\xc3"


def gone_local(text: str, function: FunctionSymbol | None, scope: Scope) -> str:
    """What to do, where a name of the expression is a local variable of the function. "" where none is."""
    own = None if function is None else next((one for one in scope.modules() if one.path == function.module), None)
    if function is None or own is None or own.details is None:
        return ""
    asked = list(_names(parse(text)))
    with suppress(StrobeError, *UNREADABLE):
        frame = own.details.frames.at(function.address)
        calls = () if frame is None else frame.calls[-1:]
        name = next((one.name for call in calls for one in call.locals if one.name in asked), None)
        if name is None:
            return ""
        gone = f"{name} is a local variable, and at the return its frame is gone. "
        site = _end(function, own, own.details)
        if site is None or name not in scope_of_line(site, own, None).names:
            return f"{gone}Probe the lines that return"
        return f"{gone}It still has its value on the last line: probe {PurePath(site.file).name}:{site.line}"
    return ""


def _end(function: FunctionSymbol, module: Module, details: ModuleDetails) -> LineSite | None:
    """Where the line begins that every call ends on: the closing brace, without optimization. None where it is in
    pieces, as with destructors, or the function ends otherwise."""
    last = function.address + function.size - 1
    row = details.lines.at(last)
    if row is None or not row.line or code_at(module.symbols.path, last, len(_RET)) != _RET:
        return None
    pieces = [one.address for one in details.lines.of(row.file, row.line).locations]
    if [one for one in pieces if function.address <= one <= last] != [row.address]:
        return None
    found = line_sites(SourceRange(row.file, row.line, row.line), module.symbols, details)
    return next((one for one in found if one.address == row.address and one.is_exact and not one.inlined), None)


def _names(node: syntax.Expression) -> Iterator[str]:
    if isinstance(node, syntax.Name):
        yield node.name
    for child in syntax.children(node):
        yield from _names(child)
