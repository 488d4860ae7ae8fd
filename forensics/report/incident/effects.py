"""What took effect? One row a call that changed something or may have: on what, with what outcome, approved by whom."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from forensics.analysis.ends import End
from forensics.analysis.outcomes import end_by_its_words
from forensics.analysis.oversight import approvals
from forensics.core.classes import Source, weighs
from forensics.core.jsonvalue import canonical, spell_surrogates, value_of
from forensics.core.pointers import escape
from forensics.report.compose import place
from forensics.report.documents import Place
from forensics.report.incident.documents import EffectRow, Effects, Target
from forensics.report.incident.material import effect_calls
from forensics.report.incident.statements import derived, share
from forensics.report.terminal_page import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.analysis.run import TraceAnalysis
    from forensics.core.classes import Classification
    from forensics.core.trace import Call
    from forensics.report.documents import CallRow
    from forensics.report.incident.content import Content
    from forensics.report.incident.material import Material

OUTCOMES = ("confirmed", "answered", "failed", "denied", "unknown")
_ENDED = frozenset({"failed", "denied"})
_BY_WORDS: dict[End | None, str] = {End.FAILED: "failed", End.DOUBTFUL: "unknown"}
# Names of arguments that say what is acted on, the most telling first.
_TARGETS = (
    "to recipient recipients email phone channel url uri endpoint path file_path filename repository repo table "
    "database queue topic bucket host service account_id customer_id user_id order_id ticket_id issue_id incident_id "
    "page_id id name target resource key command query sql"
)
_ALIKE = 20
UNKNOWN_RULE = "unknown means unsafe"


def effects(material: Material) -> Effects:
    """The part of a report about effects."""
    rows = [row for index, _ in enumerate(material.traces) for row in _rows(material, index)]
    calls = sum(len(trace.executions) for trace in material.traces)
    counted = Counter(row.outcome for row in rows)
    steps = [row.step for row in rows]
    return Effects(
        calls=share("calls with an effect, or that may have one", len(rows), calls),
        by_outcome=[share(outcome, counted[outcome], len(rows)) for outcome in OUTCOMES],
        statement=derived(_statement(rows, calls), "effect of each call (tool classes)", steps=steps),
        rows=rows,
    )


def _statement(rows: Sequence[EffectRow], calls: int) -> str:
    """How many of the calls changed something, and what became of the others."""
    if not rows:
        return f"Of {plural(calls, 'call')} none is known or feared to change anything."
    nothing = sum(row.came_to_nothing for row in rows)
    others = [f"{nothing} more {'was' if nothing == 1 else 'were'} denied or failed"] if nothing else []
    if len(rows) < calls:
        others.append("the others read, as far as is known")
    return "; ".join([f"{len(rows) - nothing} of {plural(calls, 'call')} changed something or may have", *others]) + "."


def _rows(material: Material, index: int) -> list[EffectRow]:
    analysis, trace = material.analyses[index], material.traces[index]
    first = trace.first_step
    own = {first + call.step: (row, call) for row, call in enumerate(analysis.trace.calls)}
    approved = approved_calls(analysis, first)
    told = [Told(material, index, call, *own[call.step]) for call in effect_calls(trace)]
    alike: dict[tuple[str, bytes, str], list[int]] = {}
    steps = [alike.setdefault((*_key(one.call), _outcome(one)[0]), []) for one in told]
    for one, equal in zip(told, steps, strict=True):
        equal.append(one.row.step)
    return [_row(one, approved.get(one.row.step, []), equal) for one, equal in zip(told, steps, strict=True)]


class Told(NamedTuple):
    """One call as the audit tells it and as the trace holds it."""

    material: Material
    trace: int
    row: CallRow
    position: int
    call: Call


def _row(told: Told, approved: list[int], alike: list[int]) -> EffectRow:
    material, call, row = told.material, told.call, told.row
    analysis, content = material.analyses[told.trace], material.content
    classified = analysis.calls[told.position]
    outcome, basis = _outcome(told)
    return EffectRow(
        trace=told.trace,
        step=row.step,
        result_step=row.result_step,
        at=row.at,
        tool=row.tool,
        agent=row.agent,
        target=_target(call, content),
        arguments=content.json(call.arguments),
        result=content.of(call.result),
        handles=[material.value(told.trace, value) for value in row.minted],
        outcome=outcome,
        outcome_basis=basis,
        absence=row.absence,
        effect=row.effect,
        class_=row.class_,
        rests_on=classified.rests_on.value,
        rules=_rules(classified),
        approvals=approved,
        times=len(alike),
        alike=alike[:_ALIKE],
        locator=place(analysis.trace.locator(call.step)) or Place(evidence=0),
    )


def _key(call: Call) -> tuple[str, bytes]:
    return call.tool, b"" if call.arguments is None else canonical(value_of(call.arguments))


def _outcome(told: Told) -> tuple[str, str]:
    """The outcome of a call, and how that is known. A result confirms an effect where it holds a value that the call
    made, or where a rule reads in it that the act was done; any other result only answers.
    """
    row = told.row
    if row.outcome in _ENDED:
        return row.outcome, "recorded"
    if row.outcome != "recorded":
        return "unknown", "recorded" if told.call.marked is None else "derived"
    end = end_by_its_words(told.call)
    if end in _BY_WORDS:
        return _BY_WORDS[end], "derived"
    evidence = told.material.analyses[told.trace].calls[told.position].evidence
    if row.minted or any(piece.source is Source.RESULT and piece.effect for piece in evidence):
        return "confirmed", "derived"
    return "answered", "recorded"


def _rules(classified: Classification) -> list[str]:
    """The rules that gave the call its effect."""
    spoke = [e.rule or e.source.value for e in classified.evidence if e.effect is classified.effect and weighs(e)]
    return list(dict.fromkeys(spoke)) or [UNKNOWN_RULE]


def target_of(call: Call) -> tuple[str, str] | None:
    """The argument that most likely names what was acted on: its name and value; None where no name tells."""
    arguments = None if call.arguments is None else value_of(call.arguments)
    if not isinstance(arguments, dict):
        return None
    plain = {key.lower(): (key, str(v)) for key, v in arguments.items() if isinstance(v, (str, int)) and str(v).strip()}
    return next((plain[name] for name in _TARGETS.split() if name in plain), None)


def _target(call: Call, content: Content) -> Target | None:
    found = target_of(call)
    if found is None:
        return None
    name, value = found
    shown = content.text(spell_surrogates(value))
    return None if shown is None else Target(value=shown, pointer=f"/{escape(spell_surrogates(name))}")


def approved_calls(analysis: TraceAnalysis, first: int) -> dict[int, list[int]]:
    """By the step of a call, the steps of the decisions made about it."""
    found: dict[int, list[int]] = {}
    for approval in approvals(analysis.trace).values():
        for row in approval.calls:
            decided = [first + decision.step for decision in approval.decisions]
            found.setdefault(first + analysis.trace.calls[row].step, []).extend(decided)
    return found
