"""Where the daemon is met: its socket, the greeting, and starting it when nobody listens.

`strobe mcp` runs this before anything else, so it imports nothing heavier than `socket`.

The greeting, before any JSON: the client sends `strobe-hello 1 <bytes>\\n` and that many bytes, NUL-separated: its
version, working directory, parent's pid, then its environment as NAME=value. (Not JSON: an environment need not be
UTF-8.) The daemon answers one line: `strobe-hello ok <version> <pid>` and serves, or `strobe-hello replaced` and ends
to make room for another version.
"""
# ruff: noqa: PTH100, PTH109, PTH110, PTH111, PTH118, PTH120
# pathlib costs 8 ms, which is more than all of the pump.

from __future__ import annotations

import errno
import fcntl
import os
import signal
import socket
import sys
import time

import strobe
from strobe.private_folder import make_private

GREETING = b"strobe-hello"
GREETING_FORM = b"1"
SOCKET_NAME = "strobe.sock"
START_LOCK_NAME = "strobe.start"
LOG_NAME = "strobe.log"
CONNECT_SECONDS = 15.0

_RETRY_SECONDS = 0.002
_START_AGAIN_SECONDS = 2.0
_STARTING_SECONDS = 45.0  # more, where a daemon has been started and is still on its way: the machine is busy
_GREETING_LINE_BYTES = 256
_FIRST_BYTES = 64 << 10  # that a new database takes, at least
_LIMIT = "LIMIT_REACHED: "  # as such an error begins, in the last line of a traceback
_NO_PROCESS = f"{_LIMIT}the system allows no more processes here (ulimit -u, pids.max of a container)"
_LOG_END_BYTES = 1 << 16


class Unreachable(Exception):
    """No daemon answered within the time given; the text says why."""


def home_path(home: str | os.PathLike[str] | None = None) -> str:
    """The absolute path of `home`, else of STROBE_HOME, else of ~/.strobe; it need not exist."""
    return os.path.abspath(os.path.expanduser(home or os.environ.get("STROBE_HOME") or "~/.strobe"))


def log_path(home: str) -> str:
    """The daemon's log in a home."""
    return os.path.join(home, LOG_NAME)


