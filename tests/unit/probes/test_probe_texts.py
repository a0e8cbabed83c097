"""Probes in one line of text: which part is the place, which the condition, which the expressions."""

from __future__ import annotations

import pytest

from strobe.errors import StrobeError
from strobe.session.probes.text_form import Part, parsed_probe

TEXTS = [
    ("pool.cpp:42", ("pool.cpp:42", None, [])),
    ("pool.cpp:42 if used > capacity : used, this->name", ("pool.cpp:42", "used > capacity", ["used", "this->name"])),
    ("lfunc.c:203", ("lfunc.c:203", None, [])),
    (
        "lfunc.c:203 if (uv->marked & 24) == 0 : uv, uv->v, L->l_G->gcstate",
        ("lfunc.c:203", "(uv->marked & 24) == 0", ["uv", "uv->v", "L->l_G->gcstate"]),
    ),
    ("f if x > 0: x", ("f", "x > 0", ["x"])),
    ("lfunc.c:203:uv", ("lfunc.c:203", None, ["uv"])),
    ("lfunc.c:203 : uv", ("lfunc.c:203", None, ["uv"])),
    ("geo::leg if a < 0 : a, b", ("geo::leg", "a < 0", ["a", "b"])),
    ("pool.cpp:42-57 : i", ("pool.cpp:42-57", None, ["i"])),
    ("pool.cpp:42 - 57: i", ("pool.cpp:42 - 57", None, ["i"])),
    ("f:return if $return < 0 : $return", ("f:return", "$return < 0", ["$return"])),
    ("f:return:$return", ("f:return", None, ["$return"])),
    ("f : returned", ("f", None, ["returned"])),
    ("f:returned", ("f", None, ["returned"])),
    ("f : 42", ("f", None, ["42"])),
    ("ns::f", ("ns::f", None, [])),
    ("ns::f:x", ("ns::f", None, ["x"])),
    ("ns::f : ::gCount, ns::gOther", ("ns::f", None, ["::gCount", "ns::gOther"])),
    ("::f if ::g == 1", ("::f", "::g == 1", [])),
    ("0x401136 if $rax == 0 : $rdi", ("0x401136", "$rax == 0", ["$rdi"])),
    ("@file:parser.cpp : depth", ("@file:parser.cpp", None, ["depth"])),
    ("@usercode if $depth > 3", ("@usercode", "$depth > 3", [])),
    ("Map<std::string, int>::find : key", ("Map<std::string, int>::find", None, ["key"])),
    ("operator<", ("operator<", None, [])),
    ("C::operator() : this->n", ("C::operator()", None, ["this->n"])),
    ("C::operator(): this->n", ("C::operator()", None, ["this->n"])),
    ("(anonymous namespace)::f : x", ("(anonymous namespace)::f", None, ["x"])),
    ("notify_if : if_any", ("notify_if", None, ["if_any"])),
    ("iffy.c:3 if iff", ("iffy.c:3", "iff", [])),
    ("f if(x)", ("f", "(x)", [])),
    ("f if !x : x", ("f", "!x", ["x"])),
    ("f if a ? b : c : d", ("f", "a ? b : c", ["d"])),
    ("f if a ? b ? 1 : 2 : 3 : d, a ? 1 : 2", ("f", "a ? b ? 1 : 2 : 3", ["d", "a ? 1 : 2"])),
    ("f if any(i in 0..n: v[i] < 0) : v[0], v[1]", ("f", "any(i in 0..n: v[i] < 0)", ["v[0]", "v[1]"])),
    ("f : max(i in 0..n: v[i]), m[{1, 2}]", ("f", None, ["max(i in 0..n: v[i])", "m[{1, 2}]"])),
    ('f if name == "a : b, (" : name', ("f", 'name == "a : b, ("', ["name"])),
    ("f if c == ':' && d == '\\'' : c", ("f", "c == ':' && d == '\\''", ["c"])),
    ('f : m["x, y"], b', ("f", None, ['m["x, y"]', "b"])),
    ("f : `a, b`, c", ("f", None, ["`a, b`", "c"])),
    ("f if x > 1'000'000 : x", ("f", "x > 1'000'000", ["x"])),
    ("f : Pool<int, 4>::count, a < b, c > d", ("f", None, ["Pool<int, 4>::count", "a < b", "c > d"])),
    ("f : (Map<a, b>*)p, q", ("f", None, ["(Map<a, b>*)p", "q"])),
    ('"dir if x/a.c":7 if y', ('"dir if x/a.c":7', "y", [])),
    ("dir with blank/a.c:7 : y", ("dir with blank/a.c:7", None, ["y"])),
    ("  f  if  x  :  y  ,  z  ", ("f", "x", ["y", "z"])),
    ("f\nif x\n: y", ("f", "x", ["y"])),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_parts_are_told_apart(text: str, expected: tuple[str, str | None, list[str]]) -> None:
    found = parsed_probe(text)
    condition = None if found.condition is None else found.condition.text
    assert (found.location.text, condition, [part.text for part in found.expressions]) == expected
    for part in (found.location, *filter(None, [found.condition]), *found.expressions):
        assert text[part.at :].startswith(part.text)


def test_parts_know_where_they_begin() -> None:
    found = parsed_probe("  f if x : y,  z")
    assert (found.location, found.condition) == (Part("f", 2), Part("x", 7))
    assert found.expressions == (Part("y", 11), Part("z", 15))


@pytest.mark.parametrize(
    ("text", "at", "reason"),
    [
        ("", 1, "a location is missing"),
        ("  if x", 3, "a location is missing"),
        (" : x", 2, "a location is missing"),
        ("if", 1, "a location is missing"),
        ("f if", 5, "a condition is missing"),
        ("f if : x", 6, "a condition is missing"),
        ("f :", 4, "an expression is missing"),
        ("f : a,, b", 7, "an expression is missing"),
        ("f : a,", 7, "an expression is missing"),
        ("f : v[1", 6, "']' is missing"),
        ("f if (a : b", 6, r"'\)' is missing"),
        ("f : a)", 6, r"'\)' closes nothing"),
        ("f : (a]", 7, "']' closes nothing"),
        ('f if a == "b', 11, 'a second " is missing'),
        ("f : " + ", ".join(["x"] * 33), 101, "more than 32"),
        ("f" * 5000, 4001, "longer than 4,000"),
    ],
)
def test_mistakes_are_refused_with_their_place(text: str, at: int, reason: str) -> None:
    with pytest.raises(StrobeError, match=reason) as refused:
        parsed_probe(text)
    assert refused.value.code == "VALIDATION_ERROR"
    assert f"at character {at}," in str(refused.value)
