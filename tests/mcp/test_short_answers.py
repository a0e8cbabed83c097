"""Answers of one screen: what says nothing is folded, said once or left out. The programs are folds and ledger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from support.mcp_wire import Wire
from support.programs import PROGRAMS

ROOT = str(PROGRAMS)
PAGE_BYTES, HISTORY_BYTES = 12_000, 4_096
CALLS = 100 + 30
Build = Callable[..., Path]
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def folds(wire: Wire, build_program: Build) -> dict[str, Any]:
    """A run of it, with structures recorded, a watch that mostly has no value, and a probe."""
    return wire.good(
        "debug_launch",
        command=str(build_program("folds", "-g", "-O1")),
        projectRoot=ROOT,
        trace=["look", "choose", "drop"],
        depth=2,
        watches=[{"variable": "at->chosen->key", "label": "key", "on": ["look"]}],
        probes=[{"at": "drop", "show": ["one->count"]}],
        wait={"until": "exit", "timeoutMs": 40_000},
    )


@pytest.fixture
def ask(wire: Wire, folds: dict[str, Any]) -> Ask:
    def asked(**arguments: Any) -> dict[str, Any]:
        found = wire.good("debug_query", sessionId=folds["sessionId"], **arguments)
        assert len(orjson.dumps(found)) <= PAGE_BYTES
        return found

    return asked


def addresses(folds: dict[str, Any]) -> list[str]:
    return list(folds["output"][0]["stdout"].split())


def test_a_history_is_one_screen_the_first_and_the_last_events(folds: dict[str, Any], ask: Ask) -> None:
    item, _ = addresses(folds)
    told = ask(address=item)
    assert len(orjson.dumps(told)) <= HISTORY_BYTES
    by_function = {(one["eventType"], one["function"]): one for one in told["touched"]}
    assert by_function["function_exit", "choose"]["count"] == 30
    assert by_function["function_exit", "choose"]["places"] == ["$return"]
    assert by_function["function_enter", "drop"]["count"] == 1
    assert [one["firstNs"] for one in told["touched"]] == sorted(one["firstNs"] for one in told["touched"])
    assert told["totalCount"] == sum(one["count"] for one in told["touched"])
    assert [event["function"] for event in told["events"]] == ["choose", "look", "look", "drop"]
    every = ask(address=item, limit=500)
    assert every["events"][0]["id"] == told["events"][0]["id"] and len(every["events"]) > len(told["events"])
    assert ask(address="0x10")["absence"].startswith("0x10 is in none of ")


def test_events_that_come_again_are_told_once(ask: Ask) -> None:
    calls = {"function": {"equals": "look"}, "limit": 500}
    page = ask(**calls, format="folded")
    first, last = page["events"][0], page["events"][-1]
    assert (len(page["events"]), page["totalCount"], page["hasMore"]) == (4, 2 * CALLS, False)
    assert "these 2 events x 100 in all" in page["events"][1]["again"] and "again" not in first
    assert "these 2 events x 30 in all" in last["again"]
    assert 0 < page["events"][1]["againNs"]["min"] <= page["events"][1]["againNs"]["max"]
    rows = ask(**calls)
    assert len(rows["events"]) < 2 * CALLS and rows["truncated"] is True
    ids = [event["id"] for event in ask(function={"equals": "look"}, last=1)["events"]]
    assert last["again"].endswith(ids[0])


def test_a_full_page_folds_values_and_tells_once_what_all_events_have(ask: Ask) -> None:
    page = ask(function={"equals": "look"}, eventType="function_enter", verbose=True, limit=100)
    assert set(page["common"]) == {"functionRaw", "sourceFile", "line", "pid"}
    assert not any(set(page["common"]) & set(event) for event in page["events"])
    assert page["truncated"] is True and page["shown"] == len(page["events"]) > 15
    pointed = next(one["value"] for one in page["events"][0]["arguments"] if one["name"] == "at")
    assert pointed["to"] == {"used": 0, "first": "{all 0}", "second": "{all 0}", "chosen": "0x0", "marks": ["0 x 40"]}
    assert page["watchErrors"]["key"].startswith("Null pointer at at->chosen")
    assert {event["watchValues"]["key"] for event in page["events"]} == {"(error)"}
    (whole,) = ask(**{"from": page["events"][0]["id"], "to": page["events"][0]["id"]}, verbose=True)["events"]
    pointed = next(one["value"] for one in whole["arguments"] if one["name"] == "at")
    assert pointed["to"]["marks"] == [0] * 40 and whole["threadName"] == "folds"


def test_pointers_are_counted_by_their_address(folds: dict[str, Any], ask: Ask) -> None:
    """What the pool holds is another at the first call."""
    item, pool = addresses(folds)
    calls = {"function": {"equals": "choose"}, "eventType": "function_enter"}
    values = [event["values"]["at"] for event in ask(**calls, select=["at"])["events"]]
    assert values[0] != values[1]
    for by in ("at", "(void*)at"):
        (group,) = ask(**calls, groupBy=by)["groups"]
        assert (group["value"].split()[0], group["count"]) == (pool, 30)
    (group,) = ask(function={"equals": "choose"}, groupBy="$return")["groups"]
    assert (group["value"].split()[0], group["count"]) == (item, 30)
    (first,) = ask(**calls, where=f"(void*)at == {pool}", select=["(void*)at"], limit=1)["events"]
    assert first["values"]["(void*)at"].split()[0] == pool


def test_events_of_probes_are_told_once(folds: dict[str, Any]) -> None:
    told = [*folds["events"]["first"], *folds["events"]["last"]]
    assert len(told) == 5 and all(event["eventType"] != "probe" for event in told)
    assert [event["values"] for event in folds["probeEvents"]["first"]] == [{"one->count": 1}]


def test_why_a_selected_value_is_not_there_is_said_once(ask: Ask) -> None:
    page = ask(function={"equals": "look"}, eventType="function_enter", select=["times"], limit=100)
    assert "errors" not in page
    page = ask(
        function={"equals": "look"}, eventType="function_enter", select=["at->chosen->key"], limit=100, maxTokens=3000
    )
    assert [list(event) for event in page["events"]] == 100 * [["id", "values"]]
    assert not any(event["values"] for event in page["events"])
    assert page["errors"]["at->chosen->key"].endswith("(of 100 of these events)")


def test_calculated_addresses_are_hexadecimal(wire: Wire, build_program: Build) -> None:
    answer = wire.good(
        "debug_launch",
        command=str(build_program("folds", "-g", "-O1")),
        projectRoot=ROOT,
        trace=["look"],
        watches=[{"variable": "at->chosen ? at->chosen : at->first.next", "label": "which"}],
        probes=[{"at": "choose", "show": ["(char*)at + 8", "max(x in at->marks: x)"]}],
        wait={"until": "exit", "timeoutMs": 40_000},
    )
    item, pool = addresses(answer)
    first = answer["probeEvents"]["first"][0]["values"]
    assert first["max(x in at->marks: x)"] == 0
    assert int(first["(char*)at + 8"], 16) == int(pool, 16) + 8
    (last,) = wire.good("debug_query", sessionId=answer["sessionId"], last=1, verbose=True, eventType="function_exit")[
        "events"
    ]
    assert last["watchValues"]["which"].split()[0] == item
    asked = {"sessionId": answer["sessionId"], "eventType": "function_enter", "last": 1}
    (one,) = wire.good("debug_query", **asked, select=["at - 16", "at"])["events"]
    assert int(one["values"]["at - 16"], 16) == int(pool, 16) - 16


def test_a_refused_launch_names_all_that_is_wrong(wire: Wire, build_program: Build) -> None:
    text = wire.bad(
        "debug_launch",
        command=str(build_program("folds", "-g", "-O1")),
        projectRoot=ROOT,
        trace=["lok", "look"],
        watches=[{"variable": "at->usd"}, {"variable": "pol.used"}],
        probes=[{"at": "folds.c:4000"}, {"at": "choose", "show": ["at->chsen"]}],
    )
    assert text.startswith("INVALID_PATTERN: ") and "things are wrong. (1) " in text
    for part in ("'lok'", "look", "usd", "'pol.used'", "folds.c:4000", "chsen"):
        assert part in text, part
    assert wire.good("debug_list_sessions")["sessions"] == []


def test_a_value_that_only_some_probes_show(wire: Wire, build_program: Build) -> None:
    """Of the events of others it neither holds nor is it unknown."""
    program = str(build_program("texts", "-O0"))
    probes = [
        {"at": "look", "show": ["key.size"], "label": "a", "where": "$hit < 4"},
        {"at": "look", "show": ["plain[0..3]"], "label": "b", "where": "$hit < 6"},
    ]
    launched = wire.good("debug_launch", command=program, projectRoot=ROOT, probes=probes, wait={"until": "exit"})
    ask = {"sessionId": launched["sessionId"], "eventType": "probe"}
    both = wire.good("debug_query", **ask, where="key.size == 9 || `plain[0..3]` == 'arx'")
    assert (both["held"], both.get("undecided", 0)) == (2, 0), both
    one = wire.good("debug_query", **ask, where="key.size == 9", select=["key.size", "plain[0..3]"])
    assert (one["held"], one.get("undecided", 0)) == (1, 0), one


def test_values_by_one_name(wire: Wire, build_program: Build) -> None:
    """What several probes show is asked for at once."""
    program = str(build_program("texts", "-O0"))
    probes = [
        {"at": "look", "show": ["text = key.data[0..3]"], "label": "a", "where": "$hit < 4"},
        {"at": "look:return", "show": ["text = plain"], "label": "b", "where": "$hit < 4"},
    ]
    launched = wire.good("debug_launch", command=program, projectRoot=ROOT, probes=probes, wait={"until": "exit"})
    ask = {"sessionId": launched["sessionId"], "eventType": "probe"}
    found = wire.good("debug_query", **ask, where="text startswith 'arx'", select=["text"])
    assert (found["held"], found.get("undecided", 0)) == (2, 0), found
    assert [event["values"] for event in found["events"]] == [{"text": "arx"}, {"text": "arxicle-000"}]


def test_a_tree_has_a_line_for_each_call_and_loops_once(ask: Ask) -> None:
    page = ask(format="tree")
    assert (page["hasMore"], page["totalCount"]) == (False, 2 * (CALLS + 30) + 4)
    assert "truncated" not in page and len(page["tree"]) == 9
    looked, _, _, _, again, dropped, probed, _, printed = page["tree"]
    assert looked.startswith("look(at=0x") and looked.endswith("(x 100)")
    assert "second = {all 0}, chosen = 0x0, marks = [0 x 40]}, times=3)" in looked and " = 3 " in looked
    assert page["tree"][3].startswith("choose(") and page["tree"][3].endswith("(these 2 lines x 29)")
    assert again.startswith("look(") and not again.endswith(")")
    assert dropped.endswith(") {") and probed == "  * drop  one->count=1" and printed.startswith("stdout: 0x")
    last = ask(format="tree", last=5)
    assert last["tree"][1:] == page["tree"][5:] and last["hasMore"] is True


def test_trees_are_paged_and_refused(wire: Wire, folds: dict[str, Any], ask: Ask) -> None:
    every, cursor, pages = 0, {}, 0
    while True:
        page = ask(format="tree", limit=61, **cursor)
        every += page.get("shown", min(61, page["totalCount"]))
        pages += 1
        if not page["hasMore"]:
            break
        cursor = {"afterEventId": page["nextCursor"]}
    assert every == 2 * (CALLS + 30) + 4
    assert pages == 6
    for wrong in ({"order": "desc"}, {"select": ["times"]}):
        said = wire.bad("debug_query", sessionId=folds["sessionId"], format="tree", **wrong)
        assert "order asc, or last; and no select" in said


def test_what_all_calls_have_alike_and_the_odd_one(wire: Wire, build_program: Build) -> None:
    launched = wire.good(
        "debug_launch",
        command=str(build_program("odd_one", "-g", "-O0")),
        projectRoot=ROOT,
        trace=["add", "main"],
        depth=0,
        wait={"until": "exit", "timeoutMs": 40_000},
    )
    page = wire.good("debug_query", sessionId=launched["sessionId"], format="tree")
    (account,) = page["same"].values()
    assert account.startswith("to=0x")
    calls = [line for line in page["tree"] if line != "stdout: 4695"]  # it comes before the end, or after it
    assert len(calls) == len(page["tree"]) - 1
    begin, before, odd, after, end = calls
    assert begin == "main() {"
    assert before.startswith("  add(cents=5) = 1  ") and before.endswith("(x 700)")
    assert odd.startswith("  add(cents=-300) = 0  ")
    assert after.startswith("  add(cents=5) = 1  ") and after.endswith("(x 299)")
    assert end.startswith("} main = 0  ")


def test_a_tree_says_nothing_untrue_of_returns(wire: Wire, build_program: Build) -> None:
    """No function of that program is left without return: 1,024 are followed, and the others' returns are not seen."""
    program = str(build_program("recursion", "-g", "-O0"))
    launched = wire.good(
        "debug_launch", command=program, projectRoot=ROOT, trace=["down"], wait={"until": "exit", "timeoutMs": 40_000}
    )

    def tree(**asked: Any) -> list[str]:
        page = wire.good("debug_query", sessionId=launched["sessionId"], format="tree", **asked)
        assert len(orjson.dumps(page)) <= PAGE_BYTES
        found: list[str] = page["tree"]
        assert not any("left without return" in line for line in found)
        assert all(line.startswith(("[recursion ", "stdout: ")) for line in found), "it has threads"
        return found

    # C leaves it open which argument of a call comes first: gcc begins with the last one
    assert tree(offset=1_034, limit=20)[0].endswith("  down(levels=3966)  return not recorded")
    assert tree(eventType="function_enter", limit=150)[0].endswith("] down(levels=5000) {")
    assert len(tree(where="$return == 0")) >= 1
    assert tree(last=30)[-1].startswith("stdout: other: ")


