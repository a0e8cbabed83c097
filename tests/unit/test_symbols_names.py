"""Names: brackets and operators, what of a demangled symbol is the name."""

from __future__ import annotations

import pytest

from strobe.symbols import names

PLAIN_NAMES = [
    ("main", "main"),
    ("ns::f(int, char)", "ns::f"),
    ("ns::Foo::bar(int) const", "ns::Foo::bar"),
    ("ns::Foo::bar(int) const &", "ns::Foo::bar"),
    ("int ns::tf<int>(int)", "ns::tf<int>"),
    ("void (*foo<int>(int))(char)", "foo<int>"),
    ("int (*(*pp<int>(int))(char))(long)", "pp<int>"),
    ("int (&arr<int>())[3]", "arr<int>"),
    ("bool operator< <int>(A const&, A const&)", "operator< <int>"),
    ("Foo::operator()(int) const", "Foo::operator()"),
    ("Foo::operator()(int)::{lambda(int)#1}::operator()(int) const", "Foo::operator()::{lambda(int)#1}::operator()"),
    ("Foo::operator->() const", "Foo::operator->"),
    ("Foo::operator<<(int)", "Foo::operator<<"),
    ("Foo::operator new[](unsigned long)", "Foo::operator new[]"),
    ("Foo::operator std::vector<int, A<int> >() const", "Foo::operator std::vector<int, A<int> >"),
    ("Foo::operator void (*)(int)() const", "Foo::operator void (*)(int)"),
    ('operator"" _km(long double)', 'operator"" _km'),
    ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
    ("ns::(anonymous namespace)::S::f(int)", "ns::(anonymous namespace)::S::f"),
    ("auto f()::{lambda(auto:1)#1}::operator()<int>(int) const", "f::{lambda(auto:1)#1}::operator()<int>"),
    ("f(int) const::{lambda()#1}::_FUN()", "f::{lambda()#1}::_FUN"),
    ("int f(int)::Local::g(int)", "f::Local::g"),
    ("decltype ((a)->b) ns::f<int>(int)", "ns::f<int>"),
    ("std::f[abi:cxx11](int) [clone .part.0] [clone .constprop.1]", "std::f"),
    ("Foo<&(ns::bar(int))>::f(int)", "Foo<&(ns::bar(int))>::f"),
    ("ns::less<((1)<(2))>::f()", "ns::less<((1)<(2))>::f"),
    ("operatoring(int)", "operatoring"),
    ("hello::run::h0123456789abcdef", "hello::run"),
    ("_$LT$r..Foo$u20$as$u20$core..fmt..Display$GT$::fmt::h0123456789abcdef", "<r::Foo as core::fmt::Display>::fmt"),
    ("core::ptr::drop_in_place$LT$$RF$str$GT$::h0123456789abcdef", "core::ptr::drop_in_place<&str>"),
]  # fmt: skip


@pytest.mark.parametrize(("demangled", "name"), PLAIN_NAMES)
def test_plain_name(demangled: str, name: str) -> None:
    assert names.plain_name(demangled) == name


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a::b::c", ["a", "b", "c"]),
        ("a<x::y>::b", ["a<x::y>", "b"]),
        ("a::(anonymous namespace)::b", ["a", "(anonymous namespace)", "b"]),
        ("a::operator<::b", ["a", "operator<", "b"]),
        ("a::operator<< <x::y>", ["a", "operator<< <x::y>"]),
        ("a::operator->", ["a", "operator->"]),
        ("a::operator()<x::y>", ["a", "operator()<x::y>"]),
        ("a::{lambda(x::y)#1}::operator()", ["a", "{lambda(x::y)#1}", "operator()"]),
        ("<r::Foo as core::fmt::Display>::fmt", ["<r::Foo as core::fmt::Display>", "fmt"]),
        ("f<decltype(a->b)>::g", ["f<decltype(a->b)>", "g"]),
    ],
)
def test_components(name: str, parts: list[str]) -> None:
    assert names.components(name) == parts


@pytest.mark.parametrize("name", ["a<b", "a>b", "a(b", "f)", "x[1", "a<b)>"])
def test_strict_reading_refuses_brackets_without_partner(name: str) -> None:
    with pytest.raises(names.Unbalanced):
        names.check_brackets(name)


def test_symbols_are_demangled_in_one_batch() -> None:
    raw = ["_ZN2ns3fooEi", "plain", "_ZN2ns3barIiEEvT_.constprop.0", "_ZN5hello3run17h0123456789abcdefE", "_Znot"]
    assert names.demangled(raw) == ["ns::foo", "plain", "ns::bar<int>", "hello::run", "_Znot"]


@pytest.mark.parametrize(
    ("raw", "is_clone", "is_changed", "is_cold"),
    [
        ("f", False, False, False),
        ("f.isra.0", True, True, False),
        ("f.constprop.0.isra.0", True, True, False),
        ("f.part.3", True, True, False),
        ("f.cold", True, False, True),
        ("f.lto_priv.0", True, False, False),
        ("local.0", False, False, False),
    ],
)
def test_clones(raw: str, is_clone: bool, is_changed: bool, is_cold: bool) -> None:
    assert (names.is_clone(raw), names.is_changed_clone(raw), names.is_cold(raw)) == (is_clone, is_changed, is_cold)
