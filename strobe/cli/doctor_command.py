"""`strobe doctor`: what works on this machine, and what to do about what does not."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import click

from strobe import config
from strobe.capture import permission
from strobe.capture.limits import check_proc
from strobe.cli.output.json_form import dumps
from strobe.cli.output.progress import announced
from strobe.clients import install as installing
from strobe.clients.known import CLIENTS, SERVER
from strobe.dataclass import dataclass
from strobe.errors import StrobeError
from strobe.report.palette import Palette

State = Literal["ok", "limited", "no"]
_PTRACE = Path("/proc/sys/kernel/yama/ptrace_scope")
_SHARED = Path("/dev/shm")
_CAP_SYS_PTRACE = 1 << 19
_NOBODY = 3  # of ptrace_scope: not even root
_ROOM = 256 << 20  # bytes of a session of the usual size, twice
_POPULATE = (5, 14)  # the kernel from which on the recorder asks for pages before it writes to them
_RUN_S = 60
_MARKS = {"ok": "ok", "limited": "limited", "no": "NO"}


@dataclass(frozen=True, slots=True)
class Finding:
    """`hint`: what to do; empty where nothing is wrong."""

    what: str
    state: State
    said: str
    hint: str = ""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def doctor(as_json: bool) -> None:
    """Check what works on this machine, by trying it, and say what to do about what does not.

    The exit status is 1 where something does not work at all.
    """
    with announced("trying what works"):
        found = list(findings())
    if as_json:
        click.echo(dumps({"findings": [_plain(one) for one in found]}, indent=True))
    else:
        for line in _lines(found, Palette.of(sys.stdout)):
            click.echo(line)
    sys.exit(any(one.state == "no" for one in found))


def findings() -> Iterator[Finding]:
    """Each by itself: one that fails does not hide the others."""
    checks: dict[str, Callable[[], Finding]] = {
        "system": _system,
        "home": _home,
        "shared memory": _shared_memory,
        "record a program": _recording,
        "attach": _attaching,
    }
    for name, check in checks.items():
        try:
            yield check()
        except StrobeError as error:
            yield Finding(name, "no", error.message, error.next_step)
        except Exception as error:
            yield Finding(name, "no", f"{type(error).__name__}: {error}")
    yield from _clients()


def _system() -> Finding:
    kernel = tuple(int(part) for part in platform.release().split("-")[0].split(".")[:2])
    said = f"Linux {platform.release()}, {platform.machine()}, {os.cpu_count()} processors"
    if platform.machine() != "x86_64":
        hint = "The native recorder is for x86-64: here the portable one works, slower, without probes at lines."
        return Finding("system", "limited", said, hint)
    if kernel < _POPULATE:
        hint = "Before Linux 5.14 the whole room of a session is taken at its start."
        return Finding("system", "limited", said, hint)
    return Finding("system", "ok", said)


def _home() -> Finding:
    home = config.home()
    try:
        _write_file(home)
    except OSError as error:
        hint = "Free space there, raise ulimit -f, or set STROBE_HOME to another folder."
        return Finding("home", "no", f"{home} cannot be written to: {error.strerror}", hint)
    free = shutil.disk_usage(home).free
    said = f"{home}, {free >> 20:,} MB free"
    if free < _ROOM:
        return Finding("home", "limited", said, "Kept sessions need room there; or set STROBE_HOME to another folder.")
    return Finding("home", "ok", said)


def _shared_memory() -> Finding:
    try:
        _write_file(_SHARED)
    except OSError as error:
        said = f"{_SHARED} cannot be written to: {error.strerror}"
        return Finding("shared memory", "limited", said, "Sessions lie in STROBE_HOME, on the disk.")
    usage = os.statvfs(_SHARED)
    free = usage.f_bavail * usage.f_frsize
    said = f"{_SHARED}, {free >> 20:,} MB free"
    if free < _ROOM:
        hint = (
            "Sessions lie in STROBE_HOME then, on the disk. In a container: --shm-size=1g; or set events.maxPerSession "
            "lower."
        )
        return Finding("shared memory", "limited", said, hint)
    return Finding("shared memory", "ok", said)


def _write_file(folder: Path) -> None:
    """Raises OSError. A limit of sizes, or a full disk, lets files be made, and nothing be written to them."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix="strobe-doctor-", buffering=0) as file:
        file.write(b"tried")


