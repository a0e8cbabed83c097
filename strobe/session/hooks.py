"""The hooks of one running session: active patterns, function ids, and what is installed."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from strobe._abi import PLAN_LOOPS_TO_ENTRY, Refusal
from strobe.capture.probes import (
    Plan,
    ProbeSpec,
    Returns,
    plan_of,
    recorded,
    returns_only,
    with_returns,
    without_values,
)
from strobe.capture.refusals import PASSING, SENTENCES
from strobe.capture.target import Target
from strobe.dataclass import dataclass, replace
from strobe.errors import StrobeError, failure
from strobe.model import FunctionSymbol, LoadedModule, Sampling
from strobe.session.callers import Callers
from strobe.session.extras.extras import Extras
from strobe.session.extras.sets import Pending
from strobe.session.function_ids import FunctionIds
from strobe.session.modules import Modules, TracedModule
from strobe.session.probes.active_probes import ActiveProbes
from strobe.session.unwinding import Unwinding
from strobe.symbols import ModuleSymbols, Pattern, Selection, SymbolResolver, select
from strobe.symbols.frames.beginnings import ENTERED, LOOPED
from strobe.symbols.function_table import FunctionTable
from strobe.symbols.select.allocators import with_declared_values
from strobe.symbols.select.never_hooked import is_system_runtime
from strobe.symbols.select.unseen_calls import Unseen
from strobe.timeline.store import Store

if TYPE_CHECKING:
    from strobe.symbols.calls.signature import CallValues, SignatureTypes

_ENDBR64, _JUMP_BYTES = b"\xf3\x0f\x1e\xfa", 5  # the jump lies behind the first
_NONE: Mapping[int, int] = {}
Key = tuple[int, int]  # base of the module, link-time address: a library can be loaded twice


@dataclass
class Hook:
    """One that was installed, whether it records or not."""

    function_id: int
    function: FunctionSymbol
    plan: Plan
    enabled: bool
    generation: int  # of the extras
    returns: Returns
    probed: int = 0  # how many probes its returns have
    has_values: bool = True  # False where the recorder had no room for what its arguments and results are taken from
    is_known: bool = True  # False where the last change failed: the target may have made it, may not, or may yet


class Hooks:
    """Not for several threads at once: the session calls it under its lock."""

    def __init__(
        self,
        store: Store,
        session_id: str,
        target: Target,
        resolver: SymbolResolver,
        text_bytes: int,
        now_ticks: Callable[[], int],
        is_going: Callable[[int], bool],
    ) -> None:
        """`is_going`: whether what was at a base has been unloaded, and `forget` is still to be called."""
        self._now_ticks = now_ticks
        self._overwritten: set[int] = set()
        self._text_words = -(-text_bytes // 8)
        self._store = store
        self._session_id = session_id
        self._target = target
        self._resolver = resolver
        self.installed: dict[Key, Hook] = {}
        self.refused: dict[Key, Refusal] = {}  # functions that could not be hooked, and why
        self._unwinders: set[int] = set()
        self._link_bases: dict[str, int] = {}
        self.modules = Modules(target.pid, resolver, target.read_memory, is_going)
        self.callers = Callers(target, resolver)
        self.ids = FunctionIds(target.setup.first_function)
        self.extras = Extras(
            store.get_session(session_id).project_root,
            self._send_extras,
            sees_vectors=target.setup.form == "native",
        )
        self.probes: ActiveProbes | None = None  # made when there is one
        self.unwinding: Unwinding | None = None  # made when stacks are asked for
        self.patterns: dict[str, Pattern] = {}
        self.sampling: Sampling = "auto"
        self.own: list[ModuleSymbols] = []  # the program and its libraries, without the system's
        self.wanted: dict[Key, FunctionSymbol] = {}  # what the patterns match, where it is loaded
        self._probed: dict[int, TracedModule] = {}  # modules with functions whose returns are probed, by base
        self.partly_inlined: dict[str, int] = {}  # functions that are or were traced: inlined at so many sites besides
        self.folded: dict[str, str] = {}  # likewise, as symbols/select/folded.py finds them
        self.unseen: dict[str, Unseen] = {}  # likewise, as symbols/select/unseen_calls.py finds them
        self.selection = Selection()

    @property
    def matched(self) -> int:
        """How many functions the active patterns match."""
        return len(self.selection.functions)

    @property
    def enabled(self) -> int:
        """How many functions are hooked and recorded."""
        return sum(hook.enabled for hook in self.installed.values())

    def check_program(self, modules: Sequence[LoadedModule]) -> None:
        """Raises replaced_on_disk where the main program's file is no longer what runs."""
        self.modules.check(modules[0])

    def apply(self, modules: Sequence[LoadedModule], arrived: Mapping[int, int] = _NONE) -> None:
        """Brings the target in line with `patterns` and `sampling`: installs what is missing, takes out the others.

        `modules`: those that are loaded, the main program first. `arrived`: of those whose code has not run yet, by
        base, when they came; none of their calls is missed.
        """
        traced = self._select(modules)
        self.callers.update(modules, self._with_probed(traced))
        by_path: dict[str, list[TracedModule]] = {}
        for module in traced:
            by_path.setdefault(module.symbols.path, []).append(module)
        self.wanted = {
            (module.module.base, item.address): item
            for item in self.selection.functions
            for module in by_path[item.module]
        }
        is_on = {key for key, hook in self.installed.items() if hook.enabled or not hook.is_known}
        self._disable([key for key in is_on if key not in self.wanted])
        self._enable([key for key in self.wanted if key in self.installed])
        fresh: dict[int, list[FunctionSymbol]] = {}
        for key, item in self.wanted.items():
            if key not in self.installed and key not in self.refused:
                fresh.setdefault(key[0], []).append(item)
        for module in traced:
            if module.module.base in fresh and not module.stale:
                self._install(module, fresh[module.module.base], arrived.get(module.module.base))

    def forget(self, module: LoadedModule, gone_ticks: int) -> None:
        """A library was unloaded; where it is loaded again its functions are hooked anew."""
        known = self.modules.at(module.base)
        path = module.path if known is None else known.symbols.path
        gone = [self.installed.pop(key).function_id for key in [key for key in self.installed if key[0] == module.base]]
        self._store.close_spans(self._session_id, gone, gone_ticks)
        self._overwritten.difference_update(gone)
        self.refused = {key: why for key, why in self.refused.items() if key[0] != module.base}
        self._unwinders.discard(module.base)
        self._probed.pop(module.base, None)
        self.modules.forget(module.base)
        self.ids.give_back_all(module.base)
        self.extras.forget(module.base, path)
        if self.unwinding is not None:
            self.unwinding.forget(module)
        if self.probes is not None:
            self.probes.forget(module, gone_ticks)

    def record_stacks(self, modules: Sequence[LoadedModule]) -> None:
        """Stacks are going to be recorded, of frames of these modules, too. Raises stacks_impossible,
        ProcessLookupError."""
        if self._target.setup.form != "native":
            raise failure("stacks_impossible")
        if self.unwinding is None:
            self.unwinding = Unwinding(self._target, self._store, self._session_id)
        self.unwinding.update(modules)

    def note_overwritten(self, function_ids: Collection[int], last_seen_ticks: int) -> list[FunctionSymbol]:
        """Something has written over the entries of these functions, of all that were hooked, since `last_seen_ticks`.
        Returns those of which that is new. One whose jump is back is recorded again from now on."""
        enabled = {hook.function_id: hook.function for hook in self.installed.values() if hook.enabled or hook.probed}
        if self.probes is not None:
            enabled |= self.probes.recorded()
        gone = {item for item in function_ids if item in enabled}
        fresh, back = gone - self._overwritten, self._overwritten - gone
        if fresh:
            self._store.close_spans(self._session_id, sorted(fresh), last_seen_ticks)
        if back:
            self._store.open_spans(self._session_id, sorted(back & enabled.keys()), self._now_ticks())
        self._overwritten = gone
        return [enabled[item] for item in sorted(fresh)]

    def names_of(self, function_ids: Collection[int]) -> list[str]:
        """Of hooks that record, in order."""
        if not function_ids:
            return []
        hooked = [hook for hook in self.installed.values() if hook.function_id in function_ids]
        return sorted({hook.function.name for hook in hooked if hook.enabled or hook.probed})

    def probe_returns(
        self, modules: Sequence[LoadedModule], module: TracedModule, functions: Sequence[FunctionSymbol]
    ) -> list[int | str]:
        """One more probe of each one's returns, whether its calls are traced or not: its number, or why its returns
        cannot be caught. `modules`: all that are loaded."""
        base = module.module.base
        self._probed[base] = module
        self.callers.update(modules, self._with_probed(self.modules.of(modules[:1])))
        keys = [(base, function.address) for function in functions]
        for key in keys:
            self.refused.pop(key, None)
        if fresh := [one for key, one in zip(keys, functions, strict=True) if key not in self.installed]:
            self._install(module, fresh, None, probed=1)
        installed = {(base, one.address) for one in fresh}
        known = [key for key in keys if key in self.installed and key not in installed]
        for key in known:
            self.installed[key].probed += 1
        try:
            self._set_returns(known)
            return [self._caught(key) for key in keys]
        except BaseException:
            with suppress(ProcessLookupError, StrobeError):
                self.unprobe_returns(keys)
            raise

    def _set_returns(self, keys: Sequence[Key]) -> None:
        """Brings what hooks record in line with how many probes their returns have."""
        self._enable([key for key in keys if self.installed[key].enabled])
        off = {key: self._off(self.installed[key]) for key in keys if not self.installed[key].enabled}
        refused = self._change(off) if off else {}
        self._refuse({key: refused[number] for key in off if (number := self.installed[key].function_id) in refused})

    def _caught(self, key: Key) -> int | str:
        hook = self.installed.get(key)
        if hook is None or key in self.refused:
            if hook is not None:
                hook.probed -= 1
            return SENTENCES[self.refused.get(key, Refusal.UNLOADED)]
        if hook.returns is not Returns.NEVER:
            return hook.function_id
        self.unprobe_returns([key])
        return "its module has no unwind information for it (.eh_frame), so that its returns are not caught"

    def unprobe_returns(self, keys: Sequence[Key]) -> None:
        """One probe less of each one's returns."""
        known = [key for key in keys if key in self.installed and self.installed[key].probed]
        for key in known:
            self.installed[key].probed -= 1
        self._set_returns([key for key in known if not self.installed[key].probed])

    def _with_probed(self, traced: Sequence[TracedModule]) -> list[TracedModule]:
        return list({one.module.base: one for one in (*traced, *self._probed.values())}.values())

    def _off(self, hook: Hook) -> Plan:
        """Of one whose calls are not traced."""
        return returns_only(hook.plan, hook.returns) if hook.probed else hook.plan.disabled()

    def _select(self, modules: Sequence[LoadedModule]) -> list[TracedModule]:
        """The system's runtime libraries are read only when a pattern asks for one, or when one matched nothing."""
        traced = self._matching(modules)
        self.partly_inlined |= self.selection.partly_inlined
        self.folded |= self.selection.folded
        self.unseen |= self.selection.unseen
        self.extras.find_functions(_symbols(traced), list(self.patterns.values()))
        return traced

    def _matching(self, modules: Sequence[LoadedModule]) -> list[TracedModule]:
        patterns = list(self.patterns.values())
        if not patterns:
            self.selection = Selection()
            return []
        own = [module for index, module in enumerate(modules) if index == 0 or not is_system_runtime(module.path)]
        traced = self.modules.of(own)
        self.own = _symbols(traced)
        system_names = self.selection.system_names & self.patterns.keys()
        if not system_names and all(pattern.kind not in ("lib", "heap") for pattern in patterns):
            self.selection = select(patterns, self.own)
            if all(self.selection.matches.values()):
                return traced
        traced = self.modules.of(modules)
        self.selection = select(patterns, _symbols(traced), system_names)
        return traced

    def _install(
        self,
        module: TracedModule,
        functions: Sequence[FunctionSymbol],
        arrived_ticks: int | None,
        *,
        probed: int = 0,
    ) -> None:
        """Hooks functions of one module that have no hook yet. `arrived_ticks`: as in `apply`. `probed`: how many
        probes their returns have, where these alone are recorded."""
        base = module.module.base
        numbered = self._numbered(module, functions)
        try:
            codes, detailed = self._read(module, numbered)
            if not detailed:  # replaced in this very moment: the next call says so
                self._refuse({(base, item.address): Refusal.OTHER_CODE for item in numbered.values()})
                return
            self._note_link_base(module)
            self._register_unwinder(module)
            self.unseen |= {item.name: "optimized" for item in detailed.values() if item.inlines_unseen}
            hooks = self._planned(module, detailed)
            self._store.add_functions(self._session_id, {hook.function_id: hook.function for hook in hooks})
            if probed:
                hooks = [replace(hook, probed=probed, plan=returns_only(hook.plan, hook.returns)) for hook in hooks]
            answers = self._write(module, hooks, codes)
        except BaseException:
            self.ids.give_back(base, numbered)
            raise
        self._note_installed(base, hooks, answers, arrived_ticks)

    def _write(self, module: TracedModule, hooks: Sequence[Hook], codes: Sequence[bytes]) -> list[Refusal]:
        """Where another function begins in the bytes of the jump, or something jumps there, nothing is written."""
        specs = [_spec(module, *one) for one in zip(hooks, codes, strict=True)]
        beginnings = self._beginnings(module, hooks)
        known = [
            _refusal_of(module.symbols.functions, hook.function.address, code, beginning)
            for hook, code, beginning in zip(hooks, codes, beginnings, strict=True)
        ]
        looped = [_looped(spec) if one & LOOPED else spec for spec, one in zip(specs, beginnings, strict=True)]
        rest = iter(self._target.probes.install([spec for spec, why in zip(looped, known, strict=True) if not why]))
        return [why or next(rest) for why in known]

    def _beginnings(self, module: TracedModule, hooks: Sequence[Hook]) -> list[int]:
        """What else leads to their first bytes: ENTERED, LOOPED. The file has just been found to be the one that is
        mapped; where it has gone since, nothing may be written."""
        functions = module.symbols.functions
        if not isinstance(functions, FunctionTable):
            return [0] * len(hooks)
        try:
            found = module.current(lambda: self._resolver.beginnings(module.symbols.path))
        except (OSError, ValueError):
            found = None
        if found is None:
            return [ENTERED] * len(hooks)
        numbers = [functions.at(hook.function.address) for hook in hooks]
        return [found[number] if number is not None else 0 for number in numbers]

    def _numbered(self, module: TracedModule, functions: Sequence[FunctionSymbol]) -> dict[int, FunctionSymbol]:
        """The functions by id; those that there are no ids for are refused."""
        numbers = list(zip(self.ids.take(module, functions), functions, strict=True))
        left = [item for number, item in numbers if not number]
        self.refused |= {(module.module.base, item.address): Refusal.NO_NUMBER for item in left}
        return {number: item for number, item in numbers if number}

    def _read(
        self, module: TracedModule, numbered: Mapping[int, FunctionSymbol]
    ) -> tuple[list[bytes], dict[int, FunctionSymbol]]:
        """What stands at the functions' entries in their file, and the functions with what is recorded of each call;
        nothing where the file is not the one that is mapped any more."""
        functions = list(numbered.values())
        try:
            codes = module.entry_codes(functions)
        except (OSError, ValueError):
            return [], {}
        native = self._target.setup.form == "native"
        with _collector_paused():
            known = module.current(lambda: self._resolver.detail(functions))
            found = [recorded(with_declared_values(item), native, self._text_words) for item in known or ()]
        return codes, dict(zip(numbered, found, strict=True)) if known is not None else {}

    def _planned(self, module: TracedModule, functions: Mapping[int, FunctionSymbol]) -> list[Hook]:
        """A hook for each, which is not installed yet."""
        found = list(functions.values())
        numbers = self._extras_of(module.module.base, found, [0] * len(found))
        returns = self.callers.returns(module, found)
        generation = self.extras.generation
        hooks = [
            Hook(function_id, item, plan_of(item, self._sampling_of(item), number, mode), False, generation, mode)
            for (function_id, item), number, mode in zip(functions.items(), numbers, returns, strict=True)
        ]
        return [hook if self._target.has_room_for(hook.plan) else self._valueless(hook) for hook in hooks]

    def _valueless(self, hook: Hook) -> Hook:
        function = without_values(hook.function)
        plan = plan_of(function, self._sampling_of(function), hook.plan.extras, hook.returns)
        return replace(hook, function=function, plan=plan, has_values=False)

    def _sampling_of(self, function: FunctionSymbol) -> Sampling:
        return "off" if self.extras.has_condition(function) else self.sampling

    def _note_installed(
        self, base: int, hooks: Sequence[Hook], answers: Sequence[Refusal], arrived_ticks: int | None
    ) -> None:
        installed = []
        refused: dict[Key, Refusal] = {}
        for hook, answer in zip(hooks, answers, strict=True):
            key = (base, hook.function.address)
            if not answer and not hook.probed:
                installed.append(hook.function_id)
            elif answer and answer is not Refusal.UNLOADED:  # of which `forget` follows
                refused[key] = answer
            if not answer or answer in PASSING:
                hook.enabled = not answer and not hook.probed
                self.installed[key] = hook
        # not before it stands: until then calls were missed
        since = self._now_ticks() if arrived_ticks is None else arrived_ticks
        self._store.open_spans(self._session_id, installed, since)
        self._refuse(refused)

    def _refuse(self, refused: Mapping[Key, Refusal]) -> None:
        """Nothing is said of a library that has been unloaded meanwhile: what is there now is not its code."""
        going = {base for base in {base for base, _ in refused} if not self.modules.is_there(base)}
        self.refused |= {key: why for key, why in refused.items() if key[0] not in going}

    def _extras_of(self, base: int, functions: Sequence[FunctionSymbol], before: Sequence[int]) -> list[int]:
        module = self.modules.at(base)

        def types() -> Sequence[SignatureTypes | None] | None:
            return None if module is None else module.current(lambda: self._resolver.signature_types(functions))

        def values(chosen: Sequence[FunctionSymbol]) -> Sequence[CallValues | None] | None:
            return None if module is None else module.current(lambda: self._resolver.call_values(chosen))

        return self.extras.numbers(functions, types, values, before)

    def _send_extras(self, pending: Pending) -> list[int]:
        self._store.add_extras(self._session_id, pending.descriptions)
        return self._target.prepare_extras(pending.request)

    def _note_link_base(self, module: TracedModule) -> None:
        """With its base in the process it says where its functions are there."""
        if self._link_bases.get(module.symbols.path) != module.symbols.link_base:
            self._link_bases[module.symbols.path] = module.symbols.link_base
            self._store.add_notes(self._session_id, {"link_bases": self._link_bases})

    def _register_unwinder(self, module: TracedModule) -> None:
        """A statically linked unwinder sees the exceptions of its module before any frame of it may be replaced."""
        if module.symbols.register_frame is None or module.module.base in self._unwinders:
            return
        self._unwinders.add(module.module.base)
        self._target.register_unwinder([module.address(module.symbols.register_frame)])

    def _enable(self, keys: Sequence[Key]) -> None:
        changed: dict[Key, Plan] = {}
        older: dict[int, list[Key]] = {}
        for key in keys:
            if self.installed[key].generation != self.extras.generation:
                older.setdefault(key[0], []).append(key)
        numbers: dict[Key, int] = {}
        for base, own in older.items():
            hooks = [self.installed[key] for key in own]
            before = [hook.plan.extras for hook in hooks]
            numbers |= zip(own, self._extras_of(base, [hook.function for hook in hooks], before), strict=True)
        for key in keys:
            hook = self.installed[key]
            number = numbers.get(key, hook.plan.extras)
            plan = plan_of(hook.function, self._sampling_of(hook.function), number, hook.returns)
            if hook.probed:
                plan = with_returns(plan)
            if not hook.enabled or plan != hook.plan:
                changed[key] = plan
            else:
                hook.generation = self.extras.generation
        if changed:
            refused = self._change(changed)
            again: dict[Key, Refusal] = {}
            opened = []
            for key, plan in changed.items():
                hook = self.installed[key]
                if not hook.enabled:
                    self.refused.pop(key, None)
                    if hook.function_id in refused:
                        again[key] = refused[hook.function_id]
                    else:
                        opened.append(hook.function_id)
                hook.plan, hook.generation = plan, self.extras.generation
                hook.enabled = hook.enabled or hook.function_id not in refused
            self._store.open_spans(self._session_id, opened, self._now_ticks())
            self._refuse(again)

    def _disable(self, keys: Sequence[Key]) -> None:
        if not keys:
            return
        now_ticks = self._now_ticks()
        self._change({key: self._off(self.installed[key]) for key in keys})
        for key in keys:
            self.installed[key].enabled = False
        self._store.close_spans(self._session_id, [self.installed[key].function_id for key in keys], now_ticks)

    def _change(self, plans: Mapping[Key, Plan]) -> dict[int, Refusal]:
        """As Probes.change. Where it fails nothing more is claimed of these hooks, and the next `apply` sends them
        anew: the agent answers in the order in which it is asked, so that the last one holds."""
        now_ticks = self._now_ticks()
        hooks = [self.installed[key] for key in plans]
        try:
            refused = self._target.probes.change({self.installed[key].function_id: plan for key, plan in plans.items()})
        except BaseException:
            for hook in hooks:
                hook.is_known = hook.enabled = False
            self._store.close_spans(self._session_id, [hook.function_id for hook in hooks], now_ticks)
            raise
        for hook in hooks:
            hook.is_known = True
        return refused


