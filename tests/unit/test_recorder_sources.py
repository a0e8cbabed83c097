"""Which of the recorder's sources go to which CPU (agent/bundle.py)."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
RECORDER = ROOT / "csrc" / "recorder"


@pytest.fixture(scope="module")
def bundle() -> Any:
    spec = importlib.util.spec_from_file_location("bundle", ROOT / "agent" / "bundle.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def relative(path: Path) -> str:
    return os.path.relpath(path, RECORDER)


@pytest.mark.parametrize(("cpu", "other"), [("x86_64", "aarch64"), ("aarch64", "x86_64")])
def test_a_cpu_gets_its_own_sources(bundle: Any, cpu: str, other: str) -> None:
    sources = {relative(path) for path in bundle.recorder_sources(RECORDER, cpu)}
    assert {"calls.c", "portable.c", f"arch/{cpu}/stubs.c", f"arch/{cpu}/patchable.c"} <= sources
    assert not any(other in source for source in sources)


def test_an_unknown_cpu_ends_the_build(bundle: Any) -> None:
    with pytest.raises(bundle.BundleError, match="the CPU riscv64: it knows x86_64, aarch64"):
        bundle.recorder_sources(RECORDER, "riscv64")


def test_a_source_that_is_not_listed_ends_the_build(bundle: Any, tmp_path: Path) -> None:
    for path in bundle.recorder_sources(RECORDER, "x86_64") + bundle.recorder_sources(RECORDER, "aarch64"):
        copy = tmp_path / "csrc" / "recorder" / relative(path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.touch()
    recorder = tmp_path / "csrc" / "recorder"
    assert bundle.recorder_sources(recorder, "aarch64")
    (recorder / "arch" / "aarch64" / "new.c").touch()
    with pytest.raises(bundle.BundleError, match=r"differ in: new\.c"):
        bundle.recorder_sources(recorder, "aarch64")
