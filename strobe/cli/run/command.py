"""`strobe run`: a program under observation in the terminal, its call tree printed while it runs."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO, NoReturn

import click

from strobe.cli import completion
from strobe.cli.output.progress import announced
from strobe.cli.run.forwarding import Forwarding
from strobe.cli.run.live import LiveRun
from strobe.cli.run.report import Report, RunEnd, Sink, TextReport, exit_code, how_it_ended, missing_lines
from strobe.dataclass import replace
from strobe.errors import Code, StrobeError
from strobe.limits import STACK_MOST
from strobe.model import LaunchSpec, Probe, Sampling, TraceRequest, Watch
from strobe.report.palette import Palette
from strobe.session import Session, SessionManager

_NOT_FOUND = 127  # the statuses that POSIX gives a shell for a command that cannot be run
_NOT_EXECUTABLE = 126
INCOMPLETE = 125  # as env, timeout and others have it for a failure of their own
_EPILOG = """\b
Examples:
  strobe run ./server --port 8080          functions whose sources lie in this folder
  strobe run -t 'audio::**' ./player a.mid functions of a namespace
  strobe run -t '**' --summary ./solve     every function; only totals, no call tree
  strobe run -t play -w gTempo ./player    with a variable at each call and return
  strobe run -p 'till.cpp:12 if cents < 0 : cents' ./shop   when a line is reached, and with what
