"""Reads that a program must not notice: at addresses where nothing is, and of what it writes at full speed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from support.reads import ready, value
from support.sessions import Launch

from strobe.session import Session
from strobe.values import ReadTarget

WILD = 10_000
BATCH = 500
FLIPS = 2_000


@pytest.fixture
def values(build_program: Callable[..., Path], launch: Launch) -> Session:
    return ready(launch(build_program("values", "-O2")))


def test_wild_addresses_are_errors_and_the_program_lives(values: Session) -> None:
    chance = random.Random(5)
    failed = 0
    for _ in range(WILD // BATCH):
        addresses = [chance.getrandbits(64) for _ in range(BATCH)]
        sizes = [chance.choice((1, 2, 4, 8, 4096, 65536)) for _ in addresses]
        targets = [ReadTarget(address=at, size=size, type="bytes") for at, size in zip(addresses, sizes, strict=True)]
        failed += sum(result.error is not None for result in values.read(targets))
    assert failed == WILD
    assert value(values, "gTempo") == 120
    assert values.wait(0) is None


def test_a_good_target_among_wild_ones_is_read(values: Session) -> None:
    tempo = int(value(values, "&gTempo"))
    wild = [ReadTarget(address=address, size=8, type="u64") for address in (0, 8, (1 << 47) + 8, (1 << 64) - 8)]
    good = [ReadTarget(address=tempo, size=4, type="i32"), ReadTarget("gShort")]
    results = values.read([wild[0], good[0], *wild[1:], good[1]])
    assert [result.error is None for result in results] == [False, True, False, False, False, True]
    assert (results[1].value, results[-1].value) == (120, -1234)


def test_what_is_written_meanwhile_is_not_torn(values: Session) -> None:
    """The program writes 0 and all ones in turn; each word is one or the other in every aligned part."""
    flipping = int(value(values, "&gFlipping"))
    targets = [
        ReadTarget("gFlipping"),
        ReadTarget(address=flipping, type="u32"),
        ReadTarget(address=flipping + 4, type="u32"),
        ReadTarget(address=flipping + 2, type="u16"),
    ]
    allowed = ({0, -1}, {0, 2**32 - 1}, {0, 2**32 - 1}, {0, 2**16 - 1})
    for _ in range(FLIPS):
        for result, whole in zip(values.read(targets), allowed, strict=True):
            assert result.value in whole
