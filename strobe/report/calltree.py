"""The live call tree: events in, lines out.

A call whose return is the next event is one line, `f(1) = 2  80 ns`; any other opens a block and closes it later:

    parse(text=0x55d0, length=12) {
      next_token(position=0) = 3  120 ns
    } parse = true  1.20 us

The order of lines is the order of events, across threads too; once a second thread shows up, each line begins with its
thread. A frame that an exception, longjmp or the end of its thread left is closed as `} parse left without return`,
where the events are whole; a call whose return could not be recorded is one line, `f(1)  return not recorded`.
"""

from __future__ import annotations

from collections.abc import Iterable

from strobe.model import CALL_EVENTS, Event
from strobe.report import snapshots, wording
from strobe.report.palette import Palette

_DEEPEST_INDENT = 60
_THREAD_WIDTH = 26


class CallTree:
    """Feed it events in time order; it holds back at most one enter, to see whether its return comes next."""

    def __init__(
        self, palette: Palette, with_output: bool = False, is_whole: bool = True, names_threads: bool = False
    ) -> None:
        """`with_output`: lines of output, and crashes, have lines of their own, too. `is_whole`: a return that is not
        among the events has not happened. `names_threads`: from the first line on."""
        self._palette = palette
        self._with_output = with_output
        self._is_whole = is_whole
        self._pending: Event | None = None
        self._open: dict[int, list[Event]] = {}
        self._several_threads = names_threads
        self._width = 0
        self._in_gap = False

    def feed(self, events: Iterable[Event]) -> list[str]:
        """Lines for calls, probes, and for what Strobe has written; other events give none."""
        lines: list[str] = []
        for event in events:
            if event.event_type in CALL_EVENTS:
                self._in_gap = False
                self._add(event, lines)
            elif event.event_type == "probe":
                self._in_gap = False
                self._open_pending(lines)
                lines.append(self._line(event, self._probe(event)))
                self._add_stack(event, lines)
            elif self._with_output and event.text is not None:
                self._in_gap = False
                self._open_pending(lines)
                lines.append(f"{event.event_type}: {wording.one_line(event.text)}")
            elif event.previous:
                self._open_pending(lines)
                lines.append(self._palette.note(f"strobe: {snapshots.line(event)}"))
        return lines

    @property
    def is_holding(self) -> bool:
        """Whether the last event has no line yet."""
        return self._pending is not None

    def flush(self) -> list[str]:
        """Lines for what was held back: call it when no event came for a while."""
        lines: list[str] = []
        self._open_pending(lines)
        return lines

    def gap(self, text: str) -> list[str]:
        """Lines for a stretch that is not shown; what was open before it may be closed by now."""
        lines = self.flush()
        self._open.clear()
        if lines or not self._in_gap:
            lines.append(self._palette.note(f"... {text} ..."))
        self._in_gap = True
        return lines

    def finish(self) -> list[str]:
        """Lines for the end of the program: frames that never returned, thread by thread, outermost first."""
        lines = self.flush()
        for stack in self._open.values():
            if stack:
                names = wording.one_line(" > ".join(event.function or "?" for event in stack))
                lines.append(self._palette.note(f"still open at the end in {_thread(stack[0])}: {names}"))
        self._open.clear()
        return lines

    def _add(self, event: Event, lines: list[str]) -> None:
        pending = self._pending
        if pending is not None and _returns(pending, event):
            self._pending = None
            self._unwind(pending, lines)
            lines.append(self._line(event, f"{self._call(pending)}{self._result(event)}"))
            self._add_stack(pending, lines)
            return
        self._open_pending(lines)
        if event.return_missed:
            self._unwind(event, lines)
            lines.append(self._line(event, f"{self._call(event)}  {self._palette.note('return not recorded')}"))
            self._add_stack(event, lines)
        elif event.event_type == "function_enter":
            self._pending = event
        else:
            self._close(event, lines)

    def _open_pending(self, lines: list[str]) -> None:
        event, self._pending = self._pending, None
        if event is not None:
            self._unwind(event, lines)
            self._open.setdefault(event.thread_id, []).append(event)
            lines.append(self._line(event, f"{self._call(event)} {{"))
            self._add_stack(event, lines)

    def _close(self, event: Event, lines: list[str]) -> None:
        stack = self._open.get(event.thread_id, [])
        while stack and (stack[-1].depth or 0) > (event.depth or 0):
            self._leave(stack.pop(), lines)
        if stack and stack[-1].depth == event.depth:
            stack.pop()
        lines.append(self._line(event, f"}} {self._name(event)}{self._result(event)}"))

    def _unwind(self, entered: Event, lines: list[str]) -> None:
        """A new call at a depth that is still open: those frames are gone."""
        stack = self._open.get(entered.thread_id, [])
        while stack and (stack[-1].depth or 0) >= (entered.depth or 0):
            self._leave(stack.pop(), lines)

    def _leave(self, event: Event, lines: list[str]) -> None:
        if not self._is_whole:
            return
        lines.append(self._line(event, f"}} {self._name(event)} {self._palette.note('left without return')}"))

    def _add_stack(self, event: Event, lines: list[str]) -> None:
        if event.stack:
            lines.append(self._line(event, self._palette.note(f"    from {' < '.join(event.stack)}")))

    def _line(self, event: Event, text: str) -> str:
        indent = "  " * min(event.depth or 0, _DEEPEST_INDENT)
        return f"{self._thread_column(event)}{indent}{text}"

    def _thread_column(self, event: Event) -> str:
        if not self._several_threads:
            self._open.setdefault(event.thread_id, [])
            self._several_threads = len(self._open) > 1
        if not self._several_threads:
            return ""
        label = f"[{_thread(event)}]"
        self._width = min(max(self._width, len(label)), _THREAD_WIDTH)
        return self._palette.thread(f"{label:{self._width}} ")

    def _name(self, event: Event) -> str:
        return self._palette.function(wording.one_line(event.function or "?"))

    def _call(self, event: Event) -> str:
        return f"{self._name(event)}({wording.arguments(event.arguments)}){self._watches(event)}"

    def _probe(self, event: Event) -> str:
        values = ", ".join(
            f"{name}={self._palette.value(wording.value(value))}" for name, value in (event.watch_values or {}).items()
        )
        said = values if event.text is None else wording.one_line(event.text)
        return f"* {self._palette.function(wording.one_line(event.label or '?'))}  {said}".rstrip()

    def _watches(self, event: Event) -> str:
        return self._palette.note(wording.watches(event.watch_values)) if event.watch_values else ""

    def _result(self, event: Event) -> str:
        shown = event.return_type != "void" and event.return_value is not None
        result = f" = {self._palette.value(wording.value(event.return_value))}" if shown else ""
        time = "" if event.duration_ns is None else f"  {self._palette.time(wording.duration(event.duration_ns))}"
        mark = f"  {self._palette.note('sampled')}" if event.sampled else ""
        return result + time + self._watches(event) + mark


def _returns(entered: Event, event: Event) -> bool:
    return (
        event.event_type == "function_exit"
        and event.thread_id == entered.thread_id
        and event.depth == entered.depth
        and event.function == entered.function
        and event.parent_event_id in (entered.id, None)
    )


def _thread(event: Event) -> str:
    return wording.one_line(f"{event.thread_name} {event.thread_id}")
