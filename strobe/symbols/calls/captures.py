"""From a value's type and its sources to what the recorder keeps of it."""

from __future__ import annotations

from strobe.model import Capture, CaptureKind
from strobe.symbols.calls.system_v import LAST_STACK, RAX, ST0, Class, Passing, Shape, Sources, result_sources
from strobe.symbols.types.library_types import owned_pointer
from strobe.symbols.types.model import Pointer, Record, Reference, Type
from strobe.symbols.types.texts import TextObject, is_const_text, points_to_text, text_object
from strobe.symbols.types.value_types import MAX_BYTES, is_shown, value_type

_MAX_WORDS = 8
_WORD_BYTES = 8
_LONG_DOUBLE_BYTES = 16
_FAT_POINTERS = ("&", "*", "alloc::boxed::Box<")  # their first word is the address


def of_parameter(type_: Type, shape: Shape | None, sources: Sources | None) -> tuple[Capture, ...]:
    """`sources` as `assign` gives them. None where a value has no certain source, or none that can be shown."""
    if shape is None or not sources or len(sources) > _MAX_WORDS or max(sources) > LAST_STACK:
        return ()
    plain = type_.bare
    if shape.passing is Passing.REFERENCE:
        owned = owned_pointer(plain) if isinstance(plain, Record) else None
        if owned is not None:
            return (Capture(sources[0], CaptureKind.BYTES, offset=owned, other=_WORD_BYTES),)
        return _of_address(type_, sources[0])
    if isinstance(plain, Reference) or (isinstance(plain, Pointer) and type_.name.startswith("&")):
        return _of_address(plain.target, sources[0])
    unit = points_to_text(type_)
    if unit:
        # what is not const text may be room for one: then only what reads as text is shown as such
        doubt = 0 if is_const_text(type_) else 1
        return Capture(sources[0]), Capture(sources[0], CaptureKind.CHARS, second=unit, other=doubt)
    found = text_object(type_)
    if found is not None and len(sources) == 2 and not found.is_libcxx:
        return _of_pair(found, sources)
    if type_.name.startswith(_FAT_POINTERS) and len(sources) == 2:
        return (Capture(sources[0]),)
    return _of_words(type_, shape, sources)


def of_result(type_: Type, shape: Shape | None, language: str) -> tuple[Capture, ...]:
    """The same of what comes back; an object behind a hidden pointer by value, up to 64 bytes."""
    sources = result_sources(shape)
    if shape is not None and shape.passing is Passing.X87:
        return _of_x87(type_)
    if shape is None or not shape.is_behind_pointer:
        return of_parameter(type_, shape, sources)
    if text_object(type_) is not None:
        return _of_address(type_, RAX)
    size = type_.size or 0
    if not 0 < size <= MAX_BYTES or not is_shown(value_type(type_)):
        return ()
    return (Capture(RAX, CaptureKind.BYTES, other=size),)


def _of_address(pointed: Type, source: int) -> tuple[Capture, ...]:
    found = text_object(pointed)
    if found is None:
        return (Capture(source),)
    if found.is_libcxx:
        return Capture(source), Capture(source, CaptureKind.LIBCXX, second=found.unit)
    string = Capture(source, CaptureKind.STRING, found.unit, found.pointer_offset, found.length_offset)
    return Capture(source), string


def _of_x87(type_: Type) -> tuple[Capture, ...]:
    """A long double, or the two of a complex one."""
    if not is_shown(value_type(type_)):
        return ()
    count = (type_.size or 0) // _LONG_DOUBLE_BYTES
    return tuple(Capture(ST0 + index, CaptureKind.X87) for index in range(count))


def _of_pair(found: TextObject, sources: Sources) -> tuple[Capture, ...]:
    pointer, length = sources[found.pointer_offset // _WORD_BYTES], sources[found.length_offset // _WORD_BYTES]
    return Capture(pointer), Capture(pointer, CaptureKind.PAIR, second=length, offset=found.unit)


def _of_words(type_: Type, shape: Shape, sources: Sources) -> tuple[Capture, ...]:
    if not is_shown(value_type(type_)):
        return ()
    if shape.classes[:1] == (Class.VECTOR,) and len(sources) == 1:
        return (Capture(sources[0], CaptureKind.VECTOR),)
    return tuple(Capture(source) for source in sources)
