"""The words that step PASSED of a recipe names at a probe: the CPU's registers, numbered as in debug information."""

from __future__ import annotations

from strobe import _abi
from strobe.symbols.dwarf.registers import NAMES
from strobe.values.memory.recipes import Recipe, decoded_steps, passed_words

WORD_BYTES = 8
_ALIASES = {"pc": "rip", "sp": "rsp", "fp": "rbp"}


def context_word(register: int) -> int | None:
    """The word that has a register of debug information; None for one that is not kept (x87, the high vectors, and
    where the program is, which the probe itself says)."""
    return register if 0 <= register < _abi.PASSED_WORDS and register != _abi.CONTEXT_PC else None


def register_number(name: str) -> int | None:
    """Of `rax`, `xmm3`, `pc`; None for what is no register, or none that is known at a probe."""
    name = _ALIASES.get(name, name)
    return NAMES.index(name) if name in NAMES[: _abi.PASSED_WORDS] else None


def needs_at_probe(recipe: Recipe) -> int:
    """STROBE_NEEDS_* of what the recipe reads of the registers; 0 where it reads none."""
    words = passed_words(recipe)
    asks = any(name == "FACT" and count == _abi.FACT_CALLER for name, _, count in decoded_steps(recipe))
    caller = _abi.NEEDS_CONTEXT | _abi.NEEDS_CALLER if asks else 0
    if not words:
        return caller
    has_vectors = max(words) >= _abi.CONTEXT_XMM0
    return caller | _abi.NEEDS_CONTEXT | _abi.NEEDS_PASSED | (_abi.NEEDS_VECTORS if has_vectors else 0)
