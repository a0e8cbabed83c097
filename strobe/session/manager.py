"""All sessions of this process, and the view of those of others through the store."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from strobe import _core, config
from strobe.capture import program
from strobe.capture.agent.device import ROUTER
from strobe.capture.limits import check_proc
from strobe.capture.spawning import ended_early
from strobe.capture.target import Target
from strobe.dataclass import replace
from strobe.errors import Code, StrobeError, command_names, failure, together
from strobe.limits import PROBES
from strobe.low_descriptors import none_left
from strobe.model import NO_CHANGE, LaunchSpec, Probe, ProbeAnswer, Sampling, SessionSummary, TraceAnswer, TraceRequest
from strobe.session.answers import pending_answer
from strobe.session.attaching import alone, wait_until_unrecorded
from strobe.session.extras.call_stacks import check_count
from strobe.session.live import LiveSession
from strobe.session.recovery import INHERITS, RESUMED, note_start, recover
from strobe.session.session import Session
from strobe.symbols import ElfResolver
from strobe.symbols.select.patterns import parse_all
from strobe.timeline import placement, retention
from strobe.timeline.records import SessionRecord, StagedTraces
from strobe.timeline.store import Store

log = logging.getLogger(__name__)
_NO_INPUT = "/dev/null"
_NAMES_TRIED = 8
_FINISHING_S = 40.0  # for a session that another client stops: a large recording is copied
_OF_WHAT_IS_ASKED = (
    Code.INVALID_PATTERN,
    Code.WATCH_FAILED,
    Code.PROBE_FAILED,
    Code.READ_FAILED,
    Code.NO_CODE_AT_LINE,
    Code.NO_DEBUG_SYMBOLS,
    Code.VALIDATION_ERROR,
)


class SessionManager:
    """One per process; its methods may be called from any thread."""

    def __init__(self, home: Path | None = None) -> None:
        self._store = Store(home or config.home())
        self._resolver = ElfResolver()
        self._live: dict[str, LiveSession] = {}
        self._opened: dict[str, Session] = {}
        self._lock = threading.Lock()
        self._placed: dict[str, Path] = {}  # segments of sessions that were begun here and live
        self.recover()

    def launch(
        self,
        spec: LaunchSpec,
        asked: TraceRequest = NO_CHANGE,
        *,
        missing_ok: bool = True,
        watches_ok: bool = False,
        use_staged: bool = True,
        check: Callable[[Session], None] | None = None,
    ) -> Session:
        """Starts a program, or attaches to `spec.pid`, with what is `asked` for and, where `use_staged`, what is staged
        for its project root; that stays so. There is nothing yet that could be removed.

        `missing_ok` False: each pattern that is asked for must give something to record. `watches_ok`: what is wrong
        with a watch that is asked for is a warning. `check` is called before the
        program runs; where it raises, there is no session. Raises what `program.resolve` raises, invalid_pattern,
        nothing_traced, watch_failed, condition_failed, no_proc, launch_failed, attach_refused, recorded_already; leaves
        nothing then.
        """
        check_proc()
        with contextlib.nullcontext() if spec.pid is None else alone(spec.pid):
            return self._launch(spec, asked, missing_ok, watches_ok, use_staged, check)

    def _launch(
        self,
        spec: LaunchSpec,
        asked: TraceRequest,
        missing_ok: bool,
        watches_ok: bool,
        use_staged: bool,
        check: Callable[[Session], None] | None,
    ) -> Session:
        project_root = _absolute(spec.project_root)
        staged = self._store.staged(project_root) if project_root and use_staged else None
        wanted = list(dict.fromkeys([*(staged.patterns if staged else ()), *asked.add]))
        refusals = Refusals()
        wanted = [text for text in wanted if refusals.holds(partial(parse_all, [text], project_root))]
        settings, warnings = config.load_settings(project_root, self._store.home)
        retention.enforce(self._store, settings)
        self._close_deleted()
        resolved = None if spec.pid is not None else program.resolve(spec)
        if spec.pid is not None:
            wait_until_unrecorded(self._store, spec.pid)
        path = resolved.named if resolved is not None else program.check_running(spec.pid or 0)
        record = self._store.add_session(path, project_root, settings.events_max_per_session, spec.pid or 0)
        try:
            session = self._begin(spec, resolved, record, settings.events_text_bytes)
        except BaseException:
            retention.drop_session(self._store, self._store.get_session(record.id))  # its segment has been placed since
            raise
        try:
            for one in asked.watch:
                with refusals.collecting(), _as_warning(warnings, watches_ok):
                    session.trace(TraceRequest(watch=[one]))
            if wanted or staged or asked.depth is not None:
                with refusals.collecting():
                    self._trace(session, wanted, asked, staged)
                if not missing_ok and session.launch_answer is not None:
                    with refusals.collecting():
                        _check_traced(session.launch_answer, asked.add)
                for one in asked.watch if session.launch_answer is not None and not watches_ok else ():
                    with refusals.collecting(), _as_warning(warnings, watches_ok):
                        session.check_watches([one])
            for added in staged.probes if staged else ():
                with _as_warning(warnings, True):
                    self._probe(session, added, True)
            for added in asked.probe:
                with refusals.collecting():
                    self._probe(session, added, asked.probes_ok)
            self._add_warnings(session, session.inexact_probes([*(staged.probes if staged else ()), *asked.probe]))
            self._store.add_warnings(record.id, warnings)
            if check is not None and not refusals.found:  # what is waited for may be what could not be traced
                check(session)
            refusals.check()
            self._store.add_notes(record.id, {RESUMED: True})
            if staged:
                session.pending_patterns_applied = list(staged.patterns)
            with self._lock:
                self._live[session.id] = session
            session.resume()
        except BaseException:
            session.abort()
            raise
        return session

    def _probe(self, session: LiveSession, probe: Probe, probes_ok: bool) -> None:
        """What is to be said of this one stays, whatever the answer to the next one says. Raises as Session.trace."""
        before = session.launch_answer
        answer = session.trace(TraceRequest(probe=[probe], probes_ok=probes_ok), is_one_of_several=True)
        session.launch_answer = replace(answer, warnings=[] if before is None else before.warnings)
        self._add_warnings(session, answer.warnings)

    def _add_warnings(self, session: LiveSession, said: Sequence[str]) -> None:
        self._store.add_warnings(session.id, list(said))
        answer = session.launch_answer
        if answer is not None:
            session.launch_answer = replace(answer, warnings=list(dict.fromkeys([*answer.warnings, *said])))

    def _trace(
        self, session: LiveSession, wanted: Sequence[str], asked: TraceRequest, staged: StagedTraces | None
    ) -> None:
        """What is traced from the launch on. `wanted`: patterns, those that are staged among them. Raises as
        Session.trace."""
        conditions = (staged.conditions if staged else {}) | dict.fromkeys(asked.add, asked.where)
        stacks = (staged.stacks if staged else {}) | dict.fromkeys(asked.add, asked.stack)
        *before, last = _alike(wanted, conditions, stacks) or [((), None, 0)]
        for chosen, condition, count in before:
            session.trace(TraceRequest(add=chosen, where=condition, stack=count))
        session.launch_answer = session.trace(
            TraceRequest(
                add=last[0],
                where=last[1],
                stack=last[2],
                sampling=asked.sampling or (_sampling(staged) if staged else None),
                watch=staged.watches if staged else (),
                depth=asked.depth if asked.depth is not None or staged is None else staged.depth,
                adapts=asked.adapts and asked.depth is not None,
            )
        )
        self._store.add_warnings(session.id, session.launch_answer.warnings)

    def _begin(
        self, spec: LaunchSpec, resolved: program.Program | None, record: SessionRecord, text_bytes: int
    ) -> LiveSession:
        facts = {RESUMED: False, "attached": resolved is None, INHERITS: spec.stdio != "capture"}
        self._store.add_notes(record.id, {name: value for name, value in facts.items() if value or name == RESUMED})
        record = self._create_segment(record)
        path = str(record.segment_path)
        try:
            session = LiveSession(self._store, record, self._resolver, self._forget, text_bytes)
        except OSError as error:
            raise _no_segment(path, error) from error
        target = None
        try:
            if resolved is None:
                target = Target.attach(spec.pid or 0, path, session)
            else:
                started = partial(note_start, self._store, record.id)
                target = Target.spawn(spec, resolved, path, _input_file(spec, record.folder), session, started)
            session.begin(target)
        except BaseException as error:
            session.give_up(target)
            if target is not None and isinstance(error, ProcessLookupError):
                raise ended_early(target.pid, target.attached) from error
            raise
        return session

    def _create_segment(self, record: SessionRecord) -> SessionRecord:
        """The record with the place of its segment, which is there then."""
        for _ in range(_NAMES_TRIED):
            path = placement.place_segment(record)
            self._placed[record.id] = path
            record = self._store.update_session(record.id, segment_path=str(path))
            try:
                _core.create_segment(str(path), record.event_limit)
            except FileExistsError:  # somebody else's: it is not touched
                del self._placed[record.id]
                continue
            except OSError as error:
                raise _no_segment(path, error) from error
            return record
        raise failure("launch_failed", path=record.binary_path, reason=f"'{record.segment_path}' exists already")

    def stage(
        self, project_root: str | None, asked: TraceRequest = NO_CHANGE, spec: LaunchSpec | None = None
    ) -> TraceAnswer:
        """Stages patterns, probes and watches for the next launch of a project root. The answer says what they match in
        the program of `spec`, else in that of the root's last session. Raises invalid_pattern, and of `spec` what
        `program.resolve` raises."""
        path = None if spec is None else program.resolve(spec).path
        add = asked.add
        root = _absolute(project_root)
        if root is None:
            raise failure(
                "bad_value",
                field="projectRoot",
                value="missing",
                reason="patterns without a session are staged for the next launch of a project",
                valid=f"the project's root folder, as {command_names()['launch']} will get it; or a sessionId",
            )
        parse_all([*add, *(pattern for one in asked.watch for pattern in one.on)], root)
        staged = self._store.staged(root)
        before = list(staged.patterns) if staged else []
        warnings = [f"'{text}' was not staged." for text in asked.remove if text not in before]
        patterns = list(dict.fromkeys([*(text for text in before if text not in asked.remove), *add]))
        from strobe.session.extras.watches import staged_watches

        watches, problems = staged_watches(staged.watches if staged else (), asked.watch, asked.unwatch)
        kept_depth = asked.depth if asked.depth is not None else staged.depth if staged else None
        kept_sampling = asked.sampling or (_sampling(staged) if staged else "auto")
        conditions = {text: own for text, own in (staged.conditions if staged else {}).items() if text in patterns}
        conditions = {text: own for text, own in conditions.items() if text not in add}
        if asked.where is not None:
            from strobe.session.extras.call_conditions import check_text

            check_text(asked.where)
            conditions |= dict.fromkeys(add, asked.where)
        check_count(asked.stack)
        stacks = {text: own for text, own in (staged.stacks if staged else {}).items() if text in patterns}
        stacks |= dict.fromkeys(add, asked.stack)
        probes, said = _staged_probes(staged.probes if staged else (), asked.probe, asked.unprobe)
        problems += said
        self._store.stage(
            root, StagedTraces(tuple(patterns), kept_sampling, tuple(watches), kept_depth, conditions, probes, stacks)
        )
        settings, complaints = config.load_settings(root, self._store.home)
        said = [*warnings, *problems, *complaints]
        counts = {"probes": len(probes), "watches": len(watches)}
        answer = pending_answer(patterns, root, said, settings.events_max_per_session, **counts)
        answer = replace(answer, active_watches=[one.name for one in watches])
        return self._with_preview(answer, patterns, probes, path, root)

    def _with_preview(
        self, answer: TraceAnswer, patterns: Sequence[str], probes: Sequence[Probe], program_path: str | None, root: str
    ) -> TraceAnswer:
        """What these match, as far as it can be known before the launch."""
        if not patterns and not probes:
            return answer
        from strobe.session.staged import last_program, preview

        path = program_path or last_program(self._store.list_sessions(), root)
        found = None if path is None else preview(path, patterns, probes, self._resolver, root)
        if found is None:
            said = "What they match is not known before the launch, as no program of this folder has run."
            said = said if path is None else f"What they match is not known: {Path(path).name} has no symbols."
            none = [ProbeAnswer(one, ()) for one in probes]
            return replace(answer, status=f"{answer.status} {said}", probes=none, is_matched=False)
        status = f"{answer.status} {found.status}"
        return replace(answer, status=status, matched_functions=found.functions, probes=list(found.probes))

    def get(self, session_id: str) -> Session:
        """A session of this process, or the record of any other. Raises session_not_found."""
        self._close_deleted()
        with self._lock:
            live = self._live.get(session_id)
        if live is not None and not live.wait_finished(_FINISHING_S):
            return live
        record = self._store.get_session(session_id)
        if record.status == "running" and not record.owner_alive(self._store.home):
            self.recover()
        with self._lock:
            record = self._store.get_session(session_id)
            opened = self._opened.get(session_id)
            if opened is None:
                opened = self._opened[session_id] = Session(self._store, record, self._forget)
            return opened

    def list(self) -> list[SessionSummary]:
        """All sessions of the home, those of other Strobe processes too; those of killed ones are recovered first."""
        self.recover()
        self._close_deleted()
        return [self._as_it_is(record).summary() for record in self._store.list_sessions()]

    def _as_it_is(self, record: SessionRecord) -> SessionRecord:
        live = self._live.get(record.id)
        return record if live is None else live.as_it_is(record)

    def delete(self, session_id: str) -> None:
        """Drops a session that has ended. Raises session_not_found, session_running."""
        if self._store.get_session(session_id).status == "running":
            retention.delete_session(self._store, session_id)  # raises, unless its owner is gone
            return
        self.get(session_id).stop(retain=False) if session_id in self._live else self._drop(session_id)

    def recover(self) -> None:
        """Sessions whose Strobe process was killed: what they recorded is kept, as sessions that have ended. Their
        programs are ended too where they are cut off from their output."""
        try:
            recover(self._store)
        except Exception:  # nobody's command fails because of another one's session
            log.exception("sessions of killed processes could not be looked after")

    def _close_deleted(self) -> None:
        """Sessions that retention or another process has dropped: nothing of them is held open any more."""
        with self._lock:
            held = [*self._opened.values(), *(live for live in self._live.values() if live.wait_for_children(0))]
        if not held:
            return
        known = self._store.session_ids()
        for session in held:
            if session.id not in known:
                session.close()
                self._forget(session)

    def let_go_of_unused(self) -> None:
        """What was read of files that nobody has asked about for a minute or longer; see ElfResolver.forget_unused."""
        self._resolver.forget_unused()

    def remove_segments(self) -> None:
        """Removes the segments of all sessions that were begun here and live, for a process that leaves at once: no
        lock is taken, and the sessions are not ended."""
        for path in [*self._placed.values()]:
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Ends the programs this process started; sessions that were not kept are dropped."""
        with self._lock:
            live = list(self._live.values())
            opened = list(self._opened.values())
            self._opened.clear()
        for session in live:
            with contextlib.suppress(Exception):
                session.stop()
        for kept in opened:
            kept.close()
        try:
            self._store.close()
        finally:
            ROUTER.clean_up()

    def _drop(self, session_id: str) -> None:
        with self._lock:
            opened = self._opened.pop(session_id, None)
        if opened is not None:
            opened.close()
        retention.delete_session(self._store, session_id)

    def _forget(self, session: Session) -> None:
        with self._lock:
            self._live.pop(session.id, None)
            self._opened.pop(session.id, None)
            self._placed.pop(session.id, None)


