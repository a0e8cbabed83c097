"""debug_logpoint: a message whenever a thread reaches a function or a line."""

from __future__ import annotations

from typing import Any

from strobe.dataclass import replace
from strobe.errors import failure
from strobe.limits import PROBES
from strobe.mcp.results import bounded
from strobe.mcp.schema import Array, Integer, Record, Text
from strobe.mcp.tool import Context, Tool
from strobe.mcp.tools.parameters import SESSION_ID
from strobe.mcp.tools.trace import probes_json
from strobe.model import Probe, TraceRequest

_LOGPOINT = Record(
    fields={
        "function": Text(description="ns::f, where it begins; ns::f:return", min_length=1, max_length=900),
        "file": Text(description="pool.cpp, with line", min_length=1, max_length=900),
        "line": Integer(description="1 or more", low=1),
        "message": Text(description="booked {cents} of {account->owner}", min_length=1, max_length=1000),
        "condition": Text(description="as where of a probe", min_length=1, max_length=1000),
    },
    required=("message",),
)
_PARAMETERS = Record(
    fields={
        "sessionId": SESSION_ID,
        "add": Array(description="of {function} or {file, line}", items=_LOGPOINT, max_items=PROBES),
        "remove": Array(description="ids", items=Text(min_length=1, max_length=1000)),
    },
    required=("sessionId",),
)

_NO_LOGPOINT = "'{label}' is a probe without a message, and stays: probes.remove of debug_trace removes it."


def run(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    """`logpoints`: those that are active now, each with its places. Raises session_not_found, and as Session.trace."""
    session = context.sessions().get(arguments["sessionId"])
    asked = [_probe(one, f"add[{index}]") for index, one in enumerate(arguments.get("add", []))]
    gone = arguments.get("remove", [])
    known = {one.probe.name: one.probe for one in session.trace().probes} if asked or gone else {}
    others = [label for label in gone if label in known and not known[label].log]
    added = []
    for probe in asked:
        named = replace(probe, label=_free_label(probe, known))
        if known.get(named.label) != named:  # one that is there already counts on
            known[named.label] = named
            added.append(named)
    answer = session.trace(TraceRequest(probe=added, unprobe=[label for label in gone if label not in others]))
    logpoints = probes_json([one for one in answer.probes if one.probe.log])
    return {
        "logpoints": [{"id": one.pop("label")} | one for one in logpoints],
        "status": "events: debug_query eventType probe",
        "warnings": bounded([*(_NO_LOGPOINT.format(label=label) for label in others), *answer.warnings]),
    }


def _free_label(probe: Probe, known: dict[str, Probe]) -> str:
    """Its location; with a number where another probe has that label. The same one twice is one."""
    label, count = probe.at, 2
    while label in known and replace(known[label], label="") != probe:
        label, count = f"{probe.at} ({count})", count + 1
    return label


def _probe(one: dict[str, Any], path: str) -> Probe:
    """What debug_trace takes for it. Raises VALIDATION_ERROR where it is not clear at which location."""
    if ("function" in one) == ("file" in one) or ("file" in one) != ("line" in one):
        given = ", ".join(name for name in ("function", "file", "line") if name in one) or "none"
        valid = "function, or file with line"
        raise failure("bad_value", field=path, value=given, reason="it does not name exactly one location", valid=valid)
    at = one["function"] if "function" in one else f"{one['file']}:{one['line']}"
    return Probe(at, one.get("condition"), log=one["message"])


TOOL = Tool(
    name="debug_logpoint",
    title="Log without stopping",
    description="Record a message with values whenever a running program reaches a "
    "function or line: no recompiling, no stop. The same as a probe of debug_trace with log. "
    "Without add and remove: lists the active ones.",
    parameters=_PARAMETERS,
    run=run,
    read_only=False,
    destructive=False,
    idempotent=True,
)
