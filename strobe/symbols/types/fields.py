"""Fields of a record by name: its own, and those that unnamed records and base classes lend it."""

from __future__ import annotations

from collections.abc import Callable

from strobe.symbols.types.model import Base, Field, Record

_MAX_NESTING = 32  # of unnamed records and base classes


def is_named(record: Record, name: str) -> bool:
    """With or without its namespaces."""
    return name in (record.name, record.name.rpartition("::")[2])


def path_to(
    record: Record,
    name: str,
    is_base: Callable[[Record, str], bool] = is_named,
    *,
    with_variants: bool = False,
    depth: int = 0,
) -> list[Field | Base] | None:
    """What leads to a field, or to a base class, one after the other; None where there is none of that name.

    Own fields come before those of base classes. `is_base`: whether a base class is what `name` means.
    `with_variants`: those of a Rust enum, which need not be the one that is there.
    """
    for field in record.parts.fields:
        if field.name == name and field.bit_offset is not None:
            return [field]
    if with_variants and record.parts.variants is not None:
        for variant in record.parts.variants.variants:
            if variant.name == name and variant.field is not None:
                return [variant.field]
    for inner in spread(record):
        plain = inner.type.bare
        if not isinstance(plain, Record) or depth >= _MAX_NESTING:
            continue
        if isinstance(inner, Base) and is_base(plain, name):
            return [inner]
        below = path_to(plain, name, is_base, with_variants=with_variants, depth=depth + 1)
        if below is not None:
            return [inner, *below]
    return None


def field_names(record: Record, depth: int = 0) -> list[str]:
    """Of the fields that `path_to` finds."""
    names = [item.name for item in record.parts.fields if item.name and not item.is_vtable_pointer]
    for inner in spread(record):
        plain = inner.type.bare
        if isinstance(plain, Record) and depth < _MAX_NESTING:
            names += field_names(plain, depth + 1)
    return names


def spread(record: Record) -> list[Field | Base]:
    """What has fields that belong to the record."""
    unnamed = [item for item in record.parts.fields if not item.name and item.bit_offset is not None]
    return [*unnamed, *record.parts.bases]
