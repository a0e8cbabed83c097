"""debug_read with poll, as a model calls it: an answer at once, samples in debug_query, and how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.mcp_wire import Wire, wait_gone
from support.programs import PROGRAMS
from support.wait import wait_until

from strobe.mcp import daemon

Answer = dict[str, Any]


@pytest.fixture
def launched(wire: Wire, build_program: Callable[..., Path]) -> Answer:
    answer = wire.good("debug_launch", command=str(build_program("polled", "-O1")), projectRoot=str(PROGRAMS))
    stdout = {"sessionId": answer["sessionId"], "eventType": "stdout"}
    wait_until(lambda: wire.good("debug_query", **stdout)["totalCount"], "the program to be ready")
    return answer


@pytest.fixture
def session(launched: Answer) -> str:
    name: str = launched["sessionId"]
    return name


def poll(wire: Wire, session: str, *names: str, interval: int = 50, duration: int = 500, **more: Any) -> Answer:
    targets = [{"variable": name} for name in names]
    bounds = {"intervalMs": interval, "durationMs": duration}
    return wire.good("debug_read", sessionId=session, targets=targets, poll=bounds, **more)


def snapshots(wire: Wire, session: str, **more: Any) -> Answer:
    return wire.good("debug_query", sessionId=session, eventType="variable_snapshot", **more)


def ended(wire: Wire, session: str) -> Answer:
    """The newest poll, once it is over."""

    def newest() -> Answer | None:
        (first, *_) = snapshots(wire, session)["polls"]
        return first if "ended" in first else None

    found = wait_until(newest, "the end of the poll")
    assert found is not None
    return found


def test_the_answer_comes_at_once_and_says_how_to_go_on(wire: Wire, session: str) -> None:
    answer = poll(wire, session, "gTempo", "gVoice", "gTemp", "gVoice.nope", duration=30_000)
    assert answer["expectedSamples"] == 600
    tempo, voice, unknown, no_field = answer["targets"]
    assert tempo == {"target": "gTempo", "type": "int", "size": 4}
    assert voice == {"target": "gVoice", "type": "Voice", "size": 16}
    assert unknown["error"].startswith("Variable 'gTemp' not found in debug symbols. Names like it: gTempo")
    assert no_field["error"].startswith("Voice has no field 'nope'.")
    (going_on,) = snapshots(wire, session)["polls"]
    assert "ended" not in going_on
    assert going_on["targets"] == ["gTempo", "gVoice"]
    steps = answer["nextSteps"]
    assert all(f'"sessionId":"{session}"' in step for step in steps)


def test_each_tick_is_one_event(wire: Wire, session: str) -> None:
    poll(wire, session, "gTempo", "gCount", "gVoice")
    how = ended(wire, session)
    answer = snapshots(wire, session)
    assert answer["totalCount"] == how["samples"] == how["expectedSamples"] - how.get("missed", 0)
    assert (how["expectedSamples"], how["intervalMs"], how["ended"]) == (10, 50, "after its duration")
    event = answer["events"][0]
    assert set(event) == {"id", "timestampNs", "eventType", "values"}
    assert event["values"]["gTempo"] == 120
    assert event["values"]["gVoice"] == {"freq": 440.5, "note": -7, "name": "abc"}
    assert how["fromNs"] <= event["timestampNs"] <= how["toNs"]
    (verbose, *_) = snapshots(wire, session, verbose=True)["events"]
    assert set(verbose) == set(event) | {"pid"}
    everything = wire.good("debug_query", sessionId=session)
    assert "polls" not in everything
    assert [item["eventType"] for item in everything["events"]].count("variable_snapshot") == how["samples"]


def test_errors_and_steps_that_work(wire: Wire, session: str, launched: Answer) -> None:
    os.kill(launched["pid"], signal.SIGUSR2)
    null = {"variable": "gChosen"}
    wait_until(lambda: wire.good("debug_read", sessionId=session, targets=[null])["results"][0]["value"] == "0x0")
    answer = poll(wire, session, "*gChosen", "gTempo", duration=100)
    assert answer["targets"][0]["error"] == "Null pointer at gChosen."
    ended(wire, session)
    event = snapshots(wire, session)["events"][0]
    assert (event["values"], event["errors"]) == ({"gTempo": 120}, {"*gChosen": "Null pointer at gChosen."})
    cursor = answer["nextSteps"][1].partition('"afterEventId":"')[2].partition('"')[0]
    assert snapshots(wire, session, afterEventId=cursor)["totalCount"] == snapshots(wire, session)["totalCount"]


def test_nothing_to_poll(wire: Wire, session: str) -> None:
    answer = poll(wire, session, "gTemp")
    assert (answer["expectedSamples"], answer["nextSteps"]) == (0, [])
    assert answer["status"] == "Nothing is polled: no target can be read."
    nothing = snapshots(wire, session)
    assert "polls" not in nothing
    assert nothing["absence"].startswith("No variable was polled in this session")


def test_a_poll_that_the_program_ends(wire: Wire, session: str, launched: Answer) -> None:
    poll(wire, session, "gCount", duration=30_000)
    wait_until(lambda: snapshots(wire, session)["totalCount"] > 1, "samples")
    os.kill(launched["pid"], signal.SIGUSR1)
    how = ended(wire, session)
    assert how["ended"] == "the program ended"
    assert 1 < how["samples"] == snapshots(wire, session)["totalCount"] < how["expectedSamples"]
    target = [{"variable": "gCount"}]
    bounds = {"intervalMs": 50, "durationMs": 100}
    assert wire.bad("debug_read", sessionId=session, targets=target, poll=bounds).startswith("PROCESS_EXITED: ")


def test_a_poll_that_debug_stop_ends(wire: Wire, session: str) -> None:
    poll(wire, session, "gCount", duration=30_000)
    wait_until(lambda: snapshots(wire, session)["totalCount"], "a sample")
    wire.good("debug_stop", sessionId=session, retain=True)
    kept = snapshots(wire, session)
    (how,) = kept["polls"]
    assert (how["ended"], how["samples"]) == ("the session was stopped", kept["totalCount"])


def test_the_end_of_the_daemon_leaves_the_samples(strobe_home: Path, build_program: Callable[..., Path]) -> None:
    with Wire.to(strobe_home) as wire:
        answer = wire.good("debug_launch", command=str(build_program("polled", "-O1")), projectRoot=str(PROGRAMS))
        session = answer["sessionId"]
        poll(wire, session, "gTempo", duration=30_000)
        wait_until(lambda: snapshots(wire, session)["totalCount"] > 2, "samples")
        killed = daemon.status(strobe_home).pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        wait_gone(killed)
    with Wire.to(strobe_home) as wire:
        kept = snapshots(wire, session)
        assert kept["totalCount"] > 2
        (how,) = kept["polls"]
        assert how["ended"] == "the Strobe that polled was killed"
        wire.good("debug_stop", sessionId=session)


def test_a_large_sample_is_cut_and_the_rest_is_in_sql(wire: Wire, session: str) -> None:
    (found,) = wire.good("debug_read", sessionId=session, targets=[{"variable": "&gVoice"}])["results"]
    page = int(found["value"]["pointer"].split()[0], 16) // 4096 * 4096
    targets = [{"address": hex(page), "type": "u64", "size": 800 + 8 * more} for more in range(16)]
    wire.good("debug_read", sessionId=session, targets=targets, poll={"intervalMs": 50, "durationMs": 100})
    ended(wire, session)
    result = wire.call("debug_query", sessionId=session, eventType="variable_snapshot")
    assert len(result["content"][0]["text"]) <= 12_000
    assert "more characters]" in result["content"][0]["text"]
    command = [sys.executable, "-m", "strobe.cli.main", "sql", session, "select text from events where text like '{%'"]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "more characters" not in told.stdout
    assert len(told.stdout) > len(result["content"][0]["text"])


def test_the_command_line_shows_them(wire: Wire, session: str) -> None:
    poll(wire, session, "gTempo", "gVoice", duration=100)
    ended(wire, session)
    command = [sys.executable, "-m", "strobe.cli.main", "query", session, "--type", "variable_snapshot"]
    lines = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.splitlines()
    assert lines[1].endswith('values  gTempo = 120, gVoice = {freq = 440.5, note = -7, name = "abc"}')
    assert lines[-1] == "poll of gTempo, gVoice every 50 ms: 2 of 2 samples"
    told = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=60).stdout
    assert '"values": {\n        "gTempo": 120' in told
    assert '"polls": [' in told
