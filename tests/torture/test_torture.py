"""Random actions over living programs, native and portable: the programs stay right, what Strobe says is so, nothing is
left behind, and the daemon's memory and descriptors stay flat. docs/testing.md has how to run it for long."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.torture.kinds import Built, build_all
from support.torture.torture import EPOCH_SECONDS, Torture

from strobe.mcp import daemon

MINUTES = float(os.environ.get("STROBE_TORTURE", "0"))  # of each form
SEED = os.environ.get("STROBE_TORTURE_SEED")
FORMS = os.environ.get("STROBE_TORTURE_FORM", "native portable").split()
IS_LONG = MINUTES > 0
LANES = 2
AT_ONCE = 5  # programs of a lane
STEPS = 60 if IS_LONG else 25
SECONDS = MINUTES * 60 if IS_LONG else 6.0
SHORT_SEED = "1"


@pytest.fixture(scope="module")
def built(build_program: Callable[..., Path], program_cache: Path) -> Built:
    return build_all(build_program, program_cache, IS_LONG)


@pytest.fixture(autouse=True)
def daemon_ends(strobe_home: Path) -> Iterator[None]:
    yield
    daemon.stop(strobe_home)


def seeds() -> list[str]:
    if SEED is not None:
        return [SEED]
    chosen = str(random.SystemRandom().randrange(10**9))
    return [chosen] if IS_LONG else [SHORT_SEED, chosen]


@pytest.mark.timeout(SECONDS + 3 * EPOCH_SECONDS)
@pytest.mark.parametrize("form", FORMS)
def test_torture(built: Built, form: str, strobe_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)  # of the daemon, which the first connection starts
    for place, seed in enumerate(seeds()):
        print(f"{form}: STROBE_TORTURE_SEED={seed}", flush=True)
        folder = tmp_path / str(place)
        folder.mkdir()
        Torture(strobe_home, folder, built, seed, form, LANES).run(SECONDS, STEPS, AT_ONCE)
