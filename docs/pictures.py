"""The pictures of README.md and of the pages, as SVG: two of what Strobe really prints, two drawn from tables below.

`python docs/pictures.py` makes those in docs/pictures anew (`make pictures`). No library is used.
"""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import subprocess
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from replay import CLONE, README, SECONDS, Block, Clone, blocks, clone, replayed

FOLDER = Path(__file__).resolve().parent / "pictures"
Run = tuple[str, str]  # text, and how it is shown: of _COLOURS

# ---- terminals

_COLUMNS, _ROWS = 80, 18
_CHARACTER, _LINE, _EDGE = 7.83, 17, 12  # 13 px monospace
_BACK, _FRONT = "#0d1117", "#d1d7e0"
_COLOURS = {  # ANSI sequence -> fill; those of strobe/cli/output/palette.py
    "": _FRONT,
    "1": "#ffffff",
    "2": "#8b949e",
    "32": "#7ee787",
    "33": "#e3b341",
    "35": "#d2a8ff",
    "1;31": "#ff7b72",
    "1;33": "#f2cc60",
    "1;36": "#79c0ff",
}
_SEQUENCE = re.compile(r"\x1b\[([\d;]*)m")


def terminal(lines: Sequence[Sequence[Run]]) -> str:
    """What stood in a terminal."""
    shown = [*lines[:_ROWS], *[[] for _ in range(_ROWS - len(lines))]]
    width, height = round(_COLUMNS * _CHARACTER + 2 * _EDGE), _ROWS * _LINE + 2 * _EDGE
    body = [f'<rect width="{width}" height="{height}" rx="8" fill="{_BACK}"/>']
    for row, runs in enumerate(shown):
        column = 0
        for text, colour in runs:  # each at its column, whatever font there is
            body.append(_written(_EDGE + column * _CHARACTER, _EDGE + _LINE * row + 13, text, colour))
            column += len(text)
    font = 'font-family="Menlo,Consolas,\'DejaVu Sans Mono\',monospace" font-size="13"'
    return _svg(width, height, body, f'{font} style="white-space:pre" xml:space="preserve"')


def _written(x: float, y: int, text: str, colour: str) -> str:
    weight = ' font-weight="bold"' if colour.startswith("1") else ""
    return f'<text x="{x:.1f}" y="{y}" fill="{_COLOURS[colour]}"{weight}>{escape(text)}</text>'


def coloured(text: str) -> list[list[Run]]:
    """Lines of a terminal's output as runs."""
    lines: list[list[Run]] = []
    colour = ""
    for line in text.replace("\r", "").split("\n"):
        runs: list[Run] = []
        parts = _SEQUENCE.split(line)
        for place, part in enumerate(parts):
            if place % 2:
                colour = "" if part in ("0", "") else part
            elif part:
                runs.append((part, colour))
        lines.append(runs)
    return lines


def in_terminal(command: str, where: Clone) -> str:
    """What a command prints in a terminal, its colours included."""
    ours, its = pty.openpty()
    environment = {**where.environment, "TERM": "xterm-256color", "COLUMNS": str(_COLUMNS)}
    started = subprocess.Popen(
        shlex.split(command), cwd=where.folder, env=environment, stdin=its, stdout=its, stderr=its
    )
    os.close(its)
    printed = b""
    try:
        while part := os.read(ours, 65536):
            printed += part
    except OSError:  # so a terminal ends
        pass
    started.wait(SECONDS)
    os.close(ours)
    return printed.decode()


def of_run(block: Block, where: Clone) -> str:
    """The README's example of the command line."""
    build, command = (line[2:] for line in block.text.splitlines() if line.startswith("$ "))
    where.command(build)
    lines = coloured(in_terminal(command, where))
    lines = [[(f"$ {command}", "1")], *(line for line in lines if not _is_passing(line))]
    return terminal([_cut(line) for line in lines])


def _is_passing(line: Sequence[Run]) -> bool:
    return "".join(text for text, _ in line).endswith(" ...")


def _cut(line: Sequence[Run]) -> list[Run]:
    """What has no room is left out, and `…` stands there."""
    room, kept = _COLUMNS, list[Run]()
    for text, colour in line:
        kept.append((text if len(text) <= room else text[: room - 1] + "…", colour))
        room -= len(text)
        if room <= 0:
            break
    return kept


_SHOWN = {  # fields of an answer that the picture has room for
    "debug_trace": ("status",),
    "debug_launch": ("sessionId", "pid", "status"),
    "debug_query": ("events", "totalCount", "ended"),
    "events": ("timestampNs", "function", "sourceFile", "line", "durationNs", "returnValue", "threadName"),
}


