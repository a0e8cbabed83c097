"""Reads of expressions: the same language as in watches and probes, outside of calls."""

from __future__ import annotations

from support.reads import ready
from support.sessions import Build, Launch

from strobe.values.reading import ReadTarget

VALUES = {
    "gTempo * 2 + 1": 241,
    "gMany[0..3]": [1, 2, 3],
    "gNodes[1..2]": None,
    "count(x in gMany: x == 0)": 247,
    "any(x in gHundred: x == 7)": True,
    "gVoice.name[1..3]": "bc",
    'gVoice.name == "abc"': True,
    "sizeof(gMany)": 1000,
    "gNull == 0": True,
    "gTempo > 100 ? 1 : 2": 1,
}
ERRORS = {
    "gNull->value + 1": "Null pointer at gNull",
    "gTempo / (gTempo - 120)": "a division by zero",
    "gTempoo + 1": "Variable 'gTempoo' not found",
    "$thread + 1": "are known in calls and at probes",
    "gTempo +": "this is not understood",
    "gMany[240..260]": "it has fewer elements",
}


def test_expressions_are_read(launch: Launch, build_program: Build) -> None:
    session = ready(launch(build_program("values", "-O0")))
    found = session.reader.read([ReadTarget(text) for text in (*VALUES, *ERRORS)])
    values = {one.target: one.value for one in found if one.error is None}
    assert values.keys() == VALUES.keys(), [one.error for one in found if one.target in VALUES and one.error]
    assert {text: values[text] for text in VALUES if VALUES[text] is not None} == {
        text: value for text, value in VALUES.items() if value is not None
    }
    assert len(values["gNodes[1..2]"]) == 1
    errors = {one.target: str(one.error) for one in found if one.error is not None}
    assert all(ERRORS[text] in errors[text] for text in ERRORS), errors
