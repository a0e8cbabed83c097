"""Files that `strobe export` writes: which are replaced, and which are written in place."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from strobe.cli.output.whole_file import whole_file

NOBODY = 65534
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")


@contextlib.contextmanager
def as_another_user() -> Iterator[Path]:
    """A folder of one who is not root, who may write everything. Within a test alone: the runner's files are root's."""
    with tempfile.TemporaryDirectory() as made:  # the tests' own one is within folders of root alone
        before = os.geteuid()
        user = before or NOBODY
        os.chown(made, user, -1)
        os.seteuid(user)
        try:
            yield Path(made)
        finally:
            os.seteuid(before)


def write(path: Path, text: str = "new") -> None:
    with whole_file(path) as file:
        file.write(text)


def test_a_file_that_may_not_be_written_is_not_replaced() -> None:
    with as_another_user() as folder:
        file = folder / "kept"
        file.write_text("old")
        file.chmod(0o444)
        with pytest.raises(PermissionError):
            write(file)
        assert (file.read_text(), list(folder.iterdir())) == ("old", [file])


@as_root
@pytest.mark.parametrize(("user", "group"), [(NOBODY, -1), (-1, NOBODY)])
def test_a_file_stays_its_owners(tmp_path: Path, user: int, group: int) -> None:
    file = tmp_path / "theirs"
    file.write_text("what was there")
    os.chown(file, user, group)
    before = file.stat()
    write(file)
    after = file.stat()
    assert (after.st_uid, after.st_gid, after.st_ino) == (before.st_uid, before.st_gid, before.st_ino)
    assert (file.read_text(), list(tmp_path.iterdir())) == ("new", [file])


def test_all_names_of_a_file_stay_names_of_it(tmp_path: Path) -> None:
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_text("what was there")
    other.hardlink_to(file)
    write(file)
    assert (other.read_text(), file.stat().st_nlink) == ("new", 2)


def test_a_pipe_by_its_descriptor(tmp_path: Path) -> None:
    reads, writes = os.pipe()
    write(Path(f"/dev/fd/{writes}"))
    os.close(writes)
    with open(reads) as pipe:  # noqa: PTH123
        assert pipe.read() == "new"


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_file_by_its_descriptor_is_that_one(tmp_path: Path, is_deleted: bool) -> None:
    """What the shell writes there afterwards would be lost."""
    path = tmp_path / "file"
    with path.open("a+") as file:
        if is_deleted:
            path.unlink()
        write(Path(f"/dev/fd/{file.fileno()}"))
        file.write(" and more")
        file.seek(0)
        assert file.read() == "new and more"
    assert list(tmp_path.iterdir()) == ([] if is_deleted else [path])


def test_a_link_to_what_is_not_there(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("file")
    write(link)
    assert link.is_symlink() and (tmp_path / "file").read_text() == "new"
