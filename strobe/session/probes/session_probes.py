"""The probes of one running session: which there are, at which instructions, and what is recorded there."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, TypeAlias

from strobe import _abi
from strobe._abi import Refusal
from strobe.capture.agent.agent_link import Unresponsive
from strobe.capture.probe_sites import Limit, SiteSpec
from strobe.capture.probes import Plan
from strobe.capture.refusals import SENTENCES
from strobe.capture.target import Target
from strobe.dataclass import dataclass, field, replace
from strobe.errors import StrobeError, enumerated, failure
from strobe.limits import PROBES
from strobe.model import FunctionSymbol, LoadedModule, Probe, ProbeAnswer, ProbeSite
from strobe.session.extras.sets import ProbeValue
from strobe.session.hooks import Hooks
from strobe.session.modules import TracedModule
from strobe.session.probes.at_return import CompiledReturn, compiled_at_return
from strobe.session.probes.captures import Compiled, compiled
from strobe.session.probes.sites import is_at_address, is_at_return, sites_in_system, sites_of
from strobe.symbols import SymbolResolver
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.select.line_sites import LineSite, parsed_lines
from strobe.symbols.select.never_hooked import is_system_runtime
from strobe.symbols.select.shared_lines import sharing_lines
from strobe.timeline.store import Store
from strobe.values.decode.messages import expressions_of
from strobe.values.lookup.address_scope import scope_of_address, scope_of_line

if TYPE_CHECKING:
    from strobe.values.language import Condition
    from strobe.values.lookup.scope import Module, Scope

log = logging.getLogger(__name__)

_C_LIBRARY = re.compile(r"/(ld|libc|libpthread|librt|libanl)[-.][^/]*$")
_HIT = re.compile(r"\$hit\b")
_ENDBR64 = b"\xf3\x0f\x1e\xfa"  # stays where it is: indirect calls look for it
_ENABLED = _abi.PLAN_ENABLED | _abi.PLAN_SITE
_MOST_SITES = 10_000  # of one probe in one module
_SHARED_LOOKED_AT, _SHARED_SHOWN = 16, 3  # sites of a probe, and lines in one sentence
_FUNCTIONS_SHOWN = 4  # in one sentence
_Recorded: TypeAlias = "tuple[tuple[ProbeValue, ...], Condition | None]"


@dataclass(slots=True)
class _Installed:
    """One site of a probe, in one loaded module. `plan`: what it records; None where nothing could be made of it."""

    base: int
    site: ProbeSite
    function_id: int = 0
    returns_of: int | None = None  # the link-time address of the function whose returns it is
    plan: Plan | None = None

    def refuse(self, why: str) -> None:
        """Nothing is recorded there."""
        self.site, self.plan = replace(self.site, problem=why), None


@dataclass(slots=True)
class _Active:
    """`generation`: how many probes have had its label before it, in this session.
    `bases`: of modules that have been looked through. `missing`: why no module has had a site of it so far.
    `is_exact`: each execution of its lines is one event. `shared`: lines of it, with others that jump into their code.
    `limited`: the number of the site that counts for all, where
    there is a limit. `failure`: why it could not be installed in libraries that came. `anyway`: what it shows may mean
    nothing; `left_out` says what does not, and why. `absent`: the places that have no such value, where others have it,
    by its label and why."""

    probe: Probe
    generation: int = 0
    bases: set[int] = field(default_factory=set)
    sites: list[_Installed] = field(default_factory=list)
    missing: StrobeError | None = None
    failure: StrobeError | None = None
    is_exact: bool = True
    shared: dict[int, list[int]] = field(default_factory=dict)
    limited: int = 0
    anyway: bool = False
    left_out: dict[str, None] = field(default_factory=dict)
    absent: dict[tuple[str, str], list[LineSite]] = field(default_factory=dict)


class SessionProbes:
    """Not for several threads at once: the session calls it under its lock."""

    def __init__(
        self,
        store: Store,
        session_id: str,
        target: Target,
        hooks: Hooks,
        resolver: SymbolResolver,
        now_ticks: Callable[[], int],
        unrecorded: Callable[[Collection[int]], set[int]],
    ) -> None:
        """`unrecorded`: those of these numbers of removed probes with which nothing was recorded, nor will be."""
        self._store = store
        self._session_id = session_id
        self._target = target
        self._hooks = hooks
        self._resolver = resolver
        self._now_ticks = now_ticks
        self._unrecorded = unrecorded
        self._active: dict[str, _Active] = {}
        self._generations: dict[str, int] = {}  # by label: how many have had it

    @property
    def answers(self) -> list[ProbeAnswer]:
        """As ActiveProbes."""
        return [
            ProbeAnswer(one.probe, tuple(installed.site for installed in one.sites)) for one in self._active.values()
        ]

    @property
    def recording(self) -> int:
        """As ActiveProbes."""
        return sum(item.plan is not None for one in self._active.values() for item in one.sites)

    def add(
        self,
        probe: Probe,
        modules: Sequence[LoadedModule],
        scope: Callable[[], AbstractContextManager[Scope]],
        project_root: str | None,
        *,
        anyway: bool,
    ) -> list[str]:
        """Installs it wherever it means something; one of the same label is replaced. `anyway`: also where it does not
        yet, as a library that is loaded later may have it, and without the values that mean nothing. Gives what else is
        to be said.

        Raises probe_failed, no_code_at_line, unknown_source_file, too_many_probes, bad_value.
        """
        if probe.name not in self._active and len(self._active) >= PROBES:
            raise failure("too_many_probes", count=len(self._active), limit=PROBES)
        probe = replace(probe, show=(*probe.show, *(one for one in expressions_of(probe.log) if one not in probe.show)))
        one = _Active(probe, self._generations.get(probe.name, 0), anyway=anyway)
        try:
            self._find(one, modules, scope, project_root)
        except BaseException:
            self._take_out(one)  # what was installed before it failed
            raise
        if not one.sites and not anyway:
            raise one.missing or failure("probe_failed", what=probe.name, reason="nothing is there", hint="")
        recording = [installed for installed in one.sites if installed.plan is not None]
        if one.sites and not recording:
            raise failure("probe_failed", what=probe.name, reason=one.sites[0].site.problem, hint=_instead(one))
        self.remove(probe.name)
        self._rename_earlier(probe.name, {item.function_id for item in one.sites})
        self._active[probe.name] = one
        self._generations[probe.name] = one.generation + 1
        if not one.sites:
            return [f"Probe '{probe.name}' has no place so far: {_said(one.missing)}"]
        return [*(f"Probe '{probe.name}' does not show {text}" for text in one.left_out), *_absences(one)]

    def inexact(self, labels: Sequence[str]) -> str:
        """What is to be said of those of them that are lines of optimized code; empty where none is."""
        names = [f"'{label}'" for label in labels if (one := self._active.get(label)) is not None and not one.is_exact]
        if not names:
            return ""
        if len(names) == 1:
            counted = f"Probe {names[0]} counts how often its instructions ran"
            said = f"{counted}: the code is optimized, so its line may run without them."
        else:
            counted = f"Probes {', '.join(names)} count how often their instructions ran"
            said = f"{counted}: the code is optimized, so a line may run without them."
        shared = {
            line: others
            for label in labels
            if label in self._active
            for line, others in self._active[label].shared.items()
        }
        more = [
            f"The compiler shares the code of line {line} with other paths: line {' and line '.join(map(str, others))} "
            f"jumps into it, so what is recorded there may be of either."
            for line, others in list(shared.items())[:_SHARED_SHOWN]
        ]
        return " ".join([said, *more])

    def _shared_lines(self, found: Sequence[LineSite], module: TracedModule) -> dict[int, list[int]]:
        """Of lines in optimized code those into whose code others jump."""
        details = self._resolver.details(module.symbols.path)
        if details is None:
            return {}
        shared: dict[int, list[int]] = {}
        for site in [one for one in found if not one.is_exact][:_SHARED_LOOKED_AT]:
            with suppress(*UNREADABLE):
                if others := sharing_lines(site, module.symbols.path, details.lines):
                    shared[site.line] = others
        return shared

    def remove(self, label: str) -> bool:
        """Whether there was one."""
        one = self._active.get(label)
        if one is None:
            return False
        self._take_out(one)
        del self._active[label]
        return True

    def _rename_earlier(self, label: str, own: set[int]) -> None:
        """What a probe has counted and recorded that had this label before is not this one's: `label #1`."""
        number = self._generations.get(label, 0)
        if number:
            known = self._store.functions(self._session_id)
            earlier = {
                function_id: replace(symbol, name=f"{label} #{number}")
                for function_id, symbol in known.items()
                if symbol.is_probe and symbol.name == label and function_id not in own
            }
            # without those that never recorded: a later probe of this label may have their numbers
            unused = self._hooks.ids.removed_of(earlier.keys())
            for function_id in self._unrecorded(unused) if unused else ():
                del earlier[function_id]
            self._hooks.ids.keep_removed(earlier.keys())
            self._store.add_functions(self._session_id, earlier)

    def _take_out(self, one: _Active) -> None:
        """Where it raises before it has asked the agent, all is as before; after that nothing of it is recorded."""
        plans = {item.function_id: item.plan.disabled() for item in one.sites if item.plan is not None}
        if not plans:
            return
        now = self._now_ticks()
        free = self._target.sites.remove(plans)
        for base in {item.base for item in one.sites}:
            self._hooks.ids.remove(base, free)
        of_returns = [
            (item.base, item.returns_of) for item in one.sites if item.plan is not None and item.returns_of is not None
        ]
        for item in one.sites:
            item.plan = None
        self._store.close_spans(self._session_id, list(plans), now)
        try:
            self._hooks.unprobe_returns(of_returns)
        except StrobeError as error:  # another debugger has the process: nothing of it is recorded all the same
            log.info("session %s: hooks of returns stay for now: %s", self._session_id, error)

    def apply(
        self,
        modules: Sequence[LoadedModule],
        scope: Callable[[], AbstractContextManager[Scope]],
        project_root: str | None,
    ) -> None:
        """Installs those that were added before in modules that have come since. Raises Unresponsive; what
        else is wrong with one is said among its `warnings`."""
        for one in self._active.values():
            try:
                self._find(one, modules, scope, project_root)
                one.failure = None
            except Unresponsive:
                raise
            except StrobeError as error:
                one.failure = error

    def forget(self, module: LoadedModule, gone_ticks: int) -> None:
        """As ActiveProbes."""
        for one in self._active.values():
            gone = [item.function_id for item in one.sites if item.base == module.base and item.plan is not None]
            one.sites = [item for item in one.sites if item.base != module.base]
            one.bases.discard(module.base)
            self._store.close_spans(self._session_id, gone, gone_ticks)

    def recorded(self) -> dict[int, FunctionSymbol]:
        """As ActiveProbes."""
        return {
            item.function_id: FunctionSymbol(one.probe.name, item.site.function, "", 0, 0, is_probe=True)
            for one in self._active.values()
            for item in one.sites
            if item.plan is not None
        }

    def warnings(self) -> list[str]:
        """As ActiveProbes."""
        problems = [
            f"Probe '{one.probe.name}' records nothing in {item.site.function}: {item.site.problem}."
            for one in self._active.values()
            for item in one.sites
            if item.site.problem
        ]
        failed = [
            f"Probe '{name}' was not installed in a library that was loaded: {one.failure.sentences}"
            for name, one in self._active.items()
            if one.failure is not None
        ]
        return problems + failed

    def _find(
        self,
        one: _Active,
        modules: Sequence[LoadedModule],
        scope: Callable[[], AbstractContextManager[Scope]],
        project_root: str | None,
    ) -> None:
        """In modules that have not been looked through."""
        new = [module for module in modules if module.base not in one.bases]
        is_name = parsed_lines(one.probe.at) is None and not is_at_address(one.probe)
        system: list[LoadedModule] = []
        if is_name:  # what the system brings along is seldom meant
            system = [module for module in new if module != modules[0] and is_system_runtime(module.path)]
            new = [module for module in new if module not in system]
        for module in self._hooks.modules.of(new):
            one.bases.add(module.module.base)
            try:
                found = sites_of(one.probe, module, self._resolver, project_root)
            except StrobeError as error:
                if one.missing is None:  # what the program itself says
                    one.missing = error
                continue
            except UNREADABLE as error:
                one.missing = one.missing or failure(
                    "probe_failed", what=one.probe.name, reason=f"debug information is damaged: {error}", hint=""
                )
                continue
            if found:
                self._install_in(one, modules, module, found, scope)
        if one.sites or not system:
            return
        for module, found in self._in_system(one, modules, project_root):
            if module.module in system:
                one.bases.add(module.module.base)
                self._install_in(one, modules, module, found, scope)

    def _in_system(
        self, one: _Active, modules: Sequence[LoadedModule], project_root: str | None
    ) -> list[tuple[TracedModule, list[LineSite]]]:
        """Where a name that is nowhere else is in the system's libraries."""
        try:
            return sites_in_system(one.probe, self._hooks.modules.of(modules), project_root)
        except StrobeError as error:
            one.missing = error
        except UNREADABLE:  # what is damaged is said already
            pass
        return []

    def _install_in(
        self,
        one: _Active,
        modules: Sequence[LoadedModule],
        module: TracedModule,
        found: Sequence[LineSite],
        scope: Callable[[], AbstractContextManager[Scope]],
    ) -> None:
        """At what it has found in one module."""
        if len(found) > _MOST_SITES:
            reason = f"it has {len(found):,} places in {module.module.path}, and {_MOST_SITES:,} are possible"
            raise failure("probe_failed", what=one.probe.name, reason=reason, hint="Name fewer lines.")
        one.is_exact &= all(site.is_exact for site in found)
        one.shared |= self._shared_lines(found, module)
        try:
            if is_at_return(one.probe):
                one.sites += self._install_at_returns(one, modules, module, found, scope)
            else:
                with scope() as names:
                    one.sites += self._install(one, module, found, names)
        except BaseException:
            one.bases.discard(module.module.base)  # it is tried again when libraries come
            raise

    def _install(
        self, active: _Active, module: TracedModule, found: Sequence[LineSite], scope: Scope
    ) -> list[_Installed]:
        own = next((one for one in scope.modules() if one.base == module.module.base), None)
        tried = [(site, self._compiled(active, site, own, scope)) for site in found]
        made = list(zip(found, self._placed(active, tried), strict=True))
        good = [site for site, what in made if not isinstance(what, str)]
        plans = [self._plan(what, active.probe.stack) for _, what in made if not isinstance(what, str)]
        recipes = zip(self._numbered(active, module, good, plans), plans, self._codes(module, good), strict=True)
        installed, specs = [], []
        for site, what in made:
            one = _Installed(module.module.base, _shown(site, module))
            installed.append(one)
            if isinstance(what, str):
                one.refuse(what)
                continue
            number, plan, code = next(recipes)
            if number:
                one.function_id, one.plan = number, plan
                specs.append(_spec(site, module, number, plan, code))
            else:
                one.refuse(SENTENCES[Refusal.NO_NUMBER])
        self._limit(active, [spec.function_id for spec in specs])
        recording = [one for one in installed if one.plan is not None]
        for one, answer in zip(recording, self._target.sites.install(specs), strict=True):
            if answer:
                one.refuse(SENTENCES[answer])
        recorded = [one.function_id for one in installed if one.plan is not None]
        self._store.open_spans(self._session_id, recorded, self._now_ticks())
        return installed

    def _install_at_returns(
        self,
        active: _Active,
        modules: Sequence[LoadedModule],
        module: TracedModule,
        found: Sequence[LineSite],
        scope: Callable[[], AbstractContextManager[Scope]],
    ) -> list[_Installed]:
        """Of whole functions: what their calls return through records them."""
        extras = self._hooks.extras
        installed = [_Installed(module.module.base, _shown(site, module)) for site in found]
        made = self._compiled_at_returns(active, module, found, scope)
        if self._target.setup.form != "native":
            made = [SENTENCES[Refusal.NOT_NATIVE]] * len(found)
        good = [site for site, what in zip(found, made, strict=True) if not isinstance(what, str)]
        numbers = self._numbered(active, module, good)
        of_good = [site.function for site, number in zip(good, numbers, strict=True) if number]
        hooked = self._hooks.probe_returns(modules, module, of_good) if of_good else []
        own_number, answers = iter(numbers), iter(hooked)
        pairs: list[tuple[int, int]] = []
        try:
            for one, site, what in zip(installed, found, made, strict=True):
                if isinstance(what, str):
                    one.refuse(what)
                elif not (number := next(own_number)):
                    one.refuse(SENTENCES[Refusal.NO_NUMBER])
                elif isinstance(hook := next(answers), str):
                    one.refuse(hook)
                else:
                    stack = active.probe.stack
                    own = extras.sets.of_returns(what.entry, what.leave, what.words, what.condition, stack)
                    one.function_id, one.plan, one.returns_of = number, _plan_with(own), site.function.address
                    pairs.append((hook, number))
            plans = {one.function_id: one.plan for one in installed if one.plan is not None}
            self._limit(active, list(plans))
            if plans:
                self._target.sites.install_at_returns(plans, pairs)
        except BaseException:
            caught = [function.address for function, hook in zip(of_good, hooked, strict=True) if isinstance(hook, int)]
            with suppress(ProcessLookupError, StrobeError):
                self._hooks.unprobe_returns([(module.module.base, address) for address in caught])
            raise
        self._store.open_spans(self._session_id, list(plans), self._now_ticks())
        return installed

    def _compiled_at_returns(
        self,
        active: _Active,
        module: TracedModule,
        found: Sequence[LineSite],
        scope: Callable[[], AbstractContextManager[Scope]],
    ) -> list[CompiledReturn | str]:
        """Of each function; a value that there is in another one is an error where there is none."""
        recipe, sees_vectors = self._hooks.extras.sets.recipe, self._hooks.extras.sees_vectors
        given = self._resolver.call_values([site.function for site in found])

        def compiled_with(names: Scope, anyway: bool, elsewhere: Set[str]) -> list[CompiledReturn | str]:
            own, options = (module.symbols.path, names, recipe), (anyway, elsewhere)
            return [compiled_at_return(active.probe, one, *own, sees_vectors, *options) for one in given]

        with scope() as names:  # hooks look for names themselves
            made = compiled_with(names, True, frozenset())
            if any(isinstance(what, CompiledReturn) and what.left_out for what in made):
                known = {label for what in made if isinstance(what, CompiledReturn) for label in what.known}
                made = compiled_with(names, active.anyway, known)
        for site, what in zip(found, made, strict=True):
            if isinstance(what, CompiledReturn):
                active.left_out |= dict.fromkeys(what.left_out)
                for one in what.absent:
                    active.absent.setdefault(one, []).append(site)
        return made

    def _limit(self, active: _Active, numbers: Sequence[int]) -> None:
        """All sites of a probe together have one limit, which goes on where a library comes again."""
        if not numbers:
            return
        probe = active.probe
        is_counted = any(_HIT.search(text) for text in (probe.where or "", *probe.show))
        most = 1 if probe.once and probe.limit is None else probe.limit
        limit = Limit(probe.after, most, probe.rate, is_counted, probe.once)
        begins = limit.is_one and not active.limited
        if begins:
            active.limited = numbers[0]
        # numbers are used again: what has no limit must not have that of another one
        self._target.sites.limit(numbers, active.limited, limit if begins else None)

    def _compiled(self, active: _Active, site: LineSite, module: Module | None, scope: Scope) -> Compiled | str:
        if module is None:
            return "its module is not known"
        given = self._resolver.call_values([site.function])[0]
        names = scope_of_line(site, module, given) if site.file else scope_of_address(site.address, module, given)
        return compiled(active.probe, scope, names)

    def _placed(self, active: _Active, tried: Sequence[tuple[LineSite, Compiled | str]]) -> list[_Recorded | str]:
        """What is recorded at each place. A value that there is at another one is an error where there is none, and
        nothing that is asked for is missing elsewhere unsaid."""
        known = {label for _, what in tried if isinstance(what, Compiled) for label in what.known}
        placed: list[_Recorded | str] = []
        for site, what in tried:
            if isinstance(what, str):
                placed.append(what)
                continue
            lacking = what.values.keys() - what.known
            if not what.has_condition or (not active.anyway and not lacking <= known):
                placed.append(what.refusal)
                continue
            if not lacking <= known:
                active.left_out |= dict.fromkeys(what.problems)
            for label in what.values:
                if label in lacking & known:
                    active.absent.setdefault((label, str(what.values[label])), []).append(site)
            placed.append((what.recorded(known), what.condition))
        return placed

    def _plan(self, what: _Recorded, stack: int) -> Plan:
        return _plan_with(self._hooks.extras.sets.of_probe(*what, stack))

    def _numbered(
        self, active: _Active, module: TracedModule, sites: Sequence[LineSite], plans: Sequence[Plan] = ()
    ) -> list[int]:
        """Their numbers, 0 where there are no more, and the store knows what these are. `plans`: what is recorded at
        each, where it may have the number of a removed probe."""
        symbols = [
            FunctionSymbol(
                name=active.probe.name,
                raw_name=site.function.name,
                module=module.symbols.path,
                address=site.address,
                size=0,
                source_file=site.file or site.function.source_file,
                line=None if is_at_return(active.probe) else site.line or site.function.line,
                is_probe=True,
                message=active.probe.log,
            )
            for site in sites
        ]
        again = self._given_again(module, symbols, plans) if plans else {}
        numbers = self._hooks.ids.take(module, symbols, active.generation, again)
        named = {number: symbol for number, symbol in zip(numbers, symbols, strict=True) if number}
        self._store.add_functions(self._session_id, named)
        return numbers

    def _given_again(
        self, module: TracedModule, symbols: Sequence[FunctionSymbol], plans: Sequence[Plan]
    ) -> dict[int, int]:
        """By index, numbers that probes of the same labels had there before. A thread that has come there, and has not
        begun to record, records what the new probe does, as it is looked only now whether there is one that has."""
        removed = self._hooks.ids.removed(module, symbols)
        if not removed:
            return {}
        self._target.sites.prepare({number: plans[index] for index, number in removed.items()})
        unrecorded = self._unrecorded(removed.values())
        return {index: number for index, number in removed.items() if number in unrecorded}

    def _codes(self, module: TracedModule, sites: Sequence[LineSite]) -> Iterator[bytes]:
        """What stands there in the file."""
        wanted = [replace(site.function, address=site.address) for site in sites]
        try:
            yield from module.entry_codes(wanted)
        except (OSError, ValueError):
            yield from [b""] * len(sites)


