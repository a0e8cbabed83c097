"""`strobe install` and `strobe uninstall`: entries in the files of coding agents, of which all else stays as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from strobe.clients import jsonc, toml_text
from strobe.clients.known import CLIENTS

STROBE = str(Path(sys.executable).with_name("strobe"))
COMMENTED = """\
// settings of mine
{
  "theme": "dark", /* not light */
  "mcpServers": {
    // the first
    "other": { "command": "/bin/other", "args": ["a", "b"], },
  },
  "url": "http://example.org/{x}", // a brace and slashes in a text
}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def strobe(home: Path, *arguments: str, status: int = 0, path: str = "/usr/bin:/bin") -> str:
    done = subprocess.run(
        [STROBE, *arguments],
        env={**os.environ, "HOME": str(home), "PATH": path},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def entry(client: str, file: Path) -> Any:
    known = CLIENTS[client]
    found: Any = tomllib.loads(file.read_text()) if known.is_toml else None
    if found is None:
        return jsonc.value_at(file.read_text(), (*known.path, "strobe"))
    for key in (*known.path, "strobe"):
        found = found[key]
    return found


@pytest.mark.parametrize("client", [name for name, one in CLIENTS.items() if one.file])
def test_an_entry_comes_and_goes(home: Path, client: str) -> None:
    file = CLIENTS[client].file_in(home, None)
    assert file is not None
    strobe(home, "install", client)
    own = entry(client, file)
    words = own["command"] if isinstance(own["command"], list) else [own["command"], *own["args"]]
    assert words == [STROBE, "mcp"]
    assert subprocess.run([*words, "--help"], capture_output=True, timeout=60).returncode == 0
    assert file.stat().st_mode & 0o777 == 0o600
    before = file.read_text()
    assert "already there" in strobe(home, "install", client)
    assert file.read_text() == before
    strobe(home, "uninstall", client)
    assert STROBE not in file.read_text()


@pytest.mark.parametrize("client", [name for name, one in CLIENTS.items() if one.project_file])
def test_of_one_project(home: Path, tmp_path: Path, client: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    strobe(home, "install", client, "--project", str(project))
    file = CLIENTS[client].file_in(home, project)
    assert file is not None and entry(client, file)
    assert (project / ".agents/skills/strobe/SKILL.md").read_text().startswith("---\nname: strobe\n")
    assert list(home.iterdir()) == []


def test_comments_and_other_entries_stay(home: Path) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text(COMMENTED)
    file.chmod(0o640)
    assert "+" in strobe(home, "install", "cursor", "--dry-run")
    assert file.read_text() == COMMENTED
    strobe(home, "install", "cursor")
    text = file.read_text()
    for line in COMMENTED.splitlines():
        assert line in text
    assert jsonc.value_at(text, ("mcpServers", "other")) == {"command": "/bin/other", "args": ["a", "b"]}
    assert file.with_name("mcp.json.before-strobe").read_text() == COMMENTED
    assert file.stat().st_mode & 0o777 == 0o640
    strobe(home, "uninstall")
    assert jsonc.value_at(file.read_text(), ("mcpServers", "strobe")) is None
    assert all(line in file.read_text() for line in COMMENTED.splitlines())


def test_what_a_user_has_added_to_the_entry_stays(home: Path) -> None:
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text(
        '# mine\nmodel = "x"\n\n[mcp_servers.strobe]\ncommand = "/old/strobe" # there\nargs = ["mcp"]\n# of mine\n\n'
        '[mcp_servers.strobe.env]\nA = "b"\n\n# of the next\n[tui]\nk = 1\n'
    )
    strobe(home, "install", "codex")
    found = tomllib.loads(file.read_text())
    assert found["mcp_servers"]["strobe"] == {"command": STROBE, "args": ["mcp"], "env": {"A": "b"}}
    assert (found["model"], found["tui"]) == ("x", {"k": 1})
    assert file.read_text().startswith("# mine\n") and "# of mine\n" in file.read_text()
    strobe(home, "uninstall", "codex")
    assert "# of the next\n[tui]" in file.read_text()
    assert tomllib.loads(file.read_text()) == {"model": "x", "tui": {"k": 1}}


@pytest.mark.parametrize(
    "broken", ["{", "[1]", '{"mcpServers": 3}', '{"a" 1}', '{"a": 1} x', "\xff", '{"mcpServers": {"a": }}']
)
def test_a_file_that_is_not_understood_is_left_alone(home: Path, broken: str) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text(broken, encoding="latin-1")
    said = strobe(home, "install", "cursor", "codex", status=1)
    assert "cannot be changed" in said and "Codex: added to" in said
    assert file.read_text(encoding="latin-1") == broken


def test_those_that_are_found(home: Path) -> None:
    assert "no coding agent was found on this machine" in strobe(home, "install", status=1)
    (home / ".codex").mkdir()
    (home / ".claude").mkdir()
    said = strobe(home, "install")
    assert "Codex: added to" in said and "Claude Code: added to" in said and "Cursor" not in said
    assert (home / ".claude/skills/strobe/SKILL.md").exists()
    assert "use --project" in strobe(home, "install", "vscode", status=1)
    printed = strobe(home, "install", "--print", "zed")
    assert json.loads(printed.partition("\n")[2])["context_servers"]["strobe"]["args"] == ["mcp"]
    strobe(home, "uninstall")
    assert not (home / ".claude/skills/strobe").exists()


def test_the_clients_own_command_is_asked_first(home: Path, tmp_path: Path) -> None:
    """A stand-in for a client that is not free to install: it must be called as its manual says."""
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "claude"
    command.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$HOME/asked"\n')
    command.chmod(0o755)
    said = strobe(home, "install", "claude", path=f"{folder}:/usr/bin:/bin")
    assert (home / "asked").read_text().split("\n")[:-1] == ["mcp", "add", "-s", "user", "strobe", "--", STROBE, "mcp"]
    assert "own command" in said
    # it said that it has done so, and had not
    assert entry("claude", home / ".claude.json")["command"] == STROBE


def test_a_link_stays_one(home: Path) -> None:
    kept = home / "dotfiles.json"
    kept.write_text("{}")
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").symlink_to(kept)
    strobe(home, "install", "cursor")
    assert (home / ".cursor/mcp.json").is_symlink()
    assert "strobe" in kept.read_text()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "{\n}\n",
        '{"a":1}',
        '{"a":1,}',
        '{"m":{}}',
        '{"m":{"x":1}, "z":[1,[2,],{}]}',
        "// only\n",
        '{"m":{/* c */}}',
    ],
)
def test_json_as_text(text: str) -> None:
    changed = jsonc.with_member(text, ("m", "s"), {"k": [1, "}"]})
    assert jsonc.value_at(changed, ("m", "s")) == {"k": [1, "}"]}
    again = jsonc.with_member(changed, ("m", "s"), 5)
    assert jsonc.value_at(again, ("m", "s")) == 5
    gone = jsonc.without_member(again, ("m", "s"))
    assert jsonc.value_at(gone, ("m", "s")) is None
    assert jsonc.value_at(gone, ("a",)) == jsonc.value_at(text, ("a",))
    assert jsonc.value_at(gone, ("z",)) == jsonc.value_at(text, ("z",))


