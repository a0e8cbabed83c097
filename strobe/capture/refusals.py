"""Why functions are not hooked, as users are told."""

from __future__ import annotations

from strobe import _abi
from strobe._abi import Refusal

# "Not hooked: NAMES: …"
SENTENCES = {
    Refusal.CALL_IN_ENTRY: "they call another function in their first 5 bytes, and exceptions could not unwind through "
    "the relocated call",
    Refusal.BRANCH_INTO_ENTRY: "their own code jumps into their first 5 bytes",
    Refusal.TOO_SHORT: "they are shorter than the 5 bytes that a hook takes, and another function follows",
    Refusal.NOT_CODE: "their first bytes cannot be decoded",
    Refusal.JUMP_AT_ENTRY: "they begin with a jump, and the hook would land on the function that it leads to",
    Refusal.SYSTEM_CALL_IN_ENTRY: "they make a system call in their first 5 bytes, in which a thread may wait at any "
    "time",
    Refusal.THREAD_INSIDE: "a thread stood in their first 5 bytes and did not leave",
    Refusal.THREAD_BLOCKED: "a thread of the program did not stop, so that its code could not be changed; adding the "
    "pattern again tries again",
    Refusal.LANDING_AT_ENTRY: "they begin with an instruction that this CPU looks for at an indirect call",
    Refusal.ALREADY_RUNNING: "on this CPU functions are hooked only before the program runs, because threads cannot be "
    "held",
    Refusal.INTERCEPTOR: "Frida could not hook them",
    Refusal.IN_USE: "Frida's agent has hooked them itself",
    Refusal.TOO_FAR: "no memory near them was free for a trampoline",
    Refusal.NO_NUMBER: f"a session has no room for more than {_abi.FUNCTION_CAPACITY - 1:,} functions; start a new "
    "one to trace others",
    Refusal.OTHER_CODE: "memory has other code there than their file: another tool has changed it, or the file was "
    "replaced",
    Refusal.UNLOADED: "their library was unloaded",
}
PASSING = {Refusal.THREAD_INSIDE, Refusal.THREAD_BLOCKED}  # that may be gone the next time
