"""Trace patterns: what they mean is fixed in one table of the documentation, `docs/` and the tools' contract.

Names are compared in the form of `names.scoped`: a `::` inside of brackets belongs to the name around it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress, count, repeat
from pathlib import Path
from typing import Literal

from strobe.errors import StrobeError, failure
from strobe.limits import PATTERN_CHARACTERS
from strobe.symbols.names import SCOPE, Unbalanced, check_brackets, scoped
from strobe.symbols.select.linear_regex import LinearRegex, RegexError

_SELECTORS = "@usercode, @file:TEXT, @lib:NAME"
_WILDCARD = re.compile(r"\*+")
# `**` as a whole name with the `::` behind it; any other run of `*`; text
_TOKENS = re.compile(rf"(?<![^{SCOPE}])\*\*+{SCOPE}|\*+|[^*]+")
_WILDCARDS = re.compile(r"\*{3,}")
_LLVM_LAMBDA = re.compile(r"'lambda(\d*)'\(([^()]*)\)")
_ANY_LAMBDA = re.compile(r"\{(lambda|closure|lambda\([^{}]*\))\}")  # without their number
# `std::vector<int, *>`: what is default is left out in scoped names
_ANY_DEFAULTS = re.compile(rf"((?<![\w:{SCOPE}])std(?:::|{SCOPE})[\w:{SCOPE}]*<[^<>]*),\*+>")
_MAX_DOUBLE = 4  # each `**` may multiply the time by the length of a name

Kind = Literal["name", "usercode", "file", "lib"]


@dataclass(frozen=True)
class Pattern:
    """One pattern. `kind` "name" matches function names, "usercode" and "file" source files, "lib" whole libraries.

    `argument`: the scoped name pattern, the project root, the file text or glob, the library's name.
    """

    text: str
    kind: Kind
    argument: str
    _in_files: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    @staticmethod
    def parse(text: str, project_root: str | None = None) -> Pattern:
        """Raises INVALID_PATTERN."""
        text = text.strip()
        if not text:
            raise _invalid(text, "it is empty", "Give a function name such as 'ns::*', or @usercode.")
        if len(text) > PATTERN_CHARACTERS:
            shown = f"{text[:40]}…"
            reason = f"it is longer than {PATTERN_CHARACTERS:,} characters"
            raise _invalid(shown, reason, "Use wildcards: 'ns::*', 'ns::**'.")
        if any(not letter.isprintable() for letter in text):
            raise _invalid(ascii(text), "it contains characters that cannot be printed")
        if text.startswith("@"):
            return _selector(text, project_root)
        if len(re.findall(r"\*\*+", text)) > _MAX_DOUBLE:
            raise _invalid(text, f"it has more than {_MAX_DOUBLE} '**'", "One '**' stands for any number of scopes.")
        try:
            return Pattern(text, "name", _argument(text))
        except Unbalanced as error:
            hint = "Patterns have no parameter list; template arguments stand in '<…>', and '<*>' matches any."
            raise _invalid(text, str(error), hint) from error

    @property
    def is_exact(self) -> bool:
        return self.kind == "name" and "*" not in self.argument

    @cached_property
    def literals(self) -> list[str]:
        """The parts of a name pattern without wildcards, longest first; every match contains all of them."""
        parts = [part.strip(SCOPE) for part in _WILDCARD.split(self.argument)]
        return sorted(filter(None, parts), key=len, reverse=True)

    def matching_names(self, scoped_names: Sequence[str]) -> list[int]:
        """Indexes of the scoped names that a name pattern matches; the usual kinds need no regular expression."""
        if self.is_exact:
            return _equal(scoped_names, self.argument)
        prefix, _, rest = self.argument.partition("*")
        if rest in ("", "*"):
            found = _true(map(str.startswith, scoped_names, repeat(prefix)))
            length = len(prefix)
            return found if rest else [index for index in found if scoped_names[index].find(SCOPE, length) < 0]
        matches = self._expression.fullmatch
        if not self.literals:
            return [index for index, name in enumerate(scoped_names) if matches(name)]
        # the expression takes several times as long, and most names fail this
        rarest = self.literals[0]
        return [index for index, name in enumerate(scoped_names) if rarest in name and matches(name)]

    def matches_name(self, name: str) -> bool:
        return bool(self.matching_names([scoped(name)]))

    def matches_file(self, path: str | None) -> bool:
        """Whether a source file, given by full path, is one that "usercode" or "file" means."""
        if path is None:
            return False
        if path not in self._in_files:
            self._in_files[path] = self._file_test(path)
        return self._in_files[path]

    def matches_library(self, path: str) -> bool:
        """Whether a module's file is one that "lib" means: `libz.so` is also `libz.so.1.2.13`."""
        return Path(path).name.startswith(self.argument) or path == self.argument

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        return re.compile(_name_expression(self.argument), re.DOTALL)

    @cached_property
    def _file_test(self) -> Callable[[str], bool]:
        if self.kind == "usercode":
            return _inside(self.argument)
        if any(letter in self.argument for letter in "*?["):
            return LinearRegex(_glob_expression(self.argument)).fits
        return lambda path: self.argument in path


