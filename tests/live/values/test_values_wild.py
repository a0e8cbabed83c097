"""Reads that a program must not notice: at unmapped addresses, and of what it writes at full speed."""

from __future__ import annotations

import itertools
import os
import random
import re
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.reads import ready, value
from support.sessions import Launch, status
from support.short_form import short
from support.wait import wait_until

from strobe import StrobeError
from strobe.errors import Code
from strobe.session import Session
from strobe.values.reading import ReadTarget

WILD = 10_000
BATCH = 500
FLIPS = short(2_000, 500)
CASTS = 500
RELOADS_READ = 400
Build = Callable[..., Path]


@pytest.fixture
def values(build_program: Build, launch: Launch) -> Session:
    return ready(launch(build_program("values", "-O2")))


@pytest.fixture
def polled(build_program: Build, launch: Launch) -> Session:
    return ready(launch(build_program("polled", "-O2")))


def test_wild_addresses_are_errors_and_the_program_lives(values: Session) -> None:
    chance = random.Random(5)
    failed = 0
    for _ in range(WILD // BATCH):
        addresses = [chance.getrandbits(64) for _ in range(BATCH)]
        sizes = [chance.choice((1, 2, 4, 8, 4096, 65536)) for _ in addresses]
        targets = [ReadTarget(address=at, size=size, type="bytes") for at, size in zip(addresses, sizes, strict=True)]
        failed += sum(result.error is not None for result in values.reader.read(targets))
    assert failed == WILD
    assert value(values, "gTempo") == 120
    assert values.wait(0) is None


def test_a_good_target_among_wild_ones_is_read(values: Session) -> None:
    tempo = int(value(values, "&gTempo"))
    wild = [ReadTarget(address=address, size=8, type="u64") for address in (0, 8, (1 << 47) + 8, (1 << 64) - 8)]
    good = [ReadTarget(address=tempo, size=4, type="i32"), ReadTarget("gShort")]
    results = values.reader.read([wild[0], good[0], *wild[1:], good[1]])
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
        for result, whole in zip(values.reader.read(targets), allowed, strict=True):
            assert result.value in whole


def test_no_part_of_a_structure_is_torn(polled: Session) -> None:
    def scalars(found: object) -> Iterator[object]:
        if isinstance(found, list):
            for element in found:
                yield from scalars(element)
        else:
            yield found

    seen = set()
    for _ in range(FLIPS):
        flips = value(polled, "gFlips", depth=2)
        for _, field in flips:
            seen |= set(scalars(field))
    assert seen == {0, -1}


def test_pointers_out_of_any_memory_are_followed_or_refused(polled: Session) -> None:
    """Structures that are none: what their pointers lead to is anything, and anywhere."""
    chance = random.Random(7)
    mapped = [
        (int(start, 16), int(end, 16))
        for start, end in re.findall(r"^([0-9a-f]+)-([0-9a-f]+) r", Path(f"/proc/{polled.pid}/maps").read_text(), re.M)
    ]
    answers = 0
    for _ in range(CASTS // 10):
        places = [chance.choice(mapped) for _ in range(10)]
        addresses = [chance.randrange(start, end) for start, end in places]
        forms = ("((Link*){:#x})->next->next->value", "(Link*){:#x}", "((Voice*){:#x})->name", "*(Link*){:#x}")
        targets = [ReadTarget(chance.choice(forms).format(address)) for address in addresses]
        answers += len(polled.reader.read(targets, 5))
    assert answers == CASTS
    assert value(polled, "gTempo") == 120
    os.kill(polled.pid, signal.SIGUSR1)
    assert status(polled) == 3


def test_reads_while_libraries_come_and_go(launch: Launch, build_program: Build, build_plugin: Build) -> None:
    session = launch(build_program("dlopens"), str(build_plugin()), "reload")
    targets = [ReadTarget("plugin_rounds"), ReadTarget("told")]
    wait_until(lambda: session.reader.read(targets)[0].error is None, "the library")
    for _ in range(RELOADS_READ):
        library, own = session.reader.read(targets)
        assert library.error is not None or library.value == 5
        assert own.value == 0
    os.kill(session.pid, signal.SIGUSR1)
    assert status(session) == 0


@pytest.mark.parametrize(("end", "expected"), [(signal.SIGUSR1, 3), (signal.SIGKILL, -signal.SIGKILL)])
def test_reads_while_the_program_ends(polled: Session, end: int, expected: int) -> None:
    """Each gives values, or says that the program has ended, and no read changes how it ends."""
    targets = [ReadTarget("gTempo"), ReadTarget("gLinks[0]"), ReadTarget("gFlips")]
    polled.reader.read(targets, 5)
    ending = threading.Timer(0.05, os.kill, (polled.pid, end))
    with pytest.raises(StrobeError) as caught:
        for reads in itertools.count():
            tempo, *_ = polled.reader.read(targets, 5)
            assert tempo.value == 120
            if reads == 0:
                ending.start()
    assert caught.value.code is Code.PROCESS_EXITED
    assert status(polled) == expected
