"""How is a rerun written down so that it is a trace again? As the plain event log: its own id, what it is a rerun of,
the plan, and then everything that was shown, said, called and answered, in order.

It is made from the log of the rerun. Where an agent named no messages, what the recorded turn was shown stands there,
as the rerun served it. No clock and no chance: the same rerun gives the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from forensics.core.jsonvalue import same_value, strict_value, value_of
from forensics.core.trace import NOT_REACHED, StepKind
from forensics.replay.guards import says_passed
from forensics.replay.log import Called, Disposition, Earlier, GuardedBy, Told, Turned
from forensics.replay.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from forensics.core.trace import Payload
    from forensics.replay.log import Entry
    from forensics.replay.script import Script

SCHEMA = "forensics/rerun-trace/v1"
_BESIDE = frozenset({StepKind.TOOL_RESULT, StepKind.MODEL})
_WHOLE = frozenset({StepKind.APPROVAL, StepKind.APPROVAL_REQUEST, StepKind.HANDOFF})
"""What other logs tell as a whole record, and this one as the value that was shown."""
_Line: TypeAlias = dict[str, Any]


class Of(msgspec.Struct, frozen=True, kw_only=True):
    """Which rerun it is (its id and its plan), and of what: the id of the trace, the evidence it stands in by name and
    SHA-256, and the policy and the rules under which it was cleared.
    """

    rerun: str
    plan: Plan
    trace: str
    evidence: str
    evidence_sha256: str
    policy: str = ""
    rules_digest: str = ""


class Ended(msgspec.Struct, frozen=True):
    """How it ended: with an output, or because of something."""

    output: Any = None
    because: str = ""


def trace_out(
    of: Of, log: Iterable[Entry], ended: Ended, script: Script, decisions: Mapping[int, Payload] | None = None
) -> bytes:
    """The rerun as a plain event log, one JSON object a line, the first of which says what it is a rerun of. `script`
    is that of the recorded run, `decisions` what its guardrails said, by their steps.
    """
    head = {
        "schema": SCHEMA,
        "rerun_of": of.trace,
        "source": {"name": of.evidence, "sha256": of.evidence_sha256},
        "policy": of.policy,
        "rules": of.rules_digest,
        "mode": of.plan.mode.value,
        "plan_sha256": of.plan.digest,
        "plan": _written(of.plan),
    }
    told = _Log(script, decisions or {})
    for entry in log:
        told.tell(entry)
    told.end(ended)
    lines = [{"type": "rerun", **head}, *({**line, "seq": number} for number, line in enumerate(told.lines))]
    return b"".join(_line({"type": line.pop("type"), "trace": of.rerun, **line}) for line in lines)


def _written(plan: Plan) -> str:
    """The plan as a text of JSON: its values are nobody's calls, and no reader takes them for some."""
    return _line(msgspec.to_builtins(msgspec.structs.replace(plan, paths=()))).decode().rstrip("\n")


def _line(value: Any) -> bytes:
    return msgspec.json.encode(strict_value(value)) + b"\n"


