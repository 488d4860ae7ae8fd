"""Which verbs does a library user call? Load, examine, audit, inspect, graph, and the guard before a rerun."""

from __future__ import annotations

import contextlib
import datetime
import functools
import gc
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, overload

import msgspec

from forensics.analysis.content.content import look_at_names, look_through
from forensics.analysis.decide import decided_by, refusal
from forensics.analysis.listing import NOTHING_LISTED, Listing
from forensics.analysis.run import TraceAnalysis, analyse, analyse_trace
from forensics.analysis.witnesses import hear
from forensics.core.build import Spot
from forensics.core.evidence import Evidence, Severity
from forensics.core.expected import expected
from forensics.core.limits import Limits, under
from forensics.core.policy import Policy
from forensics.core.reading import EvidenceBuilder, Reading
from forensics.core.sanitise import one_line
from forensics.core.trace import NOWHERE
from forensics.errors import ConfigurationError, EvidenceError, NonReplayableTraceError, UnknownFormatError
from forensics.formats import registry
from forensics.formats.places import Where, named_places
from forensics.formats.shared.packed.kinds import Unopened, archive_kind
from forensics.formats.shared.source import STDIN, Source, open_source
from forensics.report.compose import Examined, audit_document
from forensics.report.redaction import redactor_of
from forensics.rules.engine import RuleSet, load_rules
from forensics.rules.policy_file import load_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    import networkx as nx

    from forensics.core.graph import CausalGraph
    from forensics.core.trace import Trace
    from forensics.core.verdict import Clearance
    from forensics.report.documents import AuditDocument, InspectionDocument
    from forensics.report.incident.compose import ReportOptions
    from forensics.report.incident.documents import ReportDocument

D = TypeVar("D")
Judge: TypeAlias = "Callable[[Reading], tuple[TraceAnalysis, ...]]"
_LEAST_PREFIX = 4
_LISTED = 20


