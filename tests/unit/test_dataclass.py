"""strobe/dataclass.py against the standard library, on every dataclass of Strobe; and what it does later than that."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from strobe.dataclass import dataclass, field

PROBE = Path(__file__).resolve().parents[1] / "support" / "dataclass_behaviour.py"
CLASSES = 200  # and more


def behaviour(which: str) -> dict[str, dict[str, object]]:
    done = subprocess.run([sys.executable, str(PROBE), which], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, object]] = json.loads(re.sub(" at 0x[0-9a-f]+", "", done.stdout))
    return found


def test_every_class_behaves_as_a_standard_dataclass() -> None:
    ours, standard = behaviour("ours"), behaviour("standard")
    assert len(ours) > CLASSES
    assert ours.keys() == standard.keys()
    for name, told in standard.items():
        assert ours[name] == told, name


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2
    names: list[str] = field(default_factory=list, compare=False)


def test_a_class_is_compiled_when_its_first_object_is_made() -> None:
    @dataclass
    class Later:
        word: str

    before = Later.__init__
    assert Later("a").word == "a"
    assert Later.__init__ is not before
    compiled = Later.__init__
    assert Later("b").word == "b"
    assert Later.__init__ is compiled


def test_a_class_derived_from_one_that_was_never_used() -> None:
    @dataclass
    class Base:
        word: str

    @dataclass
    class Derived(Base):
        number: int = 3

    class Plain(Base):
        pass

    assert repr(Derived("a")).endswith("Derived(word='a', number=3)")
    assert Plain("b") == Plain("b")
    assert Base("c").word == "c"


def test_an_object_that_holds_itself_has_a_text() -> None:
    point = Point(1)
    point.names.append(point)  # type: ignore[arg-type]
    assert repr(point) == "Point(x=1, y=2, names=[...])"


def test_frozen_also_for_names_that_are_no_fields() -> None:
    for name in ("x", "unknown"):
        with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(Point(1), name, 3)


def test_a_default_that_can_be_changed_is_refused() -> None:
    with pytest.raises(ValueError, match="use default_factory"):

        @dataclass
        class Wrong:
            words: list[str] = []  # noqa: RUF012
