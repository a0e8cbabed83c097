"""Which events a question has to look at: those that can have what it asks for."""

from __future__ import annotations

from collections.abc import Sequence

from strobe.dataclass import dataclass, field, replace
from strobe.expressions.names import Known, Named
from strobe.expressions.needs import comparisons, needed_names
from strobe.expressions.syntax import Expression
from strobe.model import RECORDED_EVENTS, EventFilter, TextMatch
from strobe.session.questions.quick import quick_test
from strobe.session.questions.sieving import can_sieve
from strobe.timeline.reader import SessionReader
from strobe.timeline.scan import Progress, Sight
from strobe.timeline.selection import select

AT_RETURNS = frozenset(("$return", "$duration"))
_OF_CALLS = AT_RETURNS | {"$function", "$line", "$file", "$caller", "$depth", "$label"}
_OF_OUTPUT = frozenset(("$text", "$type", "$thread", "$threadName", "$pid", "$time"))  # what output has as well


@dataclass(slots=True)
class Names:
    """What is named: all `names`; those `of_condition`; those that an event `needed`, all of them; and those that are
    shown where they are, of each expression: `alternatives`."""

    names: set[str] = field(default_factory=set)
    watches: set[str] = field(default_factory=set)
    of_condition: set[str] = field(default_factory=set)
    needed: set[str] = field(default_factory=set)
    alternatives: list[Named] = field(default_factory=list)

    def add(self, found: Named) -> None:
        """What an expression asks for."""
        self.names |= found.names
        self.watches |= found.watches


def sight_of(
    reader: SessionReader,
    wanted: EventFilter,
    condition: Expression | None,
    asked: Names,
    known: Known,
    progress: Progress | None,
) -> Sight:
    """What has to be looked at: no events and functions that cannot have what the condition or the parts need, nor
    those that have none of what is shown."""
    names, watches = asked.names, asked.watches
    # what an address is asked for does not depend on what is shown
    narrowing = names if wanted.address is None else asked.of_condition
    asks_for_arguments = _has_arguments(names, known)
    is_of_arguments = _has_arguments(narrowing, known)
    if condition is not None:
        wanted = narrowed(wanted, condition)
    kind = wanted.event_type
    is_of_returns = wanted.min_duration_ns is not None or wanted.return_value is not None
    if kind is None and narrowing - _OF_OUTPUT and not is_of_returns and _has_only_probes(reader, wanted):
        kind = "probe"
    if kind is None and not watches and not narrowing & {"$type", "$label"}:  # which other events may have
        if narrowing & AT_RETURNS or is_of_returns:
            kind = "function_exit"
        elif is_of_arguments:
            kind = "function_enter"
    # an argument may be called as a value of a probe is
    with_probes = kind == "function_enter" and wanted.event_type is None and bool(narrowing & known.watches)
    wanted = replace(wanted, event_type=kind, with_probes=with_probes, where=None, select=())
    if kind is None and (is_of_arguments or narrowing & _OF_CALLS) and wanted.function is None:
        wanted = replace(wanted, function=TextMatch(contains=""))
    if condition is not None:
        choices = [set(needed_names(condition))]
    elif wanted.address is not None:
        choices = []
    else:
        of_arguments = [own.names for own in asked.alternatives if own.names & known.arguments]
        may_be_anywhere = of_arguments and any(own.watches - own.names for own in asked.alternatives)
        choices = (
            [asked.needed] if may_be_anywhere or not of_arguments else [asked.needed | own for own in of_arguments]
        )
    choices = [(own & known.arguments) - known.watches for own in choices]
    if choices and all(choices):
        wanted = replace(wanted, function_ids=_having(reader, wanted, choices, known.is_open))
    if kind is None and narrowing == {"$text"} and wanted.text is None:
        wanted = replace(wanted, text="")
    of_entries = asks_for_arguments or "$stack" in names  # a stack is recorded with the entry
    entries = of_entries and kind not in ("function_enter", "probe")
    sight = Sight(wanted, entries, "$caller" in names, None, progress)
    if wanted.inside is not None:
        return sight
    if condition is None or (kind == "function_exit" and not entries) or can_sieve(reader, sight):
        return sight
    return replace(sight, fails=quick_test(reader, condition))


def _has_arguments(names: set[str], known: Known) -> bool:
    return bool(names & known.arguments) or any(not name.startswith("$") for name in names)


def _has_only_probes(reader: SessionReader, wanted: EventFilter) -> bool:
    """Or functions that are no more than where these are: of which the returns alone are caught."""
    functions, ids = reader.functions(), select(reader, wanted).functions
    traced = reader.store.hook_spans(reader.session_id)
    symbols = [functions[key] for key in (functions if ids is None else ids) if key in functions and traced.get(key)]
    return bool(symbols) and all(symbol.is_probe for symbol in symbols)


def _having(reader: SessionReader, wanted: EventFilter, choices: Sequence[set[str]], is_open: bool) -> frozenset[int]:
    """Functions with the arguments of one of the choices; with `this`, those whose class may have such members."""
    functions = reader.functions()
    ids = select(reader, wanted).functions
    found = set()
    for key in functions if ids is None else ids:
        symbol = functions.get(key)
        parameters = None if symbol is None else symbol.parameters
        own = {item.name for item in parameters or ()}
        if parameters is None or (is_open and "this" in own) or any(needed <= own for needed in choices):
            found.add(key)
    return frozenset(found)


def narrowed(wanted: EventFilter, condition: Expression) -> EventFilter:
    """With what the condition itself asks for, as far as the recording can be searched by it."""
    for name, sign, value in comparisons(condition):
        if name == "$duration" and sign in (">", ">=") and isinstance(value, int) and value >= 0:
            least = value + (sign == ">")
            wanted = replace(wanted, min_duration_ns=max(wanted.min_duration_ns or 0, least))
        elif name == "$function" and sign == "==" and isinstance(value, str) and wanted.function is None:
            wanted = replace(wanted, function=TextMatch(equals=value))
        elif name == "$threadName" and sign == "==" and isinstance(value, str) and wanted.thread_name is None:
            wanted = replace(wanted, thread_name=TextMatch(equals=value))
        elif name == "$label" and sign == "==" and isinstance(value, str) and wanted.event_type in (None, "probe"):
            wanted = replace(wanted, event_type="probe", function=wanted.function or TextMatch(equals=value))
        elif name == "$type" and sign == "==" and wanted.event_type is None and value in RECORDED_EVENTS:
            wanted = replace(wanted, event_type=value)
    if wanted.event_type in ("function_enter", "probe") and wanted.min_duration_ns is not None:
        wanted = replace(wanted, min_duration_ns=None)
    return wanted
