"""Asking what was recorded: `where`, `select`, `order`, `last`, `around`, counts by a value. The program is ledger."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from support.mcp_wire import Wire
from support.programs import PROGRAMS

ROOT = str(PROGRAMS)
PAGE_BYTES = 12_000
CALLS = 400
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(wire: Wire, build_program: Callable[..., Path]) -> Ask:
    """Questions about one run of ledger."""
    program = build_program("ledger", "-O1")
    answer = wire.good(
        "debug_launch",
        command=str(program),
        args=[str(CALLS)],
        projectRoot=ROOT,
        trace=["shop::*"],
        watches=[{"variable": "shop::booked"}],
        sampling="off",
        wait={"until": "exit", "timeoutMs": 40_000},
    )
    assert answer["ended"] == {"exitCode": 3, "reason": "exit"}

    def asked(**arguments: Any) -> dict[str, Any]:
        found = wire.good("debug_query", sessionId=answer["sessionId"], **arguments)
        assert len(orjson.dumps(found)) <= PAGE_BYTES
        return found

    return asked


def arguments(event: dict[str, Any]) -> dict[str, Any]:
    return {item["name"]: item["value"] for item in event["arguments"]}


def test_the_one_call_with_a_negative_amount(ask: Ask) -> None:
    found = ask(where="cents < 0 && what == 'refund'", verbose=True)
    (event,) = found["events"]
    assert (event["function"], event["eventType"], event["threadName"]) == ("shop::book", "function_enter", "till-3")
    assert (found["totalCount"], found["checked"], found["held"]) == (1, 3 * CALLS, 1)
    assert arguments(event)["account"]["to"]["number"] == 3
    both = ask(where="cents < 0")
    assert {event["function"] for event in both["events"]} == {"shop::book", "shop::allowed"}
    assert both["checked"] == 6 * CALLS


def test_arguments_and_result_stand_in_one_event(ask: Ask) -> None:
    selected = ["cents", "$return", "account->number", "$threadName", "what"]
    found = ask(where="cents < 0 && what && $return > 0", select=selected)
    (event,) = found["events"]
    assert event["values"] == {
        "cents": -42,
        "$return": sum(range(1, CALLS // 2)) - 42,
        "account->number": 3,
        "$threadName": "till-3",
        "what": "refund",
    }
    assert found["checked"] == 3 * CALLS  # returns of book; allowed returns a bool
    whole = ask(where="what == 'refund'", select=["account"])["events"][0]["values"]["account"]
    assert (whole["to"]["number"], whole["to"]["owner"]) == (3, "till-3")


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("cents == 1 && has(what)", 3),
        ("kind == REFUND", 1),
        ('kind == "SALE" && cents > 398', 6),
        ("$function == 'shop::rate'", 2),
        ("share == 0.5", 1),
        ("name == 'december'", 1),
        ("name startswith 'dec' && size(name) == 8", 1),
        ("name matches '^x'", 0),
        ("account->number == 2", CALLS),
        ("account->owner endswith '-1' && cents <= 10", 10),
        ("$return == 4.0", 1),
        ("$depth == 0 && $function == 'shop::till'", 6),
        ("$caller == 'shop::book' && cents == -42", 1),
        ("text contains 'booked'", 1),
        ("text == 'open'", 1),
        ("`shop::booked` == 0 && $function == 'shop::till'", None),
        ("shop::booked == 1200", None),
        ("$duration >= 0 && $function == 'shop::book'", 3 * CALLS),
        ("$threadName == 'till-2' && cents % 100 == 0 && what", 4),
        ("number == 2", 1),
        ("$type == 'function_exit' && cents == 7 && what", 3),
        ("any(x in account->last: x > 0) && cents == 400", 3),
    ],
)
def test_a_condition_holds_for_as_many_as_there_are(ask: Ask, where: str, count: int | None) -> None:
    found = ask(where=where, limit=500)
    if count is None:
        assert found["totalCount"] > 0
    else:
        assert found["totalCount"] == count, found


def test_what_an_address_is_found_in(ask: Ask) -> None:
    (event,) = ask(where="number == 1", verbose=True)["events"]
    (other,) = ask(where="account->number == 3 && cents == -42", verbose=True)["events"]
    address = arguments(other)["account"]["pointer"].split()[0]
    assert address not in str(arguments(event))
    found = ask(address=address, limit=500)
    assert found["totalCount"] == CALLS
    assert {event["function"] for event in found["events"]} == {"shop::book"}
    assert {place for event in found["events"] for place in event["places"]} == {"account"}
    for select in (["text"], ["$return", "cents"], ["$duration"], ["$caller"]):  # of others, too: no event is left out
        assert ask(address=address, limit=500, select=select)["totalCount"] == CALLS, select
    (refund,) = ask(address=address, where="cents < 0", select=["cents"])["events"]
    assert (refund["values"], refund["places"]) == ({"cents": -42}, ["account"])
    assert ask(address="0x10")["absence"].startswith("0x10 is in none of ")


def test_filters_by_caller_depth_and_thread(ask: Ask) -> None:
    enters = {"eventType": "function_enter"}
    assert ask(caller={"equals": "shop::till"}, **enters)["totalCount"] == 3 * CALLS
    assert ask(caller={"contains": "book"}, function={"equals": "shop::allowed"}, **enters)["totalCount"] == 3 * CALLS
    assert ask(caller={"equals": "shop::rate"})["totalCount"] == 0
    assert ask(depth=0, **enters)["totalCount"] == 4
    assert ask(depth=2, **enters)["totalCount"] == 3 * CALLS
    thread = ask(where="number == 1", verbose=True)["events"][0]["threadId"]
    assert ask(threadId=thread, function={"equals": "shop::book"}, **enters)["totalCount"] == CALLS


def test_only_inside_of_calls_that_returned_so(ask: Ask) -> None:
    inside = {"function": "shop::book", "where": "cents < 0"}
    found = ask(inside=inside, verbose=True)
    assert found["inside"] == {"calls": 1}
    assert [event["function"] for event in found["events"]] == ["shop::allowed", "shop::allowed"]
    (refund,) = ask(where="cents < 0", eventType="function_enter", function={"equals": "shop::book"})["events"]
    assert found["events"][0]["parentEventId"] == refund["id"]
    every = ask(inside={"function": "shop::book"}, groupBy="$function")
    assert [(group["value"], group["count"]) for group in every["groups"]] == [("shop::allowed", 2 * 3 * CALLS)]
    assert every["inside"] == {"calls": 3 * CALLS}
    nothing = ask(inside={"function": "shop::book", "where": "cents == 123456"})
    assert nothing["absence"].startswith("No recorded call with cents == 123456 ")


def test_the_newest_first_and_the_last(ask: Ask) -> None:
    book = {"function": {"equals": "shop::book"}, "eventType": "function_enter"}
    forward = ids_of_all(ask, **book, where="cents < 20")
    assert len(forward) == 3 * 19 + 1
    assert ids_of_all(ask, **book, where="cents < 20", order="desc") == forward[::-1]
    plain = ids_of_all(ask, **book)
    assert len(plain) == 3 * CALLS
    assert ids_of_all(ask, **book, order="desc") == plain[::-1]
    last = ask(**book, last=4)
    assert [event["id"] for event in last["events"]] == plain[-4:]
    assert last["totalCount"] == 3 * CALLS
    assert [event["id"] for event in ask(**book, last=3, where="cents < 20")["events"]] == forward[-3:]
    between = ask(**book, **{"from": plain[5], "to": plain[8]})
    assert [event["id"] for event in between["events"]] == plain[5:9]


def ids_of_all(ask: Ask, **asked: Any) -> list[str]:
    """Page by page, by the cursor that each gives."""
    found: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = ask(**asked, **after, limit=500)
        found += [event["id"] for event in page["events"]]
        if not page["hasMore"]:
            return found
        after = {"afterEventId": page["nextCursor"]}


def test_a_full_page_says_so_first(ask: Ask) -> None:
    page = ask(limit=500, verbose=True)
    assert list(page)[:3] == ["truncated", "shown", "nextCursor"]
    assert page["shown"] == len(page["events"]) < 500
    assert page["nextCursor"] == page["events"][-1]["id"]
    assert page["nextOffset"] == len(page["events"])
    rest = ask(limit=500, verbose=True, offset=page["nextOffset"])
    assert rest["events"][0]["timestampNs"] >= page["events"][-1]["timestampNs"]


def test_what_happened_around_an_event(ask: Ask) -> None:
    (event,) = ask(where="cents < 0 && what", verbose=True)["events"]
    around = ask(around=event["id"])
    assert around["event"]["id"] == event["id"]
    before, after = around["thread"]["before"], around["thread"]["after"]
    assert [item["function"] for item in after[:3]] == ["shop::allowed", "shop::allowed", "shop::book"]
    assert [item["function"] for item in before[-2:]] == ["shop::allowed", "shop::book"]
    assert {item["thread"] for item in before + after} == {f"till-3 {event['threadId']}"}
    others = around["others"]["before"] + around["others"]["after"]
    assert others
    assert f"till-3 {event['threadId']}" not in {item.get("thread") for item in others}
    times = [item["timestampNs"] for item in (*before, around["event"], *after)]
    assert times == sorted(times)


def test_values_are_selected_around_an_event(ask: Ask) -> None:
    """Of the nearest events that have one of them."""
    (event,) = ask(where="cents < 0 && what", verbose=True)["events"]
    around = ask(around=event["id"], select=["cents", "what"])
    before, after = around["thread"]["before"], around["thread"]["after"]
    assert before and after
    for item in before + after:
        assert item["thread"] == f"till-3 {event['threadId']}"
        assert item["values"].keys() in ({"cents"}, {"cents", "what"}) and "function" not in item
    assert {len(item["values"]) for item in before + after} == {1, 2}
    numbers = [int(item["id"].rpartition("-")[2]) for item in (*before, around["event"], *after)]
    assert numbers == sorted(numbers)


def test_a_tree_of_what_happened_inside_begins_with_the_calls(ask: Ask) -> None:
    """Other forms leave them out: these are asked for what is within."""
    asked = {"inside": {"function": "shop::book", "where": "cents < 0"}}
    tree = ask(**asked, format="tree")
    assert [line.partition("shop::")[2].partition("(")[0].split()[0] for line in tree["tree"]] == [
        "book",
        "allowed",
        "book",
    ]
    assert (tree["totalCount"], tree["inside"]) == (4, {"calls": 1})
    assert [event["function"] for event in ask(**asked)["events"]] == 2 * ["shop::allowed"]
    leaves = ask(inside={"function": "shop::allowed"}, format="tree", last=10)
    assert (leaves["inside"], leaves["totalCount"]) == ({"calls": 3 * CALLS}, 6 * CALLS)


def test_how_many_have_which_value(ask: Ask) -> None:
    by_kind = ask(groupBy="kind")
    assert {group["value"]: group["count"] for group in by_kind["groups"]} == {"SALE(1)": 3 * CALLS - 1, "REFUND(2)": 1}
    by_owner = ask(groupBy="account->owner", where="cents % 2 == 0")
    # the refund is even, and stands where an even amount would
    assert {group["value"]: group["count"] for group in by_owner["groups"]} == {
        f"till-{n}": CALLS // 2 for n in (1, 2, 3)
    }
    (refund,) = ask(groupBy="$return", where="kind == REFUND && $return")["groups"]
    assert (refund["value"], refund["count"]) == (True, 1)
    assert refund["first"] and "last" not in refund  # it is the same
    assert ask(groupBy="caller", function={"equals": "shop::allowed"})["groups"][0]["value"] == "shop::book"
    by_function = ask(groupBy="function", where="cents < 3")["groups"]
    assert {group["value"]: group["count"] for group in by_function} == {"shop::book": 7, "shop::allowed": 7}


def test_nothing_held_is_not_was_not_called(ask: Ask) -> None:
    found = ask(where="cents == 123456")
    assert (found["events"], found["checked"], found["held"]) == ([], 6 * CALLS, 0)
    assert found["absence"] == f"It held for none of {6 * CALLS} checked events."
    found = ask(where="account->next->number == 3")
    assert found["undecided"] == found["checked"] == 3 * CALLS
    assert "next" in found["undecidedWhy"]
    assert "next" in found["absence"]
    found = ask(where="why == 'x'")
    assert (found["checked"], found["totalCount"]) == (0, 0)
    assert found["absence"].startswith("It was not called") or "shop::fail" in found["absence"]


def test_groups_that_are_empty_are_explained(ask: Ask) -> None:
    none = ask(where="cents == 123456", groupBy="$threadName")
    assert (none["groups"], none["absence"]) == ([], f"It held for none of {6 * CALLS} checked events.")
    assert "absence" not in ask(where="cents == 3", groupBy="$threadName")
    unknown = ask(function={"equals": "shop::book"}, groupBy="account->next->number")
    assert (unknown["groups"], unknown["undecided"]) == ([], 3 * CALLS)
    assert unknown["absence"] == f"None of {unknown['held']} events has a value of account->next->number."


def test_absence_tells_of_the_conditions_that_left_no_event(ask: Ask) -> None:
    book = {"function": {"equals": "shop::book"}}
    conditions = (
        {"depth": 9},
        {"caller": {"equals": "shop::rate"}},
        {"where": "$duration > 3600000000000"},
        {"where": "$threadName == 'till-9'", "eventType": "function_exit"},
    )
    for one in conditions:
        found = ask(**book, **one)
        assert (found["events"], found["totalCount"]) == ([], 0)
        calls = f"The exact totals count {3 * CALLS} calls of them in all, but no event"
        assert f"{calls} that the other conditions select was kept." in found["absence"]
        assert "but no event was kept" not in found["absence"]
    assert "that the other conditions select" in ask(eventType="stdout", depth=1)["absence"]


def test_calls_that_a_condition_left_out_are_no_proof(wire: Wire, build_program: Callable[..., Path]) -> None:
    answer = wire.good(
        "debug_launch",
        command=str(build_program("ledger", "-O1")),
        args=["20"],
        projectRoot=ROOT,
        trace=["shop::book"],
        where="cents >= 15",
        wait={"until": "exit", "timeoutMs": 40_000},
    )
    book = {"sessionId": answer["sessionId"], "function": {"equals": "shop::book"}}
    found = wire.good("debug_query", **book, where="cents == 3")  # three tills have called it so
    assert (found["events"], found["checked"]) == ([], 3 * 6)
    assert found["absence"] == (
        "It held for none of 18 checked events. This does not prove that it did not happen. "
        "Left out as it was asked for, not lost: 42 calls for which the condition of their trace did not hold."
    )


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [
        ({"where": "cent < 0"}, ["character 1", "cents"]),
        ({"where": "cents <"}, ["character 8", "ends"]),
        ({"where": "cents = 0"}, ["character 7", "=="]),
        ({"where": "cents < 0 && $retrun == 1"}, ["character 14", "$return"]),
        ({"where": "kind == SALES"}, ["character 9", "SALE"]),
        ({"select": ["cents", "acount->number"]}, ["acount->number", "account"]),
        ({"groupBy": "cent"}, ["cents"]),
        ({"where": "what matches '('"}, ["regular expression"]),
        ({"around": "nothing-1"}, ["nothing-1"]),
    ],
)
def test_mistakes_are_told_with_their_place(wire: Wire, ask: Ask, asked: dict[str, Any], wrong: list[str]) -> None:
    (session,) = wire.good("debug_list_sessions")["sessions"]
    text = wire.bad("debug_query", sessionId=session["sessionId"], **asked)
    assert text.startswith("VALIDATION_ERROR")
    assert all(part in text for part in wrong), text
    assert wire.good("debug_query", sessionId=session["sessionId"], limit=1)["events"]


def test_a_wait_for_a_condition(wire: Wire, build_program: Callable[..., Path]) -> None:
    program = build_program("ledger", "-O1")
    wait = {"until": "event", "match": "cents < 0 && $return > 0", "timeoutMs": 40_000}
    launch = {"command": str(program), "args": ["2000", "until"], "projectRoot": ROOT, "trace": ["shop::book"]}
    answer = wire.good("debug_launch", **launch, sampling="off", wait=wait)
    assert answer["ended"] == {"stillRunning": True, "reason": "event"}
    assert (answer["event"]["eventType"], answer["event"]["threadName"]) == ("function_exit", "till-3")
    assert answer["event"]["id"] == answer["cursor"]
    text = wire.bad("debug_launch", **launch, wait={"until": "event", "match": "cent < 0"})
    assert "cents" in text


def test_the_command_line_asks_the_same(wire: Wire, ask: Ask) -> None:
    (session,) = wire.good("debug_list_sessions")["sessions"]

    def query(*options: str) -> str:
        command = [sys.executable, "-m", "strobe.cli.main", "query", session["sessionId"], *options]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout

    found = json.loads(query("--where", "cents < 0 && what && $return > 0", "--select", "cents", "--json"))
    assert [event["values"] for event in found["events"]] == [{"cents": -42}]
    assert (found["totalCount"], found["checked"]) == (1, 3 * CALLS)
    assert f"1 event match of {3 * CALLS:,} checked" in query("--where", "cents < 0 && what")
    last = json.loads(query("--function", "shop::book", "--last", "2", "--json"))["events"]
    assert [event["id"] for event in last] == [
        event["id"] for event in ask(function={"equals": "shop::book"}, last=2)["events"]
    ]
    assert query("--group-by", "kind").splitlines()[1].split()[0] == f"{3 * CALLS - 1:,}"
    assert "shop::book" in query("--around", last[0]["id"])


def test_a_text_that_was_cut_decides_nothing(wire: Wire, build_program: Callable[..., Path]) -> None:
    answer = wire.good(
        "debug_launch",
        command=str(build_program("ledger", "-O1")),
        args=["4"],
        projectRoot=ROOT,
        trace=["shop::book"],
        watches=[{"expr": "'a'.repeat(600) + 'end'", "label": "long", "on": ["shop::book"]}],
        wait={"until": "exit", "timeoutMs": 40_000},
    )
    assert not any("long" in text and "never read" in text for text in answer.get("warnings", []))
    found = wire.good("debug_query", sessionId=answer["sessionId"], where="long contains 'end'")
    assert (found["totalCount"], found["held"]) == (0, 0)
    assert found["undecided"] == found["checked"] > 0
    begins = wire.good("debug_query", sessionId=answer["sessionId"], where="long startswith 'aaa'")
    assert begins["held"] == 24  # entries and returns; lines of output are checked as well
