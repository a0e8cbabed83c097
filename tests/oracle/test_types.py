"""Types are those of gdb: sizes, fields with their bits, bases, enumerators, arrays, three levels deep.

STROBE_BIG_ORACLE=1 adds more compilers' variants, and 300 types of each program in STROBE_BIG_PROGRAMS.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from oracle import gdb_oracle
from support import programs

from strobe.symbols import ElfResolver
from strobe.symbols.types.model import (
    Array,
    Encoding,
    Enum,
    Function,
    MemberPointer,
    Pointer,
    Record,
    RecordParts,
    Reference,
    Scalar,
    Type,
    Void,
)
from strobe.symbols.types.module_types import Types

Described = dict[str, Any]
DEPTH = 3
FLOATS = (Encoding.FLOAT, Encoding.COMPLEX, Encoding.DECIMAL)
AMBIGUOUS = ("complex", "std::__conditional<")  # clang's name of all complex types; an alias template's
KEYWORDS = {0x02: "class ", 0x13: "struct ", 0x17: "union ", 0x04: "enum "}

IS_BIG = os.environ.get("STROBE_BIG_ORACLE") == "1"
BIG_PROGRAMS = [path for path in os.environ.get("STROBE_BIG_PROGRAMS", "").split(os.pathsep) if path and IS_BIG]
C_VARIANTS = [
    ("gcc", "-O0"),
    ("gcc", "-O2 -flto"),
    ("gcc", "-gdwarf-3 -gstrict-dwarf"),
    ("gcc", "-gdwarf-5 -fdebug-types-section"),
    ("clang", "-O0"),
    ("clang", "-gdwarf-4 -O2"),
    ("clang", "-gdwarf-2"),
]
CPLUSPLUS_VARIANTS = [
    ("g++", "-O2 -flto"),
    ("g++", "-gdwarf-4 -fdebug-types-section"),
    ("g++", "-gdwarf-5 -fdebug-types-section"),
    ("clang++", "-O0"),
    ("clang++", "-gdwarf-5 -fdebug-types-section -O2"),
]
if IS_BIG:
    C_VARIANTS += [("gcc", "-gdwarf-4"), ("gcc", "-gdwarf64 -O2"), ("clang", "-gdwarf-4 -O2 -flto")]
    CPLUSPLUS_VARIANTS += [("g++", "-O0"), ("g++", "-gdwarf-4"), ("clang++", "-gdwarf-4 -fdebug-types-section")]


def types_of(program: Path) -> Types:
    details = ElfResolver().details(str(program))
    assert details is not None
    return details.types


def describe(kind: Type, depth: int) -> Described:
    """As gdb_types.py does it."""
    plain = kind.bare
    if depth == 0 or isinstance(plain, (Void, Function)) or (isinstance(plain, MemberPointer) and plain.is_function):
        return {"kind": kind_of(plain)}
    if plain.own_name == "decltype(nullptr)":
        return {"kind": "void"}  # for gdb
    answer: Described = {"kind": kind_of(plain), "size": plain.size or 0}
    if isinstance(plain, Array):
        return describe_array(plain, depth)
    if isinstance(plain, (Pointer, Reference, MemberPointer)):
        answer["target"] = describe(plain.target, depth - 1)
    elif isinstance(plain, Enum):
        answer["enumerators"] = [[one.name, one.value % (1 << 64)] for one in plain.enumerators]
    elif isinstance(plain, Record):
        answer["name"] = plain.own_name
        answer |= describe_parts(plain.parts, depth)
    elif isinstance(plain, Scalar):
        answer["signed"] = None if plain.encoding in FLOATS else plain.is_signed
    return answer


def kind_of(plain: Type) -> str:
    if isinstance(plain, Record):
        return "union" if plain.kind == "union" else "struct"
    if isinstance(plain, Reference):
        return "rvalue reference" if plain.is_rvalue else "reference"
    if isinstance(plain, MemberPointer):
        return "method pointer" if plain.is_function else "member pointer"
    names = {Pointer: "pointer", Array: "array", Enum: "enum", Function: "function", Void: "void"}
    return names.get(type(plain), "scalar")


def describe_array(plain: Array, depth: int) -> Described:
    answer = describe(plain.element, depth)
    size = plain.stride
    for dimension in reversed(plain.dimensions):
        size = (size or 0) * (dimension.count or 0)
        answer = {"kind": "array", "size": size, "count": dimension.count or 0, "element": answer}
    return answer


def describe_parts(parts: RecordParts, depth: int) -> Described:
    """For gdb the discriminant and the variants of a Rust enum are fields like others."""
    fields = list(parts.fields)
    if parts.variants is not None:
        every = (parts.variants.discriminant, *(variant.field for variant in parts.variants.variants))
        fields += [field for field in every if field is not None]
    return {
        "fields": [[f.name, f.bit_offset, f.bit_size or 0, describe(f.type, depth - 1)] for f in fields],
        "bases": [[None if b.offset is None else 8 * b.offset, describe(b.type, depth - 1)] for b in parts.bases],
        "statics": [[s.name, describe(s.type, depth - 1)] for s in parts.statics],
    }


def compare(program: Path, folder: Path) -> int:
    """How many types were compared: all that gdb finds by their name."""
    count, wrong = compared(program, names_of(program), folder)
    assert wrong == []
    return count


def compared(program: Path, question: list[str], folder: Path) -> tuple[int, list[str]]:
    """(how many gdb knows, what differs)."""
    types = types_of(program)
    answer = gdb_oracle.ask("gdb_types.py", program, question, folder)
    known = {name: expected for name, expected in answer.items() if expected is not None}
    return len(known), [text for name, expected in known.items() for text in verdict(types, name, expected)]


def names_of(program: Path) -> list[str]:
    """All, with the keyword that C wants before them."""
    details = ElfResolver().details(str(program))
    assert details is not None
    rows = details.debug_info.named.types
    every = [rows.row(number) for number in range(len(rows.names()))]
    return [f"{KEYWORDS.get(row.tag, '')}{row.name}" for row in every if not row.name.startswith(AMBIGUOUS)]


def verdict(types: Types, name: str, expected: Described) -> list[str]:
    """What differs."""
    found = types.find(name)
    return list(differences(normal(describe(found[0], DEPTH)), normal(expected), name)) if found else [f"no {name}"]


def differences(found: Any, expected: Any, path: str) -> Iterator[str]:
    if isinstance(found, dict) and isinstance(expected, dict) and found.keys() == expected.keys():
        for key, value in found.items():
            if (key, value) == ("name", ""):
                continue  # gdb takes that of a typedef, or makes one up
            yield from differences(value, expected[key], f"{path}.{key}")
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for number, value in enumerate(found):
            yield from differences(value, expected[number], f"{path}[{number}]")
    elif found != expected:
        yield f"{path}: {found}, gdb: {expected}"


def normal(described: Any) -> Any:
    """Names of templates are spelled in many ways."""
    if isinstance(described, list):
        return [normal(part) for part in described]
    if not isinstance(described, dict):
        return described
    plain = {key: normal(value) for key, value in described.items()}
    if "name" in plain and "<" in (plain["name"] or ""):
        plain["name"] = ""
    return plain


def build(source: str, flags: Sequence[str], compiler: str | None, cache: Path) -> Path:
    return programs.build(programs.PROGRAMS / "symbols" / source, flags, compiler, cache)


@pytest.mark.parametrize(("compiler", "flags"), C_VARIANTS)
def test_c(compiler: str, flags: str, program_cache: Path, tmp_path: Path) -> None:
    assert compare(build("types.c", flags.split(), compiler, program_cache), tmp_path) >= 40


@pytest.mark.parametrize(("compiler", "flags"), CPLUSPLUS_VARIANTS)
def test_cplusplus(compiler: str, flags: str, program_cache: Path, tmp_path: Path) -> None:
    assert compare(build("types.cpp", flags.split(), compiler, program_cache), tmp_path) >= 280


def test_rust(program_cache: Path, tmp_path: Path) -> None:
    assert compare(build("types.rs", (), None, program_cache), tmp_path) >= 200


@pytest.mark.skipif(not BIG_PROGRAMS, reason="takes minutes: STROBE_BIG_ORACLE=1 STROBE_BIG_PROGRAMS=/one:/two")
@pytest.mark.parametrize("program", BIG_PROGRAMS)
def test_big_programs(program: str, tmp_path: Path) -> None:
    """Each unit lists the static members it uses, and gdb reads another unit's class: those are not compared."""
    names = [name for name in names_of(Path(program)) if name.startswith(tuple(KEYWORDS.values()))]
    chosen = random.Random(5).sample(names, min(300, len(names)))
    count, wrong = compared(Path(program), chosen, tmp_path)
    assert [text for text in wrong if ".statics" not in text] == []
    assert count > len(chosen) // 2
