"""Where is the model's answer in a response, however the response is wrapped?

Bodies of four APIs, bare messages, a body inside an HTTP record (the Batch API), JSON kept as text, and streams kept as
events or in pieces, which are put together (`streams`).
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import decode, raw, text_of
from forensics.core.messages import Doubt, Message, Part
from forensics.core.trace import Boundary, Payload
from forensics.formats.shared.fields import Fields, as_object, fields_of, is_text, items_of, opens_with, present, text
from forensics.formats.shared.messages.interactions import holder_of
from forensics.formats.shared.messages.streams import Streamed, is_event_stream, read_events, read_pieces
from forensics.formats.shared.messages.vocabulary import parse_message
from forensics.formats.shared.wholeness import cut_short, finish_words, is_unfinished

if TYPE_CHECKING:
    from collections.abc import Callable

_UNWRAPPED = 3
_FAILED = 400
_NULL = msgspec.Raw(b"null")
_STREAMED = "the response is a stream in pieces that make no answer: what it asks for is not read"
_SAYS = frozenset({"content", "tool_calls", "function_call", "parts", "role"})
BODIES = frozenset({"choices", "candidates", "output", "message", *_SAYS})
"""Members that say: this object is a response body, or the message itself."""


class Answer(msgspec.Struct, frozen=True):
    """What a response says: the model's messages, the error in their place, and what may hide something."""

    messages: tuple[Message, ...] = ()
    model: str = ""
    usage: Payload | None = None
    error: Payload | None = None
    doubts: tuple[Doubt, ...] = ()


def read_answer(response: Payload, pointer: str, depth: int = 0) -> Answer:
    """The answer in a response; `pointer` is its place in the record. Never raises."""
    if response == _NULL:
        return Answer(doubts=(Doubt("the response is not recorded", pointer),))
    if is_text(response):
        return _from_text(response, pointer, depth)
    if opens_with(response, b"["):
        return _from_list(response, pointer)
    fields = fields_of(response)
    body = present(fields, "body", "response_body", "string") if not BODIES & fields.keys() else None
    if body is not None and depth < _UNWRAPPED:
        return _from_http(fields, body, pointer, depth)
    return read_body(fields, pointer)


def _from_text(response: Payload, pointer: str, depth: int) -> Answer:
    said = text_of(response)
    data = said.encode("utf-8", "surrogatepass")
    if is_event_stream(data):
        return _from_stream(read_events(data), pointer, depth)
    if said.lstrip()[:1] in ("{", "[") and depth < _UNWRAPPED:
        return read_answer(msgspec.Raw(said.strip().encode("utf-8", "surrogatepass")), pointer, depth + 1)
    return Answer((_as_assistant({"content": response}, pointer),)) if said.strip() else Answer()


def _from_list(response: Payload, pointer: str) -> Answer:
    items = items_of(response)
    if any(_is_piece(fields_of(item)) for item in items):
        return _from_stream(read_pieces([decode(item).value for item in items]), pointer, 1)
    return Answer(_items(response, pointer))


def _from_stream(streamed: Streamed, pointer: str, depth: int) -> Answer:
    """The answer that was streamed; its parts stand where the whole stream does."""
    doubts = tuple(Doubt(says, pointer) for says in streamed.doubts)
    if not isinstance(streamed.body, dict) or depth >= _UNWRAPPED:
        return Answer(doubts=(*doubts, Doubt(_STREAMED, pointer)))
    answer = read_body(fields_of(raw(streamed.body)), pointer)
    return msgspec.structs.replace(answer, doubts=doubts or answer.doubts)


def _is_piece(fields: Fields) -> bool:
    """Whether an object is a piece of a stream: a chunk of OpenAI's or Gemini's, an event of the other two."""
    kind = text(fields, "type")
    if text(fields, "object").endswith(".chunk") or "delta" in fields or "candidates" in fields or "choices" in fields:
        return True
    return kind.startswith(("response.", "content_block_", "message_"))


def _from_http(fields: Fields, body: Payload, pointer: str, depth: int) -> Answer:
    """A response as an HTTP record: status and body."""
    told = read_answer(body, f"{pointer}/body", depth + 1)
    status = text(fields, "status_code", "status")
    failed = status.isdigit() and int(status[:6]) >= _FAILED
    return Answer(error=told.error or body) if failed else told


