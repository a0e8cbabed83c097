"""`strobe watch`: variables of a running program, live."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import click

from strobe.cli.output.progress import announced
from strobe.cli.output.watch_table import Lines, Table
from strobe.errors import Code, StrobeError
from strobe.limits import READ_DEPTH, READ_TARGETS
from strobe.report import wording
from strobe.report.palette import Palette
from strobe.session import Session, SessionManager
from strobe.session.variables.reader import RepeatedRead
from strobe.values.reading import ReadTarget

_LEAST_NS, _MOST_NS = 50_000_000, 5_000_000_000
_END_KNOWN_S = 3.0  # the Strobe that observes the program notes how it ended within this time


def _interval(context: click.Context, param: click.Parameter, given: str) -> float:
    """In seconds."""
    try:
        found = wording.parse_ns(given, "--interval")
    except StrobeError as error:
        raise click.BadParameter(error.sentences, context, param) from error
    if not _LEAST_NS <= found <= _MOST_NS:
        raise click.BadParameter("it is out of range. Valid: 50ms to 5s.", context, param)
    return found / 1e9


@click.command()
@click.argument("session_id", metavar="SESSION")
@click.argument("variables", metavar="VARIABLE...", nargs=-1, required=True)
@click.option("--interval", callback=_interval, default="200ms", show_default=True, metavar="TIME")
@click.option("--depth", type=click.IntRange(1, READ_DEPTH), default=1, show_default=True, help="Levels of structs.")
@click.option("--thread", type=click.IntRange(1), help="Thread id, for thread-local variables.")
@click.pass_context
def watch(
    context: click.Context,
    session_id: str,
    variables: tuple[str, ...],
    interval: float,
    depth: int,
    thread: int | None,
) -> None:
    """Show each VARIABLE of SESSION's program while it runs, until it ends or Ctrl-C is pressed.

    On a terminal it is a table, with what has just changed marked; elsewhere one line for each change. The program is
    not stopped, and nothing is recorded. Exit status 1 when there is none of the variables.
    """
    if len(variables) > READ_TARGETS:
        raise click.UsageError(f"{len(variables)} variables; {READ_TARGETS} are read at once")
    with closing(SessionManager()) as manager:
        session = manager.get(session_id)
        targets = [ReadTarget(variable, thread=thread) for variable in dict.fromkeys(variables)]
        with announced("reading"):
            refused = session.reader.repeated(targets, depth).refused
        for error in refused.values():
            click.echo(f"strobe: {error}", err=True)
        if len(refused) == len(targets):
            context.exit(1)
        known = [target for target in targets if target not in refused]
        _follow(session, session.reader.repeated(known, depth), interval)


def _follow(session: Session, source: RepeatedRead, interval: float) -> None:
    palette = Palette.of(sys.stdout)
    is_table = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    title = f"{session.id}  every {interval * 1000:g} ms, Ctrl-C ends"
    view: Table | Lines = Table(sys.stdout, palette, title) if is_table else Lines(sys.stdout)
    view.begin()
    try:
        for _ in _ticks(interval):
            if session.ending() is not None:
                break
            view.show(source.read(), session.timeline.moment()[1])
    except ProcessLookupError:
        pass
    except KeyboardInterrupt:
        return
    except StrobeError as error:
        if error.code is not Code.PROCESS_EXITED:
            raise
    finally:
        view.end()
    click.echo(f"strobe: {_ending(session)}", err=True)


def _ticks(interval: float) -> Iterator[None]:
    """On the clock; what came too late is left out."""
    start = time.monotonic()
    while True:
        yield
        waited = interval - (time.monotonic() - start) % interval
        threading.Event().wait(waited)


def _ending(session: Session) -> str:
    """How it ended, once that is known."""
    deadline = time.monotonic() + _END_KNOWN_S
    while (how := session.ending()) is None and time.monotonic() < deadline:
        threading.Event().wait(0.02)
    return "the program has ended" if how is None else f"the program has ended: {how}"
