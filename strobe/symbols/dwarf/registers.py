"""Numbers of registers in debug information (System V AMD64 ABI 1.0, figure 3.36; Arm's "DWARF for AArch64")."""

from __future__ import annotations

STACK_POINTER = 7
RETURN_ADDRESS = 16
_FIRST = ("rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", *(f"r{n}" for n in range(8, 16)), "rip")
_VECTORS = tuple(f"xmm{n}" for n in range(16))
_FLOATS = tuple(f"st{n}" for n in range(8))
_PACKED = tuple(f"mm{n}" for n in range(8))
_SYSTEM = ("rflags", "es", "cs", "ss", "ds", "fs", "gs", "", "", "fs_base", "gs_base", "", "", "tr", "ldtr", "mxcsr")
_LAST = ("fcw", "fsw")
NAMES: tuple[str, ...] = (*_FIRST, *_VECTORS, *_FLOATS, *_PACKED, *_SYSTEM, *_LAST)
_HIGH_VECTORS = range(67, 83)  # xmm16 to xmm31


FIRST_OF_AARCH64 = 1000  # what numbers of AArch64 have been added to
_GENERAL = (*(f"x{n}" for n in range(31)), "sp", "pc")
_SIMD = range(64, 96)


def first_register(machine: str) -> int:
    """What is added to numbers in debug information for one machine."""
    return FIRST_OF_AARCH64 if machine == "aarch64" else 0


def register_name(number: int) -> str:
    """`rax`, `xmm3`; `register 200` for a number that the ABI does not define."""
    if number >= FIRST_OF_AARCH64:
        return _name_of_aarch64(number - FIRST_OF_AARCH64)
    if number in _HIGH_VECTORS:
        return f"xmm{number - _HIGH_VECTORS.start + 16}"
    name = NAMES[number] if 0 <= number < len(NAMES) else ""
    return name or f"register {number}"


def _name_of_aarch64(number: int) -> str:
    if number < len(_GENERAL):
        return _GENERAL[number]
    return f"v{number - _SIMD.start}" if number in _SIMD else f"register {number}"
