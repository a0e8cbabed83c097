"""Frida's session with one process: the way in, which is bounded, and the way out, which leaves nothing behind."""

from __future__ import annotations

import contextlib
import errno
import logging
import threading
import time
from collections.abc import Collection, Iterator
from typing import Any

from strobe import _core, threads
from strobe.capture import task_status
from strobe.capture.agent.agent_socket import AgentSocket
from strobe.capture.agent.device import FRIDA_ERRORS, ROUTER, DeviceUse
from strobe.capture.agent.failed_attach import AttachAttempt
from strobe.capture.agent.frida_import import frida
from strobe.capture.agent.libc_names import has_names_of_libc
from strobe.capture.agent.uninjection import Injection
from strobe.capture.attachable import ATTACH_S, agent_count, has_agent, is_blocked, refused
from strobe.capture.limits import check_threads_of
from strobe.errors import failure

log = logging.getLogger(__name__)

_LEAVING_S = 5.0
_UNLOADING_S = 1.0  # a busy machine takes longer than its threads are held without a pause
_POLL_S = 0.002
_LOOKING_S = 5.0  # for a safe point of the main thread
_LOOKING_MS = 25  # at a time, and up to as much again: no session here hears from Frida meanwhile
_LEAST_LOOKS = 60
_MOST_LOOKING_S = 30.0  # on a busy machine, where fewer looks are made and the program hardly runs meanwhile
_PAUSE_S = 0.01
_LET_GO_S = 0.3  # for what this process traces still to be let go of
_UNSAFE = "its main thread was in the memory allocator, in fork or in the dynamic loader each time it was checked"
_CHANGED = "it was stopped by a signal, or became another program, just then"
_NO_CLOCK = "its main thread has given up the time stamp counter (PR_SET_TSC), which Strobe reads, and its threads too"
_NO_CLOCK_HINT = "Start the program under Strobe: it is recorded until then."
_UNSAFE_HINT = "Try again; if it fails again, start the program under Strobe."
# Parts of Frida's agent that stand between a program and its handlers of faults, and between exit and what runs then
_LEFT_OUT = {"exceptor": "off", "exit_monitor": False, "thread_suspend_monitor": False}


