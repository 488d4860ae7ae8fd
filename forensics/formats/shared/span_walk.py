"""What did the agent do, told from its spans? Walks the spans of every trace in causal order and tells the builder.

A lane is one conversation (`span_lanes`). Spans that leave the agent otherwise than by a tool (retriever, memory,
HTTP, database, messaging) are boundary calls unless they lie inside a tool call or the model request (CONTRACT:
boundary call).
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from forensics.core.agreement import agree
from forensics.core.build import Spot
from forensics.core.classes import ToolFacts
from forensics.core.evidence import Basis, Severity
from forensics.core.findings import finding
from forensics.core.jsonvalue import text_of, unfold
from forensics.core.sanitise import one_line
from forensics.core.trace import NOWHERE, Boundary, Payload, StepKind
from forensics.formats.shared import span_names as names
from forensics.formats.shared.asked import Asked
from forensics.formats.shared.span_calls import error_type, failure_of, is_pause, other_execution, tool_execution
from forensics.formats.shared.span_cast import cast
from forensics.formats.shared.span_facts import FactReader
from forensics.formats.shared.span_lanes import Scope, Scopes
from forensics.formats.shared.span_messages import MessageReader, Said
from forensics.formats.shared.span_names import Role
from forensics.formats.shared.span_order import NO_PARENT, build_tree
from forensics.formats.shared.span_roles import AGENTS, OUTSIDE
from forensics.formats.shared.span_rows import SpanRows, TraceSpans
from forensics.formats.shared.span_sequence import Sequence
from forensics.formats.shared.span_setup import setup_of
from forensics.formats.shared.span_stretches import Columns, Tool, Turn, UsualSpans
from forensics.formats.shared.span_structure import check_structure, distinct, note
from forensics.formats.shared.wholeness import cut_short, ends_in_calls, finish_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forensics.core.build import Execution, Lane
    from forensics.core.messages import Message
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.span_order import Event, Events
    from forensics.formats.shared.spans import Span


_TOGETHER = 512  # events that are looked at together
_FEW = 4  # events that are told one by one
_TRIES = 4  # to tell a run of events at once


def walk_spans(spans: Iterable[Span], build: EvidenceBuilder) -> None:
    """Tell the builder every trace of these spans, the earliest first. The order of `spans` changes nothing."""
    rows = SpanRows()
    some = iter(spans)
    while kept := list(islice(some, _TOGETHER)):
        rows.keep(kept)
    walk_rows(rows, build)


def walk_rows(rows: SpanRows, build: EvidenceBuilder) -> None:
    """The same of the spans of these rows."""
    walks = []
    for trace, members, began in rows.by_trace():
        walk = TraceWalk(trace, TraceSpans(rows, members), build)
        walk.run()
        walks.append(walk.ending(began))
    _infer_reruns(walks, build)


class Ending(msgspec.Struct, frozen=True):
    """What the walk of one trace leaves for the comparison with others: who ran with what input, and was it a rerun."""

    trace: str
    started: int
    identity: tuple[str, str] | None
    replayed: bool


def _infer_reruns(walks: list[Ending], build: EvidenceBuilder) -> None:
    """A rerun that names no source (older releases) is one of the latest earlier run of that agent with that input."""
    originals: dict[tuple[str, str], str] = {}
    for walk in walks:
        if walk.identity is None:
            continue
        trace = build.trace(walk.trace).trace
        if not walk.replayed:
            originals[walk.identity] = walk.trace
        elif trace.rerun_of is None:
            trace.rerun_of = originals.get(walk.identity)
            trace.rerun_basis = Basis.INFERRED


class TraceWalk:
    """One trace on its way to the builder."""

    def __init__(self, trace_id: str, spans: TraceSpans, build: EvidenceBuilder) -> None:
        self.id = trace_id
        self.build = build
        self.builder = build.trace(trace_id)
        self.messages = MessageReader()
        tree = build_tree(distinct(spans, self.builder, build))
        self.cast = cast(tree, self.messages)
        self.spans = self.cast.spans
        self.complete = self.builder.spans_are_complete and bool(self.spans.that_have(names.PAYLOADS))
        self.scopes = Scopes(self.cast, self.builder)
        self.facts = FactReader(self.builder.trace)
        self.around_agents = {self.cast.scope[row] for row in self.cast.rows(Role.AGENT)}
        self.first_asked: dict[int, int] = {}
        self.first_prompt = self._first_prompts()
        self.last_text: Payload | None = None
        self.two_events: frozenset[int] = frozenset()
        self._running: dict[int, tuple[Lane, int, Execution]] = {}
        self._told_errors: set[str] = set()
        self._silent: set[int] = set()
        self._number = Asked(_number)
        self._awaited: dict[str, tuple[Span, int]] = {}
        self._endings: dict[tuple[bytes, str, bool], str] = {}

    def run(self) -> None:
        """Walk the trace."""
        self.builder.trace.tokens = (0, 0)
        check_structure(self.cast, self.builder)
        self._count()
        sequence = Sequence(self.cast, self.builder)
        self.spans.forget_order()
        self.cast.forget_order()
        self.two_events = sequence.two_events
        if self.builder.spans_are_complete:
            for event in sequence.events:
                self._visit(event)
        else:
            self._tell(sequence.events)
        for key in list(self._awaited):
            self._settle(key)
        for span, doubt in self.messages.doubts:
            self.builder.gap(doubt.code, doubt.says, span.spot)
        self._say_what_is_not_read()
        self._say_how_it_ended()

    def ending(self, started: int) -> Ending:
        """What other traces of the evidence are compared with."""
        self.builder.trace.started = started
        agent = next((self.spans[row] for row, role in enumerate(self.cast.roles) if role is Role.AGENT), None)
        told = agent.get(names.AGENT_INPUT) if agent is not None else None
        identity = (agent.text(names.AGENT_NAME), text_of(told[1])) if agent is not None and told else None
        return Ending(
            self.id,
            started,
            identity,
            any(_is_replayed(self.spans[row]) for row in self.spans.that_have(_REPLAY_MARKS)),
        )

    def _count(self) -> None:
        counts = self.build.counts
        counts.roots += len(self.cast.tree.roots)
        counts.missing_spans.extend(self.cast.tree.missing)

    def _count_tokens(self, spans: Iterable[Span]) -> None:
        """Count what the model read and wrote in turns that are told."""
        read, wrote = (
            sum(self._number[bytes(told)] for span in spans if (told := span.payload(which)) is not None)
            for which in (names.INPUT_TOKENS, names.OUTPUT_TOKENS)
        )
        before = self.builder.trace.tokens or (0, 0)
        self.builder.trace.tokens = (before[0] + read, before[1] + wrote)
        self.build.counts.input_tokens += read
        self.build.counts.output_tokens += wrote

    def _first_prompts(self) -> dict[int, Said]:
        """For each span the first prompt that was captured below it; `first_asked` has the row of its model span."""
        found: dict[int, Said] = {}
        for asked, said in self.cast.prompts.items():
            row = asked
            while row != NO_PARENT and row not in found and self.cast.roles[row] is not Role.GUARDRAIL:
                found[row] = said
                self.first_asked[row] = asked
                row = self.cast.tree.parent[row]
        return found

    # the walk ----------------------------------------------------------------------------------------------------

    def _tell(self, events: Events) -> None:
        """Tell events in their order: what is usual among those of one conversation that follow each other at once."""
        usual = UsualSpans(self.cast, self.two_events, self.around_agents)
        for some in events.parts(_TOGETHER):
            told = usual.among(event.row for event in some)
            run: list[Event] = []
            scope: Scope | None = None
            for event in some:
                one = told.get(event.row)
                around = None if one is None or not self._ends_well(one) else self.scopes.around(event.row)
                if around is not scope:
                    self._tell_run(scope, run, told)
                    scope, run = around, []
                run.append(event)
            self._tell_run(scope, run, told)

    def _ends_well(self, one: Turn | Tool) -> bool:
        return isinstance(one, Tool) or not self._why_unfinished(one.finish, one.message)

    def _tell_run(self, scope: Scope | None, events: list[Event], told: dict[int, Turn | Tool]) -> None:
        """Tell events of one conversation (None: those that are not usual). One that is more than a stretch can hold is
        told by itself, and the rest at once again; where there are many such, the rest one by one.
        """
        for _ in range(_TRIES):
            if scope is None or len(events) < _FEW:
                break
            odd = self._tell_at_once(scope, events, told)
            if odd < 0:
                return
            if odd and self._tell_at_once(scope, events[:odd], told) >= 0:
                break
            self._visit(events[odd])
            events = events[odd + 1 :]
        for event in events:
            self._visit(event)

    def _tell_at_once(self, scope: Scope, events: list[Event], told: dict[int, Turn | Tool]) -> int:
        """Tell events at once; returns which of them is more than that, if one is, and then tells none, else -1."""
        spans = [told[event.row] for event in events]
        if len(scope.lanes) > 1 or scope.key in self._awaited or not (scope.lanes or isinstance(spans[0], Turn)):
            return 0
        said = {part.recorded_id for one in spans if isinstance(one, Turn) for part in one.message.calls}
        columns = Columns()
        for at, (event, one) in enumerate(zip(events, spans, strict=True)):
            if isinstance(one, Turn):
                columns.turn(one)
            elif one.recorded_id in said or self.scopes.has_asked(scope, one.recorded_id):
                columns.tool(one, self.scopes.server(event.row))
            else:
                return at
        lane = scope.lanes[0] if scope.lanes else self.scopes.shown(scope, None)
        stretch, before = columns.told(), len(self.builder.trace.calls)
        number = self.builder.run_at_once(lane, stretch)
        if number < len(stretch.says):
            return bisect_right(columns.ends, number)
        self._told_at_once(scope, lane, spans, range(before, len(self.builder.trace.calls)))
        for (tool, server, _, _), span in columns.tools.items():
            self._tool_facts(span, tool, server)
        return NOWHERE

    def _told_at_once(self, scope: Scope, lane: Lane, spans: list[Turn | Tool], calls: range) -> None:
        """What else follows from what was said, for those that come after it."""
        said = [one.message for one in spans if isinstance(one, Turn)]
        self._count_tokens([one.span for one in spans if isinstance(one, Turn)])
        if said:
            self.scopes.said(scope, lane, *said, calls=calls)
            scope.asked_model, scope.last_turn = True, self.builder.trace.turns - 1
            scope.last_text = self.last_text = said[-1].text

    def _visit(self, event: Event) -> None:
        row, role = event.row, self.cast.roles[event.row]
        if role is Role.TOOL:
            self._tool(row, leaving=event.leaving)
        elif role is Role.MODEL:
            self._model(row)
        elif role in AGENTS:
            (self._leave_agent if event.leaving else self._enter_agent)(row)
        elif role in OUTSIDE:
            self._outside(row, role)
        else:
            self._tell_step(row, role)

    def _step(
        self, kind: StepKind, row: int, found: tuple[str, Payload] | None, *, name: str = "", at: int = NOWHERE
    ) -> None:
        span = self.spans[row]
        spot = Spot(span.place, span.where(found[0]) if found else span.pointer, at if at >= 0 else span.start)
        self.builder.step(kind, spot, name=name, agent=self.scopes.agent(row), payload=found[1] if found else None)

    def _tell_step(self, row: int, role: Role) -> None:
        span = self.spans[row]
        if role is Role.GUARDRAIL:
            name = span.text(names.GUARDRAIL_NAME) or span.name
            self._step(StepKind.GUARDRAIL, row, span.get(names.GUARDRAIL_SAYS), name=name)
        elif role is Role.HANDOFF:
            self._step(StepKind.HANDOFF, row, None, name=span.name)
        self._tell_error(row)

    def _tell_error(self, row: int) -> None:
        """A failure that no call tells: once, though every span above it repeats the exception."""
        span = self.spans[row]
        failure = failure_of(span)
        if failure is None or is_pause(span) or text_of(failure) in self._told_errors:
            return
        self._told_errors.add(text_of(failure))
        spot = Spot(span.place, span.pointer, span.ended_at)
        self.builder.step(StepKind.ERROR, spot, name=error_type(span), agent=self.scopes.agent(row), payload=failure)

    # agents ------------------------------------------------------------------------------------------------------

    def _enter_agent(self, row: int) -> None:
        """Facts about tools, and what the agent was told where no prompt of its model turns shows it."""
        span, shown = self.spans[row], self.first_prompt.get(row)
        self.facts.read(span, self.scopes.server(row))
        place = self.build.places.locator(span.place, span.pointer)
        self.builder.trace.setups.append(setup_of(span, self.cast.roles[row], self.scopes.agent(row), place))
        if shown is None:
            self._unshown_prompt(row)
        told = span.get(names.AGENT_INPUT)
        if told is not None and not _shows(shown, told[1]):
            self._step(StepKind.USER, row, told)
        if self.complete and shown is not None and self.cast.roles[row] is Role.AGENT:
            self._check_first_prompt(row, shown)

    def _check_first_prompt(self, row: int, shown: Said) -> None:
        """Where every prompt is recorded, the first one shows what the agent was told and its own system prompt, to
        which a memory may add.
        """
        system = Said(tuple(m for m in shown.messages if m.step_kind is StepKind.SYSTEM), shown.pointer)
        for name, said, what in (
            (names.AGENT_INPUT, shown, "what it was told"),
            (names.SYSTEM_PROMPT, system, "its system prompt"),
        ):
            told = self.spans[row].get(name)
            if told is not None and not _shows(said, told[1]):
                message = f"the first prompt of the agent {{}} does not show {what}"
                self._contradicted(row, message, told, self.first_asked[row])

    def _unshown_prompt(self, row: int) -> None:
        span = self.spans[row]
        system = span.get(names.SYSTEM_PROMPT)
        if system is not None:
            self._step(StepKind.SYSTEM, row, system)
        said = self.messages.prompt(span, whole_request=False)
        if said is not None:
            self._feed(self.scopes.inside(row), said, span)

    def _leave_agent(self, row: int) -> None:
        span = self.spans[row]
        if self.cast.roles[row] is Role.AGENT and not self.scopes.inside(row).asked_model:
            self._without_turns(row)
        told = span.get(names.AGENT_OUTPUT)
        if told is not None:
            if not self._was_said(row, told[1]):
                self._step(StepKind.OTHER, row, told, name="final output", at=span.ended_at)
                self._check_output(row, told)
        elif self.cast.roles[row] is Role.AGENT:
            self._final_messages(row)
        self._tell_error(row)

    def _check_output(self, row: int, told: tuple[str, Payload]) -> None:
        """Where every turn is recorded, the output of an agent is what its last turn said or, where that turn asked for
        calls and the run ended with them, what one of them was given or returned.
        """
        scope = self.scopes.inside(row)
        if not self.complete or self.cast.roles[row] is not Role.AGENT or not scope.asked_model:
            return
        calls = self.builder.calls_of(scope.last_turn)
        said = [scope.last_text, *(call.result for call in calls), *(call.arguments for call in calls)]
        if any(payload is not None and agree(payload, told[1]) is not None for payload in said):
            return
        what = "was said by no turn that is recorded" if calls else "is not what its last turn said"
        asked = self.cast.of_agent(Role.MODEL, row)
        self._contradicted(row, f"the output of the agent {{}} {what}", told, asked[-1] if asked else row)

    def _contradicted(self, row: int, message: str, told: tuple[str, Payload], other: int) -> None:
        """Two records of one run that tell different stories: a finding with both places, and a gap. Where a guardrail
        or a middleware may have changed a text, it is a remark.
        """
        span, place = self.spans[row], self.build.places.locator
        locators = (place(span.place, span.where(told[0])), place(self.spans[other].place, self.spans[other].pointer))
        said = message.format(one_line(self.scopes.agent(row), 40))
        if self._rewrites(row):
            said += ": a guardrail or a middleware may have changed it"
            severity: Severity | None = Severity.INFO
        else:
            severity = None
            self.builder.gap("inconsistent_tuple", said, Spot(span.place, span.where(told[0])))
        one = finding("inconsistent_tuple", said, locators=locators, basis=Basis.DERIVED, severity=severity)
        self.builder.note(one)

    def _rewrites(self, row: int) -> bool:
        """Whether something may change the texts of an agent on their way: a middleware, or a guardrail that acted."""
        if row == NO_PARENT or names.MIDDLEWARE[0] in self.spans[row].names:
            return True
        acted = self.cast.of_agent(Role.GUARDRAIL, row)
        return any(self.spans[r].text(names.GUARDRAIL_ACTION).lower() not in names.LEFT_AS_IT_WAS for r in acted)

    def _final_messages(self, row: int) -> None:
        said = self.messages.answer(self.spans[row])
        if said is None or said.messages[0].text is None or self._was_said(row, said.messages[0].text):
            return
        spot = Spot(self.spans[row].place, said.pointer + said.messages[0].pointer, self.spans[row].ended_at)
        agent = self.scopes.agent(row)
        self.builder.step(StepKind.OTHER, spot, name="final output", agent=agent, payload=said.messages[0].text)

    def _was_said(self, row: int, output: Payload) -> bool:
        """Whether the last model turn (of the agent, or of the whole trace for a workflow) said an output."""
        last = self.scopes.inside(row).last_text if self.cast.roles[row] is Role.AGENT else self.last_text
        told = text_of(output).strip()
        return not told or (last is not None and (text_of(last).strip() in (told, *_outputs(told))))

    def _without_turns(self, row: int) -> None:
        """An agent acts by asking its model: one without any model turn was recorded in part."""
        span = self.spans[row]
        said = self.messages.listed(span, names.WHOLE_CONVERSATION)
        if said is not None:
            self._feed(self.scopes.inside(row), said, span)
            return
        agent = one_line(self.scopes.agent(row), 40)
        message = f"the agent {agent} ran and none of its model turns is in the evidence"
        self.builder.gap("evidence_gap", message, span.spot)

    # model turns -------------------------------------------------------------------------------------------------

    def _model(self, row: int) -> None:
        span, scope = self.spans[row], self.scopes.around(row)
        prompt, answer = self.cast.prompts.pop(row, None), self.cast.answers.get(row)
        self.cast.answers.forget(row)
        if prompt is not None and not scope.asked_model and self.builder.spans_are_complete:
            self._check_begin(span, prompt)
        scope.asked_model = True
        self._count_tokens([span])
        self.facts.read(span, self.scopes.server(row))
        lane = self._feed(scope, prompt, span)
        if self.complete:
            lane.whole = not self._rewrites(self.cast.agent[row])
            self._check_captured(row, prompt)
        if row in self.cast.told_again:
            self._show_twins(row, lane)
        if scope.key in self._awaited:
            self._settle(scope.key)
        self._doubt_model(span, prompt, answer)
        model = span.text(names.MODEL)
        if answer is not None:
            message = answer.messages[0]
            turn = self.builder.respond(lane, message, Spot(span.place, answer.pointer, span.ended_at), model=model)
            self.scopes.said(scope, lane, message)
            scope.last_text = self.last_text = message.text
            scope.last_turn = turn
            self._check_finish(span, message)
        elif failure_of(span) is None:
            scope.last_text = None
            scope.last_turn = turn = self.builder.silent_turn(
                lane, Spot(span.place, span.pointer, span.ended_at), model=model
            )
            self._silent.add(row)
            self._check_silent(scope, span, turn)
        self._tell_error(row)

    def _check_captured(self, row: int, prompt: Said | None) -> None:
        """A format that writes every prompt, and a turn without one."""
        span = self.spans[row]
        if prompt is None and failure_of(span) is None:
            self.builder.gap("evidence_gap", "a model turn has no prompt, which this format always writes", span.spot)

    def _show_twins(self, row: int, lane: Lane) -> None:
        """What a second record of this model turn shows of results must be what the first one shows."""
        for twin, said in self.cast.told_again[row]:
            spot = Spot(self.spans[twin].place, said.pointer, self.spans[twin].start)
            for message in said.messages:
                for part in message.results:
                    at = spot.down(message.pointer + part.pointer)
                    self.builder.show(lane, part.recorded_id, part.tool, part.payload, at)

    def _feed(self, scope: Scope, said: Said | None, span: Span) -> Lane:
        lane = self.scopes.shown(scope, said)
        if said is not None:
            self.builder.feed(lane, said.messages, Spot(span.place, said.pointer, span.start))
        return lane

    def _check_begin(self, span: Span, prompt: Said) -> None:
        """Turns before the user's last message are an earlier run's; turns after it are this run's and have no span."""
        for message in reversed(prompt.messages):
            if message.step_kind is StepKind.USER:
                return
            if message.says_model:
                told = "the first prompt of the run shows a model turn of the run that has no record of its own"
                self.builder.gap("evidence_gap", told, span.spot)
                return

    def _check_finish(self, span: Span, message: Message) -> None:
        """A turn whose output was cut, or that ended to call tools and shows none, is a gap (CONTRACT)."""
        why = self._why_unfinished(span.payload(names.FINISH), message)
        if why:
            self.builder.gap("evidence_gap", why, span.spot)

    def _why_unfinished(self, told: Payload | None, message: Message) -> str:
        said = (b"" if told is None else bytes(told), message.finish, bool(message.calls))
        why = self._endings.get(said)
        if why is None:
            words = (*finish_words(told), message.finish.lower())
            why = self._endings[said] = cut_short(words, calls=bool(message.calls))
        return why

    def _check_silent(self, scope: Scope, span: Span, turn: int) -> None:
        """A turn whose output was not captured may still say how it ended: where it was to call tools, a later prompt
        or an execution must tell of them.
        """
        words = finish_words(span.payload(names.FINISH))
        if ends_in_calls(words) and not self.complete:
            self._awaited[scope.key] = (span, turn)
            return
        why = cut_short(words, calls=False)
        if why:
            self.builder.gap("evidence_gap", why, span.spot)

    def _settle(self, key: str) -> None:
        """The next turn of a conversation, or its end: what the silent one before asked for must have been told."""
        span, turn = self._awaited.pop(key)
        if turn in self.builder.trace.silent_turns:
            why = "a turn whose output was not captured ended to call tools, and no execution follows it"
            self.builder.gap("evidence_gap", why, span.spot)

    def _doubt_model(self, span: Span, prompt: Said | None, answer: Said | None) -> None:
        """What of a request to a model is cut, left out, told twice or disputed, so that it may hide something."""
        if (prompt is not None and prompt.cut) or (answer is not None and answer.cut):
            self._say_cut(span, "a text of the span {} is cut inside its JSON")
        if span.tainted is not None:
            self.builder.gap(span.tainted, f"the span {one_line(span.name, 60)} can be read in two ways", span.spot)
        if span.lost and (prompt is None or answer is None or "attributes" in span.lost):
            self._say_cut(span, f"the exporter left out {span.lost} of the span {{}}")
        if answer is not None and answer.disputed:
            note(self.builder, "inconsistent_tuple", answer.disputed, [span])
            self.builder.gap("inconsistent_tuple", answer.disputed, span.spot)

    def _say_cut(self, span: Span, told: str) -> None:
        message = told.format(one_line(span.name, 60))
        note(self.builder, "truncated_payload", message, [span])
        self.builder.gap("truncated_payload", message, span.spot)

    # tools and other calls ---------------------------------------------------------------------------------------

    def _tool(self, row: int, *, leaving: bool) -> None:
        if leaving:
            lane, call, ran = self._running.pop(row)
            self.builder.end(lane, call, ran)
            return
        span, server = self.spans[row], self.scopes.server(row)
        scope = self.scopes.around(row)
        self._awaited.pop(scope.key, None)
        spans = [span, *(self.spans[twin] for twin in self.cast.twins_of.get(row, ()))]
        ran = tool_execution(spans, server, self._boundary(row), complete=self.complete)
        lane = self.scopes.asked(scope, ran.tool, ran.recorded_id or "")
        self._tool_facts(span, ran.tool, server)
        if row in self.two_events:
            self._running[row] = (lane, self.builder.begin(lane, ran), ran)
        else:
            self.builder.execute(lane, ran)

    def _boundary(self, row: int) -> Boundary:
        if row in self.around_agents:
            return Boundary.SUB_AGENT
        origin = self.spans[row].value(names.TOOL_ORIGIN[0])
        return Boundary.PROVIDER_TOOL if origin is not None and text_of(origin) == "provider" else Boundary.TOOL

    def _tool_facts(self, span: Span, tool: str, server: str) -> None:
        described, declared = span.payload(names.TOOL_DESCRIPTION), span.payload(names.REPLAY_CLASS)
        if described is None and declared is None and tool in self.builder.trace.facts:
            return
        self.facts.add(
            ToolFacts(
                tool,
                server=server or None,
                description=text_of(described) if described is not None else None,
                replay_class=text_of(declared) if declared is not None else None,
                locator=self.build.places.locator(span.place, span.pointer),
            )
        )

    def _outside(self, row: int, role: Role) -> None:
        span, server = self.spans[row], self.scopes.server(row)
        ran, http = other_execution(span, role, server)
        locator = self.build.places.locator(span.place, span.pointer)
        self.facts.add(ToolFacts(ran.tool, server=server or None, http=http, locator=locator))
        self.builder.execute(self.scopes.asked(self.scopes.around(row), ran.tool, ""), ran)

    # the end -----------------------------------------------------------------------------------------------------

    def _say_what_is_not_read(self) -> None:
        """A trace of which nothing can be interpreted must not look like one without calls."""
        unread = [row for row in range(len(self.spans)) if self._is_unread(row)]
        if unread:
            vocabularies = ", ".join(sorted({_vocabulary(self.spans[row]) for row in unread}))
            message = f"{len(unread)} spans in a vocabulary that is not read: {vocabularies}"
            spot = self.spans[unread[0]].spot
            self.build.once("dialect", message, spot)
            self.builder.gap("evidence_gap", message, spot)
        elif all(role is Role.OTHER for role in self.cast.roles):
            message = "no span of this trace says what an agent did in a vocabulary that is read"
            self.builder.gap("evidence_gap", message, self.spans[0].spot)
        elif not self.builder.trace.turns and not self.builder.gaps:
            message = "no model turn is recorded: who asked for what ran, and for what else, is not in the evidence"
            self.builder.gap("evidence_gap", message, self.spans[0].spot)

    def _is_unread(self, row: int) -> bool:
        role = self.cast.roles[row]
        if row in self.cast.twin or not (self.spans.shape(row).foreign or role is Role.FOREIGN):
            return False
        span = self.spans[row]
        if role is Role.MODEL:
            return row in self._silent
        if role is Role.TOOL:
            return span.get(names.TOOL_RESULT) is None and failure_of(span) is None
        return role is Role.FOREIGN

    def _say_how_it_ended(self) -> None:
        trace = self.builder.trace
        naming = self.spans.that_have(frozenset(names.SOURCE_TRACE[:1]))
        source = self.spans[naming[0]].text(names.SOURCE_TRACE) if naming else ""
        if source:
            trace.rerun_of, trace.rerun_basis = source, Basis.RECORDED
        roots = [self.spans[row] for row in self.cast.tree.roots]
        if any(s.failed or s.text(names.AGENT_STATUS) not in ("", "completed") for s in roots):
            trace.ended_normally = False
        elif roots and all(s.end >= 0 for s in roots):
            trace.ended_normally = True


