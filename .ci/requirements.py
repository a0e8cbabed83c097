"""Print requirements out of pyproject.toml, one per line: `build`, or an optional group (`test`, `dev`, `docs`)."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

# The build back end brings these where it builds in isolation; without isolation somebody has to.
BUILD_PROGRAMS = ["cmake>=3.25", "ninja>=1.11"]


def requirements(group: str) -> list[str]:
    """Requirements of `group` as written there."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    if group == "build":
        return [*project["build-system"]["requires"], *BUILD_PROGRAMS]
    return list(project["project"]["optional-dependencies"][group])


if __name__ == "__main__":
    print(*requirements(sys.argv[1]), sep="\n")
