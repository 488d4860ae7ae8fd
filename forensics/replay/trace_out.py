"""How is a rerun written down so that it is a trace again? As the plain event log: its own id, what it is a rerun of,
the plan, and then everything that was shown, said, called and answered, in order.

What happened is told as it happens, as `Happening`s; nothing of the original record that the rerun did not ask for gets
in. The id is that of the content (no clock, no chance): the same rerun has the same id and the same bytes.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from forensics.core.jsonvalue import canonical, strict_value
from forensics.replay.ports import ModelAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forensics.replay.plan import Plan

SCHEMA = "forensics/rerun-trace/v1"
NOT_REACHED = "not_reached"
"""The disposition of a call that the model asked for and that the agent never made."""
_ID_LENGTH = 32
_Line: TypeAlias = dict[str, Any]


class Of(msgspec.Struct, frozen=True, kw_only=True):
    """What was rerun: the id of the trace, the evidence it stands in by name and SHA-256, and the policy and the rules
    under which it was cleared.
    """

    trace: str
    evidence: str
    evidence_sha256: str
    policy: str = ""
    rules_digest: str = ""


class Shown(msgspec.Struct, frozen=True):
    """What the model was shown that no call returned: `role` is system or user."""

    role: str
    says: Any
    lane: str | None = None


class Turn(msgspec.Struct, frozen=True):
    """What the model said, and the calls that it asked for."""

    answer: ModelAnswer
    lane: str | None = None


class Called(msgspec.Struct, frozen=True, kw_only=True):
    """A call that the agent made, and what it was given: `disposition` says by whom, `outcome` is recorded, failed or
    denied, and None where nothing was given (the call was refused or missed).
    """

    name: str
    arguments: Any
    disposition: str
    call_id: str | None = None
    outcome: str | None = None
    result: Any = None
    lane: str | None = None


class Ended(msgspec.Struct, frozen=True):
    """How it ended: with an output, or because of something that stopped it."""

    output: Any = None
    stopped: str = ""


class _Asked(NamedTuple):
    """A call that the model asked for and that was not made yet: its line, and its arguments as they are compared."""

    line: _Line
    arguments: bytes


Happening: TypeAlias = Shown | Turn | Called | Ended


def trace_out(of: Of, plan: Plan, happenings: Iterable[Happening]) -> bytes:
    """The rerun as a plain event log, one JSON object a line, the first of which says what it is a rerun of."""
    lines = _lines(happenings)
    head = {
        "type": "rerun",
        "schema": SCHEMA,
        "rerun_of": of.trace,
        "source": {"name": of.evidence, "sha256": of.evidence_sha256},
        "policy": of.policy,
        "rules": of.rules_digest,
        "mode": plan.mode.value,
        "plan_sha256": plan.digest,
        "plan": _written(plan),
    }
    own = hashlib.sha256(b"".join(map(_line, (head, *lines)))).hexdigest()[:_ID_LENGTH]
    told = ({"type": line.pop("type"), "trace": own, **line} for line in (head, *lines))
    return b"".join(_line(one) for one in told)


def _written(plan: Plan) -> str:
    """The plan as a text of JSON: its values are nobody's calls, and no reader takes them for some."""
    return _line(msgspec.to_builtins(msgspec.structs.replace(plan, paths=()))).decode().rstrip("\n")


def _line(value: Any) -> bytes:
    return msgspec.json.encode(strict_value(value)) + b"\n"


def _lines(happenings: Iterable[Happening]) -> list[_Line]:
    """Each happening as one line or several, numbered; what was asked for and never made is marked."""
    log = _Log()
    for one in happenings:
        log.tell(one)
    for asked in (asked for waiting in log.waiting.values() for asked in waiting):
        asked.line["disposition"] = NOT_REACHED
    return [{**line, "seq": number} for number, line in enumerate(log.lines)]


class _Log:
    """The lines in the making, and the calls that were asked for and wait to be made, lane by lane."""

    def __init__(self) -> None:
        self.lines: list[_Line] = []
        self.waiting: dict[str, list[_Asked]] = {}
        self._said: Any = None

    def tell(self, one: Happening) -> None:
        """Write one happening down."""
        if isinstance(one, Shown):
            self.lines.append({"type": one.role, "text": one.says, **_agent(one.lane)})
        elif isinstance(one, Turn):
            self._turn(one)
        elif isinstance(one, Called):
            self._called(one)
        else:
            self._ended(one)

    def _turn(self, one: Turn) -> None:
        """The turn, then each call that it asks for, in that order, whatever becomes of it."""
        answer = one.answer
        self._said = answer.text
        told = {"model": answer.model, "finish_reason": answer.finish, "usage": answer.usage}
        turn = {
            "type": "model",
            "text": answer.text,
            **{name: value for name, value in told.items() if value},
            "served": "live" if answer.live else "recorded",
            **_agent(one.lane),
        }
        self.lines.append(turn)
        for call in answer.calls:
            line = self._call(call.id or f"asked-{len(self.lines)}", call.name, call.arguments, one.lane)
            self.waiting.setdefault(one.lane or "", []).append(_Asked(line, canonical(call.arguments)))

    def _called(self, one: Called) -> None:
        """What the agent was given for a call; before it the call itself, where the model did not ask for just that."""
        asked = self._take(one)
        call = asked.line if asked else self._call(f"made-{len(self.lines)}", one.name, one.arguments, one.lane)
        if one.outcome is None:
            call["disposition"] = one.disposition
            return
        given = {
            "type": "tool_result",
            "call_id": call["call_id"],
            "name": one.name,
            "result": "null" if one.result is None else one.result,
            **({} if one.outcome == "recorded" else {"status": one.outcome}),
            "disposition": one.disposition,
            **_agent(one.lane),
        }
        self.lines.append(given)

    def _take(self, one: Called) -> _Asked | None:
        """The call that the model asked for and that this one is: of equal ones that of its id, else the first."""
        waiting = self.waiting.get(one.lane or "", [])
        arguments = canonical(one.arguments)
        same = [asked for asked in waiting if asked.line["name"] == one.name and asked.arguments == arguments]
        found = next((asked for asked in same if asked.line["call_id"] == one.call_id), same[0] if same else None)
        if found is not None:
            waiting[:] = [asked for asked in waiting if asked is not found]
        return found

    def _call(self, name: str, tool: str, arguments: Any, lane: str | None) -> _Line:
        line = {"type": "tool_call", "call_id": name, "name": tool, "args": arguments, **_agent(lane)}
        self.lines.append(line)
        return line

    def _ended(self, one: Ended) -> None:
        """The output, where it is not what the model said last; or what stopped the run."""
        if one.stopped:
            self.lines.append({"type": "error", "text": one.stopped})
        elif one.output is not None and one.output != self._said:
            self.lines.append({"type": "final_output", "text": one.output})


def _agent(lane: str | None) -> _Line:
    return {"agent": lane} if lane else {}