def test_output_that_is_no_text_is_not_shown(wire: Wire) -> None:
    """Compressed data, as `gzip -c` prints it, then a line of text."""
    zipped = "head -c 30000 /bin/sh | gzip -c; printf '\nl\\303\\251gende\n'"
    answer = wire.good("debug_launch", command="/bin/sh", args=["-c", zipped], projectRoot=ROOT, wait={"until": "exit"})
    assert answer["output"][-1] == {"stdout": "l\u00e9gende"} and len(orjson.dumps(answer["output"])) < 200
    assert answer["output"][0]["stdout"].startswith("(no text: some ")
    printed = wire.good("debug_query", sessionId=answer["sessionId"], eventType="stdout", last=3)["events"]
    assert printed[-1]["text"] == "l\u00e9gende\n" and printed[0]["text"].startswith("(no text: ")


def test_values_that_are_cut_read_like_others(wire: Wire, build_program: Build) -> None:
    """Without the quotes of JSON within JSON."""
    answer = wire.good(
        "debug_launch",
        command=str(build_program("folds", "-g", "-O1")),
        projectRoot=ROOT,
        trace=["look"],
        depth=2,
        wait={"until": "exit", "timeoutMs": 40_000},
    )
    last = next(event for event in answer["events"]["last"] if event["eventType"] == "function_enter")
    assert last["arguments"]["at"].startswith("0x") and " -> {used = 2, first = {key = 7, " in last["arguments"]["at"]


