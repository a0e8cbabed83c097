"""Probes over MCP: in one call that launches and waits, staged, and on a program that runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.mcp_wire import Wire
from support.programs import line_of

ROOT = str(Path(__file__).parents[1] / "programs")
Build = Callable[..., Path]
TAKEN = f"pool.cpp:{line_of('pool.cpp', '// taken')}"
FREED = f"pool.cpp:{line_of('pool.cpp', '// freed')}"
WAIT = {"until": "exit", "timeoutMs": 30000}


def launch(wire: Wire, program: Path, *probes: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = wire.good(
        "debug_launch", command=str(program), projectRoot=ROOT, probes=list(probes), wait=WAIT
    )
    return answer


def test_one_call_from_the_question_to_the_answer(wire: Wire, build_program: Build) -> None:
    """Which element is left behind: the sweep goes to the count of used entries."""
    probe = {"at": TAKEN, "where": "used > 13", "show": ["id", "used", "capacity", "this->name"], "label": "late"}
    answer = launch(wire, build_program("pool", "-O0"), probe, {"at": FREED})
    assert [(one["label"], one["places"]) for one in answer["probes"]] == [("late", 2), (FREED, 2)]
    assert answer["probeTotals"] == [{"label": "late", "hits": 21, "held": 3}, {"label": FREED, "hits": 8}]
    events = answer["probeEvents"]
    first = events["first"][0]
    assert (first["eventType"], first["label"], first["function"]) == ("probe", "late", "Pool<Node>::take")
    assert first["values"] == {"id": 13, "used": 14, "capacity": 16, "this->name": "nodes"}
    assert events["last"][-1]["label"] == FREED
    page = wire.good("debug_query", sessionId=answer["sessionId"], eventType="probe", where="used == 16")
    assert [one["values"]["id"] for one in page["events"]] == [15]
    page = wire.good("debug_query", sessionId=answer["sessionId"], where="$label == 'late' && used > 14")
    assert [one["values"]["id"] for one in page["events"]] == [14, 15]
    groups = wire.good("debug_query", sessionId=answer["sessionId"], groupBy="$label")["groups"]
    assert {one["value"]: one["count"] for one in groups} == {"late": 3, FREED: 8}


def test_few_events_are_all_shown_and_a_stack_once(wire: Wire, build_program: Build) -> None:
    answer = launch(wire, build_program("pool", "-O0"), {"at": FREED, "stack": 4, "show": ["this->name"]})
    events = [*answer["probeEvents"]["first"], *answer["probeEvents"]["last"]]
    assert len(events) == answer["probeTotals"][0]["hits"] == 8 and "notShown" not in answer["probeEvents"]
    stacks = [event["stack"] for event in events]
    whole = {event["id"]: event["stack"] for event in events if isinstance(event["stack"], list)}
    assert 0 < len(whole) < 8 and len({tuple(stack) for stack in whole.values()}) == len(whole)
    assert all(stack.removeprefix("as ") in whole for stack in stacks if isinstance(stack, str))
    (step,) = [one for one in answer["nextSteps"] if "select" in one]
    query = json.loads(step[step.index("{") : step.rindex("}") + 1])
    page = wire.good("debug_query", **query)
    assert len(page["events"]) == 8 and page["events"][0]["values"]["this->name"] == "nodes"


@pytest.mark.parametrize(
    ("probe", "names"),
    [
        (
            {"at": FREED, "where": "this == null", "show": ["this->name", "room = this->capacity"]},
            ["this->name", "room"],
        ),
        ({"at": FREED}, None),
    ],
)
def test_the_next_step_can_be_taken_as_it_is(
    wire: Wire, build_program: Build, probe: dict[str, Any], names: list[str] | None
) -> None:
    """No values are known of a probe whose condition has not held, or that shows none."""
    answer = launch(wire, build_program("pool", "-O0"), probe)
    query = json.loads(answer["nextSteps"][0].removeprefix("debug_query ").rpartition("}:")[0] + "}")
    assert query.get("select") == names and "…" not in str(answer["nextSteps"])
    assert wire.good("debug_query", **query)["totalCount"] == answer["probeTotals"][0].get("held", 8)
    traced = wire.good(
        "debug_launch",
        command=str(build_program("slots", "-O0")),
        projectRoot=ROOT,
        trace=["store"],
        wait={"until": "exit", "timeoutMs": 30_000},
    )
    query = json.loads(traced["nextSteps"][0].removeprefix("debug_query ").rpartition("}:")[0] + "}")
    assert wire.good("debug_query", **query)["totalCount"] == 160


def test_a_probe_of_both_ends_of_a_call_and_one_that_counts(wire: Wire, build_program: Build) -> None:
    """`return` and `action`, as shared/spec/expressions.md has them."""
    program = build_program("folds", "-g", "-O1")
    both = {"at": "choose", "return": True, "show": ["at->chosen", "mark = at->used", "$return"], "limit": 2}
    counted = {"at": "look", "action": "count", "show": ["times"], "where": "times == 4"}
    answer = launch(wire, program, both, counted)
    assert [(one["label"], one["hits"], one.get("held"), one.get("recorded")) for one in answer["probeTotals"]] == [
        ("choose", 30, None, 2),
        ("look", 130, 30, 0),
    ]
    values = answer["probeEvents"]["first"][0]["values"]
    assert values["$entry(at->chosen)"] == "0x0" and (values["entry_mark"], values["mark"]) == (2, 2)
    chosen, returned = (values[name] for name in ("at->chosen", "$return"))  # what both lead to is shown once
    addresses = {str(one["pointer"] if isinstance(one, dict) else one).split()[0] for one in (chosen, returned)}
    assert len(addresses) == 1 and "0x0" not in addresses
    for wrong in ({"at": "folds.c:23", "return": True}, {"at": "look", "action": "count", "limit": 4}):
        text = wire.bad("debug_launch", command=str(program), projectRoot=ROOT, probes=[wrong])
        assert text.startswith("VALIDATION_ERROR: ")


def test_a_line_whose_code_another_path_uses(wire: Wire, build_program: Build) -> None:
    """gcc keeps one copy of what two paths do alike: the events are of both, and that is said."""
    one, asked = (line_of("shared_tail.c", marker) for marker in ("// one", "// asked"))
    probe = {"at": f"shared_tail.c:{one}", "where": "kind > 1", "show": ["kind"]}
    answer = launch(wire, build_program("shared_tail", "-g", "-O2"), probe)
    assert [(total["hits"], total["held"]) for total in answer["probeTotals"]] == [(49, 33)]
    assert any(
        f"The compiler shares the code of line {one} with other paths: line {asked} jumps into it" in text
        for text in answer["warnings"]
    )
    plain = launch(wire, build_program("shared_tail", "-g", "-O0"), probe)
    assert "warnings" not in plain or not any("shares" in text for text in plain["warnings"])


def test_probe_events_where_there_are_none(wire: Wire, build_program: Build) -> None:
    """Of a session without probes it is not said that functions were not traced."""
    program = str(build_program("folds", "-g", "-O1"))
    launched = wire.good("debug_launch", command=program, projectRoot=ROOT, trace=["look"], wait=WAIT)
    absence = wire.good("debug_query", sessionId=launched["sessionId"], eventType="probe")["absence"]
    assert "This session has no probes" in absence and "traced" not in absence
    launched = launch(wire, Path(program), {"at": "look", "label": "one"})
    asked = {"sessionId": launched["sessionId"], "eventType": "probe", "function": {"equals": "nothing"}}
    assert (
        "No probe of this session matches the filter; there are: one." in wire.good("debug_query", **asked)["absence"]
    )


def test_of_many_events_the_answer_says_how_many_it_does_not_show(wire: Wire, build_program: Build) -> None:
    look = {"at": "look", "show": ["times"]}
    answer = launch(wire, build_program("folds", "-g", "-O1"), look, {"at": "choose"})
    events = [*answer["probeEvents"]["first"], *answer["probeEvents"]["last"]]
    assert len(events) == 5
    assert sum(one["hits"] for one in answer["probeTotals"]) == 5 + answer["probeEvents"]["notShown"]


def test_long_lines_of_output_are_few(wire: Wire) -> None:
    answer = wire.good(
        "debug_launch", command="/usr/bin/seq", args=["-f", "%0250.0f", "1", "40"], projectRoot=ROOT, wait=WAIT
    )
    lines = [line["stdout"] for line in answer["output"]]
    assert 2 <= len(lines) <= 5 and lines[-1].endswith("40") and answer["outputCut"] == "only the last lines"


def test_the_place_of_a_probe_is_no_pattern(wire: Wire, build_program: Build) -> None:
    said = wire.bad("debug_launch", command=str(build_program("pool", "-O0")), projectRoot=ROOT, trace=["take:inlined"])
    assert "with ':inlined' it is the place of a probe" in said


def test_a_warning_of_several_probes_is_one(wire: Wire, build_program: Build) -> None:
    answer = launch(wire, build_program("pool", "-O2"), {"at": TAKEN, "label": "taken"}, {"at": FREED}, {"at": "main"})
    (warning,) = [one for one in answer["warnings"] if "instructions ran" in one]
    assert warning.startswith(
        f"Probes 'taken', '{FREED}' count how often their instructions ran: the code is optimized"
    )


def test_a_probe_that_means_nothing_refuses_the_launch(wire: Wire, build_program: Build) -> None:
    program = build_program("pool", "-O0")
    said = wire.bad("debug_launch", command=str(program), projectRoot=ROOT, probes=[{"at": "pool.cpp:1"}])
    assert "NO_CODE_AT_LINE" in said
    assert "nearest line" in said
    said = wire.bad("debug_launch", command=str(program), projectRoot=ROOT, probes=[{"at": TAKEN, "show": ["usde"]}])
    assert "PROBE_FAILED" in said
    assert "'usde'" in said
    assert wire.good("debug_list_sessions")["sessions"] == []


def test_values_that_cannot_be_had_are_left_out_on_request(wire: Wire, build_program: Build) -> None:
    program = str(build_program("pool", "-O0"))
    probe = {"at": TAKEN, "where": "used > 13", "show": ["usde", "id", "*(u99*)this"]}
    said = wire.bad("debug_launch", command=program, projectRoot=ROOT, probes=[probe])
    assert "'usde'" in said and "'u99'" in said
    answer = wire.good("debug_launch", command=program, projectRoot=ROOT, probes=[probe], anyway=True, wait=WAIT)
    told = [text for text in answer["warnings"] if "does not show" in text]
    assert len(told) == 2 and "'usde'" in told[0] and "'u99'" in told[1]
    assert answer["probeEvents"]["first"][0]["values"] == {"id": 13}
    wrong = probe | {"where": "usde > 13"}
    said = wire.bad("debug_launch", command=program, projectRoot=ROOT, probes=[wrong], anyway=True)
    assert "'usde > 13'" in said


def test_staged_probes_hold_from_main_on(wire: Wire, build_program: Build) -> None:
    staged = wire.good("debug_trace", projectRoot=ROOT, probes={"add": [{"at": TAKEN, "show": ["id"]}, {"at": FREED}]})
    assert [one["label"] for one in staged["probes"]] == [TAKEN, FREED]
    staged = wire.good("debug_trace", projectRoot=ROOT, probes={"remove": [FREED, "none"]})
    assert [one["label"] for one in staged["probes"]] == [TAKEN]
    assert staged["status"].startswith("1 probe staged")
    assert any("'none' was not staged" in text for text in staged["warnings"])
    answer = launch(wire, build_program("pool", "-O0"))
    assert answer["probeTotals"] == [{"label": TAKEN, "hits": 21}]
    wire.good("debug_trace", projectRoot=ROOT, probes={"remove": [TAKEN]})


def test_on_a_program_that_runs(wire: Wire, build_program: Build) -> None:
    session = wire.good("debug_launch", command=str(build_program("adds", "-O0")), projectRoot=ROOT)
    line = f"adds.c:{line_of('adds.c', '/* adds */')}"
    answer = wire.good(
        "debug_trace",
        sessionId=session["sessionId"],
        probes={"add": [{"at": line, "show": ["number", "gSum"]}]},
        wait={"until": "event", "match": "number > 2", "timeoutMs": 45000},
    )
    (placed,) = answer["probes"]
    assert placed["places"] == 1
    assert answer["event"]["values"]["number"] == 3


def test_a_value_is_asked_for_by_its_text(wire: Wire, build_program: Build) -> None:
    """Also one that means nothing elsewhere, as the address of a local variable."""
    probe = {"at": TAKEN, "where": "id == 13", "show": ["& used", "this->name"]}
    session = launch(wire, build_program("pool", "-O0"), probe)["sessionId"]
    page = wire.good("debug_query", sessionId=session, eventType="probe", select=["&used", "this->name"])
    (values,) = (one["values"] for one in page["events"])
    assert int(values["&used"].split(" ")[0], 16) > 0
    assert values["this->name"] == "nodes"


def test_stacks_of_probes_and_traces(wire: Wire, build_program: Build) -> None:
    """Who has taken the element: in the answer of the launch. What is staged has its stack, too."""
    program = build_program("stacks", "-O2")
    answer = launch(wire, program, {"at": "leaf", "stack": 3})
    first = answer["probeEvents"]["first"][0]
    expected = ["folded stacks.cpp:15", "Square::area stacks.cpp:25", "descend stacks.cpp:32", "descend stacks.cpp:33"]
    assert first["stack"] == expected
    wire.good("debug_trace", projectRoot=ROOT, add=["leaf"], stack=3)
    answer = launch(wire, program)
    page = wire.good("debug_query", sessionId=answer["sessionId"], function={"equals": "leaf"}, limit=1)
    assert page["events"][0]["stack"] == expected
    wire.good("debug_trace", projectRoot=ROOT, remove=["leaf"])
    said = wire.bad("debug_trace", projectRoot=ROOT, stack=3)
    assert "stack" in said
    said = wire.bad("debug_launch", command=str(program), projectRoot=ROOT, trace=["leaf"], stack=33)
    assert "stack" in said


def test_a_logpoint_says_what_a_log_statement_would(wire: Wire, build_program: Build) -> None:
    program = str(build_program("polled", "-O0"))
    session = wire.good("debug_launch", command=program, projectRoot=ROOT)["sessionId"]
    line = line_of("polled.c", "gCount = gCount + 1")
    at_line = {"file": "polled.c", "line": line, "message": "round {gCount}", "condition": "gCount % 1000 == 1"}
    at_flip = {"function": "flip", "message": "to {value}", "condition": "gCount % 1000 == 2"}
    answer = wire.good("debug_logpoint", sessionId=session, add=[at_line, at_flip, at_flip])
    place = f"polled.c:{line}"
    assert [(one["id"], one["places"]) for one in answer["logpoints"]] == [(place, 1), ("flip", 1)]
    other = wire.good("debug_logpoint", sessionId=session, add=[at_flip | {"message": "again {value}"}])
    assert [one["id"] for one in other["logpoints"]] == [place, "flip", "flip (2)"]
    wait = {"until": "event", "match": f"$label == '{place}'", "timeoutMs": 20000}
    said = wire.good("debug_trace", sessionId=session, wait=wait)["event"]
    assert said["text"] == f"round {said['values']['gCount']}"
    assert said["values"]["gCount"] % 1000 == 1
    left = wire.good("debug_logpoint", sessionId=session, remove=[place, "flip (2)"])
    assert [one["id"] for one in left["logpoints"]] == ["flip"]
    wire.good("debug_trace", sessionId=session, probes={"add": [{"at": "flip", "label": "f"}]})
    left = wire.good("debug_logpoint", sessionId=session, remove=["f"])
    assert "probes.remove of debug_trace" in left["warnings"][0]
    assert [one["label"] for one in wire.good("debug_trace", sessionId=session)["probes"]] == ["flip", "f"]
    for wrong in ({"message": "x"}, {"function": "f", "line": 3, "message": "x"}, {"file": "a.c", "message": "x"}):
        assert "function, or file with line" in wire.bad("debug_logpoint", sessionId=session, add=[wrong])
    assert "'nothing'" in wire.bad("debug_logpoint", sessionId=session, add=[at_flip | {"message": "{nothing}"}])
    assert "NO_CODE_AT_LINE" in wire.bad("debug_logpoint", sessionId=session, add=[at_line | {"line": 1}])
    wire.good("debug_stop", sessionId=session)
