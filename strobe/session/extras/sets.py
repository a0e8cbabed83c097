"""Recipes, and sets of captures, by their numbers. They are made in the target once, and never changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from strobe import _abi
from strobe.capture.agent.extras_request import ExtrasRequest
from strobe.dataclass import dataclass, field
from strobe.errors import failure
from strobe.session.extras.call_stacks import captured_stack

if TYPE_CHECKING:  # only where there is a condition
    from strobe.values.language import Condition

MOST_WORDS = 800  # of a record's 1,023, beside what its function's own captures take; what finds no room says so
_LAST_NUMBER = 65_534
_NUMBER_BYTES = 8  # of one that a recipe gives
_FEWEST_WORDS = 2  # of a capture
Captures = tuple[bytes, ...]  # struct strobe_capture


@dataclass(frozen=True, slots=True)
class CaptureSet:
    """Captures at the entry and at the return: those of watches, then those of structures that are followed, and the
    most words that the latter take. `words`: the most that either of them gives. `stack`: what records callers at the
    entry, `stack_words` of them."""

    watches: tuple[Captures, Captures]
    followed: tuple[Captures, Captures]
    followed_words: int
    words: int
    condition: Condition | None = None
    stack: bytes = b""
    stack_words: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is recorded with it."""
        return not self.words and self.condition is None and not self.stack

    @property
    def follows(self) -> bool:
        """Whether it has captures of structures."""
        return any(self.followed)


@dataclass(frozen=True, slots=True)
class ProbeValue:
    """An expression of a probe as a recipe, which gives `bytes` and `items` at most. `description`: as Pending has it;
    `needs`: STROBE_NEEDS_*."""

    code: bytes
    bytes: int
    items: int
    description: str
    needs: int


@dataclass
class Pending:
    """What the target does not have yet, with what the blocks mean."""

    request: ExtrasRequest = field(default_factory=ExtrasRequest)
    descriptions: dict[int, str] = field(default_factory=dict)


class Sets:
    """Of one session. Not for several threads at once."""

    def __init__(self, send: Callable[[Pending], list[int]]) -> None:
        """`send`: makes what is pending known to the store and the target, and gives the numbers of the sets."""
        self.send = send
        self._next = 1
        self._recipes: dict[tuple[bytes, str], int] = {}
        self._sets: dict[CaptureSet, int] = {}
        self._pending = Pending()

    def new_number(self) -> int:
        """Of a recipe or a watch. Raises limit_reached."""
        if self._next > _LAST_NUMBER:
            raise failure("limit_reached", what="watches and recorded types of a session", limit=_LAST_NUMBER)
        self._next += 1
        return self._next - 1

    def recipe(self, code: bytes, size: int, items: int, described: str) -> int:
        """The number of a recipe, which gives `size` bytes and `items` at most. A new one is sent with the next set;
        one that is described otherwise is another one."""
        known = self._recipes.get((code, described))
        if known is None:
            known = self._recipes[code, described] = self.new_number()
            self._pending.request.add_recipe(known, code, size, items)
            if described:
                self._pending.descriptions[known] = described
        return known

    def numbers_of(self, sets: Sequence[CaptureSet]) -> list[int]:
        """Of each one, 0 for an empty one; new ones are made. Raises limit_reached."""
        self._make([item for item in dict.fromkeys(sets) if not item.is_empty and item not in self._sets])
        return [0 if item.is_empty else self._sets[item] for item in sets]

    def by_number(self) -> Mapping[int, CaptureSet]:
        """All that were made."""
        return {number: item for item, number in self._sets.items()}

    def of_returns(
        self, entry: Sequence[bytes], leave: Sequence[bytes], words: int, condition: Condition | None, stack: int
    ) -> int:
        """The number of the set that a probe of returns records: captures of what is kept at the entry, and of the
        return, which take so many words. `stack`: callers. 0: as of of_probe."""
        callers, more = captured_stack(stack, is_probe=False)
        watches = (tuple(entry), (*filter(None, [callers]), *leave))
        return self.numbers_of([CaptureSet(watches, ((), ()), 0, min(words + more, MOST_WORDS), condition)])[0]

    def of_probe(self, values: Sequence[ProbeValue], condition: Condition | None, stack: int) -> int:
        """The number of the set that a probe records; 0: nothing but that a thread came by."""
        captures = []
        for value in values:
            number = self.recipe(value.code, value.bytes, value.items, value.description)
            kind, role = _abi.CAPTURE_RECIPE, _abi.ROLE_WATCH
            captures.append(_abi.CAPTURE.pack(value.needs, kind, role, 0, number, number))
        words = min(sum(recipe_words(value.bytes, value.items) for value in values), MOST_WORDS)
        stacked = captured_stack(stack, is_probe=True)
        return self.numbers_of([CaptureSet((tuple(captures), ()), ((), ()), 0, words, condition, *stacked)])[0]

    def _make(self, sets: Sequence[CaptureSet]) -> None:
        if not sets:
            return
        for item in sets:
            entry, leave = item.followed
            condition, needs, kept = (0, 0, ()) if item.condition is None else self._condition_recipe(item.condition)
            captures = (*filter(None, [item.stack]), *item.watches[0], *entry, *kept), (*item.watches[1], *leave)
            words = max(item.words + item.stack_words, _FEWEST_WORDS * max(map(len, captures)))
            self._pending.request.add_set(*captures, words, condition, needs)
        pending, self._pending = self._pending, Pending()
        numbers = self.send(pending)
        if 0 in numbers:
            raise failure("limit_reached", what="combinations of watches and recorded types", limit=_LAST_NUMBER)
        self._sets |= dict(zip(sets, numbers, strict=True))

    def _condition_recipe(self, condition: Condition) -> tuple[int, int, Captures]:
        """Its number, what it needs of a call, and the captures of what it asks for of the entry."""
        from strobe.values.language import with_block

        kept: Captures = ()
        code, entry = condition.code, condition.entry
        if entry is not None:
            block = self.recipe(entry.code, _NUMBER_BYTES * entry.items, entry.items, "")
            kept = (_abi.CAPTURE.pack(entry.needs, _abi.CAPTURE_RECIPE, _abi.ROLE_BEFORE, 0, block, block),)
            code = with_block(code, block)
        number = self.recipe(code, _NUMBER_BYTES, 1, "")
        return number | (_abi.CONDITION_AT_RETURN if condition.at_return else 0), condition.needs, kept


def recipe_words(size: int, items: int) -> int:
    """The most that a block of a recipe takes."""
    return 2 + 2 * items + (size + 7) // 8
