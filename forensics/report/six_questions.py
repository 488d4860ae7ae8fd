"""What does this rerun answer to the six questions that are to be asked of every replay? From what really happened."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from forensics.core.sanitise import one_line
from forensics.report.rerun_documents import QuestionRow, SixQuestions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.replay.plan import Plan
    from forensics.replay.rerun import Rerun
    from forensics.report.compose import Examined
    from forensics.report.documents import ReasonRow

_QUESTIONS = {
    "rebuilt_from": "What does the rerun rebuild from: the trace alone, or something that has to be kept alive?",
    "fixed": "What exactly is fixed: the model's words, the tools, or both?",
    "ran": "What ran when a tool was called, and who decided?",
    "missing_turn": "What happens where the rerun needs what the recording does not have?",
    "touched": "What could the rerun touch?",
    "fix_kept": "Where does the result go afterwards?",
}
_FROM_RECORD = ("injected", "normalised")


def six_questions(plan: Plan, done: Rerun | None, examined: Examined, reasons: Sequence[ReasonRow]) -> SixQuestions:
    """The answers. Of a rerun that did not start, what did not happen."""
    answers = {
        "rebuilt_from": _rebuilt_from(plan, done, examined, reasons),
        "fixed": _fixed(plan, done),
        "ran": _ran(plan, done),
        "missing_turn": _missing_turn(plan, done),
        "touched": _touched(done),
        "fix_kept": _kept(plan, done),
    }
    rows = {
        name: QuestionRow(question=_QUESTIONS[name], answer=answer, facts=facts)
        for name, (answer, facts) in answers.items()
    }
    return SixQuestions(**rows)


_Answer = tuple[str, dict[str, Any]]


def _rebuilt_from(plan: Plan, done: Rerun | None, examined: Examined, reasons: Sequence[ReasonRow]) -> _Answer:
    facts: dict[str, Any] = {"evidence_sha256": examined.sha256, "agent": None, "lacks": []}
    if done is None:
        codes = [reason.code for reason in reasons]
        return "Nothing was rebuilt: the rerun was refused.", {**facts, "reasons": codes}
    if plan.agent is not None:
        agent = {"target": plan.agent.target, "source_sha256": plan.agent.source_sha256}
        return "The agent's own code, handed in by name; inputs, words and results come from the trace.", {
            **facts,
            "agent": agent,
        }
    return "The trace alone: no object and no session of the recorded run is needed.", {**facts, "lacks": [*done.lacks]}


def _fixed(plan: Plan, done: Rerun | None) -> _Answer:
    if done is None:
        return "Nothing ran, so nothing had to be fixed.", {"model": 0, "tools": 0}
    live = sum(turn.answer.live for turn in done.turns)
    served, counts = len(done.turns) - live, _counts(done)
    given = sum(counts[name] for name in _FROM_RECORD)
    facts = {
        "model_recorded": served,
        "model_live": live,
        "results_recorded": given,
        "results_other": len(done.calls) - given,
        "changes": [*plan.changes()],
        "reproduction": done.reproduces,
    }
    words = "the model's words" if not live else "not the model's words (it was asked)"
    results = "every result of a tool" if given == len(done.calls) else f"{given} of {len(done.calls)} results of tools"
    return f"Fixed: {words}, and {results}{_but_stand_ins(done)}.", facts


def _but_stand_ins(done: Rerun) -> str:
    """What of the results that were shown as recorded came from a stand-in all the same."""
    tools = sorted({call.tool for call in done.calls if call.disposition == "normalised"})
    named = one_line(", ".join(tools), 120)
    return f", but for what stood in for {named}, whose ids are shown as the recorded ones" if tools else ""


def _ran(plan: Plan, done: Rerun | None) -> _Answer:
    if done is None:
        return "No tool ran: the rerun was refused before it began.", {"dispositions": {}}
    counts = _counts(done)
    ran = counts["executed"] + sum(call.returned is not None for call in done.calls if call.disposition != "executed")
    facts = {
        "dispositions": dict(counts),
        "functions": [one.tool for one in plan.overrides],
        "policy_executes": [*plan.execute],
    }
    if not ran:
        return "No tool ran. The record answered, as the policy and the plan say.", facts
    return "Only stand-ins that the user named, in the cell; everything else was answered from the record.", facts


def _missing_turn(plan: Plan, done: Rerun | None) -> _Answer:
    facts: dict[str, Any] = {"on_miss": plan.on_miss.value, "happened": None}
    rule = (
        "It stops, before anything is asked" if plan.on_miss == "error" else "The call is refused and the model told so"
    )
    if done is None or done.stopped is None:
        refused = 0 if done is None else _counts(done)["refused"]
        happened = f" It happened {refused} times here." if refused else " It did not happen here."
        return f"{rule}.{happened}", facts
    facts["happened"] = {"code": done.stopped.code, "step": done.stopped.step}
    return f"{rule}. Here it did: {one_line(done.stopped.message, 200)}", facts


def _touched(done: Rerun | None) -> _Answer:
    if done is None:
        return "Nothing: nothing was run.", {"isolation": "none", "captured": 0, "denied": 0}
    reached = done.isolation
    facts = {
        "isolation": reached.level.value,
        "captured": len(reached.captured) + reached.more,
        "denied": len(reached.denied),
        "memory": "none in reach",
        "checkpointer": "none in reach",
        "identity": "none in reach",
        "missing": [*reached.missing],
    }
    told = {
        "wall": "Nothing outside its cell: no network, no process, no file but its own copies",
        "tripwire": "The agent is ended at the first act outside its channel; a tripwire is no sandbox",
        "process": "It ran in a process of its own, with an empty environment and no wall around it",
        "none": "It ran in this process, with nothing between it and the world",
    }[reached.level.value]
    return f"{told}. No memory, checkpointer or identity of the recorded run was in reach.", facts


def _kept(plan: Plan, done: Rerun | None) -> _Answer:
    if done is None:
        return "There is no result to keep.", {"rerun": None}
    facts = {"rerun": done.id, "plan": plan.digest, "tuples": len(done.calls)}
    return (
        (
            "A rerun is a trace of its own, which can be inspected, compared and kept as a case: input, output and "
            "every call with its arguments."
        ),
        facts,
    )


def _counts(done: Rerun) -> Counter[str]:
    return Counter(call.disposition.value for call in done.calls)
