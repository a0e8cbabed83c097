"""Names that a probe gives to its values: `up = s->p[i / 2]`."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from strobe.dataclass import replace
from strobe.expressions.syntax import ExpressionError
from strobe.expressions.tokens import Token, tokens
from strobe.model import Probe

_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)\s*(\S.*)\Z", re.DOTALL)


def named(shown: str) -> tuple[str, str]:
    """The name of a value, and the expression: of `key = user_key.data` that is `key`, else the expression itself."""
    found = _NAMED.match(shown)
    return (shown, shown) if found is None else (found[1], found[2])


def written_out(probe: Probe, is_programs: Callable[[str], bool]) -> Probe:
    """The probe with the expressions themselves where its condition, or a later value, uses a name that it gives.

    `is_programs`: whether the program has something of that name there; then it keeps its meaning.
    """
    given: dict[str, str] = {}
    shows = []
    for shown in probe.show:
        label, text = named(shown)
        whole = _written_out(text, given, is_programs)
        shows.append(shown if whole == text else whole if label == text else f"{label} = {whole}")
        if label != text:
            given[label] = whole
    where = None if probe.where is None else _written_out(probe.where, given, is_programs)
    return replace(probe, show=tuple(shows), where=where)


def _written_out(text: str, given: dict[str, str], is_programs: Callable[[str], bool]) -> str:
    try:
        words = tokens(text)
    except ExpressionError:
        return text
    own = {word.value for word, behind in pairwise(words) if (behind.kind, behind.value) == ("name", "in")}
    for before, word in reversed(list(pairwise([None, *words]))):
        if word is None or word.kind != "name" or word.value in own or _is_member(before):
            continue
        name = str(word.value)
        if name in given and not is_programs(name):
            text = f"{text[: word.at]}({given[name]}){text[word.end :]}"
    return text


def _is_member(before: Token | None) -> bool:
    return before is not None and before.kind == "mark" and before.value in (".", "->")