def of_agent(block: Block, where: Clone) -> str:
    """The README's example over MCP: each call, and the main part of what it was answered."""
    lines: list[list[Run]] = []
    for call, text in _calls(replayed(block, where)):
        name, _, arguments = call.partition(" ")
        answer = _picked(json.loads(text), _SHOWN[name])
        if "events" in answer:
            answer["events"] = [_picked(event, _SHOWN["events"]) for event in answer["events"]]
        lines += _wrapped([("● ", "32"), (name, "1;36"), (" " + arguments, "")], "  ")
        shown = json.dumps(answer, ensure_ascii=False)[:-1] + ", …}"
        lines += _wrapped([("  → ", "33"), (shown.replace(CLONE, "~/strobe"), "2")], "    ")
        lines.append([])
    return terminal(lines)


def _picked(answer: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: answer[name] for name in names}


def _calls(transcript: str) -> list[tuple[str, str]]:
    found = re.findall(r"^(debug_\w+ .*)\n((?: .*\n)+)", transcript, re.MULTILINE)
    return [(str(call), str(answer)) for call, answer in found]


def _wrapped(runs: Iterable[Run], indent: str) -> list[list[Run]]:
    """Broken between words; `indent`: before all lines but the first."""
    *head, (text, colour) = runs
    before = "".join(part for part, _ in head)
    rows = textwrap.wrap(
        text,
        _COLUMNS,
        initial_indent="." * len(before),
        subsequent_indent=indent,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
    first: list[Run] = [*head, (rows[0][len(before) :], colour)]
    return [first, *([(row, colour)] for row in rows[1:])]


# ---- diagrams

_INK, _SOFT, _LINES = "#24292f", "#57606a", "#8c959f"
_UP, _DOWN = "#1f6f8b", "#b35900"


@dataclass(frozen=True, slots=True)
class Box:
    """`title` in bold, then lines of text."""

    x: int
    y: int
    width: int
    height: int
    title: str
    lines: tuple[str, ...] = ()
    fill: str = "#ffffff"


@dataclass(frozen=True, slots=True)
class Arrow:
    """From point to point; `label` beside its middle."""

    points: tuple[tuple[int, int], ...]
    colour: str
    label: str = ""
    at: tuple[int, int] = (0, 0)
    anchor: str = "middle"


def diagram(width: int, height: int, boxes: Sequence[Box], arrows: Sequence[Arrow], notes: Sequence[Arrow] = ()) -> str:
    body = ['<rect width="100%" height="100%" fill="#ffffff"/>', "<defs>"]
    body += [_head(colour) for colour in (_UP, _DOWN, _LINES)]
    body.append("</defs>")
    for box in boxes:
        body.append(
            f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="6" fill="{box.fill}" '
            f'stroke="{_LINES}"/>'
        )
        body.append(_text(box.x + 12, box.y + 21, box.title, 14, _INK, bold=True))
        body += [_text(box.x + 12, box.y + 40 + 17 * row, line, 12, _SOFT) for row, line in enumerate(box.lines)]
    for arrow in arrows:
        path = "M" + "L".join(f"{x} {y}" for x, y in arrow.points)
        end = f"url(#head{arrow.colour[1:]})"
        body.append(f'<path d="{path}" fill="none" stroke="{arrow.colour}" stroke-width="1.8" marker-end="{end}"/>')
    for arrow in [*arrows, *notes]:
        if arrow.label:
            body.append(_text(*arrow.at, arrow.label, 12, arrow.colour, anchor=arrow.anchor))
    return _svg(width, height, body, 'font-family="sans-serif"')


def _head(colour: str) -> str:
    return (
        f'<marker id="head{colour[1:]}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
    )


def _text(x: int, y: int, text: str, size: int, colour: str, bold: bool = False, anchor: str = "start") -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'
    )


def _svg(width: int, height: int, body: Sequence[str], style: str) -> str:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n' + "\n".join(body) + "\n</svg>\n"


