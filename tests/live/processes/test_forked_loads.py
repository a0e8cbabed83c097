"""Forked children load libraries, answer requests and end, as they do untraced: none of the agent runs in them."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import programs
from support.rounds import IS_LONG, rounds, scenario
from support.sessions import Build, Launch, Outcome, outcome, status, totals, untraced
from support.wait import wait_until

from strobe.model import EventFilter, TextMatch

POOLS = 250 if IS_LONG else 2  # of two processes each
REQUESTS = 400

# Extension modules that the children import, one after the other; each is a library of its own.
IMPORTS = """
import multiprocessing, sys

def work(number):
    import _bz2, _lzma, _sqlite3, _decimal, _json, _hashlib, zlib
    return zlib.crc32(_hashlib.openssl_sha256(b"%d" % number).digest())

if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    for _ in range(int(sys.argv[1])):
        with context.Pool(2) as pool:
            print(sum(pool.map(work, range(8))))
"""

NGINX = """
daemon off;
worker_processes 2;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        root {folder};
    }}
}}
"""


@scenario
@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("threads", [(), ("threads",)], ids=["one thread", "two threads"])
@pytest.mark.parametrize("pattern", ["nothing_at_all", "*"])
def test_children_that_load_libraries_do_as_alone(
    launch: Launch, build_program: Build, pattern: str, threads: tuple[str, ...]
) -> None:
    program = build_program("forks_loads")
    alone = untraced(program, *threads)
    assert alone.stdout == "".join(f"child {10 + number}\n" for number in range(4)) + "parent 10\n"
    for _ in rounds(1):
        session = launch(program, *threads, patterns=[pattern])
        assert outcome(session) == alone
        session.stop()


@pytest.mark.usefixtures("form")
def test_what_a_child_loads_is_not_hooked_in_the_parent(launch: Launch, build_program: Build) -> None:
    """The library lies at the same address in the parent later, and is traced there from the first call on."""
    session = launch(build_program("forks_loads"), patterns=["@lib:libz"], sampling="off")
    assert status(session) == 0
    called = session.query(EventFilter(event_type="function_enter", function=TextMatch(equals="zlibVersion")))
    assert [event.pid for event in called.events] == [session.pid]


def system_python() -> str:
    """Debian's, which has its extension modules in libraries; another Python may have all of them inside."""
    python = "/usr/bin/python3"
    return python if Path(python).exists() else sys.executable


@scenario
@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("pattern", ["nothing_at_all", "*"])
def test_python_pools_import_extension_modules(launch: Launch, tmp_path: Path, pattern: str) -> None:
    script = tmp_path / "pools.py"
    script.write_text(IMPORTS)
    python = Path(system_python())
    alone = untraced(python, str(script), "2")
    assert alone.status == 0 and len(alone.stdout.splitlines()) == 2
    session = launch(python, str(script), str(POOLS), patterns=[pattern])
    ended = outcome(session)
    line = alone.stdout.splitlines()[0] + "\n"
    assert ended == Outcome(line * POOLS, "", 0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """One that all users may read: the workers run as another one, and pytest's own folders are closed to these."""
    with tempfile.TemporaryDirectory(prefix="strobe-nginx-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@scenario
@pytest.mark.usefixtures("form")
def test_nginx_workers_answer(launch: Launch, open_folder: Path) -> None:
    """Its workers ask for their groups before they answer anything, for which the C library loads libraries."""
    nginx = programs.require("nginx")
    (open_folder / "page.txt").write_text("it works\n" * 100)
    port = free_port()
    configuration = open_folder / "nginx.conf"
    configuration.write_text(NGINX.format(folder=open_folder, port=port))
    session = launch(nginx, "-p", str(open_folder), "-c", str(configuration), patterns=["*"])
    wait_until(lambda: answers(port), "the first answer", 60)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for _ in rounds(1):
        for _ in range(REQUESTS):
            connection.request("GET", "/page.txt")
            response = connection.getresponse()
            assert (response.status, response.read()) == (200, b"it works\n" * 100)
    connection.close()
    os.kill(session.pid, signal.SIGQUIT)
    assert status(session) == 0
    assert session.wait_for_children(30)
    assert len(totals(session)) > 0 or session.warnings
    assert "alert" not in (open_folder / "error.log").read_text()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
        try:
            connection.request("GET", "/page.txt")
            with connection.getresponse() as response:
                return response.status == 200
        except OSError:
            return False
