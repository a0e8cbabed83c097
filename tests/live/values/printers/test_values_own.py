"""A project's own descriptions of types: .strobe/printers.toml."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.reads import ready, shown, value

from strobe.model import LaunchSpec
from strobe.session import Session, SessionManager

OWN = """
[[printer]]
type = "my::Ring"
layout = "sequence"
start = "items"
count = "count"
valid = "head < capacity && count <= capacity"

[[printer]]
type = "my::Handle"
layout = "words"
number = "index"
words = { 0 = "no handle" }
otherwise = "handle {}"

[[printer]]
type = "my::Label"
layout = "text"
start = "text"
count = "length"
element = "*text"

[[printer]]
type = "my::Node"
layout = "list"
element = "value"
first = "this"
next = "offsetof(*next, next)"
at = 0

[[printer]]
type = "my::Owner"
layout = "fields"
fields = { text = "label->text", who = "handle", twice = "handle.index * 2" }

[[printer]]
type = "my::Self"
layout = "pointer"
pointer = "self"
target = "*self"

[[printer]]
type = "Fixed"
layout = "fields"
fields = { whole = "raw >> 8", fraction = "raw & 0xff" }

[[printer]]
type = "std::vector"
layout = "sequence"
start = "_M_impl._M_finish - size"
count = "1"
"""


NUMBER = '[[printer]]\ntype = "X"\nlayout = "words"\nnumber = "%s"'
CALLBACK = """
[[printer]]
type = "my::Callback"
layout = "function"
code = "code"
pattern = '%s'
"""


@pytest.fixture
def own(build_program: Callable[..., Path], manager: SessionManager, tmp_path: Path) -> Iterator[Session]:
    """A session of a project without descriptions yet."""
    program = build_program("values_own", "-O0")
    session = manager.launch(LaunchSpec(str(program), (), None, {}, project_root=str(tmp_path)))
    yield ready(session)
    session.stop()


def describe(project: Path, text: str) -> None:
    """Puts it into the project's file, as an editor does: the file is another one."""
    path = project / ".strobe" / "printers.toml"
    path.parent.mkdir(exist_ok=True)
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").rename(path)


def test_a_projects_own_types(own: Session, tmp_path: Path) -> None:
    assert shown(own, "gHandle") == "{index = 77, generation = 3}"
    describe(tmp_path, OWN)
    expected = {
        "gRing": "[3, 4, 1, 2]",
        "gHandle": "handle 77",
        "gLabel": '"hello"',
        "gFirst": "[1, 2, 3]",
        "gOwner": '{text = "hello world", who = handle 5, twice = 10}',
        "gFixed": "{whole = 1, fraction = 128}",
        "gLabels": '["later"]',  # it comes before the description of libstdc++
    }
    assert {name: shown(own, name) for name in expected} == expected
    assert shown(own, "gSelf", 5).endswith("<circular ref to gSelf>")
    assert value(own, "gOwner").twice == 10
    assert own.reader.warnings() == []


def test_the_file_is_read_again_when_it_has_changed(own: Session, tmp_path: Path) -> None:
    describe(tmp_path, OWN)
    assert shown(own, "gHandle") == "handle 77"
    describe(tmp_path, OWN.replace("handle {}", "number {}"))
    assert shown(own, "gHandle") == "number 77"
    (tmp_path / ".strobe" / "printers.toml").unlink()
    assert shown(own, "gHandle") == "{index = 77, generation = 3}"


def test_a_type_that_is_not_as_described_shows_its_members(own: Session, tmp_path: Path) -> None:
    describe(tmp_path, OWN.replace('"index"', '"number"').replace('"items"', '"elements"'))
    assert shown(own, "gHandle") == "{index = 77, generation = 3}"
    assert shown(own, "gRing").startswith("{items = 0x")


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        ("[[printer]", "is not valid TOML"),
        ("[[printers]]", "there is no 'printers' here; valid is [[printer]]"),
        ('[[printer]]\nlayout = "text"', "[[printer]] 1: 'type' is missing"),
        ('[[printer]]\ntype = "X"\nlayout = "txt"', "(X): no layout is called 'txt'; valid are text, sequence,"),
        ('[[printer]]\ntype = "X"\nlayout = "value"', "(X): 'value' is missing; layout 'value' has value"),
        (
            '[[printer]]\ntype = "X"\nlayout = "value"\nvalu = "x"',
            "(X): 'valu' is not known, value is; layout 'value' has value",
        ),
        ('[[printer]]\ntype = "X"\nlayout = "value"\nvalue = "a + 1"', "(X): value: 'a + 1' is not a member"),
        (
            '[[printer]]\ntype = "X"\nlayout = "words"\nnumber = "a +"',
            "(X): number: 'a +': it ends too early; valid is",
        ),
        ('[[printer]]\ntype = "X"\nlayout = "words"\nnumber = "a"\notherwise = "{x}"', "(X): otherwise is '{x}'"),
        (NUMBER % ("(" * 90 + "1" + ")" * 90), "(X): number: '((((((((((((((((((((' is nested too deeply; valid is"),
        (NUMBER % ("1+" * 5_000 + "1"), "(X): number: '1+1+1+1+1+1+1+1+1+1+' has more than 200 numbers"),
        (CALLBACK % "([)", "(my::Callback): pattern: missing ]: [); valid is a regular expression with one group"),
        (CALLBACK % "a", "(my::Callback): pattern is 'a'; valid is a regular expression with one group"),
        (CALLBACK % r"(a)\1", "pattern: invalid escape sequence: \\1 (backreferences are not supported); valid is"),
    ],
)
def test_a_mistake_is_reported_and_reading_goes_on(own: Session, tmp_path: Path, mistake: str, told: str) -> None:
    describe(tmp_path, mistake)
    assert shown(own, "gHandle") == "{index = 77, generation = 3}"
    (warning,) = own.reader.warnings()
    assert str(tmp_path / ".strobe" / "printers.toml") in warning
    assert told in warning
    assert warning.endswith("descriptions of types are left out.")


@pytest.mark.parametrize("pattern", ["(a+)_called", "^(.*)_called$"])
def test_what_is_called(own: Session, tmp_path: Path, pattern: str) -> None:
    describe(tmp_path, CALLBACK % pattern)
    assert shown(own, "gCallback") == 40 * "a"


@pytest.mark.parametrize(
    "text",
    [
        CALLBACK % "(a+)+$",  # two to the power of 40 steps, for an engine that goes back
        '[[printer]]\ntype = "' + 20 * "*l" + '*x"\nlayout = "value"\nvalue = "text"',
        f'[[printer]]\ntype = "X"\nlayout = "pointer"\npointer = 0\ntarget = "a{" " * 2_000}!"',
    ],
    ids=["pattern", "type", "formula"],
)
@pytest.mark.timeout(30)
def test_nothing_in_the_file_takes_for_ever(own: Session, tmp_path: Path, text: str) -> None:
    """Under Python's lock, all clients of a daemon would wait."""
    describe(tmp_path, text)
    assert "a_called>" in shown(own, "gCallback")
    assert shown(own, "gNamed") == "{raw = 7}"


def test_a_file_that_cannot_be_read_is_reported(own: Session, tmp_path: Path) -> None:
    path = tmp_path / ".strobe" / "printers.toml"
    path.parent.mkdir()
    path.symlink_to("/")
    assert shown(own, "gFixed") == "{raw = 384}"
    assert "cannot be read" in own.reader.warnings()[0]
