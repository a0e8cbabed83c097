"""Programs whose debug information lies elsewhere, made as distributions make them."""

from __future__ import annotations

import lzma
import shutil
import subprocess
from pathlib import Path
from typing import Any

from strobe.symbols import ElfResolver, ModuleSymbols
from strobe.symbols.frames.model import Frame, Local
from support import programs


def run(*command: str | Path, cwd: Path | None = None) -> None:
    tool = programs.require(str(command[0]))
    subprocess.run([tool, *map(str, command[1:])], check=True, timeout=60, cwd=cwd, capture_output=True)


def copy_of(program: Path, to: Path) -> Path:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, to)
    return to


def split(program: Path, to: Path, debug: Path, *, link: bool = True) -> Path:
    """A copy of `program` without symbols and debug information, which are in `debug`."""
    copy_of(program, to)
    debug.parent.mkdir(parents=True, exist_ok=True)
    run("objcopy", "--only-keep-debug", program, debug)
    run("strip", to)
    if link:
        run("objcopy", f"--add-gnu-debuglink={debug}", to)
    return to


def with_mini_debug_info(program: Path, to: Path) -> Path:
    """A stripped copy, with all functions' symbols in .gnu_debugdata, as Fedora's rpm does it."""
    small, keep, packed = (to.with_name(name) for name in ("small", "keep", "small.xz"))
    keep.write_text("\n".join(function.raw_name for function in ElfResolver().module(str(program)).functions))
    run("objcopy", "--only-keep-debug", program, small)
    run("objcopy", "-S", "--remove-section=.comment", f"--keep-symbols={keep}", small)
    packed.write_bytes(lzma.compress(small.read_bytes()))
    copy_of(program, to)
    run("strip", to)
    run("objcopy", f"--add-section=.gnu_debugdata={packed}", to)
    return to


def build_id_file(program: Path, folder: Path) -> Path:
    """Where `folder` has the debug file of a program."""
    build_id = ElfResolver().module(str(program)).build_id
    assert build_id is not None
    return folder / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"


def functions_of(symbols: ModuleSymbols) -> list[tuple[Any, ...]]:
    return [(f.name, f.raw_name, f.address, f.size, f.source_file, f.line, f.exported) for f in symbols.functions]


def all_of(path: Path) -> dict[str, Any]:
    """All that is known of a module, save for where DIEs are, which files make different."""
    resolver = ElfResolver()
    symbols = resolver.module(str(path))
    details = resolver.details(str(path))
    assert details is not None
    named = details.debug_info.named
    type_names = sorted(set(named.types.names()))
    rows = [named.variables.row(number) for number in range(len(named.variables.names()))]
    places = {(function.source_file, function.line) for function in symbols.functions if function.source_file}
    return {
        "warnings": symbols.warnings,
        "functions": functions_of(symbols),
        "details": [(f.parameters, f.returns) for f in resolver.detail(list(symbols.functions))],
        "inlined": dict(symbols.inlined_sites),
        "types": {name: [(t.name, t.size) for t in details.types.find(name)] for name in type_names},
        "variables": sorted(
            {(r.name, r.linkage_name or "", r.address, r.source_file or "", r.line or 0) for r in rows}
        ),
        "lines": [details.lines.at(function.address) for function in symbols.functions],
        "places": [details.lines.of(path, line or 0).locations for path, line in sorted(places)],
        "frames": [_frame(details.frames.at(function.address + function.size // 2)) for function in symbols.functions],
    }


def _frame(frame: Frame | None) -> list[Any]:
    """Calls and their variables, without DIEs."""
    calls = () if frame is None else frame.calls
    return [(c.name, c.file, c.line, c.location, [_local(one) for one in (*c.parameters, *c.locals)]) for c in calls]


def _local(local: Local) -> tuple[Any, ...]:
    return local.name, local.type.name, local.location, local.file, local.line, local.is_shadowed
