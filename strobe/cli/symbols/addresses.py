"""What lies at an address: function, line, the calls that were inlined there, and with --verbose the variables."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from strobe.cli.symbols.page import Page, position
from strobe.cli.symbols.subject import Subject
from strobe.dataclass import dataclass
from strobe.errors import StrobeError, failure
from strobe.model import FunctionSymbol
from strobe.symbols.dwarf.lines import SourceLocation

if TYPE_CHECKING:
    from strobe.symbols.frames.model import Call, Frame, Local
    from strobe.symbols.variables import Variable

_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|[0-9a-fA-F]+")
_OFFSET = re.compile(r"(.+?)\s*\+\s*(0[xX][0-9a-fA-F]+|\d+)")
_WORD = 64


@dataclass(frozen=True)
class AddressAnswer:
    """`asked`: as it was given. `miss`: why nothing is known of it."""

    asked: str
    address: int | None
    function: FunctionSymbol | None = None
    location: SourceLocation | None = None
    frame: Frame | None = None
    variable: Variable | None = None
    miss: str | None = None


def asked_addresses(texts: Sequence[str]) -> Iterator[str]:
    """One after the other; "-" stands for the lines of standard input, each answered before the next is read."""
    for text in texts:
        if text == "-":
            yield from (line.strip() for line in iter(sys.stdin.readline, "") if line.strip())
        else:
            yield text


def find_address(subject: Subject, text: str) -> AddressAnswer:
    """`text`: 0x401a2b or 401a2b, link-time; or a function, as a backtrace has it: `main+0x1b`."""
    try:
        address = _address(subject, text)
    except StrobeError as error:
        return AddressAnswer(text, None, miss=str(error))
    function = subject.function_at(address)
    location = _location(subject, address)
    if function is None and location is None:
        variable = _variable(subject, address)
        if variable is not None:
            return AddressAnswer(text, address, variable=variable)
        miss = failure("no_such_symbol", path=subject.named, kind="code at", symbol=text, hint=_where(subject))
        return AddressAnswer(text, address, miss=str(miss))
    return AddressAnswer(text, address, function, location, subject.frame_at(address))


def _variable(subject: Subject, address: int) -> Variable | None:
    from strobe.cli.symbols.variables import variable_at

    return variable_at(subject, address)


def _variable_address(subject: Subject, name: str) -> int | None:
    from strobe.cli.symbols.variables import address_of

    return address_of(subject, name)


def _where(subject: Subject) -> str:
    """What addresses there are: who asks with one of a running process has forgotten to subtract."""
    ranges = subject.code_ranges
    if not ranges:
        return ""
    low, high = min(start for start, _ in ranges), max(end for _, end in ranges)
    return f"Its code is at {low:#x} to {high:#x}: of an address in a process, subtract where the file is loaded."


def _address(subject: Subject, text: str) -> int:
    name, offset = text, 0
    if found := _OFFSET.fullmatch(text):
        name, offset = found[1], int(found[2], 0)
    number = _NUMBER.fullmatch(name)
    if number is None or not name[0].isdigit():
        named = subject.address_of(name)
        named = _variable_address(subject, name) if named is None else named
        if named is not None:
            return named + offset
    if number is None or int(name, 16) >= 1 << _WORD:
        raise failure("no_such_symbol", path=subject.named, kind="function, variable or address", symbol=name)
    return int(name, 16) + offset


def _location(subject: Subject, address: int) -> SourceLocation | None:
    details = subject.resolver.details(subject.path)
    if details is None:
        return None
    with subject.reading("that address"):
        return details.lines.at(address)


def address_lines(subject: Subject, answer: AddressAnswer, page: Page) -> list[str]:
    """Function and line; below, with deeper indent, the calls that were inlined there, each in the next."""
    if answer.address is None or answer.miss:
        return []
    if answer.variable is not None:
        return [_variable_line(subject, answer.variable, answer.address, page)]
    start = f"{answer.address:#x}  "
    lines = []
    for number, (name, where, call) in enumerate(_chain(subject, answer, answer.address)):
        before = f"{'':{len(start)}}inlined in " if number else start
        shown = page.palette.function(page.fit(name, len(before) + len(where) + 2))
        lines.append(f"{before}{shown}  {where}".rstrip())
        if page.verbose and call is not None:
            lines += [f"{'':{len(start) + 4}}{_local_line(local, page)}" for local in (*call.parameters, *call.locals)]
    return lines


def _chain(subject: Subject, answer: AddressAnswer, address: int) -> Iterator[tuple[str, str, Call | None]]:
    """Name and location of each call, the innermost first; the last one, which is not inlined, with its offset."""
    location = answer.location
    where = "" if location is None else position(subject.source(location.file), location.line, location.column)
    own = subject.offset_name(address)
    calls = () if answer.frame is None else answer.frame.calls
    for call in calls[:-1]:
        yield call.name, where, call
        assert call.location is not None  # only the last one was not inlined
        where = position(subject.source(call.location.file), call.location.line, call.location.column)
    yield own, where, calls[-1] if calls else None


def _variable_line(subject: Subject, variable: Variable, address: int, page: Page) -> str:
    start = getattr(variable.location, "address", address)
    where = position(subject.source(variable.file), variable.line)
    name = page.palette.function(f"{variable.name}+{address - start:#x}")
    return f"{address:#x}  {name}  {where}  {page.palette.note(variable.type.declare())}"


def _local_line(local: Local, page: Page) -> str:
    marks = "".join(f", {mark}" for mark, holds in (("shadowed", local.is_shadowed),) if holds)
    return f"{local.type.declare(local.name)}  {page.palette.note(f'{local.location}{marks}')}"


def address_json(answer: AddressAnswer) -> dict[str, Any]:
    """What lies at an address; fields are null where nothing is known."""
    function, location = answer.function, answer.location
    calls = () if answer.frame is None else answer.frame.calls
    return {
        "asked": answer.asked,
        "address": None if answer.address is None else hex(answer.address),
        "function": None if function is None else function.name,
        "offset": None if function is None or answer.address is None else answer.address - function.address,
        "file": None if location is None else location.file,
        "line": None if location is None else location.line,
        "column": None if location is None else location.column or None,
        "variable": None if answer.variable is None else answer.variable.name,
        "calls": [_call_json(call) for call in calls],
        "error": answer.miss,
    }


def _call_json(call: Call) -> dict[str, Any]:
    called = call.location
    location = None if called is None else {"file": called.file, "line": called.line, "column": called.column or None}
    return {
        "function": call.name,
        "inlinedAt": location,
        "parameters": [_local_json(local) for local in call.parameters],
        "locals": [_local_json(local) for local in call.locals],
    }


def _local_json(local: Local) -> dict[str, Any]:
    return {
        "name": local.name,
        "type": local.type.name,
        "location": str(local.location),
        "file": local.file,
        "line": local.line,
        "isShadowed": local.is_shadowed,
    }
