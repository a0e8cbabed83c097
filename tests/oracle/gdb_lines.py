"""Runs inside of gdb: the lines of addresses, of a program that does not run.

STROBE_REQUEST names a JSON file with a list of addresses; the answer has [full path, line] for each, null for none.
"""

import json
import os
from pathlib import Path

import gdb


def line_of(address):
    found = gdb.find_pc_line(address)
    return None if found.symtab is None else [found.symtab.fullname(), found.line]


addresses = json.loads(Path(os.environ["STROBE_REQUEST"]).read_text())
Path(os.environ["STROBE_ANSWER"]).write_text(json.dumps([line_of(address) for address in addresses]))
