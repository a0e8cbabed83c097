"""Types beyond what gdb can confirm: names, Rust's variants, definitions elsewhere, layout, damage, threads."""

from __future__ import annotations

import random
import subprocess
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from elftools.dwarf.abbrevtable import AbbrevTable
from support import programs

from strobe.symbols import ElfResolver
from strobe.symbols.dwarf.debug_info import DebugInfo
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.formats import open_image
from strobe.symbols.types.model import Array, Enum, Record, RecordParts, Scalar, Type, Typedef
from strobe.symbols.types.module_types import Types
from strobe.symbols.types.names import is_instance, spellings
from strobe.symbols.types.text import layout

FOLDER = programs.PROGRAMS / "symbols"
Build = Callable[..., Types]


@pytest.fixture
def build(program_cache: Path) -> Build:
    """`build("types.c", "-O2")`: the types of that program."""

    def make(source: str, *flags: str, compiler: str | None = None) -> Types:
        return types_of(programs.build(FOLDER / source, flags, compiler, program_cache))

    return make


def types_of(program: Path) -> Types:
    details = ElfResolver().details(str(program))
    assert details is not None
    return details.types


def debug_info_of(program: Path) -> DebugInfo:
    with closing(open_image(str(program))) as image:
        return DebugInfo(image)


def one(types: Types, name: str) -> Type:
    (found,) = types.find(name)
    return found


def parts(types: Types, name: str) -> RecordParts:
    plain = one(types, name).bare
    assert isinstance(plain, Record)
    return plain.parts


def declared(types: Types, name: str) -> list[str]:
    return [field.type.declare(field.name) for field in parts(types, name).fields]


def test_declarations_are_spelled_as_in_c(build: Build) -> None:
    types = build("types.c")
    assert declared(types, "functions") == [
        "callback call",
        "int (*table[3])()",
        "int (*rows)[4]",
        "char* const* names",
        "const volatile int* both",
        "void (*const fixed)(int)",
    ]
    callback = one(types, "callback")
    assert isinstance(callback, Typedef)
    assert callback.target.name == "int (*)(node*, const char*, ...)"
    assert one(types, "matrix").bare.name == "int[3][5]"


def test_declarations_are_spelled_as_in_cplusplus(build: Build) -> None:
    fields = declared(build("types.cpp"), "Members")
    expected = [
        "int zoo::Plain::* field",
        "int& reference",
        "int&& moved",
        "const zoo::Plain* const fixed",
        "int (&row)[3]",
        "void (*callback)(const zoo::Plain&, int (*)[2])",
        "zoo::Members::Nested nested",
    ]
    assert [field for field in fields if field in expected] == expected


def test_lengths_of_arrays(build: Build) -> None:
    types = build("types.c")

    def last(name: str) -> tuple[int | None, bool, int | None]:
        array = parts(types, name).fields[-1].type.bare
        assert isinstance(array, Array)
        return array.dimensions[0].count, array.dimensions[0].is_computed, array.size

    assert last("flexible") == (None, False, 0)
    assert last("nothing_last") == (0, False, 0)
    vector = next(field.type.bare for field in parts(types, "numbers").fields if field.name == "vector")
    assert isinstance(vector, Array) and (vector.is_vector, vector.count, vector.size) == (True, 4, 16)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_arrays_whose_length_is_known_at_run_time(compiler: str, program_cache: Path) -> None:
    program = programs.build(FOLDER / "types.c", (), compiler, program_cache)
    resolver = ElfResolver()
    details = resolver.details(str(program))
    function = next(one for one in resolver.module(str(program)).functions if one.name == "sum")
    assert details is not None
    frame = details.frames.at(function.address + function.size - 8)
    assert frame is not None
    locals_ = {local.name: local for local in frame.calls[0].locals}
    array = locals_["copy"].type
    assert isinstance(array, Array) and array.name == "int[]"
    (dimension,) = array.dimensions
    assert (array.size, array.count, dimension.count, dimension.is_computed) == (None, None, None, True)
    if dimension.variable is not None:
        assert [local.type.size for local in locals_.values() if local.die_offset == dimension.variable] == [8]
    else:
        assert dimension.expression


def test_scalars(build: Build) -> None:
    def scalars(types: Types) -> dict[str, tuple[str, int | None]]:
        found = [(field.name, field.type.bare) for field in parts(types, "numbers").fields]
        return {name: (kind.encoding.value, kind.size) for name, kind in found if isinstance(kind, Scalar)}

    found = scalars(build("types.c"))
    assert found["flag"] == ("bool", 1)
    assert (found["sc"], found["uc"]) == (("signed char", 1), ("unsigned char", 1))
    assert (found["wide"], found["uwide"]) == (("signed", 16), ("unsigned", 16))
    assert (found["ld"], found["quad"], found["z"]) == (("float", 16), ("float", 16), ("complex", 16))
    assert found["money"] == ("decimal", 8)
    assert scalars(build("types.c", compiler="clang"))["odd"] == ("signed", 8)
    utf = parts(build("types.cpp"), "zoo::Plain").fields[1].type.bare
    assert isinstance(utf, Array) and isinstance(utf.element, Scalar) and utf.element.is_character


