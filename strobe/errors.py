"""Every error a user can meet: code, wording and next step in one table; raised with the facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Literal


class Code(StrEnum):
    """What begins the text of an error; part of the tools' contract, so none changes its meaning."""

    NO_DEBUG_SYMBOLS = "NO_DEBUG_SYMBOLS"
    SESSION_NOT_FOUND = "SESSION_NOT_FOUND"
    SESSION_EXISTS = "SESSION_EXISTS"
    PROCESS_EXITED = "PROCESS_EXITED"
    ATTACH_FAILED = "ATTACH_FAILED"
    INVALID_PATTERN = "INVALID_PATTERN"
    WATCH_FAILED = "WATCH_FAILED"
    PROBE_FAILED = "PROBE_FAILED"
    READ_FAILED = "READ_FAILED"
    WRITE_FAILED = "WRITE_FAILED"
    NO_CODE_AT_LINE = "NO_CODE_AT_LINE"
    VALIDATION_ERROR = "VALIDATION_ERROR"
    LIMIT_REACHED = "LIMIT_REACHED"
    INTERNAL = "INTERNAL"


def enumerated(names: Iterable[str], most: int = 3) -> str:
    """The first names for a sentence: "a, b, c and 3 more"."""
    given = list(names)
    more = f" and {len(given) - most} more" if len(given) > most else ""
    return ", ".join(given[:most]) + more


class StrobeError(Exception):
    """A failure that the user sees: `code`, what was wrong, and what to try.

    `str(error)` begins with the code, as the tools' contract asks.
    """

    def __init__(self, code: Code, message: str, next_step: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.code}: {self.sentences}"

    @property
    def sentences(self) -> str:
        """What was wrong and what to try, without the code: for one failure among several results."""
        return f"{self.message} {self.next_step}" if self.next_step else self.message


class SessionStopped(StrobeError):
    """What was asked of a session met its end, as another client stops it; asked again it may be answered."""


Interface = Literal["mcp", "cli", "python"]

# what to call, for each interface; an error's next step refers to it as `{query}`
_COMMANDS: dict[Interface, dict[str, str]] = {
    "mcp": {
        "launch": "debug_launch",
        "query": "debug_query",
        "read": "debug_read",
        "poll": "debug_read with poll",
        "stop": " with debug_stop",
        "sessions": "debug_list_sessions",
        "delete": "debug_delete_session",
        "anyway": "anyway: true",
    },
    "cli": {
        "launch": "strobe run",
        "query": "strobe query",
        "read": "strobe read",
        "poll": "poll() in Python, or debug_read with poll over MCP",
        "stop": ": end its `strobe run` with Ctrl-C",
        "sessions": "strobe sessions",
        "delete": "strobe sessions delete",
        "anyway": "missing_ok=True",
    },
    "python": {
        "launch": "strobe.launch",
        "query": "query()",
        "read": "read()",
        "poll": "poll()",
        "stop": " with stop()",
        "sessions": "strobe sessions",
        "delete": "strobe sessions delete",
        "anyway": "missing_ok=True",
    },
}
# what a parameter is called, where it is not called as over MCP
_FIELDS: dict[Interface, dict[str, str]] = {
    "mcp": {},
    "cli": {
        "eventType": "--type",
        "minDurationNs": "--min-duration",
        "limit": "--limit",
        "inside": "--inside",
        "offset": "--offset",
        "timeFrom": "--from",
        "timeTo": "--to",
        "serializationDepth": "--depth",
    },
    "python": {
        "eventType": "event_type",
        "sourceFile": "source_file",
        "returnValue": "return_value",
        "threadName": "thread_name",
        "minDurationNs": "min_duration_ns",
        "timeFrom": "time_from",
        "timeTo": "time_to",
        "serializationDepth": "depth",
    },
}
_interface: Interface = "python"

