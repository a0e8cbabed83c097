"""What looks like a secret is not sent to a model, unless the settings ask for it; the recording has it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from support.mcp_wire import Wire
from support.programs import PROGRAMS
from support.sessions import Build

SECRETS = [
    "AKIAIOSFODNN7EXAMPLE",
    "hunter2hunter2",
    "swordfish",
    "correct horse",
    "eyJzdWIiOiIxMjM0NTY3ODkwIn0",
    "MIIBOgI",
    "wJalrXUtnFEMI",
    "zJalrXUtnFEMI",
    "tGzv3JOkF0XG5Qx2TlKWIA",
    "elephants",
    "0a1b2c3d4e5f",
]
PLAIN = [
    "AWS_ACCESS_KEY_ID=",
    "aws_secret_access_key = ",
    "PGPASSWORD=",
    "X-Api-Key: ",
    "in the environment",
    "postgres://bob:",
    "@db.example/shop",
    "token = IDENTIFIER, TOKEN=, sk-short, password: none given",
    "plain words",
    "} in one line",
]


def run(wire: Wire, program: Path) -> dict[str, Any]:
    return wire.good(
        "debug_launch",
        command=str(program),
        projectRoot=str(PROGRAMS),
        trace=["check"],
        depth=2,
        probes=[{"at": "check", "show": ["account->password", "account->password_length", "token"]}],
        wait={"until": "exit", "timeoutMs": 40_000},
    )


def answers(wire: Wire, program: Path) -> dict[str, str]:
    """Of several forms, as a model reads them."""
    launch = run(wire, program)
    session = launch["sessionId"]
    found = {"launch": launch}
    questions: dict[str, dict[str, Any]] = {
        "output": {"eventType": "stdout"},
        "rows": {"function": {"equals": "check"}},
        "tree": {"format": "tree"},
        "selected": {"select": ["account->password", "word"]},
        "probes": {"eventType": "probe"},
        "groups": {"groupBy": "account->password"},
        "two groups": {"groupBy": ["word", "account->password"]},
    }
    for name, asked in questions.items():
        found[name] = wire.good("debug_query", sessionId=session, **asked)
    contents = wire.request("resources/read", {"uri": f"strobe://sessions/{session}/output.txt"})["result"]["contents"]
    chart = wire.request("resources/read", {"uri": f"strobe://sessions/{session}/trace.json"})["result"]["contents"]
    return {name: orjson.dumps(one).decode() for name, one in found.items()} | {
        "output.txt": contents[0]["text"],
        "trace.json": chart[0]["text"],
    }


def test_secrets_are_not_sent(wire: Wire, build_program: Build) -> None:
    found = answers(wire, build_program("secrets", "-O0"))
    for name, text in found.items():
        assert [secret for secret in SECRETS if secret in text] == [], name
    every = "\n".join(found.values())
    assert [text for text in PLAIN if text not in every] == []
    assert '"account->password_length":13' in every or '"password_length":13' in every
    for name in ("launch", "output", "rows", "selected", "probes"):
        assert "mcp.redact" in orjson.loads(found[name])["redacted"], name
    assert "<redacted>@db.example" in found["output"]
    assert "<redacted>@db.example" in found["output.txt"]
    assert len(orjson.loads(found["trace.json"])["traceEvents"]) > 8


def test_the_settings_switch_it_off(wire: Wire, build_program: Build, strobe_home: Path) -> None:
    (strobe_home / "settings.json").write_text('{"mcp.redact": 0}')
    found = answers(wire, build_program("secrets", "-O0"))
    every = "\n".join(found.values())
    assert [secret for secret in SECRETS if secret not in every] == []
    assert "<redacted>" not in every


@pytest.mark.usefixtures("strobe_home")
def test_users_read_what_was_recorded(build_program: Build) -> None:
    program = str(build_program("secrets", "-O0"))
    command = [sys.executable, "-m", "strobe", "run", "-t", "check", "--depth", "2", "--", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "swordfish" in done.stdout
    assert "correct horse" in done.stdout + done.stderr
