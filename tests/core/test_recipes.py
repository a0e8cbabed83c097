"""Recipes over the memory of a real process: this one, one that is gone, one that may not be read."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import subprocess
import sys

import pytest

from strobe import _core
from strobe.errors import Code
from strobe.values.memory import recipes
from strobe.values.memory.recipes import Recipe
from strobe.values.reading import failed_process

OK, UNREADABLE = _core.RECIPE_STATUSES["OK"], _core.RECIPE_STATUSES["UNREADABLE"]
REFUSED = """
import os
from strobe import _core
os.setuid(65534)
try:
    _core.run_recipes(1, [(CODE, 8, 1)])
except OSError as error:
    print(error.errno)
"""


def reading(address: int, size: int) -> Recipe:
    recipe = Recipe()
    recipe.base(address)
    recipe.read(size)
    return recipe


def test_many_recipes_in_one_call() -> None:
    numbers = (ctypes.c_int64 * 3)(7, -8, 9)
    start = ctypes.addressof(numbers)
    wanted = [reading(start + 8 * place, 8).finished() for place in range(3)]
    found = recipes.run(os.getpid(), [*wanted, reading(8, 4).finished(), wanted[0]] * 300)  # more than one call takes
    assert [struct.unpack("<q", item.data)[0] for (item,) in found[:3]] == [7, -8, 9]
    assert [item.status for (item,) in found] == [OK, OK, OK, UNREADABLE, OK] * 300
    assert found[-1] == found[0]


def test_a_pointer_is_followed_and_a_loop_goes_over_an_array() -> None:
    numbers = (ctypes.c_int32 * 4)(1, 2, 3, 4)
    pointer = ctypes.c_void_p(ctypes.addressof(numbers))
    recipe = Recipe()
    recipe.base(ctypes.addressof(pointer))
    recipe.dereference()
    recipe.begin(4, 4)
    recipe.read(4)
    recipe.end(4)
    (items,) = recipes.run(os.getpid(), [recipe.finished()])
    assert [int.from_bytes(item.data, "little") for item in items] == [1, 2, 3, 4]


def test_nonsense_is_no_recipe() -> None:
    with pytest.raises(ValueError, match="part of a step"):
        _core.run_recipes(os.getpid(), [(b"abc", 8, 8)])
    ((status, items),) = _core.run_recipes(os.getpid(), [(bytes([99]) * 16, 8, 8)])
    assert (status, items) == (_core.RECIPE_STATUSES["MALFORMED"], [])


def test_a_process_that_is_gone() -> None:
    ended = subprocess.Popen([sys.executable, "-c", "pass"])
    ended.wait(30)
    with pytest.raises(ProcessLookupError) as caught:
        recipes.run(ended.pid, [reading(4096, 8).finished()])
    assert failed_process(caught.value, ended.pid) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_process_that_may_not_be_read() -> None:
    code = REFUSED.replace("CODE", repr(reading(4096, 8).finished()[0]))
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert told.stdout.strip() == str(errno.EPERM)
    error = failed_process(PermissionError(errno.EPERM, "no"), 1)
    assert error is not None
    assert error.code == Code.READ_FAILED
    assert "ptrace_scope" in error.next_step


def test_a_chain_of_nodes_is_followed_and_counted() -> None:
    nodes = (ctypes.c_void_p * 6)()
    places = [ctypes.addressof(nodes) + 16 * at for at in range(3)]
    nodes[0], nodes[2], nodes[4] = places[1], places[2], places[0]  # a cycle
    nodes[1], nodes[3], nodes[5] = 7, 8, 9
    recipe = Recipe()
    recipe.base(places[0])
    recipe.numbers((("CONSTANT", 0, 0, 50), ("CONSTANT", 0, 0, 0)))
    with recipe.looped("CHAIN", 4):
        recipe.add(8)
        recipe.read(8)
    ((counted, *items),) = recipes.run(os.getpid(), [recipe.finished()])
    assert (counted.status, counted.number) == (_core.RECIPE_STATUSES["CUT"], 50)
    assert [item.number for item in items] == [7, 8, 9, 7]


def test_what_has_no_room_is_missing() -> None:
    """Many loops within each other: neither more items than there is room for, nor more steps, are an error."""
    recipe = Recipe()
    recipe.base(ctypes.addressof((ctypes.c_int64 * 1)(5)))
    for _ in range(4):
        recipe.begin(100, 0)
    recipe.read(0)
    for _ in range(4):
        recipe.end(100)
    (items,) = recipes.run(os.getpid(), [recipe.finished()])
    assert len(items) == recipes.MAX_ITEMS