def _alike(
    patterns: Sequence[str], conditions: Mapping[str, str | None], stacks: Mapping[str, int]
) -> list[tuple[Sequence[str], str | None, int]]:
    """The patterns that have the same condition, and as many callers recorded, with these."""
    found: dict[tuple[str | None, int], list[str]] = {}
    for text in patterns:
        found.setdefault((conditions.get(text), stacks.get(text, 0)), []).append(text)
    return [(texts, *alike) for alike, texts in found.items()]


def _staged_probes(
    before: Sequence[Probe], probe: Sequence[Probe], unprobe: Sequence[str]
) -> tuple[tuple[Probe, ...], list[str]]:
    """Those that are staged for a launch, the newest of each label, and what was wrong."""
    labels = {one.name for one in before}
    problems = [f"Probe '{label}' was not staged." for label in unprobe if label not in labels]
    kept = {one.name: one for one in before if one.name not in unprobe} | {one.name: one for one in probe}
    if len(kept) > PROBES:
        raise failure("too_many_probes", count=len(kept), limit=PROBES)
    return tuple(kept.values()), problems


def _check_traced(answer: TraceAnswer, patterns: Sequence[str]) -> None:
    """Raises nothing_traced where one of the patterns gives nothing to record."""
    wanted = {text.strip() for text in patterns}
    if reasons := [why for text, why in answer.unmatched.items() if text in wanted]:
        raise failure("nothing_traced", reason=" ".join(dict.fromkeys(reasons)))