@pytest.mark.parametrize("text", ["", "a = 1", "[m]\nx = 1\n", "[m.s]\nk = 'v'\n[m.t]\nz = 2", "# c\n\n\n[q]\n"])
def test_toml_as_text(text: str) -> None:
    changed = toml_text.with_table(text, ("m", "s"), {"k": ["a"]})
    assert tomllib.loads(changed)["m"]["s"] == {"k": ["a"]}
    gone = tomllib.loads(toml_text.without_table(changed, ("m", "s")))
    expected = tomllib.loads(text)
    for found in (gone, expected):
        found.get("m", {}).pop("s", None)
        if not found.get("m", True):
            del found["m"]
    assert gone == expected
    with pytest.raises(toml_text.NotToml):
        toml_text.with_table("m = { s = { k = 'v' } }\n", ("m", "s"), {"k": []})
    with pytest.raises(toml_text.NotToml):
        toml_text.with_table("m = ", ("m", "s"), {})


def test_the_doctor_tries_what_works(home: Path) -> None:
    (home / ".codex").mkdir()
    own = {"HOME": str(home), "STROBE_HOME": str(home / "strobe")}
    found = subprocess.run(
        [STROBE, "doctor", "--json"], env={**os.environ, **own}, capture_output=True, text=True, timeout=120
    )
    told = {one["what"]: one for one in json.loads(found.stdout)["findings"]}
    assert told["record a program"]["state"] == "ok" and "exit status 1 as alone" in told["record a program"]["said"]
    assert told["Codex"] == {
        "what": "Codex",
        "state": "limited",
        "said": "does not know strobe",
        "hint": "strobe install codex",
    }
    assert found.returncode == 0
    strobe(home, "install", "codex")
    assert f"starts {STROBE}" in strobe(home, "doctor")
    closed = {**os.environ, "HOME": str(home), "STROBE_HOME": "/proc/nowhere"}
    found = subprocess.run([STROBE, "doctor"], env=closed, capture_output=True, text=True, timeout=120)
    assert found.returncode == 1
    assert "NO       home" in found.stdout and "ok       record a program" in found.stdout
