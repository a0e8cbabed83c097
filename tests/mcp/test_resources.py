"""What is too big for a tool's answer is bounded as a resource, too."""

from __future__ import annotations

from support.mcp_wire import Wire

from strobe.mcp import artefacts

LINES, LETTERS = 6_000, 2_000


def test_the_newest_output_within_its_size(wire: Wire) -> None:
    launch = {"command": "/usr/bin/seq", "args": ["-f", f"%0{LETTERS}.0f", str(LINES)], "projectRoot": "/", "trace": []}
    session = wire.good("debug_launch", **launch, wait={"until": "exit", "timeoutMs": 45_000})["sessionId"]
    (content,) = wire.request("resources/read", {"uri": f"strobe://sessions/{session}/output.txt"})["result"][
        "contents"
    ]
    lines = content["text"].splitlines()
    shown = artefacts.OUTPUT_BYTES // (LETTERS + 1)
    assert [int(line) for line in lines] == list(range(LINES - shown + 1, LINES + 1))
    wire.good("debug_stop", sessionId=session)