def parts() -> str:
    """What runs where, and what goes between."""
    boxes = [
        Box(10, 10, 300, 480, "your program", fill="#f6f8fa"),
        Box(30, 50, 260, 50, "a traced function", ("its first bytes: a jump",)),
        Box(
            30, 130, 260, 66, "trampoline", ("saves registers, calls the recorder,", "runs the displaced instructions")
        ),
        Box(30, 226, 260, 66, "recorder (csrc/recorder)", ("one record per call and return,", "exact totals, no lock")),
        Box(30, 380, 260, 66, "agent (agent/, in Frida)", ("makes trampolines, reports libraries", "that come and go")),
        Box(390, 226, 160, 66, "segment", ("a file in /dev/shm,", "mapped by both sides"), "#eaf4f7"),
        Box(640, 10, 350, 480, "host: daemon, command or test", fill="#f6f8fa"),
        Box(660, 50, 310, 50, "mcp/ tools, cli/ commands, api.py", ("what is asked, what is answered",)),
        Box(660, 138, 310, 50, "session/", ("one session: where up and down meet",)),
        Box(660, 226, 135, 66, "timeline/", ("queries as SQL", "over the segment")),
        Box(810, 226, 160, 66, "symbols/, values/", ("debug information,", "locations, types")),
        Box(660, 380, 310, 66, "capture/ and csrc/patch", ("starts and attaches, talks to the agent,", "writes jumps")),
    ]
    arrows = [
        Arrow(((160, 100), (160, 128)), _UP),
        Arrow(((160, 196), (160, 224)), _UP),
        Arrow(((290, 259), (388, 259)), _UP, "records", (339, 250)),
        Arrow(((550, 259), (658, 259)), _UP, "decoded late", (596, 250)),
        Arrow(((732, 226), (732, 190)), _UP),
        Arrow(((732, 138), (732, 102)), _UP),
        Arrow(((898, 100), (898, 136)), _DOWN),
        Arrow(((898, 188), (898, 224)), _DOWN),
        Arrow(((898, 292), (898, 378)), _DOWN),
        Arrow(((660, 404), (292, 404)), _DOWN, "probe specs; trampolines come back", (476, 396)),
        Arrow(
            ((700, 446), (700, 466), (20, 466), (20, 75), (28, 75)), _DOWN, "jumps, while threads are held", (476, 458)
        ),
    ]
    notes = [
        Arrow((), _UP, "events go up", (475, 60)),
        Arrow((), _DOWN, "commands go down", (475, 80)),
    ]
    return diagram(1000, 500, boxes, arrows, notes)


def layers() -> str:
    """Who imports whom: strobe/ by the ranks of tests/unit/test_structure.py, csrc/ below."""
    python = (
        Box(10, 84, 140, 84, "ground", ("errors, model, _abi,", "config, threads,", "calls, resources")),
        Box(180, 93, 150, 66, "symbols/", ("files, DWARF, types,", "patterns to functions")),
        Box(360, 40, 140, 66, "capture/", ("the only import", "of frida")),
        Box(360, 146, 140, 66, "timeline/", ("store, queries,", "retention")),
        Box(530, 146, 140, 66, "values/", ("from expressions", "to values")),
        Box(530, 40, 140, 66, "session/", ("hooks, reader,", "writer")),
        Box(700, 40, 140, 66, "mcp/", ("protocol, tools,", "daemon, pump")),
        Box(700, 146, 140, 66, "api.py", ("and pytest_plugin,", "demo")),
        Box(870, 93, 130, 66, "cli/", ("a file for each", "command")),
    )
    native = (
        Box(10, 284, 150, 50, "csrc/recorder", ("runs in the target",), "#eaf4f7"),
        Box(190, 284, 170, 50, "csrc/abi", ("what both sides share",), "#eaf4f7"),
        Box(390, 284, 180, 50, "csrc/segment", ("and csrc/timeline (SQLite)",), "#eaf4f7"),
        Box(600, 284, 200, 50, "csrc/python", ("bindings: strobe._core",), "#eaf4f7"),
        Box(830, 284, 170, 50, "csrc/dwarf, patch …", ("libraries of the host",), "#eaf4f7"),
    )
    lines = (
        ((180, 126), (152, 126)),
        ((360, 80), (332, 112)),
        ((360, 172), (332, 140)),
        ((530, 179), (502, 179)),
        ((530, 73), (502, 73)),
        ((600, 106), (600, 144)),
        ((700, 73), (672, 73)),
        ((700, 172), (655, 108)),
        ((870, 112), (842, 80)),
        ((870, 140), (842, 172)),
        ((160, 309), (188, 309)),
        ((390, 309), (362, 309)),
        ((600, 309), (572, 309)),
        ((800, 309), (828, 309)),
    )
    arrows = [Arrow(points, _LINES) for points in lines]
    notes = [
        Arrow(
            (),
            _INK,
            "strobe/, Python. An arrow: imports. A module may import all that lies to its left.",
            (10, 22),
            "start",
        ),
        Arrow((), _INK, "csrc/, C and C++. An arrow: includes.", (10, 268), "start"),
    ]
    return diagram(1010, 346, [*python, *native], arrows, notes)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    run, agent, *_ = blocks(README.read_text())
    with clone() as where:
        (FOLDER / "run.svg").write_text(of_run(run, where))
        (FOLDER / "agent.svg").write_text(of_agent(agent, where))
    (FOLDER / "parts.svg").write_text(parts())
    (FOLDER / "layers.svg").write_text(layers())


if __name__ == "__main__":
    main()
