"""Programs with debug information in every form that compilers, linkers and objcopy give it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from oracle import corpus_dies, corpus_rows
from support import programs

from strobe._core import DwarfIndex

BuildProgram = Callable[..., Path]


@dataclass(frozen=True)
class Variant:
    """`objcopy`: what is done to the built program."""

    program: str
    compiler: str
    flags: str
    objcopy: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.program.removeprefix("symbols/"), self.compiler, self.flags, self.objcopy)))

    def build(self, build_program: BuildProgram, folder: Path) -> Path:
        try:
            built = build_program(self.program, *self.flags.split(), compiler=self.compiler)
        except pytest.fail.Exception as error:
            if "-fuse-ld" not in self.flags:
                raise
            pytest.skip(f"no linker for {self}: {error}")
        if not self.objcopy:
            return built
        copy = folder / built.name
        command = [programs.require("objcopy"), self.objcopy, str(built), str(copy)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60)
        if result.returncode != 0:
            pytest.skip(f"objcopy {self.objcopy}: {result.stderr.strip()}")
        return copy

    @property
    def has_files(self) -> bool:
        """Whether pyelftools 0.33 can read the line tables: not those of the GNU assembler in the 64-bit format."""
        return not ("gdwarf64" in self.flags and self.compiler.startswith("g"))


def plain_copy(program: Path, folder: Path) -> Path:
    """The same program with its debug sections decompressed, for readers that cannot do that."""
    copy = folder / f"{program.name}-plain"
    command = [programs.require("objcopy"), "--decompress-debug-sections", str(program), str(copy)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return copy


_SECTIONS = "-ffunction-sections -fdata-sections -Wl,--gc-sections"
VARIANTS = [
    Variant("symbols/inlined", "gcc", "-O0"),
    Variant("symbols/inlined", "gcc", "-O2 -g3"),
    Variant("symbols/inlined", "clang", "-O2"),
    Variant("symbols/naming", "g++", "-O0"),
    Variant("symbols/naming", "g++", "-O0 -gdwarf-3 -gstrict-dwarf"),
    Variant("symbols/naming", "g++", "-O2 -gdwarf-4 -g3"),
    Variant("symbols/naming", "g++", "-O2 -flto"),
    Variant("symbols/naming", "g++", "-O0 -gdwarf-4 -fdebug-types-section"),
    Variant("symbols/naming", "g++", "-O0 -gdwarf-5 -fdebug-types-section"),
    Variant("symbols/naming", "g++", "-O0 -gdwarf-5 -gdwarf64"),
    Variant("symbols/naming", "g++", "-O2 -gdwarf-4 -gdwarf64"),
    Variant("symbols/naming", "g++", "-O2 -gz=zlib"),
    Variant("symbols/naming", "g++", "-O1 -gdwarf-4", "--compress-debug-sections=zlib-gnu"),
    Variant("symbols/naming", "g++", "-O1", "--compress-debug-sections=zstd"),
    Variant("symbols/naming", "clang++", "-O0"),
    Variant("symbols/naming", "clang++", "-O2 -gdwarf-4"),
    Variant("symbols/naming", "clang++", "-O1 -gdwarf-3"),
    Variant("symbols/naming", "clang++", "-O0 -gdwarf-5 -fdebug-types-section"),
    Variant("symbols/naming", "clang++", "-O0 -gdwarf-5 -gdwarf64"),
    Variant("symbols/split", "g++", f"-O2 -freorder-blocks-and-partition {_SECTIONS}"),
    Variant("symbols/split", "g++", "-O2 -gdwarf-4 -freorder-blocks-and-partition"),
    Variant("symbols/split", "clang++", f"-O2 {_SECTIONS}"),
    Variant("symbols/split", "g++", f"-O0 {_SECTIONS}"),
    Variant("symbols/split", "g++", "-O2 -flto -fdebug-types-section"),
    Variant("symbols/split", "clang++", "-O2 -flto -fuse-ld=gold"),
    Variant("symbols/variables", "g++", "-O0 -gdwarf-4 -fdebug-types-section"),
    Variant("symbols/variables", "clang++", "-O2 -gdwarf-5"),
    Variant("symbols/rustic", "rustc", "-Cprefer-dynamic=yes"),
    Variant("symbols/rustic", "rustc", "-Cprefer-dynamic=yes -Copt-level=3"),
]


@dataclass(frozen=True)
class Subject:
    """A program of the corpus: what the scanner finds in it, and all its DIEs."""

    program: Path
    index: DwarfIndex
    dies: corpus_dies.Dies


def read(program: Path, folder: Path, *, has_files: bool = True) -> Subject:
    """`folder`: for a copy that pyelftools can read."""
    dies = corpus_dies.read(plain_copy(program, folder), has_files=has_files)
    return Subject(program, corpus_rows.scan(program), dies)