@contextmanager
def _collector_paused() -> Iterator[None]:
    """What is read of thousands of functions stays: the cycle collector would look at all of it again and again."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _spec(module: TracedModule, hook: Hook, code: bytes) -> ProbeSpec:
    function = hook.function
    return ProbeSpec(hook.function_id, module.address(function.address), function.size, hook.plan, code)


def _refusal_of(functions: Sequence[FunctionSymbol], address: int, code: bytes, beginning: int) -> Refusal:
    if _is_crowded(functions, address, code):
        return Refusal.TOO_SHORT
    return Refusal.ENTERED_ELSEWHERE if beginning & ENTERED else Refusal.NOTHING


def _looped(spec: ProbeSpec) -> ProbeSpec:
    """Of a function that jumps to its entry, which is no call."""
    return replace(spec, plan=replace(spec.plan, flags=spec.plan.flags | PLAN_LOOPS_TO_ENTRY))


def _is_crowded(functions: Sequence[FunctionSymbol], address: int, code: bytes) -> bool:
    """The agent sees no function that begins with what others are padded with, nor one within another."""
    if not isinstance(functions, FunctionTable):
        return False
    behind = functions.next_entry(address)
    return behind is not None and behind < address + code.startswith(_ENDBR64) * len(_ENDBR64) + _JUMP_BYTES


def _symbols(modules: Sequence[TracedModule]) -> list[ModuleSymbols]:
    """Of each file once, in order."""
    return list({module.symbols.path: module.symbols for module in modules}.values())
