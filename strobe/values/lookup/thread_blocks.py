"""Where threads have their own copies of thread-local variables, found without stopping any.

glibc says of its structures where what is in them (`_thread_db_…`, which libthread_db reads, too): its lists of stacks
lead to the control block of each thread, a list of its loader to the modules with thread-local variables. Those of
modules that were loaded with the program lie at a fixed distance from the control block (System V ABI supplement for
thread-local storage, variant II on x86-64), those of others where the thread's vector (DTV) says, once it has used one.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from strobe import _core
from strobe.dataclass import dataclass
from strobe.errors import StrobeError, failure
from strobe.model import LoadedModule
from strobe.values.lookup.dynamic_symbols import DynamicSymbols
from strobe.values.lookup.scope import Module
from strobe.values.memory.process_memory import ProcessMemory

_PREFIX = "_thread_db_"
_FIELDS = (
    "pthread_tid",
    "pthread_list",
    "pthread_dtvp",
    "list_t_next",
    "rtld_global__dl_stack_used",
    "rtld_global__dl_stack_user",
    "rtld_global__dl_tls_dtv_slotinfo_list",
    "dtv_slotinfo_list_len",
    "dtv_slotinfo_list_next",
    "dtv_slotinfo_list_slotinfo",
    "dtv_slotinfo_gen",
    "dtv_slotinfo_map",
    "dtv_dtv",
    "dtv_t_pointer_val",
    "dtv_t_counter",
    "link_map_l_tls_modid",
    "link_map_l_tls_offset",
)
_MOST_THREADS = 65_536
_MOST_MODULES = 65_536
_UNALLOCATED = (0, (1 << 64) - 1)
_SHOWN = 8
_TRIES = 3  # lists change while they are read


@dataclass(frozen=True, slots=True)
class _Structures:
    """`fields`: name -> (bytes of an element, offset). `loader`: where the loader's state (_rtld_global) is."""

    fields: dict[str, tuple[int, int]]
    slot_bytes: int
    loader: int

    def offset(self, name: str) -> int:
        return self.fields[name][1]


@dataclass(frozen=True, slots=True)
class _Block:
    """A module with thread-local variables: its number, how far its block lies below control blocks, since when."""

    number: int
    distance: int
    generation: int


