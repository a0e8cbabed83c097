"""The call tree: events in, lines out; and calls made of events."""

from __future__ import annotations

from dataclasses import replace

from strobe.calls import pair
from strobe.model import Argument, Event
from strobe.report.calltree import CallTree
from strobe.report.palette import Palette


class Story:
    """Writes events as they would come: `story.enter("f", 0)`, `story.exit("f", 0, result=3)`."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def enter(self, function: str, depth: int, thread: int = 1, **arguments: int) -> None:
        given = tuple(Argument(name, value) for name, value in arguments.items())
        self._add("function_enter", function, depth, thread, arguments=given)

    def exit(self, function: str, depth: int, thread: int = 1, result: int | None = None) -> None:
        kind = "void" if result is None else "int"
        self._add("function_exit", function, depth, thread, return_value=result, return_type=kind, duration_ns=1_500)

    def _add(self, kind: str, function: str, depth: int, thread: int, **rest: object) -> None:
        number = len(self.events) + 1
        name = "main" if thread == 1 else "worker"
        place = (f"s-{number}", number * 100, kind, thread, name, 7, function)
        self.events.append(Event(*place, depth=depth, **rest))  # type: ignore[arg-type]


def lines(story: Story) -> list[str]:
    tree = CallTree(Palette(False))
    return tree.feed(story.events) + tree.finish()


def test_a_call_without_calls_is_one_line() -> None:
    story = Story()
    story.enter("parse", 0, text=1, length=12)
    story.enter("token", 1, position=0)
    story.exit("token", 1, result=3)
    story.exit("parse", 0)
    assert lines(story) == [
        "parse(text=1, length=12) {",
        "  token(position=0) = 3  1.50 us",
        "} parse  1.50 us",
    ]


def test_what_strobe_has_written_stands_where_it_happened() -> None:
    polled = Event("s-8", 0, "variable_snapshot", 0, "", 7, values={"gTempo": 120})
    story = Story()
    story.enter("f", 0)
    story.events += [polled, replace(polled, values={"gTempo": 90}, previous={"gTempo": 120})]
    story.exit("f", 0)
    assert lines(story) == ["f() {", "strobe: gTempo = 90 (written; it was 120)", "} f  1.50 us"]


def test_recursion_is_nested() -> None:
    story = Story()
    story.enter("f", 0)
    story.enter("f", 1)
    story.exit("f", 1)
    story.exit("f", 0)
    assert lines(story) == ["f() {", "  f()  1.50 us", "} f  1.50 us"]


def test_threads_are_named_once_there_are_two() -> None:
    story = Story()
    story.enter("a", 0)
    story.exit("a", 0)
    story.enter("b", 0)
    story.enter("c", 0, thread=2)
    story.exit("b", 0)
    story.exit("c", 0, thread=2)
    assert lines(story) == [
        "a()  1.50 us",
        "b() {",
        "[worker 2] c() {",
        "[main 1]   } b  1.50 us",
        "[worker 2] } c  1.50 us",
    ]


def test_frames_left_by_an_exception_are_closed_without_return() -> None:
    story = Story()
    story.enter("catches", 0)
    story.enter("middle", 1)
    story.enter("throws", 2)
    story.enter("after", 1)
    story.exit("after", 1)
    story.exit("catches", 0)
    assert lines(story) == [
        "catches() {",
        "  middle() {",
        "    throws() {",
        "    } throws left without return",
        "  } middle left without return",
        "  after()  1.50 us",
        "} catches  1.50 us",
    ]


def test_frames_open_at_the_end_are_reported() -> None:
    story = Story()
    story.enter("main", 0)
    story.enter("crash", 1)
    assert lines(story)[-1] == "still open at the end in main 1: main > crash"


def test_a_call_whose_return_could_not_be_recorded_is_one_line() -> None:
    """As on the stack of a coroutine: nothing says that it was left."""
    story = Story()
    story.enter("main", 0)
    story.enter("resumed", 1)
    story.enter("resumed", 1)
    story.exit("main", 0)
    story.events[1:3] = [replace(event, return_missed=True) for event in story.events[1:3]]
    assert lines(story) == [
        "main() {",
        "  resumed()  return not recorded",
        "  resumed()  return not recorded",
        "} main  1.50 us",
    ]


def test_a_return_whose_call_was_not_seen_stands_alone() -> None:
    story = Story()
    story.exit("f", 2, result=1)
    assert lines(story) == ["    } f = 1  1.50 us"]


def test_one_event_is_held_back_until_flush() -> None:
    story = Story()
    story.enter("waits", 0)
    story.exit("waits", 0)
    tree = CallTree(Palette(False))
    assert tree.feed(story.events[:1]) == []
    assert tree.flush() == ["waits() {"]
    assert tree.feed(story.events[1:]) == ["} waits  1.50 us"]


def test_after_a_gap_nothing_is_taken_for_left() -> None:
    story = Story()
    story.enter("f", 0)
    story.enter("g", 0)
    story.exit("g", 0)
    tree = CallTree(Palette(False))
    shown = tree.feed(story.events[:1]) + tree.gap("not printed") + tree.feed(story.events[1:])
    assert shown == ["f() {", "... not printed ...", "g()  1.50 us"]
    assert tree.gap("not printed") == ["... not printed ..."]
    assert tree.gap("not printed") == []


def test_a_call_kept_while_sampling_is_marked() -> None:
    story = Story()
    story.enter("hot", 0)
    story.exit("hot", 0)
    story.events = [replace(event, sampled=True) for event in story.events]
    assert lines(story) == ["hot()  1.50 us  sampled"]


def test_arguments_that_are_not_known_are_not_shown_as_none() -> None:
    story = Story()
    story.enter("f", 0)
    story.events = [Event("s-1", 1, "function_enter", 1, "main", 7, "f", depth=0)]
    assert lines(story) == ["f(…) {", "still open at the end in main 1: f"]


def test_calls_are_linked_and_threads_apart() -> None:
    story = Story()
    story.enter("settle", 0, article=7)
    story.enter("settle", 0, thread=2, article=1)
    story.enter("quote", 1)
    story.exit("quote", 1, result=33_000)
    story.enter("post", 1, cents=-32_536)
    story.exit("settle", 0, thread=2, result=5)
    story.exit("post", 1)
    story.exit("settle", 0, result=33_000)
    first, other, quote, post = pair(story.events)
    assert [call.function for call in first.children] == ["quote", "post"]
    assert post.parent is first
    assert other.children == []
    assert (quote.return_value, post.arguments, other.return_value) == (33_000, {"cents": -32_536}, 5)
    assert first.child("post") is post
    assert first.child("settle") is None


def test_a_call_left_by_an_exception_has_not_returned() -> None:
    story = Story()
    story.enter("outer", 0)
    story.enter("throws", 1)
    story.exit("outer", 0)
    outer, throws = pair(story.events)
    assert (outer.returned, throws.returned) == (True, False)


def test_a_return_without_its_call_gives_no_call() -> None:
    story = Story()
    story.exit("f", 0)
    story.enter("g", 0)
    story.exit("g", 0)
    assert [call.function for call in pair(story.events)] == ["g"]
