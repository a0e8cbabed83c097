"""What a shell completes that click does not know by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def files(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of files, as the shell finds them."""
    from click.shell_completion import CompletionItem  # seldom needed

    return [CompletionItem(incomplete, type="file")]


def groups(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What events are grouped by, besides expressions."""
    from click.shell_completion import CompletionItem

    names = ("function", "thread", "file")
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
