"""What makes commands begin and end soon: docs/decisions/starts.md."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def python(source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", source, *arguments], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    "module", ["asyncio", "ssl", "re2", "strobe.expressions.parser", "strobe.timeline.sql", "strobe.values.lookup"]
)
def test_a_run_imports_only_what_it_needs(module: str) -> None:
    source = (
        f"import sys, strobe.cli.run.live as _; print([one in sys.modules for one in ({module!r}, 'frida._frida')])"
    )
    done = python(source)
    assert (done.stdout, done.stderr) == ("[False, True]\n", "")


def test_the_asynchronous_half_of_frida_is_there_for_others() -> None:
    source = """
from strobe.capture.agent.frida_import import frida
import frida as theirs, frida.aio
assert theirs is frida
print(frida.aio.get_device_manager().__class__.__module__, callable(frida.get_local_device))
"""
    done = python(source)
    assert (done.stdout, done.stderr) == ("frida.aio True\n", "")


def test_frida_that_was_imported_before_is_the_same() -> None:
    done = python("import frida as theirs; from strobe.capture.agent.frida_import import frida; print(frida is theirs)")
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_a_command_that_leaves_waits_for_what_is_being_written(tmp_path: Path) -> None:
    source = """
import sys, threading
from pathlib import Path
from strobe.cli.main import _leave
main_waits = threading.Event()
def write():
    main_waits.wait(10)
    Path(sys.argv[1]).write_text("written")
threading.Thread(target=write).start()
threading.Timer(0.1, main_waits.set).start()
_leave(7)
"""
    file = tmp_path / "file"
    assert python(source, str(file)).returncode == 7
    assert file.read_text() == "written"