_KINDS: dict[str, tuple[type, ...]] = {
    "policy": (str, Path, type(None)),
    "rules": (tuple, list),
    "input_format": (str, type(None)),
    "trace": (str, type(None)),
    "as_of": (datetime.date, type(None)),
    "limits": (Limits,),
    "tools": (str, Path, type(None)),
    "redact": (bool,),
    "content": (bool,),
}


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How evidence is examined: the policy (`strict`, `inject` or a path), more rule packs, a forced format, one trace
    only (an id or its beginning), the date as of which entries expire (None: today, UTC), what evidence may cost, an
    inventory of tools beside the evidence, whether documents show secret values by their names only, and whether the
    values are looked through at all: where they are not, no secret is known, so that nothing can be redacted.
    """

    policy: Where | None = None
    rules: tuple[Path, ...] = ()
    input_format: str | None = None
    trace: str | None = None
    as_of: datetime.date | None = None
    limits: Limits = Limits()
    tools: Where | None = None
    redact: bool = True
    content: bool = True

    def __post_init__(self) -> None:
        """Raises ConfigurationError for a value of another type, which would fail far away or, worse, be taken."""
        for field, kinds in _KINDS.items():
            expected(getattr(self, field), f"Options.{field}", *kinds)
        for path in self.rules:
            expected(path, "each of Options.rules", Path)
        if isinstance(self.as_of, datetime.datetime):
            raise ConfigurationError("Options.as_of must be a day, and is a moment", hint="give its .date()")

    def date(self) -> datetime.date:
        """The date as of which entries expire."""
        return self.as_of or datetime.datetime.now(datetime.UTC).date()


class Examination(msgspec.Struct, frozen=True):
    """Evidence that was read and analysed, ready to be written down."""

    examined: tuple[Examined, ...]
    policy: Policy
    rules: RuleSet
    redact: bool = True

    @property
    def analyses(self) -> tuple[TraceAnalysis, ...]:
        """What was found out about each trace, over all evidences."""
        return tuple(a for one in self.examined for a in one.analyses)

    def audit(self, *, at_once: bool = True) -> AuditDocument:
        """The audit document. Where not `at_once`, its rows of calls and handles are made when they are asked for, so
        that a long trace needs no memory for those that nobody shows; only our own renderers read such a document.
        """
        with without_cycle_collection():
            return self.shown(audit_document(self.examined, self.policy, self.rules.digest, at_once=at_once))

    def inspection(self) -> InspectionDocument:
        """The inspection document."""
        from forensics.report.inspection import inspection_document

        return self.shown(inspection_document(self.examined, self.policy, self.rules.digest))

    def shown(self, document: D, written: Iterable[str] = ()) -> D:
        """A document about this evidence as it may be shown: without its secrets, unless they were asked for. `written`
        are texts that people wrote for it, beside those of the policy and the names of the files.
        """
        if not self.redact:
            return document
        names = (one.name for one in self.examined)
        texts = (*written, *self.policy.texts, *names)
        return redactor_of((one.reading for one in self.examined), written=texts).document(document)

    def report(self, options: ReportOptions | None = None) -> ReportDocument:
        """The report document: sixteen parts, for people who were not there."""
        from forensics.report.incident.compose import ReportOptions, report_document

        asked = msgspec.structs.replace(options or ReportOptions(), redacted=self.redact)
        code = exit_code(self, asked.fail_on)
        with without_cycle_collection():
            document = report_document(self.examined, self.policy, self.rules.digest, code, asked)
            return self.shown(document, asked.texts)

    def reports(self, options: ReportOptions | None = None) -> Iterator[ReportDocument]:
        """A report of each trace by itself, in the order of the traces, over its own evidence alone; steps are numbered
        from 0 in each.
        """
        from forensics.report.incident.compose import ReportOptions
        from forensics.report.incident.single import alone, singles

        asked = options or ReportOptions()
        for evidences, kept in singles(self.examined):
            own = msgspec.structs.replace(self, examined=tuple(evidences[number] for number in kept))
            report = msgspec.structs.replace(self, examined=evidences).report(asked)
            yield alone(report, kept, exit_code(own, asked.fail_on))


class Judges(msgspec.Struct, frozen=True):
    """By what traces are judged: rules, and a policy as of a day."""

    rules: RuleSet
    policy: Policy


def judges(options: Options) -> Judges:
    """Rules and policy of these options. Raises RuleError for a broken rule pack or policy."""
    return Judges(load_rules(options.rules), load_policy(options.policy, options.date()))


def options_asked(options: Options | None) -> Options:
    """These options, or the default ones. Raises ConfigurationError for what are none."""
    return Options() if options is None else expected(options, "options", Options, hint="Options(policy='inject')")


def examine(evidence: Where | Iterable[Where], options: Options | None = None) -> Examination:
    """Read and analyse evidence: files, folders, globs, or `-` for standard input.

    An evidence that can't be read is a row with its error, and the rest is still examined. Raises RuleError for a
    broken rule pack or policy, ConfigurationError for a trace that is not there and for what is no place, and
    EvidenceError for an inventory (`Options.tools`) that can't be read.
    """
    options = options_asked(options)
    if options.redact and not options.content:
        message = "what is secret is not known where the content is not looked through"
        raise ConfigurationError(message, hint="say --no-redact too, and keep what is written as you keep the evidence")
    by = judges(options)
    wanted = _wanted(evidence)
    if str(options.tools) == STDIN and STDIN in map(str, wanted):
        message = "evidence and inventory can't both come from standard input"
        raise ConfigurationError(message, hint="name one of them as a file")
    return examine_by(named_places(wanted), options, by)


def _wanted(evidence: Where | Iterable[Where]) -> tuple[Where, ...]:
    """The places that were handed in. Raises ConfigurationError for what is no place."""
    places = (evidence,) if isinstance(evidence, (str, Path)) else expected(evidence, "evidence", str, Path, Iterable)
    wanted = tuple(expected(place, "each evidence", str, Path) for place in places)
    if sum(str(place) == STDIN for place in wanted) > 1:
        raise ConfigurationError("standard input can be read once only", hint="name - once, and files beside it")
    return wanted


def examine_by(places: Sequence[tuple[str, str]], options: Options, by: Judges) -> Examination:
    """The same of places with their names in documents (`named_places`), by rules and a policy that stand already."""
    with without_cycle_collection(), under(options.limits):
        taken = [_taken(one, number, options) for number, one in enumerate(_opened(places))]
        beside, listing = inventory(options.tools, len(taken))
        judge = functools.partial(analyse, rules=by.rules, policy=by.policy, listing=listing)
        hear([one.reading for one in taken if one.reading is not None])
        examined = tuple(_examined(one, options.trace, judge) for one in taken)
    if options.trace is not None and not any(one.analyses for one in examined) and any(one.reading for one in examined):
        ids = [t.id for one in examined if one.reading for t in one.reading.traces]
        named = ", ".join(one_line(i, 80) for i in ids[:20])
        message = f"there is no trace '{one_line(options.trace, 80)}' in the evidence"
        raise ConfigurationError(message, hint=f"a whole id, or at least {_LEAST_PREFIX} characters of one: {named}")
    return Examination((*examined, *beside), by.policy, by.rules, options.redact)


@contextlib.contextmanager
def without_cycle_collection() -> Iterator[None]:
    """Examining makes millions of small objects and next to no cycles; walking them over and over to look for some
    would take a third of the time. Reference counting goes on.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def load(where: Where, options: Options | None = None) -> tuple[Trace, ...]:
    """The traces of one evidence or, of an archive, of each file in it. Raises EvidenceError for what can't be read."""
    options = options_asked(options)
    expected(where, "an evidence", str, Path)
    with under(options.limits), open_source(str(where)) as source:
        return tuple(t for n, one in enumerate(_evidences(source)) for t in _traces(one, n, options.input_format))


