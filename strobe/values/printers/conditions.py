"""What a type may refuse to be: its description says by a number whether memory holds one of it."""

from __future__ import annotations

from collections.abc import Callable

from strobe.values.decode.shapes import Decoding, problem
from strobe.values.memory.recipes import Recipe, Steps
from strobe.values.model import Problem
from strobe.values.printers.names import without_arguments

MOST = 1 << 40  # what claims to have more elements was never made


def add_if(recipe: Recipe, valid: Steps, add: Callable[[], None]) -> None:
    """Adds steps that run only where `valid` gives a number other than 0; always where `valid` is empty."""
    if not valid:
        add()
        return
    recipe.numbers(valid)
    recipe.note()
    with recipe.when():
        add()


def refusal(valid: Steps, type_name: str, decoding: Decoding) -> Problem | None:
    """Why nothing was read but `valid`."""
    if not valid:
        return None
    item = decoding.next()
    if not item.is_there:
        return problem(item)
    return None if item.number else none_of(type_name)


def none_of(type_name: str) -> Problem:
    """Memory holds something else, or not yet."""
    return Problem(f"<no valid {without_arguments(type_name)}>")
