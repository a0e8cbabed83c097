"""What a look at events finds: a page of them, counts of values, and where an address is."""

from __future__ import annotations

from typing import Any

from strobe.dataclass import dataclass, field
from strobe.model import Event
from strobe.session.questions.inside import Within


@dataclass(frozen=True, slots=True)
class Unreturned:
    """`count` calls without a return of which the rest of the question holds, or of which that is not known; `why`, in
    words: what became of them, the first event ids, and what is not certain."""

    count: int
    why: str


@dataclass(slots=True)
class Found:
    """What a look at events has found. `values`: of each event those that were asked for, as JSON; `errors`: why some
    are not there; both by expression. `places`: where in each event the address is found that is asked for. There was
    no time for events behind `unchecked_after`, or older than `unchecked_before`. `absence`: what it says that there
    are no groups. `unreturned`: calls that a question about results leaves out. `absent`: events of a sort that never
    has what is asked for."""

    events: list[Event] = field(default_factory=list)
    values: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, str]] = field(default_factory=list)
    places: list[list[str]] = field(default_factory=list)
    inside: Within | None = None
    checked: int = 0
    held: int = 0
    undecided: int = 0
    undecided_why: str = ""
    unchecked_after: str | None = None
    unchecked_before: str | None = None
    absence: str | None = None
    unreturned: Unreturned | None = None
    absent: int = 0
    absent_why: str = ""


@dataclass(slots=True)
class Counted:
    """Events of one value; of several expressions `value` is a dict by expression. `first` and `last`: event ids;
    `durations`: how many returns took so long, in ns to 1 part in 16."""

    value: Any
    count: int = 0
    total_ns: int = 0
    max_ns: int = 0
    first: str = ""
    last: str = ""
    durations: dict[int, int] = field(default_factory=dict)

    @property
    def p99_ns(self) -> int:
        """99 of 100 returns took no longer, to 1 part in 16; 0 where none did return."""
        left = sum(self.durations.values()) * 99 // 100
        for duration, count in sorted(self.durations.items()):
            left -= count
            if left < 0:
                return min(duration, self.max_ns)
        return 0


@dataclass(slots=True)
class Touched:
    """Events of one function and type in which an address is found at the same places."""

    event_type: str
    name: str
    places: tuple[str, ...]
    first: Event
    last: Event
    count: int = 1
