"""`strobe export`: a session's events as a file that other programs show."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import click

from strobe.cli.output.progress import announced
from strobe.cli.output.whole_file import whole_file
from strobe.session import SessionManager


@click.command()
@click.argument("session_id", metavar="SESSION")
@click.option("-o", "output", type=click.Path(path_type=Path), metavar="FILE", help="Where to; standard output else.")
def export(session_id: str, output: Path | None) -> None:
    """The events of SESSION in Chrome's trace event format, for https://ui.perfetto.dev or speedscope.

    A flame chart of all threads, with arguments, results, probes and output. Nothing leaves this machine: Perfetto
    reads the file in the browser. A FILE that cannot be written to its end is left as it was, but for one with several
    names or of another user: that is written in place.
    """
    from strobe.report.chrome_trace import document

    with closing(SessionManager()) as manager, announced("writing"):
        entries = document(manager.get(session_id))
        if output is None or str(output) == "-":
            sys.stdout.writelines(entries)
            sys.stdout.flush()
            return
        try:
            with whole_file(output) as file:
                file.writelines(entries)
        except OSError as error:
            raise click.ClickException(f"'{output}' could not be written: {error.strerror}") from error
