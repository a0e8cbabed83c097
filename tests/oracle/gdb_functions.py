"""Runs inside of gdb: name, file, line and range of the functions at given addresses, of a program that does not run.

STROBE_REQUEST names a JSON file with a list of addresses; {address: [name, file, line, start, end]} is written to the
file STROBE_ANSWER, without addresses that gdb knows no function for.
"""

import json
import os
from pathlib import Path

import gdb

addresses = json.loads(Path(os.environ["STROBE_REQUEST"]).read_text())
answer = {}
for address in addresses:
    found = None
    block = gdb.block_for_pc(address)
    while block is not None and not block.is_static and not block.is_global:
        # the outermost that begins here is past inlined ones; else a function whose cold part lies before it
        if block.function is not None and (found is None or block.start == address):
            found = block
        block = block.superblock
    if found is not None:
        function = found.function
        place = function.symtab.fullname() if function.symtab is not None else None
        answer[address] = [function.print_name, place, function.line, found.start, found.end]
Path(os.environ["STROBE_ANSWER"]).write_text(json.dumps(answer))
