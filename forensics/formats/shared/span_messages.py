"""What was a model shown, and what did it answer? The messages of one model span, in whichever dialect they stand.

Every prompt repeats the history, so each distinct message text is parsed once a trace and looked up by its bytes after
that; messages are small copies, so that no decoded prompt is kept alive by a payload that stands in it.
"""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from forensics.core.jsonvalue import canonical, decode, raw, text_of, texts_of_all
from forensics.core.messages import Doubt, Message, Part
from forensics.formats.shared import span_names as names
from forensics.formats.shared.fields import fields_of, is_text, items_of
from forensics.formats.shared.messages.vocabulary import (
    Words,
    content_key,
    content_keys,
    in_place,
    joined,
    parse_message,
)
from forensics.formats.shared.span_bodies import read_request, read_response
from forensics.formats.shared.wholeness import LONGEST_MARK, arguments_damage, result_damage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.trace import Payload
    from forensics.formats.shared.span_rows import TraceSpans
    from forensics.formats.shared.spans import Event, Item, Span, Spread

_OPENS = b'{"role":'
_ABSENT = msgspec.Raw(b"")


class _Part(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A part of a message as the GenAI conventions write it, and nothing else."""

    type: str
    content: msgspec.Raw = _ABSENT
    id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = _ABSENT
    response: msgspec.Raw = _ABSENT
    result: msgspec.Raw = _ABSENT


class _GenAiMessage(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    role: str
    parts: list[_Part]
    finish_reason: str | None = None
    name: str | None = None


_genai_message = msgspec.json.Decoder(_GenAiMessage).decode
_genai_messages = msgspec.json.Decoder(list[_GenAiMessage]).decode
_USUAL = names.ANSWER[0]
_TOGETHER = 64  # answers whose texts are decoded together
_REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Said(msgspec.Struct, frozen=True, gc=False):
    """Messages and where they stand: `pointer` is that of their list inside the span's place. `cut` says that the text
    began as a list and is no JSON, as an attribute length limit leaves it, or that items are missing. `disputed` is
    what the vocabularies of one span say against each other.
    """

    messages: tuple[Message, ...]
    pointer: str
    cut: bool = False
    disputed: str = ""


class MessageReader:
    """Reads the messages of the model spans of one trace."""

    def __init__(self) -> None:
        self._parsed: dict[bytes, Message] = {}
        self.doubts: list[tuple[Span, Doubt]] = []
        self._reading: Span | None = None

    def prompt(self, span: Span, *, whole_request: bool = True) -> Said | None:
        """What the model was shown, or None where it was not captured. `whole_request` says that the input of the span
        is a request to a model.
        """
        if not span.events and _SHOWN.isdisjoint(span.names):
            return None
        self._reading = span
        found = span.get(names.PROMPT)
        said = self._listed(span, *found, "user") if found is not None else self._from_events(span, _PROMPT_EVENTS)
        if said is None and whole_request:
            said = self._request(span)
        system = span.get(names.SYSTEM_INSTRUCTIONS)
        if system is None or result_damage(system[1]) is not None:
            return said
        first, cut = _instructions(system[1]), _breaks_off(system[1])
        if said is None:
            return Said((first,), span.where(system[0]), cut)
        return Said((first, *said.messages), said.pointer, cut or said.cut)

    def answer(self, span: Span) -> Said | None:
        """What the model answered as one message, or None where it was not captured."""
        self._reading = span
        found = span.get(names.ANSWER)
        if found is not None:
            said = self._compared(span, self._listed(span, *found, "assistant"), found[0])
        else:
            said = self._response(span) or self._from_events(span, _ANSWER_EVENTS) or self._response_body(span)
        if said is None or not (said.messages or said.cut):
            return None
        if not said.messages:
            return Said(self._plain("[", "assistant"), said.pointer, cut=True)
        if len(said.messages) == 1:
            return said
        return Said((_merged(said.messages),), said.pointer, said.cut, said.disputed)

    def answers(self, spans: list[Span], *, compared: bool = True) -> list[Said | None]:
        """What the model answered in each of these spans. Where no message is compared with another, a plain one has no
        content key.
        """
        plain = plain_answers(spans, compared=compared)
        return [self.answer(span) if said is None else said for span, said in zip(spans, plain, strict=True)]

    def _compared(self, span: Span, said: Said | None, told: str) -> Said | None:
        """What one vocabulary of a span says of the answer must be what the next one says."""
        others = [name for name in names.ANSWER if name != told and name in span.names]
        for name in others:
            other = self.listed(span, (name,), "assistant")
            if said is not None and other is not None and _asked(said) != _asked(other):
                message = f"the model's answer asks for other calls under {told} than under {name}"
                return msgspec.structs.replace(said, disputed=message)
        return said

    def listed(self, span: Span, table: tuple[str, ...], role: str = "user") -> Said | None:
        """The list of messages that one of these attributes holds, a text without a role as said by that one."""
        found = span.get(table)
        return None if found is None else self._listed(span, *found, role)

    def _listed(self, span: Span, name: str, payload: Payload, role: str) -> Said | None:
        """The messages of an attribute; None where it was replaced by a mark of redaction."""
        if result_damage(payload) is not None:
            return None
        text = text_of(payload) if is_text(payload) else ""
        body: bytes | Payload = text.encode("utf-8", "surrogatepass") if text else payload
        if role == "assistant":
            answer = _answer_as_it_should_be(body)
            if answer is not None:
                return Said((answer,), intern(span.where(name)))
        items = items_of(body)
        spread = span.spread.get(name)
        if spread is not None:
            return self._spread(span, items, spread, name)
        pointer = span.where(name)
        if not items:
            return Said(self._plain(text, role), pointer, text.lstrip()[:1] == "[" and text.strip() != "[]")
        return Said(tuple([self._parse(bytes(item), f"/{i}") for i, item in enumerate(items)]), pointer)

    def _spread(self, span: Span, items: list[Payload], spread: Spread, name: str) -> Said:
        """The messages of a list that was put together, each with the place of the attribute that it came from."""
        told = (_placed(self._parse(bytes(item), ""), place) for item, place in zip(items, spread.items, strict=False))
        messages = tuple(told)
        pointer = span.pointer if messages else span.where(name)
        return Said(messages, pointer, cut=not spread.whole or len(items) != len(spread.items))

    def _plain(self, text: str, role: str) -> tuple[Message, ...]:
        """A text that is no list of messages: one message of it (plain text, or a list cut in the middle)."""
        if text.strip() in ("", "[]", "null"):
            return ()
        return (self._parse(_OPENS + canonical(role) + b',"content":' + canonical(text) + b"}", ""),)

    def _parse(self, item: bytes, pointer: str) -> Message:
        message = self._parsed.get(item)
        if message is None:
            message = _as_it_should_be(item, pointer) or parse_message(msgspec.Raw(item), pointer, in_place)
            self._parsed[item] = message
            self._doubt(*message.doubts)
        return message if message.pointer == pointer else msgspec.structs.replace(message, pointer=pointer)

    def _doubt(self, *doubts: Doubt) -> None:
        if self._reading is not None:
            self.doubts.extend((self._reading, doubt) for doubt in doubts)

    # a whole request and its response ----------------------------------------------------------------------------

    def _request(self, span: Span) -> Said | None:
        found = span.get(names.REQUEST_BODY)
        if found is None or result_damage(found[1]) is not None:
            return None
        requested = read_request(found[1])
        messages = tuple(self._parse(bytes(item), "") for item in requested.items)
        pointer = span.where(found[0])
        return Said(messages, pointer, requested.cut) if messages or requested.cut else None

    def _response_body(self, span: Span) -> Said | None:
        found = span.get(names.RESPONSE_BODY)
        if found is None or result_damage(found[1]) is not None:
            return None
        answer = read_response(found[1])
        self._doubt(*answer.doubts)
        return Said(answer.messages, span.where(found[0]), _breaks_off(found[1])) if answer.messages else None

    # FastAIAgent: the answer in two attributes -------------------------------------------------------------------

    def _response(self, span: Span) -> Said | None:
        text, calls = span.get(names.ANSWER_TEXT), span.get(names.ANSWER_CALLS)
        if text is None and calls is None:
            return None
        body = _OPENS + b'"assistant"'
        if text is not None:
            body += b',"content":' + bytes(_as_text(text[1]))
        if calls is not None:
            body += b',"tool_calls":' + _as_json(calls[1])
        message = parse_message(msgspec.Raw(body + b"}"), "", in_place)
        if calls is None:
            return Said((message,), span.where(text[0]) if text is not None else span.pointer)
        if _breaks_off(calls[1]):
            return Said(self._plain(text_of(calls[1]), "assistant"), span.where(calls[0]), cut=True)
        inside = span.where(calls[0]).removeprefix(span.pointer)
        parts = tuple(_moved(part, "/tool_calls", inside) for part in message.calls)
        return Said((msgspec.structs.replace(message, calls=parts),), span.pointer)

    # older conventions: messages as events -----------------------------------------------------------------------

    def _from_events(self, span: Span, kinds: dict[str, str]) -> Said | None:
        messages: list[Message] = []
        cut = False
        name, role = _DETAILS[kinds is _ANSWER_EVENTS]
        whole = [event for event in span.events if event.name == _OPERATION and name in event.attributes]
        if whole:
            return self._of_operations(whole, name, role)
        for event in span.events:
            if event.name in kinds:
                messages.extend(self._of_event(event, kinds))
                cut = cut or any(_breaks_off(event.attributes[k]) for k in _JSON_FIELDS if k in event.attributes)
        found = span.get(names.EVENT_LIST)
        if found is not None and not messages:
            messages.extend(self._event_list(found[1], kinds))
            cut = _breaks_off(found[1])
        return Said(tuple(messages), "", cut) if messages or cut else None

    def _of_operations(self, events: list[Event], name: str, role: str) -> Said | None:
        """The messages in the first event that tells them; another that tells others may hide a call."""
        told = [said for said in (self._of_operation(event, name, role) for event in events) if said is not None]
        keys = [[message.key for message in said.messages] for said in told]
        if any(key != keys[0] for key in keys):
            self._doubt(Doubt(f"two events tell of one request, and not the same under {name}"))
        return next(iter(told), None)

    def _of_operation(self, event: Event, name: str, role: str) -> Said | None:
        """The messages in the one event that tells of a whole request to a model; None where a mark replaced them."""
        payload = event.attributes[name]
        if result_damage(payload) is not None:
            return None
        items, pointer = items_of(_unfolded(payload)), f"{event.pointer}/attributes/{name}"
        if not items:
            said = self._plain(text_of(payload), role)
            return Said(said, pointer, _breaks_off(payload)) if said else None
        return Said(tuple([self._parse(bytes(item), f"/{i}") for i, item in enumerate(items)]), pointer)

    def _of_event(self, event: Event, kinds: dict[str, str]) -> Iterator[Message]:
        role = kinds.get(event.name)
        if role is None:
            return
        whole = event.attributes.get("gen_ai.prompt") or event.attributes.get("gen_ai.completion")
        if whole is not None:
            yield from self._whole(whole, role)
            return
        message = self._of_fields(event.attributes, role, event.pointer)
        yield message if event.place < 0 else msgspec.structs.replace(message, place=event.place)

    def _whole(self, payload: Payload, role: str) -> Iterator[Message]:
        text = text_of(payload)
        items = items_of(text.encode("utf-8", "surrogatepass")) if text.lstrip()[:1] == "[" else []
        if not items:
            yield from self._plain(text, role)
        for index, item in enumerate(items):
            yield self._parse(bytes(item), f"/{index}")

    def _event_list(self, payload: Payload, kinds: dict[str, str]) -> Iterator[Message]:
        body = text_of(payload).encode("utf-8", "surrogatepass") if is_text(payload) else bytes(payload)
        for index, item in enumerate(items_of(body)):
            fields = fields_of(item)
            kind = fields.get("event.name")
            role = kinds.get(text_of(kind)) if kind is not None else None
            if role is not None:
                yield self._of_fields(fields, role, f"/{index}")

    def _of_fields(self, fields: dict[str, Payload], role: str, pointer: str) -> Message:
        inner = fields.get("message")
        own = {k: fields[k] for k in _MESSAGE_FIELDS if k in fields}
        known = dict(fields_of(_unfolded(inner))) if inner is not None else own
        known.setdefault("role", raw(role))
        if "id" in known and role == "tool":
            known["tool_call_id"] = known.pop("id")
        if "finish_reason" in fields:
            known.setdefault("finish_reason", fields["finish_reason"])
        told = [canonical(k) + b":" + bytes(_unfolded(v) if k in _NESTED else v) for k, v in known.items()]
        return parse_message(msgspec.Raw(b"{" + b",".join(told) + b"}"), pointer, in_place)


# the fast way: a message written exactly as the conventions say ------------------------------------------------------


def may_show(spans: TraceSpans) -> bool:
    """Whether one of these spans may show messages that a model was shown."""
    return any(map(spans.has_events, range(len(spans)))) or bool(spans.that_have(_MAY_SHOW))


def shows_prompts(spans: TraceSpans) -> list[int]:
    """The rows of the spans that may say what a model was shown."""
    return [row for row in range(len(spans)) if spans.has_events(row)] + spans.that_have(_SHOWN)


def plain_answers(spans: list[Span], *, compared: bool) -> list[Said | None]:
    """The answer of each span that holds it in the usual attribute alone, as the conventions say; None of any other.
    They have content keys where they are `compared`.
    """
    found: list[Said | None] = [None] * len(spans)
    at = [number for number, span in enumerate(spans) if _is_told_once(span)]
    for start in range(0, len(at), _TOGETHER):
        some = at[start : start + _TOGETHER]
        texts = texts_of_all([spans[one].values[spans[one].shape.numbers[_USUAL]] for one in some])
        for number, answer in zip(some, _answers_as_they_should_be(texts, compared=compared), strict=True):
            if answer is not None:
                found[number] = Said((answer,), spans[number].where(_USUAL))
    return found


def _is_told_once(span: Span) -> bool:
    """Whether the usual attribute is the only one of an answer, and longer than a mark of redaction."""
    payload = span.value(_USUAL)
    return payload is not None and len(payload) > LONGEST_MARK and span.names.keys().isdisjoint(names.ANSWER[1:])


def _answer_as_it_should_be(body: bytes | str | Payload) -> Message | None:
    draft = _drafted(body)
    return None if draft is None else draft.message(content_key(*draft.words))


def _answers_as_they_should_be(texts: list[str], *, compared: bool) -> list[Message | None]:
    """The same of each of these."""
    drafts = list(map(_drafted, texts))
    words = [draft.words for draft in drafts if draft is not None]
    keys = iter(content_keys(words) if compared else [b""] * len(words))
    return [None if draft is None else draft.message(next(keys)) for draft in drafts]


def _drafted(body: bytes | str | Payload) -> _Draft | None:
    """The one message of a list of such messages."""
    try:
        told = _genai_messages(body)
    except _REFUSED:
        return None
    return _draft(told[0], "/0") if len(told) == 1 else None


def _as_it_should_be(item: bytes, pointer: str) -> Message | None:
    try:
        draft = _draft(_genai_message(item), pointer)
    except _REFUSED:
        return None
    return None if draft is None else draft.message(content_key(*draft.words))


_PARTS = tuple(f"/parts/{index}" for index in range(64))


class _Draft(NamedTuple):
    """A message before its key is known."""

    told: _GenAiMessage
    pointer: str
    words: Words

    def message(self, key: bytes) -> Message:
        """The message, with its content key."""
        role, said, calls, results = self.words
        name = "" if role == "tool" else self.told.name or ""
        finish = intern(self.told.finish_reason or "")
        return Message(role, key, self.pointer, said, tuple(calls), tuple(results), name, finish)


def _draft(told: _GenAiMessage, pointer: str) -> _Draft | None:
    """The message of these parts, or None where one of them needs the reader of every vocabulary."""
    texts: list[Payload] = []
    calls: list[Part] = []
    results: list[Part] = []
    for index, part in enumerate(told.parts):
        where = _PARTS[index] if index < len(_PARTS) else intern(f"/parts/{index}")
        if part.type in ("text", "reasoning") and is_text(part.content):
            texts.append(part.content)
        elif part.type == "tool_call" and part.name:
            given = _given(part.arguments)
            damage = None if given is None else arguments_damage(given)
            calls.append(Part(intern(part.name), part.id or None, given, where, tainted=damage))
        elif part.type == "tool_call_response":
            payload = _given(part.response) or _given(part.result)
            if payload is not None and result_damage(payload) is not None:
                payload = None
            results.append(Part(part.name or "", part.id or None, payload, where))
        else:
            return None
    return _Draft(told, pointer, (intern(told.role.lower()), joined(texts), calls, results))


def _given(payload: Payload) -> Payload | None:
    return None if payload is _ABSENT or bytes(payload) == b"null" else payload


_SHOWN = frozenset({*names.PROMPT, *names.SYSTEM_INSTRUCTIONS, *names.REQUEST_BODY, *names.EVENT_LIST})
"""Attributes that hold what a model was shown."""
_MAY_SHOW = _SHOWN | frozenset(names.WHOLE_CONVERSATION)
_JSON_FIELDS = ("message", "tool_calls", "gen_ai.prompt", "gen_ai.completion")
_MESSAGE_FIELDS = ("role", "content", "tool_calls", "id", "name")
_NESTED = frozenset({"tool_calls"})
_OPERATION = "gen_ai.client.inference.operation.details"
_DETAILS = (("gen_ai.input.messages", "user"), ("gen_ai.output.messages", "assistant"))
"""The event that tells of a whole request, and where what went in and what came out stand in it."""
_PROMPT_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.content.prompt": "user",
    "gen_ai.prompt": "user",
}
_ANSWER_EVENTS = {
    "gen_ai.choice": "assistant",
    "gen_ai.content.completion": "assistant",
    "gen_ai.completion": "assistant",
}


def _instructions(payload: Payload) -> Message:
    """System instructions, a list of parts or plain text, as the message that they are."""
    body = text_of(payload) if is_text(payload) else bytes(payload).decode("utf-8", "replace")
    is_list = body.lstrip()[:1] == "["
    content = b'"parts":' + body.encode("utf-8", "surrogatepass") if is_list else b'"content":' + canonical(body)
    return parse_message(msgspec.Raw(_OPENS + b'"system",' + content + b"}"), "", in_place)


def _breaks_off(payload: Payload) -> bool:
    """Whether a text begins as a JSON list or object and is none, as a length limit leaves it."""
    unfolded = _unfolded(payload)
    return unfolded is not payload and decode(unfolded).error is not None


def _unfolded(payload: Payload) -> Payload:
    """A JSON text held in a string as the JSON itself."""
    if not is_text(payload):
        return payload
    text = text_of(payload)
    return msgspec.Raw(text.encode("utf-8", "surrogatepass")) if text.lstrip()[:1] in ("{", "[") else payload


def _as_json(payload: Payload) -> bytes:
    unfolded = bytes(_unfolded(payload))
    return unfolded if unfolded[:1] in (b"[", b"{") else b"[]"


def _as_text(payload: Payload) -> Payload:
    """A text as it is; a value that an export decoded, as the text of its JSON again."""
    return payload if is_text(payload) else raw(bytes(payload).decode("utf-8", "replace"))


def _moved(part: Part, old: str, new: str) -> Part:
    return msgspec.structs.replace(part, pointer=new + part.pointer.removeprefix(old))


def _placed(message: Message, item: Item) -> Message:
    """A message of flattened attributes, its calls where their own attributes stand."""
    if not message.calls:
        results = tuple(msgspec.structs.replace(part, pointer="") for part in message.results)
        return msgspec.structs.replace(message, pointer=item.own, results=results)
    return msgspec.structs.replace(
        message,
        pointer="",
        calls=tuple(msgspec.structs.replace(part, pointer=_call_place(part, item)) for part in message.calls),
        results=tuple(msgspec.structs.replace(part, pointer=item.own) for part in message.results),
    )


def _call_place(part: Part, item: Item) -> str:
    kind, _, number = part.pointer.removeprefix("/").partition("/")
    return item.calls.get(number.partition("/")[0], item.own) if kind == "tool_calls" else item.own


def _asked(said: Said) -> list[tuple[str, str]]:
    """The calls of an answer, as far as every vocabulary tells them."""
    return sorted((part.tool, part.recorded_id or "") for message in said.messages for part in message.calls)


def _merged(messages: tuple[Message, ...]) -> Message:
    """Several answers of one model call (choices, items) as one: every call in it may have run."""
    first = messages[0]
    return msgspec.structs.replace(
        first,
        pointer="",
        key=b"".join(m.key for m in messages),
        text=joined([m.text for m in messages if m.text is not None]),
        calls=tuple(_moved(p, "", m.pointer) for m in messages for p in m.calls),
        results=tuple(_moved(p, "", m.pointer) for m in messages for p in m.results),
        finish=next((m.finish for m in messages if m.finish), ""),
    )
