"""What names mean in one function's calls, before they mean what they do everywhere: arguments, `this`, `$return`."""

from __future__ import annotations

from strobe import _abi
from strobe.errors import failure
from strobe.symbols.calls.signature import CallValues, PassedValue
from strobe.symbols.types.fields import path_to
from strobe.symbols.types.model import Pointer, Record
from strobe.values.lookup.locations import ValueLocation
from strobe.values.memory.recipes import Recipe, passed_words

RETURN = "$return"
THIS = "this"
_WORD_BYTES = 8
_MOST_WORDS = 8
_NOT_KEPT = "<not kept: the call began before the watch was added>"
_NOT_CERTAIN = "its value is not known here: the compiler may pass it otherwise, or not at all"


class CallScope:
    """Of the calls of one function. `at_return`: names mean what they do when it has returned; arguments are what the
    call was given, whatever the function has made of them."""

    def __init__(
        self, values: CallValues, module: str, *, at_return: bool, sees_vectors: bool, counts_hits: bool = False
    ) -> None:
        """`module`: the path of the file that has the function. `sees_vectors`: whether the recorder can tell what
        vector registers hold. `counts_hits`: it is a probe's."""
        self.counts_hits = counts_hits
        self.module = module
        self._values = values
        self._at_return = at_return
        self._sees_vectors = sees_vectors
        self._by_name = {one.name: one for one in values.parameters}

    @property
    def names(self) -> list[str]:
        """Of all that can be asked for, but members of `this`."""
        return [*self._by_name, *([RETURN] if self._values.returned is not None else [])]

    def of_place(self, name: str) -> str | int | None:
        """$function, $file, $line: where the function begins; None where that is not known."""
        function = self._values.function
        if function is None:
            return None
        return {"$function": function.function, "$file": function.source_file, "$line": function.line}.get(name)

    def location(self, name: str) -> ValueLocation | None:
        """Where the call's own value of that name lies; None where it has none. Raises READ_FAILED where it has one
        that nobody can read."""
        if name == RETURN:
            return self._result()
        found = self._by_name.get(name)
        return None if found is None else self._location(found, name, self._numbers(found, name))

    def is_member(self, name: str) -> bool:
        """Whether `name` is short for `this->name`."""
        this = self._by_name.get(THIS)
        target = None if this is None or not isinstance(this.type.bare, Pointer) else this.type.bare.target.bare
        return isinstance(target, Record) and not target.is_declaration and path_to(target, name) is not None

    def needs(self, recipe: Recipe) -> int:
        """As needs_of."""
        return needs_of(recipe)

    def _result(self) -> ValueLocation | None:
        returned = self._values.returned
        if returned is None:
            raise failure("not_there", reason=f"{RETURN}: the function returns nothing")
        if not self._at_return:
            return None
        numbers = [
            number if number < _abi.SOURCE_XMM0 else number - _abi.SOURCE_XMM0 + _abi.PASSED_RETURN
            for number in returned.sources
        ]
        return self._location(returned, RETURN, numbers)

    def _numbers(self, value: PassedValue, name: str) -> list[int]:
        """STROBE_PASSED_* of its words."""
        numbers = []
        for source in value.sources:
            if source >= _abi.SOURCE_STACK + _abi.PASSED_ON_STACK:
                count = _abi.PASSED_ON_STACK
                raise _unread(name, f"it is passed beyond the first {count} words of the stack, which are kept")
            if source >= _abi.SOURCE_STACK:
                numbers.append(source - _abi.SOURCE_STACK + _abi.PASSED_STACK)
            elif source >= _abi.SOURCE_XMM0:
                numbers.append(source - _abi.SOURCE_XMM0 + _abi.PASSED_XMM0)
            else:
                numbers.append(source)
        return numbers

    def _location(self, value: PassedValue, name: str, numbers: list[int]) -> ValueLocation:
        size = _WORD_BYTES if value.is_address else value.type.size or 0
        if not numbers:
            raise _unread(name, _NOT_CERTAIN)
        if len(numbers) > _MOST_WORDS or len(numbers) * _WORD_BYTES < size:
            raise _unread(name, f"a {value.type.name} in registers is not kept whole")
        if not self._sees_vectors and any(map(_is_vector, numbers)):
            raise _unread(name, "the portable form of the recorder does not see vector registers")
        location = ValueLocation(Recipe(), value.type)
        location.refused[location.recipe.passed(numbers)] = _NOT_KEPT
        if value.is_address:
            location.dereferenced[location.recipe.dereference()] = name
            location.is_const = False
        return location


def needs_of(recipe: Recipe) -> int:
    """STROBE_NEEDS_* of what the recipe reads of a call; 0 where it reads nothing of it."""
    needs = on_stack = 0
    for number in passed_words(recipe):
        needs |= _abi.NEEDS_PASSED
        if _is_vector(number):
            needs |= _abi.NEEDS_VECTORS
        elif number >= _abi.PASSED_STACK:
            on_stack = max(on_stack, number - _abi.PASSED_STACK + 1)
    return needs | on_stack


def _is_vector(number: int) -> bool:
    return _abi.PASSED_XMM0 <= number < _abi.PASSED_STACK or number >= _abi.PASSED_RETURN


def _unread(name: str, reason: str) -> Exception:
    return failure("not_there", reason=f"{name}: {reason}")
