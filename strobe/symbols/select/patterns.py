"""Trace patterns, and the functions that they select, with everything a user should know about what was left out.

What patterns mean is fixed in one table of the documentation, `docs/` and the tools' contract. Names are compared in
the form of `names.scoped`: a `::` inside of brackets belongs to the name around it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import compress, count, repeat
from pathlib import Path
from typing import Literal

from strobe.dataclass import dataclass, field
from strobe.errors import StrobeError, failure
from strobe.limits import PATTERN_CHARACTERS
from strobe.model import FunctionSymbol
from strobe.symbols.function_table import FunctionTable
from strobe.symbols.module_symbols import ModuleSymbols
from strobe.symbols.names import SCOPE, Unbalanced, check_brackets, scoped, scoped_all
from strobe.symbols.select.allocators import ALLOCATORS, is_allocator
from strobe.symbols.select.copies import each_once
from strobe.symbols.select.folded import folded
from strobe.symbols.select.left_out import (
    debug_warning,
    elsewhere,
    folded_warning,
    inlined_everywhere,
    partly_inlined,
    partly_inlined_warning,
    refusal_warnings,
    shared_code,
    with_same_code,
)
from strobe.symbols.select.linear_regex import LinearRegex, RegexError
from strobe.symbols.select.nearest import nearest_files, nearest_functions
from strobe.symbols.select.never_hooked import is_system_runtime, unsafe_reason
from strobe.symbols.select.system_names import Named, named_in_system
from strobe.symbols.select.unseen_calls import Unseen, unseen_calls

_SHOWN = 5  # names in one warning
_SELECTORS = "@usercode, @file:TEXT, @lib:NAME, @heap"
_WILDCARD = re.compile(r"\*+")
# `**` as a whole name with the `::` behind it; any other run of `*`; text
_ONE_LEVEL = re.compile(r"(?<!\*)\*(?!\*)")
_TOKENS = re.compile(rf"(?<![^{SCOPE}])\*\*+{SCOPE}|\*+|[^*]+")
_WILDCARDS = re.compile(r"\*{3,}")
_LLVM_LAMBDA = re.compile(r"'lambda(\d*)'\(([^()]*)\)")
_ANY_LAMBDA = re.compile(r"\{(lambda|closure|lambda\([^{}]*\))\}")  # without their number
# `std::vector<int, *>`: what is default is left out in scoped names
_ANY_DEFAULTS = re.compile(rf"((?<![\w:{SCOPE}])std(?:::|{SCOPE})[\w:{SCOPE}]*<[^<>]*),\*+>")
_MAX_DOUBLE = 4  # each `**` may multiply the time by the length of a name

Kind = Literal["name", "usercode", "file", "lib", "heap"]


@dataclass(frozen=True)
class Pattern:
    """One pattern. `kind` "name" matches function names, "usercode" and "file" source files, "lib" whole libraries,
    "heap" what gives and takes memory.

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
        """Whether it is the name of one function, overloads included: no selector and no wildcard."""
        return self.kind == "name" and "*" not in self.argument

    @cached_property
    def literals(self) -> list[str]:
        """The parts of a name pattern without wildcards, longest first; every match contains all of them."""
        parts = [part.strip(SCOPE) for part in _WILDCARD.split(self.argument)]
        return sorted(filter(None, parts), key=len, reverse=True)

    def matching_names(self, scoped_names: Sequence[str]) -> list[int]:
        """Indexes of the scoped names that a name pattern matches; the usual kinds need no regular expression."""
        if self.is_exact:
            return sorted({*_equal(scoped_names, self.argument), *self._instances(scoped_names)})
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

    def _instances(self, scoped_names: Sequence[str]) -> list[int]:
        """Indexes of instances of a template that is named without its arguments: `C<int>::f<char>` of `C::f`."""
        wanted = self.argument.split(SCOPE)
        last = wanted[-1]
        candidates = _true(last in name and "<" in name for name in scoped_names)
        return [index for index in candidates if _are_instances(scoped_names[index].split(SCOPE), wanted)]

    def matches_name(self, name: str) -> bool:
        """Whether a function's qualified name matches, however a compiler has written it."""
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


