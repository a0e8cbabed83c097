"""Watches of what a call has: its arguments, members of `this`, its result. Each function has recipes of its own."""

from __future__ import annotations

import json
from collections.abc import Callable

from strobe import _abi
from strobe.dataclass import dataclass
from strobe.errors import failure
from strobe.model import FunctionSymbol, Watch
from strobe.session.watches import MAX_BYTES, read_steps, shape_at
from strobe.symbols.calls.signature import CallValues
from strobe.values.decode import stored
from strobe.values.lookup.call_scope import RETURN, THIS, CallScope
from strobe.values.lookup.expression import Expression, Name, Number, parse
from strobe.values.lookup.places import Place, place_of
from strobe.values.lookup.scope import Scope

NewRecipe = Callable[[bytes, int, int, str], int]  # code, bytes, items, description -> number


@dataclass(frozen=True, slots=True)
class CallCaptures:
    """What one function's calls record of a watch: struct strobe_capture at the entry and at the return, b"" where it
    has no value then. `words`: the most that either takes."""

    entry: bytes
    leave: bytes
    words: int


NOTHING = CallCaptures(b"", b"", 0)


def root_of(variable: str) -> str:
    """The name that an expression begins with; "" of one that has none."""
    found: Expression = parse(variable)
    while not isinstance(found, Name):
        if isinstance(found, Number):
            return ""
        found = found.of
    return found.text


def may_name(root: str, function: FunctionSymbol) -> bool:
    """Whether `root` may be of the function's calls: an argument, its result, a member of `this`."""
    names = {parameter.name for parameter in function.parameters or ()}
    return root == RETURN or root in names or THIS in names


def captures_of(
    spec: Watch, values: CallValues, scope: Scope, *, sees_vectors: bool, new_recipe: NewRecipe
) -> CallCaptures | None:
    """None where the name is none of the call's own. Raises what a read of it raises, before anything is read."""
    root = root_of(spec.variable or "")
    entry = None
    if root != RETURN:
        entry = _captured(spec, scope, CallScope(values, at_return=False, sees_vectors=sees_vectors), new_recipe, root)
        if entry is None:
            return None
    leave = _captured(spec, scope, CallScope(values, at_return=True, sees_vectors=sees_vectors), new_recipe, root)
    if leave is None:
        return None
    return CallCaptures(b"" if entry is None else entry[0], leave[0], leave[1])


def _captured(spec: Watch, scope: Scope, call: CallScope, new_recipe: NewRecipe, root: str) -> tuple[bytes, int] | None:
    if root not in call.names and not call.is_member(root):
        return None
    variable = spec.variable or ""
    place = place_of(parse(variable), scope, call=call)
    code, size, items, described = _recipe(spec.name, variable, place, scope)
    number = new_recipe(code, size, items, described)
    needs = call.needs(place.recipe)
    capture = _abi.CAPTURE.pack(needs, _abi.CAPTURE_RECIPE, _abi.ROLE_WATCH, 0, number, number)
    return capture, 2 + 2 * items + (size + 7) // 8


def _recipe(label: str, variable: str, place: Place, scope: Scope) -> tuple[bytes, int, int, str]:
    shape = shape_at(place, scope)
    if shape.size > MAX_BYTES:
        reason = f"it has {shape.size} bytes, and {MAX_BYTES} are recorded"
        raise failure("watch_failed", what=label, reason=reason, hint="Watch a part of it.")
    code, size, items = read_steps(place, shape)
    names = {str(step): text for step, text in (place.dereferenced | place.refused).items()}
    described = {"label": label, "shape": json.loads(stored.dump(shape)), "text": variable, "pointers": names}
    return code, size, items, json.dumps(described)