def test_a_text_is_as_long_as_the_next_argument_says(wire: Wire, build_program: Build) -> None:
    """It stands under the expression that shows it, which conditions can ask for, too."""
    answer = wire.good(
        "debug_launch",
        command=str(build_program("lengths", "-O0")),
        projectRoot=ROOT,
        trace=["find", "join", "fill"],
        wait={"until": "exit", "timeoutMs": 40_000},
    )
    asked = {"sessionId": answer["sessionId"], "eventType": "function_enter"}
    told = wire.good("debug_query", **asked, function={"equals": "find"}, verbose=True)["events"]
    shown = [{one["name"]: one["value"] for one in event["arguments"]} for event in told]
    assert shown == [{"label[0..label_size]": "alpha", "label_size": 5}, {"label[0..label_size]": "", "label_size": 0}]
    found = wire.good("debug_query", **asked, where="label[0..label_size] == 'alpha'")
    assert found["totalCount"] == 1
    tree = wire.good("debug_query", sessionId=answer["sessionId"], format="tree")["tree"]
    assert tree[0].startswith('find(label[0..label_size]="alpha", label_size=5) = ')
    (joined,) = wire.good("debug_query", **asked, function={"equals": "join"}, verbose=True)["events"]
    assert [one["name"] for one in joined["arguments"]] == ["left[0..leftLen]", "leftLen", "right", "right_len"]
    (filled,) = wire.good("debug_query", **asked, function={"equals": "fill"}, verbose=True)["events"]
    assert [one["value"] for one in filled["arguments"]] == ["alphabet soup", 3], "count may be of anything"


