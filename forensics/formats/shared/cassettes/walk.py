"""What does each exchange of a cassette mean: a turn of a model, a call of an MCP tool, or another request?

Turns go through the walk of message lists, which tells runs apart by how their prompts begin. Another request is a
boundary call of its own: whether a tool made it can't be told from a cassette.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Execution, Spot
from forensics.core.classes import ToolFacts
from forensics.core.evidence import Basis
from forensics.core.findings import finding
from forensics.core.jsonvalue import canonical, decode, raw, text_of, unfold, value_of
from forensics.core.messages import Doubt
from forensics.core.rpc_errors import RpcEnd, error_in
from forensics.core.sanitise import one_line
from forensics.core.trace import Boundary, StepKind
from forensics.formats.shared.fields import Fields, as_object, fields_of, is_text, items_of, opens_with, present, text
from forensics.formats.shared.json_lines import faults_of
from forensics.formats.shared.messages.chat import ChatWalk
from forensics.formats.shared.messages.conversation import Conversation, is_message, parse_conversation
from forensics.formats.shared.messages.telling import tool_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.build import TraceBuilder
    from forensics.core.messages import Message
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.cassettes.recorded_http import Exchange

_FIRST = "trace-0"
_NO_TURN = re.compile(
    r"(?:/embeddings|/moderations|/rerank|/tokenize|/count_tokens|/embed|:(?:batchE|e)mbedContents?|:countTokens)$"
)
"""Paths of model APIs that say nothing as a model and change nothing."""
_MEMBERS = (
    "input model encoding_format dimensions user texts text input_type embedding_types truncate content contents "
    "requests taskType outputDimensionality query documents top_n return_documents messages system tools tool_choice "
    "generateContentRequest"
)
_OF_NO_TURN = frozenset(_MEMBERS.split())
_UNSETTLED = frozenset({408, 502, 504})
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_LOCATORS = 100  # of one finding; its message says how many there are
_NULL = msgspec.Raw(b"null")


class _Asked(msgspec.Struct):
    """One request as it was made, again and again: where, and what the answers said."""

    name: str
    spots: list[Spot] = []
    answers: list[bytes] = []


class Cassette:
    """The walk over the exchanges of one evidence."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.chat = ChatWalk(build)
        self.asked: dict[bytes, _Asked] = {}

    def exchange(self, one: Exchange, spot: Spot, tainted: str | None) -> None:
        """Tell one exchange, by what it asks for, and then what may be hidden in it: now it is known whose it is."""
        self._tell(one, spot, self._faults(one, spot) or tainted)
        for doubt in doubts_of(one):
            self._builder().gap(doubt.code, doubt.says, spot.down(doubt.pointer))

    def _faults(self, one: Exchange, spot: Spot) -> str | None:
        """Note what the bodies say in two ways; returns the code that taints what is read from them."""
        tainted = None
        for body in (one.request, one.response):
            if body.data is not None and body.streamed is None and body.data.lstrip()[:1] in (b"{", b"["):
                faults = decode(body.data).faults
                tainted = faults_of(faults, spot.down(body.pointer), self.build) or tainted
        return tainted

    def _tell(self, one: Exchange, spot: Spot, tainted: str | None) -> None:
        said = one.request.json()
        fields = fields_of(said) if said is not None and opens_with(said, b"{") else {}
        if asks_a_model(fields):
            self._turn(one, fields, spot, tainted)
        elif _calls(said):
            self._mcp(one, said or _NULL, spot, tainted)
        elif _is_no_turn(one, fields):
            self._builder().step(StepKind.OTHER, spot, name=_named(one), payload=said)
        else:
            self._request(one, said, spot, tainted)

    def close(self) -> None:
        """Say which requests were answered in different ways."""
        for held in self.asked.values():
            different = len(set(held.answers))
            if different > 1:
                message = (
                    f"the same request ({one_line(held.name, 80)}) was made {len(held.spots)} times and has "
                    f"{different} different answers: only their order tells which is which"
                )
                locators = tuple(self.build.places.locator(s.place, s.pointer) for s in held.spots[:_LOCATORS])
                found = finding("same_request_different_answers", message, locators=locators, basis=Basis.DERIVED)
                self.build.found(found)

    def _builder(self) -> TraceBuilder:
        """The trace that is going on: that of the latest turn, or the first."""
        return self.chat.latest or self.build.trace(_FIRST)

    def _note(self, one: Exchange, said: Payload | None, answer: bytes, spot: Spot) -> None:
        """Remember what a request was answered; one that failed was tried again, and not answered otherwise."""
        if one.failed or not one.status:
            return
        body = canonical(unfold(decode(said).value)) if said is not None else b""
        key = canonical([one.method, one.uri]) + body
        held = self.asked.setdefault(key, _Asked(_named(one)))
        held.spots.append(spot)
        held.answers.append(answer)

    # turns -------------------------------------------------------------------------------------------------------

    def _turn(self, one: Exchange, asked: Fields, spot: Spot, tainted: str | None) -> None:
        """A request to a model with its answer."""
        told = one.response.json()
        response = {"status_code": raw(one.status), "body": _NULL if told is None else told}
        whole = {"request": as_object(asked), "response": _NULL if told is None else as_object(response)}
        parsed = parse_conversation(as_object(whole))
        self._note(one, as_object(asked), _said(parsed.answer), spot)
        if not self.chat.tell(_placed(parsed, one), spot, tainted):
            self.build.gap("evidence_gap", "a request to a model in which no message is read", spot)
        elif told is not None and is_text(told) and not one.failed:
            self._builder().gap("evidence_gap", "an answer of a model's API that is no JSON", spot.down("/response"))

    # MCP ---------------------------------------------------------------------------------------------------------

    def _mcp(self, one: Exchange, said: Payload, spot: Spot, tainted: str | None) -> None:
        """A JSON-RPC message over HTTP: a call of a tool, or what goes around it."""
        asked = fields_of(said)
        told = one.response.json()
        answer = fields_of(told) if told is not None and opens_with(told, b"{") else {}
        result, error = present(answer, "result"), present(answer, "error")
        params = fields_of(asked.get("params", msgspec.Raw(b"{}")))
        server = _host(one.uri) or None
        if text(asked, "method") != "tools/call":
            self._builder().step(StepKind.OTHER, spot, name=text(asked, "method"))
            self._learn(result, server, spot)
            return
        fault = error_in(value_of(told)) if told is not None else None
        failed = error is not None or one.failed or fault is not None or _is_error(result)
        broken = "unsettled" if fault is not None and fault.end is RpcEnd.OPEN else "error"
        ran = Execution(
            text(params, "name"),
            spot.down(one.request.pointer),
            text_of(asked["id"]) if "id" in asked else None,
            present(params, "arguments"),
            result,
            error if error is not None else told if one.failed else None,
            broken if failed else "ok" if result is not None else "",
            ended=bool(one.status),
            server=server,
            tainted=tainted,
            answer=spot.down(one.response.pointer),
        )
        self._note(one, said, bytes(result or b""), spot)
        self._builder().execute(self._builder().lane(), ran)

    def _learn(self, result: Payload | None, server: str | None, spot: Spot) -> None:
        """What a list of tools says of them; the first description of a tool counts."""
        tools = present(fields_of(result), "tools") if result is not None and opens_with(result, b"{") else None
        known = self._builder().trace.facts
        for item in items_of(tools) if tools is not None else ():
            for facts in tool_facts(item):
                locator = self.build.places.locator(spot.place, spot.pointer)
                known.setdefault(facts.name, msgspec.structs.replace(facts, server=server, locator=locator))

    # other requests ----------------------------------------------------------------------------------------------

    def _request(self, one: Exchange, said: Payload | None, spot: Spot, tainted: str | None) -> None:
        """A request of another kind: a boundary call that no recorded turn asked for."""
        told = one.response.json()
        name = _named(one)
        arguments: Fields = {"method": raw(one.method), "url": raw(one.uri)}
        if said is not None:
            arguments["body"] = said
        ran = Execution(
            name,
            spot.down("/request"),
            None,
            as_object(arguments),
            None if one.failed else told,
            (told if told is not None else raw(one.status)) if one.failed else None,
            _status(one),
            ended=bool(one.status),
            boundary=Boundary.HTTP,
            tainted=tainted,
            answer=spot.down(one.response.pointer),
        )
        self._note(one, said, bytes(told or b""), spot)
        builder = self._builder()
        place = self.build.places.locator(spot.place, spot.pointer + "/request")
        builder.trace.facts.setdefault(name, ToolFacts(name, http=(one.method, one.uri), locator=place))
        builder.execute(builder.lane(), ran)


