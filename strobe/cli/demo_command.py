"""`strobe demo`: the guided tour."""

from __future__ import annotations

import click

from strobe.cli.palette import Palette


@click.command()
@click.option("--json", "as_json", is_flag=True, help="What was found, as one JSON document.")
def demo(as_json: bool) -> None:
    """Find a bug that no print statement shows, in ten seconds."""
    from strobe.cli.json_form import dumps
    from strobe.demo import tour

    if as_json:
        click.echo(dumps(tour.find(), indent=True))
        return
    for line in tour.steps(Palette.of(click.get_text_stream("stdout"))):
        click.echo(line)
