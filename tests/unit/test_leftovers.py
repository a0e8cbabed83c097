"""The guard sees what tests could leave: children, detached daemons of the test's home, segments."""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path

from support import leftovers
from support.wait import wait_until

from strobe.timeline import placement
from strobe.timeline.store import Store


def test_child_is_found_and_cleared(strobe_home: Path) -> None:
    before = leftovers.observe(strobe_home)
    with subprocess.Popen(["sleep", "30"]) as child:
        found = [f"process {child.pid}: sleep 30"]
        # in the middle of exec it has no command line
        wait_until(lambda: leftovers.leftovers(before, strobe_home) == found, "the child to be found")
        leftovers.clear(before, strobe_home)
        assert child.wait(timeout=60) == -9
    assert leftovers.leftovers(before, strobe_home) == []


def test_detached_process_is_found_by_its_home(strobe_home: Path) -> None:
    before = leftovers.observe(strobe_home)
    # setsid -f: forked away, its parent is gone, as a daemon's is
    subprocess.run(["setsid", "-f", "sleep", "30"], check=True, timeout=60)
    wait_until(lambda: leftovers.leftovers(before, strobe_home), "the detached process to be found")
    leftovers.clear(before, strobe_home)
    wait_until(lambda: not leftovers.leftovers(before, strobe_home), "the detached process to be gone")


def test_segment_is_found_and_cleared(strobe_home: Path) -> None:
    before = leftovers.observe(strobe_home)
    with closing(Store(strobe_home)) as store:
        segment = placement.place_segment(store.add_session("/bin/true", None, 1000))
    assert segment.parent == leftovers.SHARED_MEMORY
    segment.write_bytes(b"x")
    assert leftovers.leftovers(before, strobe_home) == [str(segment)]
    leftovers.clear(before, strobe_home)
    assert not segment.exists()
