"""What did the model say in an answer that was streamed? The pieces put together as the one body that would have been
answered without streaming.

Server-sent events of OpenAI Chat and Responses, Anthropic and Gemini, and the binary event stream of Bedrock. A stream
without its own last event breaks off: it may hide what it would have said.
"""

from __future__ import annotations

import base64
import binascii
import struct
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.jsonvalue import decode, unfold
from forensics.core.late import late

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Body = dict[str, Any]

_DONE = b"[DONE]"
_EVENT = late(rb"(?:\r\n|\n|\r){2,}")
_DATA = late(rb"[\r\n]data:")
_LINE = late(rb"\r\n|\n|\r")
_PRELUDE = struct.Struct(">III")
_CRC = 4
_MOST_PARTS = 10_000  # blocks or calls of one answer, told by an index that the stream names


class Streamed(msgspec.Struct, frozen=True):
    """One streamed answer: its body (None: nothing of an answer in it), and what in it may hide something."""

    body: Any = None
    doubts: tuple[str, ...] = ()


def is_event_stream(data: bytes) -> bool:
    """Whether a text is server-sent events, by how it begins and that some data follows."""
    head = data[:64].lstrip()
    if head.startswith((b"data:", b"event:")):
        return True
    return head.startswith((b":", b"id:", b"retry:")) and _DATA.search(data) is not None


def read_events(data: bytes) -> Streamed:
    """The answer in server-sent events. Never raises."""
    values, bad = [], 0
    for payload in _payloads(data):
        if payload.strip() == _DONE:
            continue
        decoded = decode(payload)
        bad += decoded.error is not None or any(fault.code == "duplicate_key" for fault in decoded.faults)
        if isinstance(decoded.value, (dict, list)):
            values.append(decoded.value)
    return _together(values, bad=bad)


def _payloads(data: bytes) -> Iterator[bytes]:
    """The data of each event; several data lines of one event are one text (HTML, section 9.2)."""
    for event in _EVENT.split(data):
        lines = [line[5:].removeprefix(b" ") for line in _LINE.split(event) if line.startswith(b"data:")]
        if lines:
            yield b"\n".join(lines)


def read_binary(data: bytes) -> Streamed:
    """The answer in an AWS event stream: frames of a prelude, headers, a payload and two checksums. Never raises."""
    values, at, bad = [], 0, 0
    while at + _PRELUDE.size <= len(data):
        total, headers, _ = _PRELUDE.unpack_from(data, at)
        start, end = at + _PRELUDE.size + headers, at + total - _CRC
        if not at + _PRELUDE.size <= start <= end or end + _CRC > len(data):
            break
        decoded = decode(data[start:end])
        if isinstance(decoded.value, dict):
            values.append(_unwrapped(_event_type(data[at + _PRELUDE.size : start]), decoded.value))
        else:
            bad += end > start
        at += total
    return _together(values, bad=bad + (at < len(data)))


def _event_type(headers: bytes) -> str:
    """The value of the header `:event-type` (a length, the name, the kind 7, a length, the value)."""
    name = b":event-type\x07"
    at = headers.find(name)
    if at < 0:
        return ""
    start = at + len(name) + 2
    size = int.from_bytes(headers[start - 2 : start], "big")
    return headers[start : start + size].decode("ascii", "replace")


def _unwrapped(kind: str, value: Body) -> Body:
    """The event itself: Bedrock writes another API's events in base64, and its own without their names."""
    inner = value.get("bytes")
    if isinstance(inner, str):
        try:
            decoded = decode(base64.b64decode(inner, validate=True)).value
        except (binascii.Error, ValueError):
            return value
        return decoded if isinstance(decoded, dict) else value
    return {kind: value} if kind else value


def _together(values: list[Any], *, bad: int) -> Streamed:
    pieces = [v for value in values for v in (value if isinstance(value, list) else [value]) if isinstance(v, dict)]
    bad += sum(map(_is_misshapen, pieces))
    doubts = [f"{bad} pieces of the stream can't be read, or can be read in two ways"] if bad else []
    joiner = next((join for fits, join in _JOINERS if any(fits(piece) for piece in pieces)), None)
    if joiner is None:
        return Streamed(pieces[-1] if len(pieces) == 1 else pieces or None, tuple(doubts))
    body, ended = joiner(pieces)
    body = _settled(body)
    if not ended:
        doubts.append("the stream breaks off before its last event")
    return Streamed(body, tuple(doubts))


def read_pieces(values: list[Any]) -> Streamed:
    """The answer in pieces that were kept as a list of JSON values. Never raises."""
    return _together(values, bad=0)


_Joined = tuple[Any, bool]


# OpenAI Chat ---------------------------------------------------------------------------------------------------------


