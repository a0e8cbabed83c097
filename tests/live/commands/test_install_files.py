"""Files of coding agents and homes in odd states: what is not Strobe's stays as it was."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from strobe.clients import install, jsonc, toml_text
from strobe.clients.known import CLIENTS
from strobe.errors import StrobeError

STROBE = str(Path(sys.executable).with_name("strobe"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def strobe(home: Path, *arguments: str, status: int = 0, **env: str) -> str:
    done = subprocess.run(
        [STROBE, *arguments],
        env={**os.environ, "HOME": str(home), "PATH": "/usr/bin:/bin", **env},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def cursor(home: Path) -> Path:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    return file


@pytest.mark.parametrize("entry", [{"url": "http://example.org/mcp"}, {"command": "/opt/lamp", "args": ["-x"]}, "x"])
def test_another_server_of_that_name_is_left_alone(home: Path, cursor: Path, entry: Any) -> None:
    before = json.dumps({"mcpServers": {"strobe": entry}})
    cursor.write_text(before)
    assert "another one" in strobe(home, "install", "cursor", status=1)
    assert "there is no Strobe in" in strobe(home, "uninstall", "cursor")
    strobe(home, "uninstall")
    assert cursor.read_text() == before


def test_the_file_beside_is_the_one_before_strobe(home: Path, cursor: Path) -> None:
    kept = cursor.with_name("mcp.json.before-strobe")
    cursor.write_text('{"a": 1}')
    precious = home / "precious"
    precious.write_text("precious")
    kept.symlink_to(precious)
    strobe(home, "install", "cursor")
    cursor.write_text(cursor.read_text().replace(STROBE, "/gone/strobe"))
    strobe(home, "install", "cursor")
    strobe(home, "uninstall", "cursor")
    assert (kept.read_text(), kept.is_symlink(), precious.read_text()) == ('{"a": 1}', False, "precious")


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_ends_of_lines_and_the_mark_at_the_beginning_stay(home: Path, cursor: Path, mark: str) -> None:
    toml = home / ".codex" / "config.toml"
    toml.parent.mkdir()
    files = {cursor: '{\n  "a": 1\n}\n', toml: 'a = 1\n\n[x]\nb = "c"\n'}
    for file, text in files.items():
        file.write_bytes((mark + text.replace("\n", "\r\n")).encode())
    strobe(home, "install", "cursor", "codex")
    for file in files:
        text = file.read_bytes().decode()
        assert STROBE in text and text.count("\n") == text.count("\r\n") and text.startswith(mark)
    strobe(home, "uninstall", "cursor", "codex")
    assert toml.read_bytes().decode() == mark + files[toml].replace("\n", "\r\n")


def test_a_page_that_a_user_has_changed_stays(home: Path) -> None:
    (home / ".claude").mkdir()
    pages = [home / folder / "skills/strobe/SKILL.md" for folder in (".claude", ".agents")]
    assert "would be written" in strobe(home, "install", "claude", "--dry-run")
    assert not pages[0].exists() and not (home / ".agents").exists()
    strobe(home, "install", "claude")
    pages[0].write_text(pages[0].read_text().replace("one tool call", "two"))
    changed = pages[0].read_text()
    assert "left as it is" in strobe(home, "install", "claude")
    assert pages[0].read_text() == changed
    assert "would be removed" in strobe(home, "uninstall", "--dry-run") and pages[1].exists()
    said = strobe(home, "uninstall")
    assert f"{pages[0]} was changed" in said and f"{pages[1]} removed" in said
    assert pages[0].read_text() == changed and not pages[1].parent.exists()


def test_a_page_of_another_hand_stays(home: Path) -> None:
    page = home / ".agents/skills/strobe/SKILL.md"
    page.parent.mkdir(parents=True)
    page.write_text("mine")
    strobe(home, "install", "cursor")
    strobe(home, "uninstall")
    assert page.read_text() == "mine"


def test_a_page_that_cannot_be_written_is_one_line(home: Path) -> None:
    (home / ".agents/skills/strobe/SKILL.md").mkdir(parents=True)
    said = strobe(home, "install", "cursor", status=1)
    assert "Cursor: added to" in said and "SKILL.md' cannot be changed: Is a directory" in said
    assert "cannot be changed: Is a directory" in strobe(home, "uninstall", status=1)


def test_a_file_that_changes_in_this_moment_is_left_alone(cursor: Path) -> None:
    cursor.write_text("{}")
    change = install.adding(CLIENTS["cursor"], cursor, STROBE)
    cursor.write_text('{"new": 1}')
    with pytest.raises(StrobeError, match="changed in this moment"):
        install.apply(change)
    assert cursor.read_text() == '{"new": 1}' and [one.name for one in cursor.parent.iterdir()] == ["mcp.json"]


@pytest.mark.parametrize("named", ["", "relative"])
def test_a_home_that_is_none(home: Path, named: str) -> None:
    """The user's own one counts. Nothing is written: it is only shown."""
    own = {**os.environ, "HOME": named, "PATH": "/usr/bin:/bin"}
    command = [STROBE, "install", "cursor", "--dry-run", "--no-skill"]
    done = subprocess.run(command, env=own, cwd=home, capture_output=True, text=True, timeout=60)
    assert f"{pwd.getpwuid(os.getuid()).pw_dir}/.cursor/mcp.json" in done.stdout + done.stderr


