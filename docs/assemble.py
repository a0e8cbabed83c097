"""The pages of the site in one folder, as mkdocs wants them: README.md is the first page, and each command has its part
of commands.md.

`python docs/assemble.py build/pages`; docs/mkdocs.yml makes the site of them (`make site`).
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from manual import markdown, pages

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
OUTSIDE = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}
SOURCES = (".md", ".svg", ".c", ".cpp", ".py")  # of docs/examples what pages link to
SCRIPTS = {path.name for path in DOCS.glob("*.py")}
_LINK = re.compile(r'(\]\(|(?:href|src)=")([^)"#\s]+)')


def assemble(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for path in sorted(DOCS.rglob("*")):
        place = path.relative_to(DOCS)
        if path.suffix in SOURCES and place.name not in SCRIPTS and "__pycache__" not in place.parts:
            _put(path, folder / place, "")
    for name, page in OUTSIDE.items():
        _put(ROOT / name, folder / page, "docs/")
    (folder / "commands.md").write_text(markdown("Commands", list(pages())))


def _put(path: Path, target: Path, inside: str) -> None:
    """`inside`: how a page outside docs/ names it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".md":
        text = _LINK.sub(lambda found: found[1] + _moved(found[2], inside), path.read_text())
        target.write_text("\n".join(_apart(text.splitlines())) + "\n")
    else:
        shutil.copy(path, target)


def _moved(link: str, inside: str) -> str:
    """Where a link leads in the folder. A folder is its README.md."""
    name = link.removeprefix("../")
    if name in OUTSIDE and (inside or link != name):
        return OUTSIDE[name]
    moved = link.removeprefix(inside)
    return f"{moved}/README.md" if (DOCS / moved).is_dir() else moved


def _apart(lines: list[str]) -> Iterator[str]:
    """With an empty line before each list: without one, Python-Markdown takes it for a part of the paragraph."""
    is_code, before = False, ""
    for line in lines:
        if not is_code and line.startswith("- ") and before and not before.startswith(("- ", " ")):
            yield ""
        is_code ^= line.startswith("```")
        yield line
        before = line


if __name__ == "__main__":
    assemble(Path(sys.argv[1]))