class _Log:
    """The lines in the making, and those of the calls that were asked for and wait to be made."""

    def __init__(self, script: Script, decisions: Mapping[int, Payload]) -> None:
        self.lines: list[_Line] = []
        self._decisions = decisions
        self._script = {turn.step: turn for turn in script.turns}
        self._waiting: dict[tuple[int, int], _Line] = {}
        self._turns = 0
        self._said: Any = None

    def tell(self, entry: Entry) -> None:
        """Write down what happened next. What the clock and chance gave is the agent's own until it uses it."""
        if isinstance(entry, Told):
            self._told(entry.kind, entry.value, entry.agent)
        elif isinstance(entry, Turned):
            self._turn(entry)
        elif isinstance(entry, Earlier):
            self._earlier(entry)
        elif isinstance(entry, Called):
            self._called(entry)
        elif isinstance(entry, GuardedBy):
            told = {"name": entry.name, "says": self._decision(entry), "ran": entry.again}
            self._add("guardrail", told, entry.agent)

    def end(self, ended: Ended) -> None:
        """Mark what was never made, and say how it ended: why, or with what where the model did not say that last."""
        for line in self._waiting.values():
            line["disposition"] = NOT_REACHED
        if ended.because:
            self._add("error", {"text": ended.because}, "")
        elif ended.output is not None and not same_value(ended.output, self._said):
            self._add("final_output", {"text": ended.output}, "")

    def _add(self, kind: str, told: _Line, agent: str) -> _Line:
        line = {"type": kind, **told, **({"agent": agent} if agent else {})}
        self.lines.append(line)
        return line

    def _told(self, kind: StepKind, value: Any, agent: str) -> None:
        self._add(kind.label, {"says" if kind in _WHOLE else "text": value}, agent)

    def _decision(self, entry: GuardedBy) -> Any:
        """What a guardrail said: the recorded words where it decided as it did in the record."""
        recorded = None if entry.step is None else self._decisions.get(entry.step)
        if recorded is not None and says_passed(recorded) is entry.passed:
            return value_of(recorded)
        return {"name": entry.name, "result": "pass" if entry.passed else "block"}

    def _earlier(self, entry: Earlier) -> None:
        """What the model said before the run, with the calls that it asked for, or what one of them returned."""
        if entry.kind is StepKind.TOOL_RESULT:
            told = {"call_id": entry.call_id, "name": entry.tool, "result": entry.value}
            self._add("tool_result", told, entry.agent)
            return
        self._add("model", {"text": entry.value, "served": "recorded"}, entry.agent)
        for name, arguments, call_id in entry.calls:
            self._call(call_id or f"asked-{len(self.lines)}", name, arguments, entry.agent)

    def _turn(self, entry: Turned) -> None:
        """The turn, then each call that it asks for, in that order, whatever becomes of it."""
        if entry.new is None and entry.step in self._script:
            for one in self._script[entry.step].shown:
                if one.kind not in _BESIDE:
                    self._told(one.kind, one.value, entry.agent)
        answer = entry.answer
        self._said = answer.text
        known = {"model": answer.model, "finish_reason": answer.finish, "usage": answer.usage}
        told = {name: value for name, value in known.items() if value}
        served = "live" if answer.live else "recorded"
        self._add("model", {"text": answer.text, **told, "served": served}, entry.agent)
        for index, call in enumerate(answer.calls):
            line = self._call(call.id or f"asked-{len(self.lines)}", call.name, call.arguments, entry.agent)
            self._waiting[self._turns, index] = line
        self._turns += 1

    def _call(self, name: str, tool: str, arguments: Any, agent: str) -> _Line:
        return self._add("tool_call", {"call_id": name, "name": tool, "args": arguments}, agent)

    def _called(self, entry: Called) -> None:
        """What the agent was given for a call; before it the call itself, where no turn asked for just that."""
        line = self._asked_for(entry) or self._call(f"made-{len(self.lines)}", entry.tool, entry.arguments, entry.agent)
        if entry.disposition is Disposition.MISSED:
            line["disposition"] = entry.disposition.value
            return
        told = {
            "call_id": line["call_id"],
            "name": entry.tool,
            "result": _given(entry),
            **_status(entry),
            "disposition": entry.disposition.value,
        }
        self._add("tool_result", told, entry.agent)

    def _asked_for(self, entry: Called) -> _Line | None:
        """The line of the call that the turn asked for, where the agent made just that; else it was never made."""
        line = self._waiting.get((entry.turn, entry.index))
        if line is None or not same_value(line["args"], entry.arguments) or line["name"] != entry.tool:
            return None
        return self._waiting.pop((entry.turn, entry.index))


def _given(entry: Called) -> Any:
    """What the agent was given. A value of null is written as a text, since a log without a value has none recorded."""
    given = entry.shown if entry.failed and entry.shown is not None else entry.value
    return "null" if given is None else given


def _status(entry: Called) -> _Line:
    if entry.disposition is Disposition.REFUSED:
        return {"status": "denied"}
    return {"status": "failed"} if entry.failed else {}
