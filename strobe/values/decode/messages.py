"""Messages of probes: text with `{expression}` in it, `{{` and `}}` for braces. What is recorded are the values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from strobe.dataclass import dataclass
from strobe.errors import failure
from strobe.values.decode import text as texts

_PART = re.compile(r"\{\{|\}\}|[^{}]+|\{(?P<of>(?:[^{}\"']|\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*')*)\}")
_VALID = "booked {cents} of {account->owner}"


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a message: as it is, or the value of an expression."""

    text: str
    is_expression: bool = False


def parts_of(template: str) -> list[Part]:
    """Raises probe_wrong, with the place of the mistake."""
    found, at = [], 0
    while at < len(template):
        part = _PART.match(template, at)
        expression = None if part is None else part["of"]
        if part is None or (expression is not None and not expression.strip()):
            reason = "an expression is missing" if part is not None else "a brace without its counterpart"
            near = template[at : at + 12]
            raise failure("probe_wrong", probe=template[:200], at=at + 1, near=near, reason=reason, valid=_VALID)
        if expression is not None:
            found.append(Part(expression.strip(), True))
        else:
            found.append(Part({"{{": "{", "}}": "}"}.get(part[0], part[0])))
        at = part.end()
    return found


def expressions_of(template: str) -> list[str]:
    """Each once, in order. Raises as parts_of."""
    return list(dict.fromkeys(part.text for part in parts_of(template) if part.is_expression))


def message(template: str, values: Mapping[str, Any]) -> str:
    """The text with these values; `?` for one that was not recorded."""
    return "".join(_shown(values, part.text) if part.is_expression else part.text for part in parts_of(template))


def _shown(values: Mapping[str, Any], name: str) -> str:
    if name not in values:
        return "?"
    value = values[name]
    return str(value) if isinstance(value, str) else texts.shown(value)
