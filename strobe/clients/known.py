"""The coding agents that are known, and where each of them has its list of MCP servers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strobe.dataclass import dataclass

SERVER = "strobe"
ARGUMENTS = ("mcp",)


@dataclass(frozen=True, slots=True)
class Client:
    """`name`: as `strobe install NAME` has it. `file`: from the home on, None where there is none for all projects;
    `project_file`: from a project's folder on. `path`: of the list of servers in it. `form` of the entry: "plain"
    {command, args}, "typed" with type stdio, "local" as opencode has it. `found_by`: a folder of the home, or a
    command, that is there where the client is. `command`: with which it adds a server for all projects itself.
    `moved_by`: a variable of the environment that names another folder, and the one of the home that it stands for."""

    name: str
    title: str
    file: str | None
    project_file: str | None
    path: tuple[str, ...]
    form: str = "plain"
    found_by: tuple[str, ...] = ()
    command: tuple[str, ...] | None = None
    moved_by: tuple[str, str] | None = None

    @property
    def is_toml(self) -> bool:
        """Whether its files are TOML; else they are JSON, with comments where the client allows them."""
        return (self.file or self.project_file or "").endswith(".toml")

    def entry(self, executable: str) -> dict[str, Any]:
        """What stands in the list of servers."""
        if self.form == "local":
            return {"type": "local", "command": [executable, *ARGUMENTS], "enabled": True}
        typed = {"type": "stdio"} if self.form == "typed" else {}
        return {**typed, "command": executable, "args": list(ARGUMENTS)}

    def file_in(self, home: Path, project: Path | None) -> Path | None:
        """The file that is changed; None where the client has none such."""
        if project is not None:
            return None if self.project_file is None else project / self.project_file
        return None if self.file is None else self.below(home, self.file)

    def below(self, home: Path, name: str) -> Path:
        """A file or folder of the home, where the environment does not say that it is elsewhere."""
        if self.moved_by is not None:
            variable, folder = self.moved_by
            moved = Path(os.environ.get(variable, ""))
            if moved.is_absolute() and Path(name).is_relative_to(folder):
                return moved / Path(name).relative_to(folder)
        return home / name


_SERVERS = ("mcpServers",)
_CONFIG = ("XDG_CONFIG_HOME", ".config")
CLIENTS: Mapping[str, Client] = {
    client.name: client
    for client in (
        Client(
            "claude",
            "Claude Code",
            ".claude.json",
            ".mcp.json",
            _SERVERS,
            "typed",
            (".claude", "claude"),
            ("claude", "mcp", "add", "-s", "user"),
            ("CLAUDE_CONFIG_DIR", ""),
        ),
        Client(
            "codex",
            "Codex",
            ".codex/config.toml",
            None,
            ("mcp_servers",),
            found_by=(".codex", "codex"),
            command=("codex", "mcp", "add"),
            moved_by=("CODEX_HOME", ".codex"),
        ),
        Client(
            "gemini",
            "Gemini CLI",
            ".gemini/settings.json",
            ".gemini/settings.json",
            _SERVERS,
            found_by=(".gemini", "gemini"),
        ),
        Client(
            "opencode",
            "opencode",
            ".config/opencode/opencode.json",
            "opencode.json",
            ("mcp",),
            "local",
            (".config/opencode", "opencode"),
            moved_by=_CONFIG,
        ),
        Client("vscode", "VS Code", None, ".vscode/mcp.json", ("servers",), "typed", ("code",)),
        Client("cursor", "Cursor", ".cursor/mcp.json", ".cursor/mcp.json", _SERVERS, found_by=(".cursor", "cursor")),
        Client(
            "windsurf",
            "Windsurf",
            ".codeium/windsurf/mcp_config.json",
            None,
            _SERVERS,
            found_by=(".codeium/windsurf", "windsurf"),
        ),
        Client(
            "zed",
            "Zed",
            ".config/zed/settings.json",
            ".zed/settings.json",
            ("context_servers",),
            found_by=(".config/zed", "zed"),
            moved_by=_CONFIG,
        ),
        Client(
            "claude-desktop",
            "Claude Desktop",
            ".config/Claude/claude_desktop_config.json",
            None,
            _SERVERS,
            found_by=(".config/Claude",),
            moved_by=_CONFIG,
        ),
    )
}
