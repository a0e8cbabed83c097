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
from strobe.errors import StrobeError, command_names, failure
from strobe.limits import WATCHES
from strobe.model import FunctionSymbol, Watch
from strobe.symbols import ModuleSymbols
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.select.patterns import matching, parse_all

if TYPE_CHECKING:  # only where something is watched or followed
    from strobe.session.deep import Followed, Following
    from strobe.session.watches import CompiledWatch
    from strobe.symbols.calls.signature import SignatureTypes
    from strobe.values.lookup.scope import Scope

_MAX_WORDS = 800  # of a record's 1,023, beside what its function's own captures take; what finds no room says so
_LAST_ID = 65_534
_MANY = 500  # functions


@dataclass(frozen=True, slots=True)
class _Set:
    """Captures at the entry and at the return: those of watches, then those of structures that are followed, and the
    most words that the latter take."""

    watches: tuple[bytes, ...]
    followed: tuple[tuple[bytes, ...], tuple[bytes, ...]]
    followed_words: int
    words: int  # the most that either of them gives

    @property
    def follows(self) -> bool:
        return any(self.followed)


@dataclass
class Pending:
    """What the target does not have yet, with what the blocks mean."""

    request: ExtrasRequest = field(default_factory=ExtrasRequest)
    descriptions: dict[int, str] = field(default_factory=dict)


