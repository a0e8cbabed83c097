"""What tracing takes of memory: the most that the program and the host had at a time, in a run of 2 million calls.

The program's figure has the pages of the segment that it wrote (72 bytes a call here), the host's those it read.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from . import callers
from .call_program import timing_of
from .harness import Figure

CALLS = 2_000_000
_PEAK = """
import re
def peak_kb():
    with open("/proc/self/status") as status:
        return int(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1])
"""
_WITHOUT = f"""
{_PEAK}
import strobe, strobe.api, frida
print(peak_kb())
"""
_HOST = f"""
{_PEAK}
import sys
import strobe
with strobe.launch(sys.argv[1:4], trace=["two"], sampling="off", home=sys.argv[4]) as run:
    run.wait(60)
    print(run.stdout)
print(peak_kb())
"""


def measure(folder: Path) -> list[Figure]:
    program = callers.build(folder, "calls")
    alone = callers.untraced(program, "two", CALLS).peak_mb
    _, without = _peak_mb([sys.executable, "-c", _WITHOUT])
    output, host = _peak_mb([sys.executable, "-c", _HOST, str(program), "two", str(CALLS), str(folder / "home")])
    return [
        Figure("most memory of a traced program", timing_of(output).peak_mb, "MB", "the same untraced", alone),
        Figure("most memory of the host that traces it", host, "MB", "a Python with strobe and frida", without),
    ]


def _peak_mb(command: list[str]) -> tuple[str, float]:
    """What a Python command printed, and the most memory that it had, which is its last line."""
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=callers.RUN_SECONDS)
    return done.stdout, int(done.stdout.splitlines()[-1]) / 1024
