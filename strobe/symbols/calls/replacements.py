"""Whether LLVM may pass something else in a parameter's place, which debug information then names as if it were it.

Where nobody else can call a function, LLVM leaves out parameters, and passes what pointers point to in their place.
Code that assigns such a value to the parameter first, as `p = p->next` does, is left without a trace of it: what is in
the register is called `p`, and is another value than the caller passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from strobe.symbols.calls.system_v import STACK, Passing, Shape, Sources
from strobe.symbols.types.model import (
    Array,
    Encoding,
    Enum,
    MemberPointer,
    Pointer,
    Record,
    Reference,
    Scalar,
    Type,
)

_HOPS = 3  # pointers behind each other whose values are passed instead
_MOST_TYPES = 256  # looked at for one
_MOST_NESTED = 32
_WORD_BYTES = 8
_MARKED_SINCE = {"rustc version": 78, "clang version": 18}  # older ones may do it, and are not known to


def is_removal_marked(producer: str) -> bool:
    """Whether this LLVM says of a function that a parameter was removed (DW_CC_nocall): LLVM 18, which Rust has since
    1.78. Apple's counts otherwise."""
    for name, least in _MARKED_SINCE.items():
        found = re.search(rf"(?<!Apple ){name} (?:1\.)?(\d+)", producer)
        if found is not None:
            return int(found[1]) >= least
    return False


class Replacements:
    """Of one module's types. Read under the lock of its debug information."""

    def __init__(self) -> None:
        self._pointees: dict[Type, tuple[Type | None, ...]] = {}

    def certain(
        self, types: Sequence[Type], shapes: Sequence[Shape | None], found: Sequence[Sources | None], language: str,
        is_marked: bool,
    ) -> list[Sources | None]:  # fmt: skip
        """Those of the sources `found` that hold what the caller passes, whatever was passed instead of parameters.
        `is_marked`: no parameter was left out but pointers."""
        has_pointer = [self._has_pointer(type_, shape) for type_, shape in zip(types, shapes, strict=True)]
        sure = [
            is_pointer and bool(sources) and not self._fills(type_, type_, language)
            for type_, is_pointer, sources in zip(types, has_pointer, found, strict=True)
        ]
        doubtful = [number for number, is_pointer in enumerate(has_pointer) if is_pointer and not sure[number]]
        if not is_marked and (doubtful or not _ends_are_there(shapes, found)):
            return [None] * len(found)

        def is_certain(number: int) -> bool:
            if not has_pointer[number]:
                return not doubtful or doubtful[0] > number
            others = [other for other in doubtful if other != number]
            return sure[number] and not any(
                other < number or self._fills(types[other], types[number], language) for other in others
            )

        return [sources if sources and is_certain(number) else None for number, sources in enumerate(found)]

    def _has_pointer(self, type_: Type, shape: Shape | None) -> bool:
        """Whether it is passed as an address, or may be with one."""
        if shape is None or shape.passing is not Passing.REGISTERS:
            return True
        return bool(self._pointees_in(type_))

    def _fills(self, source: Type, wanted: Type, language: str) -> bool:
        """Whether what lies behind a value of one type may be assigned to a pointer of another."""
        targets = [one for one in self._pointees_in(wanted) if one is not None]
        near, seen = list(self._pointees_in(source)), set()
        for _ in range(_HOPS):
            behind: list[Type | None] = []
            for type_ in near:
                if type_ is None:
                    return True
                if type_ in seen:
                    continue
                seen.add(type_)
                words = self._pointees_in(type_)
                if language != "rust" and (words or _may_hold_address(type_)):
                    return True
                if len(seen) > _MOST_TYPES or any(_is_related(one, target) for one in words for target in targets):
                    return True
                behind += words
            near = behind
        return False

    def _pointees_in(self, type_: Type) -> tuple[Type | None, ...]:
        """What the pointers within a value of a type point to; None where that is not known."""
        found = self._pointees.get(type_)
        if found is None:
            found = self._pointees[type_] = tuple(dict.fromkeys(_pointees(type_)))
        return found


def _ends_are_there(shapes: Sequence[Shape | None], found: Sequence[Sources | None]) -> bool:
    """Whether the last parameter of each kind of register is where it should be: none before it was left out."""
    ends: dict[str, Sources | None] = {}
    for shape, sources in zip(shapes, found, strict=True):
        if shape is None:
            return False
        if shape.passing is Passing.MEMORY or (sources and sources[0] >= STACK):
            ends["stack"] = sources
            continue
        if shape.integers:
            ends["integers"] = sources
        if shape.floats:
            ends["floats"] = sources
    return all(ends.values())


def _pointees(type_: Type) -> Iterator[Type | None]:
    for part in _scalars(type_):
        if isinstance(part, (Pointer, Reference)):
            yield part.target.bare
        elif part is None:
            yield None


def _may_hold_address(type_: Type) -> bool:
    """Whether a value of it has a number that C may make a pointer of; yes where what it has is not known."""
    return any(part is None or (part.size or 0) >= _WORD_BYTES for part in _scalars(type_) if not _is_float(part))


def _is_float(part: Type | None) -> bool:
    return isinstance(part, Scalar) and part.encoding in (Encoding.FLOAT, Encoding.COMPLEX)


def _scalars(type_: Type, nesting: int = 0) -> Iterator[Type | None]:
    """What a value of a type consists of; None for a part that is not known."""
    plain = type_.bare
    if isinstance(plain, Array):
        yield from _scalars(plain.element, nesting)
    elif not isinstance(plain, Record):
        yield plain if isinstance(plain, (Scalar, Enum, Pointer, Reference, MemberPointer)) else None
    elif plain.is_declaration or nesting == _MOST_NESTED:
        yield None
    else:
        parts = plain.parts
        variants = () if parts.variants is None else parts.variants.variants
        payloads = [variant.field for variant in variants if variant.field is not None]
        for held in [member.type for member in (*parts.fields, *payloads)] + [base.type for base in parts.bases]:
            yield from _scalars(held, nesting + 1)


def _is_related(one: Type | None, other: Type) -> bool:
    """Whether an address of one may be one of the other: the same type, or one that begins with it."""
    return one is None or one in _beginnings(other) or other in _beginnings(one)


def _beginnings(type_: Type) -> list[Type]:
    """The type, and those of the members at its beginning."""
    found: list[Type] = []
    left = [type_.bare]
    while left and len(found) < _MOST_NESTED:
        plain = left.pop()
        found.append(plain)
        if isinstance(plain, Array):
            left.append(plain.element.bare)
        elif isinstance(plain, Record):
            left += [base.type.bare for base in plain.parts.bases if not base.offset]
            left += [field.type.bare for field in plain.parts.fields if not field.offset]
    return found
