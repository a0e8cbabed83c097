"""redis-server under its own benchmark, then with data whose digest is compared: saved by a fork, loaded again."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .runs import RUN_SECONDS, UNTRACED, Cost, Way, run

READY_SECONDS = 60
KEYS = 6_000
TESTS = "set,get,incr,lpush,rpush,lpop,sadd,hset,zadd,lrange_100,mset"
# Lua leaves a failing call by longjmp, through functions that are traced.
LUA = """
local total = 0
for i = 1, 20 do
    local reply = redis.pcall('incr', KEYS[1])
    if type(reply) == 'table' then total = total + #reply.err end
    local ok, why = pcall(function() error({code = i}) end)
    if not ok then total = total + why.code end
end
return total
"""


def case(way: Way, program: Path, folder: Path, threads: int, each: int) -> tuple[Cost, dict[str, bytes]]:
    """`each` kind of request so many times. The cost is the server's CPU time from the first one to the digest.

    Its I/O threads wait in loops, which is counted, too.
    """
    results: dict[str, bytes] = {}
    server = _Server(program, folder, threads)

    def requests() -> float:
        before = server.cpu()
        server.benchmark(each)
        server.load(b"".join(_commands()))
        results["digest"] = server.ask("debug", "digest")
        seconds = server.cpu() - before
        server.save()
        server.ask("shutdown", "nosave")
        return seconds

    cost = run(way, server.command, folder, requests)
    results["loaded from what a fork saved"] = _loaded(program, folder)
    if results["digest"] != results["loaded from what a fork saved"]:
        raise AssertionError(f"saved and loaded again, the data is other data: {results}")
    return cost, results


def _loaded(program: Path, folder: Path) -> bytes:
    """The digest of the saved data in a server that is not traced."""
    server = _Server(program, folder, 1)
    digest = b""

    def look() -> None:
        nonlocal digest
        server.wait()
        digest = server.ask("debug", "digest")
        server.ask("shutdown", "nosave")

    run(UNTRACED, server.command, folder, look)
    return digest


class _Server:
    """A server and the programs that talk to it, by a socket in a folder with a short name."""

    def __init__(self, program: Path, folder: Path, threads: int) -> None:
        self._tools = program.parent
        self._socket = str(Path(tempfile.mkdtemp(prefix="redis-", dir=folder)) / "s")
        self.command = [
            str(program), "--port", "0", "--unixsocket", self._socket, "--dir", str(folder), "--save", "",
            "--enable-debug-command", "yes", "--io-threads", str(threads), "--io-threads-do-reads", "yes",
            "--rdbcompression", "yes", "--logfile", "redis.log",
        ]  # fmt: skip

    def ask(self, *words: str, stdin: bytes = b"") -> bytes:
        command = [str(self._tools / "redis-cli"), "-s", self._socket, *words]
        return subprocess.run(command, input=stdin, capture_output=True, timeout=RUN_SECONDS).stdout

    def wait(self) -> None:
        self._until(lambda: self.ask("ping").strip() == b"PONG", "answer")

    def cpu(self) -> float:
        self.wait()
        info = dict(line.split(":") for line in self.ask("info", "cpu").decode().split() if ":" in line)
        return float(info["used_cpu_sys"]) + float(info["used_cpu_user"])

    def benchmark(self, each: int) -> None:
        for more in ((), ("-P", "16")):
            command = [
                str(self._tools / "redis-benchmark"), "-s", self._socket, "-c", "8", "-t", TESTS,
                "-n", str(each), "-r", "10000", "-q", *more,
            ]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS)
            if done.returncode != 0 or "rror" in done.stdout + done.stderr:
                raise AssertionError(f"redis-benchmark: {done.stdout[-500:]} {done.stderr[-500:]}")

    def load(self, commands: bytes) -> None:
        self.ask("flushall")
        answer = self.ask("--pipe", stdin=commands).decode()
        if "errors: 0" not in answer:
            raise AssertionError(f"redis-cli --pipe: {answer}")
        self.ask("debug", "reload")

    def save(self) -> None:
        self.ask("bgsave")
        self._until(lambda: b"rdb_bgsave_in_progress:0" in self.ask("info", "persistence"), "save")
        if b"rdb_last_bgsave_status:ok" not in self.ask("info", "persistence"):
            raise AssertionError("the server's child did not save")

    def _until(self, holds: object, what: str) -> None:
        assert callable(holds)
        end = time.monotonic() + READY_SECONDS
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f"the server does not {what} within {READY_SECONDS} s")
            time.sleep(0.02)


def _commands() -> Iterator[bytes]:
    """Of all types, in the protocol's own form; the same at each call and whatever order hashes have."""
    for i in range(KEYS):
        yield _command("set", f"text:{i}", "v" * (i % 200))
        yield _command("incrby", f"count:{i % 100}", str(i))
        yield _command("rpush", f"list:{i % 50}", f"element {i}", str(i))
        yield _command("sadd", f"set:{i % 40}", f"member {i * 7919 % 1009}")
        yield _command("hset", f"hash:{i % 30}", f"field {i}", str(i * i))
        yield _command("zadd", f"sorted:{i % 20}", str(i * 0.37), f"member {i % 701}")
        yield _command("append", f"text:{i // 2}", "tail")
        yield _command("setrange", f"bits:{i % 10}", str(i), "x")
        if i % 100 == 0:
            yield _command("eval", LUA, "1", "count:1" if i % 200 else "list:0")
            yield _command("zunionstore", "sorted:all", "3", "sorted:1", "sorted:2", "sorted:3")
            yield _command("sort", f"list:{i % 50}", "alpha", "store", "sorted list")
            yield _command("multi") + _command("lpop", "list:7") + _command("incr", "count:7") + _command("exec")


def _command(*words: str) -> bytes:
    parts = [word.encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
