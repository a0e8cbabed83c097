"""Runs inside of gdb: where lines of a file have code, of a program that does not run.

STROBE_REQUEST names a JSON file, [file, [line, …]]; the answer has {line: [[address, line that was meant], …]}, without
lines that gdb finds nothing for.
"""

import json
import os
from pathlib import Path

import gdb

file, lines = json.loads(Path(os.environ["STROBE_REQUEST"]).read_text())
answer = {}
for line in lines:
    try:
        places = gdb.decode_line(f"{file}:{line}")[1]
    except gdb.error:
        continue
    answer[line] = [[place.pc, place.line] for place in places or ()]
Path(os.environ["STROBE_ANSWER"]).write_text(json.dumps(answer))
