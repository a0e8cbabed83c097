"""Every test has a daemon of its own, which is gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.leftovers import daemons
from support.mcp_wire import Wire
from support.wait import wait_until

from strobe.mcp import daemon


@pytest.fixture(autouse=True)
def daemon_ends(strobe_home: Path) -> Iterator[None]:
    yield
    # one that lost the race of several begins to serve where it looks only after the first has ended
    wait_until(lambda: not daemon.stop(strobe_home) and not daemons(strobe_home), "the daemons to end")


@pytest.fixture
def wire(strobe_home: Path) -> Iterator[Wire]:
    with Wire.to(strobe_home) as opened:
        yield opened
