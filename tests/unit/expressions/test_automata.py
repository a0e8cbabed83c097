"""Regular expressions as tables that the recorder goes through: they find what RE2 finds, or are refused."""

from __future__ import annotations

import random

import pytest

from strobe.symbols.select.linear_regex import LinearRegex, RegexError
from strobe.values.language.automata import MOST_BYTES, NotTaken, table_of
from strobe.values.language.terms import steps
from strobe.values.language.texts import data_steps
from strobe.values.memory.recipes import Recipe, run

PLACE = 0x10000
EXPRESSIONS = [
    *(
        "tick",
        "^audio::",
        "tick$",
        "^(audio|midi)::tick$",
        "",
        ".*",
        "[a-m]+",
        "(?i)MAIN",
        r"<\w+, \d>",
        "^$",
        "$",
        "^",
    ),
    *("gr.ße", "gr..e$", "ü|ö", "(?P<name>ma)in", "a{2,3}", "x*", r"\.", "[^a]", "^[^a]*$", "^a?b?$", "(a|b)*abb$"),
    *(
        "^a{3}$",
        "^(ab){2,}$",
        "^a{0,2}$",
        "a+?b",
        r"^\S+\s\S+$",
        r"[\d.]+",
        "[]a]",
        "[a-]",
        r"[\]\\]",
        "^[à-ï]+$",
        r"\x41",
    ),
    *(
        r"\x{e9}$",
        "(?i)[k-m]x",
        "a||b",
        "(|a)b",
        r"\Aab\z",
        "^.$",
        "^..$",
        "a.c",
        "[^\\n]b",
        "^(a|b|)c",
        "(a*)b(c|d)+e?",
    ),
]
REFUSED = [
    *(
        r"\bx",
        r"a\B",
        "(?s)a.b",
        "(?m)^a",
        "(?=a)",
        r"\pL",
        "[[:alpha:]]",
        "(?i)ö",
        "(?-i)a",
        r"\Qa\E",
        "a**",
        "$^",
        r"(a)\1",
    ),
    *("(", "a)", "[", "*a", "a{200}", "[b-a]", "(a{50}){50}", "^(a|b)*a(a|b){9}$", r"\x{110000}", "\\"),
]
TEXTS = [
    *(
        "audio::tick",
        "midi::tick",
        "main",
        "MAIN",
        "std::vector<int, 3>::at",
        "größe",
        "",
        "a",
        "b",
        "ab",
        "abb",
        "aabb",
    ),
    *(
        "ababab",
        "aaa",
        "aaaa",
        "é",
        "aé",
        "àëï",
        "a\nb",
        "a b",
        "]",
        "\\",
        "-",
        "Kx",
        "lX",
        "1.25",
        "bc",
        "abcde",
        "acddde",
    ),
    *("x" * 70, "x" * 64 + "abb", "ö" * 40 + "b", "\U0001f600", "€uro", "c", "ac"),
]


def found(expression: str, text: bytes, *, with_length: bool) -> bool:
    """By the recipe, over a text in memory."""
    table = table_of(expression)
    memory = text + bytes(128)
    recipe = Recipe()
    recipe.base(PLACE)
    length = (("CONSTANT", 0, 0, len(text)),) if with_length else ()
    most = 0 if with_length else 65536
    recipe.code += steps(*length, ("MATCH_TEXT", 0, len(table), most), *data_steps(table))
    recipe.note()
    recipe.drop()

    def read(address: int, size: int) -> bytes | None:
        start = address - PLACE
        return memory[start : start + size] if start >= 0 and start + size <= len(memory) else None

    ((item,),) = run(0, [recipe.finished()], read)
    assert item.is_there, (expression, text, item)
    return bool(item.number)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_they_find_what_re2_finds(expression: str) -> None:
    regex = LinearRegex(expression)
    assert len(table_of(expression)) <= MOST_BYTES
    for text in TEXTS:
        assert found(expression, text.encode(), with_length=True) == regex.finds(text), text
        assert found(expression, text.encode(), with_length=False) == regex.finds(text), text


@pytest.mark.parametrize("expression", REFUSED)
def test_what_is_refused(expression: str) -> None:
    with pytest.raises(NotTaken):
        table_of(expression)


def test_random_ones() -> None:
    """Those that both take."""
    chance = random.Random(20261127)
    parts = [
        "a",
        "b",
        ".",
        "[ab]",
        "[^a]",
        "(",
        ")",
        "|",
        "*",
        "+",
        "?",
        "^",
        "$",
        "{2}",
        "{1,}",
        "ä",
        r"\w",
        r"\d",
        "c",
    ]
    taken = 0
    for _ in range(1000):
        expression = "".join(chance.choice(parts) for _ in range(chance.randint(1, 8)))
        try:
            regex = LinearRegex(expression)
            table_of(expression)
        except (RegexError, NotTaken):
            continue
        taken += 1
        for _ in range(8):
            text = "".join(chance.choice("aabbcä1 ") for _ in range(chance.randint(0, 6)))
            assert found(expression, text.encode(), with_length=True) == regex.finds(text), (expression, text)
    assert taken > 150


@pytest.mark.parametrize(
    "expression",
    [r"\w", r"\W", r"\d", r"\D", r"\S", r"[\w-]", "[a-l]", "k", "K", "s", "[R-T]", "x", ".", r"[\x00-\x7f]"],
)
def test_without_case_each_character_is_what_re2_takes(expression: str) -> None:
    """Two letters of ASCII have a third form: the long s and the Kelvin sign."""
    whole = f"(?i)^{expression}$"
    regex = LinearRegex(whole)
    for code in (*range(0x80), 0xDF, 0xE9, 0x17F, 0x212A, 0x1F600):
        assert found(whole, chr(code).encode(), with_length=True) == regex.finds(chr(code)), hex(code)


@pytest.mark.parametrize(
    "bounds", ["{01}", "{1,02}", "{ 1}", "{1, 2}", "{,2}", "{+1}", "{\u0663}", "{1,\u0663}", "{", "{1"]
)
def test_what_is_no_repetition_stands_for_itself(bounds: str) -> None:
    regex = LinearRegex(f"^a{bounds}$")
    for text in ("a", "aa", "", f"a{bounds}", "aaa"):
        assert found(f"^a{bounds}$", text.encode(), with_length=True) == regex.finds(text), text


def test_bytes_that_are_no_characters_match_nothing() -> None:
    assert not found("^.+$", b"a\xffb", with_length=True)
    assert found("b$", b"a\xffb", with_length=True)
