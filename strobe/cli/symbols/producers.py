"""Which compilers made a file: as its debug information says, else as its section .comment does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from strobe.cli.symbols.subject import Subject
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.image import StoredSection

_UNITS_ASKED = 8  # spread over the file: reading the first DIE of one takes milliseconds
_COMMENT_BYTES = 4096
_SHOWN_FLAGS = re.compile(r" (-O\w*|-flto\b|-fsanitize=\S+)")


def compilers(subject: Subject, sections: Sequence[StoredSection]) -> list[str]:
    """ "GNU C++17 12.2.0 -O2"; empty where nothing is said."""
    try:
        found = _producers(subject) if subject.module.has_debug_info else []
    except UNREADABLE:  # the rest of the summary is worth having
        found = []
    return found or _comments(subject, sections)


def _producers(subject: Subject) -> list[str]:
    debug_info = subject.details.debug_info
    units = debug_info.unit_offsets()
    asked = units[:: -(-len(units) // _UNITS_ASKED)] if units else []
    texts = (debug_info.dwarf.get_CU_at(offset).get_top_DIE().attributes.get("DW_AT_producer") for offset in asked)
    return list(dict.fromkeys(_short(text.value.decode("utf-8", "replace")) for text in texts if text is not None))


def _short(producer: str) -> str:
    """Name, version, and those flags that change what can be seen."""
    name = re.split(r" -|\s*\(https?:", producer)[0]
    flags = dict.fromkeys(_SHOWN_FLAGS.findall(producer))
    return " ".join([name, *list(flags)])


def _comments(subject: Subject, sections: Sequence[StoredSection]) -> list[str]:
    section = next((section for section in sections if section.name == ".comment"), None)
    if section is None:
        return []
    with Path(subject.path).open("rb") as file:
        file.seek(section.offset)
        texts = file.read(min(section.size, _COMMENT_BYTES)).decode("utf-8", "replace").split("\0")
    return list(dict.fromkeys(text for text in texts if text and not text.startswith("Linker:")))
