from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.timelines import WrittenSession, new_session


@pytest.fixture
def make_session(tmp_path: Path) -> Iterator[Callable[..., WrittenSession]]:
    """`make_session(max_events)` gives a running session whose segment the test writes."""
    made: list[WrittenSession] = []

    def make(max_events: int = 100_000) -> WrittenSession:
        made.append(new_session(tmp_path / f"home{len(made)}", max_events))
        return made[-1]

    yield make
    for session in made:
        session.timeline.close()
        session.store.close()
