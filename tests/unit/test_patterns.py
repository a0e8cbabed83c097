"""Patterns: what they match, as the tools' contract says, and which are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from strobe.errors import Code, StrobeError
from strobe.model import FunctionSymbol
from strobe.symbols import Pattern

MATCHES = [
    ("foo::bar", ["foo::bar", "foo::bar<int>"], ["foo::baz", "foo::bar::qux", "xfoo::bar", "foo::bar<int>::qux"]),
    ("foo::bar<int>", ["foo::bar<int>"], ["foo::bar", "foo::bar<char>"]),
    (
        "Map::find",
        ["Map::find", "Map<int>::find", "Map<a::b>::find<c>"],
        ["Map<int>::Inner::find", "HashMap<int>::find"],
    ),
    ("Map<int>::find", ["Map<int>::find", "Map<int>::find<a>"], ["Map<char>::find"]),
    ("Call::operator()", ["Call::operator()", "Call<int>::operator()<char>"], ["Call<int>::operator<"]),
    ("foo::*", ["foo::bar", "foo::baz", "foo::bar<a::b>"], ["foo::bar::qux", "foo", "other::foo::bar"]),
    ("foo::**", ["foo::bar", "foo::bar::baz"], ["other::bar", "foo", "foobar::x"]),
    ("*::validate", ["auth::validate"], ["auth::deep::validate", "validate"]),
    ("auth::**::validate", ["auth::validate", "auth::user::validate", "auth::a::b::validate"], ["form::validate"]),
    ("**::validate", ["validate", "a::validate", "a::b::validate"], ["a::validated"]),
    ("*", ["main", "operator new"], ["a::b"]),
    ("**", ["main", "a::b", "a<b>::c"], []),
    ("get_*_size", ["get_x_size", "get__size"], ["get_size", "a::get_x_size"]),
    ("a**z", ["az", "a::b::z", "a::bz"], ["ba::z"]),
    ("a::***", ["a::b", "a::b::c"], ["b"]),
    ("Map<*>::find", ["Map<int>::find", "Map<a::b, c::d>::find"], ["Map::find", "Map<int>::Inner::find"]),
    ("Map<int, char*>::find", ["Map<int, char*>::find", "Map<int,charxx>::find"], ["Map<int>::find"]),
    ("V<V<int> >::f", ["V<V<int> >::f", "V<V<int>>::f"], []),
    ("(anonymous namespace)::*", ["(anonymous namespace)::f"], ["a::(anonymous namespace)::f"]),
    ("a::*::f", ["a::(anonymous namespace)::f", "a::b::f"], ["a::f", "a::b::c::f"]),
    ("Money::operator<", ["Money::operator<"], ["Money::operator<<", "Money::operator<="]),
    ("Money::operator*", ["Money::operator<", "Money::operator()", "Money::operator*"], ["Money::value"]),
    ("Money::operator()", ["Money::operator()"], ["Money::operator(int)"]),
    ("*::operator->", ["P::operator->"], ["P::operator-"]),
    ("f::{lambda(*)#1}::operator()", ["f::{lambda(a::b)#1}::operator()"], ["f::{lambda(int)#2}::operator()"]),
    ("<* as core::fmt::Display>::fmt", ["<r::Foo as core::fmt::Display>::fmt"], ["<r::Foo as core::fmt::Debug>::fmt"]),
    ("**a*z", ["a::xaz", "az"], ["a::z"]),
    ("*a*b*c", ["abc", "xaybzc", "aabbcc", "abcxc"], ["abcx", "ab::c"]),
    ("*a::b*c", ["a::bc", "xa::bxc"], ["a::x::bc", "a::b::c"]),
    ("a.b+c", ["a.b+c"], ["axb+c", "a.bbc"]),
    ("main", ["main"], ["main2", "xmain"]),
]


@pytest.mark.parametrize(("text", "matching", "others"), MATCHES, ids=[row[0] for row in MATCHES])
def test_name_patterns(text: str, matching: list[str], others: list[str]) -> None:
    pattern = Pattern.parse(text)
    assert [name for name in matching + others if pattern.matches_name(name)] == matching


FILES = [
    ("@file:parser.cpp", ["/p/src/parser.cpp", "/p/myparser.cpp"], ["/p/parser.c"]),
    ("@file:src/render/*.rs", ["/p/src/render/a.rs", "src/render/b.rs"], ["/src/render/x/a.rs", "/xsrc/render/a.rs"]),
    ("@file:src/**/*.rs", ["/p/src/a.rs", "/p/src/x/y/a.rs"], ["/p/lib/a.rs"]),
    ("@file:/p/*.c", ["/p/a.c"], ["/q/p/a.c", "/p/x/a.c"]),
    ("@file:a?.c", ["/p/ab.c"], ["/p/a.c", "/p/abc.c"]),
    ("@file:[ab].c", ["/p/a.c", "/p/b.c"], ["/p/c.c"]),
    ("@file:[!ab].c", ["/p/c.c"], ["/p/a.c"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "matching", "others"), FILES, ids=[row[0] for row in FILES])
def test_file_patterns(text: str, matching: list[str], others: list[str]) -> None:
    pattern = Pattern.parse(text)
    assert [path for path in matching + others if pattern.matches_file(path)] == matching
    assert not pattern.matches_file(None)


def test_usercode_is_what_lies_below_the_project_root(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    for root in (real, tmp_path / "link"):
        pattern = Pattern.parse("@usercode", str(root))
        inside = [str(real / "a.cpp"), str(tmp_path / "link" / "deep" / "b.cpp")]
        outside = ["/usr/include/c++/12/vector", f"{real}-other/a.cpp", str(tmp_path / "a.cpp")]
        assert [path for path in inside + outside if pattern.matches_file(path)] == inside
    (real / "mapped.c").write_text("")
    assert Pattern.parse("@usercode", str(real)).matches_file("mapped.c")


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("@lib:libz.so", "/lib/libz.so.1.2.13", True),
        ("@lib:libz", "/lib/libz.so.1.2.13", True),
        ("@lib:libz.so.1", "/lib/libz.so.1", True),
        ("@lib:libz.so", "/lib/libzstd.so.1", False),
        ("@lib:z", "/lib/libz.so", False),
    ],
)
def test_library_patterns(text: str, path: str, expected: bool) -> None:
    assert Pattern.parse(text).matches_library(path) is expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        ("   ", "it is empty"),
        ("x" * 1001, "longer than 1,000 characters"),
        ("**a" * 5, "more than 4 '**'"),
        ("a<b", "'<' is not closed"),
        ("a)b", "')' closes nothing"),
        ("a\x1fb", "cannot be printed"),
        ("@everything", "there is no selector '@everything'. Valid: @usercode, @file:TEXT, @lib:NAME, @heap."),
        ("@usercode", "it needs a project root"),
        ("@usercode:x", "there is no selector"),
        ("@file:", "'@file' needs a name"),
        ("@lib", "'@lib' needs a name"),
        ("@file:[z-a].c", "its brackets hold no set of letters"),
    ],
)
def test_what_is_refused_and_how(text: str, said: str) -> None:
    with pytest.raises(StrobeError) as raised:
        Pattern.parse(text)
    assert raised.value.code == Code.INVALID_PATTERN
    assert said in str(raised.value)


def test_the_longest_pattern_is_not_refused() -> None:
    assert Pattern.parse("x" * 1000).matches_name("x" * 1000)


def test_spaces_around_a_pattern_do_not_count() -> None:
    assert Pattern.parse(" main ").matches_name("main")


def test_many_wildcards_do_not_take_for_ever() -> None:
    assert not Pattern.parse("*a" * 30 + "b").matches_name("ab" + "a" * 500)
    assert not Pattern.parse("**a*ab**c").matches_name("ab::abc" + "::ab" * 100)


def test_what_the_heap_is() -> None:
    """The C library's names wherever they are exported, or the program's own; operators of the program alone."""
    from strobe.symbols.select.allocators import is_allocator

    def function(raw_name: str, module: str = "/usr/lib/libc.so.6", *, exported: bool = True) -> FunctionSymbol:
        return FunctionSymbol(raw_name, raw_name, module, 16, 16, exported=exported)

    assert is_allocator(function("malloc"), is_system=True)
    assert not is_allocator(function("malloc", exported=False), is_system=True)
    assert is_allocator(function("free", "/opt/program", exported=False), is_system=False)
    assert not is_allocator(function("malloc", "/lib64/ld-linux-x86-64.so.2"), is_system=True)
    assert is_allocator(function("_Znwm", "/opt/program"), is_system=False)
    assert is_allocator(function("_ZdlPvm", "/opt/program"), is_system=False)
    assert not is_allocator(function("_Znwm", "/usr/lib/libstdc++.so.6"), is_system=True)
    assert not is_allocator(function("my_malloc", "/opt/program"), is_system=False)
