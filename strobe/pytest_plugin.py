"""A pytest fixture, there in every project that has Strobe installed:

    def test_tempo(strobe_launch):
        player = strobe_launch(["./player", "song.mid"], trace=["audio::*"])
        player.wait(timeout=10)
        assert len(player.calls("audio::set_tempo")) == 1

A pattern that matches nothing, and calls of a name that was never traced, raise with the nearest names, so that a
misspelled test fails. Each launched program is ended, and what it recorded freed, when the test has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from strobe.api import ProgramSession


@pytest.fixture
def strobe_launch() -> Iterator[Callable[..., ProgramSession]]:
    """`strobe.launch`, with the end of the test as the end of its with block."""
    from strobe.api import launch  # only where it is used: it loads Frida

    with ExitStack() as started:

        def enter(program: Any, **options: Any) -> ProgramSession:
            return started.enter_context(launch(program, **options))

        yield enter