def establish(home: str, wait_s: float = CONNECT_SECONDS) -> socket.socket:
    """A greeted connection to the daemon of `home`, which is started where none runs. Raises Unreachable."""
    deadline = time.monotonic() + wait_s
    if not os.path.exists("/proc/self/fd"):  # of which the socket's address is made
        raise Unreachable("/proc is not mounted")
    try:
        make_private(home)
    except OSError as error:
        raise Unreachable(f"its folder cannot be used: {error.strerror}: '{home}'") from error
    link = connect(home, deadline)
    if link is not None:
        return link
    try:
        start_lock = os.open(os.path.join(home, START_LOCK_NAME), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Unreachable(f"its folder cannot be used: {error}") from error
    try:
        return _start_and_connect(home, start_lock, deadline)
    finally:
        os.close(start_lock)


def _start_and_connect(home: str, start_lock: int, deadline: float) -> socket.socket:
    """Of several clients at once the one that gets the lock starts the daemon, the others wait for it."""
    start_at = 0.0
    started = logged = 0
    while True:
        is_ours = _is_ours(start_lock)
        is_on_its_way = _is_alive(started) or not is_ours
        until = deadline + (_STARTING_SECONDS if is_on_its_way else 0)
        if time.monotonic() >= until and (start_at or not is_ours):
            break
        link = connect(home, until)
        if link is not None:
            return link
        # not while the last one is still on its way: on a busy machine that takes seconds, and the second would come
        # when nobody wants it any more
        if time.monotonic() >= start_at and not is_on_its_way:
            if started and (reason := _why_nothing_is_written(home)):  # nor is it in the log
                raise Unreachable(f"its folder cannot be written to: {reason}: '{home}'")
            if started and (reason := _limit_it_met(home, logged)):  # another one would meet it, too
                raise Unreachable(reason)
            logged = _log_bytes(home)
            started = _start(home)
            start_at = time.monotonic() + _START_AGAIN_SECONDS
        time.sleep(_RETRY_SECONDS)
    raise Unreachable(f"nothing answers on {os.path.join(home, SOCKET_NAME)}")


def _why_nothing_is_written(home: str) -> str | None:
    """What keeps a daemon from writing as much in its folder as it does at its start: a disk that is full."""
    left = _FIRST_BYTES
    try:
        probe = os.open(home, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            while left > 0:
                left -= os.write(probe, bytes(left))
        finally:
            os.close(probe)
    except OSError as error:
        return None if error.errno in (errno.EOPNOTSUPP, errno.EISDIR) else error.strerror
    return None


def _limit_it_met(home: str, logged: int) -> str | None:
    """What a daemon that ended while it started says of a limit, in the log behind its first `logged` bytes."""
    try:
        with open(log_path(home), "rb") as log:  # noqa: PTH123
            log.seek(max(logged, _log_bytes(home) - _LOG_END_BYTES))
            lines = log.read().decode(errors="replace").splitlines()
    except OSError:
        return None
    said = next((line for line in reversed(lines) if _LIMIT in line), "")
    return said[said.index(_LIMIT) :].rstrip(".") if said else None


def _log_bytes(home: str) -> int:
    try:
        return os.stat(log_path(home)).st_size  # noqa: PTH116
    except OSError:
        return 0


def _is_ours(start_lock: int) -> bool:
    try:
        fcntl.flock(start_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def connect(home: str, deadline: float | None = None) -> socket.socket | None:
    """A greeted connection to the daemon that runs; None where none does or it is just ending. Raises Unreachable."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.settimeout(None if deadline is None else max(deadline - time.monotonic(), 0.01))
    try:
        if _greeted(link, home):
            link.settimeout(None)
            return link
    except (FileNotFoundError, ConnectionError, TimeoutError):
        pass
    except OSError as error:
        link.close()
        raise Unreachable(str(error)) from error
    link.close()
    return None


def _greeted(link: socket.socket, home: str) -> bool:
    """Whether the daemon of `home` takes us; False where it ends instead, and another is to be started."""
    with SocketAddress(home) as address:
        link.connect(address)
    if peer(link)[1] != os.getuid():
        raise PermissionError(f"{os.path.join(home, SOCKET_NAME)} belongs to another user")
    link.sendall(greeting())
    answer = b""
    while not answer.endswith(b"\n"):
        part = link.recv(_GREETING_LINE_BYTES)
        if not part or len(answer) > _GREETING_LINE_BYTES:
            return False
        answer += part
    return answer.split()[:2] == [GREETING, b"ok"]


class SocketAddress:
    """The address of the daemon's socket for the length of a `with`.

    It goes through an open descriptor of the folder, because a Unix address holds 107 bytes and a path may be longer.
    """

    def __init__(self, home: str, name: str = SOCKET_NAME) -> None:
        self._home = home
        self._name = name
        self._folder = -1

    def __enter__(self) -> str:
        self._folder = os.open(self._home, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        return f"/proc/self/fd/{self._folder}/{self._name}"

    def __exit__(self, *_: object) -> None:
        os.close(self._folder)


def peer(link: socket.socket) -> tuple[int, int]:
    """(pid, uid) of the process at the other end, as the kernel has them (struct ucred)."""
    raw = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(raw[:4], sys.byteorder), int.from_bytes(raw[4:8], sys.byteorder)


def greeting() -> bytes:
    """What this process sends to the daemon first."""
    try:
        cwd = os.getcwdb()
    except FileNotFoundError:  # the folder was removed under us
        cwd = b""
    environment = (name + b"=" + value for name, value in os.environb.items())
    facts = (strobe.__version__.encode(), cwd, str(os.getppid()).encode(), *environment)
    payload = b"\0".join(facts)
    return b"%s %s %d\n" % (GREETING, GREETING_FORM, len(payload)) + payload


def _is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def _start(home: str) -> int:
    """Starts a daemon for `home` that outlives us and shares none of our descriptors. Its process id. Raises
    Unreachable."""
    read, write = os.pipe()
    try:
        child = os.fork()
    except BlockingIOError as error:
        raise Unreachable(_NO_PROCESS) from error
    if child:
        os.close(write)
        os.waitpid(child, 0)
        content = os.read(read, 8)
        os.close(read)
        if not content:  # nor was there room for the second one
            raise Unreachable(_NO_PROCESS)
        return int.from_bytes(content, sys.byteorder)
    try:
        os.setsid()
        pid = os.fork()
        if pid == 0:  # not a session leader: it can never get a controlling terminal
            _become_daemon(home)
        os.write(write, pid.to_bytes(8, sys.byteorder))
    finally:
        os._exit(1)


def _become_daemon(home: str) -> None:
    root = os.path.dirname(os.path.dirname(os.path.abspath(strobe.__file__ or "")))
    null = os.open(os.devnull, os.O_RDWR)
    log = os.open(log_path(home), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for target, source in ((0, null), (1, log), (2, log)):
        os.dup2(source, target)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # an inherited pipe of the client would stay open with us
    os.chdir("/")
    # Whatever the client ignores or blocks, the daemon does not, nor do the programs that it will start.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    program = f"import sys; sys.path.append({root!r}); "
    program += (
        "from strobe.low_descriptors import reserve; reserve(); from strobe.mcp.daemon import main; sys.exit(main())"
    )
    os.execve(sys.executable, [sys.executable, "-P", "-c", program], {**os.environ, "STROBE_HOME": home})
