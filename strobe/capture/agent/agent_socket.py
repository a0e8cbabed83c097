"""The connection of Frida's agent in a process, and how to end it so that the agent ends, too.

Asked to leave (Session.detach), the agent closes its connection itself, and leaves its main loop when that is done. The
news that the connection is closed may come after that: then it waits for ever for somebody to take the news (17.26; one
time in 23 to 738 on a busy machine). Its threads and 40 MB stay in the process, and each further attach waits for it to
go. When the other side closes the connection, the agent leaves because of the news.
"""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

from strobe import _core

_CREDENTIALS = struct.Struct("3i")  # struct ucred: process, user, group


class AgentSocket:
    """Made before Frida attaches to the process of `pidfd`."""

    def __init__(self, pid: int, pidfd: int) -> None:
        self._pid = pid
        self._pidfd = pidfd
        self._before = set(sockets(pid).values())
        self._found: tuple[int, str] | None = None

    def note(self) -> None:
        """Frida is in: its agent has one end of a pair of sockets that was made in this process."""
        for descriptor, name in sockets(self._pid).items():
            if name not in self._before and self._is_agents(descriptor, name):
                self._found = (descriptor, name)

    @property
    def identity(self) -> tuple[int, str] | None:
        """Its descriptor and the number of its inode; None where it is not known."""
        return None if self._found is None else (self._found[0], self._found[1].strip("socket:[]"))

    def is_closed(self) -> bool:
        """The program has closed it, or it stands for something else; also where the process is gone."""
        if self._found is None:
            return False
        try:
            return str(Path(f"/proc/{self._pid}/fd/{self._found[0]}").readlink()) != self._found[1]
        except FileNotFoundError:
            return True
        except OSError:
            return False

    def close(self) -> bool:
        """Ends the connection at both ends. False where it is not known, or out of reach: nothing has been done."""
        if self._found is None:
            return False
        copy = self._copy(*self._found)
        if copy is None:
            return False
        with copy:
            try:
                copy.shutdown(socket.SHUT_RDWR)
            except OSError:  # the agent has gone already
                return False
        return True

    def _is_agents(self, descriptor: int, name: str) -> bool:
        copy = self._copy(descriptor, name)
        if copy is None:
            return False
        with copy:
            if (copy.family, copy.type) != (socket.AF_UNIX, socket.SOCK_STREAM) or copy.getsockname():
                return False
            return maker(copy) == os.getpid()

    def _copy(self, descriptor: int, name: str) -> socket.socket | None:
        """None where the descriptor stands for something else by now, or may not be had."""
        try:
            copy = _core.duplicate_descriptor(self._pidfd, descriptor)
        except OSError:
            return None
        try:
            if Path(f"/proc/self/fd/{copy}").readlink() == Path(name):
                return socket.socket(fileno=copy)
        except OSError:
            pass
        os.close(copy)
        return None


def maker(end: socket.socket) -> int:
    """The process that made a pair of sockets, or that has the other end of a connection."""
    process: int = _CREDENTIALS.unpack(end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[0]
    return process


def sockets(pid: int) -> dict[int, str]:
    """The kernel's name of each socket of a process, by its descriptor; none where that may not be seen."""
    found = {}
    try:
        entries = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return {}
    for entry in entries:
        try:
            name = str(entry.readlink())
        except OSError:  # closed meanwhile
            continue
        if name.startswith("socket:"):
            found[int(entry.name)] = name
    return found