def read_body(fields: Fields, pointer: str) -> Answer:
    """The answer in a response body: OpenAI `choices`, Responses `output`, Gemini `candidates`, Anthropic `content`."""
    error = _error(fields)
    steps = holder_of(fields)
    reader = next((_READERS[name] for name in _READERS if present(fields, name) is not None), None)
    if steps:
        reader = _steps
    if reader is None:
        lost = () if error is not None else (Doubt("the response holds no answer in a shape that is read", pointer),)
        return Answer(error=error, doubts=lost)
    messages, doubts = reader(fields, pointer)
    return Answer(
        messages,
        text(fields, "model", "modelVersion"),
        present(fields, "usage", "usageMetadata", "usage_metadata"),
        error,
        doubts + _status_doubts(fields, messages, pointer),
    )


def _error(fields: Fields) -> Payload | None:
    error = present(fields, "error")
    return None if error is None or bytes(error) in (b'""', b"{}", b"false") else error


def _status_doubts(fields: Fields, messages: tuple[Message, ...], pointer: str) -> tuple[Doubt, ...]:
    """What the body's own status says of its end (Responses)."""
    why = present(fields, "incomplete_details")
    status = text(fields, "status")
    if why is None and not is_unfinished(status) and status != "cancelled":
        return ()
    words = (*finish_words(why), status, "incomplete")
    return (Doubt(cut_short(words, calls=any(m.calls for m in messages)), pointer),)


_Read = tuple[tuple[Message, ...], tuple[Doubt, ...]]


def _choices(fields: Fields, pointer: str) -> _Read:
    return _first_of(items_of(fields["choices"]), f"{pointer}/choices", ("message",))


def _candidates(fields: Fields, pointer: str) -> _Read:
    return _first_of(items_of(fields["candidates"]), f"{pointer}/candidates", ("content",))


def _first_of(items: list[Payload], pointer: str, names: tuple[str, ...]) -> _Read:
    """The first of several answers: an agent goes on with one, and the record doesn't say with which."""
    if not items:
        return (), (Doubt("the response has no answer in it", pointer),)
    doubts = [Doubt("the response holds several answers, and only the first is followed", pointer)] if items[1:] else []
    choice = fields_of(items[0])
    if "delta" in choice:
        return (), (Doubt(_STREAMED, pointer),)
    message = _message_in(choice, f"{pointer}/0", names)
    messages = () if message is None else (_grounded(message, choice),)
    words = finish_words(present(choice, "finish_reason", "finishReason"))
    why = cut_short(words, calls=any(m.calls for m in messages))
    if why or not messages:
        doubts.append(Doubt(why or "the answer holds no message", f"{pointer}/0"))
    return messages, tuple(doubts)


def _message_in(choice: Fields, pointer: str, names: tuple[str, ...]) -> Message | None:
    for name in names:
        said = present(choice, name)
        if said is not None:
            return _as_assistant(fields_of(said), f"{pointer}/{name}")
    said = present(choice, "text")
    return None if said is None else _as_assistant({"content": said}, pointer)


def _output(fields: Fields, pointer: str) -> _Read:
    output = fields["output"]
    if is_text(output):
        return (_as_assistant({"content": output}, pointer),), ()
    if opens_with(output, b"{"):
        return _output_object(fields, fields_of(output), f"{pointer}/output")
    return _items(output, f"{pointer}/output"), ()


def _output_object(fields: Fields, output: Fields, pointer: str) -> _Read:
    """An output that is the message itself, or holds it with the reason of its end beside (Bedrock)."""
    inner = present(output, "message")
    if inner is None or is_text(inner):
        return (_as_assistant(output, pointer),), ()
    message = _as_assistant(fields_of(inner), f"{pointer}/message")
    why = cut_short(finish_words(present(fields, "stopReason")), calls=bool(message.calls))
    return (message,), ((Doubt(why, pointer),) if why else ())


def _steps(fields: Fields, pointer: str) -> _Read:
    """The steps of an interaction, among which may stand what a person put in."""
    held = holder_of(fields)
    base = f"{pointer}/{held}"
    return join_items(tuple(_step(item, f"{base}/{at}") for at, item in enumerate(items_of(fields[held]))), base), ()


