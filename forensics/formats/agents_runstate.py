"""What had a run of the OpenAI Agents SDK done when its state was written? A serialised `RunState`, as a run is paused
for an approval and resumed.

The items of the run are told in their order; the responses of the model and what was being processed hold the same
calls again, and a call that only they hold is told as well (FORMATS section 5; `agents/run_state.py` writes it).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Execution, Spot
from forensics.core.findings import finding
from forensics.core.jsonvalue import value_of
from forensics.core.sanitise import one_line
from forensics.core.trace import StepKind
from forensics.formats.shared.document import note_cut, open_document
from forensics.formats.shared.fields import (
    Fields,
    fields_of,
    holds_a_call,
    is_text,
    items_of,
    present,
    text,
    whole_number,
)
from forensics.formats.shared.lost_arguments import also_lost, lost_arguments
from forensics.formats.shared.messages.answers import join_items
from forensics.formats.shared.messages.telling import doubts_of, tell
from forensics.formats.shared.messages.vocabulary import parse_message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.messages import Message, Part
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "openai-agents-runstate"
ABOUT = "OpenAI Agents SDK RunState: the serialised state of one run, as it is paused and resumed"
CARRIES = "calls, arguments, results, approvals given, refused and awaited, hand-offs, guardrails, tokens"
LACKS = "times, tool schemas, executions apart from results, the inside of agents that run as tools"
RERUN = "the schemas that the model was offered and what ran inside agents that are tools"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_VERSION = "$schemaVersion"
_MAJOR = "1"
_LISTS = ("session_items", "generated_items")
_GUARDRAILS = (
    "input_guardrail_results", "output_guardrail_results",
    "tool_input_guardrail_results", "tool_output_guardrail_results",
)  # fmt: skip
_READ = frozenset({*_LISTS, *_GUARDRAILS, "original_input", "model_responses", "last_model_response", "current_step",
                   "last_processed_response", "context"})  # fmt: skip
_HANDOFFS = frozenset({"handoff_call_item", "handoff_output_item"})
_APPROVAL = "tool_approval_item"
_STEPS: dict[str, StepKind] = {
    _APPROVAL: StepKind.APPROVAL_REQUEST,
    "mcp_approval_request_item": StepKind.APPROVAL_REQUEST,
    "mcp_approval_response_item": StepKind.APPROVAL,
    "mcp_list_tools_item": StepKind.OTHER,
}

_ARGUMENTS = {
    "function_call": "arguments",
    "mcp_call": "arguments",
    "tool_search_call": "arguments",
    "custom_tool_call": "input",
    "program": "code",
    "code_interpreter_call": "code",
    "shell_call": "action",
    "local_shell_call": "action",
    "apply_patch_call": "operation",
}
"""By the type of an item, the member in which Responses always writes what a call was given."""


def sniff(look: Look) -> int:
    """95 for a state with its version and its items."""
    document = look.document
    if document is None or _VERSION not in document:
        return 0
    return 95 if {"generated_items", "original_input"} & document.keys() else 60


def read(source: Source, build: EvidenceBuilder) -> None:
    """Read the state. Raises CorruptEvidenceError where it is no JSON object."""
    document = open_document(source, build)
    state = _State(fields_of(document.body), document.spot, build, document.tainted)
    build.counts.records = 1
    state.run()
    note_cut(document, build)


class _State:
    """One state on its way to the builder."""

    def __init__(self, fields: Fields, spot: Spot, build: EvidenceBuilder, tainted: str | None) -> None:
        self.fields, self.spot, self.build, self.tainted = fields, spot, build, tainted
        trace = present(fields, "trace")
        name = text(fields_of(trace), "id", "trace_id") if trace is not None else ""
        self.builder: TraceBuilder = build.trace(name or "trace-0")
        self.lane: Lane = self.builder.lane()
        self.told: set[bytes] = set()
        self.known: set[str] = set()
        self.asked: set[str] = set()
        self.pending: list[Message] = []
        self.base = ""

    def run(self) -> None:
        """Tell the state: what was asked, the items, what only other members hold, approvals and the rest."""
        self._version()
        self._input()
        for name in _LISTS:
            self._items(name)
        self._only_in_responses()
        self._guardrails()
        self._paused()
        self._approvals()
        self._usage()
        self._unread()
        for call in self.builder.trace.calls if self.tainted else ():
            call.block(self.tainted or "", "the record of this call can be read in two ways")

    def _version(self) -> None:
        version = text(self.fields, _VERSION)
        self.build.dialect = version or None
        if version.partition(".")[0] != _MAJOR:
            message = f"the version {one_line(version, 20)} of the state is not known: it may hold what is not read"
            self.builder.gap("evidence_gap", message, self.spot.down(f"/{_VERSION}"))

    def _input(self) -> None:
        said = present(self.fields, "original_input")
        if said is None:
            return
        if is_text(said):
            self.builder.step(StepKind.USER, self.spot.down("/original_input"), payload=said)
            return
        self.base = "/original_input"
        for index, item in enumerate(items_of(said)):
            self._message(_said(item, f"/original_input/{index}"))
        self._flush()

    # items -------------------------------------------------------------------------------------------------------

    def _items(self, name: str) -> None:
        """The items of one list; those that the other list told already are told once."""
        listed = present(self.fields, name)
        self.base = f"/{name}"
        for index, item in enumerate(items_of(listed) if listed is not None else ()):
            if bytes(item) not in self.told:
                self.told.add(bytes(item))
                self._item(fields_of(item), f"/{name}/{index}")
        self._flush()

    def _item(self, fields: Fields, pointer: str) -> None:
        kind = text(fields, "type")
        raw_item = present(fields, "raw_item")
        self._speaker(fields)
        if kind in _HANDOFFS or kind in _STEPS or raw_item is None or is_text(raw_item):
            self._flush()
            self._aside(kind, fields, raw_item, self.spot.down(pointer))
            return
        self._message(_said(raw_item, f"{pointer}/raw_item"))

    def _speaker(self, fields: Fields) -> None:
        """The agent that an item is of; another one than before goes on with the conversation."""
        held = present(fields, "agent")
        name = text(fields_of(held), "name") if held is not None and not is_text(held) else ""
        if name and name != self.lane.agent:
            self._flush()
            self.lane.agent = name
            if name not in self.builder.trace.agents:
                self.builder.trace.agents.append(name)

    def _aside(self, kind: str, fields: Fields, raw_item: Payload | None, spot: Spot) -> None:
        """An item that is no message: a hand-off, an approval, a list of tools."""
        agent = self.lane.agent
        inner = fields_of(raw_item) if raw_item is not None and not is_text(raw_item) else {}
        call_id = text(inner, "call_id", "id")
        self.known.add(call_id)
        if kind == _APPROVAL:
            self.asked.add(call_id)
        if kind in _HANDOFFS:
            target = present(fields, "target_agent")
            name = text(fields_of(target), "name") if target is not None else text(inner, "name")
            self.builder.step(StepKind.HANDOFF, spot, name=name or kind, agent=agent, payload=raw_item)
        elif kind in _STEPS:
            name = text(fields, "tool_name") or text(inner, "name") or kind
            self.builder.step(_STEPS[kind], spot, name=name, agent=agent, payload=raw_item)
        else:
            self.builder.step(StepKind.OTHER, spot, name=kind or "item", agent=agent)
            message = f"an item of the kind {one_line(kind or '(none)', 40)} without what it is about"
            self.builder.gap("evidence_gap", message, spot)

    def _message(self, message: Message) -> None:
        if not message.says_model:
            self._flush()
        self.pending.append(message)
        self.known.update(part.recorded_id for part in message.calls if part.recorded_id)
        if not message.says_model:
            self._flush()

    def _flush(self) -> None:
        """Tell the items that are one turn, or one message of somebody else."""
        messages, self.pending = join_items(tuple(self.pending), self.base), []
        tell(self.builder, self.lane, messages, self.spot)
        self._doubt(*messages)

    def _doubt(self, *messages: Message) -> None:
        for message in messages:
            for doubt in doubts_of(message):
                self.builder.gap(doubt.code, doubt.says, self.spot.down(message.pointer + doubt.pointer))

    # what only other members hold --------------------------------------------------------------------------------

    def _only_in_responses(self) -> None:
        """Calls of the model's responses, or of what was being processed, that no item holds."""
        for message in self._elsewhere():
            fresh = tuple(part for part in message.calls if not self._is_known(part))
            if fresh:
                self.known.update(part.recorded_id for part in fresh if part.recorded_id)
                self.builder.respond(self.lane, msgspec.structs.replace(message, calls=fresh, results=()), self.spot)
                self._doubt(message)

    def _is_known(self, part: Part) -> bool:
        if part.recorded_id:
            return part.recorded_id in self.known
        return any(c.tool == part.tool and c.arguments == part.payload for c in self.builder.trace.calls)

    def _elsewhere(self) -> Iterator[Message]:
        responses = present(self.fields, "model_responses")
        for index, response in enumerate(items_of(responses) if responses is not None else ()):
            yield from self._outputs(fields_of(response), f"/model_responses/{index}")
        last = present(self.fields, "last_model_response")
        yield from self._outputs(fields_of(last), "/last_model_response") if last is not None else ()
        processed = present(self.fields, "last_processed_response")
        for name, listed in (fields_of(processed) if processed is not None else {}).items():
            for index, one in enumerate(items_of(listed)):
                asked = present(fields_of(one), "tool_call", "raw_item") if not is_text(one) else None
                if asked is not None and not is_text(asked):
                    yield _said(asked, f"/last_processed_response/{name}/{index}/tool_call")

    @staticmethod
    def _outputs(response: Fields, pointer: str) -> Iterator[Message]:
        output = present(response, "output")
        for index, item in enumerate(items_of(output) if output is not None else ()):
            yield _said(item, f"{pointer}/output/{index}")

    # approvals and the rest --------------------------------------------------------------------------------------

    def _guardrails(self) -> None:
        for name in _GUARDRAILS:
            listed = present(self.fields, name)
            for index, one in enumerate(items_of(listed) if listed is not None else ()):
                guard = present(fields_of(one), "guardrail")
                called = text(fields_of(guard), "name") if guard is not None else ""
                self.builder.step(StepKind.GUARDRAIL, self.spot.down(f"/{name}/{index}"), name=called, payload=one)

    def _paused(self) -> None:
        """What the run waits for: each interruption is an approval that somebody is asked for."""
        step = present(self.fields, "current_step")
        data = present(fields_of(step), "data") if step is not None else None
        waiting = present(fields_of(data), "interruptions") if data is not None else None
        for index, item in enumerate(items_of(waiting) if waiting is not None else ()):
            self.builder.trace.ended_normally = False
            self._interrupted(fields_of(item), self.spot.down(f"/current_step/data/interruptions/{index}"))

    def _interrupted(self, fields: Fields, spot: Spot) -> None:
        """One approval that is waited for; mostly the items hold the same one, and told of it already."""
        asked = present(fields, "raw_item")
        if asked is not None and not is_text(asked):
            message = _said(asked, f"{spot.pointer}/raw_item")
            if any(not self._is_known(part) for part in message.calls):
                self.builder.respond(self.lane, message, self.spot)
                self._doubt(message)
            if text(fields_of(asked), "call_id", "id") in self.asked - {""}:
                return
        self._aside(_APPROVAL, fields, asked, spot)

    def _approvals(self) -> None:
        """Who allowed and refused what; a refused call never ran, and one that was begun and not ended may have."""
        context = present(self.fields, "context")
        fields = fields_of(context) if context is not None else {}
        for tool, given in _objects(fields, "approvals"):
            spot = self.spot.down(f"/context/approvals/{tool}")
            self.builder.step(StepKind.APPROVAL, spot, name=tool, payload=given)
            self._refused(tool, fields_of(given), spot)
            self._check_ids(fields_of(given), spot)
        hosted = present(fields, "hosted_mcp_approvals")
        for index, given in enumerate(items_of(hosted) if hosted is not None else ()):
            identity = present(fields_of(given), "identity")
            name = text(fields_of(identity), "tool_name") if identity is not None else ""
            spot = self.spot.down(f"/context/hosted_mcp_approvals/{index}")
            self.builder.step(StepKind.APPROVAL, spot, name=name, payload=given)
            decided = present(fields_of(given), "decision")
            self._check_ids(fields_of(decided) if decided is not None else {}, spot)
        for call_id, told in _objects(fields, "tool_invocations"):
            state = fields_of(told)
            self._check_known([call_id], self.spot.down(f"/context/tool_invocations/{call_id}"))
            if bytes(state.get("executed", b"")) == b"true" and bytes(state.get("completed", b"")) != b"true":
                self._ended({call_id}, "", "unsettled", self.spot.down(f"/context/tool_invocations/{call_id}"))

    def _check_ids(self, given: Fields, spot: Spot) -> None:
        """The calls that an approval names must be in the state."""
        for name in ("approved", "rejected"):
            held = value_of(given[name]) if name in given else None
            self._check_known([one for one in held if isinstance(one, str)] if isinstance(held, list) else [], spot)

    def _check_known(self, ids: list[str], spot: Spot) -> None:
        lost = [one for one in ids if one not in self.known]
        if lost:
            message = f"the state speaks of a call that it does not hold ({one_line(lost[0], 60)})"
            self.builder.gap("evidence_gap", message, spot)

    def _refused(self, tool: str, given: Fields, spot: Spot) -> None:
        rejected = value_of(given["rejected"]) if "rejected" in given else None
        if rejected is True:
            self._ended(None, tool, "denied", spot)
        elif isinstance(rejected, list):
            self._ended({one for one in rejected if isinstance(one, str)}, tool, "denied", spot)

    def _ended(self, ids: set[str] | None, tool: str, status: str, spot: Spot) -> None:
        """How calls ended that the items leave open, or show a text for in place of a result; None: all of the tool."""
        for call in list(self.builder.trace.calls):
            named = call.tool == tool if ids is None else call.recorded_id in ids
            if named and call.executed is None and (status == "denied" or not call.answered):
                self.builder.execute(self.lane, Execution(call.tool, spot, call.recorded_id, status=status))

    def _usage(self) -> None:
        context = present(self.fields, "context")
        usage = present(fields_of(context), "usage") if context is not None else None
        counted = fields_of(usage) if usage is not None else {}
        self.build.counts.input_tokens += whole_number(counted, "input_tokens")
        self.build.counts.output_tokens += whole_number(counted, "output_tokens")

    def _unread(self) -> None:
        """Members that are not read and hold what looks like a call."""
        for name, value in self.fields.items():
            if name not in _READ and holds_a_call(value):
                message = f"the member {one_line(name, 40)}, which is not read, holds what looks like a call"
                self.builder.gap("evidence_gap", message, self.spot.down(f"/{name}"))
                place = self.build.places.locator(self.spot.place, f"/{name}")
                self.builder.note(finding("dialect", message, locators=(place,)))


def _said(item: Payload, pointer: str) -> Message:
    """An item as the message that it is, with what of a call is lost."""
    message, fields = parse_message(item, pointer), fields_of(item)
    given = _ARGUMENTS.get(text(fields, "type"))
    if given is None:
        return message
    tool = text(fields, "name") or text(fields, "type")
    return also_lost(message, "", lost_arguments(tool, fields, given, as_text=True))


def _objects(fields: Fields, name: str) -> list[tuple[str, Payload]]:
    held = present(fields, name)
    return list(fields_of(held).items()) if held is not None and not is_text(held) else []
