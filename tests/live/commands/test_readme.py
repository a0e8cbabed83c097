"""README.md prints what its examples print: they are run as they stand there."""

from __future__ import annotations

import pytest
import replay
from support.programs import require


@pytest.mark.timeout(300)
def test_the_examples_print_what_stands_there() -> None:
    require("g++")
    blocks = replay.blocks(replay.README.read_text())
    assert [block.language for block in blocks] == ["console", "json", "python", "console"]
    with replay.clone() as where:
        for block in blocks:
            assert replay.masked(replay.replayed(block, where)) == replay.masked(block.text)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("f = 96  2.71 us\n", "f = 96  10.2 us\n", True),
        ("    3  11.6 us  f", "    3  812 ns  f", True),
        ("player-2026-11-25-00h03-3-39676048385", "player-2026-11-26-23h59-110499940353", True),
        ('"pid": 13, "depth": 0', '"pid": 4711, "depth": 0', True),
        ("f = 96  2.71 us\n", "f = 12  2.71 us\n", False),
        ("    3  11.6 us  f", "    2  11.6 us  f", False),
        ('"line": 9', '"line": 10', False),
    ],
)
def test_only_what_varies_is_masked(one: str, other: str, same: bool) -> None:
    assert (replay.masked(one) == replay.masked(other)) is same
