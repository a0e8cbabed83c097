"""Names of what pointers lead to, of libraries that come and go."""

from __future__ import annotations

from strobe.model import FunctionSymbol
from strobe.timeline.code_names import CodeNames
from strobe.timeline.store import Load


def function(name: str, address: int) -> FunctionSymbol:
    return FunctionSymbol(name, name, "/lib/plugin.so", address, 16)


def test_a_library_that_was_rebuilt_has_the_names_of_its_own_build() -> None:
    functions = {1: function("foo", 0x1100), 2: function("bar", 0x1100), 3: function("kept", 0x1200)}
    loads = [Load("/lib/plugin.so", 0x70000, 100, 200), Load("/lib/plugin.so", 0x70000, 300, None)]
    spans: dict[int, list[tuple[int, int | None]]] = {1: [(101, 200)], 2: [(301, None)], 3: [(101, 200), (301, None)]}
    names = CodeNames(functions, loads, {"/lib/plugin.so": 0}, spans)
    assert [names.at(ticks)(0x71100) for ticks in (50, 150, 250, 350)] == [None, "foo", None, "bar"]
    assert [names.at(ticks)(0x71200) for ticks in (150, 250, 350)] == ["kept", None, "kept"]