def test_enums_have_their_signs_and_say_when_they_are_flags(build: Build) -> None:
    types = build("types.c")

    def values(name: str) -> tuple[list[int], bool]:
        plain = one(types, name).bare
        assert isinstance(plain, Enum)
        return [enumerator.value for enumerator in plain.enumerators], plain.is_flags

    assert values("below") == ([-1, -(1 << 31), (1 << 31) - 1], False)
    assert values("huge") == ([1, (1 << 64) - 1], False)
    assert values("wide_below") == ([-5_000_000_000, 5_000_000_000], False)
    assert values("tiny") == ([1, 255], False)
    assert values("permissions") == ([1, 2, 4, 7], True)
    assert values("enum colour") == ([0, 200, 201], False)


def test_classes(build: Build) -> None:
    types = build("types.cpp")
    animal, duck, swimmer = (parts(types, name) for name in ("Animal", "zoo::Duck", "class Swimmer"))
    assert animal.vtable_pointer is not None and animal.vtable_pointer.offset == 0
    assert [(field.name, field.access) for field in animal.fields[1:]] == [
        ("age_", "protected"),
        ("asleep_", "private"),
        ("mood_", "private"),
    ]
    assert {static.name: static.value for static in animal.statics} == {"kCount": 7, "born": None, "kWeight": 1.5}
    by_clang = parts(build("types.cpp", compiler="clang++"), "Animal").statics
    assert {static.name: static.value for static in by_clang if static.name in ("fed", "kCount")} == {
        "fed": None,
        "kCount": 7,
    }
    assert [(base.type.name, base.access, base.is_virtual) for base in duck.bases] == [
        ("zoo::Swimmer", "public", False),
        ("zoo::Flyer", "private", False),
        ("zoo::Empty", "public", False),
    ]
    (virtual,) = swimmer.bases
    assert (virtual.type.name, virtual.offset, virtual.vtable_offset) == ("zoo::Animal", None, -24)
    mood = one(types, "zoo::Duck::Mood")
    assert isinstance(mood, Enum) and mood.is_scoped
    assert mood.underlying is not None and mood.underlying.name == "int8_t"


def test_template_parameters(build: Build) -> None:
    types = build("types.cpp")
    box = next(kind for kind in types.find("zoo::Box") if isinstance(kind, Record) and kind.size == 12)
    assert [(p.name, p.type.name, p.is_type, p.value) for p in box.parts.template_parameters] == [
        ("T", "int", True, None),
        ("N", "int", False, 3),
        ("Flag", "bool", False, 1),
    ]
    (pack,) = types.find("Pack")
    assert isinstance(pack, Record)
    assert [p.type.name for p in pack.parts.template_parameters] == ["int", "char", "zoo::Plain"]


def test_variants_of_rust(build: Build) -> None:
    types = build("types.rs")

    def chosen(name: str, *values: int) -> list[str | None]:
        part = parts(types, name).variants
        assert part is not None
        return [None if (variant := part.choose(value)) is None else variant.name for value in values]

    assert chosen("types::Far", 1, 0xFFFF_FFFF_FFFF_FFF0, -16, 2) == ["Near", "Away", "Away", None]
    assert chosen("types::Shape", 1 << 63, 3, (1 << 63) + 2) == ["Circle", "Square", "Nothing"]
    assert chosen("types::Single", 0) == ["Only"]
    assert chosen("Option<u8>", 0, 1) == ["None", "Some"]
    niche = next(name for name in types.names() if name.startswith("core::option::Option<alloc::boxed::Box<types::"))
    assert chosen(niche, 0, 0x7FFF_0000) == ["None", "Some"]
    assert parts(types, "&[i64]").is_slice and parts(types, "&str").is_slice
    assert parts(types, "(i8, bool, f32)").is_tuple and parts(types, "types::Pair").is_tuple
    assert one(types, "Level").size == 1 and not parts(types, "Point").is_tuple
    assert next(f.type.name for f in parts(types, "All").fields if f.name == "array") == "[[u8; 3]; 2]"


