"""How often each line of a program is executed, as gcov counts it in a build without optimization."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

from support import programs

_TIMEOUT_S = 60


def executions(source: Path, folder: Path) -> dict[int, int]:
    """Of a program of one file, by line, all instances of a template together; lines without code are left out.
    `folder`: for what is built and counted."""
    language = programs.LANGUAGES[source.suffix]
    built = folder / "covered"
    command = [programs.require(language.compiler), *language.flags, "-O0", "--coverage", f"-I{programs.PROGRAMS}"]
    subprocess.run([*command, source, "-o", built, *language.last_flags], cwd=folder, check=True, timeout=_TIMEOUT_S)
    subprocess.run([built], cwd=folder, stdout=subprocess.DEVNULL, check=False, timeout=_TIMEOUT_S)  # some fail
    (data,) = folder.glob("*.gcda")
    command = [programs.require("gcov"), "--json-format", "--stdout", data.name]
    told = subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=_TIMEOUT_S).stdout
    counts: Counter[int] = Counter()
    for file in json.loads(told)["files"]:
        if Path(file["file"]).name == source.name:
            for row in file["lines"]:
                counts[row["line_number"]] += row["count"]
    return dict(counts)
