"""What every benchmark file gives and how the figures are shown.

A benchmark is a module `*_bench.py` of this folder with one function, `measure(folder)`: it works in `folder` (empty,
its own, removed afterwards) and returns its figures, each measured together with its baseline in the same run. What a
machine does differs from hour to hour, so a figure is judged by its ratio to the baseline, not by its value.

Import from here relatively (`from .harness import Figure`): installed, this folder is the package strobe._bench.
"""

from __future__ import annotations

import importlib
import pkgutil
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value beside its baseline, both in `unit`.

    `bar` is the value to hold, in `unit`; `higher_is_better` says on which side of it. None: nothing is promised.
    """

    name: str
    value: float
    unit: str
    baseline: str
    baseline_value: float
    bar: float | None = None
    higher_is_better: bool = False

    @property
    def ratio(self) -> float:
        """Value over baseline."""
        return self.value / self.baseline_value if self.baseline_value else float("inf")

    @property
    def holds(self) -> bool | None:
        """Whether the bar is met; None where there is none."""
        if self.bar is None:
            return None
        return self.value >= self.bar if self.higher_is_better else self.value <= self.bar

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "ratio": self.ratio, "holds": self.holds}


class Skipped(Exception):
    """Raised by `measure` where this machine cannot give the figure; the text says why."""


Measure = Callable[[Path], list[Figure]]


def names() -> list[str]:
    """The benchmarks of this folder: `call` for `call_bench.py`."""
    found = (module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    return sorted(name.removesuffix("_bench") for name in found if name.endswith("_bench"))


def run(wanted: list[str], before: Callable[[str], None]) -> Iterator[tuple[str, list[Figure] | Exception]]:
    """Measures one after the other; one that fails gives its exception and does not end the rest. `before` is told."""
    for name in wanted:
        before(name)
        folder = Path(tempfile.mkdtemp(prefix=f"strobe-bench-{name}-"))
        try:
            yield name, _load(name)(folder)
        except Exception as error:  # whatever it is, the other figures are still wanted
            yield name, error
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def compile_c(folder: Path, name: str, source: str, *options: str) -> Path:
    """Builds a one-file C program with the system's compiler; raises Skipped where there is none."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise Skipped("no C compiler (Debian: apt-get install build-essential)")
    path = folder / f"{name}.c"
    path.write_text(source)
    program = folder / name
    subprocess.run([compiler, "-g", "-O2", *options, "-o", str(program), str(path)], check=True, timeout=120)
    return program


def table(figures: list[Figure]) -> str:
    """One line for each figure and one below it for its baseline."""
    if not figures:
        return ""
    width = max(len(text) for figure in figures for text in (figure.name, f"  {figure.baseline}"))
    lines = []
    for figure in figures:
        verdict = {None: "", True: "  holds", False: "  MISSED"}[figure.holds]
        bar = "" if figure.bar is None else f"  bar {_number(figure.bar)}{verdict}"
        lines.append(f"{figure.name:{width}}  {_number(figure.value):>12} {figure.unit}{bar}")
        baseline = f"  {figure.baseline}"
        lines.append(f"{baseline:{width}}  {_number(figure.baseline_value):>12} {figure.unit}  x {figure.ratio:,.2f}")
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _load(name: str) -> Measure:
    module = importlib.import_module(f"{__package__}.{name}_bench")
    measure: Measure = module.measure
    return measure
