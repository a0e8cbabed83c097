"""Lengths of x86-64 instructions: where one begins, in code of a file (Intel's manual, volume 2, appendix A)."""

from __future__ import annotations

from strobe.symbols.objects.code_bytes import code_at

LONGEST = 15
_MOST_BYTES = 1 << 20  # of one function that are gone through
_PREFIXES = frozenset((0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF0, 0xF2, 0xF3))
_VEX2, _VEX3, _EVEX = 0xC5, 0xC4, 0x62


def _set(*ranges: tuple[int, int]) -> frozenset[int]:
    return frozenset(code for first, last in ranges for code in range(first, last + 1))


# of opcodes of one byte: those with a ModRM byte, with an immediate of 1 byte, with one of 4 (2 behind 0x66)
_ARITHMETIC = [(base, base + 3) for base in range(0, 0x40, 8)]
_MODRM = _set(*_ARITHMETIC, (0x63, 0x63), (0x69, 0x69), (0x6B, 0x6B), (0x80, 0x81), (0x83, 0x8F), (0xC0, 0xC1)) | _set(
    (0xC6, 0xC7), (0xD0, 0xD3), (0xD8, 0xDF), (0xF6, 0xF7), (0xFE, 0xFF)
)
_BYTE = (
    frozenset(range(4, 0x40, 8))
    | _set((0x6A, 0x6B), (0x70, 0x80), (0x83, 0x83), (0xA8, 0xA8), (0xB0, 0xB7))
    | _set((0xC0, 0xC1), (0xC6, 0xC6), (0xCD, 0xCD), (0xE0, 0xE7), (0xEB, 0xEB))
)
_FULL = frozenset(range(5, 0x40, 8)) | _set((0x68, 0x69), (0x81, 0x81), (0xA9, 0xA9), (0xB8, 0xBF), (0xC7, 0xC7))
_PLAIN = _set((0x50, 0x5F), (0x6C, 0x6F), (0x90, 0x99), (0x9B, 0x9F), (0xA4, 0xA7), (0xAA, 0xAF), (0xC3, 0xC3)) | _set(
    (0xC9, 0xC9), (0xCB, 0xCC), (0xCF, 0xCF), (0xD7, 0xD7), (0xEC, 0xEF), (0xF1, 0xF1), (0xF4, 0xF5), (0xF8, 0xFD)
)
_OTHERS = {0xC2: 2, 0xCA: 2, 0xC8: 3, 0xE8: 4, 0xE9: 4}  # immediates of these sizes
# of opcodes behind 0x0F
_PLAIN_0F = _set((0x05, 0x09), (0x0B, 0x0B), (0x0E, 0x0E), (0x30, 0x35), (0x37, 0x37), (0x77, 0x77)) | _set(
    (0xA0, 0xA2), (0xA8, 0xAA), (0xC8, 0xCF)
)
_BYTE_0F = _set((0x0F, 0x0F), (0x70, 0x73), (0xA4, 0xA4), (0xAC, 0xAC), (0xBA, 0xBA), (0xC2, 0xC2), (0xC4, 0xC6))
_UNKNOWN_0F = _set((0x04, 0x04), (0x0A, 0x0A), (0x0C, 0x0C), (0x24, 0x27), (0x36, 0x36), (0x39, 0x39), (0x3B, 0x3F)) | {
    0x78
}


def instruction_length(code: bytes) -> int:
    """Bytes of the instruction that `code` begins with; 0 where it is none that is known, or cut."""
    try:
        length = _length(code)
    except IndexError:
        return 0
    return length if length <= min(len(code), LONGEST) else 0


def around(path: str, start: int, address: int) -> tuple[int, int] | None:
    """The instruction that holds a link-time address, as [start, end), gone forward to from `start`, where one begins;
    None where the code between is not understood. Raises OSError, or ValueError where it is no ELF file."""
    if not 0 <= address - start < _MOST_BYTES:
        return None
    code = b""
    for more in range(LONGEST, 0, -1):  # the last function of a file may end with it
        code = code_at(path, start, address - start + more)
        if code:
            break
    at = 0
    while at < len(code):
        length = instruction_length(code[at : at + LONGEST])
        if not length:
            return None
        if start + at + length > address:
            return start + at, start + at + length
        at += length
    return None


def _length(code: bytes) -> int:
    at = 0
    is_short = is_narrow = is_wide = False
    while code[at] in _PREFIXES:
        is_short |= code[at] == 0x66
        is_narrow |= code[at] == 0x67
        at += 1
    if code[at] & 0xF0 == 0x40:
        is_wide = bool(code[at] & 8)
        at += 1
    opcode = code[at]
    at += 1
    full = 2 if is_short and not is_wide else 4
    if opcode == 0x0F:
        return _behind_0f(code, at)
    if opcode in (_VEX2, _VEX3, _EVEX):
        return _extended(code, at, opcode)
    if 0xA0 <= opcode <= 0xA3:
        return at + (4 if is_narrow else 8)
    if 0xB8 <= opcode <= 0xBF and is_wide:
        return at + 8
    if opcode == 0x8F and code[at] >> 3 & 7:
        return 0  # AMD's XOP
    size = _OTHERS.get(opcode, 1 if opcode in _BYTE else full if opcode in _FULL else 0)
    if opcode in _MODRM:
        if opcode in (0xF6, 0xF7) and code[at] >> 3 & 7 < 2:
            size = 1 if opcode == 0xF6 else full
        return _behind_modrm(code, at) + size
    return at + size if size or opcode in _PLAIN else 0


def _behind_0f(code: bytes, at: int) -> int:
    opcode = code[at]
    at += 1
    if opcode == 0x38:
        return _behind_modrm(code, at + 1)
    if opcode == 0x3A:
        return _behind_modrm(code, at + 1) + 1
    if opcode in _UNKNOWN_0F:
        return 0
    if 0x80 <= opcode <= 0x8F:
        return at + 4
    return at if opcode in _PLAIN_0F else _behind_modrm(code, at) + (opcode in _BYTE_0F)


def _extended(code: bytes, at: int, prefix: int) -> int:
    """Of AVX and AVX-512: a map of opcodes is named by a number."""
    number = {_VEX2: 1, _VEX3: code[at] & 0x1F, _EVEX: code[at] & 7}[prefix]
    at += {_VEX2: 1, _VEX3: 2, _EVEX: 3}[prefix]
    opcode = code[at]
    if number == 1 and opcode == 0x77 and prefix != _EVEX:
        return at + 1
    if number not in (1, 2, 3, 5, 6):
        return 0
    return _behind_modrm(code, at + 1) + (number == 3 or (number == 1 and opcode in _BYTE_0F))


def _behind_modrm(code: bytes, at: int) -> int:
    mode, register = code[at] >> 6, code[at] & 7
    at += 1
    if mode == 3:
        return at
    has_wide = mode == 2
    if register == 4:
        has_wide |= mode == 0 and code[at] & 7 == 5
        at += 1
    elif register == 5 and mode == 0:
        has_wide = True
    return at + (4 if has_wide else mode)
