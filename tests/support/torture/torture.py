"""Lanes beside each other over one daemon, in epochs: after each, nothing may be left, and what the daemon holds is
noted."""

from __future__ import annotations

import faulthandler
import threading
import time
import traceback
from collections import Counter
from pathlib import Path

from strobe.mcp import daemon
from strobe.mcp.server import LONGEST_CHECK_SECONDS
from strobe.symbols.module import IDLE_S
from support import leftovers
from support.mcp_wire import Wire
from support.torture import daemon_state
from support.torture.daemon_state import Held
from support.torture.kinds import Built
from support.torture.lane import Lane
from support.wait import wait_until

EPOCH_SECONDS = 600.0
LEAVE_SECONDS = 30.0
REST_SHARES = (1 / 6, 1 / 2)  # of the time, the first after a warm-up; and one at the end
RESTED_SECONDS = 300.0  # what takes less time shows no growth
REST_SECONDS = IDLE_S + 2 * LONGEST_CHECK_SECONDS


class Torture:
    """`run` raises AssertionError with all that is needed to play the failure again."""

    def __init__(self, home: Path, folder: Path, built: Built, seed: str, form: str, lanes: int) -> None:
        self.home, self.seed, self.form = home, seed, form
        self.before = leftovers.observe(home)
        self.lanes = [
            Lane(f"lane{number}", home, folder / f"lane{number}", built, seed, form) for number in range(lanes)
        ]
        self.failures: list[str] = []
        self.moments: list[Held] = []
        self.rests: list[Held] = []

    def run(self, seconds: float, steps: int, at_once: int) -> None:
        begun = time.monotonic()
        end = begun + seconds
        rests_at = [begun + share * seconds for share in REST_SHARES if seconds >= RESTED_SECONDS]
        with Wire.to(self.home):  # the daemon lives as long as this
            pid = daemon.status(self.home).pid or 0
            wait_until(lambda: self.gone_but(pid), "an idle daemon", LEAVE_SECONDS)
            while time.monotonic() < end:
                self.epoch(end, steps, at_once)
                self.check_nothing_left(pid)
                self.moments.append(daemon_state.held(pid))
                if rests_at and time.monotonic() > rests_at[0]:
                    self.rest(pid)
                    rests_at.pop(0)
                if len(self.moments) % 5 == 1:
                    print(f"{self.form}: {time.monotonic() - end + seconds:.0f} s: {self.moments[-1]}", flush=True)
            if self.rests:
                self.rest(pid)
            assert daemon.status(self.home).pid == pid, "the daemon has ended meanwhile"
        print(self.summary(), flush=True)
        found = daemon_state.growth(self.moments, self.rests)
        assert not found, f"the daemon has grown: {found}\n{self.summary()}"

    def rest(self, pid: int) -> None:
        """Nothing is asked for until the daemon has let go of what it keeps for a minute, and what that leaves is
        noted."""
        time.sleep(REST_SECONDS)
        self.rests.append(daemon_state.held(pid))
        print(f"{self.form}: at rest: {self.rests[-1]}", flush=True)

    def epoch(self, end: float, steps: int, at_once: int) -> None:
        threads = [
            threading.Thread(target=self.drive, args=(lane, steps, at_once, end), name=lane.name, daemon=True)
            for lane in self.lanes
        ]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + EPOCH_SECONDS
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0.1))
        if any(thread.is_alive() for thread in threads):
            faulthandler.dump_traceback(all_threads=True)
            self.failures.append(f"an epoch took more than {EPOCH_SECONDS} s")
        if self.failures:
            self.fail()

    def drive(self, lane: Lane, steps: int, at_once: int, end: float) -> None:
        try:
            lane.run(steps, at_once, end)
        except BaseException:  # told by the thread that joins this one
            self.failures.append(f"{lane.name}, step {lane.step}:\n{traceback.format_exc()}")

    def fail(self) -> None:
        pid = daemon.status(self.home).pid
        print(daemon_state.stacks(pid, self.home / "strobe.log") if pid else "the daemon has ended", flush=True)
        log = "\n".join(line for lane in self.lanes for line in lane.log)
        again = f"STROBE_TORTURE_SEED={self.seed} STROBE_TORTURE_FORM={self.form}"
        text = "\n".join(self.failures)
        for lane in self.lanes:
            for one in lane.living:
                one.kill()
        raise AssertionError(f"{text}\nlast actions:\n{log}\n{self.summary()}\nagain: {again}")

    def gone_but(self, pid: int) -> bool:
        return all(f"process {pid}:" in line for line in leftovers.leftovers(self.before, self.home))

    def check_nothing_left(self, pid: int) -> None:
        """No process, no segment, no file of a session; nothing in the folder for temporary files."""

        def left() -> list[str]:
            found = leftovers.leftovers(self.before, self.home)
            found = [line for line in found if f"process {pid}:" not in line]
            found += [str(path) for path in (self.home / "sessions").glob("*")]
            return found

        deadline = time.monotonic() + LEAVE_SECONDS
        while (found := left()) and time.monotonic() < deadline:
            time.sleep(0.02)
        if found:
            self.failures.append("left behind:\n" + "\n".join(found))
            self.fail()

    def summary(self) -> str:
        done: Counter[str] = sum((lane.done for lane in self.lanes), Counter())
        refused: Counter[str] = sum((lane.refused for lane in self.lanes), Counter())
        held = f"{self.moments[0]} -> {self.moments[-1]}" if self.moments else "no moment"
        return (
            f"{self.form}, seed {self.seed}: {sum(done.values())} actions {dict(done)}, refused {dict(refused)}, "
            f"{len(self.moments)} epochs, the daemon: {held}"
        )
