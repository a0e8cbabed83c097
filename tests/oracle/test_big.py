"""Programs of real size, on demand: STROBE_BIG_ORACLE=1 STROBE_BIG_PROGRAMS=/path/one:/path/two.

Each has debug information of its own. Up to 64 MB of it are walked DIE by DIE, which takes minutes; of more, functions
are compared with the symbol table.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from oracle import corpus, corpus_dies, corpus_lines, corpus_rows

from strobe.symbols import ElfResolver
from strobe.symbols.objects.formats import open_image
from strobe.symbols.objects.image import table_functions

PROGRAMS = os.environ.get("STROBE_BIG_PROGRAMS", "").split(os.pathsep)
MAX_WALKED_BYTES = 64 << 20
pytestmark = [
    pytest.mark.skipif(os.environ.get("STROBE_BIG_ORACLE") != "1", reason="takes minutes: STROBE_BIG_ORACLE=1"),
    pytest.mark.timeout(3600),
]


@pytest.fixture(scope="module", params=[path for path in PROGRAMS if path] or [""], ids=os.path.basename)
def program(request: pytest.FixtureRequest) -> Path:
    if not request.param:
        pytest.fail("STROBE_BIG_PROGRAMS names no program")
    return Path(request.param)


@pytest.fixture(scope="module")
def dies(program: Path, tmp_path_factory: pytest.TempPathFactory) -> corpus_dies.Dies:
    image = open_image(str(program))
    size = image.section_size(".debug_info")
    image.close()
    if size > MAX_WALKED_BYTES:
        pytest.skip("too large to be walked")
    return corpus_dies.read(corpus.plain_copy(program, tmp_path_factory.mktemp("big")))


def test_functions_variables_and_types_are_those_of_all_dies(program: Path, dies: corpus_dies.Dies) -> None:
    index = corpus_rows.scan(program)
    assert index.damage() == []
    assert corpus_rows.scanned_functions(index, has_files=True) == corpus_rows.walked_functions(dies)
    assert corpus_rows.scanned_variables(index, has_files=True) == corpus_rows.walked_variables(dies)
    assert set(corpus_rows.scanned_types(index)) == corpus_rows.walked_types(dies)


def test_lines_are_those_of_the_decoded_tables(program: Path, dies: corpus_dies.Dies) -> None:
    lines = ElfResolver().lines(str(program))
    table = corpus_lines.decoded(dies)
    assert lines is not None and table
    for address in [line.address for line in table[:: len(table) // 300 + 1] if line.end > line.address]:
        found, expected = lines.at(address), corpus_lines.at(table, address)
        assert found is not None and expected is not None
        assert (found.address, found.line, found.column) == (expected.address, expected.line, expected.column)


def test_functions_are_those_of_the_symbol_table(program: Path) -> None:
    rows = corpus_rows.scanned_functions(corpus_rows.scan(program), has_files=False).values()
    parts = {start: end - start for row in rows for start, end in row.place}
    image = open_image(str(program))
    symbols = {function.address: function.size for function in table_functions(image) if function.size}
    image.close()
    # assembly has symbols and no functions; what a linker folds or hides has functions and no symbols
    assert len(parts.keys() & symbols.keys()) >= 0.99 * len(parts) > 0
    assert {start for start, size in parts.items() if symbols.get(start, size) != size} == set()
