"""Where the code of a source line is, in every copy, as `strobe symbols --lines` shows it."""

from __future__ import annotations

import re
from typing import Any

from strobe.cli.symbols.page import Page, position
from strobe.cli.symbols.subject import Subject
from strobe.dataclass import dataclass
from strobe.errors import failure
from strobe.report import wording
from strobe.symbols.dwarf.lines import LineMatch, SourceLocation
from strobe.symbols.select.line_sites import SourceRange, no_code

_LINE = re.compile(r"(.+):(\d+)\Z")


@dataclass(frozen=True)
class LineAnswer:
    """`miss`: why there is nothing, None where there is something. `shown`: the nearest line's then, else `match`."""

    file: str
    line: int
    match: LineMatch
    shown: LineMatch
    miss: str | None


def find_line(subject: Subject, text: str) -> LineAnswer:
    """`text`: "src/a.c:12". Raises bad_value, no_debug_information."""
    found = _LINE.match(text)
    if found is None or int(found[2]) == 0:
        raise failure("bad_value", field="--lines", value=f"'{text}'", reason="it is not FILE:LINE", valid="main.c:12")
    file, line = found[1], int(found[2])
    lines = subject.details.lines
    with subject.reading("that line"):
        match = lines.of(file.removeprefix("./"), line)
        nearest = match.after or match.before
        shown = match if match.locations or nearest is None else lines.of(file.removeprefix("./"), nearest)
    if match.locations:
        return LineAnswer(file, line, match, shown, None)
    near = (match.before, match.after)
    miss = no_code(SourceRange(file, line, line), subject.module, subject.named, match.files, near)
    return LineAnswer(file, line, match, shown, str(miss))


def line_lines(subject: Subject, answer: LineAnswer, page: Page) -> list[str]:
    """An address in each line, with the function that it lies in; grouped by file, as several may be called so.

    Where the line has no code, those of the next one that has.
    """
    lines: list[str] = []
    for path in dict.fromkeys(location.file for location in answer.shown.locations):
        locations = [location for location in answer.shown.locations if location.file == path]
        where = wording.counted(len({subject.owner(location.address) for location in locations}), "function")
        heading = page.palette.heading(position(subject.source(path), locations[0].line))
        lines.append(f"{heading}  {wording.counted(len(locations), 'place')} in {where}")
        lines += [_location_line(subject, location, page) for location in page.shown(locations)]
        lines += page.rest(len(locations))
    return lines


def _location_line(subject: Subject, location: SourceLocation, page: Page) -> str:
    inlined = subject.inlined_as(location)
    notes = [f"column {location.column}"] if location.column else []
    notes += [f"inlined: {inlined}"] if inlined else []
    notes += ["not where a statement begins"] if page.verbose and not location.is_statement else []
    text = "".join(f"  {note}" for note in notes)
    name = page.fit(subject.offset_name(location.address), 14 + len(text))
    return f"  {location.address:#x}  {page.palette.function(name)}{page.palette.note(text)}"


def line_json(subject: Subject, answer: LineAnswer) -> dict[str, Any]:
    """Where the code of a line is, inlined copies included; addresses in hexadecimal."""
    match = answer.match
    return {
        "file": answer.file,
        "line": answer.line,
        "files": match.files,
        "places": [
            {
                "address": hex(location.address),
                "file": location.file,
                "column": location.column or None,
                "isStatement": location.is_statement,
                "function": subject.owner(location.address),
                "inlined": subject.inlined_as(location),
            }
            for location in match.locations
        ],
        "before": match.before,
        "after": match.after,
    }
