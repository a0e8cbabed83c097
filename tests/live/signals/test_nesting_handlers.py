"""Handlers whose signals come faster than a thread's recording begins do not pile up on the stack."""

from __future__ import annotations

import pytest
from support.sessions import Build, Launch, outcome, totals


@pytest.mark.parametrize("form", ["native", "portable"])
@pytest.mark.parametrize("arguments", [(), ("filtered",)], ids=["free", "filtered"])
def test_every_call_is_accounted_for(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("STROBE_RECORDER", form)
    session = launch(build_program("nests", "-O1"), *arguments, patterns=["work", "handled"])
    ended = outcome(session)
    assert (ended.status, ended.stderr) == (0, "")
    called, lost = totals(session)["handled"].count, session.timeline.loss().uncounted
    assert called + lost == int(ended.stdout.removeprefix("handled "))
    assert totals(session)["work"].count == 600_000
    assert lost < called / 10
