"""Sessions with segments written by hand, event by event. Times are in ticks of the segment's clock."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from strobe._core import Segment, create_segment
from strobe._synthetic import Writer
from strobe.model import Capture, FunctionSymbol, Parameter, ValueKind, ValueType
from strobe.timeline.host_events import HostEvent
from strobe.timeline.moments import host_number
from strobe.timeline.query import Timeline
from strobe.timeline.store import Store

PID = 4242
INT = ValueType(ValueKind.SIGNED, 4, "int")
BOOL = ValueType(ValueKind.BOOL, 1, "bool")
POINTER = ValueType(ValueKind.POINTER, 8, "Node *")
COLOUR = ValueType(ValueKind.ENUM, 4, "Colour", ((0, "none"), (2, "red")))

IN_RAX = (Capture(6),)  # STROBE_SOURCE_RAX

# function id -> what it is; ids from 1
FUNCTIONS = {
    1: FunctionSymbol(
        "app::main", "_ZN3app4mainEv", "/bin/app", 0x10, 8, "/src/main.cpp", 3, (), INT, return_captures=IN_RAX
    ),
    2: FunctionSymbol(
        "app::parse",
        "_ZN3app5parseEi",
        "/bin/app",
        0x20,
        8,
        "/src/parse.cpp",
        9,
        (Parameter("depth", INT, 0, (Capture(0),)),),
        INT,
        return_captures=IN_RAX,
    ),
    3: FunctionSymbol(
        "app::find", "_ZN3app4findEv", "/bin/app", 0x30, 8, "/src/find.cpp", 5, (), POINTER, return_captures=IN_RAX
    ),
    4: FunctionSymbol(
        "lib::is_red", "_ZN3lib6is_redEv", "/lib/l.so", 0x40, 8, "/src/parse.cpp", 40, (), BOOL, return_captures=IN_RAX
    ),
    5: FunctionSymbol(
        "lib::colour", "_ZN3lib6colourEv", "/lib/l.so", 0x50, 8, None, None, None, COLOUR, return_captures=IN_RAX
    ),
    6: FunctionSymbol("raw", "raw", "/lib/l.so", 0x60, 8),
}


@dataclass
class WrittenSession:
    """A session of a store, and the pen that writes its segment. `now` is the last tick used."""

    store: Store
    session_id: str
    path: Path
    writer: Writer
    timeline: Timeline
    now: int = 1000
    durations: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    def tick(self) -> int:
        self.now += 100
        return self.now

    def call(
        self, thread: int, function: int, depth: int = 0, returned: int = 0, inner: int = 0, flags: int = 0
    ) -> None:
        """A call that makes `inner` calls of itself, one in the other."""
        start = self.tick()
        self.writer.enter(thread, start, function, depth, [function << 32 | depth], flags)
        if inner:
            self.call(thread, function, depth + 1, returned, inner - 1, flags)
        duration = self.tick() - start
        self.writer.exit(thread, self.now, function, depth, duration, returned, flags)
        self.durations.setdefault((function, thread), []).append(duration)

    def host_number(self, ticks: int) -> int:
        return host_number(Segment(str(self.path)).moment(ticks))

    def output(self, text: str, stream: str = "stdout", pid: int = PID) -> None:
        key = self.store.get_session(self.session_id).key
        self.store.host_events.put([HostEvent(key, self.host_number(self.tick()), stream, text.encode(), pid)])

    def write_totals(self) -> None:
        for (function, thread), durations in self.durations.items():
            self.writer.totals(function, thread, len(durations), durations)

    def end(self) -> None:
        """The program has ended: its threads give their chunks back, and the totals are what they are."""
        self.write_totals()
        self.store.update_session(self.session_id, status="exited", exit_code=0)


def new_session(home: Path, max_events: int = 100_000) -> WrittenSession:
    store = Store(home)
    record = store.add_session("/bin/app", "/src", max_events, pid=PID)
    record.folder.mkdir(parents=True)
    create_segment(str(record.segment_path), max_events)
    store.add_functions(record.id, FUNCTIONS)
    store.open_spans(record.id, FUNCTIONS, 1)
    timeline = Timeline(store, record.id, record.segment_path)
    return WrittenSession(store, record.id, record.segment_path, Writer(str(record.segment_path)), timeline)


def write_mixture(session: WrittenSession, seed: int = 1, steps: int = 600) -> None:
    """Calls of all functions in three threads, one of another process, with output lines between them."""
    chance = random.Random(seed)
    threads = [session.writer.thread(PID, PID, "main"), session.writer.thread(PID, 4300, "worker")]
    threads.append(session.writer.thread(5000, 5000, "child"))
    for step in range(steps):
        if chance.random() < 0.2:
            session.output(f"line {step}\n", chance.choice(["stdout", "stderr"]))
        returned = chance.choice([0, 1, 2, 7, (1 << 32) - 1, 0xDEAD_0000_0000_0001])
        flags = 1 if chance.random() < 0.1 else 0
        session.call(chance.choice(threads), chance.choice(list(FUNCTIONS)), 0, returned, chance.randrange(4), flags)
    session.end()
