"""`strobe bench`: the figures of docs/performance.md, measured on this machine."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import click

from strobe.cli.json_form import dumps


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.option("--list", "as_list", is_flag=True, help="Only say which there are.")
def bench(names: tuple[str, ...], as_json: bool, as_list: bool) -> None:
    """Measure what tracing and asking cost here, each figure beside its baseline.

    Without NAME all of them, which takes a minute or two. Needs a C compiler. Exit status 1 when one could not be
    measured; a figure that misses its bar is shown, not an error: machines differ.
    """
    harness = _harness()
    known = harness.names()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.UsageError(f"no such benchmark: {', '.join(unknown)}; there are: {', '.join(known)}")
    if as_list:
        click.echo("\n".join(known))
        return
    sys.exit(_run(harness, list(names) or known, as_json))


def _run(harness: ModuleType, names: list[str], as_json: bool) -> int:
    document: dict[str, object] = {}
    failed = False
    for name, outcome in harness.run(names, lambda name: click.echo(f"strobe: measuring {name} ...", err=True)):
        if isinstance(outcome, list):
            document[name] = [figure.as_json() for figure in outcome]
            if not as_json:
                click.echo(harness.table(outcome))
            continue
        skipped = isinstance(outcome, harness.Skipped)
        failed = failed or not skipped
        document[name] = {"skipped" if skipped else "error": str(outcome)}
        click.echo(f"strobe: {name} {'skipped' if skipped else 'failed'}: {outcome}", err=True)
    if as_json:
        click.echo(dumps(document, indent=True))
    return int(failed)


def _harness() -> ModuleType:
    """The package of benchmarks: strobe/_bench where it is installed, bench/ beside strobe/ in the source tree."""
    try:
        return importlib.import_module("strobe._bench.harness")
    except ModuleNotFoundError:
        root = Path(__file__).resolve().parents[2]
        if not (root / "bench" / "harness.py").exists():
            raise click.ClickException("the benchmarks are not installed with this Strobe") from None
        sys.path.append(str(root))
        return importlib.import_module("bench.harness")
