"""The hooks of one running session: active patterns, function ids, what is placed, and what to tell about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from strobe.capture.agent_link import Plan
from strobe.capture.target import HookRequest, Target
from strobe.errors import StrobeError
from strobe.model import FunctionSymbol, LoadedModule, Sampling
from strobe.session.plans import plan_of, recorded
from strobe.symbols import ModuleSymbols, Pattern, Selection, SymbolResolver, select
from strobe.symbols.hooking import is_system_runtime
from strobe.timeline.store import Store

_SHOWN = 5  # names in one warning
_INLINED_NOTED = 5_000
_REFUSALS = {
    "call-in-entry": "they call another function in their first 5 bytes, and no exception could pass the moved call",
    "branch-into-entry": "their own code jumps into their first 5 bytes",
    "too-short": "they are shorter than the 5 bytes that a hook takes, and another function follows",
    "not-code": "their first bytes cannot be decoded",
    "jump-at-entry": "they begin with a jump, and the hook would land on the function that it leads to",
    "loop-in-entry": "they have a loop instruction in their first 5 bytes, which cannot be moved",
    "in-use": "Frida's agent has hooked them itself",
    "too-far": "no memory near them was free for a trampoline",
}

Key = tuple[str, int]  # module path, link-time address


@dataclass
class _Hook:
    function_id: int
    function: FunctionSymbol
    plan: Plan
    enabled: bool


class Hooks:
    """Not for several threads at once: the session calls it under its lock."""

    def __init__(self, store: Store, session_id: str, target: Target, resolver: SymbolResolver) -> None:
        self._store = store
        self._session_id = session_id
        self._target = target
        self._resolver = resolver
        self._hooks: dict[Key, _Hook] = {}
        self._refused: dict[Key, str] = {}
        self._unwinders: set[str] = set()
        self._next_id = 1
        self.patterns: dict[str, Pattern] = {}
        self.sampling: Sampling = "auto"
        self._own: list[ModuleSymbols] = []
        self.selection = Selection()

    @property
    def matched(self) -> int:
        return len(self.selection.functions)

    @property
    def enabled(self) -> int:
        return sum(hook.enabled for hook in self._hooks.values())

    def apply(self, by_path: dict[str, LoadedModule], now_ticks: int) -> None:
        """Brings the target in line with `patterns` and `sampling`: places what is missing, takes out what is too much.

        `by_path`: the modules that are loaded, the main program first.
        """
        self.selection = self._select(list(by_path.values()))
        wanted = {(item.module, item.address): item for item in self.selection.functions}
        self._disable([key for key, hook in self._hooks.items() if hook.enabled and key not in wanted], now_ticks)
        self._enable([key for key in wanted if key in self._hooks], now_ticks)
        fresh = [item for key, item in wanted.items() if key not in self._hooks and key not in self._refused]
        self._place(fresh, by_path, now_ticks)

    def forget(self, path: str, now_ticks: int) -> None:
        """A library was unloaded; where it is loaded again its functions are hooked anew."""
        gone = [key for key in self._hooks if key[0] == path]
        self._store.close_spans(self._session_id, [self._hooks[key].function_id for key in gone], now_ticks)
        for key in gone:
            del self._hooks[key]

    def warnings(self) -> list[str]:
        """What the selection says, and which functions could not be hooked safely and why."""
        by_reason: dict[str, list[str]] = {}
        for function in self.selection.functions:
            reason = self._refused.get((function.module, function.address))
            if reason is not None:
                by_reason.setdefault(reason, []).append(function.name)
        return [*self.selection.warnings, *(_refusal(reason, names) for reason, names in by_reason.items())]

    def inlined_only(self) -> dict[str, int]:
        """Functions of the program's own modules that exist only as inlined copies, with the number of sites."""
        found: dict[str, int] = {}
        for symbols in self._own:
            found |= symbols.inlined_only
        return dict(list(found.items())[:_INLINED_NOTED])

    def _select(self, modules: Sequence[LoadedModule]) -> Selection:
        """The system's runtime libraries are read only when a pattern asks for one, or when one matched nothing."""
        patterns = list(self.patterns.values())
        if not patterns:
            return Selection()
        paths = [module.path for module in modules if _is_file(module.path)]
        own = [path for index, path in enumerate(paths) if index == 0 or not is_system_runtime(path)]
        everything = any(pattern.kind == "lib" for pattern in patterns)
        self._own = self._symbols(own)
        selection = select(patterns, self._symbols(paths) if everything else self._own)
        if not everything and not all(selection.matches.values()):
            selection = select(patterns, self._symbols(paths))
        return selection

    def _symbols(self, paths: Iterable[str]) -> list[ModuleSymbols]:
        found = []
        for path in paths:
            try:
                symbols = self._resolver.module(path)
            except StrobeError:  # a mapping that is no ELF file any more; the main program was checked at launch
                continue
            found.append(symbols)
        return found

    def _place(self, functions: Sequence[FunctionSymbol], modules: dict[str, LoadedModule], now_ticks: int) -> None:
        if not functions:
            return
        first_id = self._next_id
        self._next_id += len(functions)
        native = self._target.setup.form == "native"
        found = [recorded(item, native) for item in self._resolver.detail(functions)]
        detailed = {first_id + index: item for index, item in enumerate(found)}
        self._store.add_functions(self._session_id, detailed)
        self._register_unwinders({item.module for item in functions}, modules)
        plans = {function_id: plan_of(item, self.sampling) for function_id, item in detailed.items()}
        requests = [
            HookRequest(function_id, self._runtime_address(item, modules), item.size, plans[function_id])
            for function_id, item in detailed.items()
        ]
        answers = self._target.install(requests)
        placed = []
        for (function_id, item), answer in zip(detailed.items(), answers, strict=True):
            key = (item.module, item.address)
            if answer:
                self._refused[key] = answer
            else:
                self._hooks[key] = _Hook(function_id, item, plans[function_id], True)
                placed.append(function_id)
        self._store.open_spans(self._session_id, placed, now_ticks)

    def _runtime_address(self, function: FunctionSymbol, modules: dict[str, LoadedModule]) -> int:
        return modules[function.module].base + function.address - self._resolver.module(function.module).link_base

    def _register_unwinders(self, paths: set[str], modules: dict[str, LoadedModule]) -> None:
        """A statically linked unwinder sees the exceptions of its module before any frame of it may be replaced."""
        addresses = []
        for path in paths - self._unwinders:
            symbols = self._resolver.module(path)
            if symbols.register_frame is not None:
                addresses.append(modules[path].base + symbols.register_frame - symbols.link_base)
        self._unwinders |= paths
        if addresses:
            self._target.register_unwinder(addresses)

    def _enable(self, keys: Sequence[Key], now_ticks: int) -> None:
        changed = {}
        opened = []
        for key in keys:
            hook = self._hooks[key]
            plan = plan_of(hook.function, self.sampling)
            if not hook.enabled:
                opened.append(hook.function_id)
            if not hook.enabled or plan != hook.plan:
                changed[hook.function_id] = plan
                hook.plan, hook.enabled = plan, True
        if changed:
            self._target.change(changed)
            self._store.open_spans(self._session_id, opened, now_ticks)

    def _disable(self, keys: Sequence[Key], now_ticks: int) -> None:
        if not keys:
            return
        hooks = [self._hooks[key] for key in keys]
        self._target.change({hook.function_id: hook.plan.disabled() for hook in hooks})
        for hook in hooks:
            hook.enabled = False
        self._store.close_spans(self._session_id, [hook.function_id for hook in hooks], now_ticks)


def _is_file(path: str) -> bool:
    return path.startswith("/") and Path(path).is_file()


def _refusal(reason: str, names: Sequence[str]) -> str:
    shown = ", ".join(Counter(names).keys() if len(names) <= _SHOWN else names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"Not hooked: {shown}{more}: {_REFUSALS.get(reason, reason)}."
