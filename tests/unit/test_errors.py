"""Errors name what the user who reads them can call: tools over MCP, commands, or functions of Python."""

from __future__ import annotations

from typing import get_args

import pytest

from strobe import errors
from strobe.errors import Interface, failure, speak_to


@pytest.fixture(params=get_args(Interface))
def interface(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(errors, "_interface", errors._interface)  # put back at the end
    speak_to(request.param)
    return str(request.param)


def test_each_interface_has_a_name_for_each_command(interface: str) -> None:
    assert all(errors.command_names()[name] for name in errors._COMMANDS["mcp"])
    ended = failure("process_exited", session_id="a-1", how="exit status 0")
    assert {"mcp": "debug_launch", "cli": "strobe run", "python": "strobe.launch"}[interface] in str(ended)
    assert ("debug_" in str(ended)) == (interface == "mcp")


def test_parameters_are_called_as_the_interface_calls_them(interface: str) -> None:
    wrong = failure("bad_value", field="timeFrom", value="-3", reason="it is negative", valid="0 or more")
    called = {"mcp": "timeFrom", "cli": "--from", "python": "time_from"}[interface]
    assert wrong.message == f"'{called}' is -3: it is negative."
    assert failure("bad_value", field="size", value=0, reason="it is 0", valid="1").message == "'size' is 0: it is 0."


def test_the_texts_of_the_table_name_no_tool() -> None:
    for name, (_, message, next_step) in errors._TABLE.items():
        assert "debug_" not in message + next_step, name
        assert message == "{reason}" or message.endswith("."), name
