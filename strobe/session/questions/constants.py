"""What is the same for all events of one sort: of one function, entries or returns, and of one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from strobe.dataclass import dataclass
from strobe.expressions.evaluation import Undecided
from strobe.expressions.names import MOMENTS, PLAIN, Known
from strobe.expressions.normal import Absent, NamedNumber, Normal
from strobe.model import Enumerator, FunctionSymbol
from strobe.timeline.reader import Thread

OF_FUNCTION = frozenset(("$function", "$line", "$file", "$label"))
OF_THREAD = frozenset(("$thread", "$threadName", "$pid"))


class NotConstant(Exception):
    """It is another one for each event."""


@dataclass(frozen=True, slots=True)
class Sort:
    """Events of one function. `arguments`: indexes of its arguments by name; `has_entries`: whether they are known."""

    function_id: int
    symbol: FunctionSymbol
    is_enter: bool
    has_entries: bool
    arguments: dict[str, int]


class Constants:
    """A context of evaluations that knows no event, only its sort. Raises NotConstant for all else.

    `is_general`: nothing was asked since `thread` was set that other functions may have otherwise.
    """

    def __init__(self, sort: Sort, known: Known, labels: frozenset[str]) -> None:
        """`labels` of watches, without blanks."""
        self._sort, self._known, self._labels = sort, known, labels
        self.thread: Thread | None = None
        self.is_general = True

    def root(self, name: str) -> Normal:
        if name in OF_THREAD:
            return self._of_thread(name)
        if name in OF_FUNCTION:
            self.is_general = False
            return self._of_function(name)
        if name.startswith("$") and (name in MOMENTS or name not in self._labels):
            return self._of_moment(name)
        return self._named(name)

    def has_watch(self, label: str) -> bool:
        """Whether a watch of the session is called so."""
        return label in self._labels

    def watch(self, label: str) -> Normal:
        raise NotConstant

    def normal(self, raw: Any) -> Normal:
        raise NotConstant

    def is_undecided(self, name: str) -> bool:
        """Whether no event of this sort has anything called so, where the entry of the call is not known."""
        enumerators = self._known.enumerators
        return not (name in self._labels or name in PLAIN or name.rpartition("::")[2] in enumerators)

    def _named(self, name: str) -> Normal:
        sort = self._sort
        self.is_general = False
        if sort.has_entries and (name in sort.arguments or ("this" in sort.arguments and "::" not in name)):
            raise NotConstant
        if name in self._labels:
            raise NotConstant
        if name in PLAIN:
            return self.root(PLAIN[name])
        last = name.rpartition("::")[2]
        if last in self._known.enumerators:
            return Enumerator(last, self._known.enumerators[last])
        raise Undecided(f"there is no '{name}'")

    def _of_function(self, name: str) -> Normal:
        symbol = self._sort.symbol
        label = symbol.name if symbol.is_probe else None
        known = {"$function": symbol.function, "$line": symbol.line, "$file": symbol.source_file, "$label": label}
        found = known[name]
        if name == "$label" and found is None:
            raise Absent("it is no probe's")
        if found is None:
            raise Undecided(f"the {name} is not known")
        return found

    def _of_moment(self, name: str) -> Normal:
        self.is_general = False
        if name == "$type":
            entry = "probe" if self._sort.symbol.is_probe else "function_enter"
            return entry if self._sort.is_enter else "function_exit"
        if name == "$text":
            if self._sort.symbol.message:
                raise NotConstant
            raise Undecided("it is no line of output")
        if self._sort.symbol.is_probe and name == "$return":
            if name in self._labels:
                raise NotConstant
            raise Absent("the probe does not show '$return'")
        if self._sort.is_enter and name in ("$return", "$duration"):
            raise Undecided("the call has not returned there")
        raise NotConstant

    def _of_thread(self, name: str) -> Normal:
        if self.thread is None:
            raise NotConstant
        if name == "$pid":
            return self.thread.pid
        return self.thread.name if name == "$threadName" else NamedNumber(self.thread.tid, self.thread.name)


def of_threads(
    constants: Constants, threads: Iterable[Thread], evaluate: Callable[[Constants], Normal]
) -> dict[int, tuple[int, Normal | Undecided]]:
    """(tid, value) of an expression by thread index. Raises NotConstant."""
    found: dict[int, tuple[int, Normal | Undecided]] = {}
    constants.is_general = True
    try:
        for constants.thread in threads:
            try:
                value: Normal | Undecided = evaluate(constants)
            except Undecided as error:
                value = error
            found[constants.thread.index] = (constants.thread.tid, value)
    finally:
        constants.thread = None
    return found