def _equal(names: Sequence[str], wanted: str) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(ValueError):
        while True:
            found.append(names.index(wanted, found[-1] + 1 if found else 0))
    return found


def _true(answers: Iterable[bool]) -> list[int]:
    """Their indexes."""
    return list(compress(count(), answers))


def _selector(text: str, project_root: str | None) -> Pattern:
    name, colon, argument = text.partition(":")
    if name == "@usercode" and not colon:
        if not project_root:
            raise _invalid(text, "it needs a project root", "Pass projectRoot: the folder of your own source code.")
        return Pattern(text, "usercode", os.path.normpath(project_root))
    kinds: dict[str, Kind] = {"@file": "file", "@lib": "lib"}
    if name not in kinds:
        raise _invalid(text, f"there is no selector '{name}'", f"Valid: {_SELECTORS}.")
    if not argument:
        raise _invalid(text, f"'{name}' needs a name behind a colon", "For example @file:parser.cpp or @lib:libz.so.")
    try:
        LinearRegex(_glob_expression(argument))
    except RegexError as error:
        raise _invalid(text, f"its brackets are no set of letters ({error})", "For example @file:[ab]*.cpp") from error
    return Pattern(text, kinds[name], argument)


def _argument(text: str) -> str:
    """The scoped form of a name pattern, with what stands for any lambda or closure spelled out. Raises Unbalanced."""
    text = _LLVM_LAMBDA.sub(lambda found: f"{{lambda({found[2]})#{int(found[1] or -1) + 2}}}", text)
    text = text.replace("<lambda>", "{lambda}")
    try:
        check_brackets(text)
    except Unbalanced:
        text = text.replace("operator<<", "operator< <")  # of a template: `operator<<int>`
        check_brackets(text)
    argument = _ANY_LAMBDA.sub(r"{\1*}", _WILDCARDS.sub("**", scoped(text)))
    return _ANY_DEFAULTS.sub(r"\1*>", argument)


def _invalid(text: str, reason: str, hint: str = "") -> StrobeError:
    return failure("invalid_pattern", pattern=text, reason=reason, hint=hint)


def _name_expression(argument: str) -> str:
    """`*`: within one name; `**`: anything; `a::**::b` is also `a::b`, and `**::b` also `b`.

    A literal between two wildcards of one kind is taken where it first occurs, for good (an atomic group): the second
    wildcard can reach whatever a later choice could. So many wildcards take no more time than few.
    """
    tokens = [*_TOKENS.findall(argument), "", ""]
    pieces: list[str] = []
    index = 0
    while token := tokens[index]:
        after, second = tokens[index + 1 : index + 3]
        any_text = f"[^{SCOPE}]*" if token == "*" else ".*"
        index += 1
        if token[0] != "*":
            pieces.append(re.escape(token))
        elif token[-1] == SCOPE:
            pieces.append(f"(?:.*{SCOPE})?")
        elif after and after[0] != "*" and second in ("*" if token == "*" else "**", "**"):
            pieces.append(f"(?>{any_text}?{re.escape(after)})")
            index += 1
        else:
            pieces.append(any_text)
    return "".join(pieces)


def _glob_expression(glob: str) -> str:
    """Matched against whole trailing parts of the path; `*` and `?` stop at a '/', `**` does not."""
    pieces = ["" if glob.startswith("/") else "(?:.*/)?"]
    for part in re.findall(r"\*\*/|\*+|\?|\[[^\]]+\]|.", glob, re.DOTALL):
        if part == "**/":
            pieces.append("(?:.*/)?")
        elif part.startswith("*"):
            pieces.append("[^/]*" if part == "*" else ".*")
        elif part == "?":
            pieces.append("[^/]")
        elif part.startswith("[") and len(part) > 2:
            inner = part[1:-1].replace("\\", "\\\\")
            pieces.append(f"[^{inner[1:]}]" if inner[0] == "!" else f"[{inner}]")
        else:
            pieces.append(re.escape(part))
    return "".join(pieces)


def _inside(root: str) -> Callable[[str], bool]:
    """Test for files below `root`, by the path as compiled or with links resolved on either side."""
    prefixes = tuple({root.rstrip("/") + "/", os.path.realpath(root).rstrip("/") + "/"})

    def test(path: str) -> bool:
        if not path.startswith("/"):  # compiled with mapped prefixes
            return (Path(root) / path).exists()
        return path.startswith(prefixes) or os.path.realpath(path).startswith(prefixes)

    return test


def parse_all(texts: Iterable[str], project_root: str | None = None) -> list[Pattern]:
    """Raises INVALID_PATTERN for the first that is not valid."""
    return [Pattern.parse(text, project_root) for text in texts]
