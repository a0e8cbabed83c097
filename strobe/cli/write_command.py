"""`strobe write`: variables of a running program get new values."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

import click

from strobe.cli.output.json_form import dumps
from strobe.cli.output.progress import announced
from strobe.limits import WRITE_TARGETS
from strobe.session import SessionManager
from strobe.values.decode import text
from strobe.values.write.writing import WriteResult, WriteTarget


@click.command()
@click.argument("session_id", metavar="SESSION")
@click.argument("assignments", metavar="VARIABLE=VALUE...", nargs=-1, required=True)
@click.option("--thread", type=click.IntRange(1), help="Thread id, for thread-local variables.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_context
def write(
    context: click.Context, session_id: str, assignments: tuple[str, ...], thread: int | None, as_json: bool
) -> None:
    """Write each VALUE to its VARIABLE of SESSION's program while it runs: gTempo=140, 'gState.voices[0].freq=220.5',
    gMode=MODE_LOOP, 'gNext=&gFirst', 'gVoice={"note": 3, "name": "bass"}'.

    Exit status 1 when one of them could not be written.
    """
    if len(assignments) > WRITE_TARGETS:
        raise click.UsageError(f"{len(assignments)} variables; {WRITE_TARGETS} are written at once")
    targets = [_target(assignment, thread) for assignment in assignments]
    with closing(SessionManager()) as manager, announced("writing"):
        results = manager.get(session_id).writer.write(targets)
    if as_json:
        click.echo(dumps({"results": [_json(result) for result in results]}, indent=True))
    else:
        for result in results:
            _print(result)
    context.exit(int(any(result.error is not None for result in results)))


def _target(assignment: str, thread: int | None) -> WriteTarget:
    variable, equals, value = assignment.partition("=")
    if not equals or not variable.strip():
        raise click.UsageError(f"'{assignment}' is not VARIABLE=VALUE")
    return WriteTarget(variable.strip(), _value(value), thread=thread)


def _value(text_: str) -> Any:
    """Text in quotes is that text, as `strobe read` shows it; null is a null pointer."""
    stripped = text_.strip()
    if stripped == "null":
        return None
    if len(stripped) >= 2 and stripped[0] == stripped[-1] == '"':
        try:
            return json.loads(stripped)
        except ValueError:
            return text_
    return text_


def _print(result: WriteResult) -> None:
    if result.error is not None:
        click.echo(f"{result.target}: {result.error.sentences}", err=True)
        return
    click.echo(f"{result.target} = {text.shown(result.value)}, was {text.shown(result.previous)}")


def _json(result: WriteResult) -> dict[str, object]:
    shown: dict[str, object] = {"target": result.target}
    if result.error is not None:
        return {**shown, "error": str(result.error)}
    values = {"previousValue": text.plain(result.previous), "newValue": text.plain(result.value)}
    return {**shown, "address": f"{result.address:#x}", "type": result.type, **values, "atomic": result.is_atomic}
