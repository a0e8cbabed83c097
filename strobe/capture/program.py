"""What a launch names: the file that will really be started, checked before anything runs.

Frida neither searches PATH nor runs scripts, and a statically linked program dies under it; that is found out here.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from strobe.capture.attachable import program_of, refused
from strobe.capture.sanitizers import has_thread_sanitizer
from strobe.dataclass import dataclass
from strobe.errors import StrobeError, failure
from strobe.model import LaunchSpec
from strobe.process_maps import executable
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.elf_headers import ET_DYN, ET_EXEC, MAGIC, PT_INTERP, ElfHeaders, reader_of
from strobe.symbols.objects.macho import is_macho

_TYPES_THAT_RUN = (ET_EXEC, ET_DYN)
_WORD_BYTES = 128 << 10  # MAX_ARG_STRLEN: with the zero at its end
_SHOWN = 40  # characters of a word in an error
_MAX_INTERPRETERS = 4  # as the kernel: a script's interpreter may itself be a script


@dataclass(frozen=True, slots=True)
class Program:
    """`path`: the ELF file to start. `named`: the file that the user named, the same unless that is a script."""

    path: str
    named: str
    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str


def resolve(spec: LaunchSpec) -> Program:
    """Finds and checks the program of a launch.

    Raises no_such_file, is_directory, not_executable, not_a_program, macho_program, interpreter_missing,
    wrong_architecture, static_program, thread_sanitizer, bad_cwd, bad_value.
    """
    _check_words(spec)
    env = {**(os.environ if spec.base_env is None else spec.base_env), **spec.env}
    cwd = Path(spec.cwd or spec.project_root or ".").absolute()
    if not os.path.isdir(cwd):  # noqa: PTH112 - Path's own raises where a name is too long or may not be looked at
        raise failure("bad_cwd", path=cwd)
    named = _find(spec, cwd, env)
    path, argv = _behind_scripts(named, (spec.command, *spec.args), env)
    return Program(path, named, argv, env, str(cwd))


def _check_words(spec: LaunchSpec) -> None:
    """Raises bad_value for what Frida cannot pass on, or the kernel does not take."""
    given = {"args": (spec.command, *spec.args), "env": [f"{name}={value}" for name, value in spec.env.items()]}
    inherited = os.environ if spec.base_env is None else spec.base_env
    given["the environment"] = [f"{name}={value}" for name, value in inherited.items() if name not in spec.env]
    given["cwd"] = [spec.cwd or spec.project_root or ""]
    for field, words in given.items():
        for word in words:
            if "\0" in word:
                raise _bad_word(field, word, "it contains a NUL character, which would end it", "text without it")
            if any("\ud800" <= letter <= "\udfff" for letter in word):
                raise _bad_word(field, word, "it is not UTF-8, which Frida needs to start a program", "UTF-8")
            if len(word.encode()) >= _WORD_BYTES:
                raise _bad_word(field, word, "it is too long for the kernel (E2BIG)", f"{_WORD_BYTES - 1:,} bytes")


def _bad_word(field: str, word: str, reason: str, valid: str) -> StrobeError:
    if "env" in field:
        word = f"{word.partition('=')[0]}=…"  # values may be secrets
    shown = word if len(word) <= _SHOWN else f"{word[:_SHOWN]}…"
    return failure("bad_value", field=field, value=ascii(shown), reason=reason, valid=valid)


def _find(spec: LaunchSpec, cwd: Path, env: Mapping[str, str]) -> str:
    folders = [cwd, Path(spec.project_root).absolute()] if spec.project_root else [cwd]
    command = spec.command
    if "/" in command:
        # not resolved: programs look at the name they were started by
        candidates = [folder / Path(command).expanduser() for folder in folders]
        found = next((item for item in candidates if os.path.lexists(item)), None)
        if found is None:
            raise failure("no_such_file", path=command, hint="Give the path of a compiled program.")
        return str(found)
    in_path = shutil.which(command, path=env.get("PATH", os.defpath)) if command else None
    if in_path is None:
        raise failure("no_such_file", path=command, hint=_hint(command, folders))
    return str(Path(in_path).absolute())


def _hint(command: str, folders: Sequence[Path]) -> str:
    for folder in folders:
        if command and os.path.isfile(folder / command):  # noqa: PTH113
            return f"It is not in PATH; did you mean '{folder / command}'?"
    return "It is not in PATH; give the path of a compiled program."


def _behind_scripts(path: str, argv: tuple[str, ...], env: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    for _ in range(_MAX_INTERPRETERS):
        head = _read_head(path)
        if head.startswith(MAGIC):
            _check_elf(path, path)
            return path, argv
        if is_macho(head):
            raise failure("macho_program", path=path)
        if not head.startswith(b"#!"):
            break
        script = path
        words = head[2:].split(b"\n")[0].decode(errors="replace").split(None, 1)
        path, options = _interpreter(script, words, env)
        argv = (path, *options, script, *argv[1:])
    raise failure("not_a_program", path=path)


def _read_head(path: str) -> bytes:
    file = Path(path)
    if os.path.isdir(file):  # noqa: PTH112
        raise failure("is_directory", path=path)
    if not os.path.exists(file):  # noqa: PTH110
        raise failure("no_such_file", path=path, hint="The link points to nothing.")
    if not os.access(path, os.X_OK):
        raise failure("not_executable", path=path)
    try:
        with file.open("rb") as opened:
            return opened.read(4096)
    except OSError as error:
        raise failure("launch_failed", path=path, reason=error.strerror) from error


def _interpreter(script: str, words: list[str], env: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """The interpreter and its options. `env NAME` is looked up here: observing env itself would be of no use."""
    if not words:
        raise failure("not_a_program", path=script)
    name, options = words[0], words[1:]
    found: str | None = name if os.path.exists(name) else None  # noqa: PTH110
    if Path(name).name == "env" and options and not options[0].startswith("-") and "=" not in options[0]:
        name, *options = options[0].split()
        found = shutil.which(name, path=env.get("PATH", os.defpath))
    if found is None:
        raise failure("interpreter_missing", path=script, interpreter=name)
    return str(Path(found).absolute()), tuple(option.strip() for option in options)


def _check_elf(path: str, opened_by: str) -> None:
    """`opened_by`: another path of the file, `path` is for the user."""
    try:
        with Path(opened_by).open("rb") as file:
            headers = ElfHeaders(reader_of(file))
            has_interpreter = any(segment.kind == PT_INTERP for segment in headers.segments)
    except UNREADABLE as error:
        raise failure("not_a_program", path=path) from error
    host = os.uname().machine
    if headers.cpu.replace("-", "_") != host:
        raise failure("wrong_architecture", path=path, machine=headers.machine, host=host)
    if headers.file_type not in _TYPES_THAT_RUN:
        raise failure("not_a_program", path=path)
    if not has_interpreter:
        raise failure("static_program", path=path)
    if has_thread_sanitizer(opened_by):
        raise failure("thread_sanitizer", path=path)


def check_running(pid: int) -> str:
    """Path of the program that process `pid` runs. Raises no_such_process, attach_refused, and as `resolve`."""
    try:
        link = program_of(pid)
        path = executable(link)  # also where another file has taken its place
        program = link.open("rb")
    except (FileNotFoundError, ProcessLookupError) as error:  # just then
        raise refused(pid, error.strerror, is_permission=False) from error
    except OSError as error:
        raise refused(pid, error.strerror, is_permission=True) from error
    with program:  # the process may end meanwhile
        opened_by = f"/proc/self/fd/{program.fileno()}"
        _read_head(opened_by)  # for what it raises
        _check_elf(path, opened_by)
    return path
