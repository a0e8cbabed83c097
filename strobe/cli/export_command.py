"""`strobe export`: a session's events as a file that other programs show."""

from __future__ import annotations

import sys
from contextlib import closing, suppress
from typing import TextIO

import click

from strobe.cli.output.progress import announced
from strobe.session import SessionManager


@click.command()
@click.argument("session_id", metavar="SESSION")
@click.option("-o", "output", type=click.File("w"), default="-", metavar="FILE", help="Where to; standard output else.")
def export(session_id: str, output: TextIO) -> None:
    """The events of SESSION in Chrome's trace event format, for https://ui.perfetto.dev or speedscope.

    A flame chart of all threads, with arguments, results, probes and output. Nothing leaves this machine: Perfetto
    reads the file in the browser.
    """
    from strobe.report.chrome_trace import document

    with closing(SessionManager()) as manager, announced("writing"):
        try:
            output.writelines(document(manager.get(session_id)))
            output.flush()
        except OSError as error:
            if output.name == sys.stdout.name:
                raise  # what that means is said for all commands
            with suppress(OSError):
                output.close()  # else at the end, where what is left of its buffer fails once more
            raise click.ClickException(f"'{output.name}' could not be written: {error.strerror}") from error
