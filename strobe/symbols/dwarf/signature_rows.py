"""What debug information says of functions' parameters, as strobe._core.Dwarf.signatures gives it."""

from __future__ import annotations

from typing import NamedTuple

_HAS_ORIGIN, _IS_PROTOTYPED, _HAS_OTHER_ABI, _LOST_PARAMETERS, _IS_OUTLINE, _SHOWS_OPTIMIZATION = (
    1 << bit for bit in range(6)
)
_LANGUAGES = (None, "c", "c++", "rust")

TypeKey = int | None  # offset of a type's DIE; ~signature of a type unit, which is negative; None: void


class ParameterRow(NamedTuple):
    """`name`: empty where it has none. `location`: the expression at the function's first byte, empty where there is
    none. `is_list`: it does not hold for the whole function."""

    name: str
    type: TypeKey
    location: bytes
    is_list: bool


class SignatureRow(NamedTuple):
    """`unit`: offset of the function's. `name` and `linkage_name` are empty where its declaration has them. `low`: the
    address of its first byte, None where it is not stated. `frame_base`: an expression. `written`: how many parameters
    are of the source: neither `this` nor what constructors get besides."""

    unit: int
    language_code: int
    flags: int
    name: str
    linkage_name: str
    low: int | None
    frame_base: bytes
    returned: TypeKey
    written: int
    parameters: tuple[tuple[str, TypeKey, bytes, bool], ...]

    @property
    def language(self) -> str | None:
        """ "c", "c++" or "rust", of the declaration where there is one; None for any other."""
        return _LANGUAGES[self.language_code]

    @property
    def has_origin(self) -> bool:
        """Whether it refers to an abstract instance or a declaration."""
        return bool(self.flags & _HAS_ORIGIN)

    @property
    def is_prototyped(self) -> bool:
        """False for a function of K&R's form, whose callers promote arguments."""
        return bool(self.flags & _IS_PROTOTYPED)

    @property
    def has_other_abi(self) -> bool:
        """Whether it says that it is not called as the platform's functions are."""
        return bool(self.flags & _HAS_OTHER_ABI)

    @property
    def is_incomplete(self) -> bool:
        """Whether parameters were lost on the way from the declaration, or it is the outline of a constructor."""
        return bool(self.flags & (_LOST_PARAMETERS | _IS_OUTLINE))

    @property
    def shows_optimization(self) -> bool:
        """Described call sites, variables that move: not what -O0 gives. It may inline, as Rust's libraries do."""
        return bool(self.flags & _SHOWS_OPTIMIZATION)
