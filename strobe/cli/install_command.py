"""`strobe install` and `strobe uninstall`: Strobe among the MCP servers of coding agents."""

from __future__ import annotations

import difflib
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click

from strobe.clients import install as installing
from strobe.clients import skill, toml_text
from strobe.clients.install import Change
from strobe.clients.known import CLIENTS, SERVER, Client
from strobe.errors import StrobeError, failure

_CLIENT = click.Choice(list(CLIENTS))


@click.command()
@click.argument("clients", nargs=-1, type=_CLIENT, metavar="[CLIENT]...")
@click.option("--project", type=click.Path(exists=True, file_okay=False), metavar="DIR", help="For this project alone.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--print", "prints", is_flag=True, help="Print the entries, to add them by hand.")
@click.option(
    "--no-skill", is_flag=True, help="Do not install the page that tells an agent when and how to use Strobe."
)
def install(clients: Sequence[str], project: str | None, dry_run: bool, prints: bool, no_skill: bool) -> None:
    """Add Strobe to coding agents: claude, codex, gemini, opencode, vscode, cursor, windsurf, zed, claude-desktop.
    Without CLIENT, to all that are found on this machine.

    This sets one entry in each agent's list of MCP servers. The rest of the file stays as it is, comments included,
    and a copy of the file is kept beside it (FILE.before-strobe). Running it again changes nothing. VS Code has one
    list per project: use --project.
    """
    chosen = _chosen(clients)
    executable = _executable()
    if prints:
        for client in chosen:
            click.echo(_shown(client, client.file_in(installing.home(), _folder(project)), executable))
        return

    def adding(client: Client, file: Path) -> Change:
        change = installing.adding(client, file, executable)
        is_new = change.is_needed and project is None and installing.entry_in(client, file) is None
        if is_new and not dry_run and installing.add_by_command(client, executable):
            click.echo(f"{client.title}: added by {client.name}'s own command")
            return installing.adding(client, file, executable)
        return change

    changes = _changes(chosen, project, adding)
    failed = _apply(changes, dry_run, "added to", "already there")
    if not no_skill:
        failed += _report_skill(skill.write(_folder(project) or installing.home(), dry_run))
    _end(failed)


@click.command()
@click.argument("clients", nargs=-1, type=_CLIENT, metavar="[CLIENT]...")
@click.option("--project", type=click.Path(exists=True, file_okay=False), metavar="DIR", help="For this project alone.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
def uninstall(clients: Sequence[str], project: str | None, dry_run: bool) -> None:
    """Remove Strobe from coding agents. Without CLIENT, from all of them, with its page of advice.

    A server of that name that is not Strobe, and a page that you have changed, are left alone.
    """
    every = [one for one in CLIENTS.values() if one.file_in(installing.home(), _folder(project)) is not None]
    chosen = [CLIENTS[name] for name in clients] or every
    changes = _changes(chosen, project, installing.removing)
    needed = [one for one in changes if clients or not isinstance(one, Change) or one.is_needed]
    failed = _apply(needed, dry_run, "taken out of", "there is no Strobe in")
    if not clients:
        failed += _report_skill(skill.remove(_folder(project) or installing.home(), dry_run))
    _end(failed)


def _chosen(names: Sequence[str]) -> list[Client]:
    if names:
        return [CLIENTS[name] for name in names]
    found = installing.found(CLIENTS, installing.home())
    if not found:
        valid = ", ".join(CLIENTS)
        raise failure(
            "bad_value",
            field="CLIENT",
            value="missing",
            reason="no coding agent was found on this machine",
            valid=valid,
        )
    return found


def _changes(
    clients: Sequence[Client], project: str | None, change: Callable[[Client, Path], Change]
) -> Iterator[Change | tuple[Client, str]]:
    """What is to be changed, or why that is not possible."""
    for client in clients:
        file = client.file_in(installing.home(), _folder(project))
        if file is None:
            where = "for all projects: use --project DIR" if project is None else "for one project"
            yield client, f"has no list of servers {where}"
            continue
        try:
            yield change(client, file)
        except StrobeError as error:
            yield client, str(error)


def _apply(
    changes: Iterator[Change | tuple[Client, str]] | Sequence[Change | tuple[Client, str]],
    dry_run: bool,
    done: str,
    nothing: str,
) -> int:
    failed = 0
    for one in changes:
        if not isinstance(one, Change):
            client, why = one
            failed += 1
            click.echo(f"{client.title}: {why}", err=True)
        elif not one.is_needed:
            click.echo(f"{one.client.title}: {nothing} {one.file}")
        elif dry_run:
            click.echo("".join(_difference(one)), nl=False)
        else:
            try:
                installing.apply(one)
            except StrobeError as error:
                failed += 1
                click.echo(f"{one.client.title}: {error}", err=True)
                continue
            click.echo(f"{one.client.title}: {done} {one.file}")
    return failed


def _report_skill(pages: Iterator[tuple[Path, str]]) -> int:
    try:
        for file, done in pages:
            click.echo(f"skill: {file} {done}")
    except StrobeError as error:
        click.echo(f"skill: {error}", err=True)
        return 1
    return 0


def _difference(change: Change) -> Iterator[str]:
    before, after = (change.before or "").splitlines(True), change.after.splitlines(True)
    for line in difflib.unified_diff(before, after, str(change.file), str(change.file)):
        yield line if line.endswith("\n") else f"{line}\n"


def _shown(client: Client, file: Path | None, executable: str) -> str:
    entry = client.entry(executable)
    if client.is_toml:
        body = toml_text.with_table("", (*client.path, SERVER), entry)
    else:
        whole: object = {SERVER: entry}
        for key in reversed(client.path):
            whole = {key: whole}
        body = json.dumps(whole, indent=2) + "\n"
    return f"# {client.title}: {client.project_file if file is None else file}\n{body}"


def _executable() -> str:
    """The absolute path of this program; a client has another PATH."""
    own = Path(sys.argv[0])
    found = str(own.absolute()) if own.name == "strobe" and own.exists() else shutil.which("strobe")
    beside = Path(sys.executable).with_name("strobe")
    return found or str(beside)


def _folder(project: str | None) -> Path | None:
    return None if project is None else Path(project).absolute()


def _end(failed: int) -> None:
    if failed:
        sys.exit(1)