def _traces(one: Source | Unopened, index: int, input_format: str | None) -> tuple[Trace, ...]:
    if isinstance(one, Unopened):
        raise one.error
    with one:
        return read(one, index, input_format).traces


def read(source: Source, index: int, input_format: str | None = None, *, content: bool = True) -> Reading:
    """Read an opened source and, with `content`, look for secrets and what acts in its values. Raises EvidenceError
    where nothing of it can be read.
    """
    reader = registry.reader(input_format) if input_format else registry.recognise(source)
    evidence = Evidence(
        index,
        source.name,
        source.sha256,
        source.size,
        reader.NAME,
        compression=source.compression,
        member_sha256=source.member_sha256,
    )
    fit = registry.fit(reader, source) if input_format else registry.FITS
    records_calls = reader.RECORDS_CALLS and fit.knows
    build = EvidenceBuilder(
        evidence, records_calls=records_calls, spans_are_complete=reader.SPANS_ARE_COMPLETE, text=source.data
    )
    _tell_unwrapping(source, build)
    if fit.rather:
        message = f"read as {reader.NAME}, and it looks like {fit.rather}: what only that format has was passed over"
        build.gap("evidence_gap", message, Spot(build.places.add(offset=0, length=len(source.data))))
    reader.read(source, build)
    reading = build.finish()
    if not any(len(trace) for trace in reading.traces) and not any(gap.hides for gap in reading.gaps):
        message = f"{source.name} holds nothing of a trace (read as {reader.NAME}: {reading.counts.records} records)"
        raise UnknownFormatError(message, hint="check that this is the right file", code="no_trace")
    return look_through(reading, source.data, source.find) if content else look_at_names(reading)


def _tell_unwrapping(source: Source, build: EvidenceBuilder) -> None:
    """Say what was met while the evidence was unpacked or written in UTF-8."""
    place = build.places.add(offset=0, length=len(source.data)) if source.notes else NOWHERE
    for note in source.notes:
        build.once(note.code, note.message, Spot(place))
        if note.hides:
            build.gap(note.code, note.message, Spot(place))


def inventory(where: Where | None, index: int) -> tuple[tuple[Examined, ...], Listing]:
    """The inventory beside the evidence, if there is one, which is an evidence itself: the one of that index."""
    if where is None:
        return (), NOTHING_LISTED
    from forensics.analysis.inventory_files import read_tools

    with open_source(str(where)) as source:
        tools = read_tools(bytes(source.data), source.name, index)
        source.check_unchanged()
        return (Examined(source.name, source.sha256, source.size, declares=len(tools)),), Listing(tools)