class Refusals:
    """What a launch is refused for: all of it is named at once."""

    def __init__(self) -> None:
        self.found: list[StrobeError] = []

    @contextlib.contextmanager
    def collecting(self) -> Iterator[None]:
        """What is wrong with what was asked for comes later, in `check`; that the program is gone at once."""
        try:
            yield
        except StrobeError as error:
            if error.code not in _OF_WHAT_IS_ASKED:
                raise
            self.found.append(error)

    def holds(self, step: Callable[[], object]) -> bool:
        """Whether nothing is wrong in this step."""
        count = len(self.found)
        with self.collecting():
            step()
        return len(self.found) == count

    def check(self) -> None:
        """Raises what was found."""
        if self.found:
            raise together(self.found)


@contextlib.contextmanager
def _as_warning(warnings: list[str], is_one: bool) -> Iterator[None]:
    """What is wrong with a watch is a warning where `is_one`; not that the program is gone."""
    try:
        yield
    except StrobeError as error:
        if not is_one or error.code is Code.PROCESS_EXITED:
            raise
        warnings.append(error.sentences)


def _absolute(folder: str | None) -> str | None:
    return str(Path(folder).expanduser().resolve()) if folder else None


def _sampling(staged: StagedTraces) -> Sampling:
    return "off" if staged.sampling == "off" else "auto"


def _input_file(spec: LaunchSpec, folder: Path) -> str | None:
    """What the program reads as its standard input: the given text, nothing, or what this process has."""
    if spec.stdin is not None:
        file = folder / "stdin"
        file.write_text(spec.stdin, encoding="utf-8", errors="surrogateescape")
        return str(file)
    return _NO_INPUT if spec.stdio == "capture" else None


def _no_segment(path: str | os.PathLike[str], error: OSError) -> StrobeError:
    return none_left(path) if error.errno == errno.EMFILE else failure("no_segment", reason=error)
