"""The page that tells an agent when Strobe helps and how: a skill, in the folders where agents look for such."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from strobe.clients import files

_PAGE = Path(__file__).with_name("SKILL.md")
_MARK, _DIGITS = "written by strobe install", 16
_FOLDERS = (".claude/skills/strobe", ".agents/skills/strobe")


def write(base: Path, dry_run: bool = False) -> Iterator[tuple[Path, str]]:
    """Writes it below a home or a project, where that agent has a folder, or is the common one: each file with what
    was done. One that a user has changed stays. Raises cannot_edit."""
    text = _signed(_PAGE.read_text(encoding="utf-8"))
    for folder in _FOLDERS:
        file = base / folder / "SKILL.md"
        if not (base / Path(folder).parts[0]).is_dir() and folder != _FOLDERS[-1]:
            continue
        try:
            known = files.read(file)
            if known is not None and not _is_as_written(known):
                yield file, "was changed, or is another one: left as it is"
                continue
            if known == text:
                yield file, "already there"
                continue
            if not dry_run:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise files.failed(file, error) from error
        yield file, "would be written" if dry_run else "written"


def remove(base: Path, dry_run: bool = False) -> Iterator[tuple[Path, str]]:
    """What `write` has made, unless a user has changed it since; as `write`."""
    for folder in _FOLDERS:
        file = base / folder / "SKILL.md"
        try:
            known = files.read(file)
            if known is None:
                continue
            if not _is_as_written(known):
                yield file, "was changed, or is another one: left as it is"
                continue
            if not dry_run:
                file.unlink()
                if not file.parent.is_symlink() and not any(file.parent.iterdir()):
                    file.parent.rmdir()
        except OSError as error:
            raise files.failed(file, error) from error
        yield file, "would be removed" if dry_run else "removed"


def _signed(page: str) -> str:
    """With a last line by which one sees whether anybody has changed it."""
    return f"{page}\n<!-- {_MARK} {hashlib.sha256(page.encode()).hexdigest()[:_DIGITS]} -->\n"


def _is_as_written(text: str) -> bool:
    """By this version or another one."""
    page, _, _ = text.rpartition(f"\n<!-- {_MARK} ")
    return text == _signed(page)
