"""What probes of a function's returns record: `f:return`."""

from __future__ import annotations

from collections.abc import Set

from strobe import _abi
from strobe.dataclass import dataclass, replace
from strobe.expressions.parser import parse
from strobe.model import Probe, Watch
from strobe.session.extras.call_conditions import reason
from strobe.session.extras.call_watches import NewRecipe, captures_of, whole
from strobe.session.extras.sets import recipe_words
from strobe.session.probes.captures import FAILURES, absent, first_sentence, hints_once
from strobe.session.probes.gone_locals import gone_local
from strobe.session.probes.named_values import named, written_out
from strobe.symbols.calls.signature import CallValues
from strobe.values.language import Condition, condition, location
from strobe.values.lookup.call_scope import CallScope
from strobe.values.lookup.scope import Scope, UnknownName

_UNKNOWN_CALL = "it is not known what the function is given and gives back: the compiler has changed it"
_AT_RETURN = (
    "At a return these are known: $return, arguments and $entry as the call had them, members of this, variables"
)


@dataclass(frozen=True, slots=True)
class CompiledReturn:
    """Captures (struct strobe_capture): `entry` of what is kept then, `leave` of what is recorded, `words` at most.
    `left_out`: expressions that mean nothing there and nowhere else, each with why; `absent`: labels of those that mean
    something elsewhere, of which an error is recorded, each with why; `known`: labels of the others."""

    entry: tuple[bytes, ...]
    leave: tuple[bytes, ...]
    words: int
    condition: Condition | None
    left_out: tuple[str, ...] = ()
    absent: tuple[tuple[str, str], ...] = ()
    known: frozenset[str] = frozenset()


def compiled_at_return(
    probe: Probe,
    values: CallValues | None,
    module: str,
    scope: Scope,
    new_recipe: NewRecipe,
    sees_vectors: bool,
    anyway: bool = False,
    elsewhere: Set[str] = frozenset(),
) -> CompiledReturn | str:
    """Or why it cannot be: all that means nothing in that function's calls. `module`: the path of the file that has it.
    `anyway`: what it shows may mean nothing there, its condition may not. `elsewhere`: labels of what means something
    in other functions, and may mean nothing here."""
    if values is None:
        return _UNKNOWN_CALL
    before = CallScope(values, module, at_return=False, sees_vectors=sees_vectors)
    after = CallScope(values, module, at_return=True, sees_vectors=sees_vectors, counts_hits=True)
    entry: dict[bytes, None] = {}
    leave: list[bytes] = []
    problems: list[str] = []
    words, where, is_unknown = 0, None, False
    absences: list[tuple[str, str]] = []
    known: set[str] = set()
    probe = written_out(probe, lambda name: _is_known(name, scope, after))
    if probe.where is not None:
        try:
            where = replace(condition(probe.where, scope, after, before), at_return=False)
        except FAILURES as error:
            problems.append(_why_not(probe.where, error, values, scope))
            is_unknown, anyway = isinstance(error, UnknownName), False
    for shown in probe.show:
        label, text = named(shown)
        try:
            found = captures_of(
                Watch(text, label=label),
                values,
                scope,
                sees_vectors=sees_vectors,
                new_recipe=new_recipe,
                module=module,
                counts_hits=True,
            )
            if found is None:  # a variable
                own = whole(label, text, location(parse(text), scope, after), scope, new_recipe, _abi.ROLE_WATCH)
                leave.append(own[0])
                words += own[1]
                known.add(label)
                continue
        except FAILURES as error:
            why = _why_not(text, error, values, scope)
            if label in elsewhere:
                absences.append((label, first_sentence(why.removeprefix(f"'{text}': "))))
                value = absent(label, absences[-1][1])
                number = new_recipe(value.code, value.bytes, value.items, value.description)
                leave.append(_abi.CAPTURE.pack(0, _abi.CAPTURE_RECIPE, _abi.ROLE_WATCH, 0, number, number))
                words += recipe_words(value.bytes, value.items)
                continue
            problems.append(why)
            is_unknown |= isinstance(error, UnknownName)
            continue
        known.add(label)
        entry |= dict.fromkeys(one for one in found.entry if _is_kept(one))
        leave += found.leave
        words += found.words
    said = hints_once(problems)
    if said and not anyway:
        return "; ".join(said) + (f". {_AT_RETURN}" if is_unknown else "")
    return CompiledReturn(tuple(entry), tuple(leave), words, where, tuple(said), tuple(absences), frozenset(known))


def _is_known(name: str, scope: Scope, after: CallScope) -> bool:
    try:
        location(parse(name), scope, after)
    except UnknownName:
        return False
    except FAILURES:
        return True
    return True


def _why_not(text: str, error: Exception, values: CallValues, scope: Scope) -> str:
    gone = gone_local(text, values.function, scope) if isinstance(error, UnknownName) else ""
    return f"'{text}': {gone or reason(text, error)}"


def _is_kept(capture: bytes) -> bool:
    """Else it would be recorded at the entry."""
    return bool(_abi.CAPTURE.unpack(capture)[2] == _abi.ROLE_BEFORE)
