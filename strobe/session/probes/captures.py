"""Expressions and conditions of probes as recipes, with what names mean at one instruction."""

from __future__ import annotations

import json
from collections.abc import Sequence

from strobe.dataclass import dataclass
from strobe.errors import StrobeError, enumerated, failure
from strobe.expressions.parser import parse as parse_expression
from strobe.expressions.syntax import ExpressionError
from strobe.model import Probe
from strobe.session.extras.call_conditions import reason
from strobe.session.extras.sets import ProbeValue
from strobe.session.extras.watches import MAX_BYTES, is_calculated, is_whole, read_steps, shape_at
from strobe.session.probes.named_values import named, written_out
from strobe.symbols.objects.damage import UNREADABLE
from strobe.values.decode import stored
from strobe.values.decode.shapes import Nothing
from strobe.values.language import Condition, condition, location, value
from strobe.values.lookup.address_scope import AddressScope
from strobe.values.lookup.expression import parse
from strobe.values.lookup.locations import ValueLocation, location_of
from strobe.values.lookup.scope import Scope, UnknownName
from strobe.values.memory.recipes import Recipe

_HINT = "In scope here: "  # as strobe/values/lookup/locations.py says it
_READABLE = 12  # names that an error lists
_SHORT = {" is optimized out": "<optimized out>", " not found in debug symbols": "<not in scope>"}
FAILURES: tuple[type[Exception], ...] = (StrobeError, ExpressionError, *UNREADABLE)


@dataclass(frozen=True, slots=True)
class Compiled:
    """What can be recorded at one location of a probe. `values`: by label, in the order asked for; of those that mean
    nothing there, why. `problems`: expressions that mean nothing there, each with why; `refusal`: the same as a text,
    empty where there are none. `has_condition`: whether the condition means something, or there is none."""

    values: dict[str, ProbeValue | str]
    condition: Condition | None
    problems: tuple[str, ...] = ()
    refusal: str = ""
    has_condition: bool = True

    @property
    def known(self) -> set[str]:
        """Labels of the values that there are."""
        return {label for label, value in self.values.items() if isinstance(value, ProbeValue)}

    def recorded(self, elsewhere: set[str]) -> tuple[ProbeValue, ...]:
        """With an error in place of those that have a value `elsewhere`; the others are left out."""
        return tuple(
            absent(label, value) if isinstance(value, str) else value
            for label, value in self.values.items()
            if label in elsewhere or isinstance(value, ProbeValue)
        )


def compiled(probe: Probe, scope: Scope, names: AddressScope) -> Compiled:
    """What of it means something at this location."""
    values: dict[str, ProbeValue | str] = {}
    where, has_condition = None, True
    problems: dict[str, list[str]] = {}  # expressions by why they mean nothing there

    def note(text: str, error: Exception) -> None:
        why = reason(text, error)
        unread = next((one for one in names.unread.values() if one in why), None)
        problems.setdefault(unread or why, []).append(f"'{text}'")

    probe = written_out(probe, lambda name: _is_known(name, scope, names))
    if probe.where is not None:
        try:
            where = condition(probe.where, scope, names)
        except FAILURES as error:
            note(probe.where, error)
            has_condition = False
    for shown in probe.show:
        label, text = named(shown)
        try:
            values[label] = _value(label, text, scope, names)
        except FAILURES as error:
            note(text, error)
            values[label] = first_sentence(reason(text, error))
    said = hints_once([f"{', '.join(texts)}: {why}" for why, texts in problems.items()])
    instead = _instead(names) if problems.keys() & set(names.unread.values()) else ""
    return Compiled(values, where, tuple(said), "; ".join(said) + instead, has_condition)


def absent(label: str, why: str) -> ProbeValue:
    """An error as a value: short, as `why` is said once, with the places."""
    why = next((short for reason, short in _SHORT.items() if reason in why), why)
    recipe = Recipe()
    recipe.numbers((("CONSTANT", 0, 0, 0),))
    pointers = {str(recipe.require()): why}
    recipe.read(1)
    described = {"label": label, "shape": json.loads(stored.dump(Nothing(why))), "text": label, "pointers": pointers}
    return ProbeValue(*recipe.finished(), json.dumps(described), 0)


def first_sentence(text: str) -> str:
    """Without what else there is: "value is optimized out at pool.cpp:12"."""
    return text.partition(". ")[0].rstrip(".")


def _is_known(name: str, scope: Scope, names: AddressScope) -> bool:
    try:
        location_of(parse(name), scope, call=names)
    except UnknownName:
        return False
    except FAILURES:
        return True
    return True


def _instead(names: AddressScope) -> str:
    """What has a value there, where something that was asked for has none."""
    readable = names.readable
    return f". With a value there: {enumerated(readable, _READABLE)}" if readable else ". No variable has a value there"


def hints_once(problems: Sequence[str]) -> list[str]:
    """What is in scope is the same for all expressions at one location: it stands with the last one alone."""
    hints = [problem.partition(_HINT)[2] for problem in problems]
    return [
        problem.partition(f". {_HINT}")[0] if hint and hint in hints[number + 1 :] else problem
        for number, (problem, hint) in enumerate(zip(problems, hints, strict=True))
    ]


def _value(label: str, text: str, scope: Scope, names: AddressScope) -> ProbeValue:
    if not is_calculated(text):
        return _whole(label, text, location_of(parse(text), scope, call=names), scope, names)
    tree = parse_expression(text)
    if is_whole(tree, scope, names):
        return _whole(label, text, location(tree, scope, names), scope, names)
    return _calculated(label, text, scope, names)


def _whole(label: str, text: str, at: ValueLocation, scope: Scope, names: AddressScope) -> ProbeValue:
    shape = shape_at(at, scope)
    if shape.size > MAX_BYTES:
        large = f"it has {shape.size} bytes, and {MAX_BYTES} are recorded"
        raise failure("watch_failed", what=text, reason=large, hint="Show a part of it.")
    code, size, items = read_steps(at, shape)
    pointers = {str(step): said for step, said in (at.dereferenced | at.refused).items()}
    described = {"label": label, "shape": json.loads(stored.dump(shape)), "text": text, "pointers": pointers}
    return ProbeValue(code, size, items, json.dumps(described), names.needs(at.recipe))


def _calculated(label: str, text: str, scope: Scope, names: AddressScope) -> ProbeValue:
    found = value(text, scope, names)
    reasons = {str(step): said for step, said in found.reasons.items()}
    described = {"label": label, "shape": json.loads(stored.dump(found.shape)), "text": text, "pointers": reasons}
    return ProbeValue(found.code, found.size, found.items, json.dumps(described), found.needs)
