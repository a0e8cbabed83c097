"""debug_read as a model calls it: values, files, errors, limits."""

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
    program = str(build_program("values", "-O0"))
    answer = wire.good("debug_launch", command=program, projectRoot=str(PROGRAMS))
    name: str = answer["sessionId"]
    stdout = {"sessionId": name, "eventType": "stdout"}
    wait_until(lambda: wire.good("debug_query", **stdout)["totalCount"], "the program to be ready")
    return name


def test_values_of_each_form(wire: Wire, session: str) -> None:
    names = ("gTempo", "gVoice", "gMany", "gHuge", "gNull->value", "gMode", "gFirst", "gHundred")
    answer = wire.good("debug_read", sessionId=session, targets=[{"variable": name} for name in names], depth=3)
    tempo, voice, many, huge, null, mode, first, hundred = answer["results"]
    assert tempo == {"target": "gTempo", "address": tempo["address"], "type": "int", "size": 4, "value": 120}
    assert voice["fields"] == {"freq": 440.5, "note": -7, "name": "abc"}
    assert (many["count"], len(many["value"]), many["value"][:3]) == (250, 100, [1, 2, 3])
    assert (hundred["count"], len(hundred["value"])) == (100, 100)
    assert huge["value"] == "18000000000000000000"
    assert null == {"target": "gNull->value", "error": "Null pointer at gNull."}
    assert mode["value"] == "MODE_LOOP(2)"
    assert first["fields"]["next"]["to"]["next"] == "<circular ref to gFirst>"


def test_library_types_by_their_content(wire: Wire, build_program: Callable[..., Path], tmp_path: Path) -> None:
    program = str(build_program("values_library", "-O0"))
    name = wire.good("debug_launch", command=program, projectRoot=str(tmp_path))["sessionId"]
    stdout = {"sessionId": name, "eventType": "stdout"}
    wait_until(lambda: wire.good("debug_query", **stdout)["totalCount"], "the program to be ready")
    names = ("gVector", "gLongMap", "gMap", "gPointMap", "gOptional", "gUnique", "gMilliseconds", "gText", "gTuple")
    targets = [{"variable": one} for one in names]
    answer = wire.good("debug_read", sessionId=name, targets=targets, depth=2)
    vector, longest, mapped, points, optional, unique, duration, text, together = answer["results"]
    assert (vector["count"], vector["value"]) == (3, [1, 2, 3])
    assert (longest["count"], len(longest["value"]), longest["value"]["7"]) == (101, 100, 49)
    assert mapped["value"] == {"1": "a", "2": "b"}
    assert points["value"] == [[{"x": 1, "y": 2}, "'p'"]]
    assert (optional["value"], unique["value"]["to"], duration["value"]) == (5, 5, "250ms")
    assert (text["value"], together["value"]) == ("short", [1, "t", 2.5])
    (tmp_path / ".strobe").mkdir()
    (tmp_path / ".strobe" / "printers.toml").write_text('[[printer]]\ntype = "Point"\nlayout = "number"\n')
    answer = wire.good("debug_read", sessionId=name, targets=[{"variable": "gPoints[0]"}, {"variable": "gVector"}])
    assert answer["results"][1]["value"] == [1, 2, 3]
    assert "(Point): no layout is called 'number'; valid are text, " in answer["warnings"][0]


def test_bytes_go_to_a_file(wire: Wire, session: str, strobe_home: Path) -> None:
    (many,) = wire.good("debug_read", sessionId=session, targets=[{"variable": "&gMany"}])["results"]
    address = many["value"].split()[0]
    target = {"address": address, "size": 1000, "type": "bytes"}
    (first, second) = wire.good("debug_read", sessionId=session, targets=[target, target])["results"]
    assert first["preview"] == " ".join(["01 00 00 00 02 00 00 00 03 00 00 00", *["00"] * 20])
    content = Path(first["file"]).read_bytes()
    assert content == b"\1\0\0\0\2\0\0\0\3" + bytes(991)
    assert Path(first["file"]).is_relative_to(strobe_home / "sessions" / session)
    assert first["file"] != second["file"]


def test_limits(wire: Wire, session: str) -> None:
    one = {"variable": "gTempo"}

    def read(targets: list[dict[str, Any]], **more: Any) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = wire.good("debug_read", sessionId=session, targets=targets, **more)["results"]
        return results

    assert len(read([one] * 16)) == 16
    for bad in ([], [one] * 17):
        assert "targets" in wire.bad("debug_read", sessionId=session, targets=bad)
    assert read([one], depth=5)[0]["value"] == 120
    for depth in (0, 6):
        assert "'depth' is" in wire.bad("debug_read", sessionId=session, targets=[one], depth=depth)
    bytes_ = {"address": read([{"variable": "&gTempo"}])[0]["value"].split()[0], "type": "bytes"}
    assert len(Path(read([{**bytes_, "size": 1}])[0]["file"]).read_bytes()) == 1
    for size in (0, 65537):
        assert "size" in wire.bad("debug_read", sessionId=session, targets=[{**bytes_, "size": size}])
    assert "file" in str(read([{**bytes_, "size": 65536}])) or "not readable" in str(read([{**bytes_, "size": 65536}]))
    assert read([{"variable": "gTempo".rjust(256)}])[0]["value"] == 120
    assert "257 characters" in wire.bad("debug_read", sessionId=session, targets=[{"variable": "gTempo".rjust(257)}])


def test_what_is_asked_wrongly(wire: Wire, session: str) -> None:
    def bad(target: dict[str, Any]) -> str:
        return wire.bad("debug_read", sessionId=session, targets=[target])

    assert "targets[0].variable" in bad({})
    assert "targets[0].type" in bad({"address": "0x1000"})
    assert "targets[0].size" in bad({"address": "0x1000", "type": "bytes"})
    assert "targets[0].size" in bad({"variable": "gTempo", "size": 4})
    assert "targets[0].address" in bad({"address": "somewhere", "type": "i32"})
    assert wire.bad("debug_read", sessionId="none", targets=[{"variable": "x"}]).startswith("SESSION_NOT_FOUND")


def read_all(wire: Wire, session: str, targets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = wire.good("debug_read", sessionId=session, targets=targets)["results"]
    return results


def test_a_program_that_has_ended(wire: Wire, session: str) -> None:
    wire.good("debug_stop", sessionId=session, retain=True)
    assert wire.bad("debug_read", sessionId=session, targets=[{"variable": "gTempo"}]).startswith("PROCESS_EXITED: ")


def test_the_command_line_reads_the_daemons_session(session: str) -> None:
    """Another process than the one that observes the program, which needs nothing but permission."""
    command = [sys.executable, "-m", "strobe.cli.main", "read", session, "gVoice", "gTempo", "gNull->value"]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if "did not permit" in told.stderr:
        pytest.skip("ptrace_scope forbids one process to read another")
    assert told.stdout == 'gVoice = {\n  freq = 440.5\n  note = -7\n  name = "abc"\n}\ngTempo = 120\n'
    assert without_progress(told.stderr) == "gNull->value: Null pointer at gNull.\n"
    assert told.returncode == 1