def doubts_of(one: Exchange) -> Iterator[Doubt]:
    """What in the bodies can't be read, or breaks off."""
    for body in (one.request, one.response):
        streamed = body.streamed.doubts if body.streamed is not None else ()
        for says in (body.doubt,) if body.doubt else streamed:
            yield Doubt(says, body.pointer)


# what a request is ---------------------------------------------------------------------------------------------------


def asks_a_model(fields: Fields) -> bool:
    """Whether a body is a prompt: messages or contents, or a prompt with the name of a model."""
    for name in ("messages", "contents"):
        listed = fields.get(name)
        if listed is not None and (items := items_of(listed)):
            return is_message(fields_of(items[0]))
    return "model" in fields and any(name in fields for name in ("input", "prompt")) and not _is_embedding(fields)


def _is_no_turn(one: Exchange, fields: Fields) -> bool:
    """Whether a request computes something of a model without a turn: by its path and by members of such a request
    only. A request with any other member may do more, and is a boundary call.
    """
    return bool(fields) and fields.keys() <= _OF_NO_TURN and _NO_TURN.search(_path(one.uri)) is not None


def _is_embedding(fields: Fields) -> bool:
    return "encoding_format" in fields or "embed" in text(fields, "model") or "dimensions" in fields


def _calls(said: Payload | None) -> bool:
    if said is None or not opens_with(said, b"{"):
        return False
    fields = fields_of(said)
    return "jsonrpc" in fields and "method" in fields


