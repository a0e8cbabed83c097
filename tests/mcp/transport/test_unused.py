"""What the daemon has read of a program goes when nobody has asked about it for a while, or asks anything at all."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest
from support.mcp_wire import WAIT_SECONDS, Wire
from support.programs import PROGRAMS
from support.wait import wait_until

from strobe.mcp.server import Server
from strobe.symbols import module

CHECKS_PER_IDLE_TIME = 20


def test_an_idle_daemon_lets_go_of_types(
    build_program: Callable[..., Path], strobe_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "IDLE_S", 1.0)
    program = build_program("hello")
    strobe_home.mkdir(mode=0o700)
    server = Server(str(strobe_home), idle_s=0.2 * CHECKS_PER_IDLE_TIME)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        wait_until(lambda: (strobe_home / "strobe.sock").exists(), "the daemon to listen")
        with Wire.to(strobe_home) as wire:
            asked = {"command": str(program), "projectRoot": str(PROGRAMS), "trace": ["*"], "wait": {"until": "exit"}}
            assert wire.call("debug_launch", **asked)["structuredContent"]["ended"]["exitCode"] == 0
            resolver = server.debugger.sessions()._resolver
            details = resolver.details(str(program))
            assert details is not None
            assert details.types.find("int")
            units = weakref.ref(details.debug_info.dwarf)
            del details
            wait_until(lambda: units() is None, "what was read of types to go")
            assert (again := resolver.details(str(program))) is not None
            assert again.types.find("int")
    finally:
        server.stop()
        server.debugger.close()
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()