def test_a_reference_has_its_address_as_a_pointer_has(wire: Wire, build_program: Build) -> None:
    """In each form of an answer, and where an event is short of room; it is compared as what it stands for."""
    launched = wire.good(
        "debug_launch",
        command=str(build_program("watched_library", "-O0", "-std=c++17")),
        projectRoot=ROOT,
        trace=["count"],
        depth=3,
        wait={"until": "exit", "timeoutMs": 40_000},
    )
    asked = {"sessionId": launched["sessionId"], "eventType": "function_enter"}
    (event,) = wire.good("debug_query", **asked, verbose=True, maxTokens=5000)["events"]
    given = {one["name"]: one["value"] for one in event["arguments"]}
    assert given["song"].keys() == given["pointer"].keys() == {"pointer", "to"}
    address = given["pointer"]["pointer"]
    assert given["song"]["pointer"] == address
    assert given["song"]["to"]["title"] == "abc"
    assert given["pointer"]["to"] in (given["song"]["to"], "(above)")
    tree = wire.good("debug_query", sessionId=launched["sessionId"], format="tree")["tree"]
    assert f'song={address} -> {{title = "abc"' in str(tree)
    where = f'song.title == "abc" && size(song.tracks) == 2 && (void*)song == {address}'
    assert wire.good("debug_query", **asked, where=where)["totalCount"] == 1
    (touched,) = wire.good("debug_query", sessionId=launched["sessionId"], address=address)["touched"]
    assert touched["places"] == ["song", "pointer"]


