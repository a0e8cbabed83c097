"""Debug information of level 1 (-g1): lines and inlined calls, but no namespaces, types and parameters."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from support.programs import PROGRAMS, build

from strobe.symbols import ElfResolver, ModuleSymbols

Levels = tuple[ModuleSymbols, ModuleSymbols]


@pytest.fixture(scope="module", params=["-O0", "-O1"])
def levels(program_cache: Path, request: pytest.FixtureRequest) -> Levels:
    """The same program with all debug information and with level 1; the code is the same."""
    source = PROGRAMS / "symbols/naming.cpp"
    full, minimal = (build(source, (level, request.param), None, program_cache) for level in ("-g", "-g1"))
    return ElfResolver().module(str(full)), ElfResolver().module(str(minimal))


def own(names: Iterable[str]) -> set[str]:
    """Without the standard library's, whose template arguments symbols spell in another way."""
    return {name for name in names if not name.startswith(("std::", "__gnu_cxx::"))}


def test_functions_have_their_whole_names(levels: Levels) -> None:
    full, minimal = ({function.address: function.name for function in module.functions} for module in levels)
    assert set(minimal) == set(full)
    assert own(minimal.values()) == own(full.values())
    assert "shop::Money::Money" in minimal.values()


def test_inlined_functions_have_them_too(levels: Levels) -> None:
    """gcc leaves some sites out of -g1, but what it has is called as elsewhere."""
    full, minimal = (own(module.inlined_sites) for module in levels)
    static = {"hidden"}  # has no linkage name, as nothing links to it
    assert minimal - static <= full
    assert len(minimal) > 2 or len(full) == 0
