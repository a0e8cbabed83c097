"""What is recorded of calls beyond what their own captures give: which functions get which watches and structures.

Sets of them are made in the target once and never changed; a function's calls get another set by one store, so that
watches come and go while the program runs and no call is missed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING

from strobe import _abi
from strobe.capture.agent.agent_link import Unresponsive
from strobe.capture.agent.extras_request import ExtrasRequest
from strobe.dataclass import dataclass, field, replace
from strobe.errors import StrobeError, enumerated, failure
from strobe.limits import SHALLOW_BYTES, WATCHES
from strobe.model import FunctionSymbol, Watch
from strobe.session.extras.call_stacks import CallStacks, captured_stack
from strobe.session.extras.sets import MOST_WORDS, CaptureSet, Pending, Sets, recipe_words
from strobe.symbols import ModuleSymbols
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.select.patterns import matching, parse_all

if TYPE_CHECKING:  # only where something is watched or followed
    from strobe.session.extras.call_conditions import Conditions
    from strobe.session.extras.call_watches import CallCaptures
    from strobe.session.extras.deep import Followed, Following
    from strobe.session.extras.watches import CompiledWatch
    from strobe.symbols.calls.signature import CallValues, SignatureTypes
    from strobe.symbols.select.patterns import Pattern
    from strobe.values.lookup.scope import Scope

_UNKNOWN_CALL = "it is not known what the function is given and gives back: the compiler has changed it."


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a watch is read nowhere, and what to try."""

    reason: str
    hint: str

    def __str__(self) -> str:
        return f"{self.reason}. {self.hint}".strip()

    def error(self, name: str) -> StrobeError:
        """The refusal of the watch called `name`."""
        return failure("watch_failed", what=name, reason=self.reason, hint=self.hint)


@dataclass
class _CallWatch:
    """A watch of a variable, as functions' calls have it. `captures`: by function, None where the name is none of its
    calls' own. `problems`: why there is no value, with the functions. `unknown`: why the name means nothing outside of
    calls. `everywhere`: of what is calculated of variables alone, once that is known."""

    root: str
    scope: Callable[[], AbstractContextManager[Scope]]
    unknown: StrobeError | None
    captures: dict[tuple[str, int], CallCaptures | None] = field(default_factory=dict)
    problems: dict[str, list[str]] = field(default_factory=dict)
    everywhere: CallCaptures | None = None
    is_known_everywhere: bool = False

    @property
    def is_found(self) -> bool:
        """Whether a function has it."""
        return any(own is not None and own.leave for own in self.captures.values())

    def why_unread(self) -> Unread:
        """Where it is read nowhere."""
        if self.problems:
            reason, functions = next(iter(self.problems.items()))
            return Unread(f"in {enumerated(functions)}: {reason.rstrip('.')}", "")
        assert self.unknown is not None
        message = self.unknown.message.rstrip(".")
        reason = f"{message}, and no traced function has an argument or a member of that name"
        return Unread(reason, self.unknown.next_step)