def _opened(places: Sequence[tuple[str, str]]) -> Generator[Source | Unopened]:
    """Every evidence of these places in the order of its number in documents, open until the next is asked for."""
    for where, name in places:
        try:
            source = open_source(where, name)
        except EvidenceError as error:
            yield Unopened(name, error)
            continue
        with source:
            yield from _evidences(source)


def _evidences(source: Source) -> Iterator[Source | Unopened]:
    """The evidence itself or, of an archive that is no format of its own, the files in it."""
    kind = archive_kind(source.data)
    if kind is None or registry.is_an_archive(source, kind):
        yield source
        return
    from forensics.formats.shared.packed.archives import members_of

    found = False
    try:
        for member in members_of(source, kind):
            found = True
            yield member
    except EvidenceError as error:
        yield Unopened(source.name, error, source.sha256, source.size)
        return
    if not found:
        message = f"{source.name} is a {kind} archive without a file in it"
        empty = UnknownFormatError(message, hint="check that this is the right file")
        yield Unopened(source.name, empty, source.sha256, source.size)


@contextlib.contextmanager
def evidence_at(evidence: Where | Iterable[Where], index: int) -> Iterator[Source | None]:
    """The evidence of that number in documents, opened once more; None where it can't be."""
    with contextlib.closing(_opened(named_places(_wanted(evidence)))) as opened:
        one = next(itertools.islice(opened, index, None), None)
        yield one if isinstance(one, Source) else None


@contextlib.contextmanager
def one_evidence(where: Where, name: str = "") -> Iterator[Source]:
    """The evidence that stands there, called `name` or by its file name, or, of an archive, the only file in it. Raises
    EvidenceError for what can't be read, and ConfigurationError, with their names, where an archive holds several.
    """
    with open_source(str(expected(where, "an evidence", str, Path)), name) as source:
        first, *more = itertools.islice(_evidences(source), _LISTED + 1)
        sources = [one for one in (first, *more) if isinstance(one, Source)]
        if len(sources) > 1:
            named = ", ".join(one_line(one.name, 80) for one in sources)
            message = f"it is not clear which file of {source.name} is meant"
            raise ConfigurationError(message, hint=f"unpack it, and name one of: {named}")
        for one in (first, *more):
            if isinstance(one, Unopened):
                raise one.error
        with sources[0] as only:
            yield only


def _taken(one: Source | Unopened, index: int, options: Options) -> Examined:
    """One evidence as it was read, or why it was not."""
    if isinstance(one, Unopened):
        return Examined(one.name, one.sha256, one.size, error=one.error, looked_for=options.content)
    try:
        reading = read(one, index, options.input_format, content=options.content)
        one.check_unchanged()
    except EvidenceError as error:
        return Examined(one.name, one.sha256, one.size, error=error, looked_for=options.content)
    finally:
        one.close()
    return Examined(one.name, one.sha256, one.size, reading)


def _examined(taken: Examined, trace: str | None, judge: Judge) -> Examined:
    """The same with what the analyses say, of one trace only where one was asked for."""
    if taken.reading is None:
        return taken
    return msgspec.structs.replace(taken, analyses=judge(_chosen(taken.reading, trace)))


def _chosen(reading: Reading, trace: str | None) -> Reading:
    """The reading with that trace only: by its whole id, or by a beginning that only one trace has."""
    if trace is None:
        return reading
    exact = tuple(t for t in reading.traces if t.id == trace)
    begun = tuple(t for t in reading.traces if t.id.startswith(trace)) if len(trace) >= _LEAST_PREFIX else ()
    return msgspec.structs.replace(reading, traces=exact or (begun if len(begun) == 1 else ()))


def one_trace(reading: Reading, wanted: str | None, option: str) -> Trace:
    """The trace of that id or of its beginning; without one, the only one that is not marked as a rerun of another.
    Raises ConfigurationError, with the list, where that is not one; `option` names what chooses.
    """
    traces = reading.traces
    if wanted is not None:
        exact = [t for t in traces if t.id == wanted]
        traces = tuple(exact or [t for t in traces if len(wanted) >= _LEAST_PREFIX and t.id.startswith(wanted)])
    elif len(traces) > 1:
        ids = {t.id for t in traces}
        traces = tuple(t for t in traces if t.rerun_of is None or t.rerun_of not in ids - {t.id})
    if len(traces) == 1:
        return traces[0]
    listed = ", ".join(one_line(t.id, 80) for t in reading.traces[:_LISTED])
    message = f"it is not clear which trace of {reading.evidence.name} is meant"
    raise ConfigurationError(message, hint=f"choose one with {option} ID: {listed}")


