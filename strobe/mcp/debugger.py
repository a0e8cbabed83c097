"""The daemon's hold on the session layer, which is loaded late: importing it takes longer than starting the daemon."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from strobe import threads

if TYPE_CHECKING:
    from strobe.session import SessionManager

log = logging.getLogger(__name__)

WARM_UP_SECONDS = 0.5


class Debugger:
    """The one SessionManager of this process, made on first use."""

    def __init__(self, home: str) -> None:
        self._home = Path(home)
        self._lock = threading.Lock()
        self._manager: SessionManager | None = None
        self._wanted = threading.Event()

    def sessions(self) -> SessionManager:
        """The manager of all sessions, made with the first use, which recovers sessions of killed daemons."""
        with self._lock:
            if self._manager is None:
                from strobe.session import SessionManager

                manager = SessionManager(self._home)
                manager.recover()  # sessions whose daemon was killed
                self._manager = manager
            return self._manager

    def warm_up(self) -> None:
        """Loads in the background, but not before the first client has its first answer, or WARM_UP_SECONDS pass."""
        threads.start("warm-up", self._load, threads.logged_only)  # the first tool call will say why

    def first_answer_sent(self) -> None:
        """A client has its first answer: what a tool needs may be imported now."""
        self._wanted.set()

    def running(self) -> int:
        """Sessions whose program runs."""
        manager = self._manager
        return 0 if manager is None else sum(item.status == "running" for item in manager.list())

    def let_go_of_unused(self) -> None:
        """What was read of files that nobody has asked about for a minute or longer, as their types."""
        if self._manager is not None:
            self._manager.let_go_of_unused()

    def close(self) -> None:
        """Ends the sessions that this process started."""
        with self._lock:
            if self._manager is not None:
                self._manager.close()

    def _load(self) -> None:
        self._wanted.wait(WARM_UP_SECONDS)
        self.sessions()
