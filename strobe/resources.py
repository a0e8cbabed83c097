"""Where the built files of the package lie: beside the native module, in an editable installation too."""

from __future__ import annotations

from pathlib import Path

from strobe import _core

INSTALLED = Path(_core.__file__).resolve().parent
AGENT = INSTALLED / "agent" / "agent.js"
RECORDER = INSTALLED / "agent" / "recorder.c"
NATIVE_RECORDER = INSTALLED / "_recorder.so"
TIMELINE_EXTENSION = INSTALLED / "_timeline.so"
DEMO_PROGRAM = INSTALLED / "demo" / "strobe_demo"
