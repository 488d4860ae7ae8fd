"""What does the side that holds the record answer to an agent? The gate, the renaming learnt so far, and the log.

Nothing here runs, asks or contacts anything: a result comes from the record or from a stand-in of the plan, a model's
words from the answerer. The first request that nothing answers ends the rerun, before anything else is answered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from forensics.analysis.run import TraceAnalysis
from forensics.core.differences import differences, shown
from forensics.core.evidence import Locator
from forensics.core.jsonvalue import decode, equal_values, unfold
from forensics.core.messages import MODEL_ROLES
from forensics.core.renaming import Renaming
from forensics.core.sanitise import one_line
from forensics.core.trace import Call, StepKind
from forensics.errors import ReplayFault
from forensics.replay import frames
from forensics.replay.asked_prompts import content_of, kind_of
from forensics.replay.fresh import Fresh, learnable
from forensics.replay.gate import Gate, Reply
from forensics.replay.guards import Guard, passes, says_passed
from forensics.replay.log import Called, Disposition, Entry, GuardedBy, Told, Turned
from forensics.replay.minting import Mint
from forensics.replay.nearest import Near, nearest
from forensics.replay.plan import Mode, OnMiss
from forensics.replay.ports import ModelRequest
from forensics.replay.recorded_answers import PromptDiffersError, RecordedAnswers
from forensics.replay.recordings import TOOL, Request
from forensics.replay.script import RecordedTurn, Script, shown_of
from forensics.replay.stand_ins import Order, StandIns, Stood, UsedUp
from forensics.replay.traced import trace_record
from forensics.rules.engine import RuleSet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.core.handles import Handle
    from forensics.core.trace import Trace
    from forensics.replay.plan import Plan
    from forensics.replay.ports import Answerer, ModelAnswer

Present: TypeAlias = Callable[[Call, Any], Any]

_SHOWN = 200
_HERE = Locator(evidence=1)  # a request of the rerun stands in no evidence
_INTERRUPTS = frozenset({"InterruptSignal", "GraphInterrupt", "NodeInterrupt", "Interrupt", "PauseAsked"})
"""Names of the exceptions by which frameworks pause a run for a person."""


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """Why a rerun ended before its agent did: a code of the contract, a sentence, and of a miss the nearest recordings,
    each with the first place that differs. `asked` is what was asked.
    """

    code: str
    message: str
    asked: Any = None
    near: tuple[Near, ...] = ()
    step: int | None = None
    hint: str = ""


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What a rerun is made from: the analysis of the recorded run, the rules, the guardrails of its agent, and what the
    user said in it. With a `script` the agent is one that was rebuilt, and what stands beside its turns is given as
    recorded. `present` is a port of tests only: it may show the agent another value than the recorded one.
    """

    analysis: TraceAnalysis
    rules: RuleSet
    guards: tuple[Guard, ...] = ()
    later: tuple[Any, ...] = ()
    lane: str = ""
    script: Script | None = None
    may_execute: frozenset[int] = frozenset()
    present: Present | None = None


