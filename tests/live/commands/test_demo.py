"""`strobe demo`: the bug is found, from the recorded calls alone, and in time."""

from __future__ import annotations

import contextlib
import json
import resource
import signal
import subprocess
import sys
from pathlib import Path

from support.wait import wait_until

from strobe.calls import Call
from strobe.demo.tour import broken_rules

STROBE = [sys.executable, "-m", "strobe"]


def run(*arguments: str) -> str:
    return subprocess.run([*STROBE, *arguments], capture_output=True, text=True, check=True, timeout=60).stdout


def test_the_one_wrong_call_is_found() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = json.loads(run("demo", "--json"))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # ten seconds are promised, of a machine that has nothing else to do
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 10
    assert found["seconds"] > 0
    assert found["exitCode"] == 1
    (offence,) = found["offences"]
    assert (offence["caller"], offence["giver"], offence["receiver"]) == (
        "till::settle",
        "pricing::quote",
        "ledger::post",
    )
    assert offence["callsThatKeepTheRule"] == 4_499
    assert (offence["threadName"], offence["returned"] - offence["given"]) == ("till-3", 65_536)
    assert {group["function"]: group["count"] for group in found["totals"]}["ledger::post"] == 4_500


def test_the_tour_shows_the_call_and_its_line() -> None:
    text = run("demo")
    assert "\x1b[" not in text
    assert "37,013 was returned, -28,523 arrived: they differ by 65,536, so it was cut to 16 bits." in text
    assert "ledger.cpp:13:  void post(int article, std::int16_t cents) {" in text


def test_a_command_that_is_ended_takes_everything_with_it() -> None:
    """The fixture of all tests sees to it that neither process nor segment stays."""
    process = subprocess.Popen([*STROBE, "demo"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: "strobe_demo" in _children(process.pid), "the demo's program")
    process.terminate()
    assert process.wait(30) == 128 + signal.SIGTERM


def _children(pid: int) -> list[str]:
    """Names of the programs that a process has started, whichever of its threads did it."""
    found = []
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [Path(f"/proc/{child}/comm").read_text().strip() for child in listing.read_text().split()]
    return found


def call(function: str, parent: Call | None = None, result: int | None = None, **arguments: int) -> Call:
    made = Call("id", function, dict(arguments), 0, "main", 1, 1, 0, return_value=result, duration_ns=1, _parent=parent)
    if parent is not None:
        parent.children.append(made)
    return made


def story(amounts: list[tuple[int, int]]) -> list[Call]:
    """Calls of f, each of which calls g for a result and hands something to h."""
    calls = []
    for returned, given in amounts:
        f = call("f")
        calls += [f, call("g", f, returned), call("h", f, amount=given)]
    return calls


def test_a_rule_that_is_broken_once_names_the_call() -> None:
    calls = story([(n, n) for n in range(200)] + [(70_000, 4_464)])
    ((rule, wrong),) = broken_rules(calls)
    assert (rule.caller, rule.giver, rule.receiver, rule.argument, rule.holds) == ("f", "g", "h", "amount", 200)
    assert wrong is calls[600]


def test_what_holds_always_or_seldom_is_no_finding() -> None:
    assert list(broken_rules(story([(n, n) for n in range(200)]))) == []
    assert list(broken_rules(story([(n, n % 2) for n in range(200)]))) == []
    assert list(broken_rules(story([(n, n) for n in range(20)] + [(1, 2)]))) == []
