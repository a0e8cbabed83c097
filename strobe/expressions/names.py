"""Which names an expression has, and whether anything is called so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from strobe.dataclass import dataclass, field
from strobe.expressions.parser import without_blanks
from strobe.expressions.syntax import (
    Call,
    Element,
    Expression,
    ExpressionError,
    Member,
    Name,
    Quantifier,
    WatchLabel,
    children,
)

SPECIAL = (
    *("$return", "$thread", "$threadName", "$pid", "$time", "$depth", "$function", "$line", "$file", "$caller"),
    *("$duration", "$type", "$label", "$stack"),
)
MOMENTS = (*SPECIAL, "$text")
"""What is known of each event; other names with $ are of watches and of what probes show, as `$rdi`."""
PLAIN = {name.removeprefix("$"): name for name in SPECIAL} | {"text": "$text"}
"""What may be written without $ where nothing else is called so."""


@dataclass(frozen=True, slots=True)
class Known:
    """What there is to be named. `is_open`: values may have members that can be named alone: those of `this`."""

    arguments: frozenset[str] = frozenset()
    watches: frozenset[str] = frozenset()
    enumerators: dict[str, int] = field(default_factory=dict)
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """What an expression asks for."""

    names: frozenset[str]
    watches: frozenset[str]


def check_names(tree: Expression, known: Known) -> Named:
    """What it asks for, names of enumerators left out. Raises ExpressionError with the nearest names."""
    names: set[str] = set()
    watches: set[str] = set()
    labels = {without_blanks(label): label for label in known.watches}
    for node, bound in _roots(tree, frozenset(), labels):
        if isinstance(node, Call):
            if node.text not in labels:
                reason = "what was there at the entry is known where it was watched; no watch is called"
                raise _unknown(node.at, node.text, reason, known.watches, len(node.text))
            watches.add(labels[node.text])
        elif isinstance(node, Member | Element):
            watches.add(labels[node.text])
        elif isinstance(node, WatchLabel):
            if node.label not in known.watches:
                raise _unknown(node.at, node.label, "no watch is called", known.watches, len(node.label) + 2)
            watches.add(node.label)
        elif node.name not in bound:
            _check(node, known, labels, names, watches)
    return Named(frozenset(names), frozenset(watches))


def root_names(tree: Expression) -> frozenset[str]:
    """All names that it asks for, variables of quantifiers left out."""
    return frozenset(node.name for node in _all_names(tree, frozenset()))


def _all_names(node: Expression, bound: frozenset[str]) -> Iterator[Name]:
    if isinstance(node, Name) and node.name not in bound:
        yield node
    for child in [node.of] if isinstance(node, Call) else children(node):
        is_body = isinstance(node, Quantifier) and child is node.body
        yield from _all_names(child, bound | {node.variable} if is_body and isinstance(node, Quantifier) else bound)


def _check(node: Name, known: Known, labels: dict[str, str], names: set[str], watches: set[str]) -> None:
    name = node.name
    if name in MOMENTS:
        names.add(name)
    elif name.startswith("$") and name not in labels:
        raise _unknown(node.at, name, "there is no", (*SPECIAL, *known.watches), len(name))
    elif name in known.arguments:
        names.add(name)
    elif name in labels:
        watches.add(labels[name])
    elif name in PLAIN:
        names.add(PLAIN[name])
    elif name.rpartition("::")[2] not in known.enumerators:
        if not known.is_open or "::" in name:
            every = [*known.arguments, *known.watches, *known.enumerators, *PLAIN]
            raise _unknown(node.at, name, "no traced function has an argument, nor is a watch called", every, len(name))
        names.add(name)


def _roots(
    node: Expression, bound: frozenset[str], labels: dict[str, str]
) -> Iterator[tuple[Name | WatchLabel | Member | Element | Call, frozenset[str]]]:
    """Names, and chains that are labels of watches as a whole; each with the variables that hold there."""
    if isinstance(node, Name | WatchLabel) or (isinstance(node, Call) and node.text):
        yield node, bound
        return
    if isinstance(node, Member | Element) and node.text in labels:
        yield node, bound
        return
    for child in children(node):
        within = bound
        if isinstance(node, Quantifier) and child is node.body:
            within = bound | {node.variable}
        yield from _roots(child, within, labels)


def _unknown(at: int, name: str, reason: str, known: Iterable[str], length: int) -> ExpressionError:
    from strobe.symbols.select.nearest import nearest_names

    names = sorted(set(known))
    nearest = nearest_names(name.removeprefix("$"), names)[:5]
    hint = ", ".join(nearest) if nearest else ", ".join(names[:12])
    return ExpressionError(at, f"{reason} '{name}'", hint, length)
