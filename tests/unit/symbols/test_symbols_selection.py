"""From patterns to functions: which modules are searched, what is left out, and what is said about nothing found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support import programs

from strobe.model import FunctionSymbol
from strobe.symbols import ElfResolver, ModuleSymbols, Pattern, Selection, select, unsafe_reason
from strobe.symbols.select.nearest import nearest_names

BuildProgram = Callable[..., Path]


def module(path: str, *names: str, debug: bool = True) -> ModuleSymbols:
    functions = [
        FunctionSymbol(name, name, path, 16 * index, 16, "/p/src/main.cpp" if debug else None, 1, exported=True)
        for index, name in enumerate(names, 1)
    ]
    return ModuleSymbols(path, None, 0, functions, has_debug_info=debug, has_symtab=debug)


def chosen(*texts: str, modules: list[ModuleSymbols], root: str | None = None) -> Selection:
    return select([Pattern.parse(text, root) for text in texts], modules)


def found(selection: Selection) -> list[str]:
    return [function.name for function in selection.functions]


def test_names_are_looked_for_in_the_program_and_its_libraries_but_not_in_the_runtime() -> None:
    modules = [
        module("/p/app", "ns::f", "main"),
        module("/p/libown.so", "ns::g"),
        module("/lib/x86_64-linux-gnu/libc.so.6", "ns::h", "puts"),
        module("/usr/lib/libstdc++.so.6.0.30", "ns::i"),
        module("/lib64/ld-linux-x86-64.so.2", "ns::j"),
        module("/tmp/frida-0/frida-agent-64.so", "ns::k"),
    ]
    assert found(chosen("ns::*", modules=modules)) == ["ns::f", "ns::g"]
    assert found(chosen("@lib:libc.so", modules=modules)) == ["ns::h", "puts"]
    assert found(chosen("@lib:libown.so", "ns::*", modules=modules)) == ["ns::g", "ns::f"]


@pytest.mark.parametrize(
    "name", ["libcurl.so.4", "libmagic.so.1", "libpthreadpool.so", "librtmp.so.1", "libdlib.so", "libm17n.so"]
)
def test_libraries_that_only_sound_like_the_runtime_are_searched(name: str) -> None:
    assert found(chosen("f", modules=[module("/p/app", "main"), module(f"/lib/{name}", "f")])) == ["f"]


def test_matches_are_reported_by_pattern_and_each_function_once() -> None:
    selection = chosen("ns::*", "**", "none", modules=[module("/p/app", "ns::f", "main")])
    assert {text: [f.name for f in functions] for text, functions in selection.matches.items()} == {
        "ns::*": ["ns::f"],
        "**": ["ns::f", "main"],
        "none": [],
    }
    assert found(selection) == ["ns::f", "main"]


def test_functions_that_must_not_be_hooked_are_left_out_with_a_reason() -> None:
    app = module("/p/app", "main", "setjmp", "_start", "_Unwind_Resume", "swapcontext", "__asan_init", "_exit")
    selection = chosen("*", modules=[app])
    assert found(selection) == ["main", "_exit"]
    assert len(selection.warnings) == 3  # start code and sanitizer are not worth a word
    assert any(w.startswith("Not traced: setjmp: it returns twice") for w in selection.warnings)


UNSAFE = """
    vfork _setjmp __sigsetjmp makecontext __register_frame_info __gxx_personality_v0 dl_iterate_phdr _dl_find_object
    pthread_getspecific __tls_get_addr clone3 __restore_rt _init __interceptor_malloc
