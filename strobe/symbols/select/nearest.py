"""Names like the one that somebody meant: case, missing scopes, `.` for `::`, parameters, misspellings in patterns."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Sequence
from itertools import chain

from strobe.symbols.module_symbols import ModuleSymbols
from strobe.symbols.names import SCOPE, scoped, scoped_all

_CANDIDATES = 1000  # names whose last part is near, compared as a whole
_LONGEST = 200  # letters of what was asked for
_ARGUMENTS = re.compile(r"[<(\[].*$", re.DOTALL)
_PARAMETERS = re.compile(r"\([^()]*\)\s*(?:const)?$")
_OTHER_SCOPES = re.compile(r"(?<=\w)(?:\.|#|->|:(?!:))(?=[\w*~])")  # of other languages


def nearest_functions(wanted: str, modules: Sequence[ModuleSymbols], limit: int = 5) -> list[str]:
    """Up to `limit` names of functions, or patterns, best first, for one that matches none."""
    names = list(chain.from_iterable(_names(module) for module in modules))
    scoped_names = list(chain.from_iterable(module.scoped_names for module in modules))
    plain = _OTHER_SCOPES.sub("::", _PARAMETERS.sub("", wanted[:_LONGEST].strip()))
    return _nearest(plain, names, scoped_names, limit)


def nearest_files(wanted: str, names: Iterable[str], limit: int = 5) -> list[str]:
    """Up to `limit` of the names of files, best first."""
    unique = list(dict.fromkeys(names))
    wanted = wanted[:_LONGEST]
    distances = zip(_distances(wanted, unique, part=True), _distances(wanted, unique), unique, strict=True)
    near = (row for row in distances if row[0] <= max(1, len(wanted) // 3))
    return [name for *_, name in heapq.nsmallest(limit, near)]


def nearest_names(wanted: str, names: Iterable[str], limit: int = 5) -> list[str]:
    """Up to `limit` of `names`, best first. Of a pattern, what stands between its wildcards counts."""
    all_names = list(names)
    plain = _PARAMETERS.sub("", wanted[:_LONGEST].strip())
    return _nearest(plain, all_names, scoped_all(all_names), limit)


def _names(module: ModuleSymbols) -> Sequence[str]:
    from strobe.symbols.function_table import FunctionTable

    functions = module.functions
    return functions.names if isinstance(functions, FunctionTable) else [function.name for function in functions]


def _nearest(wanted: str, names: Sequence[str], scoped_names: Sequence[str], limit: int) -> list[str]:
    sought = scoped(wanted)
    parts = sought.split(SCOPE)
    if not any(part.strip("*") for part in parts):
        return []
    if not parts[-1].strip("*"):
        below = sought.rstrip("*")
        inside = [name for name, own in zip(names, scoped_names, strict=True) if own.startswith(below)]
        return list(dict.fromkeys(inside))[:limit] or _nearest_scopes(parts, scoped_names, limit)
    last = _bare(parts[-1])
    lasts = [name.rpartition(SCOPE)[2] for name in scoped_names]
    near = _near_parts(last, set(lasts))
    found = [(index, near[own]) for index, own in enumerate(lasts) if own in near]
    found = heapq.nsmallest(_CANDIDATES, found, key=lambda pair: pair[1])
    whole = sought.replace("*", "")
    distances = _distances(whole, [scoped_names[index] for index, _ in found])
    ranked = sorted(
        (distance, far, len(names[index]), names[index])
        for (index, distance), far in zip(found, distances, strict=True)
    )
    return list(dict.fromkeys(name for *_, name in ranked))[:limit]


def _near_parts(last: str, parts: Iterable[str]) -> dict[str, int]:
    """Last parts of names that are near enough -> by how many letters they differ."""
    literals = [piece for piece in last.split("*") if piece]
    literal = max(literals, key=len)
    allowed = max(1, len(literal) // 3)
    candidates = list(parts)
    bare = [_bare(part) if part[-1:] in (">", ")", "]") else part for part in candidates]
    distances = _distances(literal, bare, part="*" in last)
    near = {part: distance for part, distance in zip(candidates, distances, strict=True) if distance <= allowed}
    if not near and len(literal) > 3:  # the beginning or the middle of a name
        lowered = literal.lower()
        near = {part: allowed + 1 for part in candidates if lowered in part.lower()}
    return near


def _nearest_scopes(parts: list[str], scoped_names: Sequence[str], limit: int) -> list[str]:
    """For `adio::*`: `audio::*`. What the pattern ends with is kept."""
    kept = len(parts)
    while kept and not parts[kept - 1].strip("*"):
        kept -= 1
    tail = parts[kept:]
    wanted = SCOPE.join(parts[:kept])
    scopes: dict[str, None] = {}
    for prefix in dict.fromkeys(name.rpartition(SCOPE)[0] for name in scoped_names):
        pieces = prefix.split(SCOPE)
        scopes.update((SCOPE.join(pieces[:count]), None) for count in range(1, len(pieces) + 1) if prefix)
    candidates = list(scopes)
    literal = wanted.replace("*", "")
    inner = [scope.rpartition(SCOPE)[2] for scope in candidates]
    whole_far, inner_far = _distances(literal, candidates), _distances(literal, inner)
    allowed = max(1, len(literal) // 3)
    ranked = sorted(
        (min(far, own), far, scope)
        for far, own, scope in zip(whole_far, inner_far, candidates, strict=True)
        if min(far, own) <= allowed
    )
    return ["::".join([*scope.split(SCOPE), *tail]) for *_, scope in ranked[:limit]]


def _bare(component: str) -> str:
    """A component without template arguments, or parameters that were written by mistake."""
    return _ARGUMENTS.sub("", component) or component


def _distances(wanted: str, texts: Sequence[str], part: bool = False) -> list[int]:
    from strobe._core import edit_distances

    return edit_distances(wanted, texts, part)
