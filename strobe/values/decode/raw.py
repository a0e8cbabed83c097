"""Types by which an address is read that no debug information describes."""

from __future__ import annotations

from strobe.errors import failure
from strobe.model import ValueKind, ValueType
from strobe.values.decode import shapes
from strobe.values.decode.shapes import Shape
from strobe.values.decode.structures import Elements

BYTES = "bytes"
_NUMBERS = {
    "i8": (ValueKind.SIGNED, 1),
    "u8": (ValueKind.UNSIGNED, 1),
    "i16": (ValueKind.SIGNED, 2),
    "u16": (ValueKind.UNSIGNED, 2),
    "i32": (ValueKind.SIGNED, 4),
    "u32": (ValueKind.UNSIGNED, 4),
    "i64": (ValueKind.SIGNED, 8),
    "u64": (ValueKind.UNSIGNED, 8),
    "f32": (ValueKind.FLOAT, 4),
    "f64": (ValueKind.FLOAT, 8),
    "pointer": (ValueKind.POINTER, 8),
}
NAMES = (*_NUMBERS, BYTES)


def width_of(name: str) -> int:
    """Bytes of one value; 1 of "bytes". Raises VALIDATION_ERROR for a name that is none of NAMES."""
    if name == BYTES:
        return 1
    if name not in _NUMBERS:
        raise failure("bad_value", field="type", value=f"'{name}'", reason="no such type", valid=", ".join(NAMES))
    return _NUMBERS[name][1]


def raw_shape(name: str, size: int) -> Shape:
    """One value, or as many as `size` bytes hold. Raises VALIDATION_ERROR."""
    kind, width = _NUMBERS[name]
    if size % width:
        reason = f"{name} has {width} bytes"
        raise failure("bad_value", field="size", value=size, reason=reason, valid=f"{width}, or a multiple of it")
    one = shapes.Pointer() if kind is ValueKind.POINTER else shapes.Scalar(ValueType(kind, width, name), width)
    count = size // width
    return one if count == 1 else Elements(one, width, min(count, 100), count)