def test_where_the_environment_says_that_files_are(home: Path, tmp_path: Path) -> None:
    (tmp_path / "config" / "zed").mkdir(parents=True)
    (tmp_path / "own").mkdir()
    config, codex = str(tmp_path / "config"), str(tmp_path / "own")
    said = strobe(home, "install", "--no-skill", XDG_CONFIG_HOME=config, CODEX_HOME=codex)
    assert f"Zed: added to {tmp_path}/config/zed/settings.json" in said
    assert f"Codex: added to {tmp_path}/own/config.toml" in said
    assert not list(home.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_stays(home: Path, cursor: Path) -> None:
    cursor.write_text("{}")
    os.chown(cursor, 4711, 4712)
    strobe(home, "install", "cursor")
    assert {(one.stat().st_uid, one.stat().st_gid) for one in cursor.parent.iterdir()} == {(4711, 4712)}


@pytest.mark.parametrize(
    "text",
    [
        'x = """\n[m.s]\n"""\n[m.s]\nk = 1\n[m.t]\n',
        '[m.s]\nk = """\n[t]\n"""\nx = ["a",\n[ "b" ]]\n[m.t]\n',
        '[m.s]\nk = [ # "]"\n  "x]", # [\n]\n\n# of t\n[m.t]\n',
        '["m".\'s\'] # here\nk = \'\'\'\n[[x]]\'\'\'\n[m.s.env]\na = 1\n[[m.t]]\nb = """x""""\n',
    ],
)
def test_toml_of_several_lines(text: str) -> None:
    expected = tomllib.loads(text)
    expected["m"]["s"]["k"] = ["a"]
    changed = toml_text.with_table(text, ("m", "s"), {"k": ["a"]})
    assert tomllib.loads(changed) == expected and ("# here" in changed) == ("# here" in text)
    gone = toml_text.without_table(text, ("m", "s"))
    del expected["m"]["s"]
    assert tomllib.loads(gone) == expected and ("# of t" in gone) == ("# of t" in text)


@pytest.mark.parametrize("text", ["m.s.k = 1\n", "[m.s.env]\na = 1\n", "[[m.s]]\nk = 1\n", "[m.s]\nk.x = 1\n"])
def test_toml_in_another_form_is_not_changed(text: str) -> None:
    with pytest.raises(toml_text.NotToml):
        toml_text.with_table(text, ("m", "s"), {"k": ["a"]})


@pytest.mark.parametrize("text", ['{"a": tru}', '{"m": {"s": 1, "s": 2}}'])
def test_json_that_would_mean_something_else_is_not_changed(text: str) -> None:
    with pytest.raises(jsonc.NotJson):
        jsonc.without_member(jsonc.with_member(text, ("m", "s"), 3), ("m", "s"))
