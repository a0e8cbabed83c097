"""The Python API: launch, calls, live tracing, output, and nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.wait import wait_until

import strobe
from strobe import StrobeError
from strobe.model import EventFilter, ExitStatus

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
        ("nothing::*", set()),
    ],
)
def test_calls_are_chosen_by_pattern(build_program: Build, pattern: str, names: set[str]) -> None:
    with strobe.launch([build_program("threads3"), "3"], trace=["audio::**", "midi::*", "ui::**"]) as run:
        run.wait(SECONDS)
        assert {call.function for call in run.calls(pattern)} == names
        assert {call.thread for call in run.calls(thread="aud")} == {"audio"}


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
