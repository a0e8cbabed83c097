"""Probes as command lines have them: `PLACE [if CONDITION] [: EXPRESSION, EXPRESSION …]`.

    pool.cpp:42 if used > capacity : used, this->name
    geo::leg if a < 0 : a, b
    till.cpp:17 : "booked {cents} of {account->owner}"
    lfunc.c:203

The parts are only separated here, not understood: by ` if `, by a colon that is none of `::`, `file:42`, `f:return`,
`f:inlined` and `?:`, and by commas, all of them outside brackets and quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from strobe.dataclass import dataclass
from strobe.errors import failure
from strobe.model import Probe

MAX_CHARACTERS = 4000
MAX_EXPRESSIONS = 32
_VALID = "pool.cpp:42 if used > capacity : used, this->name"
_OPENING = {"(": ")", "[": "]", "{": "}"}
_CLOSING = {")": "(", "]": "[", "}": "{"}
# what a location goes on with behind a colon, and patterns that begin with one: `@file:a.c`
_BEHIND_COLON = re.compile(r":(?:\d+(?:\s*-\s*\d+)?|return|entry|inlined)(?![\w.])")
_LINE = re.compile(r":\d[\d\s-]*\Z")
_SELECTOR = re.compile(r"@\w+:")
_IF = re.compile(r"\s+if(?=[\s(!]|\Z)")
_WORD = re.compile(r"[^\W\d]\w*|\d(?:'?[\w.])*")
# of a name, so that its commas and signs are none of the expression's: `Pool<int, 4>::count`
_ARGUMENTS = re.compile(r"<(?:[\w\s,*&<>]|::)*>(?=::)")


@dataclass(frozen=True, slots=True)
class Part:
    """`at`: where it begins in the whole text, from 0."""

    text: str
    at: int


@dataclass(frozen=True, slots=True)
class ProbeText:
    """The parts of a probe. `condition`: None where it has none."""

    location: Part
    condition: Part | None
    expressions: tuple[Part, ...]


def parsed_probe(text: str) -> ProbeText:
    """Raises VALIDATION_ERROR, with the position of the mistake."""
    if len(text) > MAX_CHARACTERS:
        raise _wrong(text, MAX_CHARACTERS, f"it is longer than {MAX_CHARACTERS:,} characters")
    location_end = _end_of_location(text)
    location = _part(text, 0, location_end)
    if not location.text:
        raise _wrong(text, location.at, "a location is missing")
    condition, at = None, location_end
    word = _IF.match(text, location_end)
    if word is not None:
        at = next((mark for mark, sign in _marks(text, word.end()) if sign == ":"), len(text))
        condition = _part(text, word.end(), at)
        if not condition.text:
            raise _wrong(text, condition.at, "a condition is missing behind 'if'")
    return ProbeText(location, condition, () if at == len(text) else tuple(_expressions(text, at + 1)))


def probes_of(texts: Sequence[str]) -> list[Probe]:
    """Each with a label of its own: its location, with a number where an earlier one has it. Raises as parsed_probe."""
    found: dict[str, Probe] = {}
    for text in texts:
        parts = parsed_probe(text)
        label, count = parts.location.text, 2
        while label in found:
            label, count = f"{parts.location.text} ({count})", count + 1
        condition = None if parts.condition is None else parts.condition.text
        shown = [part.text for part in parts.expressions]
        logs = [one for one in shown if one.startswith('"')]
        show = tuple(one for one in shown if one not in logs)
        found[label] = Probe(parts.location.text, condition, show, label, log=" ".join(map(_unquoted, logs)))
    return list(found.values())


def expressions_of(text: str) -> list[str]:
    """Those of a list with commas between them. Raises VALIDATION_ERROR where one is empty."""
    return [part.text for part in _expressions(text, 0)]


def of_return(text: str) -> str:
    """The probe of a function's returns, from one of the function: `ns::f if …` -> `ns::f:return if …`.

    Raises VALIDATION_ERROR where it is of a line."""
    end = _end_of_location(text)
    location = text[:end].rstrip()
    if _LINE.search(location):
        raise _wrong(text, len(text) - len(text.lstrip()), "a line has no return, name the function")
    return text if location.endswith(":return") else f"{location}:return{text[len(location) :]}"


def _unquoted(text: str) -> str:
    """A message as it is between its quotes."""
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def _end_of_location(text: str) -> int:
    """Where `if`, the colon of the expressions, or the end of the text is."""
    at = len(text) - len(text.lstrip())
    if _IF.match(f" {text[at:]}"):
        return at
    if text.startswith('"', at):
        at = _behind_quotes(text, at)
    selector = _SELECTOR.match(text, at)
    at = at if selector is None else selector.end()
    while at < len(text):
        found = _BEHIND_COLON.match(text, at)
        if text.startswith("::", at):
            at += 2
        elif found is not None and not text[at - 1].isspace():
            at = found.end()
        elif text[at] == ":" or _IF.match(text, at):
            return at
        else:
            at += 1
    return at


def _expressions(text: str, start: int) -> Iterator[Part]:
    ends = [*(mark for mark, sign in _marks(text, start) if sign == ","), len(text)]
    for count, end in enumerate(ends, 1):
        part = _part(text, start, end)
        if not part.text:
            raise _wrong(text, min(part.at, end), "an expression is missing")
        if count > MAX_EXPRESSIONS:
            raise _wrong(text, part.at, f"it has more than {MAX_EXPRESSIONS} expressions")
        yield part
        start = end + 1


def _marks(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Commas and colons outside brackets, quotes, names and `?:`. Raises for brackets that do not fit."""
    open_: list[tuple[str, int]] = []
    choices = 0  # `?` outside brackets without their `:`
    at = start
    while at < len(text):
        sign = text[at]
        behind = _behind_word(text, at, start)
        if behind > at:
            at = behind
            continue
        if sign in _OPENING:
            open_.append((sign, at))
        elif sign in _CLOSING:
            if not open_ or open_.pop()[0] != _CLOSING[sign]:
                raise _wrong(text, at, f"'{sign}' closes nothing")
        elif not open_ and sign == "?":
            choices += 1
        elif not open_ and sign == ":" and choices:
            choices -= 1
        elif not open_ and sign in ",:":
            yield at, sign
        at += 1
    if open_:
        sign, at = open_[-1]
        raise _wrong(text, at, f"'{_OPENING[sign]}' is missing")


def _behind_word(text: str, at: int, start: int) -> int:
    """Where what is taken whole ends: quotes, words, `::`, arguments of a template; `at` where there is none."""
    if text[at] in "\"'`":
        return _behind_quotes(text, at)
    if text.startswith("::", at):
        return at + 2
    found = _WORD.match(text, at)
    if found is None and at > start and (text[at - 1].isalnum() or text[at - 1] == "_"):
        found = _ARGUMENTS.match(text, at)
    return at if found is None else found.end()


def _behind_quotes(text: str, at: int) -> int:
    mark, end = text[at], at + 1
    while end < len(text) and text[end] != mark:
        end += 2 if text[end] == "\\" and mark != "`" else 1
    if end >= len(text):
        raise _wrong(text, at, f"a second {mark} is missing")
    return end + 1


def _part(text: str, start: int, end: int) -> Part:
    found = text[start:end]
    return Part(found.strip(), start + len(found) - len(found.lstrip()))


def _wrong(text: str, at: int, reason: str) -> Exception:
    near = text[at : at + 12] or "the end"
    return failure("probe_wrong", probe=text[:200], at=at + 1, near=near, reason=reason, valid=_VALID)
