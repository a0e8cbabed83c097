from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from oracle import corpus


@pytest.fixture(scope="session", params=corpus.VARIANTS, ids=str)
def subject(
    request: pytest.FixtureRequest, build_program: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> corpus.Subject:
    """Each program of the corpus, read twice: by the scanner, and DIE by DIE."""
    variant: corpus.Variant = request.param
    folder = tmp_path_factory.mktemp("corpus")
    return corpus.read(variant.build(build_program, folder), folder, has_files=variant.has_files)
