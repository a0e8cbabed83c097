"""`strobe mcp --http`: MCP's Streamable HTTP, for clients that cannot start `strobe mcp` themselves, as in a container.

One endpoint, `/mcp`, for who has the token. Each request has a connection of its own to the daemon, where nothing is
bound to a connection; so all that is known from one request to the next is which calls are under way, for those that
are cancelled. An answer is JSON, or an event stream where the call tells of its progress before.

Revisions 2025-03-26 to 2026-07-28; what differs between them here is in `headers_fault` and `_is_abandoned`.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hmac
import http.server
import io
import math
import os
import secrets
import select
import socket
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterator
from email.message import Message as Headers
from http import HTTPStatus
from pathlib import Path
from typing import Any

import orjson

from strobe.dataclass import dataclass, field
from strobe.limits import LINE_BYTES
from strobe.mcp import endpoint, journal, jsonrpc, protocol
from strobe.mcp.jsonrpc import Message, ProtocolError

PATH = "/mcp"
TOKEN_NAME = "http.token"  # in STROBE_HOME, readable for its owner alone
CONNECTIONS = 128  # of all clients at once
IDLE_SECONDS = 60.0  # a connection that asks nothing for so long is closed; in which a message is to be sent
STRANGER_SECONDS = 10.0  # in which a new connection is to show the token: others may wait for its place
HEADER_MISMATCH = -32020

_SESSION = "Mcp-Session-Id"
_VERSION = "MCP-Protocol-Version"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_READ_BYTES = 65536
_LOCAL = ("localhost", "127.0.0.1", "::1")
_STATUS = {
    jsonrpc.PARSE_ERROR: HTTPStatus.BAD_REQUEST,
    jsonrpc.INVALID_REQUEST: HTTPStatus.BAD_REQUEST,
    jsonrpc.INVALID_PARAMS: HTTPStatus.BAD_REQUEST,
    jsonrpc.METHOD_NOT_FOUND: HTTPStatus.NOT_FOUND,
    protocol.UNSUPPORTED_VERSION: HTTPStatus.BAD_REQUEST,
    HEADER_MISMATCH: HTTPStatus.BAD_REQUEST,
}


def token_of(home: str) -> str:
    """The token of a home, which is made when it is first asked for, and never empty. Raises OSError."""
    path = Path(home, TOKEN_NAME)
    if not (token := _read(path)):
        made = Path(home, f"{TOKEN_NAME}.{secrets.token_hex(8)}")  # whole before it has its name
        try:
            with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
                file.write(secrets.token_urlsafe(32))
            if path.exists():  # empty: the disk was full
                made.replace(path)
            else:
                with contextlib.suppress(FileExistsError):  # another server has made one
                    os.link(made, path)
        finally:
            made.unlink(missing_ok=True)
        token = _read(path)
    if not token:
        raise OSError(f"{path} is empty")
    return token


def _read(path: Path) -> str:
    with contextlib.suppress(FileNotFoundError):
        return path.read_bytes().decode(errors="replace").strip()
    return ""


def headers_fault(headers: Headers, request: Message) -> ProtocolError | None:
    """What the headers say differently from the message, from 2026-07-28 on; None where they agree."""
    version = headers.get(_VERSION)
    if version is not None and version not in protocol.SUPPORTED_VERSIONS:
        data = {"supported": list(protocol.SUPPORTED_VERSIONS), "requested": version}
        text = f"Unsupported protocol version: {version}"
        return ProtocolError(protocol.UNSUPPORTED_VERSION, text, request.id, data)
    said = protocol.version_of(request)
    if version not in protocol.MODERN_VERSIONS and said is None:
        return None
    name = request.params.get(_NAMED_BY.get(request.method, ""))
    expected = {_VERSION: said, "Mcp-Method": request.method, **({"Mcp-Name": name} if name is not None else {})}
    for header, value in expected.items():
        if [_decoded(one) for one in headers.get_all(header, [])] != [value]:
            return ProtocolError(HEADER_MISMATCH, f"The header {header} does not say what the message does", request.id)
    return None


def _decoded(value: str) -> str | None:
    """Of a header's value, which is in base64 where it is no plain ASCII; None where that is none."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    with contextlib.suppress(binascii.Error, UnicodeDecodeError):
        return base64.b64decode(value[9:-2], validate=True).decode()
    return None


