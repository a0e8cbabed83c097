"""`session.reader`: reads of variables and memory of the session's program, from outside, while it runs.

`Reads` are those of one process, without the agent.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from strobe.capture.mapped_elf import unlisted
from strobe.dataclass import dataclass
from strobe.errors import StrobeError, failure
from strobe.model import LoadedModule
from strobe.session.modules import FileState, Modules, TracedModule, file_state
from strobe.session.variables.observed import Observed
from strobe.session.variables.session_memory import Inside, Program, SessionMemory
from strobe.symbols import ModuleSymbols, SymbolResolver
from strobe.symbols.details import ModuleDetails
from strobe.timeline import placement
from strobe.values.lookup.scope import Module, Scope
from strobe.values.lookup.thread_blocks import GlibcThreads
from strobe.values.printers.known import ProjectPrinters
from strobe.values.reading import Prepared, Reader, ReadResult, ReadTarget, failed_process
from strobe.values.write.changes import Change
from strobe.values.write.writing import Store, Writer, WriteResult, WriteTarget

_LOADING = threading.Lock()  # what sessions share of debug information is made by one thread
_EXECS = 100  # that a read is begun anew for
_MAX_NAMES = 4096  # of addresses, that are kept for one repeated read


class VariableReader:
    """Of one session, whichever process observes its program. For any thread."""

    def __init__(self, session: Observed) -> None:
        self._session = session
        self._reads: Reads | None = None
        self._making = threading.Lock()

    def read(self, targets: Sequence[ReadTarget], depth: int = 1) -> list[ReadResult]:
        """Variables and memory at one moment; an error for each that fails.

        Raises process_exited, read_refused, replaced_on_disk.
        """
        try:
            return self.reads().read(targets, depth)
        except ProcessLookupError as error:
            raise self._session.gone() from error

    def repeated(self, targets: Sequence[ReadTarget], depth: int = 1) -> RepeatedRead:
        """Prepares reads of the same targets. Raises as `read`."""
        try:
            return RepeatedRead(self.reads(), targets, depth)
        except ProcessLookupError as error:
            raise self._session.gone() from error

    @contextmanager
    def scope(self) -> Iterator[Scope]:
        """What names mean now, for this thread alone. Raises as `read`, and ProcessLookupError."""
        with self.reads().scope() as found:
            yield found

    def reads(self) -> Reads:
        """Of the program's process. Raises process_exited, owned_elsewhere, still_starting."""
        record = self._session.record()
        if record.status != "running":
            raise self._session.not_here()
        with self._making:
            if self._reads is None:
                session = self._session
                self._reads = Reads(record.pid, session.resolver, record.project_root, session.inside)
            return self._reads

    def warnings(self) -> list[str]:
        """What is wrong with the project's descriptions of types, as the last read found."""
        return [] if self._reads is None else self._reads.warnings

    def keep_bytes(self, content: bytes) -> Path:
        """Puts what was read into a new file of the session's folder."""
        folder = placement.make_folder(self._session.record()) / "reads"
        folder.mkdir(mode=0o700, exist_ok=True)
        descriptor, path = tempfile.mkstemp(".bin", "", folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        return Path(path)


@dataclass(frozen=True, slots=True)
class MappedFiles:
    """What a process has mapped with code, and the state of the files that have those names now: the symbols of a
    library hold for as long as both are the same."""

    modules: list[LoadedModule]
    states: list[FileState | None]


@dataclass(frozen=True, slots=True)
class Preparation:
    """Plans, and what they hold for: the program's file, and all libraries where a target lies in one."""

    prepared: Prepared
    scope: Scope
    program: Program | None
    libraries: MappedFiles | None


class RepeatedRead:
    """The same targets, again and again. For one thread.

    What debug information says of them is asked at the start, and again only where the program is another one or
    libraries came or went; so a read takes no longer than the memory takes to copy, whatever other threads look up.
    """

    def __init__(self, reads: Reads, targets: Sequence[ReadTarget], depth: int) -> None:
        """Raises as Reads.read."""
        self._reads = reads
        self._targets = targets
        self._depth = depth
        self._names: dict[int, str | None] = {}
        self._made = reads.prepare(targets, depth)
        self.refused = self._made.prepared.refused

    def read(self) -> list[ReadResult]:
        """A result for each target. Raises as Reads.read."""
        with self._reads.translate_errors():
            return self._reads.of_one_program(self._read, lambda: self._made.program)

    def _read(self) -> list[ReadResult]:
        if self._made.prepared.is_thread_local or not self._reads.is_current(self._made):
            self._names.clear()
            self._made = self._reads.prepare(self._targets, self._depth)
        return self._made.prepared.read(self._name_at)

    def _name_at(self, address: int) -> str | None:
        """Asked once for each address: values point to the same places mostly."""
        if address not in self._names:
            if len(self._names) >= _MAX_NAMES:
                self._names.clear()
            with self._reads.lock:
                self._names[address] = self._made.scope.name_at(address)
        return self._names[address]


class Reads:
    """Of one process. May be shared by threads. Its methods raise ProcessLookupError when the process is gone."""

    def __init__(
        self,
        pid: int,
        resolver: SymbolResolver,
        project_root: str | None = None,
        inside: Inside | None = None,
    ) -> None:
        """`inside`: the agent, where this process has it."""
        self.pid = self._pid = pid
        self.lock = threading.Lock()  # of the plans and the scope, which are this process's own
        self._resolver = resolver
        self._printers = ProjectPrinters(project_root)
        self._memory = SessionMemory(pid, inside)
        self._reader = Reader(self._memory)
        self._modules = Modules(pid, resolver, self._memory.peek)
        self._program: Program | None = None
        self._scope: Scope | None = None
        self._mapped = MappedFiles([], [])
        self._others: list[Module] | None = None
        self._made: dict[int, tuple[ModuleSymbols, Module]] = {}  # by base

    def read(self, targets: Sequence[ReadTarget], depth: int) -> list[ReadResult]:
        """A result for each target. Raises read_refused, replaced_on_disk, what the program's symbols raise."""
        with self.lock, self.translate_errors():
            return self.of_one_program(
                lambda: self._reader.read(targets, depth, self._current()), lambda: self._program
            )

    def write(self, targets: Sequence[WriteTarget], store: Store) -> list[WriteResult]:
        """A result for each target; `store` is called once, when all are checked. Raises as `read`."""
        with self.lock, self.translate_errors():
            scope = self._current()
            return Writer(self._memory, self._reader).write(targets, scope, self._memory.maps(), self._checked(store))

    def _checked(self, store: Store) -> Store:
        """Writes nothing where the process has executed another program since its names were looked up."""

        def checked(changes: Sequence[Change]) -> tuple[list[str], bool]:
            if self._memory.executable()[0] != self._program:
                return ["the process has become another program"] * len(changes), False
            return store(changes)

        return checked

    def of_one_program(
        self, read: Callable[[], list[ReadResult]], program: Callable[[], Program | None]
    ) -> list[ReadResult]:
        """What `read` gives, by what is known of `program`; anew where the process has become another one in the middle
        of that, and values of the one were read by the addresses of the other."""
        for _ in range(_EXECS):
            results = read()
            if not self._memory.has_become_another_than(program()):
                return results
        raise failure("execs_again", pid=self._pid)

    @contextmanager
    def scope(self) -> Iterator[Scope]:
        """What names mean now, for this thread alone. Raises as `read`."""
        with self.lock, self.translate_errors():
            yield self._current()

    def prepare(self, targets: Sequence[ReadTarget], depth: int) -> Preparation:
        """Raises as `read`."""
        with self.lock, self.translate_errors():
            scope = self._current()
            prepared = self._reader.prepare(targets, depth, scope)
            return Preparation(prepared, scope, self._program, self._mapped if prepared.in_library else None)

    def is_current(self, made: Preparation) -> bool:
        """Whether the process still has in memory what it was made for, and types are described as they were."""
        if made.scope.printers is not self._printers.current():
            return False
        with self.translate_errors():
            if self._memory.executable()[0] != made.program:
                return False
            return made.libraries is None or made.libraries == self._mapped_now()

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Raises what `read` raises for a process that cannot be read."""
        try:
            yield
        except ProcessLookupError:
            raise
        except OSError as error:
            refused = failed_process(error, self._pid)
            if refused is None:
                raise ProcessLookupError(f"process {self._pid}") from error
            raise refused from error

    def _current(self) -> Scope:
        """The scope; a new one where the program, or a library that was asked for, is another."""
        for _ in range(_EXECS):
            try:
                return self._looked_up()
            except (ProcessLookupError, StrobeError):
                if self._memory.executable()[0] == self._program:
                    raise
            # it has become another program meanwhile
        raise failure("execs_again", pid=self._pid)

    def _looked_up(self) -> Scope:
        program, path = self._memory.executable()
        if self._scope is None or program != self._program:
            self._program, self._others, self._scope = program, None, None
            self._made.clear()
            self._scope = self._scope_of(self._own(path))
        elif self._others is not None and self._mapped != (mapped := self._mapped_now()):
            self._others, self._mapped = None, mapped  # the program's own symbols hold, whatever became of its file
            self._scope = self._scope_of(self._scope.program)
        elif self._scope.printers is not self._printers.current():
            self._scope = self._scope_of(self._scope.program)
        return self._scope

    def _own(self, path: str) -> Module:
        """The program itself, whose file has, or had, that path."""
        self._mapped = self._mapped_now()
        if not self._mapped.modules:
            raise ProcessLookupError(f"process {self._pid} is ending: nothing is mapped any more")
        own = next((module for module in self._mapped.modules if module.path == path), None)
        if own is None:
            raise failure("no_debug_information", path=path, hint="It is not mapped as a file.")
        self._modules.check(own)
        loaded = self._loaded([own])
        if not loaded:
            raise failure("no_debug_information", path=path, hint="Its symbols cannot be read.")
        return loaded[0]

    def _scope_of(self, program: Module) -> Scope:
        blocks = GlibcThreads(self._memory, lambda: self._mapped_now().modules)
        return Scope(program, self._later, blocks, self._printers.current())

    @property
    def warnings(self) -> list[str]:
        """What is wrong with the project's descriptions of types, as the last read found."""
        return [] if self._printers.warning is None else [self._printers.warning]

    def _mapped_now(self) -> MappedFiles:
        modules = unlisted(self._pid, [], self._memory.maps())
        return MappedFiles(modules, [file_state(module.path) for module in modules])

    def _later(self) -> list[Module]:
        if self._others is None:
            self._mapped = self._mapped_now()
            program = None if self._scope is None else self._scope.program
            others = [item for item in self._mapped.modules if program is None or item.base != program.base]
            self._others = self._loaded(others)
            bases = {item.base for item in self._mapped.modules}
            self._made = {base: made for base, made in self._made.items() if base in bases}
            self._modules.keep(bases)
        return self._others

    def _loaded(self, modules: Sequence[LoadedModule]) -> list[Module]:
        return [self._module(known) for known in self._modules.of(modules)]

    def _module(self, known: TracedModule) -> Module:
        """The same for as long as the symbols are: another file may have the name meanwhile, with other types."""
        path = known.module.path
        symbols, module = self._made.get(known.module.base, (None, None))
        if module is not None and symbols is known.symbols:
            return module
        details = known.current(lambda: self._details(path))
        module = Module(path, known.module.base, known.module.size, known.symbols, details)
        self._made[known.module.base] = known.symbols, module
        return module

    def _details(self, path: str) -> ModuleDetails | None:
        with _LOADING:
            details = self._resolver.details(path)
            if details is not None:
                details.variables  # noqa: B018 - its types are the same for all sessions, and compared by identity
            return details
