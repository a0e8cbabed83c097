"""Variables with an address of their own, and named types, are those of a walk over all DIEs: see corpus_dies.py."""

from __future__ import annotations

from oracle import corpus_rows
from oracle.corpus import Subject


def test_globals_static_locals_and_thread_locals_are_those_of_all_dies(subject: Subject) -> None:
    found = corpus_rows.scanned_variables(subject.index, has_files=subject.dies.has_files)
    expected = corpus_rows.walked_variables(subject.dies)
    assert found == expected
    if subject.program.name == "split":
        assert {(row.name, row.place[1]) for row in found.values()} >= {
            ("split::depth", True),
            ("split::Checked::take::taken", False),
        }


def test_types_are_those_of_all_dies(subject: Subject) -> None:
    found = corpus_rows.scanned_types(subject.index)
    assert set(found) == corpus_rows.walked_types(subject.dies)
    assert len(found) == len(set(found)) > 1
