"""What names mean where an expression is evaluated: Roots are those of a place, and the facts of the moment."""

from __future__ import annotations

from typing import Protocol

from strobe import _abi
from strobe.values.language import terms
from strobe.values.language.terms import Float, Number, steps
from strobe.values.lookup.locations import ValueLocation
from strobe.values.memory.recipes import Recipe

RETURN = "$return"
CALLER = "$caller"
HIT, TIME = "$hit", "$time"
FACTS = {"$thread": _abi.FACT_THREAD, "$depth": _abi.FACT_DEPTH, "$pid": _abi.FACT_PID}
OF_PLACE = ("$function", "$file", "$line")
SPECIAL = (RETURN, "$entry", "$changed", "$threadName", CALLER, HIT, TIME, *FACTS, *OF_PLACE)


class Roots(Protocol):
    """What names mean at an instruction of the program, before they mean what they do everywhere: arguments and
    locals, where they lie there, and `$return` after a call. See CallScope, which is that of a call's entry and return.
    """

    @property
    def names(self) -> list[str]:
        """All that can be asked for, but members of `this`."""

    def location(self, name: str) -> ValueLocation | None:
        """Where that value lies, as steps that begin with what the recorder knows of the moment (PASSED) or with an
        address (BASE); None where the name is none of its own. Raises READ_FAILED where nobody can read it."""

    @property
    def counts_hits(self) -> bool:
        """Whether it is a probe, so that $hit is known."""

    @property
    def module(self) -> str:
        """The path of the file whose code it is; "" where there is none."""

    def of_place(self, name: str) -> str | int | None:
        """$function, $file, $line, which are always the same there; None where it is not known."""

    def is_member(self, name: str) -> bool:
        """Whether the name is short for `this->name`."""

    def needs(self, recipe: Recipe) -> int:
        """STROBE_NEEDS_* of what the recipe reads of the call, or of the registers there."""


def session_time() -> Number:
    """ns since session start."""
    ticks, per_tick = (steps(("FACT", 0, fact, 0)) for fact in (_abi.FACT_TIME, _abi.FACT_NS_PER_TICK))
    found = terms.calculated_floats("*", Number(ticks), Float(per_tick), 0)
    time = terms.cast("i64", found)
    assert isinstance(time, Number)
    return time


class NoRoots:
    """Those of no place: the names of variables are left."""

    @property
    def names(self) -> list[str]:
        return []

    def location(self, name: str) -> ValueLocation | None:
        return None

    def of_place(self, name: str) -> str | int | None:
        return None

    @property
    def counts_hits(self) -> bool:
        return False

    @property
    def module(self) -> str:
        return ""

    def is_member(self, name: str) -> bool:
        return False

    def needs(self, recipe: Recipe) -> int:
        return 0


NO_ROOTS = NoRoots()
