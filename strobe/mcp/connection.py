"""One client of the daemon: its greeting, its messages in, the answers out."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import struct
import threading
import time
from typing import Protocol

from strobe.dataclass import replace
from strobe.limits import LINE_BYTES
from strobe.mcp import endpoint, jsonrpc, protocol
from strobe.mcp.calls import Call, Calls, Result
from strobe.mcp.debugger import Debugger
from strobe.mcp.jsonrpc import Message, ProtocolError
from strobe.mcp.tool import Client, Context, Registry

log = logging.getLogger(__name__)

GREETING_SECONDS = 10.0
SEND_SECONDS = 60  # a client that reads nothing for so long is given up, for its calls hold threads
_MAX_GREETING_BYTES = 8 << 20  # an environment can be 6 MiB at most (execve(2))
STATUS_METHOD = "strobe/status"  # our own, for `strobe daemon status`


class Services(Protocol):
    """What a connection needs of the server."""

    home: str
    registry: Registry
    calls: Calls
    debugger: Debugger

    def welcome(self, client: Client) -> bytes | None:
        """The answer to a greeting; None where the daemon ends, so that one of the client's version can begin."""

    def status(self) -> Result:
        """What `strobe daemon status` shows."""


class Connection:
    """Reads on the thread that calls `serve`; tool calls answer from threads of their own."""

    def __init__(self, link: socket.socket, services: Services) -> None:
        self._link = link
        self._services = services
        self._write_lock = threading.Lock()
        self._idle = threading.Condition()
        self._open: dict[jsonrpc.RequestId, Call] = {}
        self._context: Context | None = None

    def serve(self) -> None:
        """Until the client closes; then the calls under way still get their chance to answer."""
        try:
            self._context = self._greet()
            if self._context is not None:
                for line in jsonrpc.lines(self._link):
                    self._take(line)
                self._finish()
        except OSError as error:
            log.info("a client went away: %s", error)
        finally:
            self.close()

    def close(self) -> None:
        """Ends the connection; its thread notices. May be called from any thread, and twice."""
        with contextlib.suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)
        self._link.close()

    def _finish(self) -> None:
        with self._idle:
            self._idle.wait_for(lambda: not self._open, self._services.calls.limit_s)

    def _greet(self) -> Context | None:
        self._link.settimeout(GREETING_SECONDS)
        client = read_greeting(self._link)
        if client is None:
            log.warning("a connection did not open with a Strobe greeting")
            return None
        welcome = self._services.welcome(client)
        if welcome is None:
            self._link.sendall(endpoint.GREETING + b" replaced\n")
            return None
        self._link.sendall(welcome)
        self._link.settimeout(None)
        self._link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_SECONDS, 0))
        return Context(client, self._services.debugger.sessions, self._services.home)

    def _take(self, line: bytes | None) -> None:
        message = None
        try:
            if line is None:
                raise ProtocolError(jsonrpc.INVALID_REQUEST, f"A message has at most {LINE_BYTES} bytes")
            message = jsonrpc.parse(line)
            if message is not None:
                self._serve(message)
        except ProtocolError as error:
            self._send(jsonrpc.failure(error))
        except OSError:
            raise  # the connection itself
        except Exception as error:  # one message of a client takes nothing from its others
            log.exception("a message could not be served")
            if message is not None and message.id is not None:
                fault = f"Internal error: {type(error).__name__}"
                self._send(jsonrpc.failure(ProtocolError(jsonrpc.INTERNAL_ERROR, fault, message.id)))
        self._services.debugger.first_answer_sent()

    def _serve(self, message: Message) -> None:
        if message.id is None:
            self._notified(message)
        elif message.method == "tools/call":
            self._call(message)
        else:
            self._send(jsonrpc.success(message.id, self._answer(message)))

    def _answer(self, request: Message) -> Result:
        if request.method == STATUS_METHOD:
            return self._services.status()
        return protocol.answer(request, self._services.registry, self._known_context())

    def _notified(self, message: Message) -> None:
        if message.method == "notifications/cancelled":
            request_id = message.params.get("requestId")
            if not jsonrpc.is_id(request_id):
                return  # it names no request, and nobody waits for an answer
            with self._idle:
                call = self._open.get(request_id)
            if call is not None:
                call.cancel()

    def _call(self, request: Message) -> None:
        modern = protocol.is_modern(request)
        tool, arguments = protocol.tool_of(request, self._services.registry)
        context = self._known_context()

        def respond(result: Result) -> None:
            with contextlib.suppress(OSError):  # the client is gone: what was done stays done
                self._send(jsonrpc.success(request.id, protocol.complete(result) if modern else result))

        def work() -> Result:
            return tool.call(arguments, replace(context, settled=call.settled, answer_by=answer_by))

        def report(seconds: float) -> None:
            with contextlib.suppress(OSError):
                self._send(protocol.progress(request, tool.name, seconds))

        call = Call(respond, lambda: self._closed(request.id))
        answer_by = time.monotonic() + self._services.calls.limit_s
        with self._idle:
            if request.id in self._open:
                raise ProtocolError(jsonrpc.INVALID_REQUEST, "A call with this 'id' is under way", request.id)
            self._open[request.id] = call
        self._services.calls.start(tool.name, work, call, report if protocol.wants_progress(request) else None)

    def _known_context(self) -> Context:
        assert self._context is not None  # serve() has greeted before it reads
        return self._context

    def _closed(self, request_id: jsonrpc.RequestId) -> None:
        with self._idle:
            self._open.pop(request_id, None)
            self._idle.notify_all()

    def _send(self, line: bytes) -> None:
        with self._write_lock:
            try:
                self._link.sendall(line)
            except OSError:
                self.close()  # part of the line may be out: nothing can follow it
                raise


def read_greeting(link: socket.socket) -> Client | None:
    """What a client says of itself, or None where these are not its words."""
    head = _line(link)
    words = head.split()
    if words[:2] != [endpoint.GREETING, endpoint.GREETING_FORM] or len(words) != 3 or not words[2].isdigit():
        return None
    size = int(words[2])
    if size > _MAX_GREETING_BYTES:
        return None
    version, cwd, parent, *environment = (os.fsdecode(field) for field in _exactly(link, size).split(b"\0"))
    pairs = (entry.partition("=") for entry in environment)
    return Client(version, cwd, int(parent), {name: value for name, _, value in pairs if name})


def _line(link: socket.socket) -> bytes:
    """The first line. Byte by byte, so that nothing behind the greeting is taken."""
    line = b""
    while not line.endswith(b"\n") and len(line) < 64:
        part = link.recv(1)
        if not part:
            break
        line += part
    return line


def _exactly(link: socket.socket, size: int) -> bytes:
    held = bytearray()
    while len(held) < size:
        part = link.recv(size - len(held))
        if not part:
            raise ConnectionError("closed in the middle of its greeting")
        held += part
    return bytes(held)
