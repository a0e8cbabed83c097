"""Where a description's members lie in a record, and the steps that read them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from strobe.dataclass import dataclass, replace
from strobe.symbols.types import model as types
from strobe.symbols.types.fields import path_to
from strobe.symbols.types.model import Base, Field, TemplateParameter
from strobe.values.decode.elements import row_of
from strobe.values.memory.recipes import Steps
from strobe.values.printers import formula
from strobe.values.printers.arithmetic import combined, constant, known
from strobe.values.printers.formula import Formula, Hop, Operation, Path, TypeOf
from strobe.values.printers.names import arguments_text, without_arguments

_MAX_NESTING = 32
_SUFFIX = re.compile(r"\b(\d+)[UuLl]+\b")  # clang's of numbers
_WIDTHS = (1, 2, 4, 8)
_OPERATIONS = {
    "+": "PLUS",
    "-": "MINUS",
    "*": "TIMES",
    "/": "DIVIDED",
    "%": "MODULO",
    "&": "BIT_AND",
    "|": "BIT_OR",
    "^": "BIT_XOR",
    "<<": "LEFT",
    ">>": "RIGHT",
    "==": "EQUAL",
    "<": "LESS",
    "&&": "AND",
    "||": "OR",
}
# What is left of the comparisons: (operation, whether its operands are swapped, whether it is denied)
_COMPARISONS = {"!=": ("EQUAL", False, True), ">": ("LESS", True, False), "<=": ("LESS", True, True)}
_COMPARISONS |= {">=": ("LESS", False, True)}


class Missing(Exception):
    """A record has not what a description names."""


@dataclass(frozen=True)
class Found:
    """`offsets`: of the location, the last one of the member, those before it of pointers on the way."""

    offsets: tuple[int, ...]
    type: types.Type
    bits: Field | None = None

    @property
    def is_inline(self) -> bool:
        """Whether it lies in the object itself, behind no pointer."""
        return len(self.offsets) == 1

    @property
    def offset(self) -> int:
        """Bytes from the object that has it, or from where the last pointer leads."""
        return self.offsets[-1]


class Members:
    """Of one record. `element`: what `size` is the size of."""

    def __init__(self, record: types.Record, element: types.Type | None = None) -> None:
        self.record = record
        self.element = element

    def locate(self, path: Path) -> Found:
        """Where a path leads. Raises Missing."""
        found = Found((0,), self.record)
        for hop in path.hops:
            found = _hop(found, hop)
        return found

    def type(self, wanted: TypeOf) -> types.Type:
        """The type that a description names. Raises Missing."""
        found = self.record if wanted.path is None else self.locate(wanted.path).type
        if wanted.argument is not None:
            found = argument(found, wanted.argument).type
        if not wanted.is_target:
            return found
        plain = found.bare
        if not isinstance(plain, (types.Pointer, types.Reference)):
            raise Missing(f"{plain.name} is not a pointer")
        return plain.target

    def number(self, wanted: Formula) -> Steps:
        """Steps that push it."""
        match wanted:
            case formula.Number(value):
                return constant(value)
            case formula.This():
                return (("LOCATION", 0, 0, 0),)
            case formula.ElementSize():
                return constant(size_of(self.element))
            case formula.OffsetOf(of, path):
                return constant(offset_of(self.type(of), path))
            case formula.SizeOf(of):
                return constant(size_of(self.type(of)))
            case formula.Argument(index):
                stated = argument(self.record, index).value
                if not isinstance(stated, int):
                    raise Missing(f"${index} is not a number")
                return constant(stated)
            case formula.Word(address):
                steps = self.number(address)
                return (("SAVE", 0, 0, 0), *steps, ("GO", 0, 0, 0), ("NUMBER", 8, 0, 0), ("RESTORE", 0, 0, 0))
            case Path():
                return self._of_path(wanted)
            case Operation():
                return self._of_operation(wanted)

    def _of_path(self, path: Path) -> Steps:
        found = self.locate(path)
        *before, last = found.offsets
        inner = (("LOCATION", 0, 0, last),) if path.is_address else _loaded(found)
        if not before:
            return inner
        away = tuple(("DEREF", 0, 0, offset) for offset in before)
        return (("SAVE", 0, 0, 0), *away, *inner, ("RESTORE", 0, 0, 0))

    def _of_operation(self, operation: Operation) -> Steps:
        operands = [self.number(operand) for operand in operation.operands]
        if operation.mark == "?":
            condition = known(operands[0])
            chosen = None if condition is None else operands[1 if condition else 2]
            return chosen or (*operands[0], *operands[1], *operands[2], ("SELECT", 0, 0, 0))
        if len(operands) == 1:
            left, name = {"!": (constant(0), "EQUAL"), "~": (constant(-1), "BIT_XOR")}.get(
                operation.mark, (constant(0), "MINUS")
            )
            return combined(name, left, operands[0])
        left, right = operands
        name, is_turned, is_denied = _COMPARISONS.get(operation.mark, ("", False, False))
        name = name or _OPERATIONS[operation.mark]
        found = combined(name, right, left) if is_turned else combined(name, left, right)
        return combined("EQUAL", found, constant(0)) if is_denied else found


def constant_of(steps: Steps) -> int:
    """Of a formula that depends on types alone."""
    value = known(steps)
    if value is None:
        raise Missing("it is not constant")
    return value - (1 << 64) if value >> 63 else value


def size_of(type_: types.Type | None) -> int:
    """In bytes. Raises Missing where it is not known."""
    if type_ is None or type_.size is None:
        raise Missing("the size of its elements is not known")
    return type_.size


def offset_of(type_: types.Type, path: Path) -> int:
    plain = type_.bare
    if not isinstance(plain, types.Record):
        raise Missing(f"{plain.name} has no members")
    found = Members(plain).locate(path)
    if not found.is_inline:
        raise Missing(f"{path} lies elsewhere")
    return found.offset


def argument(type_: types.Type, index: int) -> TemplateParameter:
    """The template argument with this index. Raises Missing."""
    found = arguments(type_)
    if index >= len(found):
        raise Missing(f"{type_.name} has no template argument ${index}")
    return found[index]


def arguments(type_: types.Type) -> Sequence[TemplateParameter]:
    """The template arguments of a record; () for other types."""
    plain = type_.bare
    return plain.parts.template_parameters if isinstance(plain, types.Record) else ()


def alignment_of(type_: types.Type, depth: int = 0) -> int:
    """As the compiler aligns it by default."""
    plain = type_.bare
    if type_.alignment or plain.alignment:
        return type_.alignment or plain.alignment or 1
    if isinstance(plain, types.Array) and not plain.is_vector:
        return alignment_of(plain.element, depth)
    if isinstance(plain, types.Record) and depth < _MAX_NESTING:
        return _alignment_of_record(plain, depth)
    return min(plain.size or 1, 64 if isinstance(plain, types.Array) else 16) or 1


def _alignment_of_record(record: types.Record, depth: int) -> int:
    """That of its parts; less where it is packed, which only their offsets show."""
    parts = [(one.offset or 0, alignment_of(one.type, depth + 1)) for one in record.parts.bases]
    for field in record.parts.fields:
        own = field.alignment or alignment_of(field.type, depth + 1)
        parts.append((0 if field.bit_size is not None else field.offset or 0, own))
    found = max((own for _, own in parts), default=1)
    while found > 1 and ((record.size or 0) % found or any(offset % min(own, found) for offset, own in parts)):
        found //= 2
    return found


def leaves(record: types.Record, name: str, base: int = 0, depth: int = 0) -> Iterator[tuple[int, Found]]:
    """Fields called `name` of its base classes, with the first template argument of the class that has them. `base`:
    where the record lies."""
    for field in record.parts.fields:
        if field.name == name and field.offset is not None:
            index = argument(record, 0).value
            yield (index if isinstance(index, int) else 0), Found((base + field.offset,), field.type)
    for one in record.parts.bases:
        plain = one.type.bare
        if isinstance(plain, types.Record) and one.offset is not None and depth < _MAX_NESTING:
            yield from leaves(plain, name, base + one.offset, depth + 1)


def _hop(found: Found, hop: Hop) -> Found:
    if found.bits is not None:
        raise Missing("a bit-field has no members")
    if hop.index is not None:
        return _element(found, hop.index)
    if hop.is_arrow:
        found = _led(found)
    record = found.type.bare
    if not isinstance(record, types.Record):
        raise Missing(f"{record.name} has no members")
    for item in _path_to(record, hop.name):
        offset = item.offset
        if offset is None:
            raise Missing(f"{hop.name} has no location of its own")
        bits = item if isinstance(item, Field) and item.bit_size is not None else None
        start = 0 if bits is not None else offset
        found = Found((*found.offsets[:-1], found.offset + start), item.type, bits)
    return found


def _led(found: Found) -> Found:
    plain = found.type.bare
    if not isinstance(plain, (types.Pointer, types.Reference)):
        raise Missing(f"{plain.name} is not a pointer")
    return Found((*found.offsets, 0), plain.target)


def _element(found: Found, index: int) -> Found:
    plain = found.type.bare
    if isinstance(plain, types.Array):
        row = row_of(plain)
        return Found((*found.offsets[:-1], found.offset + index * size_of(row)), row)
    led = _led(found)
    return replace(led, offsets=(*led.offsets[:-1], index * size_of(led.type)))


def _path_to(record: types.Record, name: str) -> Sequence[Field | Base]:
    """To a field or base class, through unnamed fields and base classes. Raises Missing."""
    found = path_to(record, name, _is_called, with_variants=True)
    if found is None:
        raise Missing(f"{record.name} has no member '{name}'")
    return found


def _is_called(base: types.Record, name: str) -> bool:
    """`_Head_base<0>` is each class of that name whose first arguments are these."""
    wanted, _, first = name.partition("<")
    own = without_arguments(base.name).rpartition("::")[2]
    text = _SUFFIX.sub(r"\1", arguments_text(base.name))
    return own == wanted and (not first or text == first[:-1] or text.startswith(f"{first[:-1]},"))


def _loaded(found: Found) -> Steps:
    plain = found.type.bare
    if found.bits is not None:
        return _loaded_bits(found, found.bits)
    if isinstance(plain, types.Array):
        return (("LOCATION", 0, 0, found.offset),)
    is_number = isinstance(plain, (types.Scalar, types.Pointer, types.Reference, types.Enum))
    if not is_number or plain.size not in _WIDTHS or is_float(plain):
        raise Missing(f"{plain.name} is not a number")
    signed = int(isinstance(plain, types.Scalar) and plain.is_signed)
    return (("NUMBER", plain.size or 8, signed, found.offset),)


def is_float(plain: types.Type) -> bool:
    """Whether it is a floating-point number, or a complex one. `plain`: without typedefs and qualifiers."""
    return isinstance(plain, types.Scalar) and plain.encoding in (types.Encoding.FLOAT, types.Encoding.COMPLEX)


def _loaded_bits(found: Found, bits: Field) -> Steps:
    start, count = bits.bit_offset or 0, bits.bit_size or 0
    first = start % 8
    width = next((width for width in _WIDTHS if first + count <= 8 * width), None)
    if width is None:
        raise Missing(f"{bits.name} has too many bits")
    loaded: Steps = (("NUMBER", width, 0, found.offset + start // 8),)
    shifted = combined("RIGHT", loaded, constant(first)) if first else loaded
    return combined("BIT_AND", shifted, constant((1 << count) - 1))
