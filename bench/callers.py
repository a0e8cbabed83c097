"""Runs of the call program: alone, under Strobe in either form, under a JavaScript hook, under uftrace."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from strobe.model import Sampling

from . import harness
from .call_program import SOURCE, Timing, timing_of

if TYPE_CHECKING:
    from strobe import ProgramSession, Watch

RUN_SECONDS = 60
_HOOK = """
Interceptor.attach(Process.mainModule.enumerateSymbols().find(s => s.name === 'NAME').address, {
    onEnter(args) {},
    onLeave(result) {}
});
"""


def build(folder: Path, name: str, *options: str) -> Path:
    return harness.compile_c(folder, name, SOURCE, "-pthread", *options)


def untraced(program: Path, case: str, calls: int, threads: int = 1) -> Timing:
    return _timing([str(program), case, str(calls), str(threads)])


def traced(
    program: Path,
    home: Path,
    case: str,
    calls: int,
    *,
    threads: int = 1,
    form: str = "native",
    sampling: Sampling = "off",
    watches: Sequence[Watch] = (),
    depth: int = 0,
    where: str | None = None,
) -> Timing:
    """Under Strobe. AssertionError where another form of the recorder was in use, or calls are missing from totals."""
    arguments = [str(program), case, str(calls), str(threads)]
    with recorder_form(form), _launched(arguments, case, sampling, home, watches, depth, where) as run:
        run.wait(RUN_SECONDS)
        if form == "native" and any("portable form" in text for text in run.warnings):
            raise AssertionError(f"not the native form: {run.warnings}")
        counted = sum(group.completed for group in run.totals())
        if counted != calls * threads:
            raise AssertionError(f"{counted:,} of {calls * threads:,} calls are in the totals")
        return timing_of(run.stdout)


def probed(program: Path, home: Path, case: str, calls: int, probe: str) -> Timing:
    """With a probe that each call comes by once. AssertionError where some did not."""
    import strobe

    with strobe.launch([program, case, str(calls)], home=home, probe=[probe]) as run:
        run.wait(RUN_SECONDS)
        (counted,) = run.probe_totals()
        if counted.hits != calls:
            raise AssertionError(f"{counted.hits:,} of {calls:,} calls came by {probe}")
        return timing_of(run.stdout)


def _launched(
    arguments: Sequence[str | Path],
    case: str,
    sampling: Sampling,
    home: Path,
    watches: Sequence[Watch],
    depth: int,
    where: str | None,
) -> ProgramSession:
    import strobe

    return strobe.launch(arguments, trace=[case], sampling=sampling, home=home, watch=watches, depth=depth, where=where)


@contextlib.contextmanager
def recorder_form(form: str) -> Iterator[None]:
    """`native` or `portable`, for the launches inside."""
    before = os.environ.get("STROBE_RECORDER")
    os.environ["STROBE_RECORDER"] = form
    try:
        yield
    finally:
        del os.environ["STROBE_RECORDER"]
        if before is not None:
            os.environ["STROBE_RECORDER"] = before


def under_uftrace(folder: Path, program: Path, case: str, calls: int) -> Timing | None:
    """The program must be built with -pg. None where there is no uftrace, or it does not work here."""
    uftrace = shutil.which("uftrace")
    if uftrace is None:
        return None
    data = folder / "uftrace.data"
    command = [uftrace, "record", "--no-libcall", "-d", str(data), str(program), case, str(calls)]
    try:
        return _timing(command)
    except (subprocess.SubprocessError, ValueError):
        return None
    finally:
        shutil.rmtree(data, ignore_errors=True)


def under_javascript(program: Path, case: str, calls: int) -> Timing:
    """With a hook of Frida's Interceptor in JavaScript that does nothing on the way in and out."""
    import frida

    device = frida.get_local_device()
    output: list[bytes] = []
    ended = threading.Event()

    def on_output(pid: int, descriptor: int, data: bytes) -> None:
        output.append(data)
        if not data:
            ended.set()

    device.on("output", on_output)
    pid = device.spawn([str(program), case, str(calls)], stdio="pipe")
    try:
        script = device.attach(pid).create_script(_HOOK.replace("NAME", case))
        errors: list[str] = []
        script.on("message", lambda message, _: errors.append(str(message.get("description"))))
        script.load()
        if errors:
            raise RuntimeError(errors[0])
        device.resume(pid)
        if not ended.wait(RUN_SECONDS):
            device.kill(pid)
            raise TimeoutError(f"the hooked program did not end within {RUN_SECONDS} s")
    finally:
        device.off("output", on_output)
    return timing_of(b"".join(output).decode())


def _timing(command: list[str]) -> Timing:
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=RUN_SECONDS)
    return timing_of(done.stdout)