class Extras:
    """Of one session. Not for several threads at once."""

    def __init__(self, project_root: str | None, send: Callable[[Pending], list[int]]) -> None:
        """`send`: makes what is pending known to the store and the target, and gives the numbers of the sets."""
        self._project_root = project_root
        self._send = send
        self._next_id = 1
        self._recipes: dict[tuple[bytes, str], int] = {}
        self._sets: dict[_Set, int] = {}
        self._pending = Pending()
        self._following: Following | None = None
        self._watches: dict[str, CompiledWatch] = {}
        self._functions: dict[str, set[tuple[str, int]]] = {}  # of the watches that are not for all
        self._gone: dict[str, str] = {}  # watches of libraries that were unloaded, and why they were not found again
        self._followed_functions = 0
        self.depth = 0
        self.generation = 0  # what a function's set is may have changed where this has

    @property
    def watches(self) -> list[str]:
        return list(self._watches)

    def follow(self, depth: int) -> None:
        """How many structs within each other are recorded of what arguments and results lead to; 0: none."""
        if depth != self.depth:
            self.depth = depth
            self._followed_functions = 0
            self._following = _following(depth, self._project_root) if depth else None
            self.generation += 1

    def add(self, spec: Watch, scope: Callable[[], AbstractContextManager[Scope]]) -> None:
        """One of the same name is replaced. Raises what a read of it raises, watch_failed, too_many_watches."""
        from strobe.session.watches import compiled

        if spec.name not in self._watches and len(self._watches) >= WATCHES:
            raise failure("too_many_watches", count=len(self._watches), limit=WATCHES)
        pending = Pending()
        patterns = tuple(parse_all(spec.on, self._project_root))
        watch = replace(compiled(spec, self._new_id(), scope, pending.request), patterns=patterns)
        pending.descriptions[watch.number] = watch.description
        try:
            self._send(pending)
        except StrobeError as error:
            if spec.expr is None:
                raise
            hint = "It is an expression in JavaScript with args[0], args[1] …, at the return retval."
            raise failure("watch_failed", what=spec.name, reason=error.message, hint=hint) from error
        self._watches[spec.name] = watch
        self._gone.pop(spec.name, None)
        self._functions.pop(spec.name, None)
        self.generation += 1

    def remove(self, name: str) -> bool:
        """Whether there was one."""
        self.generation += 1
        self._functions.pop(name, None)
        self._gone.pop(name, None)
        return self._watches.pop(name, None) is not None

    def forget(self, base: int) -> None:
        """A library was unloaded: what it had is read no more. The agent has seen to that where it was told."""
        from strobe.values.memory.recipes import NOWHERE

        pending = Pending()
        for name, watch in self._watches.items():
            if watch.library is not None and watch.library.base == base and name not in self._gone:
                pending.request.move(watch.library.place, NOWHERE)
                self._gone[name] = ""
        if pending.request.moves:
            # it ends, or is stopped; and the agent has done so itself
            with suppress(ProcessLookupError, Unresponsive):
                self._send(pending)

    def find_again(self, scope: Callable[[], AbstractContextManager[Scope]]) -> None:
        """Watches whose libraries were unloaded, now that others have come."""
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

    def _find_again(self, before: CompiledWatch, scope: Callable[[], AbstractContextManager[Scope]]) -> None:
        from strobe.session.watches import compiled
        from strobe.values.memory.recipes import NOWHERE

        pending = Pending()
        found = compiled(before.spec, before.number, scope, ExtrasRequest())
        if found.library is not None and found.is_read_like(before):
            pending.request.move(found.library.place, found.library.place.address)
            pending.request.leave_with(found.library.place, found.library.base, NOWHERE)
        else:  # events before it keep what was read otherwise
            found = compiled(before.spec, self._new_id(), scope, pending.request)
            pending.descriptions[found.number] = found.description
            self.generation += 1
        self._send(pending)
        self._watches[before.spec.name] = replace(found, patterns=before.patterns)

    def find_functions(self, modules: Sequence[ModuleSymbols]) -> None:
        """Which functions watches are for, now that these modules are loaded."""
        for name, watch in self._watches.items():
            if not watch.patterns:
                continue
            found = {(item.module, item.address) for pattern in watch.patterns for item in matching(pattern, modules)}
            if found != self._functions.get(name):
                self._functions[name] = found
                self.generation += 1

    def numbers(
        self,
        functions: Sequence[FunctionSymbol],
        known_types: Callable[[], Sequence[SignatureTypes | None] | None],
        before: Sequence[int],
    ) -> list[int]:
        """For each function the number of its set; 0: nothing more is recorded of it. `known_types` gives the types of
        each one's signature, None where they cannot be read any more: then what was followed stays, by `before`, the
        numbers of the sets that they have."""
        if self._following is None and not self._watches:
            return [0] * len(functions)
        types = None if self._following is None else known_types()
        if types is None:
            kept = {number: item for item, number in self._sets.items()} if self._following is not None else {}
            sets = [self._set_like(*item, kept) for item in zip(functions, before, strict=True)]
        else:
            sets = [self._set_of(*item) for item in zip(functions, types, strict=True)]
        self._followed_functions += sum(item.follows for item in sets)
        self._make([item for item in dict.fromkeys(sets) if item.words and item not in self._sets])
        return [self._sets[item] if item.words else 0 for item in sets]

    def warnings(self) -> list[str]:
        found = []
        if self._followed_functions > _MANY:
            count = f"{self._followed_functions:,} functions, {self.depth} structs deep"
            found.append(
                f"What arguments lead to is recorded of {count}: events take kilobytes, so fewer are kept. "
                "A smaller serializationDepth or fewer functions keep more."
            )
        if self._following is not None and self._following.too_large:
            large = ", ".join(f"{name} ({size:,} bytes)" for name, size in self._following.too_large.items())
            found.append(
                f"Of arguments and results that lead to {large}, the address alone is recorded: a value has "
                f"{self._following.most_bytes:,} bytes. {command_names()['read']} reads its members, and a watch can."
            )
        for name, reason in self._gone.items():
            library = self._watches[name].library
            where = "its library" if library is None else library.path
            text = f"Watch '{name}' is not read: {where} was unloaded, and nothing that came since has it. {reason}"
            found.append(text.strip())
        if scripts := [name for name, watch in self._watches.items() if watch.spec.expr is not None]:
            found.append(
                f"Watches in JavaScript ({', '.join(scripts)}) take microseconds at each call, which "
                "are part of the durations and self times of the functions around those that they are read in."
            )
        for name, functions in self._functions.items():
            if not functions:
                found.append(f"Watch '{name}' is read nowhere: no function matches its `on` patterns.")
        return found

    def _make(self, sets: Sequence[_Set]) -> None:
        if not sets:
            return
        for item in sets:
            entry, leave = item.followed
            self._pending.request.add_set((*item.watches, *entry), (*item.watches, *leave), item.words)
        pending, self._pending = self._pending, Pending()
        numbers = self._send(pending)
        if 0 in numbers:
            raise failure("limit_reached", what="combinations of watches and recorded types", limit=_LAST_ID)
        self._sets |= dict(zip(sets, numbers, strict=True))

    def _new_id(self) -> int:
        if self._next_id > _LAST_ID:
            raise failure("limit_reached", what="watches and recorded types of a session", limit=_LAST_ID)
        self._next_id += 1
        return self._next_id - 1

    def _set_of(self, function: FunctionSymbol, types: SignatureTypes | None) -> _Set:
        entry, leave = self._followed(function, types)
        followed = tuple(self._recipes_of(entry)), tuple(self._recipes_of(leave))
        words = max(sum(recipe_words(item.bytes, item.items) for item in items) for items in (entry, leave))
        return self._with_watches(function, followed, words)

    def _set_like(self, function: FunctionSymbol, before: int, sets: Mapping[int, _Set]) -> _Set:
        known = sets.get(before)
        return self._with_watches(function, *(((), ()), 0) if known is None else (known.followed, known.followed_words))

    def _with_watches(
        self, function: FunctionSymbol, followed: tuple[tuple[bytes, ...], tuple[bytes, ...]], followed_words: int
    ) -> _Set:
        place = (function.module, function.address)
        chosen = ((watch, self._functions.get(name, ())) for name, watch in self._watches.items())
        watches = [watch for watch, places in chosen if not watch.patterns or place in places]
        words = min(sum(watch.words for watch in watches) + followed_words, _MAX_WORDS)
        # what is watched was asked for by name, so it comes first
        return _Set(tuple(watch.capture for watch in watches), followed, followed_words, words)

    def _followed(
        self, function: FunctionSymbol, types: SignatureTypes | None
    ) -> tuple[Sequence[Followed], Sequence[Followed]]:
        if self._following is None or types is None:
            return (), ()
        return self._following.of(function, types)

    def _recipes_of(self, followed: Sequence[Followed]) -> list[bytes]:
        numbers = ((item, self._recipe(item)) for item in followed)
        return [
            _abi.CAPTURE.pack(item.source, _abi.CAPTURE_RECIPE, item.role, 0, number, number)
            for item, number in numbers
        ]

    def _recipe(self, item: Followed) -> int:
        about = json.dumps({"key": item.key, "pointer": item.is_pointer})
        described = f'{{"shape":{item.described},{about[1:]}'
        known = self._recipes.get((item.code, described))
        if known is None:
            known = self._recipes[item.code, described] = self._new_id()
            self._pending.request.add_recipe(known, item.code, item.bytes, item.items)
            self._pending.descriptions[known] = described
        return known


def _following(depth: int, project_root: str | None) -> Following:
    from strobe.session.deep import Following
    from strobe.values.printers.known import ProjectPrinters

    return Following(depth, ProjectPrinters(project_root).current())


def recipe_words(size: int, items: int) -> int:
    """The most that a block of a recipe takes."""
    return 2 + 2 * items + (size + 7) // 8
