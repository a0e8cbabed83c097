"""Makes the two files that go into the target: agent.js from TypeScript, recorder.c from the recorder's C sources.

Run by CMake during the build: python bundle.py SOURCE_ROOT OUTPUT_FOLDER CPU. The agent is bundled by
frida.Compiler, which brings its own TypeScript compiler and Frida's type declarations: neither Node nor a network is
needed.
TinyCC in the target cannot include own headers: the C sources become one text, with `#line` marks to the originals.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

SHARED_SOURCES = (
    "recipe/recipe.c",
    "recipe/loops.c",
    "recipe/numbers.c",
    "recipe/texts.c",
    "recipe/scans.c",
    "recipe/columns.c",
    "recipe/sweeps.c",
    "recipe/doubles.c",
)  # below csrc
# In this order, below csrc/recorder; every source there must be listed. Headers follow from the #include lines.
RECORDER_SOURCES = (
    "recorder.c",
    "chunks.c",
    "totals.c",
    "threads.c",
    "callers.c",
    "mappings.c",
    "stack.c",
    "memory.c",
    "capture.c",
    "own_stacks.c",
    "entries.c",
    "quick.c",
    "extras.c",
    "limits.c",
    "calls.c",
    "returns.c",
    "restrictions.c",
    "agent.c",
    "portable.c",
)
# Below arch/, by the name that `uname -m` has for the CPU.
ARCH_SOURCES = {
    "x86_64": ("stubs.c", "guards.c", "process_hooks.c", "unwind.c", "patchable.c", "trampolines.c"),
    "aarch64": ("stubs.c", "patchable.c"),
}
OWN_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


class BundleError(Exception):
    """The sources do not make a bundle; says where and why."""


def join_sources(root: Path, sources: list[Path]) -> str:
    """One C text out of several: each own header is put where it is first included, and only there."""
    seen: set[Path] = set()
    return "".join(_expanded(root, source, seen) for source in sources)


def _expanded(root: Path, path: Path, seen: set[Path]) -> str:
    seen.add(path)
    name = path.relative_to(root).as_posix()
    parts = [f'#line 1 "{name}"\n']
    for number, line in enumerate(path.read_text().splitlines(keepends=True), start=1):
        include = OWN_INCLUDE.match(line)
        if include is None:
            parts.append(line)
            continue
        header = (path.parent / include[1]).resolve()
        if not header.is_file():
            raise BundleError(f"{name}:{number}: no such header: {include[1]}")
        if header not in seen:
            parts.append(_expanded(root, header, seen))
        parts.append(f'#line {number + 1} "{name}"\n')
    return "".join(parts)


def recorder_sources(folder: Path, cpu: str) -> list[Path]:
    if cpu not in ARCH_SOURCES:
        raise BundleError(f"the recorder does not know the CPU {cpu}: it knows {', '.join(ARCH_SOURCES)}")
    by_cpu = {name: [folder / "arch" / name / source for source in ARCH_SOURCES[name]] for name in ARCH_SOURCES}
    common = [folder / name for name in RECORDER_SOURCES]
    native = folder / "native"  # goes into a library of its own
    found = {path for path in folder.rglob("*.c") if native not in path.parents}
    differing = found ^ {*common, *(path for paths in by_cpu.values() for path in paths)}
    if differing:
        names = ", ".join(sorted(path.name for path in differing))
        raise BundleError(f"The sources listed in agent/bundle.py and the files of csrc/recorder differ in: {names}")
    shared = [folder.parent / name for name in SHARED_SOURCES]
    return [*shared, *common, *by_cpu[cpu]]


def bundle_agent(folder: Path) -> str:
    """The agent as one script. Type errors end the build, each with its place."""
    import frida

    problems: list[str] = []
    compiler: Any = frida.Compiler()
    compiler.on("diagnostics", lambda found: problems.extend(_wording(item) for item in found))
    try:
        script: str = compiler.build("index.ts", project_root=str(folder))
    except Exception as error:
        raise BundleError("\n".join([*problems, f"the agent could not be bundled: {error}"])) from error
    if problems:
        raise BundleError("\n".join(problems))
    return script


def _wording(diagnostic: dict[str, Any]) -> str:
    place = diagnostic.get("file")
    where = f"agent/{place['path']}:{place['line'] + 1}:{place['character'] + 1}: " if place else ""
    return f"{where}{diagnostic['category']}: {diagnostic['text']}"


def main(root: Path, output: Path, cpu: str) -> None:
    output.mkdir(parents=True, exist_ok=True)
    (output / "recorder.c").write_text(join_sources(root, recorder_sources(root / "csrc" / "recorder", cpu)))
    (output / "agent.js").write_text(bundle_agent(root / "agent"))


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3])
    except BundleError as failure:
        sys.exit(f"{failure}")
