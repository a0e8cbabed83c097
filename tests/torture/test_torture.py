"""Random actions over living programs, native and portable: the programs stay right, what Strobe says is so, nothing is
left behind, and the daemon's memory and descriptors stay flat. docs/testing.md has how to run it for long."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.torture import daemon_state
from support.torture.kinds import Built, build_all
from support.torture.torture import EPOCH_SECONDS, Torture

from strobe.errors import StrobeError
from strobe.mcp import daemon

MINUTES = float(os.environ.get("STROBE_TORTURE", "0"))  # of each form
SEED = os.environ.get("STROBE_TORTURE_SEED")
FORMS = os.environ.get("STROBE_TORTURE_FORM", "native portable").split()
IS_LONG = MINUTES > 0
LANES = 2
AT_ONCE = 5  # programs of a lane
STEPS = 60 if IS_LONG else 25
SECONDS = MINUTES * 60 if IS_LONG else 6.0
on_demand = pytest.mark.skipif(not IS_LONG and SEED is None, reason="takes minutes: STROBE_TORTURE=MINUTES")


@pytest.fixture(scope="module")
def built(build_program: Callable[..., Path], program_cache: Path) -> Built:
    return build_all(build_program, program_cache, IS_LONG)


@pytest.fixture(autouse=True)
def daemon_ends(strobe_home: Path) -> Iterator[None]:
    yield
    pid = daemon.status(strobe_home).pid
    try:
        daemon.stop(strobe_home)
    except StrobeError:
        if pid is not None:
            print(daemon_state.stacks(pid, strobe_home / "strobe.log"), flush=True)  # what it waits for
        raise


@on_demand
@pytest.mark.timeout(SECONDS + 3 * EPOCH_SECONDS)
@pytest.mark.parametrize("form", FORMS)
def test_torture(built: Built, form: str, strobe_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)  # of the daemon, which the first connection starts
    seed = SEED or str(random.SystemRandom().randrange(10**9))
    print(f"{form}: STROBE_TORTURE_SEED={seed}", flush=True)
    Torture(strobe_home, tmp_path, built, seed, form, LANES).run(SECONDS, STEPS, AT_ONCE)