class Session:
    """One rerun, as the side that holds the record sees it."""

    def __init__(self, setting: Setting, plan: Plan, answerer: Answerer) -> None:
        self.log: list[Entry] = []
        self.stopped: Stopped | None = None
        self.renaming = Renaming()
        self._setting = setting
        self._trace: Trace = setting.analysis.trace
        self._plan = plan
        self._answerer = answerer
        tools = [one for one in trace_record(self._trace).recordings if one.request.kind == TOOL]
        self.gate = Gate(tools)
        self._rows = [self._trace.call[one.request.step or 0] for one in tools]
        self._stand_ins = StandIns(plan)
        self._mint = Mint(plan.minted, self._trace.started / 1e9 if self._trace.started >= 0 else None)
        self._inputs = list(setting.later)
        self._messages: dict[str | None, list[dict[str, Any]]] = {}
        self._waiting: list[tuple[int, int, str, Any, str | None]] = []
        self._fresh = Fresh(setting.rules, _minted(setting.analysis.handles))
        self._decided = self._recorded_decisions()
        self._turns = self._loose = 0
        self._ordered: tuple[frames.CallTool, Reply] | None = None
        self._answers: dict[type, Callable[[Any], frames.FromParent]] = {
            frames.CallTool: self._call,
            frames.AskModel: self._ask,
            frames.Ran: self._has_run,
            frames.Mint: self._minted_value,
            frames.Guard: self._guard,
            frames.NextInput: self._next_input,
        }

    def reply(self, said: frames.FromChild) -> frames.FromParent | None:
        """The reply to one message of the agent; None where it waits for none."""
        answer = self._answers.get(type(said))
        if answer is None:
            return None
        return answer(said) if self.stopped is None else frames.Stop(self.stopped.message)

    def recorded_rows(self) -> tuple[int, ...]:
        """The recorded calls that can be asked for, as rows of the trace's calls."""
        return tuple(self._rows)

    def stop(self, stopped: Stopped) -> frames.Stop:
        """End the rerun."""
        self.stopped = self.stopped or stopped
        self.gate.stopped = True
        return frames.Stop(self.stopped.message)

    # the model -------------------------------------------------------------------------------------------------------

    def _ask(self, said: frames.AskModel) -> frames.FromParent:
        request = self._request(said)
        try:
            answer = self._answerer.answer(request)
        except ReplayFault as fault:
            return self._unanswered(request, fault)
        lane = said.lane or self._setting.lane
        recorded = None if answer.live or not isinstance(self._answerer, RecordedAnswers) else self._answerer.turn
        new = None if request.messages is None else len(request.messages) - request.new
        self._tell(request, recorded, lane)
        step = None if recorded is None else recorded.step
        agent = lane if recorded is None else recorded.lane
        self.log.append(Turned(agent=agent, answer=answer, step=step, new=new))
        self._wait_for(answer)
        return _answered(answer)

    def _tell(self, request: ModelRequest, recorded: RecordedTurn | None, lane: str) -> None:
        """Log what a turn was shown beside results, in the order of the record where it is one."""
        told = [
            Told(kind_of(message), lane, content_of(message))
            for message in (request.messages or ())[request.new :]
            if kind_of(message) is not StepKind.TOOL_RESULT and message.get("role") not in MODEL_ROLES
        ]
        placed: list[tuple[int, Entry]] = [(-1, one) for one in told]
        if recorded is not None and self._setting.script is not None:
            steps = [one.step for one in recorded.shown if one.kind not in {StepKind.TOOL_RESULT, StepKind.MODEL}]
            if len(steps) == len(told):
                placed = list(zip(steps, told, strict=True))
            placed = sorted((*placed, *self._beside(recorded.beside)), key=lambda one: one[0])
        self.log.extend(entry for _, entry in placed)

    def finish(self) -> None:
        """The agent is done: what stands beside its last turn in the record."""
        if self._setting.script is not None and self.stopped is None and self._plan.mode is Mode.RECORDED:
            self.log.extend(entry for _, entry in self._beside(self._setting.script.after))

    def _beside(self, steps: Sequence[int]) -> Iterator[tuple[int, Entry]]:
        """What the record holds beside a turn and no port gives: approvals, and decisions of guardrails that have not
        been asked for; each with its step.
        """
        for step in steps:
            one = self._trace.step(step)
            waiting = self._decided.get(one.name, [])
            if one.kind is StepKind.GUARDRAIL and step in waiting:
                waiting.remove(step)
                passed = says_passed(one.payload) is not False
                yield step, GuardedBy(one.name, one.agent, passed, again=False, step=step)
            elif one.kind is StepKind.APPROVAL_REQUEST:
                yield step, Told(one.kind, one.agent, None if one.payload is None else decode(one.payload).value)

    def _request(self, said: frames.AskModel) -> ModelRequest:
        """The whole request: what is new behind what the lane has said before."""
        if said.messages is None:
            return ModelRequest(tools=said.tools, settings=said.settings, lane=said.lane)
        held = self._messages.setdefault(said.lane, [])
        keep = min(said.keep, len(held))
        del held[keep:]
        held.extend(said.messages)
        return ModelRequest(messages=held, new=keep, tools=said.tools, settings=said.settings, lane=said.lane)

    def _wait_for(self, answer: ModelAnswer) -> None:
        self._waiting = [
            (self._turns, index, call.name, call.arguments, call.id) for index, call in enumerate(answer.calls)
        ]
        self._turns += 1

    def _unanswered(self, request: ModelRequest, fault: ReplayFault) -> frames.Stop:
        if isinstance(fault, PromptDiffersError):
            left, right = shown(fault.difference)
            found = fault.difference
            own = self._fresh.is_own(found.pointer, found.left, found.right, self._given_texts())
            code = "generated_id_differs" if own else "replay_miss"
            why = "what the model was shown is another value of the run's own making" if own else "the prompt differs"
            asked = list(request.messages or ())[request.new :]
            near = (Near(fault.turn.step, why, found.pointer, left, right),)
            message = f"{fault.message}: recorded {left or 'nothing'}, asked {right or 'nothing'}"
            return self.stop(Stopped(code=code, message=message, near=near, step=fault.turn.step, asked=asked))
        said = None if request.messages is None else list(request.messages)[request.new :]
        return self.stop(Stopped(code=fault.code, message=fault.message, hint=fault.hint, asked=said))

    # tools -----------------------------------------------------------------------------------------------------------

    def _call(self, said: frames.CallTool) -> frames.FromParent:
        request = Request(
            kind=TOOL,
            value={"tool": said.name, "arguments": self.renaming.leftward(said.arguments)},
            locator=_HERE,
            recorded_id=said.call_id,
        )
        reply = self.gate.look_up(request)
        stands = self._stand_ins.of(said.name)
        if isinstance(stands, Order):
            self._ordered = said, reply
            return frames.Run(stands.target, said.arguments)
        if isinstance(stands, Stood):
            return self._stood_in(said, reply, stands)
        if isinstance(stands, UsedUp):
            return self._missed(said, request, reply, f"its list of {stands.given} values has been used up")
        if reply.row is None:
            return self._unrecorded(said, request, reply)
        return self._inject(said, reply, reply.row)

    def _inject(self, said: frames.CallTool, reply: Reply, row: int) -> frames.Given:
        recording, call = self.gate.recordings[row], self._trace.calls[self._rows[row]]
        value, told = recording.answer, shown_of(call)
        if self._setting.present is not None:
            value, told = self._presented(call, value)
        self._note(said, Disposition.INJECTED, row, value=value, shown=told, failed=recording.failed, reply=reply)
        return _given(value, told, failed=recording.failed)

    def _presented(self, call: Call, value: Any) -> tuple[Any, Any]:
        """What a test shows the agent in place of the recorded value; the renaming is learnt from the two results."""
        shown_value = self._setting.present(call, value) if self._setting.present is not None else value
        self._learn(self._rows_of(call), shown_value)
        return shown_value, shown_value

    def _rows_of(self, call: Call) -> int:
        return self._trace.call[call.step]

    def _unrecorded(self, said: frames.CallTool, request: Request, reply: Reply) -> frames.FromParent:
        if self._plan.mode is Mode.LIVE and self._plan.on_miss is OnMiss.LIVE:
            told = f"Not run: no recording answers this call of {said.name}, and a rerun runs no tool by itself."
            self._note(said, Disposition.REFUSED, None, value=told, shown=told, failed=True, reply=reply)
            return frames.Given(told, failed=True)
        return self._missed(said, request, reply, reply.because)

    def _missed(self, said: frames.CallTool, request: Request, reply: Reply, because: str) -> frames.Stop:
        near = nearest(self.gate, request, reply)
        same_tool = [one for one in near if self.gate.recordings[one.row].request.name == said.name]
        own = same_tool and self._is_own_value(same_tool[0].row, said)
        self._note(said, Disposition.MISSED, None, reply=reply)
        message = f"the call of {one_line(said.name, 60)} is not answered: {because}"
        if near and near[0].pointer is not None:
            nothing = "nothing"
            left, right = (one_line(text or nothing, _SHOWN) for text in (near[0].left, near[0].right))
            message += f"; the nearest recording differs at {near[0].pointer}: recorded {left}, asked {right}"
        rows = tuple(msgspec.structs.replace(one, row=self.gate.recordings[one.row].request.step or 0) for one in near)
        code = "generated_id_differs" if own else "replay_miss"
        return self.stop(Stopped(code=code, message=message, near=rows, asked=request.value, step=_step(rows)))

    def _is_own_value(self, row: int, said: frames.CallTool) -> bool:
        """Whether the call differs from a recorded one only in values of the run's own making."""
        recorded = self.gate.recordings[row].request.value["arguments"]
        found = list(differences(recorded, said.arguments))
        given = self._given_texts()
        return bool(found) and all(self._fresh.is_own(one.pointer, one.left, one.right, given) for one in found)

    # stand-ins -------------------------------------------------------------------------------------------------------

    def _stood_in(self, said: frames.CallTool, reply: Reply, stands: Stood) -> frames.FromParent:
        return self._overridden(said, reply, stands.value, failed=stands.failed)

    def _has_run(self, said: frames.Ran) -> frames.FromParent:
        """A function of the user's has run in the cell."""
        if self._ordered is None:
            return self.stop(Stopped(code="replay_fault", message="the agent says that it ran what nobody asked it to"))
        (call, reply), self._ordered = self._ordered, None
        if said.raised in _INTERRUPTS:
            return self.stop(paused(call.name, said.value))
        if reply.row is not None and self._rows[reply.row] in self._setting.may_execute:
            return self._executed(call, reply, reply.row, said)
        return self._overridden(call, reply, said.value, failed=said.failed)

    def _executed(self, said: frames.CallTool, reply: Reply, row: int, ran: frames.Ran) -> frames.FromParent:
        """A tool that the policy lets run: what it returned must be what is recorded, and that is what is shown."""
        recording, call = self.gate.recordings[row], self._trace.calls[self._rows[row]]
        if ran.failed is not recording.failed or not equal_values(unfold(ran.value), recording.answer):
            found = next(differences(recording.answer, unfold(ran.value)), None)
            left, right = (None, None) if found is None else shown(found)
            message = (
                f"{one_line(said.name, 60)} was really run and returned something else than is recorded: "
                f"recorded {left or 'nothing'}, returned {right or 'nothing'}"
            )
            self._note(said, Disposition.EXECUTED, row, returned=ran.value, failed=ran.failed, reply=reply)
            return self.stop(Stopped(code="result_mismatch", message=message, step=call.step))
        told = shown_of(call)
        value = recording.answer
        self._note(said, Disposition.EXECUTED, row, value=value, shown=told, failed=ran.failed, reply=reply)
        return _given(value, told, failed=ran.failed)

    def _overridden(self, said: frames.CallTool, reply: Reply, returned: Any, *, failed: bool) -> frames.Given:
        """What a stand-in gave, a fresh handle in it mapped back to the recorded one. Where that makes it equal to the
        record, the record is shown: the call was `normalised`.
        """
        if reply.row is None:
            self._note(said, Disposition.OVERRIDDEN, None, value=returned, shown=returned, failed=failed, reply=reply)
            return frames.Given(returned, failed=failed)
        row = reply.row
        recording, call = self.gate.recordings[row], self._trace.calls[self._rows[row]]
        mapped = self._learn(self._rows[row], returned)
        value = self.renaming.leftward(returned)
        same = failed is recording.failed and equal_values(unfold(value), recording.answer)
        told = shown_of(call) if same else value
        value = recording.answer if same else value
        how = Disposition.NORMALISED if mapped and same else Disposition.OVERRIDDEN
        if not same and isinstance(self._answerer, RecordedAnswers):
            self._answerer.given[call.result_step] = told
        self._note(
            said, how, row, value=value, shown=told, failed=failed, reply=reply, returned=returned, mapped=mapped
        )
        return _given(value, told, failed=failed)

    def _learn(self, row: int, presented: Any) -> tuple[str, ...]:
        """Learn from two results of one call which fresh handle is which recorded one; the recorded ones, in order."""
        pairs = learnable(self._fresh.minted.get(row, ()), unfold(presented), self._setting.rules)
        return tuple(left for left, right in pairs if self.renaming.join(left, right))

    # the run's own values, guardrails ---------------------------------------------------------------------------------

    def _minted_value(self, said: frames.Mint) -> frames.FromParent:
        try:
            given = self._mint.give(said.what)
        except KeyError:
            return self.stop(Stopped(code="replay_fault", message="the agent asks for a value that no port gives"))
        self.log.append(given)
        return frames.Given(given.value)

    def _next_input(self, _said: frames.NextInput) -> frames.Given:
        return frames.Given(self._inputs.pop(0) if self._inputs else None)

    def _guard(self, said: frames.Guard) -> frames.Given:
        """The guardrails of a position, one by one; the first that does not let it pass ends them."""
        for guard in self._setting.guards:
            if guard.position == said.position and not self._lets_pass(guard, said.says):
                return frames.Given(f"blocked by the guardrail {guard.name}", failed=True)
        return frames.Given()

    def _lets_pass(self, guard: Guard, says: Any) -> bool:
        decided = passes(guard, says)
        recorded = self._decided.get(guard.name, [])
        step = recorded.pop(0) if recorded else None
        if decided is None and step is None:
            return True  # neither data nor a recorded decision: it did not act in the recorded run
        again = decided is not None
        passed = decided if decided is not None else says_passed(self._trace.payload[step or 0]) is not False
        self.log.append(GuardedBy(guard.name, self._setting.lane, passed, again, step))
        return passed

    def _recorded_decisions(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for row in self._trace.rows(StepKind.GUARDRAIL):
            found.setdefault(self._trace.strings[self._trace.name[row]], []).append(row)
        return found

    # the log ---------------------------------------------------------------------------------------------------------

    def _note(  # noqa: PLR0913 - a call is told by its fields
        self,
        said: frames.CallTool,
        disposition: Disposition,
        row: int | None,
        *,
        reply: Reply,
        value: Any = None,
        shown: Any = None,
        failed: bool = False,
        returned: Any = None,
        mapped: tuple[str, ...] = (),
    ) -> None:
        turn, index = self._asked_by(said)
        self.log.append(
            Called(
                tool=said.name,
                arguments=said.arguments,
                disposition=disposition,
                turn=turn,
                index=index,
                agent=self._setting.lane,
                call_id=said.call_id,
                row=None if row is None else self._rows[row],
                value=value,
                shown=shown,
                failed=failed,
                agreement=reply.agreement,
                returned=returned,
                mapped=mapped,
            )
        )

    def _asked_by(self, said: frames.CallTool) -> tuple[int, int]:
        """Which call of the latest turn this is: by its id, else by what it says, else by its tool; each once."""
        tests: Sequence[Callable[[tuple[int, int, str, Any, str | None]], bool]] = (
            lambda one: said.call_id is not None and one[4] == said.call_id and one[2] == said.name,
            lambda one: one[2] == said.name and one[3] == said.arguments,
            lambda one: one[2] == said.name,
        )
        for test in tests:
            for place, one in enumerate(self._waiting):
                if test(one):
                    self._waiting.pop(place)
                    return one[0], one[1]
        self._loose += 1
        return -1, self._loose - 1

    def _given_texts(self) -> bytes:
        """Everything that the agent has been given so far, as one text to look values up in."""
        return msgspec.json.encode(self.log)


def paused(tool: str, said: Any) -> Stopped:
    """The end of a rerun in which something paused for a person."""
    who = one_line(tool, 60) if tool else "the agent"
    return Stopped(
        code="run_paused",
        message=f"{who} paused for a person ({one_line(str(said), 100)}), and a rerun holds no pause: it has no "
        "checkpointer",
        hint=f"give the answer with --stub {tool or 'TOOL'}=JSON, or another function with --tool",
    )


def is_pause(raised: str) -> bool:
    """Whether an exception of that class is a framework's way to pause."""
    return raised in _INTERRUPTS


def _minted(handles: Sequence[Handle]) -> dict[int, list[Handle]]:
    found: dict[int, list[Handle]] = {}
    for handle in handles:
        if handle.minted:
            found.setdefault(handle.call, []).append(handle)
    return found


def _given(value: Any, told: Any, *, failed: bool) -> frames.Given:
    if told is value or told == value:
        return frames.Given(value, failed=failed)
    return frames.Given(value, failed=failed, shown=told)


def _answered(answer: ModelAnswer) -> frames.Answered:
    return frames.Answered(
        text=answer.text,
        calls=tuple((call.name, call.arguments, call.id) for call in answer.calls),
        finish=answer.finish,
        model=answer.model,
        usage=answer.usage,
        ignored=answer.ignored,
        live=answer.live,
    )


def _step(near: Sequence[Near]) -> int | None:
    return near[0].row if near else None
