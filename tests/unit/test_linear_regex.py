"""Regular expressions of a user: what they find, what is refused, and that none keeps others waiting."""

from __future__ import annotations

import re

import pytest

from strobe.errors import Code, StrobeError
from strobe.limits import REGEX_CHARACTERS
from strobe.symbols import Pattern
from strobe.symbols.select.linear_regex import LinearRegex, RegexError

NAMES = ["audio::tick", "midi::tick", "main", "std::vector<int, 3>::at", "größe", "", "a\udcffb"]
EXPRESSIONS = [
    *("tick", "^audio::", "tick$", "^(audio|midi)::tick$", "", ".*", "[a-m]+", r"\bmain\b", "(?i)MAIN", r"<\w+, \d>"),
    *("gr.ße", "gr..e$", "ü|ö", "(?P<name>ma)in", "a{2,3}", "x*", r"\.", "^$", "[^a]"),
]
# each takes Python's engine longer than anybody waits: two to the power of the letters
EXPONENTIAL = ["(a+)+$", "(a|a)*$", "(a|aa)+$", "(.*)*b$", "(a*)*$", "([a-zA-Z]+)*$"]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_it_finds_what_the_standard_engine_finds(expression: str) -> None:
    ours, standard = LinearRegex(expression), re.compile(expression)
    for name in NAMES[:-1]:
        assert ours.finds(name) == (standard.search(name) is not None), name
        assert ours.fits(name) == (standard.fullmatch(name) is not None), name


def test_bytes_that_are_no_text_are_searched() -> None:
    assert LinearRegex("^a.b$").finds(NAMES[-1])
    assert not LinearRegex("^ab$").finds(NAMES[-1])


@pytest.mark.parametrize("expression", EXPONENTIAL)
def test_no_expression_takes_for_ever(expression: str) -> None:
    """Each ends within the time of the test, for 10,000 letters; 40 would be too many for backtracking."""
    LinearRegex(expression).finds("a" * 10_000 + "!")


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("(", "missing"),
        ("[", "missing"),
        ("*", "repetition"),
        (r"(a)\1", "backreferences are not supported"),
        (r"(?P<x>a)(?P=x)", "invalid"),
        ("(?=a)", "lookahead"),
        ("(?!a)", "lookahead"),
        ("(?<=a)b", "lookbehind"),
        ("(?>a)", "invalid"),
        ("a{1001}", "repetition"),
        ("((a{99}){99}){99}", "repetition"),
        (r"(\pL{500}|\pN{500}){2}", "large|repetition"),
        ("a" * (REGEX_CHARACTERS + 1), "longer than 1,000"),
    ],
)
def test_what_it_does_not_know_is_refused_with_a_reason(
    expression: str, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RegexError, match=reason):
        LinearRegex(expression)
    assert capfd.readouterr().err == ""


def test_globs_of_files_are_linear_as_well() -> None:
    pattern = Pattern.parse("@file:" + "**a" * 30 + "**b")
    assert not pattern.matches_file("/src/" + "a" * 5_000)
    assert pattern.matches_file("/src/" + "a" * 5_000 + "b")


@pytest.mark.parametrize("glob", ["[z-a]", "[", "[a"])
def test_sets_that_are_none(glob: str) -> None:
    try:
        assert not Pattern.parse(f"@file:x{glob}*").matches_file("/src/y.cpp")
    except StrobeError as error:
        assert error.code is Code.INVALID_PATTERN
