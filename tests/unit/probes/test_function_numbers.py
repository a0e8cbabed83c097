"""Numbers of functions go on from session to session of one process, until there are no more."""

import pytest

from strobe.model import FunctionSymbol, LoadedModule
from strobe.session.function_ids import LAST, FunctionIds
from strobe.session.modules import TracedModule
from strobe.symbols.module_symbols import ModuleSymbols

FUNCTIONS = [FunctionSymbol(f"f{number}", f"f{number}", "/p/app", 16 * number, 16) for number in range(5)]
MODULE = TracedModule(
    LoadedModule("app", "/p/app", 0x1000, 0x1000), ModuleSymbols("/p/app", None, 0, FUNCTIONS), (1, 2, 3, 4), None
)


def test_after_the_last_number_comes_the_first() -> None:
    ids = FunctionIds(LAST - 2)
    assert ids.take(MODULE, FUNCTIONS) == [LAST - 2, LAST - 1, LAST, 1, 2]


@pytest.mark.parametrize(
    "first", [1000, pytest.param(1, marks=pytest.mark.long), pytest.param(LAST, marks=pytest.mark.long)]
)
def test_a_session_has_each_number_once(first: int) -> None:
    """Whichever it begins with."""
    many = [FunctionSymbol("f", "f", "/p/app", address, 1) for address in range(LAST + 1)]
    found = FunctionIds(first).take(MODULE, many)
    assert found[-1] == 0
    assert sorted(found[:-1]) == list(range(1, LAST + 1))
