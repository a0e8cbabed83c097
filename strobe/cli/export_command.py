"""`strobe export`: a session's events as a file that other programs show."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, TextIO

import click

from strobe.cli.output.json_form import dumps, loss_json
from strobe.cli.output.progress import announced
from strobe.session import SessionManager

if TYPE_CHECKING:
    from strobe.model import Event
    from strobe.session import Session


@click.command()
@click.argument("session_id", metavar="SESSION")
@click.option("-o", "output", type=click.File("w"), default="-", metavar="FILE", help="Where to; standard output else.")
def export(session_id: str, output: TextIO) -> None:
    """The events of SESSION in Chrome's trace event format, for https://ui.perfetto.dev or speedscope.

    A flame chart of all threads, with arguments, results, probes and output. Nothing leaves this machine: Perfetto
    reads the file in the browser.
    """
    with closing(SessionManager()) as manager, announced("writing"):
        for text in document(manager.get(session_id)):
            output.write(text)


def document(session: Session) -> Iterator[str]:
    """The JSON of a session as it is now, in parts."""
    from strobe.report.chrome_trace import ChromeTrace
    from strobe.timeline.moments import event_number

    trace = ChromeTrace()
    until, after = session.cursor(), 0

    def number(event: Event) -> int:
        return event_number(session.id, event.id)

    yield '{"displayTimeUnit":"ns","traceEvents":['
    before = ""
    while events := [event for event in session.tail(after) if number(event) <= until]:
        after = number(events[-1])
        for entry in trace.entries(events):
            yield before + dumps(entry)
            before = ",\n"
    about = {"session": session.id, "program": session.summary().binary_path, "loss": loss_json(session.loss())}
    yield f'],"otherData":{dumps(about)}}}\n'
