"""The examples of README.md, run as a reader would run them: each command, each call of a tool, the Python test.

`python docs/replay.py` writes into README.md what they print now; tests/live/commands/test_readme.py compares.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
CLONE = "/home/me/strobe"  # what stands in README.md for the folder of the clone
BEGIN, END = "<!-- examples -->", "<!-- end of examples -->"
SECONDS = 90
_OF_PYTEST = re.compile(r"PYTEST_|PY_COLORS|FORCE_COLOR|CI$|BUILD_NUMBER$")  # change what it prints
_WIDTH = 110  # of a line of JSON
_SESSION = re.compile(r"player-\d{4}-\d\d-\d\d-\d\dh\d\d(?:-\d{1,3}(?!\d))?")
_BLOCK = re.compile(r"```(\w*)\n(.*?)```\n", re.DOTALL)
_NOT_TOLD = re.compile(r"^strobe: .* \.\.\.\n| +$", re.MULTILINE)  # steps that take long; spaces at the end of a line
_VARIES = (
    (_SESSION, "SESSION"),
    (re.compile(r"SESSION-\d+"), "EVENT"),
    (re.compile(r"0x[0-9a-f]{6,}"), "ADDRESS"),
    (re.compile(r"\b\d[\d.,]* ?(?:ns|us|ms|s)\b"), "TIME"),
    (re.compile(r'"(\w+Ns|pid|threadId)": \d+'), r'"\1": N'),
    (re.compile(r"\s+"), " "),  # columns are as wide as the times in them; JSON is broken by the length of its numbers
)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block between BEGIN and END. `language`: console, json (calls of tools and their answers), python."""

    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Clone:
    """A folder with what the examples use of a clone. Commands run there with Strobe in their PATH."""

    folder: Path
    environment: Mapping[str, str]

    def command(self, line: str) -> str:
        """What a command prints: its standard output, then its standard error."""
        done = subprocess.run(
            line, shell=True, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=SECONDS
        )
        printed = _NOT_TOLD.sub("", done.stdout + done.stderr)
        return printed.replace(str(self.folder), CLONE)


@contextmanager
def clone() -> Iterator[Clone]:
    """Its daemon, if there is one, ends with it."""
    with tempfile.TemporaryDirectory(prefix="strobe-readme-") as place:
        folder = Path(place) / "strobe"
        shutil.copytree(ROOT / "docs/examples", folder / "docs/examples", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)  # pytest's settings
        (folder / "build").mkdir()
        environment = {name: value for name, value in os.environ.items() if not _OF_PYTEST.match(name)}
        environment |= {
            "PATH": f"{Path(sys.executable).parent}:{environment['PATH']}",
            "STROBE_HOME": environment.get("STROBE_HOME", str(Path(place) / "home")),
            "COLUMNS": "80",
        }
        found = Clone(folder, environment)
        try:
            yield found
        finally:
            found.command("strobe daemon stop")


class Client:
    """A client of `strobe mcp`, as a coding agent is one."""

    def __init__(self, where: Clone) -> None:
        self._folder = str(where.folder)
        self._process = subprocess.Popen(
            ["strobe", "mcp"], cwd=where.folder, env=where.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._count = 0
        self._session = ""
        client = {"name": "readme", "version": "1"}
        self._request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        if self._session:
            self._tool("debug_stop", {"sessionId": self._session})
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(SECONDS)
        self._process.stdout.close()

    def call(self, line: str) -> tuple[str, str]:
        """`line`: `tool {arguments}`, of an earlier session. It as it was made, and the answer."""
        name, _, text = line.partition(" ")
        arguments = json.loads(_SESSION.sub(self._session, text))
        answer = self._tool(name, arguments)
        while name == "debug_query" and "ended" not in answer:  # the program is at work
            answer = self._tool(name, arguments)
        self._session = answer.get("sessionId", self._session)
        return f"{name} {json.dumps(arguments)}", shown(answer).replace(self._folder, CLONE)

    def _tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        result = self._request("tools/call", {"name": name, "arguments": arguments})
        assert not result["isError"], result["content"]
        answer: dict[str, Any] = result["structuredContent"]
        return answer

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._count += 1
        request = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        result: dict[str, Any] = json.loads(self._process.stdout.readline())["result"]
        return result


def blocks(text: str) -> list[Block]:
    """The examples of README.md."""
    return [Block(*found) for found in _BLOCK.findall(text.split(BEGIN)[1].split(END)[0])]


def replayed(block: Block, where: Clone) -> str:
    """What the block would be, run now."""
    if block.language == "console":
        commands = [line for line in block.text.splitlines() if line.startswith("$ ")]
        return "".join(f"{line}\n{where.command(line[2:])}" for line in commands)
    if block.language == "json":
        with Client(where) as client:
            calls = [client.call(line) for line in block.text.splitlines() if line.startswith("debug_")]
        return "".join(f"{call}\n{answer}\n" for call, answer in calls)
    return (where.folder / "docs/examples/test_player.py").read_text()


def masked(text: str) -> str:
    """Without what differs from run to run: times, ids, addresses, and the room that they take."""
    for pattern, word in _VARIES:
        text = pattern.sub(word, text)
    return text


def shown(value: Any, indent: int = 1) -> str:
    """JSON, an object or list on one line where it has room there, else a part on each."""
    room = "  " * indent
    flat = json.dumps(value, ensure_ascii=False)
    if len(room) + len(flat) <= _WIDTH or not isinstance(value, (dict, list)):
        return room + flat
    inner = [shown(part, indent + 1).strip() for part in (value.values() if isinstance(value, dict) else value)]
    if isinstance(value, dict):
        inner = [f"{json.dumps(name)}: {part}" for name, part in zip(value, inner, strict=True)]
    lines = [""]
    for part in inner:  # as many on a line as it has room for
        fits = "\n" not in lines[-1] and len(room) + len(lines[-1]) + len(part) + 3 <= _WIDTH
        lines = [*lines[:-1], f"{lines[-1]} {part},".strip()] if fits and lines[-1] else [*lines, f"{part},"]
    body = "\n".join(f"{room} {line}" for line in lines if line).rstrip(",").strip()
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{room}{first}{body}{last}"


def main() -> None:
    text = README.read_text()
    with clone() as where:
        for block in blocks(text):
            text = text.replace(block.text, replayed(block, where))
    README.write_text(text)


if __name__ == "__main__":
    main()
