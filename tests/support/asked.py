"""What a model asks of a program with a mistake, in so many calls and bytes of answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.mcp_wire import Wire
from support.programs import PROGRAMS

WAIT = {"until": "exit", "timeoutMs": 40000}


class Asked:
    """Counts the calls and the bytes of their answers, which have a limit."""

    def __init__(self, wire: Wire, program: Path, most_calls: int, most_bytes: int) -> None:
        self._wire = wire
        self._program = program
        self._most_calls, self._most_bytes = most_calls, most_bytes
        self._calls = self._bytes = 0
        self.session = ""

    def launch(self, mistake: str, **more: Any) -> dict[str, Any]:
        """Runs it until its end, unless `wait` says otherwise."""
        settings = {"args": [mistake], "projectRoot": str(PROGRAMS), "wait": WAIT, **more}
        answer = self.ask("debug_launch", command=str(self._program), **settings)
        self.session = answer["sessionId"]
        return answer

    def query(self, **more: Any) -> dict[str, Any]:
        return self.ask("debug_query", sessionId=self.session, **more)

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A call that must succeed."""
        answer = self._wire.good(tool, **arguments)
        self._calls += 1
        self._bytes += len(json.dumps(answer, ensure_ascii=False).encode())
        assert self._calls <= self._most_calls
        assert self._bytes <= self._most_bytes
        return answer