def _is_chunk(piece: Body) -> bool:
    choices = piece.get("choices")
    return isinstance(choices, list) and (
        piece.get("object") == "chat.completion.chunk" or any("delta" in _dict(c) for c in choices)
    )


def _is_misshapen(piece: Body) -> bool:
    """Whether a piece holds something else where a list of answers, a delta or a list of calls stands in a chunk."""
    choices = piece.get("choices") or []
    if not isinstance(choices, list):
        return True
    deltas = [choice.get("delta") or {} if isinstance(choice, dict) else None for choice in choices]
    calls = [delta.get("tool_calls") or [] if isinstance(delta, dict) else None for delta in deltas]
    return not all(isinstance(held, list) and all(map(_is_numbered, held)) for held in calls)


def _is_numbered(call: object) -> bool:
    return isinstance(call, dict) and isinstance(call.get("index", 0), int)


def _join_chunks(pieces: list[Body]) -> _Joined:
    body: Body = {"object": "chat.completion"}
    choices: dict[int, Body] = {}
    for piece in pieces:
        for name in ("id", "model", "usage", "error"):
            if piece.get(name):
                body[name] = piece[name]
        for choice in _dicts(piece.get("choices")):
            _add_choice(choices, choice)
    body["choices"] = [choices[index] for index in sorted(choices)]
    ended = bool(choices) and all(c.get("finish_reason") for c in choices.values())
    return body, ended


def _add_choice(choices: dict[int, Body], choice: Body) -> None:
    index = _index(choice)
    held = choices.setdefault(index, {"index": index, "message": {"role": "assistant"}})
    held["finish_reason"] = choice.get("finish_reason") or held.get("finish_reason")
    message = held["message"]
    for name, value in _dict(choice.get("delta")).items():
        if name == "tool_calls":
            _add_calls(message.setdefault("tool_calls", []), _dicts(value))
        elif name == "function_call":
            _add_texts(message.setdefault("function_call", {}), _dict(value))
        else:
            _add_texts(message, {name: value})


def _add_calls(held: list[Body], deltas: Iterable[Body]) -> None:
    for delta in deltas:
        index = _index(delta) if "index" in delta else len(held)
        while len(held) <= min(index, _MOST_PARTS):
            held.append({"function": {}})
        call = held[min(index, _MOST_PARTS)]
        if _begins_another(call, delta):
            call = {"function": {}}
            held.append(call)
        for name, value in delta.items():
            if name == "function":
                _add_texts(call["function"], _dict(value))
            elif value is not None and name != "index":
                call[name] = value


def _begins_another(call: Body, delta: Body) -> bool:
    """Whether a piece with an id and a tool of its own begins a call under the number of another: some servers number
    every call with 0.
    """
    told, again = call.get("id"), delta.get("id")
    return bool(told and again and told != again and _dict(delta.get("function")).get("name"))


def _add_texts(held: Body, delta: Body) -> None:
    """Texts go on; everything else replaces. A role and a name come once, though some servers repeat them."""
    for name, value in delta.items():
        if value is None:
            continue
        known = held.get(name)
        if isinstance(value, str) and isinstance(known, _Pieces):
            known.append(value)
        elif isinstance(value, str) and isinstance(known, str) and name not in _SAID_ONCE:
            held[name] = _Pieces((known, value))
        else:
            held[name] = value


_SAID_ONCE = frozenset({"role", "name", "type", "id"})


class _Pieces(list[str]):
    """A text that is still in pieces: put together once, however many there are."""


def _settled(value: Any) -> Any:
    """The value with every text put together."""
    if isinstance(value, _Pieces):
        return "".join(value)
    if isinstance(value, dict):
        return {name: _settled(inner) for name, inner in value.items()}
    return [_settled(inner) for inner in value] if isinstance(value, list) else value


# OpenAI Responses ----------------------------------------------------------------------------------------------------

_RESPONSE_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


def _is_response_event(piece: Body) -> bool:
    return str(piece.get("type", "")).startswith("response.")


def _join_response(pieces: list[Body]) -> _Joined:
    """The last event holds the whole response; where it is missing, the items that were done."""
    last = next((p for p in reversed(pieces) if p.get("type") in _RESPONSE_ENDS), None)
    if last is not None:
        return last.get("response"), True
    first = next((_dict(p.get("response")) for p in pieces if "response" in p), {})
    done = [p.get("item") for p in pieces if p.get("type") == "response.output_item.done"]
    return {**first, "output": done}, False


# Anthropic -----------------------------------------------------------------------------------------------------------


def _is_anthropic(piece: Body) -> bool:
    return piece.get("type") in ("message_start", "content_block_start", "content_block_delta", "message_delta")


