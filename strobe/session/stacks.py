"""Recorded stacks as text: the function and line of each return address, with the calls that were inlined there."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import PurePath

from strobe import _abi
from strobe.dataclass import dataclass
from strobe.errors import StrobeError
from strobe.symbols import ModuleSymbols, SymbolResolver
from strobe.symbols.details import ModuleDetails
from strobe.symbols.objects.damage import UNREADABLE
from strobe.timeline.store import Load
from strobe.values.decode.recorded import Block

_ADDRESS = (1 << 62) - 1
_ENDS = {
    _abi.STACK_UNKNOWN: "<no unwind information for what called this>",
    _abi.STACK_UNREADABLE: "<the stack cannot be read further>",
}
_SIGNAL = "<signal handler called>"
_MAIN = ("main", "main(int, char**)")
_BEFORE_MAIN = (
    "__libc_start_call_main",
    "__libc_start_main",
    "__libc_start_main_impl",
    "libc_start_main_stage2",
    "_start",
)
_KEPT = 1 << 14
_FAILURES: tuple[type[Exception], ...] = (StrobeError, *UNREADABLE)
Mapped = tuple[int, int, int, str]  # base, from and to in ticks, path


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame: `function` and where it is; `file` and `line` None where that is not known, `module` then says more."""

    function: str
    file: str | None
    line: int | None
    module: str = ""

    def __str__(self) -> str:
        if self.file is not None:
            return f"{self.function} {PurePath(self.file).name}:{self.line}"
        return f"{self.function} {PurePath(self.module).name}".rstrip()


def _is_before_main(frame: Frame) -> bool:
    """Without its debug information the C library has no names of its own functions that are not for others."""
    is_unnamed = frame.function.startswith("0x") and PurePath(frame.module).name.startswith("libc.so.6+")
    return is_unnamed or frame.function in _BEFORE_MAIN


class StackNames:
    """Of one session. Not for several threads at once.

    `loads`: when modules were in the process, and whether that has changed since it was last asked. `builds`: the build
    ids that modules had there, by path; a file of another build says nothing.
    """

    def __init__(
        self,
        resolver: SymbolResolver,
        loads: Callable[[], Sequence[Load]],
        builds: Callable[[], dict[str, str]],
    ) -> None:
        self._resolver = resolver
        self._loads = loads
        self._builds = builds
        self._known: Sequence[Load] | None = None
        self._mapped: list[Mapped] = []
        self._frames = lru_cache(_KEPT)(self._frames_at)

    def shown(self, block: Block, ticks: int) -> tuple[str, ...]:
        """What a block of kind STACK says, the innermost caller first; without how the C library comes to main."""
        found = list(self.frames(block, ticks))
        main = next((at for at, frame in enumerate(found) if frame.function in _MAIN), None)
        if main is not None and all(map(_is_before_main, found[main + 1 :])):
            del found[main + 1 :]
        return tuple(map(str, found))

    def frames(self, block: Block, ticks: int) -> Iterator[Frame]:
        """The frames of it; the last one may say why there are no more."""
        loads = self._loads()
        if loads is not self._known:
            self._known = loads
            last = 1 << 64
            self._mapped = sorted(
                (one.base, one.from_ticks, last if one.to_ticks is None else one.to_ticks, one.module) for one in loads
            )
        for word in block.words:
            address = word & _ADDRESS
            if word & _abi.STACK_SIGNAL:
                yield Frame(_SIGNAL, None, None)
                continue
            is_exact = bool(word & _abi.STACK_INTERRUPTED)
            base, path = self._module_at(address, ticks)
            yield from self._frames(path, base, address, is_exact)
        if block.status in _ENDS:
            yield Frame(_ENDS[block.status], None, None)

    def _module_at(self, address: int, ticks: int) -> tuple[int, str]:
        """Of those that were there at that time the one that begins next below."""
        at = bisect_right(self._mapped, address, key=lambda one: one[0])
        while at > 0:
            base, first, last, path = self._mapped[at - 1]
            if first <= ticks < last:
                return base, path
            at -= 1
        return 0, ""

    def _frames_at(self, path: str, base: int, address: int, is_exact: bool) -> tuple[Frame, ...]:
        """The last one of them is no inlined call."""
        unknown = (Frame(hex(address), None, None, f"{path}+{address - base:#x}" if path else ""),)
        symbols = self._symbols(path) if path else None
        if symbols is None:
            return unknown
        link = address - base + symbols.link_base - (not is_exact)
        function = symbols.function_at(link)
        details = self._resolver.details(path)
        try:
            calls = [] if details is None else list(_calls(details, link))
        except UNREADABLE:
            calls = []
        if function is None:
            return tuple(calls) or unknown
        if not calls:
            return (Frame(function.name, None, None, path),)
        outer = calls[-1]
        return (*calls[:-1], Frame(function.name, outer.file, outer.line, path))

    def _symbols(self, path: str) -> ModuleSymbols | None:
        """None where the file is not the one that was mapped."""
        try:
            symbols = self._resolver.module(path)
        except _FAILURES:
            return None
        build = self._builds().get(path)
        return symbols if not build or symbols.build_id in (None, build) else None


def _calls(details: ModuleDetails, link: int) -> Iterator[Frame]:
    """Inlined calls, the innermost first, each with the line where it is, then the function that has them."""
    location = details.lines.at(link)
    if location is None:
        return
    file, line = location.file, location.line
    calls = details.frames.calls_at(link)
    for call in calls[:-1]:
        yield Frame(call.name, file, line)
        if call.location is not None:
            file, line = call.location.file or file, call.location.line
    yield Frame(calls[-1].name if calls else "", file, line)
