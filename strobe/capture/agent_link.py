"""Talks to the agent in one target: loads it, and turns its messages into typed calls with a bound on the wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import frida

from strobe import resources
from strobe.errors import failure
from strobe.model import LoadedModule

ANSWER_S = 5.0
INSTALL_S = 60.0  # thousands of hooks

Plan = tuple[int, ...]  # struct strobe_function_plan as bytes


@dataclass(frozen=True, slots=True)
class Setup:
    """`form`: which form of the recorder is in use. `catches_returns`: False where the CPU forbids replacing return
    addresses (shadow stack), so that only entries are recorded."""

    form: str
    catches_returns: bool


class AgentLink:
    """The agent of one process. Its methods raise agent_unresponsive or agent_failed; `InvalidOperationError` of Frida, when
    the process is gone, becomes ProcessLookupError."""

    def __init__(self, session: Any, pid: int, on_modules: Callable[[list[LoadedModule]], None]) -> None:
        self._pid = pid
        self._on_modules = on_modules
        self._script = session.create_script(resources.AGENT.read_text(), name="strobe", runtime="qjs")
        self._script.on("message", self._receive)
        self._call(self._script.load)

    def setup(self, segment_path: str, segment_bytes: int) -> Setup:
        request = {
            "source": resources.RECORDER.read_text(),
            "segmentPath": segment_path,
            "segmentBytes": segment_bytes,
        }
        answer = self._call(self._script.exports_sync.setup, request)
        return Setup(answer["form"], answer["catchesReturns"])

    def prepare_stdio(self, stdin_path: str | None, by_line: bool) -> None:
        self._call(self._script.exports_sync.prepare_stdio, stdin_path, by_line)

    def modules(self) -> list[LoadedModule]:
        return [_module(item) for item in self._call(self._script.exports_sync.modules)]

    def observe_modules(self) -> None:
        self._call(self._script.exports_sync.observe_modules)

    def register_unwinder(self, addresses: list[int]) -> None:
        self._call(self._script.exports_sync.register_unwinder, [hex(address) for address in addresses])

    def install(self, ids: list[int], addresses: list[int], sizes: list[int], plans: list[Plan]) -> list[str]:
        """For each function "" when it is hooked, else the agent's word for why not."""
        request = {"ids": ids, "addresses": [hex(item) for item in addresses], "sizes": sizes, "plans": plans}
        return list(self._call(self._script.exports_sync.install, request, seconds=INSTALL_S))

    def change(self, ids: list[int], plans: list[Plan]) -> None:
        self._call(self._script.exports_sync.change, ids, plans, seconds=INSTALL_S)

    def unload(self) -> None:
        """The target's own bytes are back everywhere when this returns."""
        self._call(self._script.unload)

    def _call(self, function: Callable[..., Any], *arguments: Any, seconds: float = ANSWER_S) -> Any:
        cancellable = frida.Cancellable()  # type: ignore[no-untyped-call]
        timer = threading.Timer(seconds, cancellable.cancel)
        timer.daemon = True
        timer.start()
        try:
            with cancellable:
                return function(*arguments)
        except frida.OperationCancelledError as error:
            raise failure("agent_unresponsive", pid=self._pid, seconds=f"{seconds:g}") from error
        except (frida.InvalidOperationError, frida.TransportError, frida.ProcessNotFoundError) as error:
            raise ProcessLookupError(str(error)) from error
        except frida.RPCException as error:
            raise failure("agent_failed", pid=self._pid, reason=str(error).split("\n")[0]) from error
        finally:
            timer.cancel()

    def _receive(self, message: Any, _data: bytes | None) -> None:
        payload = message.get("payload")
        if message["type"] == "send" and isinstance(payload, dict) and payload.get("type") == "module-added":
            self._on_modules([_module(payload["module"])])


def _module(item: dict[str, Any]) -> LoadedModule:
    return LoadedModule(item["name"], item["path"], int(item["base"], 16), item["size"])
