"""An installed Strobe at work: a call of a small program is recorded and printed. For a venv that has nothing else.

`smoke.py [PROGRAM FUNCTION]`; without them the program of `strobe demo`.
"""

from __future__ import annotations

import platform
import sys
import tempfile
from pathlib import Path

from strobe import launch
from strobe.resources import DEMO_PROGRAM


def main() -> int:
    program, function = sys.argv[1:] or [str(DEMO_PROGRAM), "ledger::balance"]
    with tempfile.TemporaryDirectory() as home, launch([program], trace=[function], home=Path(home)) as session:
        session.wait(30)
        calls = session.calls(function)
    for call in calls:
        print(f"{platform.platform()}, Python {platform.python_version()}: {call}")
    return 0 if calls else 1


if __name__ == "__main__":
    sys.exit(main())
