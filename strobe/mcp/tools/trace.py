"""debug_trace: change what a running session traces, or stage it for the next launch."""

from __future__ import annotations

from typing import Any

from strobe.errors import failure
from strobe.mcp.registry import Context, Tool
from strobe.mcp.schema import Record, Text
from strobe.mcp.tools.parameters import SESSION_ID, bounded, folder, patterns
from strobe.model import TraceAnswer

_MAX_PATTERNS_SHOWN = 100

_PARAMETERS = Record(
    fields={
        "sessionId": Text(description="absent: stage for the next launch of projectRoot", min_length=1),
        "add": patterns(
            "foo::bar exact, foo::* one level, foo::** all below, *::name, @usercode, @file:parser.cpp, @lib:libz.so"
        ),
        "remove": patterns("patterns to stop tracing, as they were added"),
        "projectRoot": Text(description="required without sessionId", min_length=1),
        "sampling": Text(
            description="auto (at first): above 100,000 calls/s keep 1 in 100 of a function's events, totals stay "
            "exact; off: keep all",
            choices=("auto", "off"),
        ),
    },
    later=("watches", "serializationDepth"),
)


def run(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    add, remove = arguments.get("add", []), arguments.get("remove", [])
    sampling = arguments.get("sampling")  # absent: as it is
    if "sessionId" in arguments:
        return _wire(context.sessions().get(arguments["sessionId"]).trace(add, remove, sampling))
    if "projectRoot" not in arguments:
        valid = f"{SESSION_ID.description}; or pass projectRoot, to stage for its next launch"
        raise failure("missing_field", field="sessionId", valid=valid)
    root = folder("projectRoot", arguments["projectRoot"], context.client)
    return _wire(context.sessions().stage(root, add, remove, sampling))


def _wire(answer: TraceAnswer) -> dict[str, Any]:
    patterns = answer.active_patterns
    wire: dict[str, Any] = {
        "mode": answer.mode,
        "status": answer.status,
        "matchedFunctions": answer.matched_functions,
        "hookedFunctions": answer.hooked_functions,
        "activePatterns": patterns[:_MAX_PATTERNS_SHOWN],
        "activeWatches": [],
        "warnings": bounded(answer.warnings),
        "eventLimit": answer.event_limit,
    }
    if len(patterns) > _MAX_PATTERNS_SHOWN:
        wire |= {"truncated": True, "totalPatterns": len(patterns)}
    return wire


TOOL = Tool(
    name="debug_trace",
    title="Trace functions",
    description="Add or remove function traces by name pattern: on a running session at once, or staged for the next "
    "debug_launch. Thousands of functions install in one batch while the program runs. Answers how many functions "
    "matched and, where none did, the nearest names. With neither add nor remove: what is active.",
    parameters=_PARAMETERS,
    run=run,
    read_only=False,
    destructive=False,
    idempotent=True,
)
