"""The programs that are tortured, and what each of them can be asked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from support import programs

Build = Callable[..., Path]


@dataclass(frozen=True, slots=True)
class Kind:
    """`patterns`: of its own functions; `watches`: what may be watched, right or wrong; `reads`: variables beside the
    common ones. `is_one_image`: whether it stays the same program, so that its counters count its whole life."""

    name: str
    patterns: tuple[str, ...]
    watches: tuple[dict[str, str], ...] = ()
    reads: tuple[str, ...] = ()
    is_one_image: bool = True
    makes_processes: bool = False
    has_text: bool = True
    counts: bool = True  # Strobe calls its function `counted`


def _variable(name: str) -> dict[str, str]:
    return {"variable": name}


KINDS = (
    Kind("threads", ("returns", "exits", "leave", "waits", "is_detached", "destroy"), (_variable("cleaned"),)),
    Kind("plugins", ("plugged_*", "use_library", "look"), (_variable("gPluggedTotal"),), ("gPluggedTotal",)),
    Kind("forks", ("in_child", "work", "status_of", "plugged_*"), makes_processes=True),
    Kind("signals", ("handled", "jump_out", "fault", "on_timer"), (_variable("gHandled"), _variable("forbidden"))),
    Kind(
        "unmaps",
        ("take_text", "take_node", "unmap_*"),
        (_variable("gNode->value"), _variable("gNode->next->next->value"), _variable("gPassing")),
        ("gNode", "gNode->value", "gPassing", "*gNode"),
    ),
    Kind("throws", ("thrower", "thrown_on", "caught", "jumper", "jumps", "from_another_thread", "std::**")),
    Kind("spawns", ("by_vfork", "by_spawn", "by_shell", "status_of"), makes_processes=True),
    Kind(
        "allocates",
        ("take", "churn", "work", "std::**", "std::*"),
        (_variable("gNames"), _variable("gMap")),
        ("gMap", "gNames", "gTable", "gNames[3]"),
    ),
    Kind("contexts", ("yield", "coroutine", "run_coroutine", "jump_from", "jump"), (_variable("passed"),)),
    Kind("becomes", ("work", "round_of"), is_one_image=False, makes_processes=True),
    Kind(
        "rusty",
        ("rusty::**", "rusty::panics", "rusty::threaded"),
        (_variable("NAMES"),),
        ("NAMES",),
        has_text=False,
        counts=False,
    ),
)
COMMON_PATTERNS = (
    "*",
    "**",
    "recursive",
    "round_of",
    "c*",
    "*e*",
    "@usercode",
    "@file:torture.h",
    "@lib:libz",
    "nothing_has_this_name",
)
COMMON_WATCHES = (
    _variable("gRounds"),
    _variable("gWritten"),
    _variable("gMagic"),
    _variable("gText"),
    _variable("gNoSuchThing"),
    {"expr": "args[0] + 1"},
    {"expr": "args[0].no.such.member"},
    {"expr": "retval"},
    {"address": "0x10", "type": "u64"},
)
SHORT = ["threads", "signals", "unmaps", "throws", "allocates", "contexts"]  # in every run of the tests
LARGE_PATTERN = "@lib:libc.so.6"  # over 2,000 functions: not at each turn
LEVELS = {"gcc": ("-O0", "-O1", "-O2"), "rustc": ("-Copt-level=0", "-Copt-level=2")}


@dataclass(frozen=True, slots=True)
class Built:
    """All programs, each in every way it is built."""

    paths: dict[str, list[Path]]
    plugin: Path
    kinds: list[Kind] = field(default_factory=list)


def levels(kind: Kind, place: int, is_long: bool) -> tuple[str, ...]:
    known = LEVELS["rustc" if kind.name == "rusty" else "gcc"]
    return known if is_long else (known[place % len(known)],)


def build_all(build: Build, cache: Path, is_long: bool) -> Built:
    """Each in one way for the short form of the test. Rust's is left out where there is no Rust."""
    plugin = programs.build(programs.source_of("torture/plugged"), ("-O1", "-shared", "-fPIC"), None, cache)
    usual = [kind.name for kind in KINDS] if is_long else SHORT
    wanted = os.environ.get("STROBE_TORTURE_KINDS", " ".join(usual)).split()
    kinds = [kind for kind in KINDS if kind.name in wanted and (kind.name != "rusty" or shutil.which("rustc"))]
    paths = {
        kind.name: [build(f"torture/{kind.name}", level) for level in levels(kind, place, is_long)]
        for place, kind in enumerate(kinds)
    }
    return Built(paths, plugin, kinds)
