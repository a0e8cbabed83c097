"""Parameters that several tools have, and how paths in them are read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from strobe.dataclass import dataclass
from strobe.errors import failure
from strobe.limits import PATTERNS
from strobe.mcp.schema import Array, Field, Integer, Text
from strobe.mcp.tool import Client
from strobe.session.probes.text_form import expressions_of


class Address(Field):
    """A number, or its text: clients cannot hold all 64 bits in a number."""

    def json(self) -> dict[str, Any]:
        return self._json("string")

    def check(self, value: Any, path: str) -> int:
        try:
            number = int(value, 0) if isinstance(value, str) else value
        except ValueError:
            number = None
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 1 << 64:
            valid = '"0x7ffd1234" or a number below 2 to the power of 64'
            raise failure("bad_value", field=path, value=repr(value)[:80], reason="it is not an address", valid=valid)
        return number


@dataclass(frozen=True, kw_only=True)
class Expressions(Text):
    """Expressions with commas between them, or a list of them; `check` returns the list."""

    def check(self, value: Any, path: str) -> Any:
        if not isinstance(value, list):
            value = expressions_of(text) if (text := super().check(value, path)).strip() else []
        if not value:
            raise failure("bad_value", field=path, value="[]", reason="it is empty", valid="an expression")
        return [super(Expressions, self).check(one, path) for one in value]


SESSION_ID = Text(description="from debug_launch or debug_list_sessions", min_length=1)
THREAD_ID = Integer(description="1 or more: for thread-local variables; default: the main thread", low=1)
NUMBER_TYPES = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "pointer")


def check_target(target: dict[str, Any], path: str, with_address: tuple[str, ...], types: tuple[str, ...]) -> None:
    """Raises VALIDATION_ERROR unless it has a variable alone, or an address and a type. `with_address`: all that may
    stand beside an address."""
    if "variable" in target:
        extra = next((name for name in ("address", *with_address) if name in target), None)
        if extra is not None:
            raise failure("unknown_field", field=f"{path}.{extra}", near=" beside 'variable'", valid="variable alone")
    elif "address" not in target:
        valid = f"a variable; or an address, with {' and '.join(with_address)}"
        raise failure("missing_field", field=f"{path}.variable", valid=valid)
    elif "type" not in target:
        raise failure("missing_field", field=f"{path}.type", valid=", ".join(types))


def patterns(description: str) -> Array:
    """The parameter for a list of patterns."""
    return Array(description=description, items=Text(min_length=1), max_items=PATTERNS)


def folder(name: str, path: str, client: Client, *bases: str) -> str:
    """The absolute path of a folder that must exist; a relative one counts from the client's, then from `bases`."""
    path = home_expanded(path, client)
    for base in (client.cwd, *bases):
        found = Path(base, path)
        # not Path.is_dir, which raises where a name is too long or a folder may not be looked into
        if found.is_absolute() and os.path.isdir(found):  # noqa: PTH112
            return os.path.normpath(found)
    reason = "there is no such folder"
    raise failure("bad_value", field=name, value=repr(path), reason=reason, valid="the absolute path of a folder")


def home_expanded(path: str, client: Client) -> str:
    """`~` and `~/…` as the client's shell would read them."""
    home = client.environment.get("HOME")
    return home + path[1:] if home and (path == "~" or path.startswith("~/")) else path
