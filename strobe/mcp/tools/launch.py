"""debug_launch: start a program under observation, or attach to one that runs."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from strobe.errors import failure
from strobe.limits import PROBES, RECORDED_DEPTH, STACK_MOST, WATCHES
from strobe.mcp.results import bounded
from strobe.mcp.schema import Array, Boolean, Integer, Record, Text, TextMap
from strobe.mcp.tool import Client, Context, Tool
from strobe.mcp.tools import waiting
from strobe.mcp.tools.parameters import folder, home_expanded, patterns
from strobe.mcp.tools.trace import PROBE, WATCH, probe_of, probes_json, watch_of
from strobe.model import LaunchSpec, TraceRequest

if TYPE_CHECKING:
    from strobe.session import Session
    from strobe.session.waiting import Waited

_DEFAULT_DEPTH = 1
_SELECTED = 16  # values that a question may select
_LEAST_S = 0.2  # for a run that is repeated
_ENOUGH = 3  # times the longest good run
_HANGS, _HANGS_S = 20, 5.0  # times that one, and seconds, from which on a run is taken to hang
_LAUNCH_CHARACTERS = 600  # of one that a next step repeats

_PARAMETERS = Record(
    fields={
        "command": Text(
            description="path of the program: relative to cwd, else to projectRoot; a bare name is looked up in PATH; "
            "with pid it may be empty"
        ),
        "args": Array(items=Text(), description="its arguments, without the program's name"),
        "cwd": Text(description="working directory; default: that of this MCP client"),
        "env": TextMap(description="added to this MCP client's environment"),
        "projectRoot": Text(description="root of the user's own code, for @usercode and settings", min_length=1),
        "pid": Integer(description="attach to this running process instead of starting command; 1 or more", low=1),
        "stdin": Text(description="fed to standard input, then end of file"),
        "trace": patterns("traced from before main on, as add of debug_trace"),
        "watches": Array(items=WATCH, description="recorded at each traced call, as in debug_trace", max_items=WATCHES),
        "probes": Array(
            items=PROBE,
            description="as probes of debug_trace, from before main on",
            max_items=PROBES,
        ),
        "depth": Integer(
            description=f"0 to {RECORDED_DEPTH}, default 1: levels of structs recorded behind pointers",
            low=0,
            high=RECORDED_DEPTH,
        ),
        "where": Text(description="as where of debug_trace, for trace", min_length=1, max_length=1000),
        "stack": Integer(description="1 to 32, as stack of debug_trace, for trace", low=1, high=STACK_MOST),
        "sampling": Text(choices=("auto", "off")),
        "anyway": Boolean(
            description="start even if a pattern matches nothing yet (a later library), or a value "
            "of a probe is not available (it is left out)"
        ),
        "wait": waiting.PARAMETERS,
        "repeat": Integer(
            description="2 to 1000 runs, within wait.timeoutMs: launch again while it exits with 0; answers of the "
            "first other run",
            low=2,
            high=1000,
        ),
    },
    required=("command", "projectRoot"),
)


def run(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    """The session: `sessionId`, `pid`, what is recorded, and with `wait` what happened. Raises as
    SessionManager.launch."""
    waited: Waited | None = None
    repeated: dict[str, Any] = {}
    if "repeat" in arguments:
        session, waited, repeated = _repeated(arguments, context)
    else:
        session = _launched(arguments, context)
    applied = session.pending_patterns_applied
    answer: dict[str, Any] = {"sessionId": session.id, "pid": session.pid}
    if applied:
        answer["pendingPatternsApplied"] = applied
    if session.launch_answer is not None:
        answer["status"] = session.launch_answer.status
        if session.launch_answer.probes:
            answer["probes"] = probes_json(session.launch_answer.probes)
    if session.warnings:
        answer["warnings"] = bounded(session.warnings)
    if "wait" not in arguments:
        answer["nextSteps"] = _next_steps(session.id, bool(applied) or "trace" in arguments)
        return answer
    if waited is None:
        session, waited = waiting.waited(session, arguments["wait"], 0, context)
    answer |= repeated | waiting.answer_of(session, waited, context)
    probes = () if session.launch_answer is None else session.launch_answer.probes
    answer["nextSteps"] = [
        *_with_heap(arguments, answer),
        *_after_wait(session.id, answer, {one.probe.name: one.probe.show for one in probes}),
    ]
    return waiting.fitted(answer)


def _launched(arguments: dict[str, Any], context: Context) -> Session:
    wanted, anyway = arguments.get("trace", []), arguments.get("anyway", False)
    watch = [watch_of(one, f"watches[{index}]") for index, one in enumerate(arguments.get("watches", []))]
    depth = arguments.get("depth", _DEFAULT_DEPTH if wanted or watch else None)
    asked = TraceRequest(
        wanted,
        sampling=arguments.get("sampling"),
        watch=watch,
        depth=depth,
        adapts="depth" not in arguments,
        where=arguments.get("where"),
        stack=arguments.get("stack", 0),
        probe=[probe_of(one) for one in arguments.get("probes", [])],
        probes_ok=anyway,
    )
    return context.sessions().launch(
        launch_spec(arguments, context.client),
        asked,
        missing_ok=anyway,
        watches_ok=anyway,
        check=waiting.check(arguments.get("wait"), anyway),
    )


def _repeated(arguments: dict[str, Any], context: Context) -> tuple[Session, Waited, dict[str, Any]]:
    """The run that has not ended well, or the last one, and `repeated`: how many there were. Recordings of the others
    are dropped."""
    for field, is_wrong in (("wait", "wait" not in arguments), ("pid", "pid" in arguments)):
        if is_wrong:
            reason = "there is no wait" if field == "wait" else "a process that runs is not started"
            valid = "a command, with wait"
            raise failure("bad_value", field="repeat", value=arguments["repeat"], reason=reason, valid=valid)
    until = time.monotonic() + waiting.longest(arguments["wait"], context)
    runs, well, longest = 0, 0, 0.0
    while True:
        session, runs = _launched(arguments, context), runs + 1
        left = max(_LEAST_S, until - time.monotonic())
        if well:  # a run that hangs does not need all the time there is
            left = min(left, max(_HANGS_S, _HANGS * longest))
        session, waited = waiting.waited(session, {**arguments["wait"], "timeoutMs": left * 1000}, 0, context)
        ended = session.ended()
        is_well = waited.reason == "exit" and ended is not None and ended.exit_code == 0
        well += is_well
        longest = max(longest, waited.seconds if is_well else 0.0)
        # one more would be cut short, and look like one that hangs
        if not is_well or runs == arguments["repeat"] or until - time.monotonic() < max(_LEAST_S, _ENOUGH * longest):
            return session, waited, {"repeated": {"runs": runs, "exit0": well, "longestMs": round(longest * 1000)}}
        session.stop(retain=False)


def launch_spec(arguments: dict[str, Any], client: Client) -> LaunchSpec:
    """The program as the client itself would start it: in its folder, with its environment. Raises VALIDATION_ERROR."""
    root = folder("projectRoot", arguments["projectRoot"], client)
    command, pid = home_expanded(arguments["command"], client), arguments.get("pid")
    if not command and pid is None:
        raise failure("bad_value", field="command", value="''", reason="it is empty", valid="the path of a program")
    return LaunchSpec(
        command=command,
        args=tuple(arguments.get("args", ())),
        cwd=folder("cwd", arguments["cwd"], client, root) if "cwd" in arguments else _default_folder(client, root),
        env=arguments.get("env", {}),
        base_env=client.environment,
        project_root=root,
        pid=pid,
        stdin=arguments.get("stdin"),
    )


def _default_folder(client: Client, root: str) -> str:
    """Where the client runs; desktop clients run in '/', which nobody means."""
    return client.cwd if client.cwd not in ("", "/") and os.path.isdir(client.cwd) else root  # noqa: PTH112


def _next_steps(session_id: str, traced: bool) -> list[str]:
    query = f'debug_query {{"sessionId":"{session_id}",'
    steps = [query + '"eventType":"stderr"} or "stdout": what it printed']
    if traced:
        steps.append(query + '"groupBy":"function"}: what was called, how often and how long')
    else:
        steps.append(
            f'debug_trace {{"sessionId":"{session_id}","add":["@usercode"]}}: trace its calls while it runs; for what '
            "happens at once, stage patterns with projectRoot before the next launch"
        )
    steps.append(f'debug_stop {{"sessionId":"{session_id}"}} when done; "retain":true keeps the recording')
    return steps


def _after_wait(session_id: str, answer: dict[str, Any], shown: dict[str, tuple[str, ...]]) -> list[str]:
    """`shown`: of probes, by label, what they show."""
    from strobe.session.probes.named_values import named

    query = f'debug_query {{"sessionId":"{session_id}",'
    totals = answer.get("totals") or [{}]
    name = totals[0].get("function", "…")
    function = {} if "…" in name else {"function": {"equals": name}}  # one that is cut is none
    is_traced = "totals" in answer
    steps = [f"{query}{_json({**function, 'verbose': True})[1:]}: its calls, with arguments"] if is_traced else []
    if answer.get("probes") and not answer.get("totals"):
        events = [one for side in ("first", "last") for one in answer.get("probeEvents", {}).get(side) or ()]
        one = next((one for one in events if one.get("values")), None) or (events or answer["probes"])[0]
        names = list(one.get("values", ())) or [named(text)[0] for text in shown.get(one["label"], ())]
        asked: dict[str, Any] = {"where": f"$label == {_json(one['label'])}"}
        asked |= {"select": names[:_SELECTED]} if names else {}
        steps = [f"{query}{_json(asked)[1:]}: {'these values of its events' if names else 'its events'}"]
    if "stillRunning" in answer["ended"]:
        again = f'debug_trace {{"sessionId":"{session_id}","wait":{{"until":"exit"}}}}'
        steps = [*steps, query + f'"afterEventId":"{answer["cursor"]}"}}: what comes next', f"{again}: keep waiting"]
    return [*steps, f'debug_stop {{"sessionId":"{session_id}"}} when done']


def _with_heap(arguments: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    """The launch that says more of a crash that may come of memory that was freed, where this one could not."""
    if "freed" not in answer.get("crash", {}) or "pid" in arguments:
        return []
    from strobe.session.crashes.crash_values import NOT_TRACED  # few programs crash

    if NOT_TRACED not in answer["crash"]["freed"]:
        return []
    again = _json({**arguments, "trace": [*arguments.get("trace", ()), "@heap"]})
    if len(again) > _LAUNCH_CHARACTERS:
        again = "as this one, with @heap in trace"
    return [f"debug_launch {again}: crash.freed then says which pointers lead into freed memory, and who freed it"]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


TOOL = Tool(
    name="debug_launch",
    title="Launch a program under observation",
    description="Start a native program (C, C++, Rust), or attach to one by pid. Captures its output and exit status, "
    "and traces functions (trace) and values (watches) from before main on, in addition to what debug_trace has "
    "staged. With wait, one call launches, waits and reports what happened. A pattern or watch that matches nothing "
    "refuses the launch, with the nearest names.",
    parameters=_PARAMETERS,
    run=run,
    read_only=False,
    destructive=False,
    idempotent=False,
    open_world=True,
)
