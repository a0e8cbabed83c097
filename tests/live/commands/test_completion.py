"""The shell's completion, as bash does it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.programs import require

# what bash does at a Tab: the function that is registered for the command is called, with the words so far
TAB = """
eval "$(_STROBE_COMPLETE=bash_source strobe)"
complete -p strobe >/dev/null || exit 1
compopt() { COMPREPLY+=("<$1 $2>"); }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_strobe_completion strobe
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["r"], {"run", "read"}),
        (["run", "--su"], {"--summary"}),
        (["query", "--group-by", ""], {"function", "thread", "file"}),
        (["sessions", ""], {"delete", "list"}),
        (["daemon", "st"], {"start", "status", "stop"}),
        (["symbols", "--ty"], {"--type"}),
        (["run", "./pl"], {"<-o default>"}),  # the names of files, which bash knows itself
        (["symbols", "./pl"], {"<-o default>"}),
        (["run", "-o", "ca"], {"<-o default>"}),
    ],
)
def test_bash_completes(words: list[str], found: set[str], tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [require("bash"), "--norc", "-c", TAB, "bash", "strobe", *words]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.stderr, done.returncode) == ("", 0)
    assert set(done.stdout.split("\n")) - {""} == found
