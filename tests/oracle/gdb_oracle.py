"""Asks gdb: a script of this folder runs inside of it, question and answer are JSON files."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from support import programs

HERE = Path(__file__).resolve().parent


def ask(script: str, program: Path, question: Any, folder: Path) -> Any:
    """The script's answer about `program`. Skips the test where gdb is not installed."""
    gdb = programs.require("gdb")
    request, answer = folder / "request.json", folder / "answer.json"
    request.write_text(json.dumps(question))
    environment = os.environ | {"STROBE_REQUEST": str(request), "STROBE_ANSWER": str(answer), "LC_ALL": "C.UTF-8"}
    command = [gdb, "-nx", "-batch", "-iex", "set debuginfod enabled off", "-x", str(HERE / script), str(program)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    assert answer.exists(), f"gdb gave no answer: {result.stdout}\n{result.stderr}"
    return json.loads(answer.read_text())