def _recording() -> Finding:
    """The demo's program, traced from its start to its end, ends as it does alone."""
    from strobe import api
    from strobe.resources import DEMO_PROGRAM

    try:
        tempfile.gettempdir()
    except FileNotFoundError:  # by which tempfile means each reason there is
        said = "no temporary file can be written, neither in TMPDIR nor in /tmp or /var/tmp"
        hint = "Free space there, raise ulimit -f, or set TMPDIR to another folder."
        return Finding("record a program", "no", said, hint)
    alone = subprocess.run([DEMO_PROGRAM], stdin=subprocess.DEVNULL, capture_output=True, timeout=_RUN_S).returncode
    with (
        tempfile.TemporaryDirectory(prefix="strobe-doctor-") as home,
        api.launch([DEMO_PROGRAM], trace=["**"], probe=["main"], missing_ok=True, home=home) as shop,
    ):
        status = shop.wait(_RUN_S)
        calls = sum(total.count for total in shop.totals())
        probed = sum(one.hits for one in shop.probe_totals())
    said = f"the demo's program: {calls:,} calls, {probed} probe, exit status {status.code} as alone"
    if not calls or status.code != alone:
        said = said.replace("as alone", f"and {alone} alone")
        return Finding("record a program", "no", said, "Please report this, with the output of `strobe doctor --json`.")
    if probed != 1:
        return Finding("record a program", "limited", said, "Probes are for the native form of the recorder (x86-64).")
    return Finding("record a program", "ok", said)


def _attaching() -> Finding:
    """By a trial on a child; of other programs Yama's rule decides."""
    check_proc()
    if (reason := permission.refused()) is not None:
        said = f"the system lets no program be traced or read ({reason})"
        hint = "In a container: --cap-add=SYS_PTRACE, and a seccomp profile that permits ptrace and process_vm_readv."
        return Finding("attach", "no", said, hint)
    scope = int(_PTRACE.read_text()) if _PTRACE.exists() else 0
    status = Path("/proc/self/status").read_text()
    effective = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:"))
    may_all = bool(effective & _CAP_SYS_PTRACE)
    if scope == 0 or (may_all and scope < _NOBODY):
        whose = "of all users" if may_all else "of your own"
        return Finding("attach", "ok", f"to running programs {whose}")
    said = f"kernel.yama.ptrace_scope is {scope}: programs that Strobe has not started cannot be attached to"
    hint = "For the moment: sudo sysctl kernel.yama.ptrace_scope=0. Programs that Strobe starts are not concerned."
    if scope >= _NOBODY:
        hint = "It stays so until the system is started again, with another value in /etc/sysctl.d."
    return Finding("attach", "limited", said, hint)


def _clients() -> Iterator[Finding]:
    home = installing.home()
    for client in installing.found(CLIENTS, home):
        file = client.file_in(home, None)
        if file is None:
            continue
        try:
            entry = installing.entry_in(client, file)
        except StrobeError as error:
            yield Finding(client.title, "limited", error.message, error.next_step)
            continue
        hint = f"strobe install {client.name}"
        if entry is None:
            yield Finding(client.title, "limited", f"does not know {SERVER}", hint)
            continue
        if not installing.is_ours(entry):
            yield Finding(client.title, "limited", f"has another server that is called {SERVER}, in {file}")
            continue
        command = entry.get("command")
        program = command[0] if isinstance(command, list) and command else command
        if isinstance(program, str) and shutil.which(program) is not None:
            yield Finding(client.title, "ok", f"starts {program}")
        else:
            yield Finding(client.title, "limited", f"would start {program}, which is not there", hint)


def _plain(one: Finding) -> dict[str, str]:
    return {"what": one.what, "state": one.state, "said": one.said} | ({"hint": one.hint} if one.hint else {})


def _lines(found: list[Finding], palette: Palette) -> Iterator[str]:
    width = max(len(one.what) for one in found)
    for one in found:
        mark = f"{_MARKS[one.state]:7}"
        yield f"{palette.warning(mark) if one.state == 'no' else mark}  {one.what:{width}}  {one.said}"
        if one.hint:
            yield f"{'':9}{'':{width}}  {palette.note(one.hint)}"