class GlibcThreads:
    """Of one program in one process; another program in it needs another object."""

    def __init__(self, memory: ProcessMemory, modules: Callable[[], Sequence[LoadedModule]]) -> None:
        self._memory = memory
        self._modules = modules
        self._structures: _Structures | None = None
        self._threads: dict[int, int] = {}  # control blocks by thread id

    def block(self, module: Module, thread: int | None, what: str) -> int:
        """As scope.ThreadBlocks."""
        tid = self._memory.pid if thread is None else thread
        self._check_alive(tid)
        if self._structures is None:
            self._structures = self._find_structures()
        known = self._structures
        if known is None:
            raise _unread(what, tid, "the program's C library does not describe its threads")
        control = self._control_block(known, tid)
        block = self._block(known, module)
        if block is None:
            raise _unread(what, tid, f"the loader has no thread-local variables of {Path(module.path).name}")
        address = self._address(known, control, block) if control is not None else None
        if control is None:
            raise _unread(what, tid, "it is not a thread of the C library")
        if address is None:
            name = Path(module.path).name
            raise failure("thread_local_unallocated", what=what, thread=tid, module=name)
        return address

    def thread_pointer(self, module: Module) -> int | None:
        """As scope.ThreadBlocks."""
        known = self._structures or self._find_structures()
        block = None if known is None else self._block(known, module)
        if known is None or block is None or not _is_fixed(block):
            return None
        return self._control_block(known, self._memory.pid)

    def _check_alive(self, tid: int) -> None:
        tasks = Path(f"/proc/{self._memory.pid}/task")
        if (tasks / str(tid)).exists():
            return
        names = sorted(int(task.name) for task in tasks.iterdir())
        shown = ", ".join(map(str, names[:_SHOWN])) + (" …" if len(names) > _SHOWN else "")
        raise failure("no_such_thread", pid=self._memory.pid, thread=tid, threads=shown)

    # --- threads

    def _control_block(self, known: _Structures, tid: int) -> int | None:
        found = self._threads.get(tid)
        if found is not None and self._thread_id(known, found) == tid:
            return found
        for _ in range(_TRIES):
            self._threads = {self._thread_id(known, block) or 0: block for block in self._control_blocks(known)}
            if tid in self._threads:
                return self._threads[tid]
        try:  # it was not made by the C library
            return _core.thread_pointer(tid) or None
        except OSError:
            return None

    def _control_blocks(self, known: _Structures) -> Iterator[int]:
        word, link = self._memory.word, known.offset("list_t_next")
        for name in ("rtld_global__dl_stack_user", "rtld_global__dl_stack_used"):
            head = known.loader + known.offset(name)
            node = word(head + link)
            for _ in range(_MOST_THREADS):
                if not node or node == head:
                    break
                yield node - known.offset("pthread_list")
                node = word(node + link)

    def _thread_id(self, known: _Structures, control: int) -> int | None:
        return self._memory.word(control + known.offset("pthread_tid"), 4)

    # --- modules

    def _block(self, known: _Structures, module: Module) -> _Block | None:
        """By how far the loader has moved it, which no two modules have in common."""
        word = self._memory.word
        for slot in self._slots(known):
            link_map = word(slot + known.offset("dtv_slotinfo_map"))
            if not link_map or word(link_map) != module.slide & (1 << 64) - 1:
                continue
            number = word(link_map + known.offset("link_map_l_tls_modid"))
            distance = word(link_map + known.offset("link_map_l_tls_offset"))
            generation = word(slot + known.offset("dtv_slotinfo_gen"))
            if number and distance is not None and generation is not None:
                return _Block(number, distance, generation)
        return None

    def _slots(self, known: _Structures) -> Iterator[int]:
        word = self._memory.word
        part = word(known.loader + known.offset("rtld_global__dl_tls_dtv_slotinfo_list"))
        left = _MOST_MODULES
        while part and left > 0:
            count = min(word(part + known.offset("dtv_slotinfo_list_len")) or 0, left)
            first = part + known.offset("dtv_slotinfo_list_slotinfo")
            yield from range(first, first + count * known.slot_bytes, known.slot_bytes)
            part = word(part + known.offset("dtv_slotinfo_list_next"))
            left -= max(count, 1)

    def _address(self, known: _Structures, control: int, block: _Block) -> int | None:
        """None where the thread has no copy yet."""
        if _is_fixed(block):
            return control - block.distance
        word = self._memory.word
        vector = word(control + known.offset("pthread_dtvp"))
        entry, start = known.fields["dtv_dtv"]
        counter = known.offset("dtv_t_counter")
        if not vector:
            return None
        generation, length = word(vector + start + counter), word(vector + start - entry + counter)
        if generation is None or generation < block.generation or (length or 0) < block.number:
            return None
        found = word(vector + start + entry * block.number + known.offset("dtv_t_pointer_val"))
        return None if found is None or found in _UNALLOCATED else found

    # --- what glibc says of itself

    def _find_structures(self) -> _Structures | None:
        """One C library of the process; those in namespaces of their own (dlmopen) have the same lists."""
        tables = [DynamicSymbols(self._memory.peek, module.base) for module in self._modules()]
        loader = next(filter(None, (table.address("_rtld_global") for table in tables)), None)
        library = next((table for table in tables if table.address(f"{_PREFIX}pthread_tid")), None)
        if loader is None or library is None:
            return None
        fields: dict[str, tuple[int, int]] = {}
        for name in _FIELDS:
            described = self._described(library, name)
            if described is None:
                return None
            fields[name] = described
        size_address = library.address(f"{_PREFIX}sizeof_dtv_slotinfo")
        slot_bytes = None if size_address is None else self._memory.word(size_address, 4)
        return _Structures(fields, slot_bytes, loader) if slot_bytes else None

    def _described(self, library: DynamicSymbols, name: str) -> tuple[int, int] | None:
        """Three numbers: bits of an element, how many, the offset in bytes."""
        address = library.address(_PREFIX + name)
        data = None if address is None else self._memory.peek(address, 12)
        if data is None:
            return None
        bits, _, offset = (int.from_bytes(data[at : at + 4], "little", signed=True) for at in (0, 4, 8))
        return bits // 8, offset


def _is_fixed(block: _Block) -> bool:
    """Of a module that was loaded with the program."""
    return platform.machine() == "x86_64" and 0 < block.distance < 1 << 63


def _unread(what: str, thread: int, reason: str) -> StrobeError:
    return failure("thread_local_unread", what=what, thread=thread, reason=reason)