"""


@pytest.mark.parametrize("name", UNSAFE.split())
def test_unsafe_functions(name: str) -> None:
    assert unsafe_reason(FunctionSymbol(name, name, "/p/app", 1, 1)) is not None
    assert unsafe_reason(FunctionSymbol(f"my_{name}", f"my_{name}", "/p/app", 1, 1)) is None


def test_functions_of_the_engine_are_unsafe_whatever_their_name() -> None:
    assert unsafe_reason(FunctionSymbol("f", "f", "/tmp/frida-123/frida-agent-64.so", 1, 1)) is not None


def test_what_is_inlined_everywhere_is_said(build_program: BuildProgram) -> None:
    symbols = ElfResolver().module(str(build_program("symbols/inlined", "-O0")))
    selection = chosen("small", "shared", modules=[symbols])
    assert found(selection) == ["shared"]
    assert [w for w in selection.warnings if "small" in w] == [
        "'small' is inlined at 3 sites and has no copy of its own: its calls cannot be seen, and no event does not "
        "mean that it was not called. A probe at NAME:inlined records them there; built with -fno-inline they are "
        "calls."
    ]
    assert selection.partly_inlined == {"shared": 1}
    assert any(w.startswith("'shared' is partly inlined: calls of its own copy are rec") for w in selection.warnings)


@pytest.mark.parametrize("pattern", ["@usercode", "@file:inlined.c"])
def test_what_is_inlined_is_said_of_files_too(build_program: BuildProgram, pattern: str) -> None:
    symbols = ElfResolver().module(str(build_program("symbols/inlined", "-O0")))
    selection = chosen(pattern, modules=[symbols], root=str(programs.PROGRAMS))
    assert {"never", "shared", "main"} <= set(found(selection))
    assert any(w.startswith("'small' is inlined at 3 sites") for w in selection.warnings)
    assert selection.partly_inlined == {"shared": 1}
    elsewhere = chosen("@usercode", "@file:other.c", modules=[symbols], root="/nowhere")
    assert not any("inlined" in warning for warning in elsewhere.warnings)


def test_many_inlined_functions_are_one_warning() -> None:
    app = module("/p/app", "main")
    app.inlined_sites = {f"ns::f{number}": number for number in range(1, 10)}
    (warning,) = chosen("ns::*", modules=[app]).warnings
    assert warning.startswith("9 functions that match 'ns::*'") and "ns::f9 (9), ns::f8 (8)" in warning


def test_usercode_and_files(build_program: BuildProgram) -> None:
    symbols = ElfResolver().module(str(build_program("symbols/naming", "-O0")))
    root = str(programs.PROGRAMS)
    own = found(chosen("@usercode", modules=[symbols], root=root))
    assert "shop::closures" in own and not [name for name in own if name.startswith("std::")]
    assert found(chosen("@file:naming.cpp", modules=[symbols])) == own
    (elsewhere,) = chosen("@usercode", modules=[symbols], root="/nowhere").warnings
    assert "'/nowhere'" in elsewhere and f"{root}/symbols" in elsewhere


def test_a_program_without_any_information_says_what_to_do() -> None:
    for pattern in ("*", "@usercode"):
        (warning,) = chosen(pattern, modules=[module("/p/app", debug=False)], root="/p").warnings
        assert warning.startswith("NO_DEBUG_SYMBOLS: '/p/app'") and "-g" in warning and "@lib:NAME" in warning


def test_exported_names_are_used_where_there_is_nothing_else() -> None:
    selection = chosen("*", modules=[module("/p/app", "entry", debug=False)])
    assert found(selection) == ["entry"]
    assert "exported names alone" in selection.warnings[0]
    assert chosen("@lib:app", modules=[module("/p/app", "entry", debug=False)]).warnings == []


def test_an_exact_name_reaches_the_system_where_nothing_else_is_called_so() -> None:
    library = module("/lib/libc.so.6", "puts", "putw")
    assert found(chosen("puts", modules=[module("/p/app", "main"), library])) == ["puts"]
    own = module("/p/app", "main", "puts")
    assert {one.module for one in chosen("puts", modules=[own, library]).functions} == {"/p/app"}
    (wildcard,) = chosen("put*", modules=[module("/p/app", "main"), library]).warnings
    assert "give the exact names (puts, putw), or @lib:libc.so.6" in wildcard
    sanitizer = module("/lib/libasan.so.8", "__asan_init")
    selection = chosen("puts", modules=[module("/p/app", "main"), library, sanitizer])
    assert not selection.functions
    assert "the program has a sanitizer, libasan.so.8" in selection.warnings[0]


NAMES = [
    "audio::Mixer::process",
    "audio::Mixer::reset",
    "video::render_frame",
    "Map<int, char*>::find",
    "main",
    "a::b::deep",
]


@pytest.mark.parametrize(
    ("wanted", "best"),
    [
        ("audio::Mixer::proces", "audio::Mixer::process"),
        ("process", "audio::Mixer::process"),
        ("Audio::mixer::Process", "audio::Mixer::process"),
        ("render_farme", "video::render_frame"),
        ("Map::find", "Map<int, char*>::find"),
        ("audio::Mixer::reset(int)", "audio::Mixer::reset"),
        ("a::*", "a::b::deep"),
        ("*::renderframe", "video::render_frame"),
    ],
)
def test_nearest_names(wanted: str, best: str) -> None:
    assert nearest_names(wanted, NAMES)[0] == best


def test_nothing_is_suggested_where_nothing_is_near() -> None:
    assert nearest_names("quite_something_else", NAMES) == []
    assert nearest_names("**", NAMES) == []


def test_nearest_names_of_what_is_not_found() -> None:
    selection = chosen(
        "ns::procces", "@lib:libowm.so", modules=[module("/p/app", "ns::process"), module("/p/libown.so", "g")]
    )
    assert selection.nearest == {"ns::procces": ["ns::process"], "@lib:libowm.so": ["libown.so"]}


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("*rehash*", "* does not reach beyond '::'; '**rehash**' matches 2 functions."),
        ("raw::*::reserve", "* does not reach beyond '::'; 'raw::**::reserve' matches 1 function."),
        ("*rehasch*", "Names like it: raw::rehash_all, raw::Table<u8>::inner::rehash."),
        ("quite_something_else", ""),
    ],
)
def test_what_a_pattern_that_matches_nothing_may_have_meant(pattern: str, said: str) -> None:
    names = ("raw::Table<u8>::inner::rehash", "raw::rehash_all", "raw::Table<u8>::inner::reserve", "other")
    assert chosen(pattern, modules=[module("/p/app", *names)]).meant(pattern) == said
