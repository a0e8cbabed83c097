"""The ways to write a type's name: integers in C's many orders, templates without their arguments; its typedefs."""

from __future__ import annotations

from collections.abc import Iterator

from strobe.symbols.types.model import Qualified, Type, Typedef

_MOST_TYPEDEFS = 16
_INTEGER_WORDS = frozenset({"signed", "unsigned", "char", "short", "long", "int"})


def spellings(name: str) -> list[str]:
    """How compilers call the type that is meant: `unsigned long` is `long unsigned int` of gcc. At least `name`."""
    words = name.split()
    if not words or not _INTEGER_WORDS.issuperset(words):
        return [name]
    sign = "unsigned" if "unsigned" in words else "signed" if "signed" in words and "char" in words else ""
    widths = [word for word in words if word in ("char", "short", "long")]
    is_short_or_long = bool(widths) and widths[0] != "char"
    gcc = [*widths, sign, "int"] if is_short_or_long else [sign, *(widths or ["int"])]
    clang = [sign, *(widths or ["int"])]
    return list(dict.fromkeys((name, *(" ".join(filter(None, parts)) for parts in (gcc, clang)))))


def names_of(type_: Type) -> Iterator[str]:
    """Names of the typedefs that lead to a type, the outermost first, then its own."""
    for _ in range(_MOST_TYPEDEFS):
        if isinstance(type_, Typedef):
            yield type_.name
        if not isinstance(type_, (Typedef, Qualified)):
            break
        type_ = type_.target
    yield type_.name


def is_instance(name: str, template: str) -> bool:
    """Whether `name` is `template` with arguments, as `std::vector<int>` is of `vector` and `std::vector`."""
    if not name.endswith(">"):
        return False
    begin = name.find(f"{template}<")
    while begin >= 0:
        opens = begin + len(template)
        if (begin == 0 or name[:begin].endswith("::")) and _closes_at_end(name, opens):
            return True
        begin = name.find(f"{template}<", begin + 1)
    return False


def _closes_at_end(name: str, opens: int) -> bool:
    """Whether the bracket at `opens` is closed by the last character. `->` of function types closes nothing."""
    depth = 0
    for position in range(opens, len(name)):
        if name[position] == "<":
            depth += 1
        elif name[position] == ">" and name[position - 1] != "-":
            depth -= 1
        if depth == 0:
            return position == len(name) - 1
    return False
