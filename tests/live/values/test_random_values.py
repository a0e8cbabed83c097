"""Functions with random parameters and results: no value that is shown differs from what the program says.

STROBE_RANDOM_VALUES=N in the environment runs N programs of each kind instead of one; the nth has n for its seed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from support import programs, typed
from support.sessions import Launch, status

_COUNT = 60
_SEEDS = range(1, int(os.environ.get("STROBE_RANDOM_VALUES", "1")) + 1)
_COMPILERS = {"gcc": "c", "clang": "c", "g++": "c++", "clang++": "c++"}
_CALL = re.compile(r"([<>] f\d+)[^ (]*")  # without what compilers add to a name: `f1.constprop.0`
# of 120 lines those that say something; 24 are of results of void, and optimization changes functions
_CHANGES = [
    ("clang", "-O2"),
    ("clang", "-O3"),
    ("clang", "-O3 -flto -fuse-ld=lld"),
    ("gcc", "-O2"),
    ("gcc", "-O3 -flto"),
]
_LEAST_SHOWN = {"-O0": 80, "-O1": 50, "-O2": 25, "-O3": 25}


@pytest.mark.parametrize("flag", _LEAST_SHOWN)
@pytest.mark.parametrize("compiler", _COMPILERS)
@pytest.mark.parametrize("seed", _SEEDS)
def test_no_value_is_wrong(launch: Launch, program_cache: Path, seed: int, compiler: str, flag: str) -> None:
    program = build(program_cache, seed, compiler, flag)
    session = launch(program, patterns=["f*"], sampling="off")
    assert status(session) == 0
    lines, events = by_call(typed.told(session)), by_call(typed.seen(session))
    wrong = [f"{lines[call]}\n{event}" for call, event in events.items() if not typed.agrees(lines[call], event)]
    assert not wrong, f"seed {seed}:\n" + "\n".join(wrong)
    shown = [event for event in events.values() if "…)" not in event and not event.endswith("= ?")]
    assert len(shown) >= _LEAST_SHOWN[flag]


@pytest.mark.parametrize(("compiler", "flags"), _CHANGES)
@pytest.mark.parametrize("seed", _SEEDS)
def test_no_value_of_what_is_assigned_over_is_wrong(
    launch: Launch, program_cache: Path, seed: int, compiler: str, flags: str
) -> None:
    if "lld" in flags:
        programs.require("ld.lld")
    source = programs.generate(["random_changes.py", str(seed), str(_COUNT)], program_cache)
    session = launch(programs.build(source, ["-w", *flags.split()], compiler, program_cache), patterns=["f*"])
    assert status(session) == 0
    lines, events = by_call(typed.told(session)), by_call(typed.seen(session))
    wrong = [
        f"{lines[call]}\n{event}"
        for call, event in events.items()
        if call in lines and not typed.agrees(lines[call], event)
    ]
    assert not wrong, f"seed {seed}:\n" + "\n".join(wrong)
    assert len(events) > _COUNT


def build(cache: Path, seed: int, compiler: str, flag: str) -> Path:
    language = _COMPILERS[compiler]
    source = programs.generate(["random_values.py", str(seed), str(_COUNT), language], cache)
    return programs.build(source, ["-w", flag], compiler, cache)


def by_call(lines: list[str]) -> dict[str, str]:
    """Lines by what they are of: "> f1"; each function is called once."""
    found = {}
    for line in lines:
        match = _CALL.match(line)
        assert match is not None, line
        found[match[1]] = match[1] + line[match.end() :]
    return found
