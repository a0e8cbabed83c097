"""The page that tells an agent when Strobe helps and how: a skill, in the folders where agents look for such."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from strobe.errors import failure

_PAGE = Path(__file__).with_name("SKILL.md")
_FOLDERS = (".claude/skills/strobe", ".agents/skills/strobe")


def write(base: Path) -> Iterator[Path]:
    """Writes it below a home or a project, where that agent has a folder, or is the common one. Raises cannot_edit."""
    text = _PAGE.read_text(encoding="utf-8")
    for folder in _FOLDERS:
        file = base / folder / "SKILL.md"
        if not (base / Path(folder).parts[0]).is_dir() and folder != _FOLDERS[-1]:
            continue
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            if not file.exists() or file.read_text(encoding="utf-8") != text:
                file.write_text(text, encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise failure("cannot_edit", file=file, reason=str(error)) from error
        yield file


def remove(base: Path) -> None:
    """What `write` has made."""
    for folder in _FOLDERS:
        file = base / folder / "SKILL.md"
        file.unlink(missing_ok=True)
        if file.parent.is_dir() and not any(file.parent.iterdir()):
            file.parent.rmdir()
