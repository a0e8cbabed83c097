"""A statement that has no end, in the terminal and in Python."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import timelines
from support.processes import without_progress
from support.timelines import WrittenSession

from strobe.errors import StrobeError
from strobe.timeline import sql

ENDLESS = "with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n"
ENDLESS_ROWS = "with recursive n(x) as (select 1 union all select x + 1 from n) select x from n"
# SQLite compares 12 MB at each of 13 million places in one function, which looks at no clock
ENDLESS_FUNCTION = "select instr(hex(zeroblob(12500000)), hex(zeroblob(6000000)) || 'b')"
SECONDS = 60
# says when the statement has begun, which nothing else does
ANNOUNCED = """
import sys, threading
from strobe.timeline import sql
begin = sql._create_view
def announce(*given):
    begin(*given)
    print("begun", file=sys.stderr, flush=True)
sql._create_view = announce
from strobe.cli.main import main
main()
"""

Run = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def session(strobe_home: Path) -> Iterator[WrittenSession]:
    written = timelines.new_session(strobe_home)
    timelines.write_mixture(written, steps=20)
    yield written
    written.timeline.close()
    written.store.close()


def test_a_statement_has_a_time_limit(session: WrittenSession) -> None:
    with pytest.raises(StrobeError, match=r"LIMIT_REACHED: The statement did not end within 0\.2 s\."):
        session.timeline.sql(ENDLESS, 0.2)
    assert session.timeline.sql("select 1", 5)[1] == [(1,)]


def test_a_function_of_sqlites_has_the_same_limit(session: WrittenSession) -> None:
    """In a process of its own: the function goes on until that ends."""
    script = (
        "import sys, strobe\n"
        "from strobe.session import SessionManager\n"
        "try:\n    SessionManager().get(sys.argv[1]).sql(sys.argv[2], 0.2)\n"
        "except strobe.StrobeError as error:\n    print(error, flush=True)\n"
    )
    command = [sys.executable, "-c", script, session.session_id, ENDLESS_FUNCTION]
    result = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("LIMIT_REACHED: The statement did not end within 0.2 s.")


def test_rows_have_a_limit(session: WrittenSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "SQL_ROWS", 1000)
    with pytest.raises(StrobeError, match=r"LIMIT_REACHED: The statement has more than 1,000 rows\."):
        session.timeline.sql(ENDLESS_ROWS)
    assert len(session.timeline.sql(f"{ENDLESS_ROWS} limit 1000")[1]) == 1000


@pytest.mark.parametrize("rest", ["select 2", "drop table x", "select 2 -- more", ";;select 2;"])
def test_several_statements_are_refused(session: WrittenSession, rest: str) -> None:
    with pytest.raises(StrobeError, match="These are several statements; only one can be run at a time"):
        session.timeline.sql(f"select 1; {rest}")
    assert session.timeline.sql("/* ; */ select ';', 1 as [;]; -- and a comment;\n;")[1] == [(";", 1)]


def test_the_command_has_a_time_limit(session: WrittenSession) -> None:
    command = [sys.executable, "-m", "strobe", "sql", session.session_id, ENDLESS, "--timeout", "0.3"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert result.returncode == 1
    assert without_progress(result.stderr).startswith("strobe: LIMIT_REACHED: The statement did not end within 0.3 s.")


@pytest.mark.parametrize("statement", [ENDLESS, ENDLESS_FUNCTION], ids=["of many rows", "within a function"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command(session: WrittenSession, number: signal.Signals, statement: str) -> None:
    command = [sys.executable, "-c", ANNOUNCED, "sql", session.session_id, statement]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None and process.stderr.readline() == "begun\n"
    os.kill(process.pid, number)
    try:
        output, error = process.communicate(timeout=30)  # the statement's own limit is 60 s
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 128 + number
    assert output == ""
    assert "Traceback" not in error
