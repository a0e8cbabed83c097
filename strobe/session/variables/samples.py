"""What one tick of a poll gives, as the text of its event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from strobe.errors import failure
from strobe.limits import SAMPLE_BYTES
from strobe.timeline import snapshots
from strobe.values.decode import text
from strobe.values.reading import ReadResult, ReadTarget

_PREVIEW_BYTES = 32


def labels_of(targets: Sequence[ReadTarget]) -> list[str]:
    """What the targets are called in events: as they were asked for, with more where two would be called the same."""
    texts = [target.text.strip() for target in targets]
    meant: dict[str, set[ReadTarget]] = {}
    for label, target in zip(texts, targets, strict=True):
        meant.setdefault(label, set()).add(target)
    return [
        label if len(meant[label]) == 1 or target.variable is not None else _typed(label, target)
        for label, target in zip(texts, targets, strict=True)
    ]


def _typed(label: str, target: ReadTarget) -> str:
    return f"({target.type}*){label}" if target.size is None else f"({target.type}*){label}, {target.size} bytes"


def document(labels: Sequence[str], results: Sequence[ReadResult]) -> str:
    """The text of a tick's event."""
    values: dict[str, Any] = {}
    errors: dict[str, str] = {}
    left = SAMPLE_BYTES
    for label, result in zip(labels, results, strict=True):
        if result.error is None:
            value = _plain(result)
            size = len(snapshots.dump({label: value}))
            if size <= left:
                left -= size
                values[label] = value
                continue
            hint = "Poll a part of it, or with less depth."
            errors[label] = failure("too_much_read", bytes=size, limit=SAMPLE_BYTES, hint=hint).sentences
        else:
            errors[label] = result.error.sentences
    return snapshots.dump(values, errors)


def _plain(result: ReadResult) -> Any:
    """As JSON has it; of bytes the first ones, in hexadecimal."""
    if result.content is None:
        return text.plain(result.value)
    more = " …" if len(result.content) > _PREVIEW_BYTES else ""
    return result.content[:_PREVIEW_BYTES].hex(" ") + more
