"""Shapes as JSON and back: what was recorded is decoded when nobody has the program any more.

The names in it are those of NAMES, not of classes, so that a class may be renamed. Where one gets other fields, or its
fields another meaning, VERSION changes: shapes of another version are not read.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any

from strobe.model import ValueKind, ValueType
from strobe.values.decode import shapes, structures
from strobe.values.decode.shapes import Shape
from strobe.values.printers import containers, nodes, objects, texts, wrappers

VERSION = 1
_NAME, _VERSION = "@", "@version"
NAMES: dict[str, type] = {
    "type": ValueType,
    "scalar": shapes.Scalar,
    "characters": shapes.Characters,
    "nothing": shapes.Nothing,
    "constant": shapes.Constant,
    "pointer": shapes.Pointer,
    "text pointer": shapes.TextPointer,
    "followed": shapes.Followed,
    "referred": shapes.Referred,
    "member": structures.Member,
    "structure": structures.Structure,
    "union": structures.Union,
    "tagged": structures.Tagged,
    "form": structures.Form,
    "forms": structures.Forms,
    "elements": structures.Elements,
    "entry": containers.Entry,
    "container": containers.Container,
    "sequence": containers.Sequence,
    "chain": containers.Chain,
    "tree": containers.Tree,
    "slots": containers.Slots,
    "numbered": containers.Numbered,
    "blocks": containers.Blocks,
    "key tree": nodes.KeyTree,
    "ring": nodes.Ring,
    "span": objects.Span,
    "trait object": objects.TraitObject,
    "flag": objects.Flag,
    "counted text": texts.CountedText,
    "ended text": texts.EndedText,
    "bit row": texts.BitRow,
    "inner": wrappers.Inner,
    "away": wrappers.Away,
    "maybe": wrappers.Maybe,
    "one of": wrappers.OneOf,
    "together": wrappers.Together,
    "amount": wrappers.Amount,
    "word": wrappers.Word,
    "callee": wrappers.Callee,
    "computed": wrappers.Computed,
}
_NAME_OF = {made: name for name, made in NAMES.items()}


def dump(shape: Shape) -> str:
    """A shape as JSON with the version of its form; `load` reads it."""
    return json.dumps({_VERSION: VERSION, **_plain(shape)}, separators=(",", ":"))


def load(text: str) -> Shape:
    """Raises ValueError for what `dump` of this version cannot have made."""
    try:
        row = json.loads(text)
        if row.pop(_VERSION) != VERSION:
            raise ValueError("a shape of another version")
        shape = _object(row)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"no shape: {error}") from error
    if not isinstance(shape, Shape):
        raise ValueError("no shape")
    return shape


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        own = {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
        return {_NAME: _NAME_OF[type(value)], **own}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a shape with {type(value).__name__}")


def _object(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_object(item) for item in value)
    if not isinstance(value, dict):
        return value
    made = NAMES[value[_NAME]]
    own = {name: _object(item) for name, item in value.items() if name != _NAME}
    if made is ValueType:
        own["kind"] = ValueKind(own["kind"])
    return made(**own)
