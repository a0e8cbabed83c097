"""The native sieve over many chunks finds what the evaluation of each event finds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from strobe._core import Sieve
from strobe._synthetic import write_calls
from strobe.dataclass import replace
from strobe.model import Capture, EventFilter, FunctionSymbol, Parameter, TextMatch, ValueKind, ValueType
from strobe.session.questions import Found, Question, question
from strobe.timeline.query import Timeline
from strobe.timeline.store import Store

CALLS = 40_000
THREADS = 3
FUNCTIONS = 10
LONG = ValueType(ValueKind.SIGNED, 8, "long")
PARAMETERS = (Parameter("made", LONG, 0, (Capture(0),)), Parameter("deep", LONG, 1, (Capture(1),)))
EVERY_TIME = "sum(i in 0..1: 0)"  # no native program decides that


@pytest.fixture(scope="module")
def timeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Timeline]:
    """Calls of a synthetic program, 8 deep, that fill some 40 chunks: each call has its number and its depth."""
    folder = tmp_path_factory.mktemp("sieve")
    segment = folder / "segment"
    write_calls(str(segment), CALLS, THREADS, FUNCTIONS)
    store = Store(folder / "home")
    session_id = store.add_session("/bin/synthetic", None, 2 * CALLS).id
    store.update_session(session_id, status="exited", segment_path=str(segment))
    functions = {
        number: FunctionSymbol(
            f"f{number}",
            f"f{number}",
            "synthetic",
            number,
            1,
            parameters=PARAMETERS,
            returns=LONG,
            return_captures=(Capture(6),),
        )
        for number in range(1, FUNCTIONS + 1)
    }
    store.add_functions(session_id, functions)
    timeline = Timeline(store, session_id, segment)
    yield timeline
    timeline.close()
    store.close()


def found(timeline: Timeline, wanted: EventFilter) -> Found:
    reader, until = timeline.reading()
    return Question(reader, wanted, lambda event: event, frozenset()).page(until)


QUESTIONS = [
    EventFilter(where="made == 777"),
    EventFilter(where="made % 1000 == 3 && $return > 2"),
    EventFilter(where="deep == 7 && $return >= 0", limit=500, offset=11),
    EventFilter(where="deep == 0 && $return == 3", limit=500, newest_first=True),
    EventFilter(where="$duration > 1000", limit=100),
    EventFilter(where="made < 50 || $depth == 7", function=TextMatch(equals="f3"), depth=2),
    EventFilter(where=f"made + {EVERY_TIME} > 13000 && deep != 1", limit=40, newest_first=True),
    EventFilter(where=f"made + {EVERY_TIME} < 20 && $return", limit=400),
    EventFilter(where="$threadName endswith '1' && made > 5", event_type="function_exit", limit=70, offset=5),
    EventFilter(select=("made", "$return"), limit=20, newest_first=True),
]


@pytest.mark.parametrize("place", range(len(QUESTIONS)))
def test_it_finds_what_the_evaluation_finds(timeline: Timeline, monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    native = found(timeline, QUESTIONS[place])
    monkeypatch.setattr(question, "can_sieve", lambda reader, sight: False)
    evaluated = found(timeline, QUESTIONS[place])
    assert native == evaluated
    assert native.events


@pytest.mark.parametrize("newest_first", [False, True])
def test_pages_repeat_and_skip_nothing(timeline: Timeline, newest_first: bool) -> None:
    wanted = EventFilter(where="made % 100 == 7 && $return > 0", limit=97, newest_first=newest_first)
    whole = found(timeline, replace(wanted, limit=10_000))
    assert len(whole.events) == whole.held > 3 * 97
    ids: list[str] = []
    while True:
        page = found(timeline, wanted)
        ids += [event.id for event in page.events]
        if page.held <= len(page.events):
            break
        wanted = replace(wanted, after_event_id=ids[-1])
    assert ids == [event.id for event in whole.events]


def test_windows_hold_each_event_once(timeline: Timeline) -> None:
    reader, until = timeline.reading()
    unbounded = dict.fromkeys(
        ("address", "functions", "threads", "tid", "depth", "from_ns", "to_ns", "min_duration_ns", "returns")
    )
    sieve = Sieve(reader.segment, None, kinds=6, from_number=0, to_number=until, with_entries=False, **unbounded)
    begins = sieve.windows()
    assert begins[0] == 0 and len(begins) > 2
    middle = until // 2
    parts = [sieve.look(low, high, 0, newest=False, reason=False) for low, high in ((0, middle), (middle + 1, until))]
    assert sum(part.checked for part in parts) == sum(part.held for part in parts) == 2 * CALLS
    newest = sieve.look(0, until, 5, newest=True, reason=False).rows(0, 10)
    assert [row[0] for _, row, _ in newest] == sorted(row[0] for _, row, _ in newest)
    assert newest[-1][1][0] == reader.newest_number()
