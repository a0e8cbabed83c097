"""Watches of what a call has: its arguments, members of `this`, its result, and what is calculated of them. Each
function has recipes of its own."""

from __future__ import annotations

import json
from collections.abc import Callable

from strobe import _abi
from strobe.dataclass import dataclass
from strobe.errors import failure
from strobe.expressions import syntax
from strobe.expressions.names import root_names
from strobe.expressions.parser import parse as parse_expression
from strobe.expressions.syntax import ExpressionError
from strobe.model import FunctionSymbol, Watch
from strobe.session.extras.watches import MAX_BYTES, is_calculated, is_whole, read_steps, root_name, shape_at
from strobe.symbols.calls.signature import CallValues
from strobe.values.decode import stored
from strobe.values.language import NO_ROOTS, Roots, is_of_return, location, value, with_block
from strobe.values.lookup.call_scope import RETURN, THIS, CallScope, needs_of
from strobe.values.lookup.expression import parse
from strobe.values.lookup.locations import ValueLocation, location_of
from strobe.values.lookup.scope import Scope, UnknownName

NewRecipe = Callable[[bytes, int, int, str], int]  # code, bytes, items, description -> number
_OF_ONE_CALL = ("$entry", "$changed")


@dataclass(frozen=True, slots=True)
class CallCaptures:
    """What one function's calls record of a watch: struct strobe_capture at the entry and at the return, none where it
    has no value then. `words`: the most that either takes."""

    entry: tuple[bytes, ...]
    leave: tuple[bytes, ...]
    words: int


NOTHING = CallCaptures((), (), 0)


def root_of(variable: str) -> str:
    """The name that an expression begins with; "" of one that has none, and of what is calculated."""
    if is_calculated(variable):
        return ""
    return root_name(parse(variable))


def may_name(spec: Watch, root: str, function: FunctionSymbol) -> bool:
    """Whether the watch, whose root is `root`, may be of the function's calls: of an argument, its result, a member of
    `this`."""
    names = {parameter.name for parameter in function.parameters or ()}
    if root:
        return root == RETURN or root in names or THIS in names
    asked = root_names(parse_expression(spec.variable or ""))
    return THIS in names or not asked or any(name.startswith("$") or name in names for name in asked)


def captures_of(
    spec: Watch,
    values: CallValues,
    scope: Scope,
    *,
    sees_vectors: bool,
    new_recipe: NewRecipe,
    module: str,
    counts_hits: bool = False,
) -> CallCaptures | None:
    """None where the name is none of the call's own. Raises what a read of it raises, before anything is read, and
    UnknownName where a part of what is calculated is nowhere known."""
    before, after = (
        CallScope(values, module, at_return=at_return, sees_vectors=sees_vectors, counts_hits=counts_hits)
        for at_return in (False, True)
    )
    if is_calculated(spec.variable or ""):
        return _Calculated(spec, scope, before, after, new_recipe).captures()
    root = root_of(spec.variable or "")
    if "[" in (spec.variable or "") and (root in after.names or before.is_member(root)):  # perhaps of a map
        return _Calculated(spec, scope, before, after, new_recipe).captures()
    entry = None
    if root != RETURN:
        entry = _captured(spec, scope, before, new_recipe, root)
        if entry is None:
            return None
    leave = _captured(spec, scope, after, new_recipe, root)
    if leave is None:
        return None
    return CallCaptures(() if entry is None else (entry[0],), (leave[0],), leave[1])


def captures_everywhere(spec: Watch, scope: Scope, new_recipe: NewRecipe) -> CallCaptures | None:
    """Of what is calculated of variables alone, in any function's calls; None where it asks for a call's own. Raises as
    captures_of."""
    try:
        return _Calculated(spec, scope, NO_ROOTS, NO_ROOTS, new_recipe).captures()
    except UnknownName:
        return None


def _captured(spec: Watch, scope: Scope, call: CallScope, new_recipe: NewRecipe, root: str) -> tuple[bytes, int] | None:
    if root not in call.names and not call.is_member(root):
        return None
    variable = spec.variable or ""
    found = location_of(parse(variable), scope, call=call)
    return whole(spec.name, variable, found, scope, new_recipe, _abi.ROLE_WATCH)


