"""Every value that a read shows is the one that gdb has for the same variable."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import programs
from support.reads import ready
from support.sessions import Launch

from strobe.model import Enumerator
from strobe.values import Char, PointerTo, Problem, ReadTarget, Record

SCRIPT = Path(__file__).resolve().parents[1] / "oracle" / "gdb_values.py"
IN_C = (
    "gTrue gLetter gZero gSmall gByte gShort gWord gTempo gCount gLong gHuge gFloat gDouble gExtended gInfinite "
    "gLetterWide gMode gBelow gFlags gBits gNumber gVoice gSecond gFirst gState gStatePointer gStatePointerPointer "
    "gNull gOpaque gAnything gElement gCallback gTitle gTitles gNodes gWideText gUnended gMany gHundred gHundredOne "
    "gHidden gLongest gState.voices[3].freq gState.grid[1] gState.grid[1][2] gFirst.next->next->value *gStatePointer "
    "(*gStatePointerPointer)->head->value gState.bits.high gBits.wide gBits.flag *gElement gElement[1] gNodes[1]->value"
)
IN_CPP = (
    "gPlain gDog gDiamond gAnimal gBox gBoxOfDouble gOuter gPriceReference gPlainReference gColour gNoColour "
    "gWideText gUtf8 gLevels shop::price shop::Dog::count hidden gDiamond.root gDiamond.left gPlain.base_number "
    "gPlain.name gOuter.inner.deep[1] gOuter.up->as_int gLevels.two.three.four.five.last gAnimal->legs_"
)


def asked_of_gdb(program: Path, names: list[str], folder: Path) -> dict[str, Any]:
    gdb = programs.require("gdb")
    request, answer = folder / "request.json", folder / "answer.json"
    request.write_text(json.dumps(names))
    environment = os.environ | {"STROBE_REQUEST": str(request), "STROBE_ANSWER": str(answer), "LC_ALL": "C.UTF-8"}
    command = [gdb, "-nx", "-batch", "-iex", "set debuginfod enabled off", "-x", str(SCRIPT), str(program)]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert answer.exists(), f"{told.stdout}\n{told.stderr}"
    found: dict[str, Any] = json.loads(answer.read_text())
    return found


def as_gdb(value: Any) -> Any:
    """A value of ours in the terms of gdb_values.py, but for floats."""
    if isinstance(value, Char):
        return str(value.code)
    if isinstance(value, Enumerator):
        return str(value.number)
    if isinstance(value, PointerTo):
        return "null" if not value else f"<{value.symbol}>" if value.symbol else "address"
    if isinstance(value, Record):
        return {name: as_gdb(field) for name, field in value}
    if isinstance(value, list):
        return [as_gdb(element) for element in value]
    if isinstance(value, Problem):
        return value.replace("<circular ref to ", "<")
    return str(int(value)) if isinstance(value, int) else value


def assert_same(ours: Any, gdbs: Any, where: str) -> None:
    if isinstance(gdbs, list) and len(gdbs) == 2 and isinstance(gdbs[0], int):
        form = {4: "<f"}.get(gdbs[0], "<d")
        assert struct.pack(form, float(ours)) == struct.pack(form, float(gdbs[1])), where
    elif isinstance(gdbs, dict):
        assert list(ours) == list(gdbs), where
        for name, value in gdbs.items():
            assert_same(ours[name], value, f"{where}.{name}")
    elif isinstance(gdbs, list):
        assert len(ours) == len(gdbs), where
        for index, value in enumerate(gdbs):
            assert_same(ours[index], value, f"{where}[{index}]")
    else:
        assert ours == gdbs, where


@pytest.mark.parametrize("flags", ["-O0", "-O2 -gdwarf-4"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(("program", "names"), [("values", IN_C), ("values_classes", IN_CPP)], ids=["c", "cpp"])
def test_values_are_those_of_gdb(
    program: str,
    names: str,
    compiler: str,
    flags: str,
    build_program: Callable[..., Path],
    launch: Launch,
    tmp_path: Path,
) -> None:
    own = compiler if program == "values" else {"gcc": "g++", "clang": "clang++"}[compiler]
    built = build_program(program, *flags.split(), compiler=own)
    every = names.split()
    expected = asked_of_gdb(built, every, tmp_path)
    session = ready(launch(built))
    for first in range(0, len(every), 16):
        wanted = every[first : first + 16]
        for name, result in zip(wanted, session.read([ReadTarget(one) for one in wanted], 5), strict=True):
            assert result.error is None, f"{name}: {result.error}"
            assert_same(as_gdb(result.value), expected[name], name)
