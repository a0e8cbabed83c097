"""One client with programs of its own, on which it acts at random; two or more of them torture one daemon at once."""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.mcp_wire import Wire
from support.torture import subject as subjects
from support.torture.kinds import COMMON_PATTERNS, COMMON_WATCHES, LARGE_PATTERN, Built
from support.torture.reported import EXIT_STATUS, Reported, reported
from support.torture.subject import Subject, Window
from support.torture.target_state import traces_of_strobe, wait_while_it_works
from support.wait import wait_until

ANSWER_SECONDS = 120.0  # of any call; attaching alone may take 40
END_SECONDS = 60.0
COUNTED = ("counted", "never_called")
IN_FLIGHT = 64  # threads that may stand between a function's entry and its counter
REMEMBERED = 60
BUSY = "busy"  # stands for the refusal of a program in which the agent got no time to begin, as these load the machine


class Lane:
    """Acts by `random` alone, so that the same seed acts the same way again, as far as the machine's timing lets it."""

    def __init__(self, name: str, home: Path, folder: Path, built: Built, seed: str, form: str) -> None:
        self.name, self.home, self.folder, self.built, self.form = name, home, folder, built, form
        self.random = random.Random(f"{seed}:{name}")
        self.living: list[Subject] = []
        self.log: deque[str] = deque(maxlen=REMEMBERED)
        self.done: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.step = 0
        self.begun = time.monotonic()
        self.wire: Wire | None = None
        self.started = 0
        self.is_warm = False
        folder.mkdir()

    # What is done

    def run(self, steps: int, at_once: int, deadline: float) -> None:
        """So many random actions, with so many programs at a time, then the end of all of them."""
        with Wire.to(self.home) as wire:
            wire.link.settimeout(ANSWER_SECONDS)
            self.wire = wire
            for _ in range(steps):
                if time.monotonic() > deadline:
                    break
                self.act(at_once)
            while self.living:
                self.finish(self.living[-1])

    def act(self, at_once: int) -> None:
        self.step += 1
        if len(self.living) < at_once and (not self.living or self.random.random() < 0.4):
            return self.random.choice([self.launch, self.start])()
        one = self.random.choice(self.living)
        actions = self.actions(one)
        chosen = self.random.choices(list(actions), list(actions.values()))[0]
        chosen(one)
        return None

    def actions(self, one: Subject) -> dict[Callable[[Subject], None], int]:
        """What can be done to a program in its present state, and how often it is."""
        if one.is_stopped:
            return {self.read: 2, self.query: 2, self.resume: 4}
        if one.session is None:
            return {self.attach: 0 if one.refuses else 10, self.finish: 1}
        return {
            self.trace: 24,
            self.untrace: 14,
            self.query: 10,
            self.verify: 10,
            self.read: 8,
            self.write: 8,
            self.watch: 10,
            self.unwatch: 4,
            self.poll: 3,
            self.suspend: 2,
            self.stop: 8,
            self.finish: 4,
            self.kill: 2,
        }

    def say(self, action: str, one: Subject | None, more: object = "") -> None:
        self.done[action] += 1
        at = time.monotonic() - self.begun
        self.log.append(f"{self.name}:{self.step} at {at:.2f} s: {action} {one.title if one else ''} {more}")

    def call(self, tool: str, *allowed: str, **arguments: Any) -> dict[str, Any] | None:
        """The answer; None where it failed with a code that is allowed."""
        assert self.wire is not None
        result = self.wire.call(tool, **arguments)
        if not result["isError"]:
            answer: dict[str, Any] = result["structuredContent"]
            return answer
        text: str = result["content"][0]["text"]
        self.log.append(f"{self.name}:{self.step} refused: {text}")
        code = BUSY if "no answer within" in text or "unexpectedly timed out" in text else text.partition(":")[0]
        assert code in allowed, f"{tool} {arguments}: {text}"
        self.refused[code] += 1
        return None

    def good(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.call(tool, **arguments)
        assert answer is not None
        return answer

    # Beginnings

    def launch(self) -> None:
        kind, program, arguments = self.chosen()
        root = str(self.folder)
        is_counted = self.random.random() < 0.7
        patterns = [*(COUNTED if is_counted else ()), *self.some_patterns(kind.patterns)]
        patterns += [name for name in ("handled", "plugged_step") if is_counted]
        self.started += 1
        one = Subject(kind, program, 0, self.started, patterns=patterns)
        one.window = Window() if is_counted and kind.counts else None
        self.say("launch", one, f"{program} {arguments} {patterns}")
        if patterns:
            self.good("debug_trace", projectRoot=root, add=patterns, sampling=self.random.choice(["auto", "off"]))
        late = self.refused["LIMIT_REACHED"]
        answer = self.call(
            "debug_launch", "LIMIT_REACHED", BUSY, command=str(program), args=arguments, projectRoot=root, cwd=root
        )
        if self.refused["LIMIT_REACHED"] > late:
            answer = self.late_session("binaryPath", str(program))
        if patterns:  # they stay staged, and would be traced of the next process that is attached to, from then on
            self.good("debug_trace", projectRoot=root, remove=patterns)
        if answer is None:  # that nothing is left of it is looked at when the epoch ends
            return
        one.pid, one.session = answer["pid"], answer["sessionId"]
        self.living.append(one)
        wait_until(lambda: "ready" in self.output(one), f"{one.title} to be ready", END_SECONDS)

    def start(self) -> None:
        kind, program, arguments = self.chosen()
        self.started += 1
        one = subjects.start(kind, program, arguments, self.started, self.folder)
        self.say("start", one, arguments)
        self.living.append(one)
        wait_until(lambda: "ready" in self.output(one), f"{one.title} to be ready", END_SECONDS)

    def chosen(self) -> tuple[Any, Path, list[str]]:
        kind = self.random.choice(self.built.kinds)
        built = self.random.choice(self.built.paths[kind.name])
        program = self.folder / f"{built.parent.name}-{built.name}"  # ours alone, for the list of sessions
        if not program.exists():
            shutil.copy(built, program)
        pause = self.random.choice([5000, 20000] if kind.makes_processes else [0, 200, 1000, 1000, 5000])
        return kind, program, [str(subjects.LAST_ROUND_SECONDS), str(pause), str(self.built.plugin)]

    def attach(self, one: Subject) -> None:
        self.say("attach", one)
        begun = self.refused["LIMIT_REACHED"]
        answer = self.call(
            "debug_launch",
            "ATTACH_FAILED",
            "LIMIT_REACHED",
            BUSY,
            command="",
            projectRoot=str(self.folder),
            pid=one.pid,
        )
        if self.refused["LIMIT_REACHED"] > begun:
            answer = self.late_session("pid", one.pid)
        if answer is None:
            one.refuses = True
            return
        one.session, one.patterns, one.labels = answer["sessionId"], [], []
        if self.random.random() < 0.7:
            self.count_from_now(one)

    def count_from_now(self, one: Subject) -> None:
        """Traces what counts itself, between two looks at its counter."""
        assert one.session is not None
        if not one.kind.is_one_image or not one.kind.counts:
            self.change(one, add=list(COUNTED))
            return
        low = self.number(one, "gCounted")
        answer = self.change(one, add=list(COUNTED))
        if answer is None:
            return
        assert answer["hookedFunctions"] >= len(COUNTED), answer
        one.window = Window(low, self.number(one, "gCounted"))

    def late_session(self, name: str, value: object) -> dict[str, Any]:
        """The session of a launch that took so long that it was answered before it had finished."""
        known = {one.session for one in self.living}

        def find() -> dict[str, Any] | None:
            listed = self.good("debug_list_sessions")["sessions"]
            return next(
                (one for one in listed if one[name] == value and one["pid"] and one["sessionId"] not in known), None
            )

        def is_begun() -> bool:
            return self.call("debug_trace", "LIMIT_REACHED", sessionId=found["sessionId"], remove=[]) is not None

        found = wait_until(find, f"a session with {name} {value}", ANSWER_SECONDS)
        wait_until(is_begun, f"session {found['sessionId']} to begin", ANSWER_SECONDS)
        return found

    # While it runs

    def some_patterns(self, own: tuple[str, ...]) -> list[str]:
        """The first ones are large: what the daemon keeps of those is there before its memory is compared."""
        if not self.is_warm:
            self.is_warm = True
            return [LARGE_PATTERN]
        known = [*COMMON_PATTERNS, *own, *own]
        if self.random.random() < 0.05:
            known.append(LARGE_PATTERN)
        return list(dict.fromkeys(self.random.choices(known, k=self.random.randrange(4))))

    def change(self, one: Subject, **change: Any) -> dict[str, Any] | None:
        """A change of patterns or watches. A program that becomes another may be gone for the agent at this moment."""
        allowed = ("LIMIT_REACHED", *(() if one.kind.is_one_image else ("PROCESS_EXITED", "INTERNAL")))
        late = self.refused["LIMIT_REACHED"]
        answer = self.call("debug_trace", *allowed, sessionId=one.session, **change)
        if self.refused["LIMIT_REACHED"] > late:  # it goes on; the same again waits for it
            answer = self.call("debug_trace", *allowed, sessionId=one.session, **change)
        return answer

    def trace(self, one: Subject) -> None:
        add = self.some_patterns(one.kind.patterns) or ["*"]
        depth = self.random.choice([1, 2, 3, 3, 3, 6])
        sampling = self.random.choice(["auto", "off"])
        self.say("trace", one, f"{add} depth {depth} sampling {sampling}")
        if self.change(one, add=add, serializationDepth=depth, sampling=sampling) is not None:
            one.patterns += [pattern for pattern in add if pattern not in one.patterns]

    def untrace(self, one: Subject) -> None:
        loose = [pattern for pattern in one.patterns if pattern not in (*COUNTED, "handled", "plugged_step")]
        remove = self.random.sample(loose, self.random.randrange(len(loose) + 1))
        self.say("untrace", one, remove)
        if self.change(one, remove=remove) is not None:
            one.patterns = [pattern for pattern in one.patterns if pattern not in remove]

    def watch(self, one: Subject) -> None:
        add: list[dict[str, Any]] = self.random.sample(
            [*COMMON_WATCHES, *one.kind.watches], self.random.randrange(1, 4)
        )
        if self.random.random() < 0.3:
            add = [watch | {"on": ["counted", "recursive"]} for watch in add]
        add = [{**watch, "label": f"w{self.step}-{place}"} for place, watch in enumerate(add)]
        self.say("watch", one, add)
        assert one.session is not None
        for watch in add:
            answer = self.call(
                "debug_trace", "WATCH_FAILED", "VALIDATION_ERROR", "LIMIT_REACHED", "READ_FAILED", "NO_DEBUG_SYMBOLS",
                "PROCESS_EXITED", "INTERNAL" if not one.kind.is_one_image else "", sessionId=one.session,
                watches={"add": [watch]},
            )  # fmt: skip
            if answer is not None:
                one.labels.append(watch["label"])

    def unwatch(self, one: Subject) -> None:
        remove = self.random.sample(one.labels, self.random.randrange(len(one.labels) + 1))
        self.say("unwatch", one, remove)
        if self.change(one, watches={"remove": remove}) is not None:
            one.labels = [label for label in one.labels if label not in remove]

    def suspend(self, one: Subject) -> None:
        self.say("suspend", one)
        one.send(signal.SIGSTOP)
        one.is_stopped = True

    def resume(self, one: Subject) -> None:
        self.say("resume", one)
        one.let_go_on()

    # Values

    def values(self, one: Subject, *names: str) -> list[dict[str, Any]]:
        targets = [{"variable": name} for name in names]
        results: list[dict[str, Any]] = self.good("debug_read", sessionId=one.session, targets=targets, depth=2)[
            "results"
        ]
        return results

    def number(self, one: Subject, name: str) -> int:
        (result,) = self.values(one, name)
        assert isinstance(result.get("value"), int), result
        number: int = result["value"]
        return number

    def read(self, one: Subject) -> None:
        own = self.random.sample(one.kind.reads, self.random.randrange(len(one.kind.reads) + 1))
        self.say("read", one, own)
        magic, rounds, text, wrong, *_ = self.values(one, "gMagic", "gRounds", "gText", "gNoSuchThing", *own)
        assert "error" in wrong, wrong
        if one.kind.is_one_image:
            assert magic.get("value") == 0x5EED, magic
            assert rounds.get("value", -1) >= one.last_rounds, (rounds, one.last_rounds)
            one.last_rounds = rounds["value"]
            assert not one.kind.has_text or '"torture"' in str(text) or "torture" in str(text.get("value")), text

    def write(self, one: Subject) -> None:
        value = self.random.randrange(1, 1 << 30)
        self.say("write", one, value)
        target = {"variable": "gWritten", "value": value}
        allowed = () if one.kind.is_one_image else ("PROCESS_EXITED",)
        answer = self.call("debug_write", *allowed, sessionId=one.session, targets=[target])
        if answer is None or not one.kind.is_one_image:
            return
        (result,) = answer["results"]
        if "error" in result:  # nothing was written then
            assert "did not answer in time; nothing was." in result["error"], result
            self.refused["write"] += 1
            return
        assert result["newValue"] == value, result
        assert one.written is None or result["previousValue"] == one.written, (result, one.written)
        one.written = value
        wait_until(lambda: self.number(one, "gEcho") == value, f"{one.title} to see {value}", END_SECONDS)

    def poll(self, one: Subject) -> None:
        poll = {"intervalMs": self.random.choice([50, 100, 200]), "durationMs": self.random.choice([100, 500, 3000])}
        self.say("poll", one, poll)
        targets = [{"variable": name} for name in ("gRounds", "gCounted", "gNoSuchThing", *one.kind.reads)]
        self.call("debug_read", "LIMIT_REACHED", "PROCESS_EXITED", sessionId=one.session, targets=targets, poll=poll)

    # Questions

    def asked(self, one: Subject, **wanted: Any) -> dict[str, Any]:
        return self.good("debug_query", sessionId=one.session, **wanted)

    def query(self, one: Subject) -> None:
        wanted: dict[str, Any] = {"limit": self.random.choice([1, 50, 500]), "verbose": self.random.random() < 0.5}
        if self.random.random() < 0.6:
            wanted["function"] = self.random.choice(
                [{"equals": "counted"}, {"contains": "e"}, {"matches": "^[a-m]"}, {"equals": "never_called"}]
            )
        if self.random.random() < 0.3:
            wanted["timeFrom"] = self.random.choice(["-1s", "-10ms", "-1m"])
        if self.random.random() < 0.3:
            wanted["eventType"] = self.random.choice(["function_enter", "function_exit", "stdout", "variable_snapshot"])
        self.say("query", one, wanted)
        answer = self.asked(one, **wanted)
        events = answer["events"]
        assert answer["totalCount"] >= len(events), answer["totalCount"]
        times = [event["timestampNs"] for event in events]
        assert times == sorted(times), times
        assert all(event["eventType"] == wanted.get("eventType", event["eventType"]) for event in events)
        assert not [event for event in events if event.get("function") == "never_called"], events
        check_calls(events)

    def verify(self, one: Subject) -> None:
        """What Strobe says of a program that counts its calls itself must be so."""
        self.say("verify", one, one.window)
        if one.window is None or not one.kind.is_one_image:
            return
        before = self.number(one, "gCounted")
        calls, lost = self.calls(one, "counted")
        after = self.number(one, "gCounted")
        least, most = before - one.window.high - IN_FLIGHT, after - one.window.low + IN_FLIGHT
        assert least - lost <= calls <= most, f"{one.title}: {calls} calls, {lost} lost, not {least} to {most}"
        assert self.calls(one, "never_called")[0] == 0
        if before > one.window.high + IN_FLIGHT and not lost:
            found = self.asked(one, function={"equals": "counted"}, limit=1)
            assert not found.get("absence", "").startswith("It was not called"), found

    def calls(self, one: Subject, function: str) -> tuple[int, int]:
        """How many there were, and how many of the session's events were lost."""
        answer = self.asked(one, groupBy="function", function={"equals": function}, limit=500)
        return sum(group["count"] for group in answer["groups"]), answer.get("eventsLost", 0)

    def output(self, one: Subject) -> str:
        if one.output is not None:
            return one.output.read_text()
        events = self.asked(one, eventType="stdout", limit=500, maxTokens=12_000)["events"]
        return "".join(event["text"] for event in events)

    # Ends

    def stop(self, one: Subject) -> None:
        """Ends the session: a program that Strobe started ends, too; another goes on as if nothing had been."""
        self.say("stop", one)
        self.end_session(one)
        one.session, one.window, one.patterns, one.labels = None, None, [], []
        if one.was_launched:
            self.living.remove(one)
            return
        assert one.process is not None
        self.check_left(one)

    def end_session(self, one: Subject) -> None:
        if self.call("debug_stop", "LIMIT_REACHED", sessionId=one.session) is None:  # it goes on
            listed = lambda: [item["sessionId"] for item in self.good("debug_list_sessions")["sessions"]]  # noqa: E731
            wait_until(lambda: one.session not in listed(), f"the end of session {one.session}", ANSWER_SECONDS)

    def check_left(self, one: Subject) -> None:
        assert one.process is not None and one.process.poll() is None, f"{one.title} has ended: {one.process}"
        found: list[str] = []

        def is_clean() -> bool:
            found[:] = traces_of_strobe(one.pid, one.program)
            return not found

        try:
            wait_until(is_clean, "")
        except AssertionError:
            raise AssertionError(f"Strobe left in {one.title}:\n" + "\n".join(found)) from None

    def finish(self, one: Subject) -> None:
        """Tells the program to end, and looks at all that it and Strobe say."""
        one.let_go_on()
        self.say("finish", one)
        one.send(signal.SIGUSR1)
        ended = self.wait_for_end(one)
        assert ended in ({}, {"exitCode": EXIT_STATUS}), f"{one.title} ended with {ended}: {self.output(one)}"
        said = self.check_output(one)
        if one.session is not None:
            if one.window is not None and one.kind.is_one_image:
                self.check_counts(one, said)
            self.end_session(one)
        self.living.remove(one)

    def kill(self, one: Subject) -> None:
        number = self.random.choice([signal.SIGKILL, signal.SIGTERM])
        self.say("kill", one, number.name)
        one.send(number)
        ended = self.wait_for_end(one)
        assert ended in ({}, {"signal": number.name}), f"{one.title} ended with {ended}, not {number.name}"
        assert "wrong" not in self.output(one), self.output(one)
        if one.session is not None:
            self.end_session(one)
        self.living.remove(one)

    def wait_for_end(self, one: Subject) -> dict[str, Any]:
        """As Strobe has it, or the driver itself; {} where neither of them knows."""
        own: dict[str, Any] = {}
        if one.process is not None:
            process = one.process
            wait_while_it_works(lambda: process.poll() is not None, one.pid, f"the end of {one.title}")
            status = process.returncode
            own = {"exitCode": status} if status >= 0 else {"signal": signal.Signals(-status).name}
        if one.session is None:
            return own

        def is_over() -> dict[str, Any]:
            answer = self.asked(one, limit=1)
            return answer if "ended" in answer and "note" not in answer else {}

        ended: dict[str, Any] = wait_while_it_works(is_over, one.pid, f"the end of {one.title}")["ended"]
        if "reason" in ended:
            return own
        assert not own or own == ended, f"{one.title} ended with {own}, Strobe says {ended}"
        return ended

    def check_output(self, one: Subject) -> Reported:
        return reported(self.output(one), one.written if one.kind.is_one_image else None)

    def check_counts(self, one: Subject, said: Reported) -> None:
        """Of functions that were traced up to the end."""
        assert one.window is not None
        calls, lost = self.calls(one, "counted")
        least, most = said.counted - one.window.high, said.counted - one.window.low
        slack = IN_FLIGHT if one.window.low else 0
        assert least - lost - slack <= calls <= most + slack, (one.title, calls, lost, one.window, said)
        assert self.calls(one, "never_called")[0] == 0
        if not one.was_launched:
            return
        absence = self.asked(one, function={"equals": "never_called"})["absence"]
        assert absence.startswith("It was not called. ") or (lost and "could not be recorded" in absence), absence
        if self.form == "native":  # the portable form does not see all that happens in handlers, and in short lives
            for name, own in (("handled", said.handled), ("plugged_step", said.plugged)):
                calls, lost = self.calls(one, name)
                assert own - lost <= calls <= own, f"{one.title}: {calls} calls of {name}, {lost} lost: {said}"


def check_calls(events: list[dict[str, Any]]) -> None:
    """`counted` gives back what it was given and one more."""
    given = {}
    for event in events:
        if event.get("function") != "counted":
            continue
        if event["eventType"] == "function_enter" and event.get("arguments"):
            given[event["id"]] = event["arguments"][0]["value"]
        if event["eventType"] == "function_exit" and event.get("parentEventId") in given:
            value = given[event["parentEventId"]]
            assert value is None or event["returnValue"] == value + 1, (value, event)
