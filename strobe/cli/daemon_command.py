"""`strobe daemon start|stop|status`."""

from __future__ import annotations

from dataclasses import asdict

import click

from strobe.cli.output.json_form import camel, dumps
from strobe.cli.output.progress import announced
from strobe.mcp import daemon as daemon_process
from strobe.mcp.daemon import DaemonStatus

_as_json = click.option("--json", "as_json", is_flag=True, help="One JSON document.")


@click.group()
def daemon() -> None:
    """Start, stop or look at the process behind `strobe mcp`.

    It holds the sessions of language models, is started by `strobe mcp` and ends by itself when it has been idle.
    """


@daemon.command()
@_as_json
def start(as_json: bool) -> None:
    """Start it where it does not run."""
    with announced("starting the daemon"):
        _show(daemon_process.start(), as_json)


@daemon.command()
@_as_json
def stop(as_json: bool) -> None:
    """End it, and with it the sessions that it holds."""
    with announced("stopping the daemon and its sessions"):
        stopped = daemon_process.stop()
    if as_json:
        click.echo(dumps({"stopped": stopped}))
    else:
        click.echo("the daemon was stopped" if stopped else "the daemon does not run")


@daemon.command()
@_as_json
def status(as_json: bool) -> None:
    """Say whether it runs, since when, and for whom."""
    _show(daemon_process.status(), as_json)


def _show(found: DaemonStatus, as_json: bool) -> None:
    if as_json:
        click.echo(dumps(camel(asdict(found)), indent=True))
    elif not found.running:
        click.echo(f"no daemon runs for {found.home}")
    else:
        parts = [f"the daemon of {found.home} runs", f"pid {found.pid}", f"version {found.version}"]
        parts += [
            f"up {found.uptime_s or 0:.0f} s",
            f"{found.clients} clients",
            f"{found.running_sessions} sessions run",
        ]
        click.echo(", ".join(parts))