class Extras:
    """Of one session. Not for several threads at once."""

    def __init__(self, project_root: str | None, send: Callable[[Pending], list[int]], *, sees_vectors: bool) -> None:
        """`send`: as Sets has it. `sees_vectors`: whether the recorder can tell what vector registers hold."""
        self._sees_vectors = sees_vectors
        self._project_root = project_root
        self.sets = Sets(send)
        self._following: Following | None = None
        self._shallow: Following | None = None  # of later calls, where depth adapts
        self._watches: dict[str, CompiledWatch] = {}
        self._functions: dict[str, set[tuple[str, int]]] = {}  # of the watches that are not for all
        self._gone: dict[str, str] = {}  # watches of libraries that were unloaded, and why they were not found again
        self._conditions: Conditions | None = None  # made when there is one
        self.stacks = CallStacks()
        self._condition_scope: Callable[[], AbstractContextManager[Scope]] | None = None
        self._calls: dict[str, _CallWatch] = {}  # watches of variables that may be of a call
        self.depth = 0
        self.generation = 0  # what a function's set is may have changed where this has

    @property
    def watches(self) -> list[str]:
        """The names of the active watches, in the order in which they were added."""
        return list(self._watches)

    def follow(self, depth: int, adapts: bool = False) -> None:
        """How many structs within each other are recorded of what arguments and results lead to; 0: none. `adapts`: as
        deep.of_calls has it."""
        if (depth, adapts) != (self.depth, self._shallow is not None):
            self.depth = depth
            self._following = self._shallow = None
            if depth:
                from strobe.session.extras.deep import following

                self._following = following(depth, self._project_root)
                self._shallow = following(1, self._project_root, SHALLOW_BYTES) if adapts else None
            self.generation += 1

    def record_where(
        self, patterns: Sequence[str], where: str | None, scope: Callable[[], AbstractContextManager[Scope]]
    ) -> None:
        """Of the functions that these patterns mean, only calls for which it holds are recorded; None: all. Raises
        condition_failed."""
        if self._conditions is None:
            if where is None:
                return
            from strobe.session.extras.call_conditions import Conditions

            self._conditions = Conditions()
        self._condition_scope = scope
        self._conditions.set(patterns, where)
        self.generation += 1

    def record_stacks(self, patterns: Sequence[str], count: int) -> None:
        """Of the functions that these patterns mean, up to so many callers are recorded at each call; 0: none."""
        self.stacks.set(patterns, count)
        self.generation += 1

    def check_condition(self, where: str) -> None:
        """Raises condition_failed where it means something in no function that it is for."""
        if self._conditions is not None:
            self._conditions.check(where)

    @property
    def conditions(self) -> dict[str, str]:
        """Of the patterns that have one."""
        return {} if self._conditions is None else dict(self._conditions.by_pattern)

    def restore_conditions(self, before: dict[str, str]) -> None:
        """Those that `conditions` gave before."""
        if self._conditions is not None:
            self._conditions.by_pattern = before
            self.generation += 1

    def has_condition(self, function: FunctionSymbol) -> bool:
        """Whether one decides which of the function's calls are recorded: then none is left out by sampling. So it is
        of what gives and takes memory."""
        is_heap = (function.module, function.address) in self.stacks.of_heap
        return is_heap or (self._conditions is not None and self._conditions.of(function) is not None)

    def add(self, spec: Watch, scope: Callable[[], AbstractContextManager[Scope]]) -> None:
        """One of the same name is replaced. Raises what a read of it raises, watch_failed, too_many_watches."""
        from strobe.session.extras.call_watches import root_of
        from strobe.session.extras.watches import CompiledWatch, compiled, is_calculated
        from strobe.values.lookup.scope import UnknownName

        if spec.name not in self._watches and len(self._watches) >= WATCHES:
            raise failure("too_many_watches", count=len(self._watches), limit=WATCHES)
        pending = Pending()
        patterns = tuple(parse_all(spec.on, self._project_root))
        number, unknown = self.sets.new_number(), None
        try:
            if spec.variable is not None and is_calculated(spec.variable):
                missing = failure("not_there", reason=f"{spec.name}: it is calculated in calls")
                raise UnknownName(missing.code, missing.message, missing.next_step)
            watch = replace(compiled(spec, number, scope, pending.request), patterns=patterns)
        except UnknownName as error:  # perhaps of a call
            watch, unknown = CompiledWatch(spec, number, b"", 0, "", patterns), error
        pending.descriptions |= {number: watch.description} if watch.capture else {}
        try:
            if watch.capture:
                self.sets.send(pending)
        except StrobeError as error:
            if spec.expr is None:
                raise
            hint = "It is an expression in JavaScript with args[0], args[1] …, at the return retval."
            raise failure("watch_failed", what=spec.name, reason=error.message.rstrip("."), hint=hint) from error
        self._watches[spec.name] = watch
        self._calls.pop(spec.name, None)
        if spec.variable is not None:
            self._calls[spec.name] = _CallWatch(root_of(spec.variable), scope, unknown)
        self._gone.pop(spec.name, None)
        self._functions.pop(spec.name, None)
        self.generation += 1

    def remove(self, name: str) -> bool:
        """Whether there was one."""
        self.generation += 1
        self._functions.pop(name, None)
        self._gone.pop(name, None)
        self._calls.pop(name, None)
        return self._watches.pop(name, None) is not None

    def forget(self, base: int, path: str) -> None:
        """A library was unloaded: what it had is read no more. The agent has seen to that itself where it knew."""
        from strobe.values.memory.recipes import NOWHERE

        if self._conditions is not None:
            self._conditions.forget(path)
        for call in self._calls.values():  # its variables lie elsewhere when it comes again
            call.captures = {key: own for key, own in call.captures.items() if key[0] != path}
        pending = Pending()
        for name, watch in self._watches.items():
            if watch.library is not None and watch.library.base == base and name not in self._gone:
                pending.request.move(watch.library.watch, NOWHERE)
                self._gone[name] = ""
        if pending.request.moves:
            # it ends, or is stopped; and the agent has done so itself
            with suppress(ProcessLookupError, Unresponsive):
                self.sets.send(pending)

    def find_again(self, scope: Callable[[], AbstractContextManager[Scope]]) -> None:
        """Watches whose libraries were unloaded or not there yet, now that others have come."""
        self._find_at_last(scope)
        for name in list(self._gone):
            try:
                self._find_again(self._watches[name], scope)
            except Unresponsive:
                raise
            except StrobeError as error:
                self._gone[name] = error.message
            except UNREADABLE as error:
                self._gone[name] = f"Its debug information is damaged: {error or type(error).__name__}."
            else:
                del self._gone[name]

    def _find_at_last(self, scope: Callable[[], AbstractContextManager[Scope]]) -> None:
        """Watches of a name that meant nothing anywhere."""
        from strobe.session.extras.watches import is_calculated

        for name, call in self._calls.items():
            watch = self._watches[name]
            if call.unknown is None or call.is_found or is_calculated(watch.spec.variable or ""):
                continue
            try:
                self._find_again(watch, scope)
            except Unresponsive:
                raise
            except StrobeError as error:
                call.unknown = error
            except UNREADABLE:
                continue
            else:
                call.unknown = None

    def _find_again(self, before: CompiledWatch, scope: Callable[[], AbstractContextManager[Scope]]) -> None:
        from strobe.session.extras.watches import compiled
        from strobe.values.memory.recipes import NOWHERE

        pending = Pending()
        found = compiled(before.spec, before.number, scope, ExtrasRequest())
        if found.library is not None and found.is_read_like(before):
            pending.request.move(found.library.watch, found.library.watch.address)
            pending.request.leave_with(found.library.watch, found.library.base, NOWHERE)
        else:  # events before it keep what was read otherwise
            found = compiled(before.spec, self.sets.new_number(), scope, pending.request)
            pending.descriptions[found.number] = found.description
            self.generation += 1
        self.sets.send(pending)
        self._watches[before.spec.name] = replace(found, patterns=before.patterns)

    def find_functions(self, modules: Sequence[ModuleSymbols], patterns: Sequence[Pattern]) -> None:
        """Which functions watches, and conditions of these patterns, are for, now that these modules are loaded."""
        if self._conditions is not None and self._conditions.find_functions(patterns, modules):
            self.generation += 1
        if self.stacks.find_functions(patterns, modules):
            self.generation += 1
        for name, watch in self._watches.items():
            if not watch.patterns or not modules:
                continue
            found = {(item.module, item.address) for pattern in watch.patterns for item in matching(pattern, modules)}
            if found != self._functions.get(name):
                self._functions[name] = found
                self.generation += 1

    def unread(self) -> dict[str, Unread]:
        """Watches of a name that means nothing, neither everywhere nor in any function that is traced so far: why."""
        return {
            name: call.why_unread()
            for name, call in self._calls.items()
            if call.unknown is not None and not call.is_found
        }

    def numbers(
        self,
        functions: Sequence[FunctionSymbol],
        known_types: Callable[[], Sequence[SignatureTypes | None] | None],
        known_values: Callable[[Sequence[FunctionSymbol]], Sequence[CallValues | None] | None],
        before: Sequence[int],
    ) -> list[int]:
        """For each function the number of its set; 0: nothing more is recorded of it. `known_types` gives the types of
        each one's signature, None where they cannot be read any more: then what was followed stays, by `before`, the
        numbers of the sets that they have. `known_values`: what calls are given, in the same way."""
        is_plain = self._following is None and not self._watches and self._conditions is None
        if is_plain and not self.stacks.of_function:
            return [0] * len(functions)
        if self._conditions is not None and self._condition_scope is not None:
            self._conditions.compile(functions, known_values, self._condition_scope, sees_vectors=self._sees_vectors)
        for name, call in self._calls.items():
            self._find_in_calls(self._watches[name], call, functions, known_values)
        types = None if self._following is None else known_types()
        if types is None:
            kept = self.sets.by_number() if self._following is not None else {}
            sets = [self._set_like(*item, kept) for item in zip(functions, before, strict=True)]
        else:
            sets = [self._set_of(*item) for item in zip(functions, types, strict=True)]
        if self._following is not None:
            self._following.functions += sum(item.follows for item in sets)
        return self.sets.numbers_of(sets)

    @property
    def sees_vectors(self) -> bool:
        """Whether the recorder can tell what vector registers hold."""
        return self._sees_vectors

    def warnings(self) -> list[str]:
        """What users should know about watches and recorded depth, one sentence or two each."""
        found = [] if self._following is None else self._following.warnings()
        for name, reason in self._gone.items():
            library = self._watches[name].library
            where = "its library" if library is None else library.path
            gone = f"{where} was unloaded, and no library that was loaded since has it."
            found.append(f"Watch '{name}' is not read: {gone} {reason}".strip())
        if scripts := [name for name, watch in self._watches.items() if watch.spec.expr is not None]:
            found.append(
                f"Watches in JavaScript ({', '.join(scripts)}) take microseconds at each call. These count in "
                "the durations and self times of the calling functions."
            )
        if self._conditions is not None:
            found += self._conditions.warnings()
        for name, call in self._calls.items():
            for reason, functions_of in call.problems.items():
                found.append(f"Watch '{name}' is not read in {enumerated(functions_of)}: {reason}")
        for name, functions in self._functions.items():
            if not functions:
                found.append(f"Watch '{name}' is never read: no function matches its `on` patterns.")
        return found

    def _set_of(self, function: FunctionSymbol, types: SignatureTypes | None) -> CaptureSet:
        deep = self._followed(function, types)
        entry, leave = (self._adapting(function, types, index, items) for index, items in enumerate(deep))
        words = max(sum(recipe_words(item.bytes, item.items) for item in items) for items in deep)
        if self._following is not None and self._shallow is None and 8 * words > SHALLOW_BYTES:
            self._following.large[function.name] = 8 * min(words, MOST_WORDS)
        return self._with_watches(function, (entry, leave), words)

    def _adapting(
        self, function: FunctionSymbol, types: SignatureTypes | None, index: int, deep: Sequence[Followed]
    ) -> tuple[bytes, ...]:
        """Captures of what is followed at the entry (`index` 0), or of the result."""
        from strobe.session.extras.deep import of_calls

        if self._following is None or self._shallow is None or types is None:
            return tuple(self._recipes_of(deep))
        chosen = of_calls(deep, self._shallow.of(function, types)[index])
        if any(calls != _abi.CALLS_ALL for _, calls in chosen):
            self._following.adapted[function.name] = None
        return tuple(capture for item, calls in chosen for capture in self._recipes_of([item], calls))

    def _set_like(self, function: FunctionSymbol, before: int, sets: Mapping[int, CaptureSet]) -> CaptureSet:
        known = sets.get(before)
        return self._with_watches(function, *(((), ()), 0) if known is None else (known.followed, known.followed_words))

    def _with_watches(
        self, function: FunctionSymbol, followed: tuple[tuple[bytes, ...], tuple[bytes, ...]], followed_words: int
    ) -> CaptureSet:
        entry: list[bytes] = []
        leave: list[bytes] = []
        words = followed_words
        for name, watch in self._watches.items():
            if not self._is_for(name, function):
                continue
            call = self._calls.get(name)
            own = None if call is None else call.captures.get((function.module, function.address))
            if own is None and call is not None and watch.library is not None and call.is_found:
                continue  # some library's own variable of that name is not what was meant
            entry += [watch.capture] if own is None else own.entry
            leave += [watch.capture] if own is None else own.leave
            words += watch.words if own is None else own.words
        watches = tuple(filter(None, entry)), tuple(filter(None, leave))
        # what is watched was asked for by name, so it comes first
        condition = None if self._conditions is None else self._conditions.of(function)
        stack = captured_stack(self.stacks.of(function), is_probe=False)
        return CaptureSet(watches, followed, followed_words, min(words, MOST_WORDS), condition, *stack)

    def _is_for(self, name: str, function: FunctionSymbol) -> bool:
        """Whether the watch of that name is read in the function's calls."""
        chosen = self._functions.get(name, ())
        return not self._watches[name].patterns or (function.module, function.address) in chosen

    def _find_everywhere(self, watch: CompiledWatch, call: _CallWatch, functions: Sequence[FunctionSymbol]) -> None:
        """What is calculated of variables alone is the same in all calls of functions that have none of its names."""
        from strobe.session.extras.call_watches import captures_everywhere

        new = [function for function in functions if (function.module, function.address) not in call.captures]
        if not new:
            return
        if not call.is_known_everywhere:
            call.is_known_everywhere = True
            with call.scope() as scope, suppress(StrobeError, *UNREADABLE):
                call.everywhere = captures_everywhere(watch.spec, scope, self.sets.recipe)
        for function in new:
            if call.everywhere is not None and self._is_for(watch.spec.name, function):
                call.captures[function.module, function.address] = call.everywhere

    def _find_in_calls(
        self,
        watch: CompiledWatch,
        call: _CallWatch,
        functions: Sequence[FunctionSymbol],
        known_values: Callable[[Sequence[FunctionSymbol]], Sequence[CallValues | None] | None],
    ) -> None:
        """What the watch is in the calls of these functions; those that are known already stay."""
        from strobe.session.extras.call_watches import NOTHING, captures_of, may_name
        from strobe.values.lookup.scope import UnknownName

        found = [
            function
            for function in functions
            if (function.module, function.address) not in call.captures
            and self._is_for(watch.spec.name, function)
            and may_name(watch.spec, call.root, function)
        ]
        if not call.root:
            self._find_everywhere(watch, call, [one for one in functions if one not in found])
        values = known_values(found) if found else ()
        if not values:
            return
        with call.scope() as scope:
            for function, value in zip(found, values, strict=True):
                own = None
                try:
                    if value is None:
                        call.problems.setdefault(_UNKNOWN_CALL, []).append(function.name)
                    else:
                        own = captures_of(
                            watch.spec,
                            value,
                            scope,
                            sees_vectors=self._sees_vectors,
                            new_recipe=self.sets.recipe,
                            module=function.module,
                        )
                except UnknownName as error:
                    call.unknown = error
                except StrobeError as error:
                    own = NOTHING  # not what the name means elsewhere
                    call.problems.setdefault(error.sentences, []).append(function.name)
                except UNREADABLE as error:
                    own = NOTHING
                    reason = f"Its debug information is damaged: {error or type(error).__name__}."
                    call.problems.setdefault(reason, []).append(function.name)
                call.captures[function.module, function.address] = own

    def _followed(
        self, function: FunctionSymbol, types: SignatureTypes | None
    ) -> tuple[Sequence[Followed], Sequence[Followed]]:
        if self._following is None or types is None:
            return (), ()
        return self._following.of(function, types)

    def _recipes_of(self, followed: Sequence[Followed], calls: int = _abi.CALLS_ALL) -> list[bytes]:
        """`calls`: of which they are recorded, STROBE_CALLS_*."""
        numbers = ((item, self._recipe(item)) for item in followed)
        return [
            _abi.CAPTURE.pack(item.source, _abi.CAPTURE_RECIPE, item.role, calls, number, number)
            for item, number in numbers
        ]

    def _recipe(self, item: Followed) -> int:
        about = json.dumps({"key": item.key, "pointer": item.is_pointer, "reference": item.is_reference})
        described = f'{{"shape":{item.described},{about[1:]}'
        return self.sets.recipe(item.code, item.bytes, item.items, described)
