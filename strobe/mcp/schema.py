"""The parameters of a tool: one description from which both the JSON Schema and the check are made.

Only what the tools need, because a general validator costs more to import than the daemon needs to start, and its
messages name neither the valid values nor the parameter that was meant.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from strobe.dataclass import dataclass, field
from strobe.errors import StrobeError, failure

MAX_SHOWN = 80


@dataclass(frozen=True, kw_only=True)
class Field(ABC):
    """One value. `check` returns it, ready for use, or raises VALIDATION_ERROR naming `path`."""

    description: str = ""

    @abstractmethod
    def json(self) -> dict[str, Any]:
        """Its JSON Schema."""

    @abstractmethod
    def check(self, value: Any, path: str) -> Any:
        """The value, ready for use. Raises VALIDATION_ERROR that names `path` and the valid values."""

    def _json(self, kind: str, **more: Any) -> dict[str, Any]:
        described = {"description": self.description} if self.description else {}
        return {"type": kind, **{name: value for name, value in more.items() if value is not None}, **described}


@dataclass(frozen=True, kw_only=True)
class Text(Field):
    """A string. `numbers`: a bare number or boolean is taken too, and handed on as its text."""

    choices: tuple[str, ...] = ()
    min_length: int | None = None
    max_length: int | None = None
    numbers: bool = False

    def json(self) -> dict[str, Any]:
        choices = list(self.choices) or None
        return self._json("string", enum=choices, minLength=self.min_length, maxLength=self.max_length)

    def check(self, value: Any, path: str) -> str:
        if self.numbers and isinstance(value, bool | int):
            return str(value).lower()
        if not isinstance(value, str):
            raise _wrong(path, value, "it must be a string", self._valid())
        if self.choices and value not in self.choices:
            raise _wrong(path, value, "it is not one of the values" + _near(value, self.choices), self._valid())
        if self.min_length is not None and len(value) < self.min_length:
            raise _wrong(path, value, "it is too short", self._valid())
        if self.max_length is not None and len(value) > self.max_length:
            raise _wrong(path, value, f"it has {len(value)} characters", self._valid())
        return value

    def _valid(self) -> str:
        if self.choices:
            return ", ".join(self.choices)
        if self.max_length is not None:
            return f"a string of {self.min_length or 0} to {self.max_length} characters"
        return f"a string of at least {self.min_length} character" if self.min_length else "a string"


@dataclass(frozen=True, kw_only=True)
class Integer(Field):
    """A whole number, `low` to `high` included; a float without fraction is taken too."""

    low: int | None = None
    high: int | None = None
    default: int | None = None

    def json(self) -> dict[str, Any]:
        return self._json("integer", minimum=self.low, maximum=self.high, default=self.default)

    def check(self, value: Any, path: str) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise _wrong(path, value, "it must be an integer", self._valid())
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            raise _wrong(path, value, "it is out of range", self._valid())
        return value

    def _valid(self) -> str:
        low, high = self.low, self.high
        if high is None:
            return "an integer" if low is None else f"an integer of {low} or more"
        return f"{low} to {high}"


@dataclass(frozen=True, kw_only=True)
class Boolean(Field):
    """true or false; nothing else is taken for one."""

    default: bool | None = None

    def json(self) -> dict[str, Any]:
        return self._json("boolean", default=self.default)

    def check(self, value: Any, path: str) -> bool:
        if not isinstance(value, bool):
            raise _wrong(path, value, "it must be a boolean", "true, false")
        return value


@dataclass(frozen=True, kw_only=True)
class Array(Field):
    """A list of `items`, `max_items` at most."""

    items: Field
    max_items: int | None = None

    def json(self) -> dict[str, Any]:
        return self._json("array", items=self.items.json(), maxItems=self.max_items)

    def check(self, value: Any, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise _wrong(path, value, "it must be an array", "a JSON array, also for a single item")
        if self.max_items is not None and len(value) > self.max_items:
            raise _wrong(path, value, f"it has {len(value)} items", f"at most {self.max_items} items")
        return [self.items.check(item, f"{path}[{index}]") for index, item in enumerate(value)]


@dataclass(frozen=True, kw_only=True)
class TextMap(Field):
    """An object of any names with string values."""

    def json(self) -> dict[str, Any]:
        return self._json("object", additionalProperties={"type": "string"})

    def check(self, value: Any, path: str) -> dict[str, str]:
        if not isinstance(value, dict):
            raise _wrong(path, value, "it must be an object", '{"NAME": "value"}')
        return {name: Text().check(item, f"{path}.{name}") for name, item in value.items()}


@dataclass(frozen=True, kw_only=True)
class Record(Field):
    """An object of known fields. An absent optional field, or one that is null, is absent from what `check` returns.

    `later`: fields of the contract that do not work yet; they are not in the schema and are refused as such.
    """

    fields: Mapping[str, Field] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    later: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        properties = {name: item.json() for name, item in self.fields.items()}
        required = list(self.required) or None
        return self._json("object", properties=properties, required=required, additionalProperties=False)

    def check(self, value: Any, path: str = "") -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _wrong(path or "arguments", value, "it must be an object", self._valid())
        prefix = f"{path}." if path else ""
        for name in value:
            if name not in self.fields:
                raise self._unknown(prefix, name)
        for name in self.required:
            if value.get(name) is None:
                valid = self.fields[name].description or self._valid()
                raise failure("missing_field", field=prefix + name, valid=valid)
        return {name: self.fields[name].check(item, prefix + name) for name, item in value.items() if item is not None}

    def _unknown(self, prefix: str, name: str) -> StrobeError:
        if name in self.later:
            return failure("field_not_yet", field=prefix + name, valid=self._valid())
        return failure("unknown_field", field=prefix + name, near=_near(name, tuple(self.fields)), valid=self._valid())

    def _valid(self) -> str:
        return ", ".join(self.fields) or "no fields"


def _wrong(path: str, value: Any, reason: str, valid: str) -> StrobeError:
    shown = repr(value)
    if len(shown) > MAX_SHOWN:
        shown = shown[:MAX_SHOWN] + "…"
    return failure("bad_value", field=path, value=shown, reason=reason, valid=valid)


def _near(name: str, known: tuple[str, ...]) -> str:
    """`(did you mean 'X'?)`, with a blank before it, for the known name most like `name`; else nothing."""
    import difflib  # costs 6 ms, and only a mistake needs it

    folded = {item.lower().replace("_", ""): item for item in known}
    close = difflib.get_close_matches(name.lower().replace("_", ""), folded, n=1, cutoff=0.6)
    return f" (did you mean '{folded[close[0]]}'?)" if close else ""
