"""The native core. Ticks are of the segment's clock; `*_ns` are nanoseconds since session start.

A file that cannot be opened is an OSError; a file that is not a segment, or a damaged one, is a ValueError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

class Dwarf:
    """The debug information of one file. Threads may share it; what it does takes no interpreter lock.

    `sections`: uncompressed content by name (`.debug_info`, …), which must stay as it is. ValueError where nothing can
    be read, here and where an offset or a damaged DIE leads nowhere. DIEs are named by their offset in .debug_info,
    units by their index in units(). `alternate`: the same of the file that dwz has moved common parts to; offsets there
    have bit 62 set. `has_code_at_zero`: what is at address 0 was not thrown away by a linker, as in object files.
    """

    def __init__(
        self,
        sections: Mapping[str, bytes | memoryview],
        alternate: Mapping[str, bytes | memoryview] = ...,
        has_code_at_zero: bool = False,
    ) -> None: ...
    def scan(self, executable: Sequence[tuple[int, int]], threads: int = 0) -> DwarfIndex:
        """All there is, in one pass. `executable`: [start, end) of sections with code, outside which functions are
        left out; empty: nowhere. `threads` 0: as many as the machine runs at once, 8 at most."""
    def qualified_name(self, die: int) -> str:
        """Name with the names of all that encloses it; `{unnamed}` and `(anonymous namespace)` where there is none."""
    def children(self, die: int, tag: int) -> list[int]:
        """Direct children with that DW_TAG."""
    def signatures(
        self, functions: Sequence[int], loc: bytes | memoryview, loclists: bytes | memoryview
    ) -> list[tuple[Any, ...] | None]:
        """Fields of a SignatureRow (strobe/symbols/dwarf/signature_rows.py) for each function, by its DIE; None where
        it is damaged. `loc`, `loclists`: content of .debug_loc and .debug_loclists."""
    def inlined_sites(self) -> dict[str, bytes]:
        """All with code, in the order of the units: columns origin (the abstract instance's DIE), die, entry (the
        link-time address where it is entered), each u64."""
    def producer(self, die: int) -> str:
        """DW_AT_producer of the unit that holds a DIE; empty where there is none."""
    def function_at(self, address: int) -> int | None:
        """The innermost function with code at a link-time address."""
    def scope_dies(self, function: int, address: int) -> list[tuple[int, int, int, bool]]:
        """(DIE, DW_TAG, index of the scope around it, False) of a function, which comes first, and of what holds at an
        address: blocks and inlined calls around it, and the parameters, variables and call sites directly in these.
        With True at the end: variables of a block in that scope that does not include the address."""
    def declaration(self, die: int) -> tuple[str, str | None, int]:
        """(linkage name or "", full path, line or 0), from the DIE or from what it is an instance of."""
    def file_path(self, die: int, file: int) -> str | None:
        """Full path of a file by its number in the unit that holds a DIE."""
    def unit_offset(self, die: int) -> int:
        """Offset of the unit that holds a DIE."""
    def unit_has_tag(self, die: int, tag: int) -> bool:
        """Whether the unit that holds a DIE has any with that DW_TAG, or one that it imports does."""
    def units(self) -> list[tuple[int, int, int, int, bool, bool]]:
        """(offset, bytes, DWARF version, DW_UT, in .debug_types, content in a .dwo file)."""
    def line_at(self, address: int) -> tuple[str, int, int, int, int] | None:
        """(path, line, column, flags as in unit_lines, address where the row begins) of the code at an address."""
    def lines_of_file(self, file: str) -> tuple[dict[str, bytes], list[str]]:
        """Rows of all files whose path is `file` or ends with it after a slash: columns address (u64), unit, file
        (index in the paths that are the second value), line, column (u32), flags (u8). Only rows that begin a line."""
    def unit_ranges(self, unit: int) -> list[tuple[int, int]]:
        """[start, end) of its code; empty where the unit does not say."""
    def unit_files(self, unit: int) -> list[str]:
        """Full paths by file number; empty for a number that stands for none."""
    def unit_lines(self, unit: int) -> dict[str, bytes]:
        """Columns of the line table in the program's order: address (u64), file, line, column (u32), flags (u8: 1
        begins a statement, 2 ends a sequence, 4 ends a prologue)."""

class DwarfIndex:
    """What a scan found. Columns are native-endian numbers, to be cast by memoryview; columns of strings are UTF-8,
    each ended by a zero byte. Rows are in the order of the units."""

    @property
    def function_count(self) -> int: ...
    def functions(self) -> dict[str, bytes]:
        """Functions with code. name, linkage_name (empty: none) strings; die, address, size (u64, of the part that is
        called); unit, file (index in files(), 2**32 - 1: unknown), line (0: unknown), first_range, range_count (u32, in
        ranges()); flags (u8: 1 external); parent (u8: 0 unit, 1 namespace, 2 type, 3 function)."""
    def variables(self) -> dict[str, bytes]:
        """Variables with an address of their own. name, linkage_name; die, address (u64); unit, file, line (u32); flags
        (u8: 1 external, 2 thread-local: the address is an offset in the module's block); parent (u8)."""
    def types(self) -> dict[str, bytes]:
        """Defined types, the first of each name and tag. name; die (u64); unit (u32); tag (u16); flags (u8: 4 the DIE
        is in .debug_types)."""
    def inlined(self) -> dict[str, bytes]:
        """name of what was inlined into a function with code; linkage_name where that says more; sites (u64), file
        where it is declared (u32)."""
    def ranges(self) -> bytes:
        """Pairs of u64: [start, end) of each part of a function, the one that is called first."""
    def files(self) -> list[str]: ...
    def damage(self) -> list[tuple[int, str]]:
        """(offset of the unit, reason) of what could not be read."""

class FileMap:
    """A whole file, mapped for reading: memoryview(FileMap(descriptor)). What is cut off the file later reads as zeros.

    The descriptor is not needed any more. OSError where the file cannot be mapped, or too many are.
    """

    def __init__(self, descriptor: int) -> None: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    @property
    def was_cut(self) -> bool:
        """Whether something was read that is no longer in the file."""

class Condition:
    """A condition on events as nodes, each made of earlier ones; csrc/segment/read/condition.h says what they are. What
    is refused is a ValueError."""

    def __init__(self) -> None: ...
    def add(
        self,
        op: str,
        operands: Sequence[int] = (),
        *,
        high: int = 0,
        low: int = 0,
        real: float = 0.0,
        text: bytes = b"",
        type: str = "",
    ) -> int:
        """The index of a new node. `high`, `low`: the upper (signed) and lower 64 bits of an integer; `type`: of C, "":
        that which has it."""
    def add_load(
        self, is_entry: bool, form: str, bytes: int, passed: Sequence[tuple[int, bool]], fixed: int, otherwise: int
    ) -> int:
        """A value of the event, or of the call's entry; `otherwise`: the node that counts where that is not recorded.
        `passed`: what varies in length before it: words before, whether it has a pointer; `fixed`: words after that."""
    def add_member(
        self,
        is_entry: bool,
        passed: Sequence[tuple[int, bool]],
        fixed: int,
        role: int,
        rows: Sequence[tuple[int, int, str, int]],
        otherwise: int,
    ) -> int:
        """A member of what the argument `role` leads to: (number of the block of extras, offset, form, bytes). `passed`
        and `fixed` are of all that was captured of the call."""
    def add_shown(self, rows: Sequence[tuple[int, int, str, int]], otherwise: int) -> int:
        """What a probe shows, in its block with one of these numbers: (number, which item has a text, form, bytes)."""
    def add_threads(self, rows: Sequence[tuple[int, int, int]]) -> int:
        """The node of the event's thread: (thread index, tid, node)."""
    def add_cases(self, operand: int, rows: Sequence[tuple[int, int, int]], otherwise: int) -> int:
        """The node of the operand's value: (upper, lower 64 bits, node)."""
    def decide(self, function: int, is_enter: bool, node: int) -> None:
        """The condition of a function's entries, or returns."""

class Window:
    """What one look of a Sieve has found: events that were checked, and of those it has decided itself how many held,
    and how many lack what is asked for."""

    @property
    def checked(self) -> int: ...
    @property
    def held(self) -> int: ...
    @property
    def undecided(self) -> int: ...
    def __len__(self) -> int:
        """Rows that were kept."""
    def rows(self, first: int, count: int) -> list[tuple[int, tuple[Any, ...], tuple[Any, ...] | None]]:
        """(1: it holds; 2: it is undecided; 3: not decided here, the event, the entry of its call) by number. Events
        are rows of CALL_COLUMNS in strobe/timeline/events.py, without the parent."""

def call_spans(
    segment: Segment, functions: bytes, held: bytes | None, by_exit: bool, until: int, whole: bool
) -> tuple[bytes, int, int, int, int, bytes]:
    """When calls of these functions (u32 ids) ran. `held`: u64 numbers of the entries, or with `by_exit` returns, of
    those that are asked for, ascending; None: all. `whole`: with their own entries and returns. Gives rows of three
    u64, thread index << 32 | tid, first and last event number, ascending; then how many calls, and of how many the
    entry was evicted, there was no return where that has to say it, and no return could be recorded; then rows of three
    u64 for each call without a return: the thread, the entry's number, and 0 where it is open at the end, 1 where
    something else came behind it, 2 where its return could not be recorded."""

class Sieve:
    """Looks for the events of a segment, as it is now, for which a condition holds (None: all hold)."""

    def __init__(
        self,
        segment: Segment,
        condition: Condition | None,
        *,
        address: int | None,
        kinds: int,
        functions: bytes | None,
        threads: bytes | None,
        tid: int | None,
        depth: int | None,
        from_ns: int | None,
        to_ns: int | None,
        min_duration_ns: int | None,
        returns: bytes | None,
        spans: bytes | None = None,
        from_number: int,
        to_number: int,
        with_entries: bool,
    ) -> None:
        """`address`: only events that may have to do with it, none of which is decided here. `kinds`: a bit for each
        STROBE_RECORD_*; `functions`, `threads`: u32 ids; `returns`: as of strobe_calls; `spans`: as of call_spans;
        `with_entries`: rows of returns
        have the entry of the call."""
    def windows(self) -> list[int]:
        """Numbers at which windows begin that take about the same time each, ascending; the first is 0."""
    def look(self, low: int, high: int, keep: int, *, newest: bool, reason: bool) -> Window:
        """The events with these numbers, ends included. Kept are those that are not decided here, `keep` of those that
        hold, the last ones where `newest`, and where `reason` the first one that is undecided."""
    def parent_of(self, number: int) -> int | None:
        """Number of the parent of the event with this number."""

class Segment:
    """Read-only map of one segment; safe while the target writes or dies. May be shared by threads."""

    def __init__(self, path: str) -> None: ...
    @property
    def clock_kind(self) -> int:
        """STROBE_CLOCK_*."""
    @property
    def start_ticks(self) -> int: ...
    @property
    def start_monotonic_ns(self) -> int:
        """CLOCK_MONOTONIC at session start."""
    @property
    def ns_per_tick(self) -> float: ...
    @property
    def number_shift(self) -> int:
        """Bits by which ticks are shifted to give a moment."""
    @property
    def chunk_count(self) -> int: ...
    @property
    def function_capacity(self) -> int:
        """Function ids are 1 to function_capacity - 1."""
    @property
    def used_chunks(self) -> int:
        """Chunks that were ever claimed."""
    def damage(self) -> str:
        """What is left of a file that was truncated, in words; "" while it is whole. What is gone reads as zeros."""
    def to_ns(self, ticks: int) -> int:
        """Nanoseconds from session start to the moment of these ticks, rounded down."""
    def ticks_from_ns(self, ns: int) -> int:
        """The least ticks whose to_ns is at least `ns`."""
    def ticks_until_ns(self, ns: int) -> int:
        """The most ticks whose to_ns is at most `ns`; 0 for a negative one."""
    def moment(self, ticks: int) -> int:
        """The upper part of the number of an event at these ticks."""
    def ticks_of(self, number: int) -> int:
        """The first ticks of the moment of the event with this number."""
    def now_ticks(self) -> int:
        """Ticks since session start, for events that the host makes."""
    def threads(self) -> list[tuple[int, int, int, str]]:
        """(thread index, pid, tid, name) of each thread that recorded something."""
    def exit_state(self) -> tuple[int, int]:
        """(STROBE_EXIT_*, exit code)."""
    def crash(self, place: int) -> dict[str, Any] | None:
        """The last note of a signal, place STROBE_CRASH_*: the fields of struct strobe_crash, and `calls`, innermost
        first: (function id, number of its entry's event or 0). None where there was none."""
    @property
    def unreported_libraries(self) -> int:
        """Loaded when the agent could no longer tell the host of them."""
    @property
    def forked_children(self) -> int:
        """Children of the program that went on recording."""
    @property
    def totals_used(self) -> int:
        """Entries of totals that were handed out, the first one included, which nobody gets."""
    @property
    def limited_ticks(self) -> int:
        """When the program began to limit its memory; 0: not that it is known."""
    @property
    def checked_ticks(self) -> int:
        """When the host last saw that the hooks stood and the recorder was on; 0: never."""
    @property
    def filtered_ticks(self) -> int:
        """When the program began to filter its system calls; 0: not that it is known."""
    @property
    def stopped_ticks(self) -> int:
        """When the recorder went off, as the program may not read the clock any more; 0: it did not."""
    def loss(self) -> dict[str, int]:
        """Events that are missing: evicted, sampled_out, lost_no_thread, lost_reentrant, lost_no_chunk; calls that
        the totals miss: lost_no_totals; evicted_until_ns: what was evicted ended then (-1 where nothing was)."""
    def tail(
        self, after: int, limit: int, settle_ns: int = 0
    ) -> list[tuple[int, int, int, int, int, int, int, int | None, int | None, tuple[int, ...], int]]:
        """Up to `limit` events with a number above `after`, by time.

        Each is (number, kind, function, depth, thread index, tid, timestamp_ns, duration_ns, return word,
        argument words, flags). A thread may be interrupted between reading the clock and publishing its record, so that
        the record appears after others' later ones: who asks again and again with the last number as `after` passes a
        `settle_ns` of some milliseconds, which leaves out what is younger, and asks without it at the end.
        """

def demangle(names: list[str]) -> list[str | None]:
    """abi::__cxa_demangle, and Rust's v0 without crate hashes and lifetimes; None where it is not a mangled name."""

def plain_names(demangled: Sequence[str]) -> list[str]:
    """Functions' names in demangled symbols of C++: no return type, parameter lists, ABI tags, clone marks and
    Rust's hash."""

def scoped_names(names: Sequence[str]) -> list[str]:
    """Names as patterns see them: in one spelling whatever compiler wrote them, U+001F for `::` outside brackets."""

def edit_distances(wanted: str, texts: Sequence[str], part: bool = False) -> list[int]:
    """By how many letters each text differs from `wanted` (its first 64 bytes): inserted, left out, replaced, or two
    neighbours exchanged; upper and lower case are the same. With `part`, of each text what is nearest counts alone.
    """

def readable_names(raw_names: Sequence[str]) -> list[str]:
    """Functions' names from those of symbols: demangled, without parameter lists and Rust's hash; what is not mangled
    or by a scheme not known, stays. Clone marks go from all."""

def clearest_name(name: str, raw_name: str) -> str:
    """Debug information's `name`, save for what a symbol's tells better: lambdas, conversions, Rust's implementations
    of traits, and all that has a scope, where debug information has none. `raw_name` may be empty."""

def without_clone(raw_name: str) -> str:
    """Without what the compiler has added to a function that it made from another: `f.isra.0` -> `f`."""

class SymbolTable:
    """The functions of a module's symbol tables, in the order of these. Addresses are link-time."""

    def __init__(self) -> None: ...
    def add_elf(self, entries: bytes, strings: bytes, executable: Sequence[tuple[int, int]], is_dynamic: bool) -> None:
        """Defined functions among Elf64_Sym `entries`, whose names are offsets in `strings`. `executable`: [start, end)
        of what can be code; the rest is left out. `is_dynamic`: of .dynsym, what is global there is exported."""
    def add(self, name: str, address: int, size: int, is_global: bool, is_exported: bool) -> None: ...
    def rows(self) -> list[tuple[str, int, int, bool, bool]]:
        """(name, address, size, is global, is exported) of each."""
    def hidden_address(self, name: str) -> int | None:
        """Where the first one of that name is that other modules cannot bind to."""

class FrameRanges:
    """Which code tables of frames cover. Addresses are link-time."""

    def __init__(self) -> None: ...
    def add(self, section: bytes | memoryview, address: int, is_eh: bool) -> None:
        """The entries of an .eh_frame loaded at `address`, or of a .debug_frame; what is damaged covers nothing."""
    def cover(self, addresses: Sequence[int]) -> list[bool]:
        """Whether an entry covers each of them."""
    def merged(self, most_padding: int) -> list[tuple[int, int]]:
        """[start, end) of what is covered, by address; gaps up to so many bytes are taken for padding."""

def beginnings(
    loaded: Sequence[tuple[int, bytes, bool]],
    relocations: bytes,
    relative_relocations: bytes,
    is_fixed: bool,
    frames: FrameRanges,
    functions: Sequence[tuple[int, int]],
) -> bytes:
    """For each of the functions, (entry, size) by ascending entry, a byte: 1 where something of the module jumps, or
    may, between the bytes that a hook overwrites, 2 where another part of the function jumps to its entry. `loaded`:
    (link-time address, content, whether it is x86-64 code) of what the loader maps; `relocations`: Elf64_Rela and
    Elf64_Relr entries; `is_fixed`: data has addresses as they are. Raises ValueError where the code spans more than
    1 GB."""

def merged_functions(
    table: SymbolTable,
    index: DwarfIndex | None,
    others: Sequence[tuple[str, int, int, str | None, int | None]],
    go_code: tuple[int, int],
) -> dict[str, bytes]:
    """Symbol tables and debug information put together: one function per address, by address.

    `others`: (name, address, size, source file, line) of another table. `go_code`: [start, end) of what Go's compiler
    made. Columns name, raw_name, path strings; address, size, die (u64, 2**64 - 1: unknown); file (index in path), line
    (u32, 2**32 - 1: unknown); flags (u8: 1 exported, 2 other modules or files could call it, 4 Go's). Of thunks, which
    are no functions here: thunk_name (of the function that each is for), thunk (its address), thunk_size (u64).
    """

def unwind_table(section: bytes, address: int, start: int, size: int) -> bytes:
    """How frames of a module are unwound, as csrc/unwind/table.h has it.

    `section`: .eh_frame, up to its end or beyond, as it lies in memory at `address`; `start`, `size`: of the module
    there. What is damaged is left out.
    """

def settle_entries(index: DwarfIndex, table: SymbolTable) -> None:
    """Where functions have several ranges: which of them is called. What the index gives from then on says so."""

def result_uses(code: Sequence[tuple[int, bytes]], entries: Sequence[int], has_traps: bool) -> bytes:
    """For each of the functions, `entries` ascending, a byte: which registers of its result some direct call's caller
    reads right behind it (1 rax, 2 rdx, 4 xmm0, 8 xmm1; 16: there is such a call). `code`: (address, content) of x86-64
    code. `has_traps`: there is a trap behind each call that the compiler knows not to come back from."""

def instruction_length(code: bytes) -> int:
    """Bytes of the x86-64 instruction that `code` begins with; 0 where it is none that is known, or cut."""

def argument_stores(code: bytes) -> list[tuple[int, int, int]]:
    """Where the function that begins with this x86-64 code stores its arguments in the frame before its first branch:
    (STROBE_SOURCE_*, the base register as DWARF numbers it: rbp or rsp, offset)."""

def code_parts(index: DwarfIndex) -> dict[str, bytes]:
    """All ranges of all functions by start, the first of several with one start: columns start, end, entry (u64)."""

def has_room_for_threads(count: int) -> bool:
    """Whether the system allows so many threads more at this moment, whatever limits them (RLIMIT_NPROC, a control
    group). They are begun, and ended again: 40 take about a millisecond."""

def clock_kind() -> int:
    """STROBE_CLOCK_* that new segments get on this machine."""

def ticks() -> int:
    """That clock now."""

def calibrate() -> float:
    """Nanoseconds per tick, measured since the module was imported; waits until that is 20 ms ago."""

def create_segment(path: str, max_events: int) -> None:
    """A new sparse file, mode 0600, with its header filled in: the session starts now.

    FileExistsError where there is one.
    """

def note_checked(path: str, ticks: int) -> None:
    """Notes in a segment that at these ticks the hooks stood and the recorder was on. Raises OSError."""

def end_recording(path: str) -> None:
    """Processes that have the segment mapped record nothing into it any more, and otherwise go on as they are."""

def release_memory(path: str) -> None:
    """Gives back the memory of a segment's events, though processes that record nothing any more still map it."""

class ChunkSupply:
    """Asks for the pages of a live segment before its recorder needs them, on its own thread, where that saves time."""

    def __init__(self, path: str) -> None: ...
    def stop(self) -> None:
        """The file is touched no more when this returns."""

def read_apart(memory: int, address: int, count: int, step: int, size: int) -> bytes:
    """`size` bytes at each of `count` places of the memory of a process (a descriptor of /proc/PID/mem), `step` bytes
    from one to the next; fewer places where not all can be read."""

def thread_pointer(thread: int) -> int:
    """Address of a thread's control block, by a stop of some microseconds; 0 where the kernel does not say. Raises
    PermissionError where another debugger holds it, ProcessLookupError where it is gone."""

def duplicate_descriptor(pidfd: int, descriptor: int) -> int:
    """A descriptor of this process, closed on exec, for what `descriptor` of another one stands for. OSError:
    PermissionError where that may not be debugged, or the call is not permitted here."""

def detach_by(tracer: int, thread: int) -> bool:
    """Has a thread of this process let go of a thread that it traces; a signal that was on its way there is delivered.
    False where that is not possible, as long as the thread has not stopped."""

def expect_filter(process: int, is_expected: bool) -> None:
    """The process is about to filter the system calls of all its threads (seccomp): those that Strobe stops until that
    is no longer expected make the call again in which they were, with its whole time, rather than restart_syscall."""

class HeldThreads:
    """Threads that stand still until `release`, `limit_ms` at most; those that cannot be held run on."""

    def __init__(self, threads: list[int], limit_ms: int) -> None: ...
    def registers(self, thread: int) -> list[int]:
        """The general ones by their numbers in DWARF, when it was first held; empty where it was not."""

    def release(self) -> bool:
        """False where they ran on before, at the limit."""

def end_children_with_us(library: str) -> None:
    """From now on the kernel ends a program that Frida in this process has started when this process ends before Frida
    lets go of it. `library`: the file of Frida. x86-64 alone."""

class InjectionGuard:
    """Until `end`, Frida in this process loads its agent into `process` from a safe point of the main thread, and puts
    all its registers back.

    `library`: the file of Frida. `limit_ms`: for reaching that point; 0 where none is needed, as Frida removes what is
    left of an agent. `is_fridas`: Frida has started the program, and waits for its end; that of any other child of this
    process is left for who waits for it. `binds_apart`: the agent is to find its functions in its own libraries first,
    and of a program that Frida has started nothing else is done. RuntimeError where Frida calls ptrace in an unknown
    way.
    """

    def __init__(
        self, process: int, library: str, limit_ms: int, is_fridas: bool, binds_apart: bool = False
    ) -> None: ...
    def end(self) -> None:
        """The program's threads stand still since the agent was loaded, and still do."""

    def hold_threads(self, threads: list[int]) -> None:
        """These threads stand still, while an agent unloads itself, until `release_threads` or until Frida comes."""

    def release_threads(self) -> None:
        """They go on; after 4 s they do so anyway."""

    @property
    def holds_main_thread(self) -> bool:
        """Whether that one stands still, after Frida has let go of it."""

    @property
    def refusal(self) -> int:
        """Why Frida was not let in: ETIMEDOUT where no safe point was reached within `limit_ms`, EBUSY where the
        program was stopped or called exec, ESRCH where it ends, EPERM where the system forbids it; 0 where it was, or
        has not come yet."""

def block_signals(process: int, threads: list[int]) -> None:
    """Block all signals but those of a thread's own faults in these threads, by id, of any process. Those that are gone
    are left out. OSError: PermissionError where another debugger holds one."""

def blocked_signals(process: int, agents: list[int]) -> int:
    """All signals that some thread has blocked, n as bit n - 1, or will have when its handler returns, or a call that
    waits with another mask (sigsuspend, ppoll). All threads are held meanwhile; `agents` do not count. OSError as of
    write_code."""

def write_code(
    pid: int,
    changes: list[tuple[int, bytes, bytes, tuple[int, int, int, int] | None]],
    is_running: bool,
    provided: list[tuple[int, int] | None] = ...,
    agents: list[int] = ...,
) -> tuple[int, list[int]]:
    """Writes into the code of a process: (address, bytes, the bytes that must stand there, copies).

    `provided`: for each change an address and the word of 8 bytes that must be there, too.

    `agents`: threads that are not the program's, and never come there. A breakpoint instruction is written only while
    no other thread has SIGTRAP blocked, or will have; where one had, it is unblocked.

    `copies`: where a thread goes on that stands one to four bytes behind the address, 0 for nowhere; None where what is
    replaced is one instruction. All threads are held meanwhile; where the program has not begun (`is_running` False),
    another tracer may hold its thread. Returns how many ns of CPU time this took while they were held, and of each
    change 0: written, 1: other code stands there, or another word, 2: a thread stands there and has no copy, 3: SIGTRAP
    is blocked. OSError, with nothing written: PermissionError where another debugger holds the process,
    ProcessLookupError where it is gone, TimeoutError where a thread does not stop within some seconds.
    """

RECIPE_CONSTANTS: dict[str, int]
RECIPE_STEPS: dict[str, int]
RECIPE_OPERATIONS: dict[str, int]
RECIPE_STATUSES: dict[str, int]

def write_memory(pid: int, changes: Sequence[tuple[int, bytes, bytes]]) -> list[int]:
    """Writes (address, bytes, mask) one after the other; a mask says which bits change, an empty one means all.

    For each 0 or an errno: EFAULT where it is not there or may not be written, EPERM, ESRCH.
    """

def run_recipes(
    pid: int,
    recipes: Sequence[tuple[bytes, int, int]],
    read: Callable[[int, int], bytes | None] | None = None,
) -> list[tuple[int, list[tuple[int, int, int, bytes]]]]:
    """Recipes (csrc/recipe/recipe.h) over the memory of a process: code, and how many bytes and items each may give.

    For each its status, and its items: status, address, step, content. What is at addresses known beforehand is read in
    one call of the kernel. OSError where the process is gone or may not be read. `read`: what is asked instead of the
    kernel, (address, size) -> bytes, None where not all of them can be read.
    """
