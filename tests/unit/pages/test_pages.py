"""README.md, docs/ and the manual pages: what they name is there, and the drawn pictures are those of their script."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import assemble
import manual
import pictures
import pytest

from strobe.cli.group import COMMANDS

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
ARCHITECTURE = (DOCS / "architecture.md").read_text()
WORDS = 1_500


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Within a page too they are checked by `make site`."""
    links = re.findall(r'(?:\]\(|(?:href|src)=")([^)"#\s]+)', page.read_text())
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_every_page_is_in_the_site() -> None:
    listed = set(re.findall(r"([\w/-]+\.md)$", (DOCS / "mkdocs.yml").read_text(), re.MULTILINE))
    made = {"commands.md", *assemble.OUTSIDE.values()}
    assert listed == made | {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}


def test_a_page_of_the_site_links_within_it(tmp_path: Path) -> None:
    assemble.assemble(tmp_path)
    first = (tmp_path / "index.md").read_text()
    assert (
        "](first-steps.md)" in first
        and 'src="pictures/run.svg"' in first
        and "docs/" not in re.sub("`.*?`", "", first.split("## Read on")[1])
    )
    assert "](decisions/README.md)" in (tmp_path / "contributing.md").read_text()
    assert "## strobe sessions delete" in (tmp_path / "commands.md").read_text()


def test_the_architecture_is_short() -> None:
    assert len(ARCHITECTURE.split()) <= WORDS


def test_the_walks_are_counted() -> None:
    """Each heading says how many files follow, and all of them are there."""
    walks = ARCHITECTURE.split("## Three walks")[1].split("\n## ")[0]
    found = re.findall(r"\*\*[^\n]*\*\*, (\d+) files\..*?\n\n(\| .*?\n)(?:\n|\Z)", walks + "\n", re.DOTALL)
    assert len(found) == 3
    for count, table in found:
        files = re.findall(r"`([\w/]+\.\w+)`", table)
        assert len(set(files)) == int(count)
        assert [file for file in files if not (ROOT / file).exists()] == []


def test_drawn_pictures_are_of_their_script() -> None:
    assert (DOCS / "pictures/parts.svg").read_text() == pictures.parts()
    assert (DOCS / "pictures/layers.svg").read_text() == pictures.layers()


def test_a_terminal_is_drawn_with_its_colours() -> None:
    lines = pictures.coloured("\x1b[1;36mf\x1b[0m(a<b) = \x1b[32m1\x1b[0m\r\n")
    assert lines == [[("f", "1;36"), ("(a<b) = ", ""), ("1", "32")], []]
    drawn = pictures.terminal(lines)
    assert "(a&lt;b) = " in drawn and 'fill="#79c0ff" font-weight="bold">f<' in drawn


def test_every_command_has_a_manual_page(tmp_path: Path) -> None:
    manual.main(tmp_path)
    found = {path.stem for path in tmp_path.iterdir()}
    inner = {
        "strobe-sessions-delete",
        "strobe-sessions-list",
        *(f"strobe-daemon-{one}" for one in ("start", "status", "stop")),
    }
    assert found == {"strobe", *(f"strobe-{name}" for name in COMMANDS)} | inner
    page = (tmp_path / "strobe-run.1").read_text()
    assert "\\fB\\-w, \\-\\-watch VARIABLE\\fR" in page and "\nExamples:\n" in page and "\n.nf\n" in page


def test_manual_pages_are_without_mistakes(tmp_path: Path) -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    manual.main(tmp_path)
    for page in sorted(tmp_path.iterdir()):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True, text=True, timeout=30)
        mistakes = [
            line for line in done.stderr.splitlines() if "can't break line" not in line and "adjust" not in line
        ]
        assert (mistakes, done.returncode) == ([], 0), page.name
