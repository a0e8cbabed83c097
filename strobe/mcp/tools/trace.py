"""debug_trace: change what a running session traces, or stage it for the next launch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from strobe.dataclass import replace
from strobe.errors import failure
from strobe.limits import PROBES, RECORDED_DEPTH, STACK_MOST, WATCHES
from strobe.mcp.results import bounded, shortened
from strobe.mcp.schema import Array, Boolean, Integer, Record, Text
from strobe.mcp.tool import Context, Tool
from strobe.mcp.tools import waiting
from strobe.mcp.tools.parameters import NUMBER_TYPES, SESSION_ID, Address, folder, home_expanded, patterns
from strobe.model import LaunchSpec, Probe, ProbeAnswer, ProbeSite, TraceAnswer, TraceRequest, Watch

_MAX_PATTERNS_SHOWN = 100
_MAX_SITES_SHOWN = 5
_NAME_CHARACTERS = 80  # of a function, beyond which its template arguments are left out
_MOST_HITS = 4_000_000_000
_DEFAULT_DEPTH = 3
_AT_RETURN = ":return"
_NO_RETURN = re.compile(r":\d[\d\s-]*\Z|:inlined\Z|\A0x")  # lines, inlined copies and instructions
_OF_CALL = re.compile(r"\$(?:return|entry|changed)\b")

WHERE = Text(
    description="record only calls for which this holds, over arguments, this, globals, $return: cents < 0 && "
    'name startswith "x"; totals count all calls',
    min_length=1,
    max_length=1000,
)
WATCH = Record(
    fields={
        "variable": Text(
            description="gTempo, gClock->counter; of the call: argument, node->next, this->count, $return",
            min_length=1,
            max_length=256,
        ),
        "address": Address(),
        "type": Text(choices=NUMBER_TYPES),
        "expr": Text(
            description="JavaScript over args[0] …, at the return retval: addresses, with "
            "readU32(), readUtf8String(), add(8), equals(ptr('0x…')) …",
            min_length=1,
            max_length=2048,
        ),
        "label": Text(min_length=1, max_length=256),
        "on": patterns("only in these functions"),
    }
)

STACK = Integer(description='1 to 32: callers in each event, stack: ["function file:line"]', low=1, high=STACK_MOST)
PROBE = Record(
    fields={
        "at": Text(
            description="pool.cpp:42, pool.cpp:42-57 (each line), ns::f (where it begins), "
            "ns::f:return, ns::f:inlined (inlined copies too), 0x…",
            min_length=1,
            max_length=1000,
        ),
        "where": Text(
            description='only when this holds: used > cap && key.data[0..key.size] == "x", any(i in 0..n: a[i] == 0)',
            min_length=1,
            max_length=1000,
        ),
        "show": Array(
            items=Text(min_length=1, max_length=1000),
            description="values recorded: locals, arguments, this->m, globals, $rax; at a return $return, "
            "$entry.m, $changed(*this); *(u64*)(p + 8), data[0..n] as a text; named, for where too: k = p->key",
            max_items=32,
        ),
        "return": Boolean(description="of ns::f: at its return, with values at entry"),
        "action": Text(choices=("log", "count")),
        "label": Text(description="default: at", min_length=1, max_length=256),
        "limit": Integer(description="0 to 4000000000: at most so many", low=0, high=_MOST_HITS),
        "after": Integer(description="0 to 4000000000: skipped first", low=0, high=_MOST_HITS),
        "rate": Integer(description="1 to 4000000000 a second at most", low=1, high=_MOST_HITS),
        "once": Boolean(description="limit 1, then off"),
        "stack": STACK,
        "log": Text(
            description="text of its events: {cents} of {account->owner}",
            min_length=1,
            max_length=1000,
        ),
    },
    required=("at",),
)

_PARAMETERS = Record(
    fields={
        "sessionId": Text(description="without it: staged for the next launches of projectRoot", min_length=1),
        "add": patterns(
            "foo::bar exact, foo::* one level, foo::** all below, *::name, @usercode, @file:parser.cpp, "
            "@lib:libz.so, @heap (malloc, free …, with stacks)"
        ),
        "remove": patterns("as they were added"),
        "projectRoot": Text(description="required without sessionId", min_length=1),
        "command": Text(description="with projectRoot: the program, to check by"),
        "sampling": Text(
            description="auto (initially): above 100,000 calls/s keep 1 in 100 of a function's events, totals stay "
            "exact; off: keep all",
            choices=("auto", "off"),
        ),
        "serializationDepth": Integer(
            description="1 to 10, default 3: levels of structs recorded behind pointers",
            low=1,
            high=RECORDED_DEPTH,
            default=_DEFAULT_DEPTH,
        ),
        "watches": Record(
            description="values recorded whenever a traced function begins and returns",
            fields={
                "add": Array(
                    description="of {variable} or {address, type} or {expr}; 32 per session",
                    items=WATCH,
                    max_items=WATCHES,
                ),
                "remove": Array(description="labels", items=Text(min_length=1, max_length=2048)),
            },
        ),
        "probes": Record(
            description="lines and instructions to record at: an event of type probe whenever a thread reaches one, "
            "in all copies of a line (templates, inlined calls)",
            fields={
                "add": Array(items=PROBE, max_items=PROBES),
                "remove": Array(description="labels", items=Text(min_length=1, max_length=1000)),
            },
        ),
        "where": WHERE,
        "stack": STACK,
        "wait": waiting.PARAMETERS,
    },
)


def run(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    """What is active now, or staged for the next launch; with `wait` also what happened then. Raises as Session.trace
    and SessionManager.stage."""
    asked = _request(arguments)
    for field in ("where", "stack") if not asked.add else ():
        if field not in arguments:
            continue
        valid = "with add, the functions that it applies to"
        raise failure(
            "bad_value",
            field=field,
            value="given",
            reason="it applies to the patterns in add, which is empty",
            valid=valid,
        )
    if "sessionId" in arguments:
        session = context.sessions().get(arguments["sessionId"])
        if asked.depth is None and not session.depth:
            asked = replace(asked, depth=_DEFAULT_DEPTH, adapts=True)
        if "wait" not in arguments:
            return _wire(session.trace(asked))
        before = session.timeline.cursor()
        answer = _wire(session.trace(asked))
        return waiting.fitted(answer | waiting.wait(session, arguments["wait"], before, context))
    if "wait" in arguments:
        valid = "a sessionId with it; or debug_launch with wait"
        raise failure("bad_value", field="wait", value="given", reason="no program runs yet", valid=valid)
    if "projectRoot" not in arguments:
        valid = f"{SESSION_ID.description}; or pass projectRoot, to stage for its next launch"
        raise failure("missing_field", field="sessionId", valid=valid)
    root = folder("projectRoot", arguments["projectRoot"], context.client)
    spec = None
    if "command" in arguments:
        command = home_expanded(arguments["command"], context.client)
        spec = LaunchSpec(command, cwd=root, base_env=context.client.environment, project_root=root)
    staged = replace(asked, depth=asked.depth or _DEFAULT_DEPTH)
    return _wire(context.sessions().stage(root, staged, spec))


def _request(arguments: dict[str, Any]) -> TraceRequest:
    """What is absent stays as it is. Raises VALIDATION_ERROR where it is not clear what is watched."""
    watches, probes = arguments.get("watches", {}), arguments.get("probes", {})
    return TraceRequest(
        add=arguments.get("add", []),
        remove=arguments.get("remove", []),
        sampling=arguments.get("sampling"),
        watch=[watch_of(one, f"watches.add[{index}]") for index, one in enumerate(watches.get("add", []))],
        unwatch=watches.get("remove", []),
        depth=arguments.get("serializationDepth"),
        where=arguments.get("where"),
        stack=arguments.get("stack", 0),
        probe=[probe_of(one) for one in probes.get("add", [])],
        unprobe=probes.get("remove", []),
    )


def probe_of(one: dict[str, Any]) -> Probe:
    """As it was asked for. Raises bad_value for fields that do not go together."""
    show, after, limit, rate = tuple(one.get("show", ())), one.get("after", 0), one.get("limit"), one.get("rate")
    label, stack, log, once = one.get("label", ""), one.get("stack", 0), one.get("log", ""), one.get("once", False)
    at = one["at"].strip()
    if one.get("action") == "count":
        if limit:
            reason = "a probe that only counts records nothing"
            raise failure("bad_value", field="limit", value=limit, reason=reason, valid='0, or action "log"')
        limit = 0
    if one.get("return", False) and not at.endswith(_AT_RETURN):
        if _NO_RETURN.search(at):
            raise failure("bad_value", field="return", value=True, reason=f"{at} is no function", valid="at: ns::f")
        at, show, label = at + _AT_RETURN, tuple(_at_both_ends(show)), label or at
    return Probe(at, one.get("where"), show, label, after, limit, rate, stack, log, once)


def _at_both_ends(show: Sequence[str]) -> Iterator[str]:
    """Each value as it was at the entry of the call, then at its return; what is about the whole call once."""
    from strobe.session.probes.named_values import named

    for text in show:
        label, expression = named(text)
        if not _OF_CALL.search(expression):
            yield f"$entry({expression})" if label == expression else f"entry_{label} = $entry({expression})"
        yield text


def probes_json(answers: Sequence[ProbeAnswer]) -> list[dict[str, Any]]:
    """Each probe with its sites: how many record, in which functions, and why others do not."""
    return [_probe_json(one) for one in answers]


def _probe_json(answer: ProbeAnswer) -> dict[str, Any]:
    good = [site for site in answer.places if not site.problem]
    names = [_place(site) for site in good]
    shown: dict[str, Any] = {"label": answer.probe.name, "places": len(good)}
    if names:
        shown["in"] = names[:_MAX_SITES_SHOWN]
    problems = {shortened(site.function, _NAME_CHARACTERS): site.problem for site in answer.places if site.problem}
    if problems:
        shown["problems"] = dict(list(problems.items())[:_MAX_SITES_SHOWN])
    return shown


def _place(site: ProbeSite) -> str:
    """Where it is; before the launch no address is known."""
    name = shortened(site.function, _NAME_CHARACTERS)
    return f"{name} at {site.address:#x}" if site.address else name


def watch_of(one: dict[str, Any], path: str) -> Watch:
    """Raises VALIDATION_ERROR where it is not clear what is watched."""
    kinds = [name for name in ("variable", "address", "expr") if name in one]
    if len(kinds) != 1:
        valid = "one of variable, expr, or address with type"
        raise failure(
            "bad_value", field=path, value=", ".join(kinds) or "{}", reason="exactly one is needed", valid=valid
        )
    if ("type" in one) != (kinds == ["address"]):
        name = "missing_field" if kinds == ["address"] else "unknown_field"
        valid = ", ".join(NUMBER_TYPES) if kinds == ["address"] else "type goes with address alone"
        raise failure(name, field=f"{path}.type", near="", valid=valid)
    return Watch(
        one.get("variable"),
        one.get("address"),
        one.get("type"),
        one.get("expr"),
        one.get("label"),
        tuple(one.get("on", ())),
    )


def _wire(answer: TraceAnswer) -> dict[str, Any]:
    patterns = answer.active_patterns
    wire: dict[str, Any] = {
        "mode": answer.mode,
        "status": answer.status,
        "matchedFunctions": answer.matched_functions,
        "hookedFunctions": answer.hooked_functions,
        "activePatterns": patterns[:_MAX_PATTERNS_SHOWN],
        "activeWatches": answer.active_watches,
        "warnings": bounded(answer.warnings),
        "eventLimit": answer.event_limit,
    }
    if answer.probes:
        wire["probes"] = probes_json(answer.probes)
        for one in () if answer.is_matched else wire["probes"]:
            del one["places"]
        if not patterns and not answer.active_watches:
            for name in ("matchedFunctions", "hookedFunctions", "activePatterns", "activeWatches"):
                del wire[name]
    if answer.mode == "pending":
        wire.pop("hookedFunctions", None)
    if not answer.is_matched:
        wire.pop("matchedFunctions", None)
    if len(patterns) > _MAX_PATTERNS_SHOWN:
        wire |= {"truncated": True, "totalPatterns": len(patterns)}
    return wire


TOOL = Tool(
    name="debug_trace",
    title="Trace functions",
    description="Add or remove function traces by name pattern: on a running session at once, or staged for all later "
    "debug_launch of a projectRoot. Answers how "
    "many functions match, else the nearest names. Without add and remove: lists what is active. "
    "`wait` waits for what happens then.",
    parameters=_PARAMETERS,
    run=run,
    read_only=False,
    destructive=False,
    idempotent=True,
)
