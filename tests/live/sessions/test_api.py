"""The Python API: launch, calls, live tracing, output, and nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from support.wait import wait_until

import strobe
from strobe import StrobeError
from strobe.model import EventFilter, ExitStatus, TextMatch

SECONDS = 60
Build = Callable[..., Path]


def test_calls_have_arguments_results_and_places(build_program: Build) -> None:
    with strobe.launch([build_program("throws")], trace=["flow::*"], sampling="off") as run:
        assert run.wait(SECONDS) == ExitStatus(code=0)
        passed, caught = run.calls("flow::catches")[:2]  # gcc evaluates arguments from right to left
        assert (caught.arguments, caught.return_value) == ({"value": 3}, -3)
        assert (passed.arguments, passed.return_value) == ({"value": 4}, 7)
        assert (caught.depth, Path(caught.source_file or "").name, caught.returned) == (0, "throws.cpp", True)
        assert run.stdout.startswith("caught -3, passed 7\n")


def test_calls_form_a_tree(build_program: Build) -> None:
    with strobe.launch([build_program("throws")], trace=["flow::*"], sampling="off") as run:
        run.wait(SECONDS)
        caught = [call for call in run.calls() if call.arguments == {"value": 3} and call.parent is None]
        upper = caught[0].child("flow::upper")
        assert upper is not None
        deepest = upper.children[0].children[0]
        assert (deepest.function, deepest.returned, deepest.thread) == ("flow::deepest", False, "throws")
        assert deepest.parent is upper.children[0]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("audio::*", {"audio::tick"}),
        ("audio::**", {"audio::tick", "audio::engine::render", "audio::engine::mix"}),
        ("*::tick", {"audio::tick", "midi::tick"}),
    ],
)
def test_calls_are_chosen_by_pattern(build_program: Build, pattern: str, names: set[str]) -> None:
    with strobe.launch([build_program("threads3"), "3"], trace=["audio::**", "midi::*", "ui::**"]) as run:
        run.wait(SECONDS)
        assert {call.function for call in run.calls(pattern)} == names
        assert {call.thread for call in run.calls(thread="aud")} == {"audio"}


@pytest.mark.parametrize("at_once", [True, False])
def test_calls_of_a_filtered_list_have_their_parents_and_children(
    build_program: Build, at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not at_once:
        monkeypatch.setattr("strobe.api._LINKED_AT_ONCE", 0)
    with strobe.launch([build_program("threads3"), "3"], trace=["audio::**", "midi::*"]) as run:
        run.wait(SECONDS)
        ticks, mixes = run.calls("audio::tick"), run.calls("audio::engine::mix")
        assert len(ticks) == 3 and len(mixes) == 6
        for mix in mixes:
            render = mix.parent
            assert render is not None and render.function == "audio::engine::render"
            assert render.parent is not None and render.parent.function == "audio::tick"
            assert mix in render.children and mix.children == []
            assert render.parent.parent is None and render.parent.id in {tick.id for tick in ticks}
            assert render.arguments["frame"] == mix.arguments["left"]
        assert {child.function for tick in ticks for child in tick.children} == {"audio::engine::render"}
        assert all(tick.parent is None for tick in ticks)
        render = ticks[0].child("audio::engine::render")
        assert render is not None and [call.function for call in render.children] == ["audio::engine::mix"] * 2
        later = run.calls("audio::tick")
    if at_once:
        assert later[0].children[0].function == "audio::engine::render"
    else:
        with pytest.raises(StrobeError, match="is closed: the parents and children of a filtered list"):
            _ = later[0].children


@pytest.mark.parametrize(
    ("options", "right"),
    [
        ({"trace": "audio::*"}, "write trace=['audio::*']"),
        ({"watch": "gTempo"}, "write watch=['gTempo']"),
        ({"watch": strobe.Watch("gTempo")}, "write watch=[Watch("),
    ],
)
def test_a_text_is_no_list(build_program: Build, options: dict[str, Any], right: str) -> None:
    with pytest.raises(TypeError, match=re.escape(right)):
        strobe.launch([build_program("threads3")], **options)
    with pytest.raises(TypeError, match=re.escape("write program=['./player']")):
        strobe.launch("./player")
    with strobe.launch([build_program("threads3")]) as run:
        for name in ("add", "remove", "unwatch"):
            with pytest.raises(TypeError, match=re.escape(f"{name} is a list: write {name}=['a::b']")):
                run.trace(**{name: cast(Any, "a::b")})


def test_a_pattern_that_matches_nothing_is_an_error(build_program: Build) -> None:
    program = build_program("threads3")
    with pytest.raises(StrobeError, match=r"INVALID_PATTERN.*audio::engine::rendr.*audio::engine::render") as caught:
        strobe.launch([program], trace=["audio::tick", "audio::engine::rendr"])
    assert "missing_ok=True" in caught.value.next_step
    with strobe.launch([program], trace=["plugin::*"], missing_ok=True) as run:
        assert run.calls("plugin::*") == []
        with pytest.raises(StrobeError, match="adio"):
            run.trace(add=["adio::*", "midi::tick"])
        assert run.trace(add=["nothing::**"], missing_ok=True).active_patterns == [
            "plugin::*",
            "midi::tick",
            "nothing::**",
        ]
        assert run.calls("nothing::**") == []


def test_what_cannot_be_hooked_is_not_traced_in_silence(build_program: Build) -> None:
    with pytest.raises(StrobeError, match=r"Nothing of 'too_short' can be recorded. Not hooked: too_short"):
        strobe.launch([build_program("absent", "-O1")], trace=["used", "too_short"])
    with strobe.launch([build_program("absent", "-O1"), "once"], trace=["used", "too_short"], missing_ok=True) as run:
        assert run.wait(SECONDS) == ExitStatus(code=0)


def test_a_name_that_was_never_traced_is_an_error_and_no_empty_list(build_program: Build) -> None:
    with strobe.launch([build_program("absent", "-O1"), "once"], trace=["used", "unused"]) as run:
        run.wait(SECONDS)
        assert len(run.calls("used")) == 1
        assert run.calls("unused") == [] and run.calls("unus*") == []
        with pytest.raises(
            StrobeError, match=r"No function that is or was traced matches 'unusd'. Names like it: unused"
        ):
            run.calls("unusd")
        assert run.calls("unusd", missing_ok=True) == []
        assert run.totals(wanted=EventFilter(function=TextMatch(equals="unused"))) == []
        misspelt = EventFilter(function=TextMatch(equals="unusd"))
        with pytest.raises(StrobeError, match="Names like it: unused"):
            run.totals(wanted=misspelt)
        assert run.totals(wanted=misspelt, missing_ok=True) == []


def test_patterns_come_and_go_while_it_runs(build_program: Build) -> None:
    with strobe.launch([build_program("threads3")]) as run:
        assert run.calls() == []
        answer = run.trace(add=["audio::**"])
        assert (answer.mode, answer.hooked_functions) == ("runtime", 3)
        wait_until(lambda: run.calls("audio::engine::mix"), "a call")
        assert run.trace(remove=["audio::**"]).active_patterns == []
        os.kill(run.pid, signal.SIGUSR1)
        assert run.wait(SECONDS) == ExitStatus(code=0)
        assert run.output == "ready\nbye\n"
        assert run.stderr == "bye\n"


def test_input_environment_and_folder(tmp_path: Path) -> None:
    script = 'echo "$STROBE_TEST_WORD" in "$PWD"; cat'
    command = ["/bin/sh", "-c", script]
    with strobe.launch(command, cwd=tmp_path, env={"STROBE_TEST_WORD": "word"}, stdin="line\n") as run:
        run.wait(SECONDS)
        assert run.stdout == f"word in {tmp_path}\nline\n"


def test_totals_and_sql_and_queries_agree(build_program: Build) -> None:
    with strobe.launch([build_program("threads3"), "7"], trace=["midi::*"]) as run:
        run.wait(SECONDS)
        assert {group.key: group.count for group in run.totals()} == {"midi::parse": 7, "midi::tick": 7}
        assert {group.key for group in run.totals("thread")} == {"midi"}
        assert run.sql("select count(*) from events where event_type = 'function_exit'")[1] == [(14,)]
        assert run.query(EventFilter(event_type="function_exit", limit=3)).total_count == 14
        assert run.loss.total == 0


def test_a_program_that_goes_on_is_not_waited_for_without_end(build_program: Build) -> None:
    with strobe.launch([build_program("threads3")]) as run:
        with pytest.raises(TimeoutError, match="still runs"):
            run.wait(0.05)
        assert run.exit_status is None
        run.stop()
        run.stop()


def test_a_type_of_events_that_does_not_exist_is_an_error(build_program: Build) -> None:
    with strobe.launch([build_program("hello")]) as run:
        run.wait(SECONDS)
        with pytest.raises(StrobeError, match="'event_type' is pause: there are no such events"):
            run.query(EventFilter(event_type="pause"))  # type: ignore[arg-type]


def test_a_kept_session_outlives_the_block(build_program: Build) -> None:
    from strobe.session import SessionManager

    with strobe.launch([build_program("hello")], keep=True) as run:
        run.wait(SECONDS)
    manager = SessionManager()
    assert [summary.session_id for summary in manager.list()] == [run.id]
    manager.delete(run.id)
    manager.close()


@pytest.mark.parametrize("program", [["./no-such-program"], []])
def test_a_failed_launch_is_an_error_with_a_next_step(program: list[str]) -> None:
    with pytest.raises(StrobeError, match="VALIDATION_ERROR") as caught:
        strobe.launch(program)
    assert caught.value.code == "VALIDATION_ERROR"


def test_a_bad_pattern_leaves_no_process(build_program: Build) -> None:
    with pytest.raises(StrobeError, match="INVALID_PATTERN"):
        strobe.launch([build_program("threads3")], trace=["a::<"])


def test_the_plugin_ends_what_a_test_launched(build_program: Build, tmp_path: Path) -> None:
    test = tmp_path / "test_inside.py"
    test.write_text(
        "def test_it(strobe_launch):\n"
        f"    run = strobe_launch([{str(build_program('threads3'))!r}], trace=['audio::**'])\n"
        "    print('pid', run.pid)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", str(test)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    found = re.search(r"pid (\d+)", result.stdout)
    assert found is not None
    assert not Path(f"/proc/{found[1]}").exists()
