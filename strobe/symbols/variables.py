"""Variables with a place of their own, by name: globals, statics of namespaces, classes, files and functions, TLS."""

from __future__ import annotations

from pathlib import PurePath

from strobe.dataclass import dataclass
from strobe.symbols.dwarf import dies
from strobe.symbols.dwarf.debug_info import DebugInfo
from strobe.symbols.dwarf.location_reader import LocationReader, inherited
from strobe.symbols.dwarf.locations import AtAddress, Location, ThreadLocal
from strobe.symbols.dwarf.rows import VariableRow
from strobe.symbols.names import SCOPE, components, demangled, outside, scoped
from strobe.symbols.types.model import Type
from strobe.symbols.types.module_types import Types


@dataclass(frozen=True, slots=True)
class Variable:
    """`name` is qualified; that of a function's static begins with the function's name.

    `location`: AtAddress or ThreadLocal. `is_external`: other units can name it. `file`, `line`: of the declaration,
    None where not known.
    """

    name: str
    linkage_name: str | None
    type: Type
    location: Location
    file: str | None
    line: int | None
    is_external: bool
    die_offset: int

    @property
    def is_thread_local(self) -> bool:
        """Whether each thread has its own."""
        return isinstance(self.location, ThreadLocal)


class Variables:
    """Of one module. Raises one of UNREADABLE where debug information is damaged."""

    def __init__(self, debug_info: DebugInfo, types: Types) -> None:
        self._debug_info = debug_info
        self._types = types
        self._locations = LocationReader(debug_info)

    def find(self, name: str) -> list[Variable]:
        """Variables called `name`: qualified, or only its last parts; after `file.cpp::` those of that file. As in the
        language, inline namespaces and those without a name may be left out, and `crate::` stands for any crate.

        Each place once. Those of exactly that name come first; several of them are static in several files or blocks.
        """
        file, wanted = _split(name.strip().removeprefix("::"))
        found: dict[tuple[int, bool], VariableRow] = {}
        for row in self._rows(wanted):
            if file is None or _is_file(row.source_file, file):
                found.setdefault((row.address, row.is_thread_local), row)
        rows = sorted(found.values(), key=lambda row: (row.name != wanted, row.name, row.die_offset))
        with self._debug_info.dwarf.lock:
            return [self._variable(row) for row in rows]

    def _rows(self, wanted: str) -> list[VariableRow]:
        wanted = wanted.removeprefix("crate::")
        return self._debug_info.find_variables(wanted) or self._instances(wanted) or self._omitting(wanted)

    def _instances(self, wanted: str) -> list[VariableRow]:
        """Of a variable template: debug information has its name without arguments, which the mangled name has."""
        position, arguments = list(outside(wanted))[-1] if wanted else (0, "")
        if not arguments.startswith("<") or not position:
            return []
        rows = self._debug_info.find_variables(wanted[:position].rstrip())
        parts = SCOPE + scoped(wanted)
        return [row for row in rows if (SCOPE + scoped(_spelled(row))).endswith(parts)]

    def _omitting(self, wanted: str) -> list[VariableRow]:
        parts = components(wanted)
        rows = self._debug_info.find_variables(parts[-1]) if len(parts) > 1 else []
        with self._debug_info.dwarf.lock:
            return [row for row in rows if self._may_omit(row, _omitted(components(row.name), parts))]

    def _may_omit(self, row: VariableRow, omitted: list[int] | None) -> bool:
        """Whether names need not say the scopes with these numbers, the innermost 0."""
        if not omitted:
            return False
        die = self._locations.die_at(row.die_offset)
        scopes = dies.around(dies.target(die, "DW_AT_specification") or die)
        return omitted[-1] < len(scopes) and all(
            scopes[at].tag == "DW_TAG_namespace"
            and (not dies.text(scopes[at]) or dies.flag(scopes[at], "DW_AT_export_symbols"))
            for at in omitted
        )

    def _variable(self, row: VariableRow) -> Variable:
        die = self._locations.die_at(row.die_offset)
        typed = inherited(die, "DW_AT_type")
        return Variable(
            _spelled(row),
            row.linkage_name,
            self._types.of_die(None if typed is None else dies.target(typed)),
            ThreadLocal(row.address) if row.is_thread_local else AtAddress(row.address),
            row.source_file,
            row.line,
            row.is_external,
            row.die_offset,
        )


def _spelled(row: VariableRow) -> str:
    """Its name, that of a template's instance with the arguments."""
    if row.linkage_name is None or row.name.endswith(">"):
        return row.name
    (found,) = demangled([row.linkage_name])
    return found if found.startswith(row.name + "<") else row.name


def _omitted(full: list[str], parts: list[str]) -> list[int] | None:
    """Which scopes of a name another leaves out, counted from the innermost; None where they are different names."""
    left, omitted = list(parts[:-1]), []
    for at, scope in enumerate(reversed(full[:-1])):
        if not left:
            break
        if scope == left[-1]:
            left.pop()
        else:
            omitted.append(at)
    return None if left or full[-1] != parts[-1] else omitted


def _split(name: str) -> tuple[str | None, str]:
    """`src/a.cpp::ns::x` is x of a file, since no name of C, C++ or Rust has a dot or a slash before its first `::`."""
    first, separator, rest = name.partition("::")
    is_file = bool(separator) and ("." in first or "/" in first) and "<" not in first
    return (first, rest) if is_file else (None, name)


def _is_file(path: str | None, file: str) -> bool:
    return path is not None and PurePath(path).parts[-len(PurePath(file).parts) :] == PurePath(file).parts
