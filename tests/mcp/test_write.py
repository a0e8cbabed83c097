"""debug_write as a model calls it: values of every form, errors, limits; and what another process writes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.mcp_wire import Wire
from support.processes import without_progress
from support.programs import PROGRAMS
from support.wait import wait_until


@pytest.fixture
def session(wire: Wire, build_program: Callable[..., Path]) -> str:
    return begun(wire, str(build_program("written", "-O0")))


def begun(wire: Wire, program: str) -> str:
    answer = wire.good("debug_launch", command=program, projectRoot=str(PROGRAMS))
    name: str = answer["sessionId"]
    stdout = {"sessionId": name, "eventType": "stdout"}
    wait_until(lambda: wire.good("debug_query", **stdout)["totalCount"] > 1, "the program to be ready")
    return name


def write(wire: Wire, session: str, *targets: dict[str, Any]) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = wire.good("debug_write", sessionId=session, targets=list(targets))["results"]
    return results


def value(wire: Wire, session: str, variable: str) -> Any:
    (result,) = wire.good("debug_read", sessionId=session, targets=[{"variable": variable}], depth=2)["results"]
    return result.get("value", result.get("fields"))


def test_values_of_each_form(wire: Wire, session: str) -> None:
    new: dict[str, Any] = {
        "gTempo": 140,
        "gByte": "0xff",
        "gHuge": "18446744073709551615",
        "gDouble": "inf",
        "gFlag": False,
        "gLetter": "z",
        "gColour": "kBlue",
        "gVoice": '{"freq": 1.5, "name": "alto"}',
        "gVoices[0]": {"note": 5},
        "gNode": "&gFirst",
        "gNoText": None,
        "gGrid": [[1, 2, 3], [4, 5, 60]],
        "gText": "was",
        "gShort": "new",
    }
    results = write(wire, session, *({"variable": name, "value": item} for name, item in new.items()))
    assert [result for result in results if "error" in result] == []
    tempo = results[0]
    assert tempo == {
        "target": "gTempo",
        "address": tempo["address"],
        "type": "int",
        "previousValue": 120,
        "newValue": 140,
        "atomic": True,
    }
    assert [result["previousValue"] for result in results[1:7]] == [200, 1, 2.5, True, "'q'", "kGreen(2)"]
    assert [result["newValue"] for result in results[1:7]] == [
        255,
        "18446744073709551615",
        "inf",
        False,
        "'z'",
        "kBlue(3)",
    ]
    assert results[9]["newValue"].endswith(" <gFirst>")
    assert [value(wire, session, name) for name in ("gTempo", "gText")] == [140, "was"]
    voice = value(wire, session, "gVoice")
    assert (voice["freq"], voice["name"], voice["note"]) == (1.5, "alto", -7)


def test_raw_memory(wire: Wire, session: str) -> None:
    address = value(wire, session, "&gTempo").split()[0]
    (result,) = write(wire, session, {"address": address, "type": "i32", "value": 9})
    assert (result["previousValue"], result["newValue"]) == (120, 9)
    assert value(wire, session, "gTempo") == 9


def test_one_bad_target_does_not_affect_others(wire: Wire, session: str) -> None:
    targets: list[dict[str, Any]] = [
        {"variable": "gByte", "value": 300},
        {"variable": "gTempo", "value": 5},
        {"variable": "gConstant", "value": 5},
        {"variable": "gConstantText", "value": "x"},
        {"variable": "gNope", "value": 5},
    ]
    results = write(wire, session, *targets)
    assert results[0] == {
        "target": "gByte",
        "error": "'gByte' (uint8_t) cannot become 300: it is out of range. Valid: 0 to 255.",
    }
    assert results[1]["newValue"] == 5
    assert results[2]["error"].startswith("'gConstant' is const")
    assert "r--p" in results[3]["error"]
    assert "not found in debug symbols" in results[4]["error"]
    assert (value(wire, session, "gTempo"), value(wire, session, "gByte")) == (5, 200)


def test_a_write_is_in_the_timeline(wire: Wire, session: str) -> None:
    write(wire, session, {"variable": "gTempo", "value": 140}, {"variable": "gByte", "value": 300})
    (event,) = wire.good("debug_query", sessionId=session, eventType="variable_snapshot")["events"]
    assert (event["values"], event["previous"]) == ({"gTempo": 140}, {"gTempo": 120})


def test_limits(wire: Wire, session: str) -> None:
    one = {"variable": "gTempo", "value": 1}
    assert len(write(wire, session, *[one] * 16)) == 16
    for bad in ([], [one] * 17):
        assert "targets" in wire.bad("debug_write", sessionId=session, targets=bad)
    assert write(wire, session, {"variable": "gTempo".rjust(256), "value": 2})[0]["newValue"] == 2
    assert "257 characters" in wire.bad(
        "debug_write", sessionId=session, targets=[{"variable": "gTempo".rjust(257), "value": 2}]
    )


def test_what_is_asked_wrongly(wire: Wire, session: str) -> None:
    def bad(**target: Any) -> str:
        return wire.bad("debug_write", sessionId=session, targets=[target])

    assert "targets[0].value" in bad(variable="gTempo")
    assert "targets[0].variable" in bad(value=1)
    assert "targets[0].type" in bad(address="0x1000", value=1)
    assert "targets[0].type" in bad(variable="gTempo", type="i32", value=1)
    assert "targets[0].type" in bad(address="0x1000", type="bytes", value="00")
    assert "targets[0].threadId" in bad(variable="gTempo", threadId=0, value=1)
    assert wire.bad("debug_write", sessionId="none", targets=[{"variable": "x", "value": 1}]).startswith("SESSION_NOT")
    wire.good("debug_stop", sessionId=session, retain=True)
    assert bad(variable="gTempo", value=1).startswith("PROCESS_EXITED: ")


def test_thread_local_variables(wire: Wire, build_program: Callable[..., Path]) -> None:
    answer = wire.good("debug_launch", command=str(build_program("thread_locals", "-O0")), projectRoot=str(PROGRAMS))
    name = answer["sessionId"]
    wait_until(lambda: "ready" in str(wire.good("debug_query", sessionId=name)), "the program to be ready")
    first, second = value(wire, name, "gTids")[:2]
    targets = [{"variable": "gLocal", "value": 7, "threadId": second}, {"variable": "gLocal", "value": 8}]
    results = write(wire, name, *targets)
    assert [result["previousValue"] for result in results] == [101, 5]
    wanted = [{"variable": "gLocal", "threadId": thread} for thread in (first, second)]
    read = wire.good("debug_read", sessionId=name, targets=[*wanted, {"variable": "gLocal"}])["results"]
    assert [(result["target"], result["value"]) for result in read] == [
        (f"gLocal (thread {first})", 100),
        (f"gLocal (thread {second})", 7),
        ("gLocal", 8),
    ]


def test_the_command_line_writes_the_daemons_session(wire: Wire, session: str) -> None:
    """Another process than the one that observes the program; what it does is in the timeline all the same."""
    command = [sys.executable, "-m", "strobe.cli.main", "write", session]
    told = subprocess.run(
        [*command, "gTempo=150", "gVoice.name=alto", 'gVoice={"note": 3}', "gByte=300", "gLetter=x"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    if "did not permit" in told.stderr:
        pytest.skip("ptrace_scope forbids one process to read another")
    lines = told.stdout.splitlines()
    assert lines[:2] == ["gTempo = 150, was 120", 'gVoice.name = "alto", was "abc"']
    assert lines[3] == "gLetter = 'x', was 'q'"
    assert without_progress(told.stderr).startswith("gByte: 'gByte' (uint8_t) cannot become '300'")
    assert told.returncode == 1
    assert value(wire, session, "gTempo") == 150
    (event,) = wire.good("debug_query", sessionId=session, eventType="variable_snapshot")["events"]
    assert event["values"]["gTempo"] == 150
    assert event["previous"]["gTempo"] == 120
