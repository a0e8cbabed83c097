"""Types as text: C-like, with offsets, sizes, holes and bit-fields.

    /* offset   size */
                         struct holes {
    /*      0      1 */      char a;
                             // a hole of 7 bytes
    /*      8      8 */      double b;
    /*   16.3     2b */      unsigned int bits : 2;
                         };  // 24 bytes; 7 of them in 1 hole, 7 at the end

An offset of `16.3` is bit 3 of byte 16, a size of `2b` is 2 bits. Fields are in the order they have in memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from strobe.symbols.types.model import (
    Base,
    Enum,
    Field,
    Record,
    RecordParts,
    Scalar,
    StaticMember,
    Type,
    Typedef,
    VariantPart,
)

_INDENT = "    "
_MARGIN = " " * 20
_MAX_DEPTH = 8
_MAX_LINES = 2000


def layout(type_: Type) -> str:
    """Several lines, without a line feed at the end. Raises one of UNREADABLE where the type is damaged."""
    lines: list[str] = []
    for line in _lines(type_):
        if len(lines) == _MAX_LINES:
            lines.append(f"{_MARGIN} … and more")
            break
        lines.append(line)
    return "\n".join(lines)


def _lines(type_: Type) -> Iterator[str]:
    plain = type_.bare
    if isinstance(type_, Typedef):
        yield f"typedef {type_.target.declare(type_.name)};{_size_note(plain) if not _is_open(plain) else ''}"
    if isinstance(plain, Record):
        yield from _record(plain)
    elif isinstance(plain, Enum):
        yield from _enum(plain)
    elif not isinstance(type_, Typedef):
        yield f"{type_.name};{_size_note(plain)}"


def _is_open(plain: Type) -> bool:
    return isinstance(plain, (Record, Enum))


def _size_note(plain: Type) -> str:
    kind = f", {plain.encoding.value}" if isinstance(plain, Scalar) else ""
    return "" if plain.size is None else f"  // {_counted(plain.size, 'byte')}{kind}"


def _enum(plain: Enum) -> Iterator[str]:
    beneath = "" if plain.underlying is None else f" : {plain.underlying.name}"
    head = " ".join(filter(None, ("enum class" if plain.is_scoped else "enum", plain.own_name)))
    if plain.is_declaration and not plain.enumerators:
        yield f"{head}{beneath};  // only declared here"
        return
    yield f"{head}{beneath} {{"
    for one in plain.enumerators:
        yield f"{_INDENT}{one.name} = {hex(one.value) if plain.is_flags and one.value > 9 else one.value},"
    flags = ", bits to be combined" if plain.is_flags else ""
    yield f"}};  // {_counted(plain.size or 0, 'byte')}{flags}"


def _record(plain: Record) -> Iterator[str]:
    head = " ".join(filter(None, (plain.kind, plain.own_name)))
    if plain.is_declaration:
        yield f"{head};  // only declared: no unit of this file defines it"
        return
    writer = _Writer()
    yield "/* offset   size */"
    bases = ", ".join(f"{base.access} {'virtual ' * base.is_virtual}{base.type.name}" for base in plain.parts.bases)
    yield f"{_MARGIN} {head}{' : ' if bases else ''}{bases} {{"
    yield from writer.parts(plain.parts, 0, plain.size or 0, 1, plain.kind == "union")
    yield f"{_MARGIN} }};  // {writer.summary(plain)}"


class _Writer:
    """Writes the fields of a record, and counts what they leave free."""

    def __init__(self) -> None:
        self._holes: list[int] = []
        self._tail = 0  # bits

    def summary(self, plain: Record) -> str:
        aligned = f", aligned to {plain.alignment}" if plain.alignment else ""
        total = sum(self._holes)
        inside = f"{_bits(total)} in {_counted(len(self._holes), 'hole')}" if total else ""
        free = ", ".join(filter(None, (inside, f"{_bits(self._tail)} free at the end" if self._tail else "")))
        return f"{_counted(plain.size or 0, 'byte')}{aligned}{'; ' if free else ''}{free}"

    def parts(self, parts: RecordParts, start: int, size: int, depth: int, is_union: bool) -> Iterator[str]:
        """`start`: bits from the outermost record's first. Holes are shown, except in unions and variants."""
        for static in parts.statics:
            yield _line("", "", depth, _static(static))
        if parts.variants is not None:
            yield from self._variants(parts.variants, start, depth)
        end = start
        every: list[Base | Field] = [*parts.bases, *parts.fields]
        for part in sorted(every, key=_offset):
            at = _offset(part)
            if at >= 0 and start + at > end and not is_union and parts.variants is None:
                self._holes.append(start + at - end)
                yield _line("", "", depth, f"// a hole of {_bits(start + at - end)}")
            end = max(end, start + at + _width(part))
            yield from self._base(part, start, depth) if isinstance(part, Base) else self._field(part, start, depth)
        has_all = not is_union and parts.variants is None and not _has_virtual_base(parts)
        if depth == 1 and has_all and (parts.fields or parts.bases):
            self._tail = max(0, 8 * size - end)
        if parts.methods:
            yield _line("", "", depth, f"// {_counted(parts.methods, 'function')}")

    def _base(self, base: Base, start: int, depth: int) -> Iterator[str]:
        if base.offset is None:
            yield _line("", "", depth, f"// virtual base {base.type.name}, where the vtable says")
            return
        yield _line(str(start // 8 + base.offset), str(base.type.size), depth, f"// base {base.type.name}")

    def _field(self, field: Field, start: int, depth: int) -> Iterator[str]:
        where, size = _columns(field, start)
        plain = field.type.bare
        is_open = isinstance(plain, Record) and not plain.own_name and field.type is plain and depth < _MAX_DEPTH
        if isinstance(plain, Record) and is_open and field.bit_offset is not None:
            yield _line("", "", depth, f"{plain.kind} {{")
            yield from self.parts(
                plain.parts, start + field.bit_offset, plain.size or 0, depth + 1, plain.kind == "union"
            )
            yield _line(where, size, depth, f"}}{' ' if field.name else ''}{field.name};")
            return
        bits = "" if field.bit_size is None else f" : {field.bit_size}"
        yield _line(where, size, depth, f"{field.type.declare(field.name)}{bits};")

    def _variants(self, part: VariantPart, start: int, depth: int) -> Iterator[str]:
        if part.discriminant is not None:
            where, size = _columns(part.discriminant, start)
            name = part.discriminant.name or "discriminant"
            yield _line(where, size, depth, f"{part.discriminant.type.declare(name)};")
        for variant in part.variants:
            values = ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in variant.values)
            other = "" if part.discriminant is None else "any other discriminant"
            when = f"discriminant {values}" if values else other
            yield _line("", "", depth, f"// variant {variant.name}{': ' if when else ''}{when}")
            inner = None if variant.field is None else variant.field.type.bare
            if isinstance(inner, Record) and variant.field is not None and depth < _MAX_DEPTH:
                begin = start + (variant.field.bit_offset or 0)
                for field in inner.parts.fields:
                    yield from self._field(field, begin, depth + 1)


def _line(where: str, size: str, depth: int, text: str) -> str:
    margin = f"/* {where:>6} {size:>6} */" if where or size else _MARGIN[:-2]
    return f"{margin:<20} {_INDENT * depth}{text}"


def _columns(field: Field, start: int) -> tuple[str, str]:
    if field.bit_offset is None:
        return "?", str(field.type.size)
    at = start + field.bit_offset
    if field.bit_size is None:
        size = field.type.size
        return str(at // 8), "?" if size is None else str(size)
    return f"{at // 8}.{at % 8}", f"{field.bit_size}b"


def _has_virtual_base(parts: RecordParts, depth: int = 0) -> bool:
    """Whether there is one, also a base's: where it is cannot be said, so nothing can of the free end."""
    if depth > _MAX_DEPTH:
        return True
    inner = (base.type.bare for base in parts.bases if not base.is_virtual)
    return any(base.is_virtual for base in parts.bases) or any(
        _has_virtual_base(plain.parts, depth + 1) for plain in inner if isinstance(plain, Record)
    )


def _offset(part: Base | Field) -> int:
    """Bits from the record's first; what has no fixed offset comes last."""
    if isinstance(part, Field):
        return -1 if part.bit_offset is None else part.bit_offset
    return -1 if part.offset is None else 8 * part.offset


def _width(part: Base | Field) -> int:
    if _offset(part) < 0:
        return 0
    if isinstance(part, Field) and part.bit_size is not None:
        return part.bit_size
    return 8 * (part.type.size or 0)


def _static(member: StaticMember) -> str:
    value = member.value
    return f"static {member.type.declare(member.name)}{'' if value is None else f' = {value!r}'};"


def _bits(count: int) -> str:
    if count % 8 == 0:
        return _counted(count // 8, "byte")
    return _counted(count, "bit") if count < 8 else f"{_counted(count // 8, 'byte')} and {_counted(count % 8, 'bit')}"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
