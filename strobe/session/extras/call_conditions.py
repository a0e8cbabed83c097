"""Conditions of traces: which calls of a function are recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from strobe.dataclass import dataclass, field
from strobe.errors import StrobeError, enumerated, failure
from strobe.expressions.parser import parse
from strobe.expressions.syntax import ExpressionError
from strobe.model import FunctionSymbol
from strobe.session.extras.call_stacks import FunctionKey
from strobe.symbols import ModuleSymbols
from strobe.symbols.calls.signature import CallValues
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.select.patterns import Pattern, matching
from strobe.values.language import NEVER, Condition, condition, is_of_return
from strobe.values.lookup.call_scope import CallScope
from strobe.values.lookup.scope import Scope

_UNKNOWN_CALL = "it is not known what the function is given: the compiler has changed it"

_FAILURES: tuple[type[Exception], ...] = (StrobeError, ExpressionError, *UNREADABLE)


@dataclass
class Conditions:
    """Of the patterns of one session. `found`: what decides of each function's calls. `problems`: why a condition means
    nothing in functions, with their names; none of their calls is recorded."""

    by_pattern: dict[str, str] = field(default_factory=dict)
    of_function: dict[FunctionKey, str] = field(default_factory=dict)
    found: dict[tuple[FunctionKey, str], Condition] = field(default_factory=dict)
    problems: dict[tuple[str, str], dict[FunctionKey, str]] = field(default_factory=dict)

    def set(self, patterns: Sequence[str], where: str | None) -> None:
        """Of these patterns from now on; None: each call is recorded. Raises condition_failed for what is none."""
        if where is not None:
            check_text(where)
        self._forget_failures()
        self.by_pattern = {text: own for text, own in self.by_pattern.items() if text not in patterns}
        if where is not None:
            self.by_pattern |= dict.fromkeys(patterns, where)

    def find_functions(self, patterns: Sequence[Pattern], modules: Sequence[ModuleSymbols]) -> bool:
        """Which functions they are for, now that these modules are loaded; whether that has changed. A function that a
        pattern without a condition means as well has none; of several conditions one is enough."""
        before, self.of_function = self.of_function, {}
        if not self.by_pattern:
            return bool(before)
        wheres: dict[FunctionKey, dict[str, None]] = {}
        free: set[FunctionKey] = set()
        for pattern in patterns:
            matched = {(item.module, item.address) for item in matching(pattern, modules)}
            where = self.by_pattern.get(pattern.text)
            if where is None:
                free |= matched
                continue
            for key in matched:
                wheres.setdefault(key, {})[where] = None
        for key, texts in wheres.items():
            if key not in free:
                self.of_function[key] = next(iter(texts)) if len(texts) == 1 else " || ".join(f"({t})" for t in texts)
        return before != self.of_function

    def compile(
        self,
        functions: Sequence[FunctionSymbol],
        known_values: Callable[[Sequence[FunctionSymbol]], Sequence[CallValues | None] | None],
        scope: Callable[[], AbstractContextManager[Scope]],
        *,
        sees_vectors: bool,
    ) -> None:
        """Finds out what decides of these functions' calls; what is known already stays."""
        new = [function for function in functions if self._is_new((function.module, function.address))]
        values = known_values(new) if new else ()
        if values is None:
            for function in new:
                self._fail(function, "what it is given cannot be read any more, as its file was replaced")
        if not values:
            return
        with scope() as found:
            for function, value in zip(new, values, strict=True):
                key = (function.module, function.address)
                where = self.of_function[key]
                try:
                    self.found[key, where] = _compiled(where, value, found, sees_vectors, function.module)
                except _FAILURES as error:
                    self._fail(function, reason(where, error))

    def of(self, function: FunctionSymbol) -> Condition | None:
        """None where each call is recorded."""
        key = (function.module, function.address)
        where = self.of_function.get(key)
        return None if where is None else self.found.get((key, where), NEVER)

    def warnings(self) -> list[str]:
        """A sentence for each condition that means nothing in some of its functions."""
        return [
            f"No call of {enumerated(functions.values())} is recorded: '{where}' means nothing there: {why}."
            for (where, why), functions in self.problems.items()
            if any(self.of_function.get(key) == where for key in functions)
        ]

    def check(self, asked: str) -> None:
        """Raises where this condition means something in none of its functions."""
        for (where, why), functions in self.problems.items():
            if where != asked:
                continue
            own = [key for key, text in self.of_function.items() if text == where]
            if own and all(self.found.get((key, where)) is NEVER for key in own):
                raise failure(
                    "condition_failed",
                    what=where,
                    reason=f"in {enumerated(functions.values())}: {why}",
                )

    def _fail(self, function: FunctionSymbol, why: str) -> None:
        key = (function.module, function.address)
        where = self.of_function[key]
        self.found[key, where] = NEVER
        self.problems.setdefault((where, why), {})[key] = function.name

    def forget(self, module: str) -> None:
        """It was unloaded: its variables lie elsewhere when it comes again."""
        self.found = {key: one for key, one in self.found.items() if key[0][0] != module}

    def _forget_failures(self) -> None:
        """What meant nothing may mean something by now."""
        self.found = {key: one for key, one in self.found.items() if one is not NEVER}
        self.problems = {}

    def _is_new(self, key: FunctionKey) -> bool:
        where = self.of_function.get(key)
        return where is not None and (key, where) not in self.found


def check_text(where: str) -> None:
    """Raises condition_failed for what is no expression."""
    try:
        parse(where)
    except ExpressionError as error:
        raise failure("condition_failed", what=where, reason=reason(where, error)) from error


def _compiled(where: str, values: CallValues | None, scope: Scope, sees_vectors: bool, module: str) -> Condition:
    if values is None:
        raise failure("not_there", reason=_UNKNOWN_CALL)
    entry = CallScope(values, module, at_return=False, sees_vectors=sees_vectors)
    if not is_of_return(where):
        return condition(where, scope, entry)
    return condition(where, scope, CallScope(values, module, at_return=True, sees_vectors=sees_vectors), entry)


def reason(text: str, error: Exception) -> str:
    """Why an expression cannot be compiled: of an ExpressionError, a StrobeError, or damaged debug information."""
    if isinstance(error, ExpressionError):
        hint = f" (valid: {error.hint.removeprefix('Valid: ').rstrip('.')})" if error.hint else ""
        return f"{error.reason}, at '{error.near(text)}'{hint}"
    if isinstance(error, StrobeError):
        return error.sentences.rstrip(".")
    return f"its debug information is damaged: {error or type(error).__name__}"
