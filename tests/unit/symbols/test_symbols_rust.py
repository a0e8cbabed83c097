"""Rust's v0 names without debug information: by a table from the specification, by another demangler, and by rustc."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.programs import require

from strobe import _core
from strobe.symbols import ElfResolver
from strobe.symbols.names import demangled

# what RFC 2603 and the rustc book define, one form each
FORMS = {
    "_RNvC3app4main": "app::main",
    "_RNvCs1234_7mycrate3foo": "mycrate::foo",
    "_RNvNtNtC3app5outer5inner3run": "app::outer::inner::run",
    "_RNvC3app4main.llvm.1234567": "app::main",
    "_RNCNvC3app4main0": "app::main::{closure#0}",
    "_RNCNCNvC3app4mains_0s0_0": "app::main::{closure#1}::{closure#2}",
    "_RNSNvC3app4call6vtable": "app::call::{shim:vtable#0}",
    "_RNvMC3appNtB2_6Square4side": "app::Square::side",
    "_RNvMs_C3appINtB4_5StacklE4push": "app::Stack<i32>::push",
    "_RNvMC4coreSh3len": "<[u8]>::len",
    "_RNvXs0_C3appNtB5_6SquareNtB5_5Shape4area": "<app::Square as app::Shape>::area",
    "_RNvYNtC3app6SquareNtB4_5Shape5twice": "<app::Square as app::Shape>::twice",
    "_RINvC3app3mapjReEB2_": "app::map<usize, &str>",
    "_RINvC3app3mapTEThETalEE": "app::map<(), (u8,), (i8, i32)>",
    "_RINvC3app3mapAhj3_SQcE": "app::map<[u8; 3], [&mut char]>",
    "_RINvC3app3mapPhOxzpE": "app::map<*const u8, *mut i64, !, _>",
    "_RINvC3app3mapFUKCPhElFEuE": 'app::map<unsafe extern "C" fn(*const u8) -> i32, fn()>',
    "_RINvC3app3mapFK8fastcallbEbE": 'app::map<extern "fastcall" fn(bool) -> bool>',
    "_RINvC3app3mapL_lE": "app::map<i32>",
    "_RINvC3app3mapL_E": "app::map",
    "_RINvC3app3mapRL0_lE": "app::map<&i32>",
    "_RINvC3app3mapDNtC3app5ShapeEL_E": "app::map<dyn app::Shape>",
    "_RINvC3app3mapDNtC3app5ShapeNtB2_4SendEL_E": "app::map<dyn app::Shape + app::Send>",
    "_RINvC3app3mapDG_INtC3app2FnTRL0_eEEp6OutputbEL_E": "app::map<dyn app::Fn<(&str,), Output=bool>>",
    "_RINvC3app3mapDNtC3app4Iterp4ItemhEL_E": "app::map<dyn app::Iter<Item=u8>>",
    "_RINvC3app5fixedKj1f_Klna_Kb1_Kc78_Kc27_E": "app::fixed<31, -10, true, 'x', '\\''>",
    "_RINvC3app5fixedKc1f600_Kc7_KpE": "app::fixed<'\U0001f600', '\\u{7}', _>",
    "_RINvC3app5fixedKoffffffffffffffff_Ko10000000000000000_E": "app::fixed<18446744073709551615, 0x10000000000000000>",
    "_RINvC3app5fixedKRe616263_KRe22_E": 'app::fixed<"abc", "\\"">',
    "_RINvC3app5fixedKAh1_h2_EKTh1_EE": "app::fixed<[1, 2], (1,)>",
    "_RINvC3app5fixedKVNtC3app3OffUKVNtC3app2OnTh1_EE": "app::fixed<app::Off, app::On(1)>",
    "_RINvC3app5fixedKVNtC3app2AtS1xh1_EE": "app::fixed<app::At { x: 1 }>",
    "_RNvC3appu8gre_6ka8i": None,  # the length is one too short
    "_RNvC3appu9gre_6ka8i": "app::größe",
    "_RNvNtC3appu7_1lqs71du4cb6a": "app::東京::駅",
}  # fmt: skip
# in debug information: numbers of implementations, types of closures, some constants, methods of generic types, and,
# from version to version, pointers to functions and trait objects
TOLD_OTHERWISE = re.compile(r"\{impl#|\{closure_env|\{CONST#|alloc::|Shape::|fn\(|dyn |<.*>::\w+<")
WRONG = [
    "_R",
    "_RNv",
    "_RNvC3app",
    "_RNvC9app4main",
    "_RNvC3app4mainZ",
    "_RNvB_4main",
    "_RINvC3app3mapL",
    "_R1NvC3app4main",
]


@pytest.mark.parametrize(("mangled", "name"), FORMS.items())
def test_every_form_of_the_specification(mangled: str, name: str | None) -> None:
    assert _core.demangle([mangled]) == [name]


@pytest.mark.parametrize("mangled", WRONG)
def test_what_is_not_valid_stays_as_it_is(mangled: str) -> None:
    assert _core.demangle([mangled]) == [None]
    assert demangled([mangled]) == [mangled]


def test_demangling_is_bounded() -> None:
    nested = "_RI" + "C3app" + "S" * 5_000 + "hE"
    # 60 pairs, each of which refers to the one before it twice
    pairs, before = "", "h"
    for _ in range(60):
        position = len("IC3app") + len(pairs)
        pairs += f"T{before}{before}E"
        before = f"B{base_62(position)}"
    assert _core.demangle([nested, f"_RIC3app{pairs}E", "_RNvC" + "9" * 40 + "app"]) == [None] * 3


def base_62(number: int) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    text, number = "", number - 1
    while number >= 0:
        text, number = digits[number % 62] + text, number // 62 or -1
    return f"{text}_"


def test_damaged_names_end_in_an_answer() -> None:
    choose = random.Random(1)
    letters = "0123456789_ABCDEFIKLMNOPQRSTVXYabcdefhijlmnopqrstuvxyz"
    names = []
    for _ in range(20_000):
        name = list(choose.choice(list(FORMS)))
        for _ in range(choose.randrange(1, 4)):
            name[choose.randrange(2, len(name))] = choose.choice(letters)
        names.append("".join(name))
    answers = _core.demangle(names)
    assert 100 < sum(answer is not None for answer in answers) < len(names)


def test_names_agree_with_another_demangler(build_program: Callable[..., Path]) -> None:
    """Written in other styles, so letters and their order are compared, and the brackets of paths are not."""
    program = build_program("symbols/mangling", "-Csymbol-mangling-version=v0")
    mangled = sorted(set(re.findall(r" [tT] (_R[\w.]+)$", run("nm", str(program)), re.MULTILINE)))
    theirs = run(require("c++filt"), *mangled).splitlines()
    ours = _core.demangle(mangled)
    assert len(ours) > 50 and None not in ours
    differing = [(own, other) for own, other in zip(ours, theirs, strict=True) if essence(own or "") != essence(other)]
    assert differing == []


def test_a_program_without_debug_information_has_the_names_that_its_twin_has(
    build_program: Callable[..., Path], tmp_path: Path
) -> None:
    whole = build_program("symbols/mangling", "-Csymbol-mangling-version=v0")
    bare = tmp_path / "bare"
    run("strip", "-g", "-o", str(bare), str(whole))
    own = [f for f in ElfResolver().module(str(whole)).functions if f.source_file and "mangling.rs" in f.source_file]
    by_symbol = {f.address: f.name for f in ElfResolver().module(str(bare)).functions}
    same = [f for f in own if not TOLD_OTHERWISE.search(f.name)]
    assert len(same) >= 12
    assert {f.name for f in same} == {by_symbol[f.address] for f in same}
    names = set(by_symbol.values())
    assert "<mangling::shapes::Square as mangling::shapes::Shape>::area" in names
    assert "mangling::shapes::Stack<i32>::push" in names
    assert "mangling::fixed<3, true, 'x', -5>" in names


def run(*command: str) -> str:
    return subprocess.run(command, check=True, timeout=60, capture_output=True, text=True).stdout


def essence(name: str) -> str:
    """Without crate hashes, lifetimes, types of constants, brackets, spaces and colons."""
    name = re.sub(r"\[[0-9a-f]{8,16}\]|for<[^>]*> |: (?:[iu]\w+|bool|char)\b", "", name)
    name = re.sub(r"'(?:[a-z]\d*|_)(?![\w'])(?: \+ )?", "", name).replace("'\\''", "'''")
    return re.sub(r"[<>:, ]", "", name)