"""
_TRACE_HELP = (
    "Functions to trace: foo::bar, foo::* (one level), foo::** (all below), ** (all), @file:NAME, @lib:NAME, "
    "@usercode; may be repeated. "
    "Default: @usercode, every function whose source file lies in the project root."
)

_WATCH_HELP = (
    "Show VARIABLE whenever a traced function begins and returns: gTempo, 'gClock->counter', an argument or a part of "
    "one ('node->next'), 'this->count', '$return'; may be repeated."
)

_PROBE_HELP = (
    "Record at a line, 'pool.cpp:42', at lines, 'pool.cpp:42-57', or where functions begin, 'ns::f': each time that a "
    "thread reaches it, with a condition and values if there are any: 'pool.cpp:42 if used > capacity : used, "
    "this->name'; may be repeated. Without -t no function is traced then."
)

_WHERE_HELP = (
    "Record only calls for which it holds: 'cents < 0', 'node && node->next == 0', "
    "'$return == -1', 'any(x in items: x.id == 7)'. Totals are those of all calls."
)

_AT_RETURN_HELP = (
    "The same at the returns of a function: 'ns::f if $return < 0 : $return, cents, $entry.count'; as -p with "
    "ns::f:return."
)

_ON_HELP = "Show what -w and --watch-js name only in these functions; may be repeated."

_STACK_HELP = (
    "Record up to N callers, 1 to 32, with each call and each probe: 'from post till.cpp:12 < main till.cpp:30'."
)


@click.command(context_settings={"allow_interspersed_args": False}, epilog=_EPILOG)
@click.option("-t", "--trace", "patterns", multiple=True, metavar="PATTERN", help=_TRACE_HELP)
@click.option("-w", "--watch", "watches", multiple=True, metavar="VARIABLE", help=_WATCH_HELP)
@click.option(
    "--watch-js", "scripts", multiple=True, metavar="EXPRESSION", help="The same for a JavaScript expression."
)
@click.option("--on", multiple=True, metavar="PATTERN", help=_ON_HELP)
@click.option(
    "--depth", type=click.IntRange(0, 10), default=0, metavar="N", help="Show what arguments point to, N structs deep."
)
@click.option("--where", metavar="EXPRESSION", help=_WHERE_HELP)
@click.option("--stack", type=click.IntRange(0, STACK_MOST), default=0, metavar="N", help=_STACK_HELP)
@click.option("-p", "--probe", "probes", multiple=True, metavar="PROBE", help=_PROBE_HELP)
@click.option("--at-return", multiple=True, metavar="PROBE", help=_AT_RETURN_HELP)
@click.option("--summary", is_flag=True, help="No call tree, only the totals at the end.")
@click.option("-o", "--output", type=click.File("w"), metavar="FILE", help="Write to FILE, not to standard error.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line: the events, then one with the totals.")
@click.option(
    "--project-root", type=click.Path(exists=True, file_okay=False), metavar="DIR", help="Default: this folder."
)
@click.option("--no-sampling", is_flag=True, help="Keep every event of hot functions too.")
@click.option("--keep", is_flag=True, help="Keep what was recorded, for `strobe query` and `strobe sql`.")
@click.argument(
    "program",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
    metavar="[--] PROGRAM [ARGS]...",
    shell_complete=completion.files,
)
def run(
    patterns: Sequence[str],
    watches: Sequence[str],
    scripts: Sequence[str],
    on: Sequence[str],
    depth: int,
    where: str | None,
    stack: int,
    probes: Sequence[str],
    at_return: Sequence[str],
    summary: bool,
    output: IO[str] | None,
    as_json: bool,
    project_root: str | None,
    no_sampling: bool,
    keep: bool,
    program: Sequence[str],
) -> NoReturn:
    """Run PROGRAM and print its calls, with arguments, results and times, while it runs.

    The call tree and the totals go to standard error or FILE. The program keeps its own stdin, stdout and
    stderr, and its exit status becomes that of `strobe run`: 128 + N when signal N ended it, 127 when it was not found,
    126 when it cannot be executed. It is 125 when the report is incomplete because of an error, which is printed.

    Signals are passed to the program. The second SIGTERM, or the third Ctrl-C in a row, kills it and ends Strobe.
    """
    if on and not watches and not scripts:
        raise click.UsageError("--on goes with -w or --watch-js: it says where a variable is watched")
    root = str(Path(project_root or ".").absolute())
    spec = LaunchSpec(program[0], tuple(program[1:]), cwd=str(Path.cwd()), project_root=root, stdio="inherit")
    stream = output or sys.stderr
    sink = Sink(stream.fileno())
    report = _json_report(sink) if as_json else TextReport(sink, Palette.of(stream))
    # a file can be read later, so it gets everything; who watches, on a terminal or behind a pipe, what happens now
    complete = as_json or output is not None or _is_file(stream)
    with Forwarding() as signals, closing(SessionManager()) as manager:
        if not keep:
            signals.at_last = manager.remove_segments
        wanted = [*(Watch(one, on=tuple(on)) for one in watches), *(Watch(expr=one, on=tuple(on)) for one in scripts)]
        chosen = patterns or (() if probes or at_return else ("@usercode",))
        sampling: Sampling = "off" if no_sampling else "auto"
        asked = TraceRequest(chosen, sampling=sampling, watch=wanted, depth=depth, where=where, stack=stack)
        session = _start(manager, signals, spec, asked, lambda: _probes(probes, at_return))
        answer = session.launch_answer
        if chosen == ("@usercode",) and not patterns and answer is not None and answer.matched_functions == 0:
            hint = f"Without -t, only functions whose source files lie in {root} are traced; -t '**' traces every one."
            click.echo(f"strobe: {hint}", err=True)
        ending = LiveRun(session, report, signals, complete).follow(not summary, keep)
    sys.exit(_finish(ending, sink, None if output is None else output.name))


def _is_file(stream: IO[str]) -> bool:
    """Whether it is a file on a disk: `2>calls.txt`, too."""
    return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)


def _json_report(sink: Sink) -> Report:
    from strobe.cli.run.json_report import JsonReport

    return JsonReport(sink)


def _finish(ending: RunEnd, sink: Sink, file: str | None) -> int:
    """Says on standard error what a report in `file` lacks; the exit status."""
    failure = sink.failure("the report" if file is None else f"the report in '{file}'")
    said = [] if failure is None else [failure]
    if file is not None:
        said += missing_lines(ending)
    if failure is None and not ending.failures:
        status = exit_code(ending.status)
    else:
        said.append(how_it_ended(ending.status))
        status = INCOMPLETE
    with contextlib.suppress(OSError):
        for line in said:
            click.echo(f"strobe: {line}", err=True)
    return status


def _start(
    manager: SessionManager,
    signals: Forwarding,
    spec: LaunchSpec,
    asked: TraceRequest,
    probes: Callable[[], Sequence[Probe]],
) -> Session:
    """The running program; where it cannot be started, the end of this process with a shell's exit status.

    `probes`: the probes that are asked for; raises where a text is none.
    """
    try:
        with announced(f"starting {Path(spec.command).name} and placing hooks"):
            return manager.launch(
                spec,
                replace(asked, probe=[replace(one, stack=asked.stack) for one in probes()]),
                use_staged=False,
                check=lambda session: signals.know(session.pid),
            )
    except StrobeError as error:
        click.echo(f"strobe: {error}", err=True)
        sys.exit(failed_start(spec.command, error))
    except KeyboardInterrupt:
        sys.exit(signals.status)


def _probes(texts: Sequence[str], at_return: Sequence[str]) -> list[Probe]:
    """Raises VALIDATION_ERROR for what is none."""
    if not texts and not at_return:
        return []
    from strobe.session.probes.text_form import of_return, probes_of

    return probes_of([*texts, *map(of_return, at_return)])


def failed_start(command: str, error: StrobeError) -> int:
    """127 where there is no such program, 126 where it cannot be executed, else 1."""
    if error.code is not Code.VALIDATION_ERROR:
        return 1
    found = Path(command).exists() if "/" in command else shutil.which(command) is not None
    return _NOT_EXECUTABLE if found else _NOT_FOUND