@dataclass
class Selection:
    """What patterns match.

    `functions`: every match once, without those that must not be hooked. `matches`: the same by pattern text, all
    patterns included. Of patterns that match nothing: `nearest`, names or patterns that they may have meant; `wider`,
    the same with `**` for each `*`, and how many functions that matches.
    `partly_inlined`: of the functions, those that were also inlined, by name, with the number of sites. `folded`: as
    folded.py finds them. `same_code`: of the functions, those whose code is that of others, too, by name, with the
    names of these. `unseen`: as unseen_calls.py finds them. `system_names`: texts of name patterns that mean functions
    of the system's libraries.
    """

    functions: list[FunctionSymbol] = field(default_factory=list)
    matches: dict[str, list[FunctionSymbol]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    nearest: dict[str, list[str]] = field(default_factory=dict)
    wider: dict[str, tuple[str, int]] = field(default_factory=dict)
    partly_inlined: dict[str, int] = field(default_factory=dict)
    folded: dict[str, str] = field(default_factory=dict)
    same_code: dict[str, list[str]] = field(default_factory=dict)
    unseen: dict[str, Unseen] = field(default_factory=dict)
    system_names: set[str] = field(default_factory=set)

    def meant(self, text: str) -> str:
        """What a pattern that matches nothing may have meant, as a sentence; "" where nothing is near."""
        if text in self.wider:
            wider, count = self.wider[text]
            return f"* does not reach beyond '::'; '{wider}' matches {count} function{'s' if count > 1 else ''}."
        near = self.nearest.get(text)
        return f"Names like it: {', '.join(near)}." if near else ""


def parse_all(texts: Iterable[str], project_root: str | None = None) -> list[Pattern]:
    """Raises INVALID_PATTERN for the first that is not valid."""
    return [Pattern.parse(text, project_root) for text in texts]


def select(
    patterns: Sequence[Pattern], modules: Sequence[ModuleSymbols], system_names: Collection[str] = ()
) -> Selection:
    """Matches patterns against modules, the first of which is the main program.

    Name and file patterns see all modules except for the system's runtime libraries, which only @lib: and exact names
    reach, these where nothing else is called so. `system_names` have reached them, and go on to do so when a library
    is loaded that has a function of the same name, which they mean as well.
    """
    searched = _not_of_system(modules)
    sanitized = _with_sanitizer(searched)
    selection = Selection()
    refused: dict[FunctionSymbol, str] = {}
    by_other_name: set[str] = set()  # paths of system libraries
    for pattern in patterns:
        meant = _meant(pattern, modules, searched, pattern.text in system_names)
        found, inlined, of_system = meant.functions, meant.inlined, meant.of_system
        if of_system.functions:
            found = each_once([*found, *of_system.functions], modules)
            selection.system_names.add(pattern.text)
        if of_system.functions and pattern.text not in {function.name for function in found}:
            by_other_name |= {function.module for function in found}
        reasons = {
            function: reason
            for function in found
            if (reason := unsafe_reason(function, function.module in sanitized)) is not None
        }
        refused.update(reasons)
        selection.matches[pattern.text] = [function for function in found if function not in reasons]
        selection.warnings.extend(inlined_everywhere(pattern.text, inlined))
        if not found:
            _explain_nothing(selection, pattern, searched, modules)
            selection.warnings.extend([of_system.why] if of_system.why else [])
    unique = {(f.module, f.address): f for functions in selection.matches.values() for f in functions}
    selection.functions = list(unique.values())
    selection.partly_inlined = partly_inlined(selection.functions, modules)
    selection.warnings.extend(partly_inlined_warning(selection.partly_inlined))
    selection.same_code = with_same_code(
        selection.functions, [*searched, *(module for module in modules if module.path in by_other_name)]
    )
    selection.warnings.extend(shared_code(selection.same_code))
    selection.folded = folded(selection.functions, searched)
    selection.unseen = unseen_calls(selection.functions, modules)
    selection.warnings.extend(folded_warning(selection.folded))
    named = {pattern.text for pattern in patterns if pattern.is_exact}
    selection.warnings.extend(refusal_warnings(refused, named))
    selection.warnings.extend(_debug_warnings(patterns, selection, modules))
    selection.warnings = list(dict.fromkeys(selection.warnings))
    return selection


def _not_of_system(modules: Sequence[ModuleSymbols]) -> list[ModuleSymbols]:
    return [module for index, module in enumerate(modules) if index == 0 or not is_system_runtime(module.path)]


def matching(pattern: Pattern, modules: Iterable[ModuleSymbols]) -> Iterator[FunctionSymbol]:
    """Every function that a pattern means, those that must not be hooked as well."""
    for module in modules:
        if pattern.kind == "name":
            yield from (module.functions[index] for index in _matching_names(pattern, module))
        elif pattern.kind == "lib":
            if pattern.matches_library(module.path):
                yield from (function for function in module.functions if function.exported)
        elif pattern.kind == "heap":
            is_system = is_system_runtime(module.path)
            yield from (item for item in _allocators(module) if is_allocator(item, is_system=is_system))
        elif isinstance(module.functions, FunctionTable):
            yield from (module.functions[index] for index in module.functions.in_files(pattern.matches_file))
        else:
            yield from (function for function in module.functions if pattern.matches_file(function.source_file))


def _matching_names(pattern: Pattern, module: ModuleSymbols) -> list[int]:
    """Numbers of the functions that a name pattern matches, by other names of the same code as well."""
    found = pattern.matching_names(module.scoped_names)
    shared = module.functions.shared if isinstance(module.functions, FunctionTable) else []
    if not shared:
        return found
    also = pattern.matching_names(scoped_all([name for name, _ in shared]))
    return sorted({*found, *(shared[index][1] for index in also)})


def _allocators(module: ModuleSymbols) -> Iterator[FunctionSymbol]:
    """Functions that may be, by their names."""
    if not isinstance(module.functions, FunctionTable):
        yield from module.functions
        return
    for index, name in enumerate(module.functions.names):
        if name in ALLOCATORS or name.startswith("operator "):
            yield module.functions[index]


def called(names: Container[str], modules: Iterable[ModuleSymbols]) -> Iterator[FunctionSymbol]:
    """Every function with one of these names."""
    for module in modules:
        if isinstance(module.functions, FunctionTable):
            own = enumerate(module.functions.names)
            yield from (module.functions[index] for index, name in own if name in names)
        else:
            yield from (function for function in module.functions if function.name in names)


def _inlined_sites(pattern: Pattern, modules: Iterable[ModuleSymbols]) -> Counter[str]:
    """Functions that a pattern means and that have no copy of their own: name -> sites."""
    sites: Counter[str] = Counter()
    for module in modules:
        names = list(module.inlined_sites)
        only = module.inlined_only
        sites.update({names[i]: only[names[i]] for i in meant_inlined(pattern, module) if names[i] in only})
    return sites


def meant_inlined(pattern: Pattern, module: ModuleSymbols) -> Sequence[int]:
    """Numbers of the module's `inlined_sites` that a pattern means, by name or by where they are declared."""
    if pattern.kind == "name":
        return pattern.matching_names(module.scoped_inlined)
    if pattern.kind in ("lib", "heap"):
        return []
    return [number for number, file in enumerate(module.inlined_files) if pattern.matches_file(file)]


def _with_sanitizer(modules: Sequence[ModuleSymbols]) -> set[str]:
    """Paths of those that contain AddressSanitizer, as clang links it, and have debug information besides."""
    described = [module for module in modules if module.has_debug_info]
    return {function.module for function in matching(Pattern.parse("__asan_init", None), described)}


def _explain_nothing(
    selection: Selection, pattern: Pattern, searched: Sequence[ModuleSymbols], modules: Sequence[ModuleSymbols]
) -> None:
    if pattern.kind == "lib":
        names = [Path(module.path).name for module in modules]
        selection.nearest[pattern.text] = nearest_files(pattern.argument, names) or names[:_SHOWN]
    elif pattern.kind == "file":
        files = {Path(path).name for module in searched for path in _source_paths(module)}
        selection.nearest[pattern.text] = nearest_files(Path(pattern.argument).name, files)
    elif pattern.kind == "usercode":
        selection.warnings.extend(elsewhere(pattern.argument, _source_paths(searched[0]) if searched else ()))
    elif pattern.kind == "name":
        wider = _ONE_LEVEL.sub("**", pattern.text)
        if wider != pattern.text and (count := sum(1 for _ in matching(Pattern.parse(wider), searched))):
            selection.wider[pattern.text] = (wider, count)
        selection.nearest[pattern.text] = nearest_functions(pattern.text, searched)


def _source_paths(module: ModuleSymbols) -> Iterable[str]:
    if isinstance(module.functions, FunctionTable):
        return module.functions.source_paths
    return {function.source_file for function in module.functions if function.source_file}


@dataclass(frozen=True, slots=True)
class _Meant:
    """`functions` outside of the system's libraries, for @lib: and @heap also of these; `inlined` as _inlined_sites has
    it; what is meant `of_system`, of a name that is nowhere else."""

    functions: list[FunctionSymbol]
    inlined: Counter[str]
    of_system: Named


def _meant(
    pattern: Pattern, modules: Sequence[ModuleSymbols], searched: Sequence[ModuleSymbols], is_of_system: bool
) -> _Meant:
    """`searched`: those of the modules that are not the system's. `is_of_system`: it is known to be meant there."""
    found = each_once(list(matching(pattern, modules if pattern.kind in ("lib", "heap") else searched)), modules)
    inlined = _inlined_sites(pattern, searched)
    of_system = Named()
    # '*' says nothing about what is looked for
    if pattern.kind == "name" and pattern.literals and (is_of_system or not (found or inlined)):
        of_system = named_in_system(pattern.text, pattern.is_exact, lambda one: matching(pattern, [one]), modules[1:])
    return _Meant(found, inlined, of_system)


def meant_in_system(pattern: Pattern, modules: Sequence[ModuleSymbols]) -> Named:
    """What `select` finds for a pattern in the system's libraries, of all modules, the main program first: nothing
    where the name is elsewhere, also where that was inlined."""
    return _meant(pattern, modules, _not_of_system(modules), is_of_system=False).of_system


def _debug_warnings(
    patterns: Sequence[Pattern], selection: Selection, modules: Sequence[ModuleSymbols]
) -> Iterator[str]:
    for module in modules:
        yield from module.warnings
    if not modules or all(pattern.kind in ("lib", "heap") for pattern in patterns):
        return
    if not modules[0].has_debug_info:
        yield debug_warning(modules[0], any(pattern.kind in ("usercode", "file") for pattern in patterns))


def _are_instances(parts: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether each part of a name is the wanted one, or that with template arguments where it has none itself."""
    return len(parts) == len(wanted) and all(
        part == one or ("<" not in one and part.startswith(f"{one}<") and part.endswith(">"))
        for part, one in zip(parts, wanted, strict=True)
    )


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
    if name == "@heap" and not colon:
        return Pattern(text, "heap", "")
    if name == "@usercode" and not colon:
        if not project_root:
            raise _invalid(text, "it needs a project root", "Name the folder of your own source code.")
        return Pattern(text, "usercode", os.path.normpath(project_root))
    kinds: dict[str, Kind] = {"@file": "file", "@lib": "lib"}
    if name not in kinds:
        raise _invalid(text, f"there is no selector '{name}'", f"Valid: {_SELECTORS}.")
    if not argument:
        raise _invalid(text, f"'{name}' needs a name after a colon", "For example @file:parser.cpp or @lib:libz.so.")
    try:
        LinearRegex(_glob_expression(argument))
    except RegexError as error:
        raise _invalid(text, f"its brackets hold no set of letters ({error})", "For example @file:[ab]*.cpp") from error
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