def test_values_of_several_functions_are_asked_for_at_once(ask: Ask) -> None:
    """Each event has those that it has; one without any is not shown, and why some are missing stands once."""
    page = ask(select=["times", "one->key", "$return"], eventType="function_enter", last=3)
    assert "absence" not in page
    assert [event["values"] for event in page["events"]] == [{"times": 4}, {"times": 4}, {"one->key": 7}]
    assert page["errors"]["times"] == "drop has no argument 'times' (of 1 of these events)"
    assert page["errors"]["one->key"] == "look has no argument 'one' (of 2 of these events)"
    beside_watches = ask(select=["times", "key"], limit=500)
    assert beside_watches["totalCount"] > 2 * CALLS  # any call may have what a watch is called
    drops = ask(function={"equals": "drop"}, eventType="function_exit", select=["$return", "$duration"])
    (event,) = drops["events"]
    assert list(event["values"]) == ["$duration"]
    assert drops["errors"] == {"$return": "drop returns nothing (of 1 of these events)"}


def test_values_are_counted_where_all_of_them_are(ask: Ask) -> None:
    groups = ask(groupBy=["times", "at->used"], eventType="function_enter")["groups"]
    assert [(group["value"], group["count"]) for group in groups] == [
        ({"times": 3, "at->used": 0}, 100),
        ({"times": 4, "at->used": 2}, 30),
    ]


def test_a_value_of_a_probe_may_be_called_as_an_argument_is(wire: Wire, build_program: Build) -> None:
    answer = wire.good(
        "debug_launch",
        command=str(build_program("folds", "-g", "-O1")),
        projectRoot=ROOT,
        trace=["look"],
        probes=[{"at": "drop", "show": ["times = one->key"]}],
        wait={"until": "exit", "timeoutMs": 40_000},
    )

    def asked(**arguments: Any) -> dict[str, Any]:
        return wire.good("debug_query", sessionId=answer["sessionId"], **arguments)

    found = asked(where="times == 7")
    assert [(event["eventType"], event["label"]) for event in found["events"]] == [("probe", "drop")]
    assert asked(select=["times"], last=1)["events"][0]["values"] == {"times": 7}
    assert {group["value"]: group["count"] for group in asked(groupBy="times")["groups"]} == {3: 100, 4: 30, 7: 1}
