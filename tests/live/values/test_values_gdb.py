"""Every value that a read shows is the one that gdb has for the same variable."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support import programs
from support.reads import ready
from support.sessions import Launch

from strobe.model import Enumerator
from strobe.values.model import Char, PointerTo, Problem, Record
from strobe.values.reading import ReadTarget

SCRIPT = Path(__file__).resolve().parents[2] / "oracle" / "gdb_values.py"
# `values` and `values_more` are one program, so are `values_classes` and `values_more_classes`. Where gdb wants another
# name than ours, it stands behind `=`. Left out: what gdb 13 does not show (std::nullptr_t, statics of inner blocks).
IN_C = """
gTrue gLetter gZero gSmall gByte gShort gWord gTempo gCount gLong gHuge gFloat gDouble gExtended gInfinite gWide
gComplex gLetterWide gMode gBelow gFlags gBits gNumber gVoice gSecond gFirst gState gStatePointer gStatePointerPointer
gNull gOpaque gAnything gElement gCallback gTitle gTitles gNodes gWideText gUnended gMany gHundred gHundredOne
gLongest gTooLong gState.voices[3].freq gState.grid[1] gState.grid[1][2] gFirst.next->next->value *gStatePointer
(*gStatePointerPointer)->head->value gState.bits.high gBits.wide gBits.flag *gElement gElement[1] gNodes[1]->value
values.c::gHidden='values.c'::gHidden values_more.c::gHidden='values_more.c'::gHidden
counted::calls counted_too::calls counted_here::calls counted_here::last measure::rows
gFlexibleText gFlexibleText.text gNoLength
gFlexible gFlexible.items[0] gFlexible.items[2] gPoints gPoints[1] gPoints[1][2].y gTagged gTagged[0].either.first
gTagged[1].either gCrossing gCrossing.seventh gFields gFields.negative gFields.one
gPacked gPacked.real gPackedRow gPackedRow[1].last gAligned gAligned.text gNested gNested.outer.inner[1][1].real
gHusband gWife gWife.husband->wife->husband->age gSelfish gSelfish.others[1]->self->self->also gEmpty gDeep
gDeep.next.next[1].next.next gTable gTables gTables[1].name gRunners gRunners[2] gRunnerPlace *gRunnerPlace gRow
gPointRow *gPointRow (*gPointRow)[2] gPointPlace *gPointPlace gPointPlace[-1] gDirection gFar gNowhere gWideEnum
gWideEnums gUnnamedEnum gUnnamed gUnnamed.c.b gConstant gVolatile gConstVolatile gConstText gAtomic gAtomicWide
gAtomicFlag gAtomicPointer gAtomicPointer->y gHugest gLeast gTiny gThird gFloatComplex gExtendedComplex gNegativeZero
gNotANumber gSubnormal gFloats gBools gBoolPlace *gBoolPlace gSize gDifference gBytes gOctets gEscapes gBroken gInner
gEmptyText gRows gRows[1] gEmptyString gPoem gText16 gText32 gWidePlace gPlace16 gLetter16 gLetter32 gLetters
gNinetyNine gHundredAgain gHundredAndOne gHundredAndOne[100] gHundredPoints gText1023 gText1024 gText1025 gLongPlace
gSelfPlace gVector gVector[3] gBeyond gBeyondToo
"""
ALONE = {"gcc": "gHalf gQuadruple gQuadruples"}  # of one compiler
IN_CPP = """
gPlain gDog gDiamond gAnimal gBox gBoxOfDouble gOuter gPriceReference gPlainReference gColour gNoColour
gMember gWideText gUtf8 gLevels shop::price shop::Dog::count shop::Box<int>::last gDiamond.root gDiamond.left
gPlain.base_number gPlain.name gOuter.inner.deep[1] gOuter.up->as_int gLevels.two.three.four.five.last gAnimal->legs_
values_classes.cpp::hidden='values_classes.cpp'::hidden
values_more_classes.cpp::hidden='values_more_classes.cpp'::hidden
shop::price_more shop::inner::v2::item shop::inner::item=shop::inner::v2::item
inner::version=shop::inner::v2::version shop::inner::Item::made=shop::inner::v2::Item::made
shop::inner::Item::kOld=shop::inner::v2::Item::kOld concealed='shop::inner::(anonymous_namespace)::concealed'
shop::inner::concealed='shop::inner::(anonymous_namespace)::concealed'
shop::inner::local='shop::inner::(anonymous_namespace)::local'
local.value='shop::inner::(anonymous_namespace)::local'.value
kinds::variable_of<int> variable_of<double>=kinds::variable_of<double>
gBoth gBottom gBottom.top gBelowBottom gFromNothing gNothingAtAll
gCounted gCounted.items[1] gCountedTwice gFixed gFixedLetter gFixedEnum gPack gHeld gHidden gHidden.self_ gReferring
gReferring.row[2] gReferring.hidden.text_ gRow gRowReference gRowReference[1] gBothReference gBothReference.number
gConstReference gFirstBase gSecondBase gTopBase gTopBase->top *gSecondBase gBothPlaces gBothPlaces[0]->number gBits
gBits.number gBits.sign gShape gShape.width gChain gChain.self.next->last gSmall gLong gTruth gSign gPlainEnum gBased
gSmalls gMemberPointer gNoMember gMethod gVirtualMethod gFunction gFunctions gFunctionReference gLetter8 gPlace8
gLetter32 gByte gFlags gHalfPlace *gHalfPlace gPlainC gPointC called_by_c::calls
Caller::call::calls=Caller::call(int)::calls Caller::call::longer_calls=Caller::call(long)::longer_calls
"""


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


def assert_same_number(ours: float | str, size: int, gdbs: str, where: str) -> None:
    """What doubles do not reach is text of ours, of 18 digits."""
    if isinstance(ours, str) and size > 8 and "e" in ours:
        assert abs(Decimal(ours) / Decimal(gdbs) - 1) < Decimal("1e-17"), where
        return
    form = {2: "<e", 4: "<f"}.get(size, "<d")
    assert struct.pack(form, float(ours)) == struct.pack(form, float(gdbs)), where


def assert_same(ours: Any, gdbs: Any, where: str) -> None:
    if isinstance(gdbs, list) and len(gdbs) == 2 and isinstance(gdbs[0], int):
        size, text = gdbs
        assert_same_number(ours, size, text, where)
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


@pytest.mark.parametrize("version", ["4", "5"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(("program", "names"), [("values", IN_C), ("values_classes", IN_CPP)], ids=["c", "cpp"])
def test_values_are_those_of_gdb(
    program: str,
    names: str,
    compiler: str,
    level: str,
    version: str,
    build_program: Callable[..., Path],
    launch: Launch,
    tmp_path: Path,
) -> None:
    own = compiler if program == "values" else {"gcc": "g++", "clang": "clang++"}[compiler]
    more = programs.source_of(program.replace("values", "values_more"))
    built = build_program(program, level, f"-gdwarf-{version}", str(more), compiler=own)
    names += ALONE.get(own, "")
    every = [name.replace("s_n", "s n").partition("=")[::2] for name in names.split()]
    expected = asked_of_gdb(built, [gdbs or ours for ours, gdbs in every], tmp_path)
    session = ready(launch(built))
    for first in range(0, len(every), 16):
        wanted = every[first : first + 16]
        for depth in range(1, 6):
            results = session.reader.read([ReadTarget(name) for name, _ in wanted], depth)
            for (name, other), result in zip(wanted, results, strict=True):
                assert result.error is None, f"{name}: {result.error}"
                assert_same(as_gdb(result.value), expected[other or name][depth - 1], f"{name} at depth {depth}")