@dataclass(slots=True)
class _Exchange:
    """A request that is under way, and its connection to the daemon."""

    link: socket.socket
    line: bytes
    is_cancelled: bool = False
    _held: bytearray = field(default_factory=bytearray)

    def cancel(self, request_id: jsonrpc.RequestId) -> None:
        """The daemon waits for it no longer, and does not answer."""
        self.is_cancelled = True
        message = jsonrpc.notification("notifications/cancelled", {"requestId": request_id})
        with contextlib.suppress(OSError):
            self.link.sendall(message)
            self.link.shutdown(socket.SHUT_WR)

    def messages(self, client: socket.socket, ends_with_client: bool) -> Iterator[bytes]:
        """Progress, then the answer, a line each; none follow where the daemon ends. Raises ConnectionResetError where
        the client has gone before, if that ends it."""
        poller = select.poll()
        poller.register(self.link, select.POLLIN)
        if ends_with_client:
            poller.register(client, select.POLLRDHUP)
        while True:
            ready = dict(poller.poll())
            if client.fileno() in ready:
                raise ConnectionResetError
            part = self._received()
            first, *others = part.split(b"\n")
            self._held += first
            for other in others:
                yield bytes(self._held)
                self._held = bytearray(other)
            if not part:
                return

    def _received(self) -> bytes:
        try:
            return self.link.recv(_READ_BYTES)
        except OSError:  # the daemon was killed
            return b""


