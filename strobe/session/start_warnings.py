"""What a program's recording lacks from its start on, as warnings of the session."""

from __future__ import annotations

from strobe.capture.limits import limits_memory
from strobe.capture.observers import CALL_SITES
from strobe.capture.target import Target

_ENDED = (
    "If the program filters its system calls (seccomp) or gives up the clock with them, it may be ended for what "
    "Strobe does."
)
_FOREIGN = (
    "While a traced function runs, the address that it returns to is one of Strobe's: they are given that where the "
    "program has them told who called it."
)


def start_warnings(target: Target) -> list[str]:
    """Of a target that has not been resumed yet."""
    found = []
    if not target.setup.catches_returns:
        found.append("The CPU protects return addresses here (shadow stack): entries are recorded, returns are not.")
    if target.setup.reason:
        found.append(f"The portable form of the recorder is in use, several times slower: {target.setup.reason}.")
    if not target.tells_of_libraries:
        found.append(
            "Another tool has changed what the dynamic linker calls when libraries are loaded: those loaded while the "
            "program runs are traced only from the next change of patterns on."
        )
    for reason, effect in sorted({(why, _effect(name)) for name, why in target.unobserved.items()}):
        names = " and ".join(
            name for name, why in target.unobserved.items() if (why, _effect(name)) == (reason, effect)
        )
        found.append(f"Calls of {names} are not seen: {reason}. {effect}")
    if limits_memory(target.pid):
        found.append(
            "The program's memory is limited (RLIMIT_AS or RLIMIT_DATA). The 2 GB of addresses that Strobe reserves "
            "count as well: allocations may fail that would succeed without it."
        )
    return found


def _effect(name: str) -> str:
    """Of calls of that function, which are not seen."""
    return _FOREIGN if name in CALL_SITES else _ENDED
