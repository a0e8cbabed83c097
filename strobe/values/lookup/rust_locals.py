"""Rust's `thread_local!`: which static the standard library's macro has made of one, by the name that the source has.

The macro writes a static for types that need to be dropped and one for others; the linker leaves out the one that is
not used, whose location debug information then gives as 0, as it may be of the other.
"""

from __future__ import annotations

from contextlib import closing

from strobe.errors import StrobeError
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.objects.elf import ElfImage
from strobe.symbols.variables import Variable, Variables

_NAMES = tuple(
    f"{{constant#0}}::{{closure#{n}}}::{name}" for name in ("__RUST_STD_INTERNAL_VAL", "VAL") for n in (1, 0)
)
_OLDER = ("__getit::VAL", "__getit::__KEY")  # before 1.77


def thread_locals(name: str, variables: Variables, path: str) -> list[Variable]:
    """`name`: as in the source, `LOCAL` or `module::LOCAL`. `path`: of the file with the symbol table."""
    found = [one for suffix in (*_NAMES, *_OLDER) for one in variables.find(f"{name}::{suffix}")]
    found = [one for one in found if one.is_thread_local]
    if len(found) < 2:
        return found
    defined = _defined(path)
    return [one for one in found if (one.linkage_name or "").encode() in defined] or found


def _defined(path: str) -> set[bytes]:
    """Names of the thread-local symbols that a file has; none where it has been stripped."""
    try:
        with closing(ElfImage(path)) as image:
            return image.thread_locals()
    except StrobeError:
        return set()
    except UNREADABLE:
        return set()
