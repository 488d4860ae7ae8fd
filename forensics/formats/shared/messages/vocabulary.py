"""What does this message say, in whichever vocabulary it is written? OpenAI Chat and Responses, Anthropic Messages,
Gemini contents, OpenTelemetry GenAI parts and LangChain dumps, told apart message by message from their own keys.

Payloads stay views into the bytes they came from unless `keep` copies them (FORMATS section 0: five encodings of
arguments, calls that stand twice in one message).
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import canonical, decode, text_of, texts_of_all, unfold, value_of, values_of
from forensics.core.limits import limits
from forensics.core.messages import MODEL_ROLES, Message, Part
from forensics.core.sanitise import one_line
from forensics.formats.shared.fields import (
    Fields,
    fields_of,
    items_of,
    object_in,
    opens_with,
    present,
    text,
)
from forensics.formats.shared.messages.beside import doubt_beside
from forensics.formats.shared.messages.blocks import COMPACTED, read_content, read_item, read_tool_calls
from forensics.formats.shared.messages.draft import Draft, Keep, is_cut
from forensics.formats.shared.messages.spelled import read_spelled
from forensics.formats.shared.wholeness import TRUNCATED, finish_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.core.trace import Payload


def in_place(raw: Payload) -> Payload:
    """Keep a payload where it stands: for bytes of the mapped evidence."""
    return raw


def copied(raw: Payload) -> Payload:
    """Keep a copy of a payload: for bytes that would otherwise hold a whole decoded prompt in memory."""
    return msgspec.Raw(bytes(raw))


def parse_message(raw: Payload | memoryview, pointer: str, keep: Keep = in_place) -> Message:
    """One message, or one item of a Responses list, as a Message. Never raises: what is not understood is its text,
    and a doubt where it may hide something.
    """
    fields, below = _unwrap(fields_of(raw))
    draft = Draft(keep)
    draft.role = _role(fields)
    read_item(draft, fields, "")
    read_content(draft, fields)
    read_tool_calls(draft, fields)
    read_spelled(draft)
    if not fields or (draft.role in _TOLD_WHOLE and not draft.texts and not draft.calls and not draft.results):
        draft.texts.append(keep(msgspec.Raw(bytes(raw))))
    _doubt_message(draft, fields)
    return message_of(draft, fields, pointer + below)


_ROLE_OF_ITEM = {
    "message": "assistant", "reasoning": "assistant", "program": "assistant",
    "user_input": "user", "model_output": "assistant", "thought": "assistant",
    "mcp_approval_request": "approval_request", "mcp_approval_response": "approval",
}  # fmt: skip
_ROLE_OF_CLASS = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
_OF_LANGCHAIN = frozenset({"additional_kwargs", "response_metadata"})
_TOOLS = frozenset({"function", "toolresult"})
"""Roles, in small letters, of what a tool gave back."""
_TOLD_WHOLE = frozenset({"other", "approval_request", "approval"})
_ROLES = MODEL_ROLES | {"system", "developer", "user", "human", "tool", "error", "approval_request", "approval"}
_ELSEWHERE = frozenset({"item_reference"})
_NO_EVENT = frozenset({"mcp_list_tools"})


def _unwrap(fields: Fields) -> tuple[Fields, str]:
    """The fields of the message that an object is or wraps, and where it stands in that: a LangChain dump (`lc`,
    `kwargs`) or dict (`type`, `data`), or a role with the message beside it (Cursor's transcripts).
    """
    held = fields.get("message")
    if held is not None and "role" in fields and _SAYS.isdisjoint(fields) and opens_with(held, b"{"):
        return {**fields_of(held), "role": fields["role"]}, "/message"
    return _of_langchain(fields), ""


def is_of_langchain(fields: Fields) -> bool:
    """Whether an object is a message that LangChain wrote as a dict: its type with its data, or its fields."""
    if text(fields, "type") not in _ROLE_OF_CLASS:
        return False
    inner = object_in(fields, "data") if "data" in fields else fields
    return "content" in inner and not _OF_LANGCHAIN.isdisjoint(inner)


def _of_langchain(fields: Fields) -> Fields:
    inner = fields.get("kwargs") if "lc" in fields else fields.get("data") if "type" in fields else None
    if inner is None:
        return fields
    kwargs = fields_of(inner)
    kind = text(kwargs, "type") or text(fields, "type")
    if "lc" in fields:
        names = value_of(fields["id"]) if "id" in fields else []
        name = str(names[-1]) if isinstance(names, list) and names else ""
        kind = name.removesuffix("Chunk").removesuffix("Message").lower() or kind
    return {**kwargs, "role": msgspec.Raw(canonical(_ROLE_OF_CLASS.get(kind, kind)))} if kwargs else fields


def _role(fields: Fields) -> str:
    role = text(fields, "role").lower()
    if role:
        return "tool" if role in _TOOLS else role
    kind = text(fields, "type")
    if kind in _ROLE_OF_CLASS and "content" in fields:
        return _ROLE_OF_CLASS[kind]
    if kind in _ROLE_OF_ITEM:
        return _ROLE_OF_ITEM[kind]
    if kind.endswith(("_output", "tool_result", "_result")):
        return "tool"
    if kind.endswith(("_call", "tool_use")):
        return "assistant"
    return "model" if "parts" in fields else "other"


def _doubt_message(draft: Draft, fields: Fields) -> None:
    """What of the whole message was not understood and may hide something."""
    kind = text(fields, "type")
    if not fields:
        draft.doubt("an item that is no message")
    elif kind in _ELSEWHERE:
        draft.doubt(f"an item that stands elsewhere ({kind}): what it says is not recorded here")
    elif kind in COMPACTED:
        draft.doubt("what was said before was replaced by a summary that can't be read", code="compacted_history")
    elif draft.role not in _ROLES and kind not in _NO_EVENT:
        told = f"the role {one_line(draft.role, 40)}" if draft.role != "other" else f"the kind {one_line(kind, 40)}"
        draft.doubt(f"a message of {told}, which is not known")
    elif draft.calls and draft.role not in MODEL_ROLES:
        draft.doubt(asks_for_calls(draft.role))
    elif draft.role in MODEL_ROLES and "role" in fields and _holds_nothing(draft, fields):
        draft.doubt("a message of the model without anything in it that is read")
    elif draft.role == "tool" and not draft.results:
        draft.doubt("a message of a tool that shows no result that is read")
    if draft.role in MODEL_ROLES:
        doubt_beside(draft, fields)
    _doubt_wholeness(draft, fields)


def _holds_nothing(draft: Draft, fields: Fields) -> bool:
    """Whether neither words nor calls were read, and no member says that there are none (`"content": []`)."""
    read = draft.texts or draft.calls or draft.results or draft.media
    return not read and present(fields, *_SAYS) is None


_SAYS = frozenset(
    [
        "content",
        "blocks",
        "items",
        "parts",
        "text",
        "refusal",
        "audio",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "thinking",
    ]
)
"""The members in which a message says something."""


def _doubt_wholeness(draft: Draft, fields: Fields) -> None:
    if is_cut(fields) and not draft.calls and not draft.results:
        draft.doubt("a message that says it is not whole", code=TRUNCATED)
    broken = present(fields, "invalid_tool_calls")
    if broken is not None and items_of(broken):
        draft.doubt("calls whose arguments could not be read (invalid_tool_calls)", "/invalid_tool_calls")


def asks_for_calls(role: str) -> str:
    """The doubt about a message that asks for calls and is of a role that does not."""
    return f"a message of the {one_line(role, 40)} asks for calls"


# the whole message ---------------------------------------------------------------------------------------------------


def message_of(draft: Draft, fields: Fields, pointer: str) -> Message:
    """The message that a draft has become; `fields` are those of the object that says it."""
    said = joined(draft.texts)
    return Message(
        role=draft.role,
        key=content_key(draft.role, said, draft.calls, draft.results),
        pointer=pointer,
        text=said,
        calls=tuple(draft.calls),
        results=tuple(draft.results),
        name=text(fields, "name") if draft.role != "tool" else "",
        finish=_finish(fields),
        item=_is_item(fields),
        doubts=tuple(draft.doubts),
        media=tuple(draft.media),
    )


_FINISH = ("finish_reason", "stop_reason", "finishReason")


def _finish(fields: Fields) -> str:
    """Why the model ended, as the message itself says it (LangChain: in its response_metadata)."""
    told = finish_words(present(fields, *_FINISH))
    meta = present(fields, "response_metadata") if not told else None
    return " ".join(told if meta is None else finish_words(present(fields_of(meta), *_FINISH)))


_SAID_BY_THE_MODEL = frozenset({"reasoning", "message", "program", "thought", "model_output"})


def _is_item(fields: Fields) -> bool:
    kind = text(fields, "type")
    return kind in _SAID_BY_THE_MODEL or kind.endswith("_call")


def joined(texts: list[Payload]) -> Payload | None:
    """The texts of one message as one, a line each."""
    if not texts[1:]:
        return texts[0] if texts else None
    return msgspec.Raw(canonical("\n".join(text_of(t) for t in texts)))


Words = tuple[str, "Payload | None", "Sequence[Part]", "Sequence[Part]"]
"""What a message says: its role, its text, the calls that it asks for and the results that it shows."""


def content_key(role: str, said: Payload | None, calls: Sequence[Part], results: Sequence[Part]) -> bytes:
    """Equal for messages that say the same, however they are written (arguments as text or as an object).

    Each piece is framed by its length, so that no text can pass for a call.
    """
    spoken = "" if said is None else text_of(said)
    told = [canonical(_value(part.payload)) for part in (*calls, *results) if part.payload is not None]
    return _key(role, spoken, calls, results, iter(told))


def content_keys(messages: Sequence[Words]) -> list[bytes]:
    """The content key of each of these."""
    spoken = iter(texts_of_all([said for _, said, _, _ in messages if said is not None]))
    parts = [part for _, _, calls, results in messages for part in (*calls, *results)]
    told = iter(_canonical_values([part.payload for part in parts if part.payload is not None]))
    return [
        _key(role, "" if said is None else next(spoken), calls, results, told)
        for role, said, calls, results in messages
    ]


def _key(role: str, spoken: str, calls: Sequence[Part], results: Sequence[Part], told: Iterator[bytes]) -> bytes:
    """The content key of what is told so; what each of its parts holds, if it holds something, is told in order."""
    speaker, spoken = "assistant" if role in MODEL_ROLES else role, spoken.strip()
    pieces = _utf8(f"{len(speaker)}:{speaker}{len(spoken)}:{spoken}")
    for part in calls:
        pieces += _framed("call", part, part.tool, b"" if part.payload is None else next(told))
    for part in results:
        pieces += _framed("result", part, "", b"" if part.payload is None else next(told))
    return blake2b(pieces, digest_size=16).digest()


def _framed(kind: str, part: Part, name: str, value: bytes) -> bytes:
    recorded_id = part.recorded_id or ""
    return _utf8(f"{kind}{len(recorded_id)}:{recorded_id}{len(name)}:{name}{len(value)}:") + value


def _canonical_values(payloads: Sequence[Payload]) -> list[bytes]:
    if max(map(len, payloads), default=0) <= limits().nesting:
        return list(map(canonical, values_of(payloads)))
    return [canonical(_value(payload)) for payload in payloads]


def _value(payload: Payload) -> object:
    """The value of a payload, one that is nested too deep as `decode` tells it; a short one is not."""
    return value_of(payload) if len(payload) <= limits().nesting else unfold(decode(payload).value)


def _utf8(told: str) -> bytes:
    return told.encode("utf-8", "surrogatepass")
