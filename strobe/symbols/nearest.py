"""Names like the one that somebody meant: case, missing scopes, template arguments, misspellings."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable
from difflib import SequenceMatcher

from strobe.symbols.names import SCOPE, scoped

_CANDIDATES = 48  # compared letter by letter; the rest is told apart by pairs of letters
_LEAST_RATIO = 0.6
_ARGUMENTS = re.compile(r"[<(].*$", re.DOTALL)


def nearest_names(wanted: str, names: Iterable[str], limit: int = 5) -> list[str]:
    """Up to `limit` of `names`, best first. Of a pattern, what stands between its wildcards counts."""
    unique = list(dict.fromkeys(names))
    sought = scoped(wanted).lower()
    last = _bare(_literal(sought))
    if not last:
        return []
    best = [(name, _rank(sought, last, name)) for name in _shortlist(last, sought, unique)]
    good = [(score, name) for name, score in best if score >= _LEAST_RATIO]
    return [name for _, name in heapq.nsmallest(limit, good, key=lambda pair: (-pair[0], len(pair[1]), pair[1]))]


def _literal(sought: str) -> str:
    """Last component that is not wildcards only."""
    pieces = [piece.replace("*", "") for piece in sought.split(SCOPE)]
    return next((piece for piece in reversed(pieces) if piece), "")


def _bare(component: str) -> str:
    """A component without template arguments, or parameters that were written by mistake."""
    return _ARGUMENTS.sub("", component) or component


def _shortlist(last: str, sought: str, names: list[str]) -> list[str]:
    pairs = _pairs(last)
    prefix = sought.split("*")[0]

    def common(name: str) -> int:
        lowered = name.lower()
        tail = lowered[-3 * len(last) - 24 :]
        score = sum(pair in tail for pair in pairs) if pairs else int(last in tail)
        return score + (len(pairs) if last in lowered else 0) + int(lowered.startswith(prefix.replace(SCOPE, "::")))

    return heapq.nlargest(_CANDIDATES, names, key=common)


def _pairs(text: str) -> frozenset[str]:
    return frozenset(text[index : index + 2] for index in range(len(text) - 1))


def _rank(sought: str, last: str, name: str) -> float:
    """1 or more: the same last component, or below the scopes that were named; else likeness from 0 to 1."""
    parts = scoped(name).lower().split(SCOPE)
    own = _bare(parts[-1])
    whole = SequenceMatcher(None, sought.replace("*", ""), SCOPE.join(parts)).ratio()
    if own == last:
        return 1 + whole
    scopes = [piece for piece in sought.split(SCOPE) if piece.strip("*")]
    if scopes and parts[: len(scopes)] == scopes:
        return 1 + whole / 2
    return SequenceMatcher(None, last, own).ratio()
