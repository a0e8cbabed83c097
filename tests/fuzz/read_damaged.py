"""Reads damaged files one after the other: `python read_damaged.py FOLDER FIRST END STEP PROGRAM…`.

For each a line of JSON before (its number) and one after: number, kind, outcome, cpu_s, peak_kb. What takes more than
CPU_SECONDS of this process's own time ends it with a traceback, whatever else the machine is busy with; so does what
waits for WAIT_SECONDS, and memory that cannot be had.
"""

from __future__ import annotations

import faulthandler
import json
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from fuzz import damage

from strobe.errors import Code, StrobeError
from strobe.symbols import ElfResolver
from strobe.symbols.details import ModuleDetails
from strobe.symbols.dwarf.lines import SourceLines
from strobe.symbols.objects.damage import UNREADABLE

CPU_SECONDS = 5
WAIT_SECONDS = 60
MAX_ADDRESS_SPACE = 3 << 30  # of which stacks and arenas of threads take some without using it
NAMES = ("shop::Money", "std::string", "int", "store::Shape", "counter", "per_thread", "split::depth", "taken")
TYPES = 8  # of all types, besides
EXPLORED = 600


def read_all(path: Path) -> str:
    """ "read", or "refused" by one of the documented errors. Any other error is the caller's."""
    resolver = ElfResolver()
    try:
        symbols = resolver.module(str(path))
    except StrobeError as error:
        if error.code != Code.VALIDATION_ERROR:
            raise
        return "refused"
    resolver.detail(symbols.functions[:40])
    with suppress(*UNREADABLE):
        lines = resolver.lines(str(path))
        if lines is not None:
            read_lines(lines, [function.address for function in symbols.functions[:20]])
    details = resolver.details(str(path))
    if details is not None:
        read_details(details, [function.address for function in symbols.functions[:20]])
    return "read"


def read_lines(lines: SourceLines, addresses: list[int]) -> None:
    for address in addresses:
        with suppress(*UNREADABLE):
            lines.at(address)
    for line in (30, 31):
        with suppress(*UNREADABLE):
            lines.of("naming.cpp", line)


def read_details(details: ModuleDetails, addresses: list[int]) -> None:
    """Types and variables by name, frames and call sites by address, with all that they lead to."""
    found: list[Any] = []
    names = [*NAMES]
    with suppress(*UNREADABLE):
        names += details.types.names()[:: len(details.types.names()) // TYPES + 1]
    for name in names:
        with suppress(*UNREADABLE):
            found += details.types.find(name)
        with suppress(*UNREADABLE):
            found += details.variables.find(name)
    for address in addresses:
        with suppress(*UNREADABLE):
            found.append(details.frames.at(address + 4))
        with suppress(*UNREADABLE):
            found.append(details.frames.call_site(address + 9))
    explore(found)


def explore(found: list[Any]) -> None:
    """Every attribute of the things found, of what they hold, and so on."""
    known = {id(thing): thing for thing in found}
    waiting = list(found)
    while waiting and len(known) < EXPLORED:
        for value in attributes_of(waiting.pop()):
            if id(value) not in known and (isinstance(value, (tuple, list)) or is_dataclass(value)):
                known[id(value)] = value
                waiting.append(value)


def attributes_of(thing: Any) -> Iterator[Any]:
    if isinstance(thing, (tuple, list)):
        yield from thing
        return
    for name in dir(thing):
        if not name.startswith("_"):
            with suppress(*UNREADABLE):
                yield getattr(thing, name)


def peak_kb() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def main(folder: Path, numbers: range, programs: list[Path]) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESS_SPACE, MAX_ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.register(signal.SIGPROF, chain=True)  # and then it ends the process, as it does by itself
    sound = [program.read_bytes() for program in programs]
    for number in numbers:
        kind, content = damage.damaged(sound[number // len(damage.KINDS) % len(sound)], number)
        path = folder / f"damaged{number}"
        path.write_bytes(content)
        del content
        print(json.dumps({"number": number}), flush=True)
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew (proc(5))
        faulthandler.dump_traceback_later(WAIT_SECONDS, exit=True)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        before = time.process_time()
        outcome = read_all(path)
        cpu_s = round(time.process_time() - before, 3)
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
        row = {"number": number, "kind": kind, "outcome": outcome, "cpu_s": cpu_s, "peak_kb": peak_kb()}
        print(json.dumps(row), flush=True)
        path.unlink()


if __name__ == "__main__":
    first, end, step = (int(argument) for argument in sys.argv[2:5])
    main(Path(sys.argv[1]), range(first, end, step), [Path(argument) for argument in sys.argv[5:]])
