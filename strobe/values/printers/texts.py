"""Shapes of what is shown in one piece, though it has many elements: texts, rows of bits."""

from __future__ import annotations

from strobe.dataclass import dataclass
from strobe.limits import TEXT_CHARACTERS
from strobe.values.decode.shapes import Decoding, Part, Shape, problem, text_of
from strobe.values.memory.recipes import Recipe, Steps
from strobe.values.model import Bits, Rows, Shown
from strobe.values.printers.conditions import MOST, add_if, none_of, refusal

_MAX_ELEMENTS = 100
_ROUNDED_UP: Steps = (("CONSTANT", 0, 0, 7), ("PLUS", 0, 0, 0), ("CONSTANT", 0, 0, 8), ("DIVIDED", 0, 0, 0))  # to bytes


@dataclass(frozen=True)
class CountedText(Shape):
    """Text of `count` characters from `start` on."""

    type_name: str
    width: int
    valid: Steps
    start: Steps
    count: Steps
    size: int

    def add_steps(self, recipe: Recipe) -> None:
        add_if(recipe, self.valid, lambda: self._add_text(recipe))

    def _add_text(self, recipe: Recipe) -> None:
        recipe.numbers(self.count)
        recipe.note()
        recipe.save()
        recipe.numbers(self.start)
        recipe.go()
        recipe.read_many(TEXT_CHARACTERS + 1, self.width)
        recipe.restore()
        recipe.drop()

    def value(self, part: Part, decoding: Decoding) -> Shown:
        refused = refusal(self.valid, self.type_name, decoding)
        if refused is not None:
            return refused
        count, text = decoding.next(), decoding.next()
        if not count.is_there:
            return problem(count)
        if count.number > MOST:
            return none_of(self.type_name)
        return text_of(text.data, self.width) if not count.number or text.is_there else problem(text)


@dataclass(frozen=True)
class EndedText(Shape):
    """Text from `start` on, up to the first zero."""

    width: int
    valid: Steps
    start: Steps
    size: int

    def add_steps(self, recipe: Recipe) -> None:
        add_if(recipe, self.valid, lambda: self._add_text(recipe))

    def _add_text(self, recipe: Recipe) -> None:
        recipe.save()
        recipe.numbers(self.start)
        recipe.go()
        recipe.text(TEXT_CHARACTERS + 1, self.width)
        recipe.restore()

    def value(self, part: Part, decoding: Decoding) -> Shown:
        refused = refusal(self.valid, "text", decoding)
        if refused is not None:
            return refused
        text = decoding.next()
        return text_of(text.data, self.width) if text.is_there else problem(text)


@dataclass(frozen=True)
class BitRow(Shape):
    """`count` bits from bit `first` of `start` on. `is_number`: shown as one number."""

    type_name: str
    valid: Steps
    start: Steps
    first: Steps
    count: Steps
    is_number: bool
    size: int

    def add_steps(self, recipe: Recipe) -> None:
        add_if(recipe, self.valid, lambda: self._add_bits(recipe))

    def _add_bits(self, recipe: Recipe) -> None:
        most = TEXT_CHARACTERS if self.is_number else _MAX_ELEMENTS
        for number in (self.count, self.first):
            recipe.numbers(number)
            recipe.note()
        recipe.numbers((("PLUS", 0, 0, 0), *_ROUNDED_UP))
        recipe.save()
        recipe.numbers(self.start)
        recipe.go()
        recipe.read_many(most // 8 + 16, 1)
        recipe.restore()
        recipe.drop()

    def value(self, part: Part, decoding: Decoding) -> Shown:
        refused = refusal(self.valid, self.type_name, decoding)
        if refused is not None:
            return refused
        count, first, data = decoding.next(), decoding.next(), decoding.next()
        if count.number > MOST or first.number > 64:
            return none_of(self.type_name)
        bad = next((item for item in (count, first, data) if not item.is_there), None)
        if bad is not None and (bad is not data or count.number):
            return problem(bad)
        whole = int.from_bytes(data.data, "little") >> first.number
        if self.is_number:
            return Bits(whole, min(count.number, TEXT_CHARACTERS))
        bits = [bool(whole >> at & 1) for at in range(min(count.number, _MAX_ELEMENTS))]
        return Rows(bits, count.number)