def _join_anthropic(pieces: list[Body]) -> _Joined:
    body: Body = {"role": "assistant"}
    blocks: dict[int, Body] = {}
    pending: dict[int, list[str]] = {}
    ended = False
    for piece in pieces:
        kind = piece.get("type")
        if kind == "message_start":
            body.update(_dict(piece.get("message")))
        elif kind == "content_block_start":
            blocks[_index(piece)] = dict(_dict(piece.get("content_block")))
        elif kind == "content_block_delta":
            _add_delta(blocks.setdefault(_index(piece), {}), pending, _index(piece), _dict(piece.get("delta")))
        elif kind == "message_delta":
            _end_message(body, piece)
        elif kind == "error":
            body["error"] = piece.get("error")
        ended = ended or kind in ("message_stop", "error")
    for index, said in pending.items():
        blocks[index]["input"] = _arguments(said, blocks[index].get("input"))
    body["content"] = [blocks[index] for index in sorted(blocks)]
    return body, ended


def _add_delta(block: Body, pending: dict[int, list[str]], index: int, delta: Body) -> None:
    said = delta.get("partial_json")
    if isinstance(said, str):
        pending.setdefault(index, []).append(said)
        return
    _add_texts(block, {name: value for name, value in delta.items() if name not in ("type", "citation")})


def _end_message(body: Body, piece: Body) -> None:
    body.update({name: value for name, value in _dict(piece.get("delta")).items() if value is not None})
    usage = {**_dict(body.get("usage")), **_dict(piece.get("usage"))}
    if usage:
        body["usage"] = usage


def _arguments(pieces: list[str], started: object) -> object:
    """The arguments that were streamed as JSON text; a text that breaks off stays a text."""
    said = "".join(pieces)
    if not said:
        return started if started is not None else {}
    return unfold(said)


# Gemini --------------------------------------------------------------------------------------------------------------


def _is_gemini(piece: Body) -> bool:
    return "candidates" in piece or "usageMetadata" in piece


def _join_gemini(pieces: list[Body]) -> _Joined:
    body: Body = {}
    parts: list[Any] = []
    candidate: Body = {}
    for piece in pieces:
        body.update({name: value for name, value in piece.items() if name != "candidates"})
        for one in _dicts(piece.get("candidates"))[:1]:
            told = _dict(one.get("content")).get("parts")
            parts.extend(told if isinstance(told, list) else [] if told is None else [told])
            candidate.update({name: value for name, value in one.items() if value is not None})
    body["candidates"] = [{**candidate, "content": {"role": "model", "parts": parts}}]
    return body, bool(candidate.get("finishReason"))


# Bedrock -------------------------------------------------------------------------------------------------------------


def _is_converse(piece: Body) -> bool:
    return bool({"messageStart", "contentBlockDelta", "contentBlockStart", "messageStop"} & piece.keys())


def _join_converse(pieces: list[Body]) -> _Joined:
    blocks: dict[int, Body] = {}
    pending: dict[int, list[str]] = {}
    body: Body = {}
    for piece in pieces:
        for name, value in piece.items():
            fields = _dict(value)
            if name == "contentBlockStart":
                blocks[_block(fields)] = dict(_dict(fields.get("start")))
            elif name == "contentBlockDelta":
                block = blocks.setdefault(_block(fields), {})
                _add_converse(block, pending, _block(fields), _dict(fields.get("delta")))
            elif name == "messageStop":
                body["stopReason"] = fields.get("stopReason")
            elif name == "metadata":
                body["usage"] = fields.get("usage")
    for index, said in pending.items():
        _dict(blocks[index].setdefault("toolUse", {}))["input"] = _arguments(said, None)
    body["output"] = {"message": {"role": "assistant", "content": [blocks[index] for index in sorted(blocks)]}}
    return body, "stopReason" in body


def _block(fields: Body) -> int:
    found = fields.get("contentBlockIndex", 0)
    return found if isinstance(found, int) else 0


def _add_converse(block: Body, pending: dict[int, list[str]], index: int, delta: Body) -> None:
    use = delta.get("toolUse")
    said = _dict(use).get("input")
    if isinstance(said, str):
        pending.setdefault(index, []).append(said)
        return
    _add_texts(block, delta)


# small things --------------------------------------------------------------------------------------------------------


def _dict(value: object) -> Body:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[Body]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _index(fields: Body) -> int:
    found = fields.get("index", 0)
    return found if isinstance(found, int) and found >= 0 else 0


_JOINERS: tuple[tuple[Callable[[Body], bool], Callable[[list[Body]], _Joined]], ...] = (
    (_is_chunk, _join_chunks),
    (_is_response_event, _join_response),
    (_is_anthropic, _join_anthropic),
    (_is_converse, _join_converse),
    (_is_gemini, _join_gemini),
)
