"""Programs that set handlers of faults past the C library: they get no fault of ours."""

from __future__ import annotations

import pytest
from support.sessions import Build, Launch, Outcome, outcome, totals

from strobe.capture.own_handlers import holds_call


@pytest.mark.parametrize("form", ["native", "portable"])
@pytest.mark.parametrize(("flag", "calls"), [("-DSHOWN", 1001), ("-DHIDDEN", 1000)])
def test_handlers_set_by_a_system_call(
    launch: Launch, build_program: Build, monkeypatch: pytest.MonkeyPatch, form: str, flag: str, calls: int
) -> None:
    """Where the code does not show what it calls, it has been called before the first event."""
    monkeypatch.setenv("STROBE_RECORDER", form)
    session = launch(build_program("sets_handlers_itself", "-O1", flag), patterns=["take"], sampling="off")
    assert outcome(session) == Outcome(f"took {calls}\n", "", 0)
    assert totals(session)["take"].count == calls


@pytest.mark.parametrize("sanitizer", ["address", "undefined"])
def test_sanitizers(launch: Launch, build_program: Build, sanitizer: str) -> None:
    program = build_program("faults", "-O1", "-Wno-infinite-recursion", f"-fsanitize={sanitizer}")
    session = launch(program, "handlers", patterns=["*"], sampling="off", depth=2)
    assert outcome(session).stdout.splitlines()[-1] == "end"


def test_code_with_a_call() -> None:
    number, call = b"\xb8\x0d\0\0\0", b"\x0f\x05"
    assert holds_call(b"\x90" * 1000 + number + b"\x4c\x89\xe7" + call)
    assert holds_call(b"\x48\xc7\xc0\x0d\0\0\0" + call)
    assert not holds_call(number + b"\x90" * 100 + call)
    assert not holds_call(number + call[:1] + b"\x90" + b"\xb8\x0e\0\0\0" + call[:1])
    assert not holds_call(b"\xb8\x0e\0\0\0" + call + b"\x90" * 64 + number)