def whole(
    label: str, variable: str, at: ValueLocation, scope: Scope, new_recipe: NewRecipe, role: int, changed: str = ""
) -> tuple[bytes, int]:
    """The capture of what lies at a location, and the most words that its block takes. Raises watch_failed."""
    shape = shape_at(at, scope)
    if shape.size > MAX_BYTES:
        reason = f"it has {shape.size} bytes, and {MAX_BYTES} are recorded"
        raise failure("watch_failed", what=label, reason=reason, hint="Watch a part of it.")
    code, size, items = read_steps(at, shape)
    names = {str(step): text for step, text in (at.dereferenced | at.refused).items()}
    described: dict[str, object] = {"label": label, "shape": json.loads(stored.dump(shape)), "text": variable}
    described |= {"pointers": names} | ({"changed": changed} if changed else {})
    number = new_recipe(code, size, items, json.dumps(described))
    return _capture(needs_of(at.recipe), role, number), _words(size, items)


def _capture(needs: int, role: int, number: int) -> bytes:
    return _abi.CAPTURE.pack(needs, _abi.CAPTURE_RECIPE, role, 0, number, number)


def _kept(number: int) -> bytes:
    """At the return: the block that was kept at the entry."""
    return _abi.CAPTURE.pack(0, _abi.CAPTURE_BEFORE, _abi.ROLE_BEFORE, 0, 0, number)


def _words(size: int, items: int) -> int:
    return 2 + 2 * items + (size + 7) // 8


class _Calculated:
    """A watch that is more than a path."""

    def __init__(self, spec: Watch, scope: Scope, before: Roots, after: Roots, new_recipe: NewRecipe) -> None:
        self._label, self._text, self._scope = spec.name, spec.variable or "", scope
        self._before, self._after, self._new_recipe = before, after, new_recipe

    def captures(self) -> CallCaptures:
        try:
            return self._captures()
        except ExpressionError as error:
            hint = f"Valid: {error.hint}." if error.hint else ""
            reason = f"{error.reason}, at '{error.near(self._text)}'"
            raise failure("watch_failed", what=self._label, reason=reason, hint=hint) from error

    def _captures(self) -> CallCaptures:
        tree = parse_expression(self._text)
        if isinstance(tree, syntax.Call) and tree.name in _OF_ONE_CALL and is_whole(tree.of, self._scope, self._before):
            return self._of_entry(tree)
        if is_whole(tree, self._scope, self._after):
            if is_of_return(self._text):
                leave, words = self._location(tree, self._after, _abi.ROLE_WATCH, "")
                return CallCaptures((), (leave,), words)
            entry, _ = self._location(tree, self._before, _abi.ROLE_WATCH, "")
            leave, words = self._location(tree, self._after, _abi.ROLE_WATCH, "")
            return CallCaptures((entry,), (leave,), words)
        if is_of_return(self._text):
            return self._numbers((), self._after, self._before)
        first = self._numbers((), self._before, None)
        last = self._numbers((), self._after, None)
        return CallCaptures(first.leave, last.leave, last.words)

    def _of_entry(self, tree: syntax.Call) -> CallCaptures:
        """What a whole value was at the entry; of $changed what it is at the return as well."""
        is_changed = tree.name == "$changed"
        before, words = self._location(tree.of, self._before, _abi.ROLE_BEFORE, "entry" if is_changed else "")
        (_, _, _, _, _, number) = _abi.CAPTURE.unpack(before)
        leave = [_kept(number)]
        if is_changed:
            after, more = self._location(tree.of, self._after, _abi.ROLE_WATCH, "return")
            leave.append(after)
            words += more
        return CallCaptures((before,), tuple(leave), words)

    def _location(self, of: syntax.Expression, roots: Roots, role: int, changed: str) -> tuple[bytes, int]:
        found = location(of, self._scope, roots)
        own = self._text if not changed else self._text.partition("(")[2].rpartition(")")[0].strip()
        return whole(self._label, own, found, self._scope, self._new_recipe, role, changed)

    def _numbers(self, entry: tuple[bytes, ...], roots: Roots, before: Roots | None) -> CallCaptures:
        found = value(self._text, self._scope, roots, before)
        code = found.code
        if found.entry is not None:
            kept = self._new_recipe(found.entry.code, 8 * found.entry.items, found.entry.items, "")
            entry = (_capture(found.entry.needs, _abi.ROLE_BEFORE, kept),)
            code = with_block(code, kept)
        reasons = {str(step): text for step, text in found.reasons.items()}
        described = {
            "label": self._label,
            "shape": json.loads(stored.dump(found.shape)),
            "text": self._text,
            "pointers": reasons,
        }
        number = self._new_recipe(code, found.size, found.items, json.dumps(described))
        return CallCaptures(entry, (_capture(found.needs, _abi.ROLE_WATCH, number),), _words(found.size, found.items))
