"""What a read gives: plain Python values, and these where Python has nothing like it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from strobe.model import Text


class Char(str):
    """One character of the program; `code` is its number, without a sign. `is_byte`: a char of C."""

    __slots__ = ("code", "is_byte")
    code: int
    is_byte: bool

    def __new__(cls, code: int, is_byte: bool = False) -> Char:
        self = super().__new__(cls, chr(code) if 0 <= code < 0x110000 else "\ufffd")
        self.code = code
        self.is_byte = is_byte
        return self


class PointerTo:
    """A pointer: its address, the function or global it points into, and what it points to where that was read."""

    __slots__ = ("address", "symbol", "to")

    def __init__(self, address: int, symbol: str | None = None, to: Any = None) -> None:
        self.address = address
        self.symbol = symbol
        self.to = to

    def __getattr__(self, name: str) -> Any:
        """A field of what it points to."""
        if name.startswith("__") or self.to is None:
            raise AttributeError(f"{self!r} was not followed: nothing is known of '{name}'")
        return getattr(self.to, name)

    def __bool__(self) -> bool:
        return self.address != 0

    def __int__(self) -> int:
        return self.address

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PointerTo):
            return self.address == other.address
        return self.address == other if isinstance(other, int) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.address)

    def __repr__(self) -> str:
        return f"{self.address:#x}" + (f" <{self.symbol}>" if self.symbol else "")


class ReferenceTo(PointerTo):
    """A reference: the address of what it stands for, and that, which it is compared as, and has the elements of."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return bool(self.to)

    def __eq__(self, other: object) -> bool:
        return bool(self.to == (other.to if isinstance(other, ReferenceTo) else other))

    def __hash__(self) -> int:
        return hash(self.to)

    def __getitem__(self, key: Any) -> Any:
        return self.to[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.to)

    def __len__(self) -> int:
        return len(self.to)


class Unread(PointerTo):
    """A pointer to characters that cannot be read."""

    __slots__ = ()


class Record:
    """A struct, class or union: its fields as attributes, those of its base classes with them.

    Iterating gives (name, value); `record["name"]` is for names that are no identifiers of Python. `hidden`: members of
    unions that cannot be what is there; they can be asked for, and are left out where the whole is written.
    """

    def __init__(self, type_name: str, fields: dict[str, Any], hidden: Iterable[str] = ()) -> None:
        self._type_name = type_name
        self._fields = fields
        self._hidden = frozenset(hidden)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_fields"][name]
        except KeyError:
            raise AttributeError(f"{self.__dict__.get('_type_name')} has no field '{name}'") from None

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter(self._fields.items())

    def written(self) -> Iterator[tuple[str, Any]]:
        """(name, value) of those that are not hidden."""
        return ((name, value) for name, value in self._fields.items() if name not in self._hidden)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Record):
            return self._fields == other._fields
        return self._fields == other if isinstance(other, dict) else NotImplemented

    def __hash__(self) -> int:
        raise TypeError("a Record can be compared, not hashed")

    def __repr__(self) -> str:
        return f"{self._type_name}({', '.join(f'{name}={value!r}' for name, value in self)})"


class Variant(Record):
    """A Rust enum with content, as a record of one field: `value.Some`. Without content a variant is its name alone.

    `content`: a Record, or a Tuple, which is the field's value where it has several elements.
    """

    def __init__(self, type_name: str, variant: str, content: Any) -> None:
        is_one = isinstance(content, Tuple) and len(content) == 1
        super().__init__(type_name, {variant: content[0] if is_one else content})
        self._variant = variant
        self._content = content

    def __repr__(self) -> str:
        return f"{self._type_name}::{self._variant}({self._content!r})"


class Tuple(tuple[Any, ...]):
    """A tuple. `struct_name`: of a Rust struct whose fields have no names; empty of all others."""

    struct_name: str

    def __new__(cls, values: Iterable[Any], struct_name: str = "") -> Tuple:
        self = super().__new__(cls, values)
        self.struct_name = struct_name
        return self


class Rows(list[Any]):
    """The first elements of an array; `total` is how many it has."""

    def __init__(self, elements: list[Any], total: int) -> None:
        super().__init__(elements)
        self.total = total


class Mapping(dict[Any, Any]):
    """The first entries of a map; `total` is how many it has. `trouble`: why there are no more."""

    def __init__(self, entries: Iterable[tuple[Any, Any]], total: int, trouble: Problem | None = None) -> None:
        super().__init__(entries)
        self.total = total
        self.trouble = trouble


class Pairs(Rows):
    """A map whose keys are no keys in Python, or that has one several times: (key, value) of each entry."""

    def __init__(self, entries: list[tuple[Any, Any]], total: int, trouble: Problem | None = None) -> None:
        super().__init__(entries, total)
        self.trouble = trouble


def mapping(entries: list[Any], total: int, trouble: Problem | None = None) -> Mapping | Pairs:
    """Entries are (key, value), or a Problem where one could not be read."""
    good = [entry for entry in entries if isinstance(entry, tuple)]
    trouble = trouble or next((entry for entry in entries if not isinstance(entry, tuple)), None)
    try:
        found = Mapping(good, total, trouble)
    except TypeError:
        return Pairs(good, total, trouble)
    return found if len(found) == len(good) else Pairs(good, total, trouble)


class Quantity(str):
    """A number with its unit, as it is written: "250ms"."""

    __slots__ = ("number", "unit")
    number: Any
    unit: str

    def __new__(cls, number: Any, unit: str) -> Quantity:
        self = super().__new__(cls, f"{number}{unit}")
        self.number = number
        self.unit = unit
        return self


class Bits(int):
    """A row of `width` bits, the first one the lowest; shown as 0b0101."""

    width: int

    def __new__(cls, value: int, width: int) -> Bits:
        self = super().__new__(cls, value & ((1 << width) - 1))
        self.width = width
        return self

    def __str__(self) -> str:
        return f"0b{int(self):0{self.width}b}" if self.width else "0b"


class Problem(str):
    """What stands in place of a value: "<struct>", "<circular ref to gList>", "Address not readable: 0x10"."""

    __slots__ = ()


class TextAt(Text):
    """What a `char*` leads to, and the address that this is."""

    def __new__(cls, text: str, address: int) -> TextAt:
        self = super().__new__(cls, text)
        self.address = address
        return self

    address: int


# bool, int, float, Text, Enumerator, Char, PointerTo, Record, Variant, Tuple, Rows, Mapping, Pairs, Quantity, Bits,
# Problem, str: a word, as "inf", "nullopt", or a variant without content; None: no value
Shown: TypeAlias = Any