# name of the failure -> (code, what was wrong, what to try); `{facts}` are filled in by `failure`
_TABLE: dict[str, tuple[Code, str, str]] = {
    "no_such_file": (Code.VALIDATION_ERROR, "No such program: '{path}'.", "{hint}"),
    "is_directory": (Code.VALIDATION_ERROR, "'{path}' is a directory, not a program.", "Name the program inside it."),
    "not_executable": (Code.VALIDATION_ERROR, "'{path}' is not executable.", "Run: chmod +x '{path}'"),
    "not_a_program": (
        Code.VALIDATION_ERROR,
        "'{path}' is neither an ELF program nor a script with a '#!' line.",
        "Name a compiled program, or the interpreter with the file as its argument.",
    ),
    "damaged_elf": (
        Code.VALIDATION_ERROR,
        "'{path}' is an ELF file that cannot be read: {reason}.",
        "It may be truncated or damaged; build or copy it again.",
    ),
    "damaged_macho": (
        Code.VALIDATION_ERROR,
        "'{path}' is a Mach-O file that cannot be read: {reason}.",
        "It may be truncated or damaged; build or copy it again.",
    ),
    "macho_program": (
        Code.VALIDATION_ERROR,
        "'{path}' is a Mach-O file: a program for macOS, which does not run here.",
        "Build it for this machine; what it contains can be read with: strobe symbols '{path}'",
    ),
    "not_linked": (
        Code.VALIDATION_ERROR,
        "'{path}' is an object file: nothing in it has an address before it is linked.",
        "Name the program or library that it becomes part of.",
    ),
    "interpreter_missing": (
        Code.VALIDATION_ERROR,
        "'{path}' is a script whose interpreter '{interpreter}' does not exist.",
        "Install it, or correct the first line of the script.",
    ),
    "wrong_architecture": (
        Code.VALIDATION_ERROR,
        "'{path}' is built for {machine}; this machine runs {host}.",
        "Build it for this machine.",
    ),
    "static_program": (
        Code.ATTACH_FAILED,
        "'{path}' is statically linked (it has no program interpreter) and cannot be observed from inside.",
        "Link it dynamically: leave out -static. Of Go programs, only C functions of cgo are traced.",
    ),
    "thread_sanitizer": (
        Code.ATTACH_FAILED,
        "'{path}' is built with ThreadSanitizer, whose runtime ends the program when a thread runs that the program "
        "did not start, such as the agent's.",
        "Build it without -fsanitize=thread; -fsanitize=address and -fsanitize=undefined can stay.",
    ),
    "bad_cwd": (Code.VALIDATION_ERROR, "The working directory '{path}' does not exist.", "Name an existing folder."),
    "no_such_process": (Code.ATTACH_FAILED, "No process has the id {pid}.", "List processes with: ps -e"),
    "attach_refused": (
        Code.ATTACH_FAILED,
        "Process {pid} could not be observed: {reason}.",
        "{hint}",
    ),
    "process_stopped": (
        Code.ATTACH_FAILED,
        "Process {pid} is stopped, by SIGSTOP or by Ctrl-Z in its terminal: Strobe's agent cannot be injected.",
        "Continue it and attach again: kill -CONT {pid}",
    ),
    "recorded_already": (
        Code.ATTACH_FAILED,
        "Process {pid} is already recorded by session '{session}'.",
        "Use that session, or stop it first; a process is recorded by one session at a time.",
    ),
    "process_blocked": (
        Code.ATTACH_FAILED,
        "Process {pid} could not be observed within {seconds} s: its main thread is blocked in the kernel.",
        "See what it waits for: cat /proc/{pid}/wchan (a child of vfork, a disk, a network file system); then attach "
        "again.",
    ),
    "agent_silent": (
        Code.ATTACH_FAILED,
        "Process {pid} could not be observed: Frida's agent did not start in it: {reason}.",
        "The machine may be too busy: attach again when it is less busy.",
    ),
    "no_proc": (
        Code.ATTACH_FAILED,
        "Processes cannot be observed here: {reason}.",
        "{hint}",
    ),
    "launch_failed": (Code.ATTACH_FAILED, "'{path}' could not be started under observation: {reason}.", "{hint}"),
    "session_not_found": (
        Code.SESSION_NOT_FOUND,
        "There is no session '{session_id}'.",
        "{hint}",
    ),
    "not_kept": (
        Code.INTERNAL,
        "The recording of session '{session_id}' could not be kept: {reason}.",
        "Free space, or set STROBE_HOME to a folder with more of it.",
    ),
    "session_running": (
        Code.SESSION_EXISTS,
        "Session '{session_id}' is still running.",
        "Stop it first{stop}.",
    ),
    "process_exited": (
        Code.PROCESS_EXITED,
        "The program of session '{session_id}' has ended ({how}).",
        "What it did can still be read with {query}; start it again with {launch}.",
    ),
    "agent_unresponsive": (
        Code.INTERNAL,
        "The agent in process {pid} did not answer within {seconds} s.",
        "The process may be stopped (SIGSTOP, or a debugger), or the machine very busy; try again or stop the session.",
    ),
    "agent_left": (
        Code.ATTACH_FAILED,
        "Strobe's agent has left process {pid}: {reason}.",
        "What was recorded can still be read with {query}.",
    ),
    "agent_stays": (
        Code.INTERNAL,
        "Process {pid} is no longer recorded, but the agent stays in the process: a thread is in the agent's code, "
        "for example in a call below a signal handler that waits.",
        "It does no harm there. To remove it, attach and stop once more when the thread has left.",
    ),
    "execs_again": (
        Code.READ_FAILED,
        "Process {pid} keeps calling exec: it became another program during each attempt to read its memory.",
        "Try again when it no longer calls exec.",
    ),
    "agent_failed": (
        Code.INTERNAL,
        "The agent in process {pid} reported: {reason}.",
        "This is a fault in Strobe, or the program has damaged the agent's memory; stop the session and start again.",
    ),
    "no_memory_there": (
        Code.LIMIT_REACHED,
        "Process {pid} has no room for the recorder, which reserves about 2 GB of address space.",
        "Raise its memory limits (ulimit -v, ulimit -d), or set events.maxPerSession lower.",
    ),
    "still_starting": (
        Code.LIMIT_REACHED,
        "Session '{session_id}' is still being started.",
        "Try again in a few seconds; on a busy machine it takes longer.",
    ),
    "owned_elsewhere": (
        Code.SESSION_EXISTS,
        "Session '{session_id}' is run by another Strobe process (id {owner}).",
        "Its events can be read here; change or stop it where it was started.",
    ),
    "replaced_on_disk": (
        Code.ATTACH_FAILED,
        "'{path}' is no longer the file that process {pid} runs ({how}): its addresses are not those of the running "
        "code, and a hook there would break the program. Nothing was hooked, and the program keeps running.",
        "Start the program again to trace what is on disk now, or put the old file back.",
    ),
    "invalid_pattern": (Code.INVALID_PATTERN, "The pattern '{pattern}' is not valid: {reason}.", "{hint}"),
    "nothing_traced": (
        Code.INVALID_PATTERN,
        "{reason}",
        "If that is expected, for example for a library that is loaded later, pass {anyway}.",
    ),
    "links_gone": (
        Code.PROCESS_EXITED,
        "Session '{session_id}' is closed: the parents and children of a filtered list of calls can no longer be read.",
        "Use them inside the with block, or before stop().",
    ),
    "no_debug_symbols": (
        Code.NO_DEBUG_SYMBOLS,
        "'{path}' has no debug information and no function names to match.",
        "Build it with -g (gcc, clang) or in the dev profile (cargo), do not strip it, or install its -dbg or -dbgsym "
        "package; exported functions of a library can be traced with @lib:NAME.",
    ),
    "no_source_files": (
        Code.NO_DEBUG_SYMBOLS,
        "'{path}' has no debug information, and so no source files that a pattern could match.",
        "Trace its functions by name, or build it with -g (gcc, clang) or in the dev profile (cargo); exported "
        "functions of a library can be traced with @lib:NAME.",
    ),
    "no_debug_information": (Code.NO_DEBUG_SYMBOLS, "'{path}' has no debug information.", "{hint}"),
    "debug_info_unreadable": (
        Code.READ_FAILED,
        "The debug information of '{path}' cannot be read where {what} is described: {reason}.",
        "It may be damaged, or in a form that Strobe does not know; build the file again.",
    ),
    "no_code_at_line": (Code.NO_CODE_AT_LINE, "There is no code at {file}:{line}.", "{hint}"),
    "unknown_source_file": (Code.NO_CODE_AT_LINE, "'{path}' was not built from a source file '{file}'.", "{hint}"),
    "no_such_symbol": (Code.VALIDATION_ERROR, "'{path}' has no {kind} '{symbol}'.", "{hint}"),
    "cannot_edit": (
        Code.VALIDATION_ERROR,
        "'{file}' cannot be changed: {reason}.",
        "strobe install --print shows what to add to it.",
    ),
    "bad_value": (Code.VALIDATION_ERROR, "'{field}' is {value}: {reason}.", "Valid: {valid}."),
    "missing_field": (Code.VALIDATION_ERROR, "'{field}' is missing.", "It is: {valid}."),
    "unknown_field": (Code.VALIDATION_ERROR, "'{field}' is not a parameter here{near}.", "Valid: {valid}."),
    "field_not_yet": (
        Code.VALIDATION_ERROR,
        "'{field}' is not supported by this version of Strobe.",
        "Leave it out. Valid: {valid}.",
    ),
    "limit_too_low": (
        Code.LIMIT_REACHED,
        "The limit of {what} (ulimit {option}) is {limit}; Strobe needs {needed}.",
        "Raise it with ulimit {option}, here and for the program, which has the same limit.",
    ),
    "no_threads": (
        Code.LIMIT_REACHED,
        "The system does not allow {needed} here, which Strobe needs.",
        "Raise the limit of processes, which counts threads (ulimit -u, pids.max of a container), or end some.",
    ),
    "no_segment": (
        Code.INTERNAL,
        "There is no room to record events: {reason}.",
        "Free space in /dev/shm or STROBE_HOME, raise ulimit -f and -v, or set events.maxPerSession lower.",
    ),
    "call_too_long": (
        Code.LIMIT_REACHED,
        "{tool} did not finish within {seconds} s; it continues in the background.",
        "Check its result with {sessions}, then try again.",
    ),
    "too_many_calls": (
        Code.LIMIT_REACHED,
        "{count} calls are already running.",
        "Wait for one of them, then try again.",
    ),
    "watch_failed": (Code.WATCH_FAILED, "'{what}' cannot be watched: {reason}.", "{hint}"),
    "probe_failed": (Code.PROBE_FAILED, "Probe '{what}' cannot be installed: {reason}.", "{hint}"),
    "stacks_impossible": (
        Code.PROBE_FAILED,
        "Stacks cannot be recorded: the program is observed by the portable form of the recorder.",
        "Leave stack out; warnings say why the native form, for x86-64, could not be loaded.",
    ),
    "too_many_probes": (
        Code.LIMIT_REACHED,
        "{count} probes are active; at most {limit} are possible.",
        "Remove one by its label.",
    ),
    "too_many_watches": (
        Code.LIMIT_REACHED,
        "{count} watches are active; at most {limit} are possible.",
        "Remove one by its label.",
    ),
    "limit_reached": (Code.LIMIT_REACHED, "At most {limit} {what} are possible.", "Start a new session."),
    "too_many_polls": (
        Code.LIMIT_REACHED,
        "{count} polls of this session are already running.",
        "Wait for one of them to end, or poll more targets at once: up to 16 in one.",
    ),
    "bad_regex": (
        Code.VALIDATION_ERROR,
        "The regular expression '{regex}' is not valid: {reason}.",
        "The syntax is RE2's, without backreferences, lookahead and lookbehind. Use 'contains' for plain text.",
    ),
    "bad_cursor": (
        Code.VALIDATION_ERROR,
        "'{cursor}' is not an event id of session '{session_id}'.",
        "Pass the id of an event that {query} returned.",
    ),
    "events_unreadable": (
        Code.INTERNAL,
        "The events of session '{session_id}' cannot be read: {reason}.",
        "Its output and settings are kept; delete it with {delete} if you do not need them.",
    ),
    "session_stopped": (
        Code.PROCESS_EXITED,
        "Session '{session_id}' was stopped at this moment, by another client.",
        "Ask again: where its recording is kept, {query} finds it.",
    ),
    "sql_too_long": (
        Code.LIMIT_REACHED,
        "The statement did not end within {seconds} s.",
        "Add conditions so that it reads fewer rows, or allow more time.",
    ),
    "sql_too_much": (
        Code.LIMIT_REACHED,
        "The statement has more than {rows} rows.",
        "Add a limit, or aggregate: select function, count(*) … group by 1.",
    ),
    "several_statements": (
        Code.VALIDATION_ERROR,
        "These are several statements; only one can be run at a time.",
        "Pass a single statement; 'with' names the result of another select, 'union all' combines rows.",
    ),
    "bad_sql": (Code.VALIDATION_ERROR, "SQLite rejected the statement: {reason}.", "The view is called 'events'."),
    "bad_expression": (
        Code.VALIDATION_ERROR,
        "'{expression}' cannot be read: {reason}.",
        "Valid: {valid}.",
    ),
    "condition_failed": (Code.WATCH_FAILED, "'{what}' cannot decide which calls are recorded: {reason}.", ""),
    "no_such_root": (Code.READ_FAILED, "'{what}' is not known here.", "Known: {valid}."),
    "expression_wrong": (
        Code.VALIDATION_ERROR,
        "'{field}' is not a valid expression: at character {at}, '{near}': {reason}.",
        "{hint}",
    ),
    "probe_wrong": (
        Code.VALIDATION_ERROR,
        "'{probe}' is not a valid probe: at character {at}, '{near}': {reason}.",
        "Valid: {valid}.",
    ),
    "variable_not_found": (Code.READ_FAILED, "Variable '{what}' not found in debug symbols.", "{hint}"),
    "variable_ambiguous": (
        Code.READ_FAILED,
        "'{what}' is ambiguous: {count} variables.",
        "Name one of them: {options}.",
    ),
    "no_such_field": (Code.READ_FAILED, "{type} has no field '{what}'.", "{hint}"),
    "no_such_element": (Code.READ_FAILED, "'{what}' has no element {index}: it has {count}.", ""),
    "no_such_type": (Code.READ_FAILED, "There is no type '{what}' in the debug symbols.", "{hint}"),
    "not_there": (Code.READ_FAILED, "{reason}.", ""),
    "null_pointer": (Code.READ_FAILED, "Null pointer at {what}.", ""),
    "address_unreadable": (Code.READ_FAILED, "Address not readable: {address}{at}.", ""),
    "too_many_dereferences": (
        Code.LIMIT_REACHED,
        "One expression follows at most {limit} pointers.",
        "{hint}",
    ),
    "thread_local_unread": (
        Code.READ_FAILED,
        "'{what}' is thread-local, and the copy of thread {thread} was not found: {reason}.",
        "Keep a pointer to it in a global, and read that.",
    ),
    "read_refused": (
        Code.READ_FAILED,
        "The system did not permit reading the memory of process {pid}.",
        "Ask the Strobe process that observes it. Or: sysctl -w kernel.yama.ptrace_scope=0",
    ),
    "bad_written_value": (
        Code.WRITE_FAILED,
        "'{what}' ({type}) cannot become {value}: {reason}.",
        "Valid: {valid}.",
    ),
    "written_const": (
        Code.WRITE_FAILED,
        "'{what}' is const ({type}): the compiler may have put its value into the code, which would not see a change.",
        "To write the memory nevertheless, cast its address: *(int*)&x.",
    ),
    "written_nowhere": (
        Code.WRITE_FAILED,
        "'{what}' ({type}) is not an lvalue: it has no location in memory to write to.",
        "Name a variable, or a part of one.",
    ),
    "written_twice": (
        Code.WRITE_FAILED,
        "'{one}' and '{other}' overlap in the memory of '{what}'.",
        "Give one of them.",
    ),
    "written_local": (
        Code.WRITE_FAILED,
        "Variable '{what}' not found in debug symbols. Locals and arguments cannot be written: Strobe does not pause "
        "threads.",
        "{hint}",
    ),
    "no_address": (
        Code.WRITE_FAILED,
        "'{expression}' is not an address.",
        'Valid: "0x…", null, "&gFoo", "(Node*)0x…".',
    ),
    "address_unwritable": (Code.WRITE_FAILED, "Nothing is mapped at {address}, for {what}.", ""),
    "memory_read_only": (
        Code.WRITE_FAILED,
        "'{what}' lies in memory that must not be written: {mapping}.",
        "Constants, string literals, code and Strobe's own data lie in such memory; nothing was written.",
    ),
    "not_written": (
        Code.WRITE_FAILED,
        "'{what}' could not be written: {reason}; {written}.",
        "",
    ),
    "no_such_thread": (Code.READ_FAILED, "Process {pid} has no thread {thread}.", "It has: {threads}."),
    "thread_local_unallocated": (
        Code.READ_FAILED,
        "'{what}' is not allocated yet for thread {thread}, which has used no thread-local of {module} so far.",
        "Read it when that thread has run code that uses it.",
    ),
    "too_much_read": (
        Code.LIMIT_REACHED,
        "The value takes {bytes} bytes; an answer holds {limit}.",
        "{hint}",
    ),
    "home_unusable": (
        Code.VALIDATION_ERROR,
        "'{path}' cannot be used as Strobe's home: {reason}.",
        "Set STROBE_HOME to a folder of this user, or give it, with what is in it, to this user (chown -R), mode 0700.",
    ),
    "database_failed": (Code.INTERNAL, "Strobe's database '{path}' could not be {used}: {reason}.", "{hint}"),
    "newer_database": (
        Code.VALIDATION_ERROR,
        "'{path}' was written by a newer Strobe (format {version}, this one knows {known}).",
        "Update Strobe, or set STROBE_HOME to another folder.",
    ),
    "daemon_unreachable": (Code.INTERNAL, "The Strobe daemon does not answer: {reason}.", "See {log}."),
    "internal": (Code.INTERNAL, "{reason}.", "This is a fault in Strobe; the log has the details: {log}"),
}