def _vocabulary(span: Span) -> str:
    kind = next((name for name in names.ROLE_OF_KIND if name in span.names), "")
    if span.shape.foreign or not (kind or names.OPERATION[0] in span.names):
        return span.shape.foreign or "inputs and outputs without a kind"
    told = kind or names.OPERATION[0]
    return f"{told.removeprefix('monocle.')} {one_line(span.text((told,)), 40)}"


_DIGITS = 16  # of a count of tokens that is to be believed
_REPLAY_MARKS = frozenset({*names.REPLAY_MODE, *names.SOURCE_TRACE})


def _number(told: bytes) -> int:
    data = told.strip(b'"')
    return int(data) if data.isdigit() and len(data) < _DIGITS else 0


def _is_replayed(span: Span) -> bool:
    return span.text(names.REPLAY_MODE) == "recorded" or bool(span.text(names.SOURCE_TRACE))


def _shows(said: Said | None, told: Payload) -> bool:
    """Whether a prompt shows what an agent was told, in whatever notation."""
    if said is None:
        return False
    text = text_of(told).strip()
    shown = [m.text for m in said.messages if m.text is not None]
    return not text or any(text in text_of(m) or agree(m, told) is not None for m in shown)


def _outputs(told: str) -> list[str]:
    """The texts inside an output that is an object, as a chain wraps its last agent's."""
    value = unfold(told)
    return [v.strip() for v in value.values() if isinstance(v, str)] if isinstance(value, dict) else []