def _is_error(result: Payload | None) -> bool:
    return result is not None and opens_with(result, b"{") and bytes(fields_of(result).get("isError", b"")) == b"true"


def _status(one: Exchange) -> str:
    """How a request ended: a gateway's timeout says nothing about the effect of what it was asked to do."""
    if one.status in _UNSETTLED and one.method not in _SAFE:
        return "unsettled"
    return "error" if one.failed else "ok" if one.status else ""


def _host(uri: str) -> str:
    return uri.partition("://")[2].partition("/")[0].rpartition("@")[2]


def _path(uri: str) -> str:
    return uri.partition("?")[0].partition("#")[0].rstrip("/")


def _named(one: Exchange) -> str:
    return f"{one.method} {one.uri.partition('?')[0]}".strip()


# where its parts stand -----------------------------------------------------------------------------------------------


def _placed(parsed: Conversation, one: Exchange) -> Conversation:
    """The conversation with pointers that start at the exchange."""
    asked, told = ("/request", one.request.pointer), ("/response/body", one.response.pointer)
    return msgspec.structs.replace(
        parsed,
        prompt=tuple(_moved(message, *asked) for message in parsed.prompt),
        answer=tuple(_moved(message, *told) for message in parsed.answer),
        doubts=tuple(_moved_doubt(doubt, asked, told) for doubt in parsed.doubts),
        tools_pointer=_below(parsed.tools_pointer, *asked),
    )


def _moved(message: Message, before: str, now: str) -> Message:
    return msgspec.structs.replace(message, pointer=_below(message.pointer, before, now))


def _moved_doubt(doubt: Doubt, *moves: tuple[str, str]) -> Doubt:
    fits = next((move for move in moves if doubt.pointer.startswith(move[0])), None)
    return doubt if fits is None else msgspec.structs.replace(doubt, pointer=_below(doubt.pointer, *fits))


def _below(pointer: str, before: str, now: str) -> str:
    return now + pointer.removeprefix(before) if pointer.startswith(before) else pointer


def _said(answer: tuple[Message, ...]) -> bytes:
    """What an answer says, without the ids that every answer has of its own."""
    told = [
        [
            "" if message.text is None or is_text(message.text) is False else text_of(message.text),
            [[part.tool, _value(part.payload)] for part in message.calls],
        ]
        for message in answer
    ]
    return canonical(told)


def _value(payload: Payload | None) -> object:
    return None if payload is None else unfold(decode(payload).value)
