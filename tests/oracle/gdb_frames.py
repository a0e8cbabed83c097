"""Runs inside of gdb: at every instruction of some functions the variables in scope, and their values when it is run.

STROBE_REQUEST names a JSON file: {"main": link-time address, "functions": [[start, end]], "step": every how many
instructions}. The file STROBE_ANSWER gets {"slide", "scopes": {address: [block]}, "stops": {address: stop}}; addresses
are link-time. A block: {"function", "variables": [[name, is_argument, type, line]]}, from the innermost on. A stop has
what an evaluator needs, {"registers", "memory": [[start, hex]], "caller": {"pc", "registers"}}, "places" of inlined
calls, and "values": one for each variable of the blocks, in their order: null (no answer), "out", or {"address"},
{"number"}, {"fields": [...]}.
"""

import json
import os
from pathlib import Path

import gdb

REGISTERS = ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", *(f"r{n}" for n in range(8, 16)), "rip", "fs_base"]
WORD = (1 << 64) - 1
BELOW, ABOVE = 256, 1024  # bytes of the stack
INTEGERS = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_PTR)
REFERENCES = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
RECORDS = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)
KINDS_OF_VARIABLES = (
    gdb.SYMBOL_LOC_STATIC,
    gdb.SYMBOL_LOC_COMPUTED,
    gdb.SYMBOL_LOC_CONST,
    gdb.SYMBOL_LOC_CONST_BYTES,
    gdb.SYMBOL_LOC_OPTIMIZED_OUT,
    gdb.SYMBOL_LOC_UNRESOLVED,
)

request = json.loads(Path(os.environ["STROBE_REQUEST"]).read_text())
answer = {"scopes": {}, "stops": {}}


def blocks_at(pc):
    """From the innermost to that of the concrete function; what a local class or lambda stands in does not count."""
    block = gdb.block_for_pc(pc)
    while block is not None and not block.is_static and not block.is_global and block.start <= pc < block.end:
        yield block
        block = block.superblock


def symbols_of(block):
    return [symbol for symbol in block if symbol.addr_class in KINDS_OF_VARIABLES and not is_enumerator(symbol)]


def is_enumerator(symbol):
    """Those of a local enum are symbols of the block, too."""
    if symbol.type is None or symbol.type.code != gdb.TYPE_CODE_ENUM:
        return symbol.type is None
    return symbol.name in [field.name for field in symbol.type.fields()]


def scope_of(block):
    function = None if block.function is None else block.function.print_name
    rows = [[s.print_name, s.is_argument, str(s.type), s.line] for s in symbols_of(block)]
    return {"function": function, "variables": rows}


def shown(value):
    """What is compared of a value."""
    if value.is_optimized_out:
        return "out"
    kind = value.type.strip_typedefs()
    if kind.code in REFERENCES:
        return {"number": int(value.referenced_value().address) & WORD}
    if value.address is not None:
        return {"address": int(value.address) & WORD, "number": number_of(value)}
    if kind.code in RECORDS:
        return {"fields": fields_of(value, kind)}
    return {"number": number_of(value)}


def number_of(value):
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_FLT:
        return {"float": float(value)} if kind.sizeof in (4, 8) else None
    return int(value) & ((1 << 8 * kind.sizeof) - 1) if kind.code in INTEGERS else None


def fields_of(value, kind):
    """[bit offset, bits, number] of the numbers directly in a record."""
    found = []
    for field in kind.fields():
        if hasattr(field, "bitpos") and field.type.strip_typedefs().code in INTEGERS and field.name:
            part = value[field]
            bits = field.bitsize or 8 * field.type.sizeof
            found.append([field.bitpos, bits, "out" if part.is_optimized_out else int(part) & ((1 << bits) - 1)])
    return found


def value_of(symbol, frame):
    try:
        return shown(symbol.value(frame) if symbol.needs_frame else symbol.value())
    except (gdb.error, ValueError, RuntimeError):
        return None


def values_at(pc, frame):
    """Each in the frame of its own call: values at entry come out wrong in others."""
    found = []
    for block in blocks_at(pc):
        found += [value_of(symbol, frame) for symbol in symbols_of(block)]
        if block.function is not None and frame.type() == gdb.INLINE_FRAME:
            frame = frame.older()
    return found


def places_of(frame):
    """[file, line] of each inlined call around a frame, the innermost first."""
    found = []
    while frame.type() == gdb.INLINE_FRAME:
        frame = frame.older()
        place = frame.find_sal()
        found.append([None if place.symtab is None else place.symtab.fullname(), place.line])
    return found


def registers_of(frame):
    found = {}
    for name in REGISTERS:
        try:
            found[name] = int(frame.read_register(name)) & WORD
        except (gdb.error, ValueError):
            continue
    for number in range(16):
        try:
            halves = frame.read_register(f"xmm{number}")["v2_int64"]
            found[f"xmm{number}"] = int(halves[0]) & WORD | (int(halves[1]) & WORD) << 64
        except (gdb.error, ValueError):
            continue
    return found


def caller_of(frame):
    older = frame.older()
    while older is not None and frame.type() == gdb.INLINE_FRAME:
        frame, older = older, older.older()
    if older is None or gdb.TAILCALL_FRAME in (older.type(), frame.type()):
        return None  # gdb shows callers that are no longer there
    return {"pc": older.pc() - slide, "registers": registers_of(older)}


def memory_at(pointer):
    inferior = gdb.selected_inferior()
    found = []
    for start, end in [(pointer - BELOW, pointer + ABOVE), *writable]:
        try:
            found.append([start, bytes(inferior.read_memory(start, end - start)).hex()])
        except gdb.error:
            continue
    return found


def sections():
    """[start, end) of .data and .bss, as they are loaded."""
    for line in gdb.execute("info files", to_string=True).splitlines():
        words = line.split()
        if len(words) == 5 and words[1] == "-" and words[4] in (".data", ".bss", ".tbss"):
            yield int(words[0], 16), int(words[2], 16)


class Stop(gdb.Breakpoint):
    def __init__(self, pc):
        super().__init__(f"*{pc}", internal=True)
        self.pc = pc

    def stop(self):
        self.enabled = False
        frame = gdb.newest_frame()
        registers = registers_of(frame)
        answer["stops"][self.pc - slide] = {
            "registers": registers,
            "memory": memory_at(registers["rsp"]),
            "caller": caller_of(frame),
            "values": values_at(self.pc, frame),
            "places": places_of(frame),
        }
        return False


gdb.execute("set pagination off")
gdb.execute("set confirm off")
gdb.execute("starti > /dev/null", to_string=True)
gdb.execute("set language c")
slide = int(gdb.parse_and_eval("(unsigned long)&main")) - request["main"]
gdb.execute("set language auto")
answer["slide"] = slide
writable = list(sections())
architecture = gdb.newest_frame().architecture()
stops = []
for start, end in request["functions"]:
    listing = architecture.disassemble(start + slide, end + slide - 1)
    for row in listing[:: request["step"]]:
        answer["scopes"][row["addr"] - slide] = [scope_of(block) for block in blocks_at(row["addr"])]
        stops.append(Stop(row["addr"]))
gdb.execute("continue", to_string=True)
Path(os.environ["STROBE_ANSWER"]).write_text(json.dumps(answer))
