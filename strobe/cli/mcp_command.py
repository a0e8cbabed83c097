"""`strobe mcp --help` and `--http`; without arguments strobe/cli/main.py goes to the pump directly."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from typing import NoReturn

import click

from strobe.mcp import endpoint, proxy

DEFAULT_PORT = 8737


@click.command()
@click.option("--http", "over_http", is_flag=True, help="Serve HTTP on this machine instead, until Ctrl-C.")
@click.option("--host", default="127.0.0.1", show_default=True, help="With --http: the address to listen on.")
@click.option(
    "--port", default=DEFAULT_PORT, show_default=True, type=click.IntRange(0, 65535), help="With --http; 0: any."
)
def mcp(over_http: bool, host: str, port: int) -> NoReturn:
    """Serve a language model over MCP on standard input and output.

    It is started by the client, which finds it through its configuration:

    \b
    claude mcp add -s user strobe -- strobe mcp
    codex mcp add strobe -- strobe mcp

    A client that cannot start it, as one in a container, asks `strobe mcp --http` instead. Who has the token may run
    programs as you: keep it to yourself.
    """
    if not over_http:
        sys.exit(proxy.main())
    _serve_http(host, port)
    sys.exit(0)


def _serve_http(host: str, port: int) -> None:
    from strobe.mcp.http_transport import HttpServer, token_of
    from strobe.private_folder import make_private

    home = endpoint.home_path()
    try:
        make_private(home)
        token = token_of(home)
        server = HttpServer(home, (host, port), token)
    except OSError as error:
        raise click.ClickException(f"HTTP cannot be served: {error.strerror or error}") from error
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with server, suppress(KeyboardInterrupt):
        click.echo(f"MCP at   {server.url}")
        click.echo(f"Header   Authorization: Bearer {token}")
        click.echo("Programs run here, as you. Ctrl-C ends it; what it has started goes on.")
        sys.stdout.flush()
        server.serve_forever()
