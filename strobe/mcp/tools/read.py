"""debug_read: values of variables and memory of the running program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from strobe.errors import failure
from strobe.limits import RAW_BYTES, READ_DEPTH, READ_TARGETS
from strobe.mcp.answers import poll_json
from strobe.mcp.results import ASKED_BYTES
from strobe.mcp.schema import Array, Integer, Record, Text
from strobe.mcp.tool import Context, Tool
from strobe.mcp.tools.parameters import NUMBER_TYPES, SESSION_ID, THREAD_ID, Address, check_target

_PREVIEW_BYTES = 32
_TYPES = (*NUMBER_TYPES, "bytes")


_PARAMETERS = Record(
    fields={
        "sessionId": SESSION_ID,
        "targets": Array(
            description=f"1 to {READ_TARGETS} of {{variable}} or {{address, size, type}}; all are read at one instant",
            items=Record(
                fields={
                    "variable": Text(
                        description="gTempo, gClock->counter, gState.voices[3].freq, *p, &x, (Node*)p, ns::x, a.cpp::x",
                        min_length=1,
                        max_length=256,
                    ),
                    "address": Address(description="0x…"),
                    "size": Integer(description="1 to 65536 bytes", low=1, high=RAW_BYTES),
                    "type": Text(choices=_TYPES),
                    "threadId": THREAD_ID,
                }
            ),
            max_items=READ_TARGETS,
        ),
        "depth": Integer(description=f"1 to {READ_DEPTH} levels of structs", low=1, high=READ_DEPTH, default=1),
        "poll": poll_json.PARAMETERS,
    },
    required=("sessionId", "targets"),
)


def run(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    """`results`: of each target its value, or why there is none. Raises as VariableReader.read and Session.poll."""
    from strobe.values.reading import ReadTarget

    wanted = arguments["targets"]
    if not wanted:
        raise failure(
            "bad_value", field="targets", value="[]", reason="it is empty", valid=f"1 to {READ_TARGETS} targets"
        )
    for index, one in enumerate(wanted):
        _check(one, f"targets[{index}]")
    session = context.sessions().get(arguments["sessionId"])
    fields = ("variable", "address", "size", "type", "threadId")
    targets = [ReadTarget(*(one.get(name) for name in fields)) for one in wanted]
    depth = arguments.get("depth", 1)
    if "poll" in arguments:
        wanted_poll = arguments["poll"]
        poll = session.poll(targets, wanted_poll["intervalMs"], wanted_poll["durationMs"], depth)
        return poll_json.begun(session.id, poll)
    results = session.reader.read(targets, depth)
    warnings = session.reader.warnings()
    answer = {"results": _bounded([_wire(result, session.reader.keep_bytes) for result in results])}
    return answer | ({"warnings": warnings} if warnings else {})


def _check(target: dict[str, Any], path: str) -> None:
    """Either a variable or an address."""
    check_target(target, path, ("size", "type"), _TYPES)
    if target.get("type") == "bytes" and "size" not in target:
        raise failure("missing_field", field=f"{path}.size", valid=f"1 to {RAW_BYTES} bytes")


def _wire(result: Any, keep: Callable[[bytes], Path]) -> dict[str, Any]:
    from strobe.values.decode import text
    from strobe.values.model import Record as Fields

    shown: dict[str, Any] = {"target": result.target}
    if result.address is not None:
        shown["address"] = f"{result.address:#x}"
    if result.error is not None:
        return {**shown, "error": result.error.sentences}
    shown |= {"type": result.type} | ({} if result.size is None else {"size": result.size})
    if result.content is not None:
        return {**shown, **_in_file(result.content, keep)}
    if result.count is not None:
        shown["count"] = result.count
        return {**shown, "value": text.elements(result.value)}
    if isinstance(result.value, Fields):
        return {**shown, "fields": text.plain(result.value)}
    return {**shown, "value": text.plain(result.value)}


def _in_file(content: bytes, keep: Callable[[bytes], Path]) -> dict[str, Any]:
    return {"file": str(keep(content)), "preview": content[:_PREVIEW_BYTES].hex(" ")}


def _bounded(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What does not fit into the answer becomes an error in place of its value."""
    left = ASKED_BYTES
    bounded = []
    for shown in results:
        size = len(orjson.dumps(shown, option=orjson.OPT_PASSTHROUGH_SUBCLASS, default=str))
        if size > left:
            hint = "Read a part of it, with less depth, or fewer targets at once."
            error = failure("too_much_read", bytes=size, limit=ASKED_BYTES, hint=hint)
            kept: dict[str, Any] = {
                name: shown[name] for name in ("target", "address", "type", "size") if name in shown
            }
            shown = {**kept, "error": error.sentences}
            size = len(orjson.dumps(shown))
        left -= size
        bounded.append(shown)
    return bounded


TOOL = Tool(
    name="debug_read",
    title="Read variables",
    description="Values of global and static variables, their members and elements, and raw memory, while the program "
    "runs on. A bad target does not affect the others. Bytes go to a file, with a preview. "
    "With poll: repeatedly, into the timeline.",
    parameters=_PARAMETERS,
    run=run,
    read_only=True,
    destructive=False,
    idempotent=True,
)
