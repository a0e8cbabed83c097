"""debug_write: new values for variables and memory of the running program."""

from __future__ import annotations

from typing import Any

from strobe.dataclass import dataclass
from strobe.errors import failure
from strobe.limits import WRITE_TARGETS
from strobe.mcp.schema import Array, Field, Record, Text
from strobe.mcp.tool import Context, Tool
from strobe.mcp.tools.parameters import NUMBER_TYPES, SESSION_ID, THREAD_ID, Address, check_target

_MAX_VALUE_BYTES = 65536


@dataclass(frozen=True, kw_only=True)
class _Anything(Field):
    """Any JSON value. Its schema says string, as clients want one type: what a value means, its text means, too."""

    def json(self) -> dict[str, Any]:
        return self._json("string")

    def check(self, value: Any, path: str) -> Any:
        if len(repr(value)) > _MAX_VALUE_BYTES:
            valid = f"up to {_MAX_VALUE_BYTES} characters"
            raise failure("bad_value", field=path, value="long", reason="it is too long", valid=valid)
        return value


@dataclass(frozen=True, kw_only=True)
class _Target(Record):
    """`value` may be null, which is a null pointer."""

    def check(self, value: Any, path: str = "") -> dict[str, Any]:
        checked = super().check(value, path)
        return checked | {"value": None} if "value" in value and value["value"] is None else checked


_PARAMETERS = Record(
    fields={
        "sessionId": SESSION_ID,
        "targets": Array(
            description=f"1 to {WRITE_TARGETS} of {{variable, value}} or {{address, type, value}}; all are checked, "
            "then written",
            items=_Target(
                fields={
                    "variable": Text(
                        description="as in debug_read: gTempo, gState.voices[3].freq, p->next",
                        min_length=1,
                        max_length=256,
                    ),
                    "address": Address(description="0x…"),
                    "type": Text(choices=NUMBER_TYPES),
                    "value": _Anything(
                        description="number, true, text, enumerator (A|B), character, 0x… or &gFoo or null for "
                        'pointers, [1,2] and {"member":1} for arrays and structs'
                    ),
                    "threadId": THREAD_ID,
                },
            ),
            max_items=WRITE_TARGETS,
        ),
    },
    required=("sessionId", "targets"),
)


def run(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    """`results`: of each target what was written and what it was, or why it was not. Raises as VariableWriter.write."""
    from strobe.values.write.writing import WriteTarget

    wanted = arguments["targets"]
    if not wanted:
        raise failure(
            "bad_value", field="targets", value="[]", reason="it is empty", valid=f"1 to {WRITE_TARGETS} targets"
        )
    for index, one in enumerate(wanted):
        _check(one, f"targets[{index}]")
    targets = [
        WriteTarget(one.get("variable"), one.get("value"), one.get("address"), one.get("type"), one.get("threadId"))
        for one in wanted
    ]
    session = context.sessions().get(arguments["sessionId"])
    return {"results": [_wire(result) for result in session.writer.write(targets)]}


def _check(target: dict[str, Any], path: str) -> None:
    if "value" not in target:
        raise failure("missing_field", field=f"{path}.value", valid="the new value; null for a null pointer")
    check_target(target, path, ("type",), NUMBER_TYPES)


def _wire(result: Any) -> dict[str, Any]:
    from strobe.mcp.results import clipped
    from strobe.values.decode import text

    shown: dict[str, Any] = {"target": result.target}
    if result.address is not None:
        shown["address"] = f"{result.address:#x}"
    if result.error is not None:
        return {**shown, "error": clipped(result.error.sentences, 1000)}
    values = {"previousValue": text.plain(result.previous), "newValue": text.plain(result.value)}
    return {**shown, "type": result.type, **values, "atomic": result.is_atomic}


TOOL = Tool(
    name="debug_write",
    title="Write variables",
    description="New values for global and static variables, members, elements, and raw memory, while the program runs "
    "on. Type and range are checked first; answers the previous value. Text goes into char arrays, char* and "
    "std::string as far as they have room. Each write is a variable_snapshot event.",
    parameters=_PARAMETERS,
    run=run,
    read_only=False,
    destructive=True,
    idempotent=True,
)