def _absences(one: _Active) -> Iterator[str]:
    """Where which values are errors."""
    for (label, why), sites in one.absent.items():
        functions = list(dict.fromkeys(site.function.name for site in sites))
        where = enumerated(functions, _FUNCTIONS_SHOWN)
        counted = f"at {len(sites)} of its {len(one.sites)} places, in {where}"
        yield f"Probe '{one.probe.name}' has no value of '{label}' {counted}: {why}"


def _plan_with(extras: int) -> Plan:
    """`extras`: the number of the set that is recorded, 0 for none."""
    return Plan(_ENABLED | (_abi.PLAN_EXTRAS if extras else 0), extras=extras)


def _shown(site: LineSite, module: TracedModule) -> ProbeSite:
    address = module.address(site.address)
    return ProbeSite(site.function.name, site.file or None, site.line or None, address, site.inlined)


def _instead(one: _Active) -> str:
    """What to ask for where no probe may stand at a function's entry."""
    installed = one.sites[0].site
    if installed.problem != SENTENCES[Refusal.LIBRARY_BLOCKS] or parsed_lines(one.probe.at) is not None:
        return ""
    name = installed.function
    return (
        f"A probe at {name}:return (`return: true`) has the values of its entry, too ($entry.x), and a trace of {name} "
        "each of its calls with arguments and result."
    )


def _spec(site: LineSite, module: TracedModule, number: int, plan: Plan, code: bytes) -> SiteSpec:
    skip = len(_ENDBR64) if code.startswith(_ENDBR64) else 0
    in_c_library = _C_LIBRARY.search(module.module.path) is not None
    return SiteSpec(number, module.address(site.address) + skip, plan, code[skip:], in_c_library)


def _said(error: StrobeError | None) -> str:
    return "nothing is there." if error is None else error.sentences
