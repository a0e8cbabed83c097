"""The stacks with which a function is reached, as gdb sees them: who else says what recorded ones say."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

GDB_SECONDS = 120
SIGNAL = "<signal handler called>"
_FRAME = re.compile(r"(?P<function>.+?)(?: (?P<file>[^ ]+):(?P<line>\d+))?\Z")
Frame = tuple[str, str | None, int | None]
_SCRIPT = """
import gdb, json
gdb.execute("set pagination off")
gdb.execute("set confirm off")
gdb.execute("set backtrace past-main off")
gdb.execute("handle SIGUSR1 nostop noprint pass")
stacks = []
def note(frame):
    stack = []
    while frame is not None:
        line = frame.find_sal()
        name = {signal} if frame.type() == gdb.SIGTRAMP_FRAME else frame.name()
        known = line.symtab is not None and frame.type() != gdb.SIGTRAMP_FRAME
        if frame.type() != gdb.TAILCALL_FRAME:  # which gdb has worked out, and no stack has any more
            file = line.symtab.filename.rpartition("/")[2] if known else None
            stack.append([name, file, line.line if known else None])
        frame = frame.older()
    stacks.append(stack)
{run}
print("STACKS", json.dumps(stacks))
"""
_AT_A_FUNCTION = """
gdb.execute("starti > /dev/null 2>&1")
gdb.Breakpoint({place})
while True:
    gdb.execute("continue")
    try:
        frame = gdb.newest_frame().older()
    except gdb.error:
        break
    note(frame)
"""
_AT_A_SIGNAL = """
gdb.execute("run {arguments} > /dev/null 2>&1")
note(gdb.newest_frame())
"""
_NUMBERS = """
gdb.execute("run {arguments} > /dev/null 2>&1")
frame = gdb.newest_frame()
while frame is not None:
    found, block = {{}}, None
    try:
        block = frame.block()
    except RuntimeError:
        pass
    while block is not None and not block.is_global and not block.is_static:
        for symbol in block:
            is_wanted = (symbol.is_argument or symbol.is_variable) and symbol.name not in found
            if is_wanted and symbol.type.strip_typedefs().code == gdb.TYPE_CODE_INT:
                value = symbol.value(frame)
                found[symbol.name] = None if value.is_optimized_out else int(value)
        if block.function is not None:
            break
        block = block.superblock
    if frame.type() != gdb.TAILCALL_FRAME:
        stacks.append([[name, str(value), None] for name, value in found.items()])
    frame = frame.older()
"""
_ABORTS = ("abort", "assert_fail", "raise")


def stacks(program: Path, function: str) -> list[list[Frame]]:
    """For each time that the program comes to the function's first instruction its callers, up to main: name, file and
    line, None where gdb does not know it."""
    return _run(program, _AT_A_FUNCTION.format(place=json.dumps(f"*{function}")))


def stack_at_signal(program: Path, *arguments: str) -> list[Frame]:
    """The frames of the thread that gets the first signal which gdb stops at, the innermost first, up to main."""
    (frames,) = _run(program, _AT_A_SIGNAL.format(arguments=" ".join(arguments)))
    return frames


def numbers_at_signal(program: Path, *arguments: str) -> list[dict[str, str]]:
    """Of each frame at that signal its variables that are integers; "None" where they are optimized out."""
    frames = _run(program, _NUMBERS.format(arguments=" ".join(arguments)))
    return [{name: str(value) for name, value, _ in frame} for frame in frames]


def without_abort(frames: list[Frame]) -> list[Frame]:
    """From who called abort, assert or raise on."""
    last = max(at for at, frame in enumerate(frames[:8]) if plain(frame[0] or "") in _ABORTS)
    return frames[last + 1 :]


def _run(program: Path, steps: str) -> list[list[Frame]]:
    gdb = shutil.which("gdb")
    if gdb is None:
        pytest.skip("gdb is not installed")
    script = _SCRIPT.format(run=steps, signal=json.dumps(SIGNAL))
    found = subprocess.run(
        [gdb, "-batch", "-nx", "-ex", f"python exec({script!r})", program],
        capture_output=True,
        text=True,
        timeout=GDB_SECONDS,
    )
    lines = [line for line in found.stdout.splitlines() if line.startswith("STACKS ")]
    assert lines, found.stdout + found.stderr
    return [[tuple(frame) for frame in stack] for stack in json.loads(lines[0].removeprefix("STACKS "))]


def frames_of(stack: Sequence[str] | None) -> list[Frame]:
    """Of a recorded stack the frames up to main; names without what is in brackets, as gdb and Strobe differ there."""
    found: list[Frame] = []
    for text in stack or ():
        if text == SIGNAL:
            found.append((SIGNAL, None, None))
            continue
        frame = _FRAME.match(text)
        assert frame is not None
        line = frame["line"]
        # of a library without debug information its name stands where the file does
        name = frame["function"] if line is not None else re.sub(r" [^ ]+\.so[.\d]*$", "", frame["function"])
        found.append((plain(name), frame["file"], None if line is None else int(line)))
        if found[-1][0] == "main":
            break
    return found


def plain(name: str) -> str:
    """The C library has several names for one function."""
    return name if name == SIGNAL else re.sub(r"^(__GI_)?_*", "", re.sub(r"\(.*\)", "", name).split("@")[0])


def same(expected: Frame, found: Frame) -> bool:
    """Lines where both have them, names where gdb has one: in a library without symbols it has none."""
    has_both = expected[2] is not None and found[2] is not None
    return (expected[0] is None or plain(expected[0]) == found[0]) and (not has_both or expected[1:] == found[1:])
