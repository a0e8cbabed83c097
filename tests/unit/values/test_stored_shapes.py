"""Shapes of what was recorded, written down: each kind has a name that stays, and another version's are not misread."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil

import pytest

import strobe.values
from strobe import _abi
from strobe.model import Event, ValueKind, ValueType
from strobe.values.decode import recorded, stored
from strobe.values.decode.shapes import Scalar, Shape
from strobe.values.decode.structures import Member, Structure

NUMBER = Scalar(ValueType(ValueKind.SIGNED, 4, "int"), 4)


def _concrete_shapes() -> set[type[Shape]]:
    for module in pkgutil.walk_packages(strobe.values.__path__, "strobe.values."):
        importlib.import_module(module.name)
    found, waiting = set(), [Shape]
    while waiting:
        one = waiting.pop()
        waiting += one.__subclasses__()
        found |= set() if inspect.isabstract(one) else {one}
    return found


def test_every_shape_has_a_name() -> None:
    assert _concrete_shapes() <= set(stored.NAMES.values())
    assert len(set(stored.NAMES.values())) == len(stored.NAMES)


def test_a_shape_is_read_as_it_was_written() -> None:
    structure = Structure("Pair", (Member("first", 0, NUMBER), Member("base", None, NUMBER, True, -24)), 8)
    assert stored.load(stored.dump(structure)) == structure


@pytest.mark.parametrize(
    "changed",
    [{"@version": stored.VERSION + 1}, {"@version": None}, {"@": "Scalar"}, {"size_": 4}],
    ids=["newer", "none", "a class", "a field"],
)
def test_what_another_version_wrote_is_not_read(changed: dict[str, object]) -> None:
    row = json.loads(stored.dump(NUMBER)) | changed
    with pytest.raises(ValueError, match="shape"):
        stored.load(json.dumps(row))


def test_a_value_of_another_version_says_so() -> None:
    shape = json.loads(stored.dump(NUMBER)) | {"@version": stored.VERSION + 1}
    descriptions = {7: json.dumps({"shape": shape, "label": "level", "text": "gLevel"})}
    head = 2 | _abi.EXTRA_WATCH << 16 | 7 << 32  # two words, of a watch, good, number 7
    event = Event("s-1", 0, "function_enter", 1, "main", 1, extras=(head, 42))
    found = recorded.Recorded(lambda: descriptions, lambda address, at: None).filled(event)
    assert found.watch_values is not None
    assert str(found.watch_values["level"]) == "<recorded by another version of Strobe>"
