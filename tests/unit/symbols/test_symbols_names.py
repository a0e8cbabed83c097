"""Names: brackets and operators, what of a demangled symbol is the name."""

from __future__ import annotations

import pytest

from strobe import _core
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
    ("raw", "of", "is_changed"),
    [
        ("f", "f", False),
        ("f.isra.0", "f", True),
        ("f.constprop.0.isra.0", "f", True),
        ("f.part.3", "f", True),
        ("f.cold", "f", False),
        ("f.lto_priv.0", "f", False),
        ("local.0", "local.0", False),
        ("f.particle", "f.particle", False),
        ("_ZN4core5clone17h0123456789abcdefE.llvm.5", "_ZN4core5clone17h0123456789abcdefE", False),
        ("_ZN4core..clone..Clone5clone17h0123456789abcdefE", "_ZN4core..clone..Clone5clone17h0123456789abcdefE", False),
    ],
)
def test_clones(raw: str, of: str, is_changed: bool) -> None:
    assert (names.without_clone(raw), names.is_changed_clone(raw)) == (of, is_changed)


@pytest.mark.parametrize(
    ("name", "raw", "clearest"),
    [
        ("ns::f", "_ZN2ns1gEv", "ns::f"),
        ("f", "_ZN2ns1fEv", "ns::f"),  # as -g1 has it
        ("f", "f.isra.0", "f"),
        ("f<ns::a>", "_Z1fIN2ns1aEEvv", "f<ns::a>"),
        ("A::operator T", "_ZN1AcvlEv", "A::operator long"),
        ("A::operator new", "_ZN1Anwm", "A::operator new"),
        ("f::<lambda()>::operator()", "_ZZ1fvENKUlvE_clEv", "f::{lambda()#1}::operator()"),
        ("f::<lambda()>::operator()", "", "f::<lambda()>::operator()"),
        ("{unnamed}", "x.part.0", "x"),
        ("app::main::h0123456789abcdef", "_ZN3app4main17h0123456789abcdefE", "app::main"),
        ("app::{impl#0}::f", "_ZN3app1f17h0123456789abcdefE", "app::f"),
    ],
)
def test_the_clearest_name(name: str, raw: str, clearest: str) -> None:
    assert _core.clearest_name(name, raw) == clearest