def failure(name: str, **facts: object) -> StrobeError:
    """The error called `name` in the table, with its facts filled in.

    A missing `hint` becomes empty; `field` is a parameter as MCP calls it, shown as the interface calls it.
    """
    code, message, next_step = _TABLE[name]
    facts.setdefault("hint", "")
    if "field" in facts:
        facts["field"] = field_name(str(facts["field"]))
    kind = SessionStopped if name == "session_stopped" else StrobeError
    return kind(code, message.format(**facts), next_step.format(**command_names(), **facts).strip())


def together(errors: Sequence[StrobeError]) -> StrobeError:
    """One failure that names all of them, by the code of the first; where there is one, that."""
    if len(errors) == 1:
        return errors[0]
    named = " ".join(f"({number}) {error.sentences}" for number, error in enumerate(errors, 1))
    return StrobeError(errors[0].code, f"{len(errors)} things are wrong. {named}")


def speak_to(interface: Interface) -> None:
    """From now on errors of this process name the commands of `interface`. A process serves one; Python at first."""
    global _interface
    _interface = interface


def field_name(name: str) -> str:
    """What the interface of this process calls a parameter that MCP calls `name`."""
    return _FIELDS[_interface].get(name, name)


def command_names() -> Mapping[str, str]:
    """What the user calls to launch, query, read, …, by the interface that this process serves."""
    return _COMMANDS[_interface]
