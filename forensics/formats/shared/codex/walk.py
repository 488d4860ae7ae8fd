"""What does a Codex rollout tell, record by record? The walk over its lines, of both generations.

A model turn is a run of items that the model said; an output, a message of somebody else or a new task ends it. Calls
that stand together were asked for in parallel. Events (`event_msg`) repeat what the items say; what only they say is
kept, and a word of the model that no item holds is a gap (FORMATS section 7; `codex-rs/protocol` defines the records).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Execution, Spot
from forensics.core.classes import ToolFacts
from forensics.core.jsonvalue import raw, text_of
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import NOWHERE, Boundary, StepKind
from forensics.formats.shared.call_words import tells_of_a_tool
from forensics.formats.shared.codex.outcomes import ITEM, Ended, Told, ended, told_by_output
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    call_marks,
    fields_of,
    holds_a_call,
    items_of,
    object_in,
    present,
    text,
    whole_number,
)
from forensics.formats.shared.messages.telling import doubts_of, tool_facts
from forensics.formats.shared.messages.vocabulary import joined, parse_message
from forensics.formats.shared.rewritten import note_rewritten
from forensics.formats.shared.server_names import mcp_server

if TYPE_CHECKING:
    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.messages import Message, Part
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.json_lines import JsonLine

_SUB_AGENTS = frozenset({"spawn_agent", "spawn_agents_on_csv"})
_COMPACTED = frozenset({"compaction", "context_compaction", "compaction_summary"})
_NO_ITEMS = frozenset({"ghost_snapshot", "compaction_trigger"})
_UNNAMED = "session"


class Rollout:
    """The walk over one rollout."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.builder: TraceBuilder | None = None
        self.agent = ""
        self.model = ""
        self.turn = NOWHERE
        self.texts: list[Payload] = []
        self.said: set[str] = set()
        self.echoes: list[tuple[str, int, Spot]] = []
        self.ended: dict[str, Ended] = {}
        self.hinted: dict[str, dict[str, object]] = {}
        self.news: list[tuple[str, str, Spot]] = []
        self.searches = 0
        self.searches_done = 0
        self.over: bool | None = None

    # records -----------------------------------------------------------------------------------------------------

    def line(self, one: JsonLine) -> None:
        """One line: a record with its payload, or (older files) an item that stands for itself."""
        fields = one.fields
        at = nanoseconds(present(fields, "timestamp"))
        spot = Spot(one.spot.place, "", at)
        payload = present(fields, "payload")
        if payload is None:
            self._bare(fields, spot, one.tainted)
            return
        told = _RECORDS.get(text(fields, "type"), Rollout.unknown)
        told(self, payload, spot.down("/payload"), one.tainted)

    def _bare(self, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """A line of a file from before records had a payload."""
        if "type" in fields:
            self.item(as_object(fields), spot, tainted)
        elif "id" in fields and "timestamp" in fields and self.builder is None:
            self.session(as_object(fields), spot, tainted)
        else:
            self.unknown(as_object(fields), spot, tainted)

    def session(self, payload: Payload, spot: Spot, tainted: str | None) -> None:
        """Who ran, where and with which instructions. A second one is that of the session this one was forked from."""
        del tainted
        fields = fields_of(payload)
        if self.builder is None:
            self.agent = text(fields, "agent_nickname", "agent_role")
            self.builder = self.build.trace(text(fields, "id", "session_id") or _UNNAMED)
        said = present(fields, "base_instructions", "instructions")
        pointer = "/base_instructions/text"
        if said is not None and bytes(memoryview(said)[:1]) == b"{":
            said = present(fields_of(said), "text")
        if said is None:
            self._aside(spot, "session_meta")
        else:
            self._step(StepKind.SYSTEM, spot.down(pointer), "session_meta", said)
        self._facts(present(fields, "dynamic_tools"), spot.down("/dynamic_tools"))

    def context(self, payload: Payload, spot: Spot, tainted: str | None) -> None:
        """The model and the permissions of the turns that follow."""
        del tainted
        self._end_turn()
        self.model = text(fields_of(payload), "model") or self.model
        self._aside(spot, "turn_context")

    def compacted(self, payload: Payload, spot: Spot, tainted: str | None) -> None:
        """The model goes on from a summary; the records before it stand in the file all the same."""
        del tainted
        self._end_turn()
        step = self._step(StepKind.USER, spot, "compact summary", present(fields_of(payload), "message", "text"))
        message = "the history was compacted: from here on the model saw a summary of it"
        note_rewritten(self._builder(), step, spot, message)

    def unknown(self, payload: Payload, spot: Spot, tainted: str | None) -> None:
        """A record of a kind that is not known: a step, and a gap where it may be more."""
        del tainted
        fields = fields_of(payload)
        if call_marks(fields) or holds_a_call(payload):
            name = one_line(text(fields, "type"), 40)
            self._builder().gap(
                "evidence_gap", f"a record of a kind that is not known ({name}) looks like a call", spot
            )
        self._step(StepKind.OTHER, spot, text(fields, "type") or "record", payload)

    # items -------------------------------------------------------------------------------------------------------

    def item(self, payload: Payload, spot: Spot, tainted: str | None) -> None:
        """One item of the conversation."""
        fields = fields_of(payload)
        kind = text(fields, "type")
        if kind in _COMPACTED:
            self.compacted(payload, spot, tainted)
            return
        if kind in _NO_ITEMS:
            self._aside(spot, kind)
            return
        message = parse_message(payload, "")
        self._doubt(message, spot)
        if message.says_model:
            self._say(message, fields, spot, tainted)
        else:
            self._told(message, fields, spot, tainted)

    def _doubt(self, message: Message, spot: Spot) -> None:
        for doubt in doubts_of(message):
            self._builder().gap(doubt.code, doubt.says, spot.down(doubt.pointer))

    def _say(self, message: Message, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """A piece of a model turn; the first begins it."""
        builder = self._builder()
        if self.turn < 0:
            self.turn = builder.turn(self._lane(), spot, model=self.model)
        if message.text is not None:
            self.texts.append(message.text)
            self.said.add(text_of(message.text).strip())
        for part in message.calls:
            self._ask(part, fields, spot, tainted)
        for part in message.results:
            self._answer(part, Told(part.failed, part.denied, part.unsettled), spot, tainted)

    def _ask(self, part: Part, fields: Fields, spot: Spot, tainted: str | None) -> None:
        space = text(fields, "namespace")
        tool = _in_namespace(space, part.tool)
        self.searches += tool == "web_search"
        self._builder().request(
            self._lane(),
            self.turn,
            tool,
            part.recorded_id,
            part.payload,
            spot.down(part.pointer),
            boundary=Boundary.SUB_AGENT if tool in _SUB_AGENTS else part.boundary,
            server=mcp_server(space or tool),
            tainted=tainted or part.tainted,
        )

    def _told(self, message: Message, fields: Fields, spot: Spot, tainted: str | None) -> None:
        """What the model was shown: an output, or what somebody else said."""
        self._end_turn()
        for part in message.results:
            told = told_by_output(present(fields, "output")) if part.payload is not None else Told()
            self._answer(part, told, spot, tainted)
        self._facts(present(fields, "tools"), spot.down("/tools"))
        if message.text is not None or not message.results:
            if message.text is not None:
                self.said.add(text_of(message.text).strip())
            self._step(message.step_kind, spot, message.name, message.text)

    def _answer(self, part: Part, told: Told, spot: Spot, tainted: str | None) -> None:
        known = self.ended.pop(part.recorded_id or "", None)
        event = known.told if known is not None else Told()
        self._builder().show(
            self._lane(),
            part.recorded_id,
            part.tool,
            part.payload,
            spot.down(part.pointer),
            failed=told.failed or event.failed,
            denied=told.denied or event.denied,
            unsettled=told.unsettled or part.unsettled,
            tainted=tainted or part.tainted,
        )

    def _end_turn(self) -> None:
        if self.turn >= 0:
            self._builder().words(self.turn, joined(self.texts))
        self.turn, self.texts = NOWHERE, []

    # events ------------------------------------------------------------------------------------------------------

    def event(self, payload: Payload, spot: Spot, tainted: str | None) -> None:
        """News of the harness: most repeat an item; the ends of calls say how they ended."""
        del tainted
        fields = fields_of(payload)
        kind = text(fields, "type")
        over = ended(kind, fields, spot)
        if over is not None:
            self.ended[over.call_id] = over
            self._hinted(over)
            self._aside(spot, kind)
            return
        _EVENTS.get(kind, Rollout.aside)(self, kind, fields, spot)

    def _hinted(self, over: Ended) -> None:
        """What the server hinted at of the tool that ran; hints that differ from call to call say nothing."""
        trace = self._builder().trace
        held = self._lane().calls.get(over.call_id, [])
        if not over.hints or not held:
            return
        name = trace.calls[held[-1]].tool
        locator = self.build.places.locator(over.spot.place, over.spot.pointer)
        known = trace.facts.get(name, ToolFacts(name, over.server or None, locator=locator))
        hints = self.hinted.setdefault(name, over.hints)
        if hints != over.hints:
            hints = self.hinted[name] = {}
        trace.facts[name] = msgspec.structs.replace(known, hints=hints)

    def aside(self, kind: str, fields: Fields, spot: Spot) -> None:
        """An event that repeats an item or counts something."""
        self.searches_done += kind == "web_search_end"
        if kind == "token_count":
            self._count(fields)
        self._note_news(kind, fields, spot)
        self._aside(spot, kind or "event")

    def _note_news(self, kind: str, fields: Fields, spot: Spot) -> None:
        """Remember that news of a kind that is not read speaks of a call: an item or an end should tell of it too."""
        searches = kind.startswith("web_search") or kind == "WebSearch"  # are counted
        if not searches and ("call_id" in fields or call_marks(fields) or tells_of_a_tool(kind, fields)):
            self.news.append((text(fields, "call_id", "id"), kind, spot))

    def echo(self, kind: str, fields: Fields, spot: Spot) -> None:
        """An event that repeats what was said in an item; told in full where no item says it."""
        step = self._aside(spot, kind)
        said = present(fields, "message", "text")
        if said is not None and kind != "user_message":
            self.echoes.append((text_of(said).strip(), step, spot))

    def item_done(self, kind: str, fields: Fields, spot: Spot) -> None:
        """An item was completed that is no call of a tool: words of the model, a search, or what counts for nothing."""
        item = object_in(fields, "item")
        what = text(item, "type")
        step = self._aside(spot, what or kind)
        self.searches_done += what == "WebSearch"
        self._note_news(what, item, spot.down("/item"))
        for part in items_of(item["content"]) if what == "AgentMessage" and "content" in item else ():
            self.echoes.append((text(fields_of(part), "text").strip(), step, spot.down("/item/content")))

    def begun(self, kind: str, fields: Fields, spot: Spot) -> None:
        """A task begins: what the model says from here on is another turn."""
        del fields
        self._end_turn()
        self.over = None
        self._aside(spot, kind)

    def done(self, kind: str, fields: Fields, spot: Spot) -> None:
        """A task ended with an answer."""
        del fields
        self._end_turn()
        self.over = True
        self._aside(spot, kind)

    def aborted(self, kind: str, fields: Fields, spot: Spot) -> None:
        """A person interrupted the task, or it was replaced by another."""
        self._end_turn()
        self.over = False
        self._step(StepKind.OTHER, spot, kind, present(fields, "reason"))

    def rolled_back(self, kind: str, fields: Fields, spot: Spot) -> None:
        """The last turns were taken out of the history: they ran, and the model no longer sees them."""
        self._end_turn()
        self.build.counts.branches = max(self.build.counts.branches, 1) + 1
        step = self._aside(spot, kind)
        turns = text(fields, "num_turns")
        message = f"the history was rolled back by {one_line(turns, 20)} turns, which did run"
        note_rewritten(self._builder(), step, spot, message)

    def error(self, kind: str, fields: Fields, spot: Spot) -> None:
        """What went wrong."""
        self._step(StepKind.ERROR, spot, kind, present(fields, "message"))

    def approval(self, kind: str, fields: Fields, spot: Spot) -> None:
        """A person or a guardian was asked to allow something."""
        self._step(StepKind.APPROVAL_REQUEST, spot, kind, as_object(fields))

    def guarded(self, kind: str, fields: Fields, spot: Spot) -> None:
        """A guardian judged an action."""
        self._step(StepKind.APPROVAL, spot, kind, as_object(fields))

    def sub_agent(self, kind: str, fields: Fields, spot: Spot) -> None:
        """News of a sub-agent, whose own rollout stands in another file."""
        self._step(StepKind.AGENT, spot, kind, as_object(fields))

    def _count(self, fields: Fields) -> None:
        """Tokens so far, as the harness adds them up."""
        info = present(fields, "info")
        total = present(fields_of(info), "total_token_usage") if info is not None else None
        if total is not None:
            counts, used = self.build.counts, fields_of(total)
            counts.input_tokens = max(counts.input_tokens, whole_number(used, "input_tokens"))
            counts.output_tokens = max(counts.output_tokens, whole_number(used, "output_tokens"))

    # the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Tell what can be told only at the end: calls that ended and were not shown, words that no item holds."""
        if self.builder is None:
            return
        self._end_turn()
        for call_id, over in self.ended.items():
            self._ran(call_id, over)
        told = {call.recorded_id or "" for call in self.builder.trace.calls}
        for call_id, kind, spot in self.news:
            if call_id not in told:
                message = f"news of a call that no item holds ({one_line(kind, 40)})"
                self.builder.gap("evidence_gap", message, spot)
        for said, step, spot in self.echoes:
            if said and said not in self.said and not any(said in other for other in self.said):
                self.builder.trace.payload[step] = raw(said)
                self.builder.gap("evidence_gap", "the harness showed words of the model that no turn holds", spot)
        if self.searches_done > self.searches:
            message = f"{self.searches_done} web searches ended and {self.searches} stand among the items"
            self.builder.gap("evidence_gap", message, Spot(self.builder.trace.place_of(0)))
        self.builder.trace.ended_normally = self.over

    def _ran(self, call_id: str, over: Ended) -> None:
        """A call that an event says ended, and whose output no item shows."""
        lane = self._lane()
        held = lane.calls.get(call_id, [])
        tool = self._builder().trace.calls[held[-1]].tool if held else over.tool
        ran = Execution(
            tool,
            over.spot,
            call_id or None,
            None if held else over.arguments,
            over.result,
            None,
            over.status,
            server=over.server or None,
        )
        self._builder().execute(lane, ran)

    # small things ------------------------------------------------------------------------------------------------

    def _builder(self) -> TraceBuilder:
        """The trace; a file that begins without its head lost some."""
        if self.builder is None:
            self.builder = self.build.trace(_UNNAMED)
            message = "the file does not begin with the record of its session: what stood before is lost"
            self.builder.gap("header_missing", message, Spot(0))
        return self.builder

    def _lane(self) -> Lane:
        return self._builder().lane("", self.agent)

    def _step(self, kind: StepKind, spot: Spot, name: str, payload: Payload | None) -> int:
        return self._builder().step(kind, spot, name=name, agent=self.agent, payload=payload)

    def _aside(self, spot: Spot, name: str) -> int:
        """A record of the harness that the model is not shown: a step without text, so that nothing is lost."""
        return self._step(StepKind.OTHER, spot, name, None)

    def _facts(self, tools: Payload | None, spot: Spot) -> None:
        """What tools that were looked up or brought along say of themselves; those of a namespace bear its name."""
        if tools is None:
            return
        known = self._builder().trace.facts
        locator = self.build.places.locator(spot.place, spot.pointer)
        for item in items_of(tools):
            fields = fields_of(item)
            inner = present(fields, "tools")
            space = text(fields, "name") if inner is not None else ""
            for tool in items_of(inner) if inner is not None else [item]:
                for facts in tool_facts(tool):
                    name = _in_namespace(space, facts.name)
                    told = msgspec.structs.replace(facts, name=name, server=mcp_server(space or name), locator=locator)
                    known.setdefault(name, told)


def _in_namespace(space: str, tool: str) -> str:
    """The name under which a tool of a namespace is known; in some releases one of the two bears the line between."""
    joined_already = not space or space.endswith("_") or tool.startswith("_")
    return space + tool if joined_already else f"{space}__{tool}"


_Tell = Callable[[Rollout, "Payload", Spot, "str | None"], None]
_RECORDS: dict[str, _Tell] = {
    "session_meta": Rollout.session,
    "turn_context": Rollout.context,
    "response_item": Rollout.item,
    "event_msg": Rollout.event,
    "compacted": Rollout.compacted,
}
_News = Callable[[Rollout, str, Fields, Spot], None]
_EVENTS: dict[str, _News] = {
    **dict.fromkeys(("user_message", "agent_message"), Rollout.echo),
    **dict.fromkeys(("task_started", "turn_started"), Rollout.begun),
    **dict.fromkeys(("task_complete", "turn_complete"), Rollout.done),
    ITEM: Rollout.item_done,
    "turn_aborted": Rollout.aborted,
    "thread_rolled_back": Rollout.rolled_back,
    **dict.fromkeys(("error", "stream_error"), Rollout.error),
    **dict.fromkeys(
        ("exec_approval_request", "apply_patch_approval_request", "request_permissions", "elicitation_request"),
        Rollout.approval,
    ),
    "guardian_assessment": Rollout.guarded,
    "sub_agent_activity": Rollout.sub_agent,
}
