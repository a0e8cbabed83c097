"""zstd with one thread and with two: the compressed file, and what comes out of it again."""

from __future__ import annotations

import random
from pathlib import Path

from .runs import Cost, Way, run

BYTES = 24 << 20
WORDS = 4000


def case(way: Way, program: Path, folder: Path, threads: int) -> tuple[Cost, dict[str, bytes]]:
    """Compresses in some depth, and unpacks; the cost is that of both."""
    (folder / "plain").write_bytes(_text())
    packing = run(way, [str(program), "-q", "-8", f"-T{threads}", "plain", "-o", "packed"], folder)
    unpacking = run(way, [str(program), "-q", "-d", "packed", "-o", "unpacked"], folder)
    unpacked = (folder / "unpacked").read_bytes()
    if unpacked != (folder / "plain").read_bytes():
        raise AssertionError("what was packed is not what comes out")
    cost = Cost(
        packing.cpu + unpacking.cpu,
        packing.wall + unpacking.wall,
        packing.calls + unpacking.calls,
        max(packing.functions, unpacking.functions),
    )
    return cost, {"packed": (folder / "packed").read_bytes()}


def _text() -> bytes:
    """Words of a made-up language, some often and some seldom, the same at each call."""
    chance = random.Random(4)
    words = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(WORDS)]
    page = " ".join(words[int(WORDS * chance.random() ** 3)] for _ in range(200_000)).encode()
    mixed = b"".join(page[start : start + 4000] for start in chance.choices(range(len(page)), k=BYTES // 4000))
    return mixed[:BYTES]