@pytest.mark.parametrize("flags", ["-O0", "-O0 -fdebug-types-section", "-gdwarf-4 -fdebug-types-section", "-O2 -flto"])
def test_a_declared_type_is_the_one_that_another_unit_defines(flags: str, tmp_path: Path) -> None:
    sources = {
        "user.cpp": "namespace n { struct Hidden; } struct Nowhere; struct User { n::Hidden* h; Nowhere* w; } user;",
        "definer.cpp": "namespace n { struct Hidden { long a; char b; } hidden; } int main() { return 0; }",
    }
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    command = [programs.require("g++"), "-g", *flags.split(), *sources, "-o", "program"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    types = types_of(tmp_path / "program")
    hidden, nowhere = (field.type.bare.target for field in parts(types, "User").fields)  # type: ignore[attr-defined]
    assert (hidden.name, hidden.size, hidden.is_declaration) == ("n::Hidden", 16, False)
    assert [field.name for field in hidden.parts.fields] == ["a", "b"]
    assert (nowhere.name, nowhere.size, nowhere.is_declaration) == ("Nowhere", None, True)
    assert layout(nowhere) == "struct Nowhere;  // only declared: no unit of this file defines it"


def test_names_that_people_write(build: Build) -> None:
    types = build("types.cpp")
    for name in ("unsigned long", "long unsigned int", "unsigned long int"):
        assert isinstance(one(types, name), Scalar)
    assert [kind.name for kind in types.find("optional")] == ["std::optional<long int>"]
    assert types.find("nothing_like_it") == types.find("") == types.find("struct ") == types.find("enum Duck") == []
    assert spellings("long long unsigned") == [
        "long long unsigned",
        "long long unsigned int",
        "unsigned long long",
    ]
    assert is_instance("std::vector<int, std::allocator<int> >", "vector")
    assert not is_instance("std::vector<int>::iterator<int>", "vector")
    assert not is_instance("bitvector<int>", "vector")


LAYOUT = """\
/* offset   size */
                     struct holes {
/*      0      1 */      char a;
                         // a hole of 7 bytes
/*      8      8 */      double b;
/*     16      1 */      char c;
                         // a hole of 15 bytes
/*     32      4 */      int d;
/*     36      2 */      short int e;
                     };  // 64 bytes, aligned to 32; 22 bytes in 2 holes, 26 bytes free at the end"""
NESTED = """\
/* offset   size */
                     struct anonymous {
/*      0      4 */      int kind;
                         union {
/*      4      4 */          int whole;
                             struct {
/*      4      2 */              short int low;
/*      6      2 */              short int high;
/*      4      4 */          };
/*      4      4 */          float real;
/*      4      4 */      };
                         struct {
/*      8      4 */          int x;
/*     12      4 */          int y;
/*      8      8 */      } place;
                     };  // 16 bytes"""


def test_layout(build: Build) -> None:
    types = build("types.c")
    assert layout(one(types, "struct holes")) == LAYOUT
    assert layout(one(types, "anonymous")) == NESTED
    assert "/*    5.0    13b */      unsigned int c : 13;" in layout(one(types, "tight"))
    assert layout(one(types, "long double")) == "long double;  // 16 bytes, float"
    assert layout(one(types, "permissions")).startswith("enum permissions : unsigned int {\n    READ = 1,\n")


def test_every_type_has_a_layout(build: Build) -> None:
    for source in ("types.c", "types.cpp"):
        types = build(source)
        for name in types.names():
            assert all(layout(kind) and "{unnamed}" not in kind.name for kind in types.find(name))


def test_threads_read_the_same_types(build: Build) -> None:
    types = build("types.cpp", "-gdwarf-5", "-fdebug-types-section")
    names = types.names()[:120]
    answers: list[list[str]] = []

    def read() -> None:
        answers.append([layout(kind) for name in names for kind in types.find(name)])

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(answers) == 4 and all(answer == answers[0] for answer in answers)


def test_abbreviations_are_those_of_pyelftools(program_cache: Path) -> None:
    for source in ("types.c", "types.cpp"):
        path = programs.build(FOLDER / source, ("-gdwarf-5",), None, program_cache)
        dwarf = debug_info_of(path).dwarf
        for unit in dwarf.iter_CUs():
            offset = unit["debug_abbrev_offset"]
            own = dwarf.get_abbrev_table(offset)
            for code, other in AbbrevTable(unit.structs, dwarf.debug_abbrev_sec.stream, offset)._abbrev_map.items():
                entry = own.get_abbrev(code)
                assert (entry["tag"], entry.has_children()) == (other["tag"], other.has_children())
                specs = [[(s.name, s.form, s.value) for s in table["attr_spec"]] for table in (entry, other)]
                assert specs[0] == specs[1]
            with pytest.raises(KeyError):
                own.get_abbrev(1 << 20)


@pytest.mark.parametrize("flags", ["-gdwarf-5", "-gdwarf-4 -fdebug-types-section"])
def test_damaged_types_raise_nothing_else(flags: str, program_cache: Path, tmp_path: Path) -> None:
    good = programs.build(FOLDER / "types.c", flags.split(), None, program_cache)
    with closing(open_image(str(good))) as image:
        sections = [s for s in image.sections() if s.name in (".debug_info", ".debug_abbrev", ".debug_types")]
    choose = random.Random(3)
    failures = 0
    for number in range(25):
        content = bytearray(good.read_bytes())
        for _ in range(choose.choice((1, 5, 40))):
            section = choose.choice(sections)
            content[section.offset + choose.randrange(section.size)] = choose.choice((0, 0x7F, 0x80, 0xFF))
        path = tmp_path / f"damaged{number}"
        path.write_bytes(content)
        failures += read_all(path)
    assert failures > 0


def read_all(path: Path) -> int:
    """How many types could not be read."""
    failures = 0
    types = Types(debug_info_of(path))
    try:
        names = types.names()
    except UNREADABLE:
        return 1
    for name in names:
        try:
            assert all(layout(kind) for kind in types.find(name))
        except UNREADABLE:
            failures += 1
    return failures
