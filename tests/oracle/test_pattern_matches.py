"""Patterns against real programs: what each matches, all of it and nothing else, whichever compiler made the program.

Names are as gcc has them; clang's must be the same in their one spelling (`names.scoped`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from strobe.symbols import ElfResolver, ModuleSymbols, Pattern
from strobe.symbols.names import scoped
from strobe.symbols.select.nearest import nearest_functions

BuildProgram = Callable[..., Path]

LAMBDAS = [
    "shop::outer::{lambda(int)#1}::operator()",
    "shop::outer::{lambda(int)#2}::operator()",
]
INNERMOST = "shop::outer::{lambda(int)#2}::operator()::{lambda(char)#1}::operator()"
MEMBER_LAMBDA = "shop::Money::closures::{lambda(int)#1}::operator()"
LABEL = "shop::Shelf<std::string>::Label::width"
DEEP_LABEL = "shop::Shelf<shop::Shelf<const std::vector<int>&>::Label>::Label::width"
FINDS = ["shop::Shelf<char const*>::find", "shop::Shelf<unsigned int>::find", "shop::Shelf<unsigned long long>::find"]

CPLUSPLUS: list[tuple[str, list[str]]] = [
    ("plain_c", ["plain_c"]),
    ("operator*", ["operator_of_c"]),
    ("shop::price", ["shop::price"]),
    ("shop::*price", ["shop::price"]),
    ("(anonymous namespace)::*", ["(anonymous namespace)::hidden"]),
    ("{anonymous}::**", ["(anonymous namespace)::hidden", "(anonymous namespace)::Secret::value"]),
    ("<unnamed>::hidden", ["(anonymous namespace)::hidden"]),
    ("shop::*::buried", ["shop::(anonymous namespace)::buried"]),
    ("shop::{anonymous}::buried", ["shop::(anonymous namespace)::buried"]),
    ("shop::v2::current", ["shop::v2::current"]),
    ("shop::**::current", ["shop::v2::current"]),
    ("shop::current", []),
    ("shop::Money::Money", ["shop::Money::Money"]),
    ("*::Virtual::*Virtual", ["shop::Virtual::Virtual", "shop::Virtual::~Virtual"]),
    ("shop::*::~*", ["shop::Money::~Money", "shop::Virtual::~Virtual"]),
    ("shop::Money::operator<", ["shop::Money::operator<"]),
    ("shop::Money::operator<<", ["shop::Money::operator<<"]),
    ("shop::Money::operator>>", ["shop::Money::operator>>"]),
    ("shop::Money::operator<*", [f"shop::Money::operator{sign}" for sign in ("<", "<=", "<<")]),
    ("shop::Money::operator->", ["shop::Money::operator->"]),
    ("shop::Money::operator()", ["shop::Money::operator()"]),
    ("shop::Money::operator ()", ["shop::Money::operator()"]),
    ("shop::Money::operator[]", ["shop::Money::operator[]"]),
    ("shop::Money::operator+", ["shop::Money::operator+"]),
    ("shop::Money::operator+=", ["shop::Money::operator+="]),
    ("shop::Money::operator new", ["shop::Money::operator new"]),
    ("shop::Money::operator bool", ["shop::Money::operator bool"]),
    ("shop::Money::operator unsigned long", ["shop::Money::operator unsigned long"]),
    ("shop::Money::operator long unsigned int", ["shop::Money::operator unsigned long"]),
    ("shop::Money::operator std::vector<int>", ["shop::Money::operator std::vector<int>"]),
    ('shop::operator""_cents', ['shop::operator""_cents']),
    ('shop::operator"" _cents', ['shop::operator""_cents']),
    ("shop::operator< <int>", ["shop::operator< <int>"]),
    ("shop::operator<<int>", ["shop::operator< <int>"]),
    ("shop::operator<<*>", ["shop::operator< <int>"]),
    ("shop::largest<*>", ["shop::largest<int>", "shop::largest<unsigned int>"]),
    ("shop::largest<unsigned>", ["shop::largest<unsigned int>"]),
    ("shop::largest", ["shop::largest<int>", "shop::largest<unsigned int>"]),
    ("shop::count<>", ["shop::count<>"]),
    ("shop::count<int,char>", ["shop::count<int, char>"]),
    ("shop::count<*>", ["shop::count<>", "shop::count<int, char>"]),
    ("shop::sized<int>", ["shop::sized<int>"]),
    ("shop::Array<int, 3>::size", ["shop::Array<int, 3>::size"]),
    ("shop::Array<int*>::size", ["shop::Array<int, 3>::size"]),
    ("shop::Array<char *, 5u>::size", ["shop::Array<char*, 5>::size"]),
    ("shop::Array<*>::*", ["shop::Array<int, 3>::size", "shop::Array<char*, 5>::size"]),
    ("shop::Shelf<const char*>::find", ["shop::Shelf<char const*>::find"]),
    ("shop::Shelf<char const *>::find", ["shop::Shelf<char const*>::find"]),
    ("shop::Shelf<unsigned>::find", ["shop::Shelf<unsigned int>::find"]),
    ("shop::Shelf<unsigned long long>::find", ["shop::Shelf<unsigned long long>::find"]),
    ("shop::Shelf<unsigned*>::find", FINDS[1:]),
    ("shop::Shelf<*>::find", FINDS),
    ("shop::Shelf<*>::*", FINDS),
    ("shop::Shelf<std::string>::Label::width", [LABEL]),
    ("shop::Shelf<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >::**", [LABEL]),
    ("shop::Shelf<std::basic_string<char, *>>::**", [LABEL]),
    ("shop::Shelf<shop::Shelf<std::vector<int> const &>::Label>::Label::width", [DEEP_LABEL]),
    ("shop::Shelf<shop::Shelf<const std::vector<int, std::allocator<int> >&>::*>::**", [DEEP_LABEL]),
    ("shop::Shelf<*>::Label::width", [LABEL, DEEP_LABEL]),
    ("shop::numbers<5, 'A', true>", ["shop::numbers<5, 'A', true>"]),
    ("shop::numbers<5ul, (char)65, true>", ["shop::numbers<5, 'A', true>"]),
    ("shop::through<*operator()*>", ["shop::through<&shop::Money::operator()>"]),
    ("shop::through<&shop::Money::operator()>", ["shop::through<&shop::Money::operator()>"]),
    ("shop::tagged", ["shop::tagged"]),
    ("shop::tagged[abi:v9]", ["shop::tagged"]),
    ("shop::outer", ["shop::outer"]),
    ("shop::outer::Local::*", ["shop::outer::Local::twice"]),
    ("shop::Money::closures::{lambda(int)#1}::operator()", [MEMBER_LAMBDA]),
    ("shop::Money::closures::<lambda(int)>::operator()", [MEMBER_LAMBDA]),
    ("shop::Money::closures::'lambda'(int)::operator()", [MEMBER_LAMBDA]),
    ("shop::Money::**::operator()", ["shop::Money::operator()", MEMBER_LAMBDA]),
    ("shop::outer::{lambda}::*", LAMBDAS),
    ("shop::outer::{lambda*}::operator()", LAMBDAS),
    ("shop::outer::**::{lambda(char)#1}::*", [INNERMOST]),
    ("shop::outer::**", [*LAMBDAS, INNERMOST, "shop::outer::Local::twice"]),
]  # fmt: skip


@pytest.fixture(scope="module")
def spelled(build_program: BuildProgram) -> Callable[[str], ModuleSymbols]:
    read: dict[str, ModuleSymbols] = {}

    def module(compiler: str) -> ModuleSymbols:
        if compiler not in read:
            if shutil.which(compiler) is None and not os.environ.get("CI"):
                pytest.skip(f"{compiler} is not installed")
            read[compiler] = ElfResolver().module(str(build_program("symbols/spelled", "-O0", compiler=compiler)))
        return read[compiler]

    return module


def matched(module: ModuleSymbols, text: str) -> set[str]:
    found = Pattern.parse(text).matching_names(module.scoped_names)
    return {scoped(module.functions[number].name) for number in found}


def as_clang_numbers(name: str) -> str:
    """It gives the lambdas of a function that is not inline a number in the file, and no parameters."""
    for number in (1, 2):
        name = name.replace(f"outer::{{lambda(int)#{number}}}", f"outer::$_{number - 1}")
    return name


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize(("text", "expected"), CPLUSPLUS, ids=[row[0] for row in CPLUSPLUS])
def test_cplusplus(spelled: Callable[[str], ModuleSymbols], compiler: str, text: str, expected: list[str]) -> None:
    names = [as_clang_numbers(name) for name in expected] if compiler == "clang++" else expected
    assert matched(spelled(compiler), text) == {scoped(name) for name in names}


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_all_overloads_constructors_and_destructors_are_there(
    spelled: Callable[[str], ModuleSymbols], compiler: str
) -> None:
    module = spelled(compiler)
    found = {
        name: [f.raw_name for f in module.functions if f.name == name] for name in ("shop::price", "shop::Money::Money")
    }
    assert found["shop::price"] == ["_ZN4shop5priceEi", "_ZN4shop5priceEii"]
    kinds = {raw.removeprefix("_ZN4shop5Money")[1:] for raw in found["shop::Money::Money"]}
    assert {kind[2:] for kind in kinds} == {"v", "l"}
    destructors = {f.raw_name.removeprefix("_ZN4shop7Virtual") for f in module.functions if "~Virtual" in f.name}
    assert "D0Ev" in destructors and "D1Ev" in destructors
    assert not [f for f in module.functions if "{unnamed}" in f.name]


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize(
    ("wanted", "best"),
    [
        ("shop::current", "shop::v2::current"),
        ("current", "shop::v2::current"),
        ("Shop::Outer", "shop::outer"),
        ("shop.outer", "shop::outer"),
        ("shop::price(int, int)", "shop::price"),
        ("shop::outre", "shop::outer"),
        ("shp::*", "shop::*"),
        ("shop::Mony::**", "shop::Money::**"),
        ("*::closurse", "shop::Money::closures"),
        ("shop::Money::operater+", "shop::Money::operator+"),
    ],
)
def test_near_misses(spelled: Callable[[str], ModuleSymbols], compiler: str, wanted: str, best: str) -> None:
    module = spelled(compiler)
    assert matched(module, wanted) == set()
    assert nearest_functions(wanted, [module])[0] == best


RUST: list[tuple[str, list[str]]] = [
    ("spelled_rust::main", ["spelled_rust::main"]),
    ("spelled_rust::Point::*", ["spelled_rust::Point::new"]),
    ("spelled_rust::generic<*>", ["spelled_rust::generic<u8>", "spelled_rust::generic<u32>"]),
    ("*::generic<u8>", ["spelled_rust::generic<u8>"]),
    ("*::Shelf<*>::take*", ["spelled_rust::Shelf<u8>::take<u8>", "spelled_rust::Shelf<u32>::take<u32>"]),
    ("spelled_rust::closures", ["spelled_rust::closures"]),
    ("spelled_rust::closures::{closure#0}", ["spelled_rust::closures::{closure#0}"]),
    ("*::closures::{closure#1}::{closure#0}", ["spelled_rust::closures::{closure#1}::{closure#0}"]),
    ("*::closures::{closure}", [f"spelled_rust::closures::{{closure#{number}}}" for number in (0, 1)]),
    ("*::closures::{{closure}}", [f"spelled_rust::closures::{{closure#{number}}}" for number in (0, 1)]),
    ("<*Point as *Shape>::area", ["<spelled_rust::Point as spelled_rust::Shape>::area"]),
    ("<* as spelled_rust::Shape>::*", ["<spelled_rust::Point as spelled_rust::Shape>::area"]),
    ("<spelled_rust::Point as core::fmt::Display>::fmt", ["<spelled_rust::Point as core::fmt::Display>::fmt"]),
    ("spelled_rust::Shape::twice<*>", ["spelled_rust::Shape::twice<spelled_rust::Point>"]),
    ("*::later", ["spelled_rust::later"]),
    ("spelled_rust::**::area", ["spelled_rust::shapes::round::area"]),
    ("**::area", ["spelled_rust::shapes::round::area", "<spelled_rust::Point as spelled_rust::Shape>::area"]),
]


@pytest.mark.parametrize("mangling", ["legacy", "v0"])
def test_rust(build_program: BuildProgram, mangling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Old compilers know only one of the two without this, new ones the other."""
    monkeypatch.setenv("RUSTC_BOOTSTRAP", "1")
    flags = [f"-Csymbol-mangling-version={mangling}", "-Zunstable-options"]
    module = ElfResolver().module(str(build_program("symbols/spelled_rust", *flags)))
    assert {text: matched(module, text) for text, _ in RUST} == {
        text: {scoped(name) for name in expected} for text, expected in RUST
    }
    (body,) = matched(module, "*::later::*")  # of an async function; compilers call it differently
    assert body.startswith(scoped("spelled_rust::later::{"))
