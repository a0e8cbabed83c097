"""`strobe read`: variables of a running program, as a person would write them."""

from __future__ import annotations

from contextlib import closing

import click

from strobe.cli.output.json_form import dumps
from strobe.cli.output.progress import announced
from strobe.limits import READ_DEPTH, READ_TARGETS
from strobe.session import SessionManager
from strobe.values.decode import text
from strobe.values.reading import ReadResult, ReadTarget


@click.command()
@click.argument("session_id", metavar="SESSION")
@click.argument("variables", metavar="VARIABLE...", nargs=-1, required=True)
@click.option("--depth", type=click.IntRange(1, READ_DEPTH), default=1, show_default=True, help="Levels of structs.")
@click.option("--thread", type=click.IntRange(1), help="Thread id, for thread-local variables.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_context
def read(
    context: click.Context, session_id: str, variables: tuple[str, ...], depth: int, thread: int | None, as_json: bool
) -> None:
    """Read each VARIABLE of SESSION's program while it runs: gTempo, 'gState.voices[3].freq', '*p', '(Node*)p'.

    Exit status 1 when one of them could not be read.
    """
    if len(variables) > READ_TARGETS:
        raise click.UsageError(f"{len(variables)} variables; {READ_TARGETS} are read at once")
    targets = [ReadTarget(variable, thread=thread) for variable in variables]
    with closing(SessionManager()) as manager, announced("reading"):
        session = manager.get(session_id)
        results = session.reader.read(targets, depth)
        for warning in session.reader.warnings():
            click.echo(f"Warning: {warning}", err=True)
    if as_json:
        click.echo(dumps({"results": [_json(result) for result in results]}, indent=True))
    else:
        for result in results:
            _print(result)
    context.exit(int(any(result.error is not None for result in results)))


def _print(result: ReadResult) -> None:
    if result.error is not None:
        click.echo(f"{result.target}: {result.error.sentences}", err=True)
        return
    click.echo(f"{result.target} = " + "\n".join(text.lines(result.value)))


def _json(result: ReadResult) -> dict[str, object]:
    shown: dict[str, object] = {"target": result.target}
    if result.error is not None:
        return {**shown, "error": str(result.error)}
    address = {} if result.address is None else {"address": f"{result.address:#x}"}
    return {**shown, **address, "type": result.type, "size": result.size, "value": text.plain(result.value)}
