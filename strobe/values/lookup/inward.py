"""From a place to a part of what lies there: fields, variants of Rust's enums, what library types hold."""

from __future__ import annotations

from strobe.symbols.types.model import Base, Field, Record, Variant
from strobe.values.decode.structures import Form, Forms
from strobe.values.lookup.place import Place
from strobe.values.printers.inside import Inside


def step_into(place: Place, part: Field | Base) -> None:
    """To a field or a base class."""
    if isinstance(part, Base) and part.offset is None:
        place.recipe.virtual_base(part.vtable_offset or 0)
    elif isinstance(part, Field) and part.bit_size is not None:
        place.bits = part
    else:
        place.recipe.add(part.offset or 0)
    place.type = part.type


def variant_of(record: Record, name: str) -> Variant | None:
    """The one of that name, if it holds anything."""
    variants = () if record.parts.variants is None else record.parts.variants.variants
    return next((one for one in variants if one.name == name and one.field is not None), None)


def into_variant(place: Place, record: Record, variant: Variant, text: str) -> None:
    """Where it is the one that is there; else the place is bad. `text`: the enum, as it was reached."""
    variants = record.parts.variants
    assert variants is not None and variant.field is not None
    tag = variants.discriminant
    forms = tuple(Form(one.name, one.values, None) for one in variants.variants)
    at, width = (0, 0) if tag is None else (tag.offset or 0, tag.type.size or 0)
    told = Forms("", forms, at, width, 0)
    if told.is_told:
        chosen = forms[variants.variants.index(variant)]
        place.recipe.numbers((("NUMBER", width, 0, at), *told.is_there(chosen)))
        place.refused[place.recipe.require()] = f"{text} is not {variant.name}"
        place.recipe.drop()
    step_into(place, variant.field)


def into_only_field(place: Place, record: Record) -> bool:
    """Of a Rust struct or variant whose one field has no name: `next.Some.value`. False where there is no such."""
    fields = record.parts.fields
    if len(fields) != 1 or not record.parts.is_tuple or place.is_value:
        return False
    step_into(place, fields[0])
    return True


def go_inside(place: Place, inside: Inside, text: str, absent: str) -> None:
    """To a value in one of a library, which was reached as `text`. `absent`: why there is none, where there is none."""
    if inside.condition:
        place.recipe.numbers(inside.condition)
        place.refused[place.recipe.require()] = absent
    place.recipe.numbers(inside.address)
    step = place.recipe.go()
    place.is_const = place.is_const and not inside.is_away
    place.type = inside.type
    if inside.is_away:
        place.dereferenced[step] = text
