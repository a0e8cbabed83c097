"""Whether there is room for threads, where something else than a limit hinders them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

LARGE_TLS = "static __thread char large[100 << 10]; char* address(void) { return large; }"


def test_static_tls_that_takes_much_of_each_stack(tmp_path: Path) -> None:
    """glibc puts it into the stack that it is given, and says EINVAL of one that is too small."""
    library = tmp_path / "large_tls.so"
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=LARGE_TLS, text=True, timeout=60, check=True)
    asked = [sys.executable, "-c", "from strobe import _core; print(_core.has_room_for_threads(4))"]
    preloaded = {**os.environ, "LD_PRELOAD": str(library)}
    done = subprocess.run(asked, env=preloaded, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "True\n", done.stderr
