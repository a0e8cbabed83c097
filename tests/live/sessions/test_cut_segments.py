"""A program goes on as it was where its recording is taken away: its segment is cut off, or has no room left."""

from __future__ import annotations

import os
import signal
import subprocess
import threading

import pytest
from support import processes
from support.programs import PROGRAMS
from support.sessions import Build
from support.wait import wait_until

from strobe.model import EventFilter, LaunchSpec, TraceRequest
from strobe.session import SessionManager


@pytest.mark.parametrize("pages", [0, 1])
def test_a_segment_that_is_cut_off_harms_nobody(manager: SessionManager, build_program: Build, pages: int) -> None:
    with subprocess.Popen([build_program("steady")], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            spec = LaunchSpec("", pid=process.pid, project_root=str(PROGRAMS))
            session = manager.launch(spec, TraceRequest(["steady_*"]))
            wait_until(lambda: len(session.query(EventFilter(limit=100)).events) == 100)
            os.truncate(manager._store.get_session(session.id).segment_path, pages * 4096)
            assert process.poll() is None
            ended = threading.Event()
            assert not ended.wait(1)  # some 10,000 calls
            assert process.poll() is None
            session.stop()
            again = manager.launch(spec, TraceRequest(["steady_*"]))  # what there was harms no later recording
            wait_until(lambda: len(again.query(EventFilter(limit=100)).events) == 100)
            again.stop()
            process.send_signal(signal.SIGUSR1)
            assert process.communicate(timeout=60) == ("right\n", None)
            assert process.returncode == 0
        finally:
            processes.end(process)
