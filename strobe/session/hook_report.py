"""What there is to say about a session's hooks: patterns without effect, and functions whose calls are not seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from strobe import _abi
from strobe._abi import Refusal
from strobe.capture.probes import Returns
from strobe.capture.refusals import SENTENCES
from strobe.session.hooks import Hook, Hooks
from strobe.symbols.select.copies import each_once
from strobe.symbols.select.patterns import called
from strobe.timeline.records import left_out_note

_SHOWN = 5  # names in one warning
_NOTED = 5_000  # functions of one note


def warnings(hooks: Hooks) -> list[str]:
    """What the selection says, and which functions could not be hooked safely and why."""
    by_reason: dict[Refusal, list[str]] = {}
    for key, function in hooks.wanted.items():
        reason = hooks.refused.get(key)
        if reason is not None:
            by_reason.setdefault(reason, []).append(function.name)
    refusals = (f"Not hooked: {_names(names)}: {SENTENCES[reason]}." for reason, names in by_reason.items())
    return [
        *hooks.selection.warnings,
        *hooks.modules.warnings(),
        *refusals,
        *_entries_only(hooks),
        *_valueless(hooks),
        *hooks.callers.warnings(),
        *hooks.extras.warnings(),
        *([] if hooks.probes is None else hooks.probes.warnings()),
    ]


def unmatched(hooks: Hooks) -> list[str]:
    """Active patterns that match nothing, or nothing that could be hooked."""
    recording = {(hook.function.module, hook.function.address) for hook in hooks.installed.values() if hook.enabled}
    matches = hooks.selection.matches
    return [
        text
        for text in hooks.patterns
        if not any((item.module, item.address) in recording for item in matches.get(text, ()))
    ]


def notes(hooks: Hooks, known: Mapping[str, object]) -> dict[str, object]:
    """What a session notes of its hooks, by which a query that finds nothing says why. `known`: its notes so far."""
    of_code: dict[str, Mapping[str, object]] = {
        "inlined_only": _inlined_only(hooks),
        "partly_inlined": hooks.partly_inlined,
        "folded": hooks.folded,
        "unseen": hooks.unseen,
    }
    of_hooks: dict[str, Mapping[str, object]] = {
        "refused": _refused(hooks),
        "namesakes": _namesakes(hooks),
        "same_code": {other: name for name, others in hooks.selection.same_code.items() for other in others},
    }
    found = {name: functions for name, functions in of_code.items() if functions}
    found |= {name: functions for name, functions in of_hooks.items() if functions or name in known}
    noted: dict[str, object] = {name: dict(list(functions.items())[:_NOTED]) for name, functions in found.items()}
    left_out = {
        name: left_out_note(list(functions)[_NOTED:]) for name, functions in found.items() if len(functions) > _NOTED
    }
    if left_out or "left_out" in known:
        noted["left_out"] = left_out
    return noted


def _enabled(hooks: Hooks) -> list[Hook]:
    wanted = (hooks.installed.get(key) for key in hooks.wanted)
    return [hook for hook in wanted if hook is not None and hook.enabled]


def _valueless(hooks: Hooks) -> list[str]:
    names = [hook.function.name for hook in _enabled(hooks) if not hook.has_values]
    if not names:
        return []
    return [
        f"Recorded without arguments and results: {_names(names)}: a session takes values from "
        f"{_abi.CAPTURE_CAPACITY:,} places at most, all functions together. Start a new session with fewer functions."
    ]


def _entries_only(hooks: Hooks) -> list[str]:
    names = [hook.function.name for hook in _enabled(hooks) if hook.returns is Returns.NEVER]
    if not names:
        return []
    return [
        f"Recorded without return: {_names(names)}: their module has no unwind information for them (.eh_frame), "
        "and may look for return addresses by itself."
    ]


def _inlined_only(hooks: Hooks) -> dict[str, int]:
    """Functions of the program's own modules that exist only as inlined copies, with the number of sites."""
    found: dict[str, int] = {}
    for symbols in hooks.own:
        found |= symbols.inlined_only
    return found


def _refused(hooks: Hooks) -> dict[str, str]:
    """Functions that match and could not be hooked, and why."""
    found = {item.name: hooks.refused[key] for key, item in hooks.wanted.items() if key in hooks.refused}
    return {name: SENTENCES[why] for name, why in found.items()}


def _namesakes(hooks: Hooks) -> dict[str, int]:
    """Names of traced functions that others have, too, which no pattern asks for, and how many those are."""
    if all(pattern.kind == "name" for pattern in hooks.patterns.values()):
        return {}  # which match all of a name
    wanted = {(item.module, item.address) for item in hooks.selection.functions}
    names = {item.name for item in hooks.selection.functions}
    found = each_once(list(called(names, hooks.own)), hooks.own)
    others = Counter(item.name for item in found if (item.module, item.address) not in wanted)
    return dict(others.most_common())


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(Counter(names).keys() if len(names) <= _SHOWN else names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
