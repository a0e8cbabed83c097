"""Why functions are not hooked, as users read it."""

from __future__ import annotations

from strobe import _abi
from strobe._abi import Refusal

# "Not hooked: NAMES: …"
SENTENCES = {
    Refusal.CALL_IN_ENTRY: "they call another function in their first 5 bytes, and exceptions could not unwind through "
    "the relocated call",
    Refusal.BRANCH_INTO_ENTRY: "their own code jumps into their first 5 bytes",
    Refusal.ENTERED_ELSEWHERE: "other code or a jump table leads, or may lead, into their first 5 bytes",
    Refusal.TOO_SHORT: "they are shorter than the 5 bytes that a hook takes, and another function follows",
    Refusal.NOT_CODE: "their first bytes cannot be decoded",
    Refusal.JUMP_AT_ENTRY: "they begin with a jump, and the hook would be installed in the function that it leads to",
    Refusal.SYSTEM_CALL_IN_ENTRY: "they make a system call in their first 5 bytes, in which a thread may be waiting",
    Refusal.THREAD_INSIDE: "a thread was executing their first 5 bytes and did not leave",
    Refusal.THREAD_BLOCKED: "a thread of the program did not stop, so its code could not be changed; add the pattern "
    "again to retry",
    Refusal.LANDING_AT_ENTRY: "they begin with a landing pad, which this CPU expects at the target of an indirect call",
    Refusal.ALREADY_RUNNING: "on this CPU functions are hooked only before the program runs, because threads cannot be "
    "stopped",
    Refusal.INTERCEPTOR: "Frida could not hook them",
    Refusal.IN_USE: "another tool has hooked them, or Frida's agent itself",
    Refusal.TOO_FAR: "no memory near them was free for a trampoline",
    Refusal.NO_NUMBER: f"a session has no room for more than {_abi.FUNCTION_CAPACITY - 1:,} functions; start a new "
    "one to trace others",
    Refusal.OTHER_CODE: "the code in memory differs from their file: another tool has changed it, or the file was "
    "replaced",
    Refusal.UNLOADED: "their library was unloaded",
    Refusal.SIGNAL_BLOCKED: "a breakpoint instruction there would end the program: a thread of it has SIGTRAP blocked, "
    "or it sets signal handlers by system calls of its own",
    Refusal.LIBRARY_BLOCKS: "the C library blocks signals by itself, so no breakpoint instruction may stand there",
    Refusal.UNDER_OBSERVER: "Strobe itself observes the function there",
    Refusal.UNMOVABLE: "the instruction there would behave differently in a trampoline",
    Refusal.NOT_NATIVE: "probes at instructions need x86-64 and the native form of the recorder",
}
PASSING = {Refusal.THREAD_INSIDE, Refusal.THREAD_BLOCKED}  # that may be gone the next time