def _step(item: Payload, pointer: str) -> Message:
    """One step; a text that stands alone is the model's."""
    if text(fields_of(item), "type") != "text":
        return parse_message(item, pointer)
    return parse_message(as_object({"type": raw("model_output"), "content": item}), pointer)


def _bare(fields: Fields, pointer: str) -> _Read:
    return (_as_assistant(fields, pointer),), ()


def _inner_message(fields: Fields, pointer: str) -> _Read:
    """A message beside what was counted (Ollama), with its own reason to end."""
    message = _as_assistant(fields_of(fields["message"]), f"{pointer}/message")
    why = cut_short(finish_words(present(fields, "done_reason", "finish_reason")), calls=bool(message.calls))
    return (message,), ((Doubt(why, pointer),) if why else ())


_READERS: dict[str, Callable[[Fields, str], _Read]] = {
    "choices": _choices,
    "candidates": _candidates,
    "output": _output,
    "message": _inner_message,
    **dict.fromkeys(sorted(_SAYS), _bare),
}


def _items(listed: Payload, pointer: str) -> tuple[Message, ...]:
    return join_items(tuple(parse_message(item, f"{pointer}/{i}") for i, item in enumerate(items_of(listed))), pointer)


def _as_assistant(fields: Fields, pointer: str) -> Message:
    """A message of the model, whose role an answer may leave out."""
    told = fields if "role" in fields else {**fields, "role": msgspec.Raw(b'"assistant"')}
    return parse_message(as_object(told), pointer)


# a search of the provider's ------------------------------------------------------------------------------------------

_GROUNDS = (
    ("groundingMetadata", "google_search", ("webSearchQueries", "retrievalQueries", "groundingChunks")),
    ("grounding_metadata", "google_search", ("web_search_queries", "retrieval_queries", "grounding_chunks")),
    ("urlContextMetadata", "url_context", ("urlMetadata",)),
    ("url_context_metadata", "url_context", ("url_metadata",)),
)


def _grounded(message: Message, candidate: Fields) -> Message:
    """Gemini tells a search that it ran beside the answer, without what it found: calls whose result is absent."""
    calls, results = list(message.calls), list(message.results)
    for name, tool, marks in _GROUNDS:
        told = present(candidate, name)
        asked = None if told is None else present(fields_of(told), *marks)
        if asked is None or bytes(asked) == b"[]":
            continue
        pointer = f"/{name}"
        calls.append(Part(tool, None, asked, pointer, Boundary.PROVIDER_TOOL))
        results.append(Part(tool, None, None, pointer))
    return msgspec.structs.replace(message, calls=tuple(calls), results=tuple(results))


# several items, one turn ---------------------------------------------------------------------------------------------


def join_items(items: tuple[Message, ...], base: str) -> tuple[Message, ...]:
    """Responses writes a turn as several items (reasoning, message, calls): neighbours of the model are one turn."""
    joined: list[Message] = []
    run: list[Message] = []
    for item in items:
        if item.item and item.says_model:
            run.append(item)
            continue
        joined.extend(_turn_of(run, base))
        run = []
        joined.append(item)
    joined.extend(_turn_of(run, base))
    return tuple(joined)


def _turn_of(run: list[Message], base: str) -> list[Message]:
    if not run[1:]:
        return run
    texts = [m.text for m in run if m.text is not None]
    said = texts[0] if len(texts) == 1 else raw("\n".join(text_of(t) for t in texts)) if texts else None
    return [
        Message(
            role="assistant",
            key=blake2b(b"".join(m.key for m in run), digest_size=16).digest(),
            pointer=base,
            text=said,
            calls=tuple(_below(m, part, base) for m in run for part in m.calls),
            results=tuple(_below(m, part, base) for m in run for part in m.results),
            finish=next((m.finish for m in run if m.finish), ""),
            place=run[0].place,
            doubts=tuple(_doubt_below(m, doubt, base) for m in run for doubt in m.doubts),
            media=tuple(digest for m in run for digest in m.media),
        )
    ]


def _below(message: Message, part: Part, base: str) -> Part:
    """The part of an item, its pointer seen from the list that the item stands in."""
    return msgspec.structs.replace(part, pointer=message.pointer.removeprefix(base) + part.pointer)


def _doubt_below(message: Message, doubt: Doubt, base: str) -> Doubt:
    return msgspec.structs.replace(doubt, pointer=message.pointer.removeprefix(base) + doubt.pointer)
