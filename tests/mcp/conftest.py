"""Every test has a daemon of its own, which is gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.mcp_wire import Wire

from strobe.mcp import daemon


@pytest.fixture(autouse=True)
def daemon_ends(strobe_home: Path) -> Iterator[None]:
    yield
    daemon.stop(strobe_home)


@pytest.fixture
def wire(strobe_home: Path) -> Iterator[Wire]:
    with Wire.to(strobe_home) as opened:
        yield opened
