"""Which C library a wheel needs: fails where a file in it needs one newer than 2.31, or a library that some lack.

`wheel_check.py WHEEL…`
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Iterator

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

NEWEST = (2, 31)
# those of the C library, and the compiler's unwinder in the form that GCC 3 gave it
LIBRARIES = {
    "libc.so.6",
    "libm.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libgcc_s.so.1",
    "ld-linux-x86-64.so.2",
}


def problems(name: str, elf: ELFFile) -> Iterator[str]:
    for section in elf.iter_sections():
        if isinstance(section, DynamicSection):
            needed = {tag.needed for tag in section.iter_tags("DT_NEEDED")}  # type: ignore[attr-defined]
            yield from (f"{name} needs {library}" for library in sorted(needed - LIBRARIES))
        elif isinstance(section, GNUVerNeedSection):
            for library, versions in section.iter_versions():
                yield from (
                    f"{name} needs {version.name} of {library.name}" for version in versions if is_new(version.name)
                )


def is_new(version: str) -> bool:
    family, _, number = version.partition("_")
    if family != "GLIBC":
        return family != "GCC" or int(number.split(".")[0]) > 4
    return tuple(int(part) for part in number.split(".")) > NEWEST


def main() -> int:
    found: list[str] = []
    for path in sys.argv[1:]:
        files = 0
        with zipfile.ZipFile(path) as wheel:
            for name in wheel.namelist():
                content = wheel.read(name)
                if content[:4] == b"\x7fELF":
                    files += 1
                    found += problems(name, ELFFile(io.BytesIO(content)))
        if files == 0:
            found.append(f"{path} has no native file")
    print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
