"""Formulas of descriptions: what is calculated beforehand is what the interpreter calculates."""

from __future__ import annotations

import os
import random
from contextlib import nullcontext
from pathlib import Path

import pytest

from strobe.symbols.later import Later
from strobe.symbols.types.model import Record, RecordHead, RecordParts
from strobe.values.memory import recipes
from strobe.values.memory.recipes import Recipe, Steps
from strobe.values.printers import description, formula
from strobe.values.printers import known as known_descriptions
from strobe.values.printers.arithmetic import known
from strobe.values.printers.members import Members, Missing

OPERATORS = ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=", "&&", "||")
MASK = (1 << 64) - 1


def nothing() -> Members:
    """Of a record without members."""

    head, parts = RecordHead(8), RecordParts()
    return Members(
        Record("Empty", 8, None, "struct", Later(lambda: head, nullcontext()), Later(lambda: parts, nullcontext()))
    )


def interpreted(steps: Steps) -> int | None:
    """What comes out where nothing is known beforehand; None: it is bad."""
    recipe = Recipe()
    recipe.base(0)
    recipe.numbers(steps)
    recipe.note()
    recipe.drop()
    ((item,),) = recipes.run(os.getpid(), [recipe.finished()])
    return item.number if item.is_there else None


def unfolded(wanted: formula.Formula, members: Members) -> Steps:
    """The steps of a formula whose numbers are not constants: LOCATION + n from location 0 on."""
    return tuple(("LOCATION", 0, 0, step[3]) if step[0] == "CONSTANT" else step for step in _steps(wanted, members))


def _steps(wanted: formula.Formula, members: Members) -> Steps:
    if isinstance(wanted, formula.Number):
        return (("CONSTANT", 0, 0, wanted.value),)
    assert isinstance(wanted, formula.Operation)
    hidden = [formula.This() for _ in wanted.operands]  # not known beforehand
    steps = members.number(formula.Operation(wanted.mark, tuple(hidden)))
    inner = iter([_steps(operand, members) for operand in _in_order(wanted)])
    found: list[tuple[str, int, int, int]] = []
    for step in steps:
        found += next(inner) if step == ("LOCATION", 0, 0, 0) else (step,)
    return tuple(found)


def _in_order(wanted: formula.Operation) -> tuple[formula.Formula, ...]:
    """`>` and `<=` are `<` with their operands turned round."""
    return wanted.operands[::-1] if wanted.mark in (">", "<=") else wanted.operands


def made_up(chance: random.Random, depth: int) -> str:
    if depth == 0 or chance.random() < 0.2:
        return str(chance.choice((0, 1, 2, 7, 63, 64, 255, chance.getrandbits(20))))
    kind = chance.random()
    if kind < 0.15:
        return f"{chance.choice('!~-')}({made_up(chance, depth - 1)})"
    if kind < 0.25:
        condition, yes, no = (made_up(chance, depth - 1) for _ in range(3))
        return f"({condition}) ? ({yes}) : ({no})"
    return f"({made_up(chance, depth - 1)}) {chance.choice(OPERATORS)} ({made_up(chance, depth - 1)})"


def test_what_is_known_is_what_the_interpreter_says() -> None:
    chance = random.Random(3)
    members = nothing()
    compared = 0
    for _ in range(600):
        wanted = formula.parse(made_up(chance, 3))
        folded = members.number(wanted)
        value = known(folded)
        assert interpreted(folded) == interpreted(unfolded(wanted, members)), wanted
        compared += value is not None
    assert compared > 300


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 3 - 2", 5),
        ("1 << 2 + 1", 8),
        ("6 & 3 == 3", 0),
        ("(6 & 3) == 2", 1),
        ("1 || 1 && 0", 1),
        ("0x10 >= 16", 1),
        ("5 > 3 ? 1 : 2", 1),
        ("0 ? 1 : 0 ? 2 : 3", 3),
        ("!0 + !7", 1),
        ("~0", MASK),
        ("-1", MASK),
        ("7 % 4", 3),
    ],
)
def test_operators_bind_as_in_c(text: str, value: int) -> None:
    assert known(nothing().number(formula.parse(text))) == value


@pytest.mark.parametrize(
    "text", ["", "1 +", "(1", "1)", "a.", "a[b]", "&1", "a b", "1 ? 2", "a->", "$", "'x'", "sizeof("]
)
def test_nonsense_is_reported(text: str) -> None:
    with pytest.raises(formula.FormulaError, match=r"is not understood|ends too early|missing|expected|no type|stands"):
        formula.parse(text)


def test_what_a_record_does_not_have_is_missing() -> None:
    for text in ("a", "$0", "size", "sizeof($0)", "&a", "a.b + 1", "word(a)"):
        with pytest.raises(Missing):
            nothing().number(formula.parse(text))


def test_the_patterns_of_our_own_descriptions_are_valid() -> None:
    """They are not checked when they are read."""
    for file in Path(known_descriptions.__file__).parent.glob("*.toml"):
        description.load(file.read_text(), file.name)
