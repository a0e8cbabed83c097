"""What a tool is, and how it is called: check the arguments, run it, shape the answer or the failure."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from strobe.dataclass import dataclass, field
from strobe.errors import SessionStopped, StrobeError, failure
from strobe.mcp import endpoint, results
from strobe.mcp.redaction import redacted, redaction_of
from strobe.mcp.schema import Record

if TYPE_CHECKING:
    from strobe.session import SessionManager

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Client:
    """Who asks: where it runs and with which environment. Programs are started as it would start them."""

    version: str
    cwd: str
    parent_pid: int
    environment: dict[str, str]


@dataclass(frozen=True, slots=True)
class Context:
    """What a tool works with. `sessions()` loads the debugger on first use.

    `settled`: nobody waits for this call any more: it was cancelled, or has had its time. `answer_by`: when it has, by
    time.monotonic().
    """

    client: Client
    sessions: Callable[[], SessionManager]
    home: str
    settled: threading.Event = field(default_factory=threading.Event)
    answer_by: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool: what clients see of it, and `run`, which takes checked arguments and returns the answer's JSON.

    The hints are those of MCP. A failure is raised as StrobeError.
    """

    name: str
    title: str
    description: str
    parameters: Record
    run: Callable[[dict[str, Any], Context], dict[str, Any]]
    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool = False
    answer: dict[str, Any] | None = None  # JSON Schema of fields that answers may have among others

    def listing(self) -> dict[str, Any]:
        """The tool as `tools/list` shows it."""
        output = {} if self.answer is None else {"outputSchema": {"type": "object", "properties": self.answer}}
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": {"properties": {}, **self.parameters.json()},
            **output,
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.read_only,
                "destructiveHint": self.destructive,
                "idempotentHint": self.idempotent,
                "openWorldHint": self.open_world,
            },
            "_meta": {"anthropic/alwaysLoad": True},
        }

    def call(self, arguments: Any, context: Context) -> dict[str, Any]:
        """The result of one call; every failure is a result with isError."""
        try:
            checked = self.parameters.check(arguments)
            answer = self._answer(checked, context)
            return results.success(answer, redaction_of(context.home), checked.get("groupBy", ()))
        except StrobeError as error:
            return results.failed(redacted(str(error), context.home))
        except Exception as error:
            log.exception("%s failed", self.name)
            reason = f"{type(error).__name__}: {error}"
            return results.failed(str(failure("internal", reason=reason, log=endpoint.log_path(context.home))))

    def _answer(self, checked: dict[str, Any], context: Context) -> dict[str, Any]:
        """Where another client stops the session meanwhile, what only reads is asked again: of what was kept."""
        try:
            return self.run(checked, context)
        except SessionStopped:
            if not self.read_only:
                raise
        return self.run(checked, context)


class Registry:
    """The tools by name, in the order in which they are listed."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self.listing = [tool.listing() for tool in self._tools.values()]

    def find(self, name: object) -> Tool | None:
        """None where no tool has that name, whatever it is."""
        return self._tools.get(name) if isinstance(name, str) else None

    def names(self) -> list[str]:
        """In the order in which tools are listed."""
        return list(self._tools)
