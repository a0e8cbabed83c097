"""How frames are unwound where stacks are recorded: a table for each module that the process has, of its memory."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from strobe import _abi
from strobe._core import unwind_table
from strobe.capture.mapped_elf import MappedElf, mappings
from strobe.capture.target import Target
from strobe.dataclass import dataclass
from strobe.model import LoadedModule
from strobe.resources import NATIVE_RECORDER
from strobe.timeline.store import Store

# as csrc/unwind/table.h has them
_DIRECTORY = struct.Struct(f"<4Q{8 * _abi.UNWIND_CACHED}x")
_ENTRY = struct.Struct("<3Q")


@dataclass(frozen=True, slots=True)
class _Known:
    """A module that has a table. `table`: its address in the process; 0 where there is nothing to unwind by."""

    module: LoadedModule
    table: int


class Unwinding:
    """Of one session. Not for several threads at once; `update` is called whenever modules have come or gone."""

    def __init__(self, target: Target, store: Store, session_id: str) -> None:
        self._target = target
        self._store = store
        self._session_id = session_id
        self._known: dict[int, _Known] = {}
        self._builds: dict[str, str] = {}
        self._sent = b""

    def update(self, modules: Sequence[LoadedModule]) -> None:
        """Makes these modules known to the recorder. Raises ProcessLookupError when the process is gone."""
        own = self._recorder()
        present = {module.base: module for module in ([*modules, own] if own is not None else modules)}
        self._known = {base: one for base, one in self._known.items() if present.get(base) == one.module}
        fresh = [module for base, module in present.items() if base not in self._known]
        tables = [self._table_of(module) for module in fresh]
        addresses = iter(self._target.add_unwind_tables([table for table in tables if table]))
        for module, table in zip(fresh, tables, strict=True):
            self._known[module.base] = _Known(module, next(addresses, 0) if table else 0)
        self._send(own)
        if builds := {module.path: self._builds.get(module.path, "") for module in fresh}:
            self._store.add_notes(self._session_id, {"builds": {**self._builds, **builds}})

    def forget(self, module: LoadedModule) -> None:
        """It was unloaded: another one may come to its place."""
        self._known.pop(module.base, None)

    def _send(self, own: LoadedModule | None) -> None:
        ranges = sorted(
            (one.module.base, one.module.base + one.module.size, one.table) for one in self._known.values() if one.table
        )[: _abi.UNWIND_MOST_MODULES]
        start, end = (0, 0) if own is None else (own.base, own.base + own.size)
        content = _DIRECTORY.pack(len(ranges), 0, start, end) + b"".join(_ENTRY.pack(*one) for one in ranges)
        if content != self._sent:
            self._target.set_unwinding(content)
            self._sent = content

    def _table_of(self, module: LoadedModule) -> bytes:
        """Nothing where it has no .eh_frame, or is going."""
        memory = MappedElf(self._target.pid, module.base, self._target.read_memory)
        try:
            address, section = memory.frames()
            layout = memory.layout()
            if layout is not None and layout.build_id is not None:
                self._builds[module.path] = layout.build_id
        finally:
            memory.close()
        return unwind_table(section, address, module.base, module.size) if section else b""

    def _recorder(self) -> LoadedModule | None:
        """Strobe's own library, which a signal may have interrupted."""
        path = str(NATIVE_RECORDER)
        parts = [one for one in mappings(self._target.pid) if one.path == path]
        if not parts:
            return None
        start = min(one.start for one in parts)
        return LoadedModule(NATIVE_RECORDER.name, path, start, max(one.end for one in parts) - start)
