"""`strobe mcp` as a process: what it lets through, and when it ends."""

from __future__ import annotations

import array
import fcntl
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from support.mcp_wire import INITIALIZE, MCP_COMMAND, WAIT_SECONDS, pump, wait_gone
from support.wait import wait_until

from strobe.mcp import daemon

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
PONG = b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


@pytest.fixture
def proxy() -> Iterator[subprocess.Popen[bytes]]:
    with pump() as process:
        assert process.stdin is not None
        process.stdin.write(PING)
        process.stdin.flush()
        yield process
        process.kill()


def read_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline()


def test_end_of_input_ends_it_after_the_answers() -> None:
    requests = b"".join(orjson.dumps({"jsonrpc": "2.0", "id": n, "method": "ping"}) + b"\n" for n in range(500))
    done = subprocess.run(MCP_COMMAND, input=requests, capture_output=True, timeout=WAIT_SECONDS)
    assert (done.returncode, done.stderr) == (0, b"")
    assert [orjson.loads(line)["id"] for line in done.stdout.splitlines()] == list(range(500))


def test_nothing_but_json_comes_out() -> None:
    opening = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}) + b"\n"
    done = subprocess.run(
        MCP_COMMAND, input=opening + b"nonsense\n\n" + PING, capture_output=True, timeout=WAIT_SECONDS
    )
    answers = [orjson.loads(line) for line in done.stdout.splitlines()]
    assert [("result" in answer, answer["id"]) for answer in answers] == [(True, 1), (False, None), (True, 1)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it(proxy: subprocess.Popen[bytes], number: signal.Signals) -> None:
    assert read_line(proxy) == PONG
    proxy.send_signal(number)
    assert proxy.wait(WAIT_SECONDS) == -number
    assert proxy.stderr is not None
    assert proxy.stderr.read() == b""


def test_it_ends_when_the_client_closes_its_output(proxy: subprocess.Popen[bytes]) -> None:
    assert read_line(proxy) == PONG
    assert proxy.stdout is not None
    proxy.stdout.close()
    assert proxy.wait(WAIT_SECONDS) == 0


def test_it_ends_when_its_parent_dies_although_its_input_stays_open() -> None:
    held_open, write_end = os.pipe()
    read_end, stdout = os.pipe()
    parent = f"import subprocess; p = subprocess.Popen({MCP_COMMAND!r}); print(p.pid, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", parent.replace("input()", "import time; time.sleep(60)")],
        stdin=held_open,
        stdout=stdout,
    ) as process:
        os.close(stdout)
        with os.fdopen(read_end, "rb") as out:
            pid = int(out.readline())
            os.write(write_end, PING)
            assert out.readline() == PONG
            process.kill()
            wait_gone(pid)
    os.close(held_open)
    os.close(write_end)


def kill_daemon(process_id: int) -> None:
    os.kill(process_id, signal.SIGKILL)
    wait_gone(process_id)


def daemon_pid(home: Path) -> int:
    pid = daemon.status(home).pid
    assert pid is not None
    return pid


def test_after_the_death_of_the_daemon_the_next_message_starts_another(
    proxy: subprocess.Popen[bytes], strobe_home: Path
) -> None:
    assert proxy.stdin is not None
    for _ in range(2):
        assert read_line(proxy) == PONG
        killed = daemon_pid(strobe_home)
        kill_daemon(killed)
        assert not daemon.status(strobe_home).running
        proxy.stdin.write(PING[:20])
        proxy.stdin.flush()
        proxy.stdin.write(PING[20:])
        proxy.stdin.flush()
    assert read_line(proxy) == PONG
    assert daemon_pid(strobe_home) != killed


def test_what_a_daemon_did_not_answer_before_its_death_is_answered(
    proxy: subprocess.Popen[bytes], strobe_home: Path
) -> None:
    assert read_line(proxy) == PONG
    assert proxy.stdin is not None
    pid = daemon_pid(strobe_home)
    os.kill(pid, signal.SIGSTOP)
    call = b'{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"debug_list_sessions"}}\n'
    proxy.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n' + call + PING)
    proxy.stdin.flush()
    wait_until(lambda: unread(proxy) == 0, "the pump to take it")
    kill_daemon(pid)
    lost_call, lost_ping = orjson.loads(read_line(proxy)), orjson.loads(read_line(proxy))
    assert (lost_call["id"], lost_call["result"]["isError"]) == ("c", True)
    assert lost_call["result"]["content"][0]["text"].startswith("INTERNAL: The Strobe daemon ended before it answered.")
    assert (lost_ping["id"], lost_ping["error"]["code"]) == (1, -32000)
    proxy.stdin.write(PING)
    proxy.stdin.flush()
    assert read_line(proxy) == PONG


def unread(process: subprocess.Popen[bytes]) -> int:
    """Bytes that the process has not taken from its standard input yet."""
    assert process.stdin is not None
    count = array.array("i", [0])
    fcntl.ioctl(process.stdin, termios.FIONREAD, count)
    return count[0]


def test_a_large_message_goes_through_both_ways(proxy: subprocess.Popen[bytes]) -> None:
    assert read_line(proxy) == PONG
    request_id = "x" * 3_000_000
    assert proxy.stdin is not None
    # More than every buffer on the way holds, before a byte of the answer is read.
    proxy.stdin.write(orjson.dumps({"jsonrpc": "2.0", "id": request_id, "method": "ping"}) + b"\n")
    proxy.stdin.flush()
    assert orjson.loads(read_line(proxy))["id"] == request_id


def test_a_home_that_cannot_be_made_is_an_error_on_stderr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("STROBE_HOME", str(tmp_path / "file"))
    done = subprocess.run(MCP_COMMAND, input=PING, capture_output=True, timeout=WAIT_SECONDS)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"Traceback" not in done.stderr
    assert done.stderr.startswith(b"strobe mcp: the Strobe daemon does not answer: ")
    monkeypatch.undo()


def test_it_imports_nothing_heavy() -> None:
    program = "import sys; import strobe.cli.main, strobe.mcp.proxy; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, timeout=WAIT_SECONDS)
    heavy = {"click", "orjson", "json", "pathlib", "dataclasses", "asyncio", "argparse", "logging", "subprocess", "re"}
    assert not heavy & set(done.stdout.split())
    assert done.returncode == 0
