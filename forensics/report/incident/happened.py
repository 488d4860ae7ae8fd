"""What happened, in ten sentences at most? Each says how it is known and leads to its steps."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from forensics.core.evidence import Basis
from forensics.core.trace import StepKind
from forensics.report.compose import place
from forensics.report.incident.content import Level
from forensics.report.incident.run_names import ITS_RERUN, run_names
from forensics.report.incident.statements import derived, known, recorded
from forensics.report.terminal_effects import moment as brief
from forensics.report.terminal_page import plural, short
from forensics.report.terminal_verdict import flow
from forensics.report.written import moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.analysis.run import TraceAnalysis
    from forensics.report.documents import HandleRow, TraceRow
    from forensics.report.incident.documents import EffectRow, ReportFinding, Statement, VerdictBox
    from forensics.report.incident.material import Material

MOST = 10
_EFFECTS, _LOUD, _THREADS = 3, 2, 1
_QUOTE, _GIVEN = 160, 3
_ANSWER, _RUNS = 80, 3
_HARM = ("irreversible", "repeating", "unknown", "overwriting")
_REPEAT = {
    "irreversible": "Another run would act once more, and that can't be undone.",
    "repeating": "Another run would add one more effect.",
    "overwriting": "Another run would overwrite what stands there by then.",
    "unknown": "What another run would do is not known.",
}
_ENDED = {
    "confirmed": "it returned",
    "answered": "it returned",
    "failed": "it failed",
    "denied": "it was denied",
    "unknown": "how it ended is not known",
}
_CHANGED = "changed something or may have"
_ACTED = frozenset({"irreversible", "repeating"})
_ELSEWHERE = "an equal value may have come from another place"
_LOUDEST = ("critical", "high")


def happened(
    material: Material, effects: Sequence[EffectRow], findings: Sequence[ReportFinding], verdict: VerdictBox
) -> list[Statement]:
    """The part of a report that tells the story."""
    names = run_names(material.traces, material.audit.evidence)
    told = [
        *_who(material),
        *_unread(material, names),
        *_asked(material, names),
        *_acts(effects, names),
        *_values(material, names),
        *_ended(material, effects, names),
        *_loud(findings, names),
        *_reruns(material),
    ]
    return [*told[: MOST - 1], verdict.statement]


def _who(material: Material) -> Iterator[Statement]:
    """Which agents ran, how long and how much."""
    traces, counts = material.traces, material.audit.counts
    if not traces:
        return
    agents = list(dict.fromkeys(agent for trace in traces for agent in trace.agents if agent))
    named = f"Agent {short(agents[0], 60)}" if len(agents) == 1 else _agents(len(agents))
    runs = "" if len(traces) == 1 else f" in {len(traces)} runs"
    steps = sum(trace.steps for trace in traces)
    calls = sum(len(trace.executions) for trace in traces)
    did = f"{plural(counts.model_calls, 'model turn')} and {plural(calls, 'call')} in {plural(steps, 'step')}"
    yield recorded(f"{named} made {did}{runs}{_when(material)}.", steps=[0, steps - 1] if steps > 1 else [0])


def _agents(count: int) -> str:
    return "An agent" if count == 0 else plural(count, "agent")


def span_of(analysis: TraceAnalysis) -> tuple[str | None, str | None]:
    """The first and the last recorded time of a trace."""
    times = [at for at in analysis.trace.at if at >= 0]
    return (moment(min(times)), moment(max(times))) if times else (None, None)


def _when(material: Material) -> str:
    spans = [span for span in map(span_of, material.analyses) if span[0] is not None]
    if not spans:
        return "; no time is recorded"
    begun, ended = min(span[0] or "" for span in spans), max(span[1] or "" for span in spans)
    return f", {brief(begun)} (UTC)" if begun == ended else f", from {brief(begun)} to {brief(ended)} (UTC)"


def _in(name: str) -> str:
    """How a sentence begins that is about the run of that name."""
    return f"In {name}, " if name else ""


def _joined(told: Sequence[tuple[str, str]]) -> str:
    """What is told of each of some runs, in one sentence."""
    text = "; ".join(f"in {name}, {said}" if name else said for name, said in told)
    return f"{text[:1].upper()}{text[1:]}"


def _unread(material: Material, names: Sequence[str]) -> Iterator[Statement]:
    """What is missing of the runs or was not read, so that the story may lack acts."""
    gaps = [
        (name, gap) for name, one in zip(names, material.analyses, strict=True) for gap in one.trace.gaps if gap.hides
    ]
    if gaps:
        name, gap = gaps[0]
        first, where = short(gap.message, _QUOTE), place(gap.locator)
        more = f" (and {plural(len(gaps) - 1, 'more gap')})" if len(gaps) > 1 else ""
        text = f"Not all of {name or 'it'} is here, and what is missing may have acted: {first}{more}."
        yield recorded(text, locators=[] if where is None else [where])


def _asked(material: Material, names: Sequence[str]) -> Iterator[Statement]:
    """What the run was asked or, of several, what the first ones were."""
    runs = [index for index, name in enumerate(names) if name != ITS_RERUN] or list(range(len(names)))
    told, steps = [], []
    for index in runs[:_RUNS]:
        for row in material.analyses[index].trace.rows(StepKind.USER)[:1]:
            said = material.content.of(material.analyses[index].trace.payload[row])
            if said:
                told.append((names[index], f"it was asked: “{_quote(said, names[index])}”"))
                steps.append(material.traces[index].first_step + row)
    if told:
        more = f" (told of {len(told)} of {len(runs)} runs)" if len(runs) > _RUNS else ""
        yield recorded(_joined(told) + more, steps=steps)


def _quote(said: str, name: str) -> str:
    """The beginning of a text; less of it where several runs are told in one sentence."""
    return short(said, _QUOTE // 2 if name else _QUOTE)


def _acts(effects: Sequence[EffectRow], names: Sequence[str]) -> Iterator[Statement]:
    """The effects that do most harm, those with equal arguments that ended alike together, each with the run that it is
    of. What was denied or failed comes last.
    """
    groups: dict[tuple[int, ...], list[EffectRow]] = {}
    for row in effects:
        groups.setdefault(tuple(row.alike), []).append(row)
    told = sorted(groups.values(), key=_by_harm)
    most = _EFFECTS + 1 if len(told) == _EFFECTS + 1 else _EFFECTS  # a sentence for the rest could as well tell it
    for rows in sorted(told[:most], key=lambda rows: rows[0].step):
        yield derived(f"{_in(names[rows[0].trace])}{_act(rows)}", ", ".join(rows[0].rules), steps=rows[0].alike)
    rest = [row for rows in told[most:] for row in rows]
    for nothing in (False, True):
        steps = [row.step for row in rest if row.came_to_nothing is nothing]
        if steps:
            what = ("was" if len(steps) == 1 else "were") + " denied or failed" if nothing else _CHANGED
            text = f"{plural(len(steps), 'more call')} {what}; the table of effects has them all."
            yield derived(text, "effect of each call (tool classes)", steps=steps)


def _by_harm(rows: Sequence[EffectRow]) -> tuple[bool, int, int, int]:
    row = rows[0]
    return row.came_to_nothing, _HARM.index(row.effect), -len(rows), row.step


def _act(rows: Sequence[EffectRow]) -> str:
    row = rows[0]
    when = f" at {brief(row.at)}" if row.at else ""
    often = "once" if len(rows) == 1 else f"{len(rows)} times"
    on = f" on {short(row.target.value, 60)}" if row.target else ""
    values = list(dict.fromkeys(short(value, 60) for one in rows for value in one.handles))
    gave = f" and gave {', '.join(values[:3])}{' and more' if len(values) > _GIVEN else ''}" if values else ""
    ended = " and ".join(dict.fromkeys(_how(one) for one in rows))
    again = "" if row.came_to_nothing else f" {_REPEAT[row.effect]}"
    return f"{short(row.tool, 60)} was called {often}{on}{when}: {ended}{gave}.{again}"


def _how(row: EffectRow) -> str:
    """How a call ended; an answer that shows no success is quoted, since it may say that the call failed."""
    answer = row.outcome in {"answered", "failed"} and row.result
    with_ = " with" if row.outcome == "failed" else ""
    return f"{_ENDED[row.outcome]}{with_} “{short(row.result or '', _ANSWER)}”" if answer else _ENDED[row.outcome]


def _values(material: Material, names: Sequence[str]) -> Iterator[Statement]:
    """The way of the minted value that went furthest."""
    found = [
        (len(handle.uses), name, trace, handle)
        for name, trace in zip(names, material.traces, strict=True)
        for handle in trace.handles
        if handle.kind != "reference" and any(use.role != "branch" for use in handle.uses)
    ]
    for _, name, trace, handle in sorted(found, key=lambda one: -one[0])[:_THREADS]:
        steps = [handle.minted.step, *(use.step for use in handle.uses if use.role != "branch")]
        way = f"{_in(name)}{_way(material, trace, handle)}"
        yield known(Basis.INFERRED.value, way, "handle_flow", [_ELSEWHERE], steps=list(dict.fromkeys(steps)))


def _way(material: Material, trace: TraceRow, handle: HandleRow) -> str:
    """Where a value was minted and where it stands later."""
    if material.content.level is Level.NONE:
        tool = short(handle.minted.tool, 60)
        return f"A value that {tool} minted in step {handle.minted.step} stands in later steps."
    value, minted, uses = (span.text for span in flow(trace, handle))
    return f"{value} was{minted}{uses.replace(' -> ', '; later: ', 1)}."


def _loud(findings: Sequence[ReportFinding], names: Sequence[str]) -> Iterator[Statement]:
    """The loudest findings, one a code."""
    loud = [f for f in findings if f.severity in _LOUDEST and f.suppressed is None]
    counted = Counter(f.code for f in loud)
    for finding in list({f.code: f for f in reversed(loud)}.values())[::-1][:_LOUD]:
        more = f" (and {counted[finding.code] - 1} more like it)" if counted[finding.code] > 1 else ""
        name = "" if finding.trace is None or names[finding.trace] == ITS_RERUN else names[finding.trace]
        text = f"{_in(name)}{finding.message}{more}."
        yield known(finding.basis, text, finding.code, finding.alternatives, steps=finding.steps)


def _reruns(material: Material) -> Iterator[Statement]:
    """Whether somebody ran it again, and what that did."""
    again = [trace for trace in material.traces if trace.rerun_of is not None]
    if not again:
        return
    did = [repeat for trace in again for repeat in (trace.rerun_of.did if trace.rerun_of else ()) if repeat.executed]
    text = f"The evidence holds {plural(len(again), 'rerun')}, in which {plural(len(did), 'call')} ran again."
    inferred_ = any(trace.rerun_of is not None and trace.rerun_of.basis == Basis.INFERRED.value for trace in again)
    basis = Basis.INFERRED.value if inferred_ else Basis.DERIVED.value
    otherwise = ["the runs may only look alike"]
    yield known(basis, text, "the same calls at the same occurrences", otherwise, steps=[repeat.step for repeat in did])


def _ended(material: Material, effects: Sequence[EffectRow], names: Sequence[str]) -> Iterator[Statement]:
    """How the run ended, in its own words, how its reruns did, and what a call gave that those words leave out."""
    if not 0 < len(material.traces) <= _RUNS:
        return
    words, steps = [], []
    for index, (analysis, trace) in enumerate(zip(material.analyses, material.traces, strict=True)):
        turns = analysis.trace.rows(StepKind.MODEL)
        payload = analysis.trace.payload[turns[-1]] if turns else None
        said = material.content.of(payload)
        if payload is not None and said and said.strip():
            name = "" if names[index] == ITS_RERUN else names[index]
            run = "those of its rerun" if names[index] == ITS_RERUN else f"{'the' if name else 'its'} last words were"
            times = {handle.value for handle in trace.handles if handle.kind == "timestamp"}
            acts = [row for row in effects if row.trace == index and row.effect in _ACTED]
            given = [value for row in acts for value in row.handles if value not in times]
            left_out = _left_out(given, bytes(payload).decode("utf-8", "replace"))
            words.append((name, f"{run}: “{_quote(said, name)}”{left_out}"))
            steps.append(trace.first_step + turns[-1])
    if words:
        yield recorded(_joined(words), steps=steps)


def _left_out(given: Sequence[str], words: str) -> str:
    """The first values that acts gave and that the words don't name."""
    missing = [short(value, 60) for value in dict.fromkeys(given) if value not in words][:_GIVEN]
    return f", without {' and '.join(missing)}, which it was given" if missing else ""
