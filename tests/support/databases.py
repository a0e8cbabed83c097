"""A database that another process is writing."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from strobe.timeline.schema import DATABASE_FILE

# takes the write lock of a database, says so, and holds it until its input ends
_HOLDER = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("begin immediate")
print("held", flush=True)
sys.stdin.read()
connection.execute("rollback")
"""


@contextlib.contextmanager
def locked(home: Path) -> Iterator[None]:
    """No other process can write the database of `home` meanwhile."""
    command = [sys.executable, "-c", _HOLDER, str(home / DATABASE_FILE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None and holder.stdout.readline() == "held\n"
            yield
        finally:
            holder.communicate(timeout=60)
