"""Trees of `debug_query`: what is folded can be unfolded again, and blocks stay whole."""

from __future__ import annotations

import random
import re

from strobe.mcp.answers import tree_json
from strobe.model import Argument, Event
from strobe.report.shortened import shortened
from strobe.values.decode import text
from strobe.values.model import Pairs, Record, Rows, Tuple, Variant

FOLD = re.compile(r"  \((?:these (\d+) lines )?x ([\d,]+)\)")


def calls(names: str, **arguments: str) -> list[Event]:
    """An enter and its exit of each letter's function."""
    events: list[Event] = []
    for number, name in enumerate(names):
        given = tuple(Argument(one, value) for one, value in arguments.items())
        enter, leave = f"s-{2 * number + 1}", f"s-{2 * number + 2}"
        place = (1, "main", 7, name)
        events.append(Event(enter, number * 10, "function_enter", *place, depth=0, arguments=given))
        took = {"duration_ns": 5 + number, "parent_event_id": enter}
        events.append(Event(leave, number * 10 + 5, "function_exit", *place, depth=0, **took))  # type: ignore[arg-type]
    return events


def unfolded(lines: list[str]) -> str:
    """The functions' letters, as a reader understands the lines: "these N lines" are the N before, the own included."""
    known: list[tuple[int, str]] = []  # lines that are shown, and what they stand for
    for line in lines:
        known.append((1, line[0]))
        for block, times in FOLD.findall(line):
            shown, meaning = 0, ""
            while shown < int(block or 1):
                count, own = known.pop()
                shown, meaning = shown + count, own + meaning
            assert shown == int(block or 1), lines
            known.append((shown, meaning * int(times)))
    return "".join(meaning for _, meaning in known)


def loops(chance: random.Random, depth: int) -> str:
    """Loops within loops."""
    parts = [
        loops(chance, depth - 1) * chance.randint(1, 4) if depth and chance.random() < 0.6 else chance.choice("abc")
        for _ in range(chance.randint(1, 3))
    ]
    return "".join(parts)


def test_what_is_folded_is_what_was_called() -> None:
    chance = random.Random(4711)
    for _ in range(2_000):
        names = loops(chance, 3)[:60]
        found, _ = tree_json.blocks(calls(names))
        assert unfolded([line for lines, _ in found for line in lines]) == names
        assert sum(count for _, count in found) == 2 * len(names)


def test_a_block_is_one_entry_with_the_times_of_all_its_rounds() -> None:
    found, _ = tree_json.blocks(calls("z" + "ab" * 5 + "cc"))
    assert [(lines, count) for lines, count in found] == [
        (["z()  5 ns"], 2),
        (["a()  6 ns to 14 ns", "b()  7 ns to 15 ns  (these 2 lines x 5)"], 20),
        (["c()  16 ns"], 2),
        (["c()  17 ns"], 2),
    ]


def test_the_result_of_a_long_line_is_there() -> None:
    (event, leave) = calls("f", text="x" * 2_000)
    leave.return_value, leave.return_type = 42, "int"
    ((lines, _),), _ = tree_json.blocks([event, leave])
    (line,) = lines
    assert len(line) < 500 and "more characters]" in line and line.endswith(" = 42  5 ns")


def test_what_calls_have_alike_has_a_bound() -> None:
    events = [event for number in range(200) for event in calls(chr(0x4E00 + number) * 4, text="x" * 250)]
    found, same = tree_json.blocks(events)
    assert 0 < sum(len(name) + len(text) for name, text in same.items()) <= 2_200
    assert sum("x" * 100 in line for lines, _ in found for line in lines) == 200 - len(same)


def test_an_exit_belongs_to_its_own_enter() -> None:
    """A condition may hold for the entry of one call and for the return of another."""
    first, _, _, second = calls("ff")
    ((entered, _), (left, _)), _ = tree_json.blocks([first, second], is_whole=False)
    assert (entered, left) == (["f() {"], ["} f  6 ns"])


def test_nothing_is_said_of_returns_that_were_not_asked_for() -> None:
    found, _ = tree_json.blocks(calls("fgh")[::2], is_whole=False)
    assert [line for lines, _ in found for line in lines] == ["f() {", "g() {", "h() {"]


def test_threads_are_named_from_the_first_line_on() -> None:
    ((lines, _),), _ = tree_json.blocks(calls("f"), names_threads=True)
    assert lines == ["[main 1] f()  5 ns"]


def test_marks_of_a_duration_in_a_label_are_none() -> None:
    probes = [Event(f"s-{n}", n, "probe", 1, "main", 7, "f", depth=0, label="\0seven\0") for n in range(1, 5)]
    ((lines, count),), _ = tree_json.blocks(probes)
    assert count == 4 and lines[0].endswith("(x 4)")


def test_values_that_are_cut_do_not_count_as_zeros() -> None:
    assert text.shown(shortened(Rows([0] * 100, 1_000))) == "[0 x 100, … 1000 in all]"
    assert text.shown(shortened(Rows([0] * 100, 100))) == "[0 x 100]"
    inner = Record("Inner", {"a": 0, "b": 0, "c": Rows([0] * 100, 1_000)})
    assert "c = [0 x 100, … 1000 in all]" in text.shown(shortened(Record("Outer", {"inner": inner})))


def test_a_variant_with_nothing_but_zeros_is_not_left_out() -> None:
    inner = Record("Inner", {"a": 0, "b": 0, "c": Variant("Option", "Some", Tuple([0]))})
    assert text.shown(shortened(Record("Outer", {"inner": inner}))) == "{inner = {a = 0, b = 0, c = Some(0)}}"


def test_entries_of_a_map_with_equal_keys_stay_entries() -> None:
    assert text.shown(shortened(Pairs([(1, 2), (1, 3)], 2))) == "{1: 2, 1: 3}"