# the graph -----------------------------------------------------------------------------------------------------------


def graph(trace: Trace) -> CausalGraph:
    """The causal graph over the steps of a trace: what led to what, with the values that went from step to step.

    Its rows are those of `trace.step`; `graph.backward(row)` and `graph.forward(row)` are the slices around one.
    """
    from forensics.analysis.causality import causal_graph, value_uses

    return causal_graph(trace, value_uses(_judge(trace, None).handles))


@overload
def to_networkx(trace: Trace, *, parallel: Literal[True] = True) -> nx.MultiDiGraph[int]: ...


@overload
def to_networkx(trace: Trace, *, parallel: Literal[False]) -> nx.DiGraph[int]: ...


def to_networkx(trace: Trace, *, parallel: bool = True) -> nx.DiGraph[int]:
    """The same as a frozen `networkx.MultiDiGraph`: nodes with kind, name, agent and occurrence, edges with kind and
    basis. The texts are those of the evidence as it has them; `.copy()` is an ordinary graph. Some algorithms take no
    parallel edges: where not `parallel`, it is a `networkx.DiGraph`, and an edge tells all its kinds.
    """
    from forensics.analysis import graph_view

    view = graph_view.to_networkx if parallel else graph_view.to_digraph
    return view(graph(trace), trace)


def _trace(trace: Trace) -> Trace:
    """The trace. Raises ConfigurationError for what is none: a path, or all the traces that `load` found."""
    from forensics.core.trace import Trace

    return expected(trace, "a trace", Trace, hint="load(PATH) gives the traces of an evidence, a tuple: choose one")


# the guard -----------------------------------------------------------------------------------------------------------


def assert_dynamically_replayable(trace: Trace, *, policy: Policy | Where | None = None) -> bool:
    """True for a trace that the policy (default: strict) clears; raises NonReplayableTraceError, with the verdict, for
    any other. The guard of the document in which this project began: it gates re-execution, never inspection.
    """
    judged = _judge(trace, policy)
    if judged.verdict.cleared:
        return True
    raise not_replayable(judged)


def clear(trace: Trace, *, policy: Policy | Where | None = None) -> Clearance:
    """The clearance for a trace. Raises NonReplayableTraceError where there is any reason to refuse."""
    judged = _judge(trace, policy)
    clearance = judged.verdict.clear()
    if clearance is None:
        raise not_replayable(judged)
    return clearance


def not_replayable(judged: TraceAnalysis) -> NonReplayableTraceError:
    """The error that a refused verdict is raised as. It names the reason that every report names first."""
    verdict = judged.verdict
    first = decided_by(judged.trace, judged.calls, verdict)
    return NonReplayableTraceError(
        refusal(first, verdict), verdict, hint="use static inspection", locator=first.locator
    )


def _judge(trace: Trace, policy: Policy | Where | None) -> TraceAnalysis:
    today = Options().date()
    applied = policy if isinstance(policy, Policy) else load_policy(policy, today)
    return analyse_trace(_trace(trace), load_rules(), applied)


# the end of a command ------------------------------------------------------------------------------------------------

CLEARED, REFUSED, UNTOLD = 0, 1, 3


def exit_code(examination: Examination, fail_on: Severity = Severity.HIGH) -> int:
    """0 cleared and no finding at or above `fail_on`; 1 refused or such a finding; 3 could not tell; the highest wins
    (CONTRACT: exit codes).
    """
    codes = [_code_of(one, fail_on) for one in examination.examined if one.declares is None]
    return max(codes, default=UNTOLD)


def _code_of(one: Examined, fail_on: Severity) -> int:
    if one.reading is None or not one.analyses:
        return UNTOLD
    found = [*one.reading.findings, *(f for a in one.analyses for f in a.findings)]
    loud = any(f.severity.rank >= fail_on.rank for f in found)
    return REFUSED if loud or not all(a.verdict.cleared for a in one.analyses) else CLEARED
