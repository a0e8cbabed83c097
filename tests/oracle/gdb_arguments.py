"""Runs inside of gdb: what registers hold at a function's first instruction, and what gdb knows the arguments to be.

STROBE_REQUEST names a JSON file: {"main": link-time address, "functions": {address: [parameter names]}, "optimized"}.
Writes {address: {"registers": [6 integers], "values": {name: integer}}} to the file STROBE_ANSWER, of the first calls.
"""

import json
import os
from pathlib import Path

import gdb

WORD = (1 << 64) - 1
REGISTERS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")
CLASSES = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)

request = json.loads(Path(os.environ["STROBE_REQUEST"]).read_text())
answer = {}


def as_word(value):
    """An argument as the 64-bit word that a register would hold of it; of a class, its address."""
    plain = value.type.strip_typedefs()
    if plain.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        return int(value.referenced_value().address) & WORD
    if plain.code in CLASSES and plain.name.startswith("&"):  # a slice or text of Rust: the pointer in it
        return int(value["data_ptr"]) & WORD
    if plain.code in CLASSES:
        return None if value.address is None else int(value.address) & WORD
    if plain.code in (gdb.TYPE_CODE_FLT, gdb.TYPE_CODE_COMPLEX):
        return None
    if plain.sizeof > 8:
        return None
    return int(value) & WORD


def values_here(names):
    found = {}
    frame = gdb.selected_frame()
    for name in names:
        try:
            value = frame.read_var(name)
            if not value.is_optimized_out:
                found[name] = as_word(value)
        except (gdb.error, ValueError):
            continue
    return {name: word for name, word in found.items() if word is not None}


class Body(gdb.Breakpoint):
    """Behind the prologue, where code that is not optimized has its arguments in the frame."""

    def __init__(self, pc, key, names):
        super().__init__(f"*{pc}", internal=True)
        self.key, self.names = key, names

    def stop(self):
        entry = answer[self.key]
        if "values" not in entry:
            entry["values"] = values_here(self.names)
        return False


class Entry(gdb.Breakpoint):
    def __init__(self, pc, key, names):
        super().__init__(f"*{pc}", internal=True)
        self.key, self.names = key, names

    def stop(self):
        if self.key not in answer:
            registers = [int(gdb.selected_frame().read_register(name)) & WORD for name in REGISTERS]
            answer[self.key] = {"registers": registers}
            if request["optimized"]:
                answer[self.key]["values"] = values_here(self.names)
        return False


def behind_prologue(pc):
    """Address of the second row of the line table within the function."""
    block = gdb.block_for_pc(pc)
    table = gdb.find_pc_line(pc).symtab.linetable()
    later = sorted(row.pc for row in table if pc < row.pc < block.end)
    return later[0] if later else None


gdb.execute("set pagination off")
gdb.execute("set confirm off")
gdb.execute("starti > /dev/null", to_string=True)
gdb.execute("set language c")
slide = int(gdb.parse_and_eval("(unsigned long)&main")) - request["main"]
gdb.execute("set language auto")
breakpoints = []
for key, names in request["functions"].items():
    pc = int(key) + slide
    breakpoints.append(Entry(pc, key, names))
    body = None if request["optimized"] else behind_prologue(pc)
    if body is not None:
        breakpoints.append(Body(body, key, names))
gdb.execute("continue", to_string=True)
Path(os.environ["STROBE_ANSWER"]).write_text(json.dumps(answer))
