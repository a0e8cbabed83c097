"""The form of a tool's answer: both fields alike, exact in JavaScript, bounded."""

from __future__ import annotations

from typing import Any

import orjson

from strobe.mcp import results
from strobe.mcp.results import bounded
from strobe.mcp.tools.waiting import _fewer_probed, _keep


def test_both_fields_carry_the_same_compact_json() -> None:
    result = results.success({"events": [{"id": "a-1"}], "hasMore": False})
    assert result["structuredContent"] == {"events": [{"id": "a-1"}], "hasMore": False}
    assert result["content"] == [{"type": "text", "text": '{"events":[{"id":"a-1"}],"hasMore":false}'}]
    assert result["isError"] is False


def test_a_failure_is_all_in_the_text() -> None:
    assert results.failed("INTERNAL: x") == {"content": [{"type": "text", "text": "INTERNAL: x"}], "isError": True}


def test_what_javascript_would_change_becomes_text() -> None:
    values = [2**53, 2**53 + 1, 2**64 - 1, -(2**63), 2**80, True, float("nan"), float("inf"), 0.5]
    plain = results.success({"values": values})["structuredContent"]["values"]
    texts = ["9007199254740993", "18446744073709551615", "-9223372036854775808", str(2**80)]
    assert plain == [2**53, *texts, True, "nan", "inf", 0.5]


def test_bytes_that_are_no_text_do_not_break_the_answer() -> None:
    path = b"/tmp/\xff\xfe".decode(errors="surrogateescape")
    result = results.success({"path": path})
    assert orjson.loads(orjson.dumps(result))["structuredContent"]["path"] == "/tmp/??"


def test_as_many_items_as_fit_and_at_least_one() -> None:
    items = [{"text": "x" * 89}] * 10  # 100 bytes each, with their comma 101
    assert results.fitting(items, 2000) == 10
    assert results.fitting(items, 510) == 5
    assert results.fitting(items, 10) == 1
    assert results.fitting([], 10) == 0


def test_a_clipped_text_tells_how_much_is_missing() -> None:
    assert results.clipped("abc", 3) == "abc"
    assert results.clipped("abcdef", 3) == "abc… [3 more characters]"


def test_warnings_are_left_out_whole_and_never_cut() -> None:
    name = "std::map<std::string, std::vector<int, std::allocator<int>>>::at() const"
    long = f"Not traced: {', '.join([name] * 9)}: they call operator->() and operator<<()."
    brief = long.replace(name, "std::map<…>::at() const")
    assert bounded(["Brief.", long]) == ["Brief.", brief]
    endless = "No function matches. " * 300
    assert bounded([endless, "First.", endless, "Last."]) == [endless, "First.", "Last.", "… and 1 more"]
    assert bounded(["One."] * 25) == [*["One."] * 20, "… and 5 more"]


def test_a_stack_is_said_where_the_event_that_said_it_is_left_out() -> None:
    """Of an answer that is too long only the first two and the last events of probes are kept."""
    stacks: list[object] = [["a", "main"], "as 0", ["b", "main"], "as 2", "as 2", "as 0"]
    events = [{"id": str(number), "stack": stack} for number, stack in enumerate(stacks)]
    answer: dict[str, Any] = {"probeEvents": {"first": events[:3], "last": events[3:], "notShown": 4}}
    _fewer_probed(answer)
    assert answer["probeEvents"] == {
        "first": events[:2],
        "last": [{"id": "3", "stack": ["b", "main"]}, {"id": "4", "stack": "as 3"}, {"id": "5", "stack": "as 0"}],
        "notShown": 5,
    }


def test_output_that_is_cut_says_so() -> None:
    """Also where an answer is too long only because of the rest."""
    lines = [{"stdout": str(number)} for number in range(9)]
    answer: dict[str, Any] = {"output": lines}
    _keep("output", 9)(answer)
    assert answer == {"output": lines}
    _keep("output", 8)(answer)
    assert answer == {"output": lines[1:], "outputCut": "only the last lines"}