class FridaSession:
    """Frida's agent is in the process from the constructor's return until `leave`.

    `goes_on`: where Frida fails to attach, the program is to go on.

    Raises process_blocked, agent_silent, and what Frida raises.
    """

    def __init__(self, use: DeviceUse, pid: int, pidfd: int, goes_on: bool) -> None:
        self._pid = pid
        self._goes_on = goes_on
        self._use = use.again()
        self._injection = Injection(pid)
        self._socket = AgentSocket(pid, pidfd)
        self._guard: _core.InjectionGuard | None = None
        try:
            self.session = self._enter()
        except BaseException:
            self._use.end()
            raise
        self._injection.note()
        self._socket.note()

    @property
    def socket(self) -> tuple[int, str] | None:
        """As AgentSocket.identity."""
        return self._socket.identity

    @property
    def loader(self) -> tuple[int, int]:
        """From where to where the memory lies from which the agent was loaded; (0, 0) where it was not seen."""
        return self._injection.loader

    def is_cut_off(self) -> bool:
        """The program has closed the agent's connection; also where the process is gone."""
        return self._socket.is_closed()

    @property
    def holds_main_thread(self) -> bool:
        """It stands still, as the others do since the agent was loaded, until `release_threads`."""
        return self._guard is not None and self._guard.holds_main_thread

    def wait_for_beginning(self) -> None:
        """Waits until Frida holds no thread any more."""
        self._injection.wait_for_beginning(lambda: self.holds_main_thread)

    def leave(self, waits_while_stopped: bool, threads: Collection[int] = ()) -> None:
        """Ends the agent, and returns when nothing of it is left in the process, or it has had 20 s for that:
        `waits_while_stopped` as Injection.wait_for_end has it. Raises what Frida raises.

        `threads`: those of the program. They stand still while the agent is unloaded, some milliseconds: a child that
        was forked meanwhile would have the dynamic linker's lists as they were, and a lock of it taken for ever.
        """
        self.release_threads()
        guard = None
        try:
            guard = _guard(self._pid, 0, not self._goes_on)
            before = agent_count(self._pid)
            guard.hold_threads(sorted(threads))
            until = time.monotonic() + _UNLOADING_S
            try:
                is_detached = self._is_detached(until) if self._socket.close() else self._detach()
                self._wait_until_fewer(before, until)
            finally:
                guard.release_threads()
            if not is_detached and not self._is_detached(time.monotonic() + _LEAVING_S):
                self._detach()
        finally:
            if self._injection.wait_for_end(waits_while_stopped, lambda: guard is not None and guard.refusal != 0):
                self._use.end()
            else:
                log.warning("Frida's agent in process %d does not end", self._pid)
                ROUTER.replace(self._use)  # with this one the next attach to the process would wait for that
                self.stay()
            if guard is not None:
                guard.end()

    def forget(self) -> None:
        """The process has ended."""
        self._use.end()

    def stay(self) -> None:
        """Nobody waits for the agent. When it ends, Frida's device clears up in the process: it stays open."""
        threads.start(f"strobe-agent-{self._pid}", self._wait_for_late_end, threads.logged_only)

    def _wait_for_late_end(self) -> None:
        try:
            self._injection.wait_for_late_end()
        finally:
            self._use.end()

    def _wait_until_fewer(self, agents: int, until: float) -> None:
        while agent_count(self._pid) >= agents > 0 and time.monotonic() < until:
            time.sleep(_POLL_S)

    def _is_detached(self, until: float) -> bool:
        """Whether Frida here knows it, too: until then an attach is given the session that has ended."""
        while not self.session.is_detached:
            if time.monotonic() > until:
                return False
            time.sleep(_POLL_S)
        return True

    def _detach(self) -> bool:
        """By Frida's own way. Raises what Frida raises."""
        with _cancelled_after(_LEAVING_S):
            self.session.detach()
        return True

    def _enter(self) -> Any:
        try:
            return self._attach()
        except frida.OperationCancelledError as error:
            if self._injection.has_begun() or not has_agent(self._pid):
                raise self._silent() from error
        ROUTER.replace(self._use)  # Frida waited for an agent of its own that does not end
        former, self._use = self._use, ROUTER.use()
        former.end()
        try:
            return self._attach()
        except frida.OperationCancelledError as error:
            raise self._silent() from error

    def _attach(self) -> Any:
        return self._attach_safely() if self._goes_on else self._attach_once()

    def _attach_once(self) -> Any:
        with contextlib.ExitStack() as ends:
            if not self._goes_on and has_names_of_libc(self._pid):
                ends.callback(_guard(self._pid, 0, True, True).end)
            return self._attach_within_limit()

    def _attach_within_limit(self) -> Any:
        with _cancelled_after(ATTACH_S):  # of each look alone: a busy machine has more of them than fit into that
            return self._use.device.attach(self._pid, **_LEFT_OUT)

    def _attach_safely(self) -> Any:
        """Into a program that runs. Frida has its main thread call functions of the C library where it stands."""
        began, waited = time.monotonic(), task_status.waited_for_cpu(self._pid)
        binds_apart = has_names_of_libc(self._pid)
        looks = 0
        while True:
            looks += 1
            self._guard = _guard(self._pid, _LOOKING_MS, False, binds_apart)
            self._injection = Injection(self._pid)
            try:
                with AttachAttempt(self._pid), self._released_on_failure():
                    return self._attach_once()
            except FRIDA_ERRORS as error:
                passed = time.monotonic() - began
                is_refused = self._guard.refusal == errno.EPERM
                # by the attempt before, or by the session before, which may have ended it at this moment
                is_left = is_refused and (task_status.is_traced_here(self._pid) or passed < _LET_GO_S)
                if is_refused and (not is_left or task_status.tracer(self._pid)):
                    raise refused(self._pid, error, is_permission=True) from error
                if self._guard.refusal == errno.ENOTSUP:
                    raise failure("attach_refused", pid=self._pid, reason=_NO_CLOCK, hint=_NO_CLOCK_HINT) from error
                if self._guard.refusal == errno.EBUSY:
                    raise refused(self._pid, _CHANGED, is_permission=False) from error
                # a thread that was not given a processor is not found either
                is_slow = self._guard.refusal == errno.ESRCH and not task_status.is_ending(self._pid)
                if self._guard.refusal != errno.ETIMEDOUT and not is_slow and not is_left:
                    raise
                is_busy = looks < _LEAST_LOOKS or task_status.waited_for_cpu(self._pid) - waited > passed / 4
                if passed > (_MOST_LOOKING_S if is_busy else _LOOKING_S):
                    raise failure("attach_refused", pid=self._pid, reason=_UNSAFE, hint=_UNSAFE_HINT) from error
            time.sleep(_PAUSE_S)

    @contextlib.contextmanager
    def _released_on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.release_threads()
            raise
        finally:
            if self._guard is not None:
                self._guard.end()

    def release_threads(self) -> None:
        """Threads of the program that stand still since the agent was loaded go on."""
        if self._guard is not None:
            self._guard.release_threads()

    def _silent(self) -> Exception:
        check_threads_of(self._pid)
        if is_blocked(self._pid):
            return failure("process_blocked", pid=self._pid, seconds=f"{ATTACH_S:g}")
        return failure("agent_silent", pid=self._pid, reason=f"no answer within {ATTACH_S:g} s")


@contextlib.contextmanager
def _cancelled_after(seconds: float) -> Iterator[None]:
    """Frida raises OperationCancelledError for what it has not done by then."""
    cancellable = frida.Cancellable()
    timer = threading.Timer(seconds, cancellable.cancel)
    timer.daemon = True
    threads.begin(timer)
    try:
        with cancellable:
            yield
    finally:
        timer.cancel()


def _guard(pid: int, looking_ms: int, is_fridas: bool, binds_apart: bool = False) -> _core.InjectionGuard:
    return _core.InjectionGuard(pid, frida._frida.__file__, looking_ms, is_fridas, binds_apart)
