"""All descriptions that apply to a read: the user's first, then those of the libraries that Strobe knows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path

from strobe.values.printers.description import Description, DescriptionError, load
from strobe.values.printers.names import without_arguments

FILE = Path(".strobe") / "printers.toml"
_MAX_BYTES = 1 << 20


class Printers:
    """Descriptions by the names of types."""

    def __init__(self, descriptions: Sequence[Description]) -> None:
        self._exact: dict[str, list[tuple[int, Description]]] = {}
        self._patterns: list[tuple[int, Description]] = []
        self._known: dict[str, tuple[Description, ...]] = {}
        for number, one in enumerate(descriptions):
            for name in one.types:
                if "*" in name:
                    self._patterns.append((number, one))
                else:
                    self._exact.setdefault(name, []).append((number, one))

    def of(self, name: str) -> tuple[Description, ...]:
        """Those that may describe a type of that name, in their order."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._of(name)
        return known

    def _of(self, name: str) -> tuple[Description, ...]:
        plain = without_arguments(name).strip()
        found = list(self._exact.get(plain, ()))
        found += [pair for pair in self._patterns if _fits(pair[1], name, plain)]
        return tuple(one for _, one in sorted(found, key=lambda pair: pair[0]))


def _fits(description: Description, name: str, plain: str) -> bool:
    """Patterns with template arguments are meant for names with these."""
    pairs = zip(description.types, description.patterns, strict=True)
    return any(pattern.fits(name if "<" in text else plain) for text, pattern in pairs)


@cache
def _libraries() -> tuple[Description, ...]:
    folder = resources.files(__package__)
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    return tuple(
        one for file in files for one in load(file.read_text(encoding="utf-8"), file.name, checks_patterns=False)
    )


@cache
def built_in() -> Printers:
    """Without a user's own."""
    return Printers(_libraries())


class ProjectPrinters:
    """The descriptions for a project: its own file is read again when it has changed."""

    def __init__(self, project_root: str | None) -> None:
        self._path = None if not project_root else Path(project_root) / FILE
        self._state: tuple[int, int, int] | None = None
        self._printers = built_in()
        self.warning: str | None = None

    def current(self) -> Printers:
        """The same object as long as nothing has changed. A mistake in the file is `warning`; then it counts for
        nothing."""
        state = self._looked_at()
        if state != self._state:
            self._state = state
            self._printers, self.warning = self._read()
        return self._printers

    def _looked_at(self) -> tuple[int, int, int] | None:
        try:
            status = None if self._path is None else self._path.stat()
        except OSError:
            return None
        return None if status is None else (status.st_ino, status.st_mtime_ns, status.st_size)

    def _read(self) -> tuple[Printers, str | None]:
        if self._state is None or self._path is None:
            return built_in(), None
        try:
            if self._state[2] > _MAX_BYTES:
                raise DescriptionError(f"{self._path} has more than {_MAX_BYTES} bytes")
            own = load(self._path.read_text(encoding="utf-8"), str(self._path))
        except (OSError, UnicodeDecodeError) as error:
            return built_in(), f"{self._path} cannot be read: {error}. Its descriptions of types are left out."
        except DescriptionError as error:
            return built_in(), f"{error}. All of its descriptions of types are left out."
        return Printers((*own, *_libraries())), None
