"""What does a request of VS Code's chat tell, with its answer? The rounds of the model, and what the editor showed.

The rounds are the record: each is a turn, with the calls that it asked for, and their results stand beside them by id.
Of each tool that ran the editor also shows a part, under a name and often an id of its own: it says who allowed it, and
that a tool ran of which no round tells. Without rounds (the request was cancelled, or an agent of another kind gave the
answer) these parts are all that there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.build import Execution, Spot
from forensics.core.jsonvalue import raw, text_of, value_of
from forensics.core.sanitise import one_line
from forensics.core.times import nanoseconds
from forensics.core.trace import Boundary, StepKind
from forensics.formats.shared.call_words import sounds_like_a_call
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    fields_of,
    is_like_calls,
    is_text,
    is_true,
    items_in,
    items_of,
    json_inside,
    looks_like_a_call,
    object_in,
    opens_with,
    present,
    text,
    unread_calls,
    whole_number,
)
from forensics.formats.shared.messages.telling import taint
from forensics.formats.shared.repeats import Repeats
from forensics.formats.shared.rewritten import note_rewritten
from forensics.formats.shared.wholeness import arguments_damage, result_damage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload

_RAN = "toolInvocationSerialized"
_PREPARED = "prepareToolInvocation"
_NO_CALLS = frozenset(
    {_RAN, _PREPARED, "clearToPreviousToolInvocation", "command", "extensions", "mcpServersInteractionRequired"}
    | {"mcpServersStarting", "progressTask", "progressTaskSerialized"}
)
"""Kinds of parts that sound like a call and tell of none, or that are read."""
_INTERNAL = "_internal"
_REFUSED = frozenset({"0", "5"})  # how a person, or a rule, answered: denied, skipped
_CANCELLED, _FAILED = "2", "3"
_ROUNDS, _RESULTS = "toolCallRounds", "toolCallResults"
_READ = frozenset({"message", "response", "result", "requestId", "responseId"})
_READ_OF_RESULT = frozenset({_ROUNDS, _RESULTS, "summary", "summaries"})
_READ_OF_A_PART = frozenset({"resultDetails", "toolSpecificData"})
_NONE: frozenset[str] = frozenset()
_BACK = "a person took this request back: what was said and run is told all the same"


class _Shown(msgspec.Struct, frozen=True):
    """What the editor shows of a tool that ran: its part, and where it stands."""

    fields: Fields
    spot: Spot

    @property
    def denied(self) -> bool:
        """Whether somebody did not let it run."""
        said = present(self.fields, "isConfirmed")
        if said is None or bytes(said) == b"true":
            return False
        return bytes(said) == b"false" or text(fields_of(said), "type") in _REFUSED

    @property
    def failed(self) -> bool:
        """Whether its tool says that it failed."""
        return is_true(object_in(self.fields, "resultDetails"), "isError")

    @property
    def server(self) -> str | None:
        """The MCP server that its tool is of."""
        source = object_in(self.fields, "source")
        return text(source, "label") or None if text(source, "type") == "mcp" else None

    @property
    def by_sub_agent(self) -> str:
        """The sub-agent that ran it, by the id of its invocation."""
        return text(self.fields, "subAgentInvocationId") or (
            "sub-agent" if is_true(self.fields, "fromSubAgent") else ""
        )

    @property
    def is_internal(self) -> bool:
        """Whether its tool is no model's to call: a part of another tool's work."""
        return text(self.fields, "toolId").endswith(_INTERNAL)

    @property
    def starts_sub_agent(self) -> bool:
        """Whether it started one."""
        return text(object_in(self.fields, "toolSpecificData"), "kind") == "subagent"


class Session:
    """The requests of one session on their way to the builder. `known` are the ids of all calls that were told; without
    `pointers` a place is a line that wrote of the request, and not where each part of it stands.
    """

    def __init__(self, build: EvidenceBuilder, name: str, *, pointers: bool = True) -> None:
        self.build = build
        self.builder: TraceBuilder = build.trace(name)
        self.lane: Lane = self.builder.lane()
        self.pointers = pointers
        self.known: set[str] = set()
        self._told = Repeats(build, "request")

    def request(self, fields: Fields, spot: Spot, tainted: str | None, *, taken_back: bool = False) -> None:
        """Tell a request and the answer to it, unless the same was told before."""
        if self._told.is_again(text(fields, "requestId"), fields, spot, self.builder):
            return
        spot = Spot(spot.place, spot.pointer, nanoseconds(present(fields, "timestamp")))
        before = len(self.builder.trace.calls)
        told = object_in(object_in(fields, "result"), "metadata")
        self._asks(fields, told, spot, taken_back=taken_back or "shouldBeRemovedOnSend" in fields)
        parts = [self._shown(one, at, spot) for at, one in enumerate(items_in(fields, "response"))]
        shown = [part for part in parts if text(part.fields, "kind") == _RAN]
        own = [part for part in shown if not part.by_sub_agent and not part.is_internal]
        if items_in(told, _ROUNDS):
            self._rounds(fields, told, own, spot)
        else:
            self._without_rounds(fields, parts, own, spot)
        for part in shown:
            self.known.add(text(part.fields, "toolCallId"))
            if part.by_sub_agent:
                self._execute(part, self.builder.lane(part.by_sub_agent, part.by_sub_agent))
        self._end(fields, told, spot)
        self._look_through(fields, told, parts, spot)
        taint(self.builder, tainted, spot, before)

    def close(self, beside: Fields, spot: Spot) -> None:
        """Look through what stands beside the requests."""
        for name, held in beside.items():
            if is_like_calls(held):
                self._gap(f"what looks like a call in a member that is not read ({one_line(name, 40)})", spot)

    def _gap(self, message: str, spot: Spot) -> None:
        self.builder.gap("evidence_gap", message, spot)

    def _down(self, spot: Spot, pointer: str) -> Spot:
        return spot.down(pointer) if self.pointers else spot

    def _shown(self, raw_part: Payload, at: int, spot: Spot) -> _Shown:
        return _Shown(fields_of(raw_part), self._down(spot, f"/response/{at}"))

    # what was asked ----------------------------------------------------------------------------------------------

    def _asks(self, fields: Fields, told: Fields, spot: Spot, *, taken_back: bool) -> None:
        """What a person asked, as the model was shown it where that is recorded."""
        below = "/result/metadata"
        for name in ("renderedGlobalContext", "renderedUserMessage"):
            said = present(told, name)
            if said is not None:
                kind = StepKind.USER if name == "renderedUserMessage" else StepKind.SYSTEM
                self.builder.step(kind, self._down(spot, f"{below}/{name}"), name=name, payload=_rendered(said))
        asked = present(object_in(fields, "message"), "text")
        step = self.builder.step(StepKind.USER, self._down(spot, "/message/text"), payload=asked)
        if taken_back:
            note_rewritten(self.builder, step, spot, _BACK)

    # what the model did ------------------------------------------------------------------------------------------

    def _rounds(self, fields: Fields, told: Fields, own: Sequence[_Shown], spot: Spot) -> None:
        rounds = [fields_of(one) for one in items_in(told, _ROUNDS)]
        calls = [fields_of(one) for turn in rounds for one in items_in(turn, "toolCalls")]
        if len(own) > len(calls):
            self._gap("more tools ran than the rounds of the model ask for", spot)
        beside, results = _beside(calls, own), object_in(told, _RESULTS)
        model = text(told, "resolvedModel") or text(fields, "modelId")
        for at, turn in enumerate(rounds):
            place = self._down(spot, f"/result/metadata/{_ROUNDS}/{at}")
            place = Spot(place.place, place.pointer, max(spot.at, nanoseconds(present(turn, "timestamp"))))
            number = self.builder.turn(self.lane, place, text=_words(turn), model=model)
            asked = [fields_of(one) for one in items_in(turn, "toolCalls")]
            for index, call in enumerate(asked):
                self._ask(number, call, beside.get(text(call, "id")), self._down(place, f"/toolCalls/{index}"))
            for call in asked:
                self._answer(call, results, beside.get(text(call, "id")), spot)
        for name in results.keys() - {text(call, "id") for call in calls}:
            self._gap(f"a result of no call of the rounds ({one_line(name, 40)})", spot)

    def _ask(self, turn: int, call: Fields, part: _Shown | None, spot: Spot) -> None:
        asked = present(call, "arguments")
        self.known.add(text(call, "id"))
        self.builder.request(
            self.lane,
            turn,
            text(call, "name"),
            text(call, "id") or None,
            asked,
            self._down(spot, "/arguments"),
            boundary=Boundary.SUB_AGENT if part is not None and part.starts_sub_agent else Boundary.TOOL,
            server=None if part is None else part.server,
            tainted=None if asked is None else arguments_damage(asked),
        )

    def _answer(self, call: Fields, results: Fields, part: _Shown | None, spot: Spot) -> None:
        name = text(call, "id")
        if name not in results:
            return
        payload, below = _content(results[name])
        denied = part is not None and part.denied
        self.builder.show(
            self.lane,
            name or None,
            text(call, "name"),
            payload,
            self._down(spot, f"/result/metadata/{_RESULTS}/{_escaped(name)}{below}"),
            failed=denied or (part is not None and part.failed),
            denied=denied,
            tainted=None if payload is None else result_damage(payload),
        )

    def _without_rounds(self, fields: Fields, parts: Sequence[_Shown], own: Sequence[_Shown], spot: Spot) -> None:
        """What the editor showed is all that there is: words, and tools that ran."""
        said = [one for part in parts if (one := _markdown(part.fields)) is not None]
        if said or own:
            words = raw("".join(map(text_of, said))) if said else None
            self.builder.turn(self.lane, self._down(spot, "/response"), text=words, model=text(fields, "modelId"))
        for part in own:
            self._execute(part, self.lane)
        if own or _is_cancelled(fields):
            self._gap(
                "the rounds of the model are not in the file: what it asked for and was given is not recorded", spot
            )

    def _execute(self, part: _Shown, lane: Lane) -> None:
        """A tool that ran, of which only the editor tells."""
        details = object_in(part.fields, "resultDetails")
        complete = is_true(part.fields, "isComplete")
        status = "denied" if part.denied else "error" if part.failed else "ok" if complete else ""
        ran = Execution(
            text(part.fields, "toolId"),
            part.spot,
            recorded_id=text(part.fields, "toolCallId") or None,
            arguments=_input(part.fields),
            result=present(details, "output"),
            status=status,
            ended=complete,
            server=part.server,
            boundary=Boundary.SUB_AGENT if part.starts_sub_agent else Boundary.TOOL,
        )
        self.builder.execute(lane, ran)

    # how it ended ------------------------------------------------------------------------------------------------

    def _end(self, fields: Fields, told: Fields, spot: Spot) -> None:
        only = present(told, "summary")
        for at, one in enumerate(items_in(told, "summaries") or ([] if only is None else [only])):
            place = self._down(
                spot, "/result/metadata/summary" if only is not None else f"/result/metadata/summaries/{at}"
            )
            step = self.builder.step(StepKind.SYSTEM, place, name="summary", payload=present(fields_of(one), "text"))
            note_rewritten(self.builder, step, spot)
        result = object_in(fields, "result")
        wrong = present(object_in(result, "errorDetails"), "message")
        if wrong is not None:
            self.builder.step(StepKind.ERROR, self._down(spot, "/result/errorDetails/message"), payload=wrong)
        failed = text(object_in(fields, "modelState"), "value") == _FAILED
        self.builder.trace.ended_normally = False if wrong is not None or failed or _is_cancelled(fields) else None
        usage = {**object_in(result, "usage"), **told}
        self.build.counts.input_tokens += whole_number(usage, "promptTokens")
        self.build.counts.output_tokens += whole_number(usage, "outputTokens", "completionTokens")

    def _look_through(self, fields: Fields, told: Fields, parts: Sequence[_Shown], spot: Spot) -> None:
        """A gap where what is not read holds a call."""
        for part in parts:
            kind = text(part.fields, "kind")
            named = bool({"toolId", "toolName", "toolCallId"} & part.fields.keys())
            odd = kind not in _NO_CALLS and sounds_like_a_call(kind, named=named)
            if odd or (kind != _RAN and is_like_calls(as_object(part.fields))):
                what = one_line(kind or "(none)", 40)
                self._gap(f"a part of a kind that is not read ({what}) holds what looks like a call", part.spot)
        if looks_like_a_call(fields):
            self._gap("what looks like a call stands where a request should", spot)
        result = object_in(fields, "result")
        looked = [(fields, _READ), (told, _READ_OF_RESULT), (object_in(fields, "message"), _NONE)]
        looked += [(result, frozenset({"metadata"}))]
        looked += [(part.fields, _READ_OF_A_PART) for part in parts]
        for turn in map(fields_of, items_in(told, _ROUNDS)):
            looked.append((turn, frozenset({"toolCalls"})))
            if looks_like_a_call({name: held for name, held in turn.items() if name != "toolCalls"}):
                self._gap("what looks like a call stands where a round should", spot)
        for held, read in looked:
            for name in unread_calls(held, read):
                self._gap(f"what looks like a call in a member that is not read ({one_line(name, 40)})", spot)


def _beside(calls: Sequence[Fields], own: Sequence[_Shown]) -> dict[str, _Shown]:
    """What the editor shows of each call: by their ids where it kept them, else in order where each has its part."""
    ids = [text(call, "id") for call in calls]
    named = {text(part.fields, "toolCallId"): part for part in own}
    known = {
        one: named[own_id] for one in ids if (own_id := one if one in named else one.partition("__vscode-")[0]) in named
    }
    if known or len(own) != len(ids):
        return known
    return dict(zip(ids, own, strict=True))


def _words(turn: Fields) -> Payload | None:
    """What a round says: thoughts, then words."""
    thought = present(object_in(turn, "thinking"), "text")
    thoughts = [] if thought is None else items_of(thought) if opens_with(thought, b"[") else [thought]
    said = present(turn, "response")
    told = [text_of(one) for one in (*thoughts, *([] if said is None else [said]))]
    told = [one for one in told if one]
    if len(told) == 1 and not thoughts:
        return said
    return raw("\n".join(told)) if told else None


def _rendered(said: Payload) -> Payload:
    """A part of a prompt as it was sent: its words, where it is a list with some."""
    told = [text_of(one) for part in items_of(said) if (one := present(fields_of(part), "text")) is not None]
    return raw("\n".join(told)) if told else said


def _markdown(part: Fields) -> Payload | None:
    """The words in a part that is some: of no kind, or markdown."""
    if text(part, "kind") not in ("", "markdownContent"):
        return None
    said = present(part, "value") or present(object_in(part, "content"), "value")
    return said if said is not None and is_text(said) else None


def _content(result: Payload) -> tuple[Payload | None, str]:
    """What a tool gave back, without what wraps it, and where that stands below the result: a text, or the words in a
    tree of elements, as the model was shown them.
    """
    content = present(fields_of(result), "content")
    if content is None:
        return None if bytes(result) == b"null" else result, ""
    values = [present(fields_of(part), "value") for part in items_of(content)]
    if len(values) == 1 and values[0] is not None and is_text(values[0]):
        return values[0], "/content/0/value"
    told = [_words_of(one) for one in values]
    if not told or None in told:
        return content, "/content"
    return raw("\n".join(one for one in told if one is not None)), "/content"


def _words_of(value: Payload | None) -> str | None:
    """The words of one part of a result; None where it is neither a text nor a tree of elements."""
    if value is None:
        return None
    if is_text(value):
        return text_of(value)
    root = object_in(fields_of(value), "node")
    return _words_in(value_of(as_object(root))) if "children" in root else None


def _words_in(tree: Any) -> str:
    """The words in a tree of elements, in their order: a leaf may say that it begins a line."""
    words: list[str] = []
    todo = [tree]
    while todo:
        node = todo.pop()
        said, below = (node.get("text"), node.get("children")) if isinstance(node, dict) else (None, None)
        if isinstance(said, str):
            breaks = node.get("lineBreakBefore") is True and words and not words[-1].endswith("\n")
            words.append(f"\n{said}" if breaks else said)
        todo.extend(reversed(below) if isinstance(below, list) else ())
    return "".join(words)


def _input(part: Fields) -> Payload | None:
    """What a tool was given, as far as the editor shows it."""
    data = object_in(part, "toolSpecificData")
    given = present(data, "rawInput") or present(object_in(part, "resultDetails"), "input")
    if given is not None:
        return json_inside(given)
    line = present(object_in(data, "commandLine"), "userEdited", "toolEdited", "original") or present(data, "command")
    return None if line is None else as_object({"command": line})


def _is_cancelled(fields: Fields) -> bool:
    return is_true(fields, "isCanceled") or text(object_in(fields, "modelState"), "value") == _CANCELLED


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def call_ids(value: Any) -> Iterator[str]:
    """The ids of the calls that a value of a session holds, wherever they stand."""
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            named = one.get("toolCallId") if one.get("kind") == _RAN else None
            asked = one.get("toolCalls")
            ids = [call.get("id") for call in asked if isinstance(call, dict)] if isinstance(asked, list) else []
            yield from (name for name in (named, *ids) if isinstance(name, str))
            todo.extend(one.values())
        elif isinstance(one, list):
            todo.extend(one)
