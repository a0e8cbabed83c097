"""The libraries of a program under observation: those that it has, and how they come and go."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from strobe.capture.mapped_elf import located, unlisted
from strobe.capture.target import Target
from strobe.model import LoadedModule
from strobe.session.hooks import Hooks
from strobe.session.module_changes import ModuleChange
from strobe.timeline.store import Store


class Libraries:
    """Of one session; used under its lock. Times are in ticks."""

    def __init__(
        self, store: Store, session_id: str, target: Target, hooks: Hooks, now_ticks: Callable[[], int]
    ) -> None:
        self._store = store
        self._session_id = session_id
        self._target = target
        self._hooks = hooks
        self._now_ticks = now_ticks
        self._listed = {module.base: self._located(module) for module in target.modules()}
        self._unlisted: dict[int, LoadedModule] = {}
        store.open_loads(session_id, self._listed.values(), 0)

    @property
    def listed(self) -> list[LoadedModule]:
        """Those that the agent reports, the program itself first."""
        return list(self._listed.values())

    @property
    def known(self) -> list[LoadedModule]:
        """Those that were there when somebody last looked."""
        return [*self.listed, *self._unlisted.values()]

    def all(self) -> list[LoadedModule]:
        """Also those of other namespaces. Raises ProcessLookupError."""
        self.look(0)
        return [*self.listed, *self._unlisted.values()]

    def change(self, change: ModuleChange) -> dict[int, int]:
        """When libraries came, by their bases. Raises ProcessLookupError."""
        arrived = self._now_ticks()  # the thread that loads it waits, so none of its code has run
        if change.module is None:
            return dict.fromkeys(self.look(arrived), arrived)
        if change.removal is not None:
            self._listed.pop(change.removal.module.base, None)
            try:
                self._forget(change.removal.module, change.removal.ticks)
            finally:  # or the agent would refuse what comes there for ever
                self._target.note_removal(change.removal.number)
            return {}
        module = self._located(change.module)
        before = self._unlisted.pop(module.base, None)
        self._listed[module.base] = module
        if before is not None and before.path == module.path:
            return {}  # mapped by the same dlopen as one that was reported before, and traced since: `all` has found it
        if before is not None:
            self._target.forget(before)
            self._forget(before, self._now_ticks())
        self._store.open_loads(self._session_id, [module], arrived)
        return {module.base: arrived}

    def look(self, arrived: int) -> list[int]:
        """Bases of those of other namespaces that are new. The dynamic linker may report when one comes or goes, but
        not which, and not of those that were there before. `arrived`: 0 where it is not known when they came."""
        found = {module.base: module for module in unlisted(self._target.pid, self.listed)}
        for base, module in self._unlisted.items():
            if found.get(base) != module:
                self._target.forget(module)
                self._forget(module, self._now_ticks())
        fresh = [module for base, module in found.items() if self._unlisted.get(base) != module]
        if fresh:
            self._store.open_loads(self._session_id, fresh, arrived)
        self._unlisted = found
        return [module.base for module in fresh]

    def _located(self, module: LoadedModule) -> LoadedModule:
        """By its path on disk, under the name that its file had if that was replaced or deleted: symbols have that."""
        with suppress(ProcessLookupError):  # what comes next says so
            return located(module, self._target.maps)
        return module

    def _forget(self, module: LoadedModule, gone_ticks: int) -> None:
        self._store.close_load(self._session_id, module.base, gone_ticks)
        self._hooks.forget(module, gone_ticks)
