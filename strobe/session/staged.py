"""What staged patterns and probes match in a program that does not run yet, as far as its file says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from strobe.dataclass import dataclass
from strobe.errors import StrobeError
from strobe.model import Probe, ProbeAnswer, ProbeSite
from strobe.session.answers import counted, nothing_matched
from strobe.session.probes.sites import is_at_address, sites_in_file
from strobe.symbols import ModuleSymbols, SymbolResolver, select
from strobe.symbols.select.line_sites import LineSite
from strobe.symbols.select.patterns import parse_all
from strobe.timeline.records import SessionRecord


@dataclass(frozen=True, slots=True)
class Preview:
    """`functions`: that patterns match. `missing`: a sentence for each pattern and probe that has nothing there."""

    program: str
    functions: int
    missing: tuple[str, ...]
    probes: tuple[ProbeAnswer, ...]

    @property
    def status(self) -> str:
        """What is known before the launch, which looks into libraries as well."""
        places = sum(len(one.places) for one in self.probes)
        found = [counted(self.functions, "function"), f"{counted(places, 'place')} of probes"]
        known = " and ".join(found if self.probes else found[:1])
        return " ".join(
            [f"{Path(self.program).name} has {known}; its libraries are looked at when it runs.", *self.missing]
        )


def last_program(records: Sequence[SessionRecord], project_root: str) -> str | None:
    """The program of the newest session of that folder; None where there is none any more."""
    paths = (one.binary_path for one in records if one.project_root == project_root)
    return next((path for path in paths if Path(path).is_file()), None)


def preview(
    program: str, patterns: Sequence[str], probes: Sequence[Probe], resolver: SymbolResolver, project_root: str
) -> Preview | None:
    """None for a file that has no symbols, or is damaged: the launch says so."""
    try:
        symbols = resolver.module(program)
        selection = select(parse_all(patterns, project_root), [symbols])
    except (StrobeError, OSError, ValueError):
        return None
    missing = [nothing_matched(selection, text) for text, found in selection.matches.items() if not found]
    answers = []
    for one in probes:
        sites: list[LineSite] = []
        try:
            sites = [] if is_at_address(one) else sites_in_file(one, symbols, resolver, project_root)
        except (StrobeError, OSError, ValueError) as error:
            missing.append(error.sentences if isinstance(error, StrobeError) else f"Probe '{one.name}': {error}.")
        answers.append(ProbeAnswer(one, tuple(_shown(site, symbols) for site in sites)))
    return Preview(program, len(selection.functions), tuple(missing), tuple(answers))


def _shown(site: LineSite, symbols: ModuleSymbols) -> ProbeSite:
    return ProbeSite(site.function.name, site.file or None, site.line or None, 0)
