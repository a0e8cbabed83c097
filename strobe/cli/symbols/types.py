"""Types by name: the layout of one, or a list of those that a pattern matches. `strobe symbols --type`."""

from __future__ import annotations

from collections.abc import Sequence

from strobe.cli.symbols.page import Page
from strobe.cli.symbols.subject import Subject
from strobe.dataclass import dataclass, field
from strobe.errors import failure
from strobe.symbols import Pattern
from strobe.symbols.dwarf.rows import TypeRow
from strobe.symbols.names import scoped
from strobe.symbols.select.nearest import nearest_names
from strobe.symbols.types.model import Type
from strobe.symbols.types.text import layout

_MANY = 3  # layouts are long: of more types that one name means, only names are shown
KINDS = {0x02: "class", 0x04: "enum", 0x13: "struct", 0x16: "typedef", 0x17: "union", 0x24: "base type"}


@dataclass
class TypeAnswer:
    """`types` to be laid out, or where a pattern or many were meant `rows` to be listed."""

    asked: str
    types: list[Type] = field(default_factory=list)
    rows: list[TypeRow] = field(default_factory=list)
    miss: str | None = None


def find_type(subject: Subject, name: str) -> TypeAnswer:
    """`name`: qualified, its last parts, or a pattern. Raises no_debug_information, invalid_pattern."""
    debug_info = subject.details.debug_info
    with subject.reading(f"'{name}'"):
        table = debug_info.named.types
        if "*" in name:
            names = [scoped(text) for text in table.names()]
            rows = [table.row(number) for number in Pattern.parse(name).matching_names(names)]
            return TypeAnswer(name, rows=_sorted(rows), miss=None if rows else _miss(subject, name))
        found = subject.details.types.find(name)
        exact = [type_ for type_ in found if type_.name == name]
        types = exact or found
        if len(types) > _MANY:
            return TypeAnswer(name, rows=_sorted(debug_info.find_types(name)))
        return TypeAnswer(name, types, miss=None if types else _miss(subject, name))


def _sorted(rows: Sequence[TypeRow]) -> list[TypeRow]:
    return sorted(rows, key=lambda row: (row.name, row.tag))


def _miss(subject: Subject, name: str) -> str:
    near = nearest_names(name, subject.details.debug_info.named.types.names())
    hint = f"Names like it: {', '.join(near)}." if near else ""
    return str(failure("no_such_symbol", path=subject.named, kind="type", symbol=name, hint=hint))


def type_lines(subject: Subject, answer: TypeAnswer, page: Page) -> list[str]:
    """Layouts as text, and the list of a pattern's types with sizes."""
    lines: list[str] = []
    for type_ in answer.types:
        with subject.reading(f"'{type_.name}'"):
            lines += ["", *layout(type_).splitlines()] if lines else layout(type_).splitlines()
    shown = page.shown(answer.rows)
    sizes = [_size(subject, row) for row in shown]
    width = max(map(len, sizes), default=0)
    for row, size in zip(shown, sizes, strict=True):
        kind = KINDS.get(row.tag, "type")
        lines.append(f"  {size:>{width}}  {page.palette.note(f'{kind:9}')}  {page.fit(row.name, width + 15)}")
    return [*lines, *page.rest(len(answer.rows))]


def type_of(subject: Subject, row: TypeRow) -> Type | None:
    """The type that a row stands for."""
    found = subject.details.types.find(row.name)
    return next((type_ for type_ in found if type_.name == row.name), None)


def _size(subject: Subject, row: TypeRow) -> str:
    with subject.reading(f"'{row.name}'"):
        found = type_of(subject, row)
        return "?" if found is None or found.size is None else f"{found.size} B"
