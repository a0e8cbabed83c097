"""The words that step PASSED of a recipe names at a probe: the CPU's registers, numbered as in debug information."""

from __future__ import annotations

from strobe.symbols.dwarf.registers import NAMES

CONTEXT_PC = 16  # the address of the probe itself
CONTEXT_XMM0 = 17  # to xmm15, their low halves
CONTEXT_WORDS = 33
WORD_BYTES = 8
_ALIASES = {"pc": CONTEXT_PC, "sp": 7, "fp": 6}


def context_word(register: int) -> int | None:
    """The word that has a register of debug information; None for one that is not kept (x87, the high vectors)."""
    return register if 0 <= register < CONTEXT_WORDS else None


def register_word(name: str) -> int | None:
    """`rax`, `xmm3`, `pc`."""
    if name in _ALIASES:
        return _ALIASES[name]
    return NAMES.index(name) if name in NAMES[:CONTEXT_WORDS] else None