class HttpServer(http.server.ThreadingHTTPServer):
    """Serves until `shutdown`. `address`: (host, port), 0 for any free one. Raises OSError where it is taken."""

    daemon_threads = True
    request_queue_size = CONNECTIONS

    def __init__(self, home: str, address: tuple[str, int], token: str) -> None:
        self.home, self.token = home, token
        self.under_way: dict[tuple[str, jsonrpc.RequestId], _Exchange] = {}
        self.lock = threading.Lock()
        self._room = threading.Semaphore(CONNECTIONS)
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, _Handler)

    @property
    def url(self) -> str:
        """Of the endpoint."""
        host, port = self.server_address[:2]
        return f"http://{f'[{host!s}]' if ':' in str(host) else host!s}:{port}{PATH}"

    def verify_request(self, request: object, client_address: object) -> bool:
        """Whether there is room for one more connection."""
        return self._room.acquire(blocking=False)

    def process_request(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # the system allows no more threads
            self._room.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has gone is no error of ours; all others are reported as http.server does."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Refused(Exception):
    """A request that is no message, or of somebody else."""

    def __init__(self, status: HTTPStatus, text: str, **headers: str) -> None:
        super().__init__(text)
        self.status, self.headers = status, headers


class _Received(io.RawIOBase):
    """What a client sends, until `deadline` by time.monotonic(), however slowly. Raises TimeoutError then."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self.deadline = math.inf

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        poller = select.poll()
        poller.register(self._link, select.POLLIN)
        if not poller.poll(max(0.0, self.deadline - time.monotonic()) * 1000):
            raise TimeoutError
        return self._link.recv_into(buffer)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: HttpServer
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS  # of each part that is sent

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self._received = _Received(self.connection)
        self.rfile = io.BufferedReader(self._received)
        self._is_known = False

    def handle_one_request(self) -> None:
        """Raises nothing: a client that is too slow is closed."""
        self._received.deadline = time.monotonic() + (IDLE_SECONDS if self._is_known else STRANGER_SECONDS)
        super().handle_one_request()

    def do_POST(self) -> None:
        try:
            self._check()
            body = self._body()
        except _Refused as refused:
            self.close_connection = True  # its body was not read
            self._answer(refused.status, orjson.dumps({"error": str(refused)}), refused.headers)
            return
        try:
            message = self._message(body)
        except ProtocolError as error:
            self._answer(HTTPStatus.BAD_REQUEST, jsonrpc.failure(error))
            return
        if message is None or message.id is None:
            self._notified(message)
            self._answer(HTTPStatus.ACCEPTED)
        else:
            self._serve(message, body)

    def do_GET(self) -> None:
        """A stream of what the server has to say by itself: it has nothing."""
        self._only_after_check(HTTPStatus.METHOD_NOT_ALLOWED, {"Allow": "POST, DELETE"})

    def do_DELETE(self) -> None:
        """The end of a client's session, of which nothing is kept."""
        self._only_after_check(HTTPStatus.OK, {})

    def _only_after_check(self, status: HTTPStatus, headers: dict[str, str]) -> None:
        try:
            self._check()
        except _Refused as refused:
            status, headers = refused.status, refused.headers
        self.close_connection = True
        self._answer(status, headers=headers)

    def _check(self) -> None:
        """Raises _Refused for another path, a page of another site in a browser, and who has not the token."""
        if self._asked_path() != PATH:
            raise _Refused(HTTPStatus.NOT_FOUND, f"The endpoint is {PATH}")
        origin = self.headers.get("Origin")
        if origin is not None and not self._is_own(origin):
            raise _Refused(HTTPStatus.FORBIDDEN, "A page of another origin may not ask this server")
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), self.server.token.encode()):
            text = f"'Authorization: Bearer TOKEN' is wanted; the token is in {TOKEN_NAME} of STROBE_HOME"
            raise _Refused(HTTPStatus.UNAUTHORIZED, text, **{"WWW-Authenticate": "Bearer"})
        self._is_known = True
        self._received.deadline = time.monotonic() + IDLE_SECONDS

    def _asked_path(self) -> str | None:
        with contextlib.suppress(ValueError):  # "http://[/"
            return urllib.parse.urlsplit(self.path).path
        return None

    def _is_own(self, origin: str) -> bool:
        try:
            host = urllib.parse.urlsplit(origin).hostname
        except ValueError:
            return False
        return host in (*_LOCAL, self.server.server_address[0])

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise _Refused(HTTPStatus.LENGTH_REQUIRED, "Content-Length is wanted")
        if len(length) > 10 or int(length) > LINE_BYTES:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A message has at most {LINE_BYTES} bytes")
        if self.headers.get_content_type() != "application/json":
            raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Content-Type: application/json is wanted")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise ConnectionResetError
        return body

    def _message(self, body: bytes) -> Message | None:
        """Raises ProtocolError where it is none, or the headers say otherwise."""
        message = jsonrpc.parse(body)
        if message is not None and (fault := headers_fault(self.headers, message)) is not None:
            raise fault
        return message

    def _notified(self, message: Message | None) -> None:
        if message is None or message.method != "notifications/cancelled":
            return
        request_id = message.params.get("requestId")
        if jsonrpc.is_id(request_id):
            with self.server.lock:
                exchange = self.server.under_way.get((self._session(), request_id))
            if exchange is not None:
                exchange.cancel(request_id)

    def _session(self) -> str:
        return self.headers.get(_SESSION, "")

    def _serve(self, request: Message, body: bytes) -> None:
        line = orjson.dumps(orjson.loads(body)) + b"\n"  # there may be line ends in it
        try:
            link = endpoint.establish(self.server.home)
        except (endpoint.Unreachable, OSError) as error:
            fault = ProtocolError(-32000, f"The Strobe daemon does not answer: {error}", request.id)
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, jsonrpc.failure(fault))
            return
        exchange = _Exchange(link, line)
        own = (self._session(), request.id)
        is_known = bool(own[0])  # else the next client may have the same id
        if is_known:
            with self.server.lock:
                self.server.under_way[own] = exchange
        try:
            self._relay(exchange, request)
        finally:
            if is_known:
                with self.server.lock:
                    if self.server.under_way.get(own) is exchange:
                        del self.server.under_way[own]
            link.close()

    def _relay(self, exchange: _Exchange, request: Message) -> None:
        is_modern = protocol.version_of(request) is not None
        wants_stream = "text/event-stream" in self.headers.get("Accept", "")
        is_stream = False
        try:
            with contextlib.suppress(OSError):  # the daemon has just ended
                exchange.link.sendall(exchange.line)
            for message in exchange.messages(self.connection, is_modern):
                is_progress = jsonrpc.is_notification(message)
                if is_progress and wants_stream and not is_stream:
                    is_stream = True
                    self._begin_stream()
                if is_stream:
                    self.wfile.write(b"event: message\ndata: %s\n\n" % message)
                    self.wfile.flush()
                elif not is_progress:
                    self._answer(_status_of(message, is_modern), message, self._opened(request))
                if not is_progress:
                    return
        except OSError:  # the client has gone
            if is_modern:  # closing the stream is how a call is cancelled there
                exchange.cancel(request.id)
            raise
        self._unanswered(exchange, is_stream)

    def _unanswered(self, exchange: _Exchange, is_stream: bool) -> None:
        if exchange.is_cancelled:
            if not is_stream:
                self._answer(HTTPStatus.ACCEPTED)
            return
        lost = journal.lost_answer(exchange.line).rstrip()
        if is_stream:
            self.wfile.write(b"event: message\ndata: %s\n\n" % lost)
        else:
            self._answer(HTTPStatus.OK, lost)

    def _begin_stream(self) -> None:
        self.close_connection = True  # which is where it ends
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache, no-transform")
        self.send_header("Connection", "close")
        self.end_headers()

    def _opened(self, request: Message) -> dict[str, str]:
        """A client that opens a session gets a name for it, by which its calls can be cancelled."""
        return {_SESSION: secrets.token_hex(16)} if request.method == "initialize" else {}

    def _answer(self, status: HTTPStatus, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if body:
            self.send_header("Content-Type", "application/json")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        return "strobe"

    def log_message(self, *_: object) -> None:
        """Nothing: standard error is the user's terminal, and the daemon keeps a log."""


def _status_of(message: bytes, is_modern: bool) -> HTTPStatus:
    """Of an answer: until 2025-11-25 errors of the message have status 200 as well."""
    if not is_modern or b'"error"' not in message:
        return HTTPStatus.OK
    error = orjson.loads(message).get("error")
    return _STATUS.get(error["code"], HTTPStatus.OK) if isinstance(error, dict) else HTTPStatus.OK
