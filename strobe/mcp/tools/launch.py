"""debug_launch: start a program under observation, or attach to one that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from strobe.errors import failure
from strobe.mcp.registry import Client, Context, Tool
from strobe.mcp.schema import Array, Integer, Record, Text, TextMap
from strobe.mcp.tools.parameters import bounded, folder, home_expanded
from strobe.model import LaunchSpec

_PARAMETERS = Record(
    fields={
        "command": Text(
            description="path of the program: relative to cwd, else to projectRoot; a bare name is looked up in PATH. "
            "With pid it may be empty"
        ),
        "args": Array(items=Text(), description="its arguments, without the program's name"),
        "cwd": Text(description="working directory; default: that of this MCP client"),
        "env": TextMap(description="added to this MCP client's environment"),
        "projectRoot": Text(description="root of the user's own code, for @usercode and settings", min_length=1),
        "pid": Integer(description="attach to this running process instead of starting command; 1 or more", low=1),
        "stdin": Text(description="fed to standard input, then end of file"),
    },
    required=("command", "projectRoot"),
)


def run(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    session = context.sessions().launch(launch_spec(arguments, context.client))
    applied = session.pending_patterns_applied
    answer: dict[str, Any] = {"sessionId": session.id, "pid": session.pid}
    if applied:
        answer["pendingPatternsApplied"] = applied
    if session.launch_answer is not None:
        answer["status"] = session.launch_answer.status
    if session.warnings:
        answer["warnings"] = bounded(session.warnings)
    answer["nextSteps"] = _next_steps(session.id, bool(applied))
    return answer


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
    return client.cwd if client.cwd not in ("", "/") and Path(client.cwd).is_dir() else root


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


TOOL = Tool(
    name="debug_launch",
    title="Launch a program under observation",
    description="Start a native program (C, C++, Rust), or attach to one by pid. Captures its output and exit status, "
    "and lets its calls be traced while it runs. Returns at once with sessionId, pid and nextSteps; staged patterns "
    "(debug_trace without sessionId) are active before main.",
    parameters=_PARAMETERS,
    run=run,
    read_only=False,
    destructive=False,
    idempotent=False,
    open_world=True,
)
