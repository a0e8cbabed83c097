"""`strobe bench`: the figures of docs/performance.md, measured on this machine."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import click

from strobe.cli.output.json_form import dumps


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.option(
    "--svg", type=click.Path(dir_okay=False, path_type=Path), help="Draw the figures of one NAME as a picture."
)
@click.option("--list", "as_list", is_flag=True, help="List the benchmarks.")
def bench(names: tuple[str, ...], as_json: bool, svg: Path | None, as_list: bool) -> None:
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
    if svg is not None and len(names) != 1:
        raise click.UsageError("--svg draws the figures of one benchmark: strobe bench call --svg call.svg")
    sys.exit(_run(harness, list(names) or known, as_json, svg))


def _run(harness: ModuleType, names: list[str], as_json: bool, svg: Path | None) -> int:
    document: dict[str, object] = {}
    failed = False
    for name, outcome in harness.run(names, lambda name: click.echo(f"strobe: measuring {name} ...", err=True)):
        if isinstance(outcome, list):
            document[name] = [figure.as_json() for figure in outcome]
            if svg is not None:
                svg.write_text(_picture(harness, name, outcome))
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


def _picture(harness: ModuleType, name: str, figures: Sequence[object]) -> str:
    """SVG. Raises click.ClickException for figures in different units."""
    module = importlib.import_module(f"{harness.__package__}.picture")
    try:
        return str(module.picture(f"strobe bench {name}", figures))
    except ValueError as error:
        raise click.ClickException(str(error)) from None


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
