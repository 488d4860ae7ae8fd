"""What do the messages of one Inspect sample say? Long texts stand apart as attachments, and newer logs keep the
messages of all prompts in one pool that model events point into by ranges.
"""

from __future__ import annotations

import re

import msgspec

from forensics.core.jsonvalue import canonical, raw
from forensics.core.limits import exceeded, limits
from forensics.core.messages import Message, Part
from forensics.core.trace import Payload
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    fields_of,
    is_text,
    is_true,
    items_in,
    items_of,
    object_in,
    present,
    text,
)
from forensics.formats.shared.messages.vocabulary import parse_message

_ATTACHMENT = re.compile(rb'"attachment://([^"\\]{1,128})"')
_NOTHING = msgspec.Raw(b"null")
_TIMES_OUT = frozenset({"timeout"})
_DENIES = frozenset({"approval"})


class Sample:
    """The texts and messages of one sample."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields
        self.missing = 0
        self._attachments = object_in(fields, "attachments")
        older = present(fields, "message_pool")
        pool = object_in(fields, "events_data").get("messages", _NOTHING)
        self._pool = items_of(pool if older is None else older)
        self._pool_pointer = "/events_data/messages" if older is None else "/message_pool"
        self._pooled: dict[int, Message] = {}
        self._written_out = 0
        self._referenced = 0

    def resolved(self, value: Payload) -> Payload:
        """The value with the attachments that it names written out. Raises LimitExceededError where that takes more
        than an evidence may unpack to.
        """
        if _ATTACHMENT.search(value) is None:
            return value
        return msgspec.Raw(_ATTACHMENT.sub(self._written, bytes(value)))

    def _written(self, reference: re.Match[bytes]) -> bytes:
        held = self._attachments.get(reference[1].decode("utf-8", "replace"))
        if held is None:
            self.missing += 1
            return reference[0]
        self._written_out += len(memoryview(held))
        if self._written_out > limits().unpacked:
            raise exceeded("unpacked", f"the attachments of a sample, written out, fill {self._written_out} bytes")
        return bytes(held)

    def prompt(self, event: Fields, pointer: str) -> tuple[tuple[Message, ...], int]:
        """The messages that a model event was given, and how many of those that it points to are not in the pool."""
        listed = tuple(self.message(item, f"{pointer}/input/{at}") for at, item in enumerate(items_in(event, "input")))
        pooled: list[Message] = []
        lacking = 0
        for first, last in _ranges(event.get("input_refs", _NOTHING)):
            end = min(last, len(self._pool))
            lacking += max(last - max(end, first), 0)
            self._refer(end - first)
            pooled.extend(self._from_pool(at) for at in range(first, end))
        return (*listed, *pooled), lacking

    def _refer(self, count: int) -> None:
        self._referenced += max(count, 0)
        if self._referenced > limits().records:
            raise exceeded("records", f"the prompts of a sample point to {self._referenced} messages")

    def _from_pool(self, at: int) -> Message:
        message = self._pooled.get(at)
        if message is None:
            message = self._pooled[at] = self.message(self._pool[at], f"{self._pool_pointer}/{at}")
        return message

    def message(self, value: Payload, pointer: str) -> Message:
        """One message, with the attachments in it; `pointer` is its place in the sample."""
        fields = fields_of(self.resolved(value))
        content = present(fields, "content")
        if content is not None and not is_text(content):
            fields = {**fields, "content": _blocks(content)}
        if text(fields, "role") != "tool":
            return parse_message(as_object(fields), pointer)
        return _tool_message(fields, pointer)


def _ranges(told: Payload) -> list[tuple[int, int]]:
    """The ranges of pool messages, the end not included; what is no range is none."""
    try:
        found = msgspec.json.decode(told, type=list[tuple[int, int]] | None)
    except msgspec.DecodeError:
        return []
    return [(max(first, 0), last) for first, last in found or []]


def _tool_message(fields: Fields, pointer: str) -> Message:
    """A result; of one that failed the model was given the error."""
    failure = failure_of(fields)
    content = present(fields, "content") if failure is None else failure.said
    part = Part(
        text(fields, "function"),
        text(fields, "tool_call_id") or None,
        content,
        "/content" if failure is None else "/error/message",
        failed=failure is not None,
        denied=failure is not None and failure.denied,
        unsettled=failure is not None and failure.unsettled,
    )
    message = parse_message(as_object({**fields, "content": _NOTHING if content is None else content}), pointer)
    return msgspec.structs.replace(message, results=(part,), text=None)


class Failure(msgspec.Struct, frozen=True):
    """How a call failed: what the model was told, and whether it was refused or may have taken effect all the same."""

    said: Payload
    denied: bool = False
    unsettled: bool = False

    @property
    def status(self) -> str:
        """The status of an execution that ended so."""
        return "denied" if self.denied else "unsettled" if self.unsettled else "error"


def failure_of(fields: Fields) -> Failure | None:
    """The failure that a tool message or a tool event tells, or None."""
    told = present(fields, "error")
    if told is None:
        return Failure(present(fields, "result", "content") or _NOTHING) if is_true(fields, "failed") else None
    inner = fields_of(told)
    kind = text(inner, "type")
    return Failure(present(inner, "message") or told, denied=kind in _DENIES, unsettled=kind in _TIMES_OUT)


# blocks that are Inspect's own ---------------------------------------------------------------------------------------


def _blocks(content: Payload) -> Payload:
    """The content with Inspect's own blocks as those of the APIs: reasoning, and tools that a provider ran."""
    blocks = items_of(content)
    if not any(text(fields_of(block), "type") in ("reasoning", "tool_use") for block in blocks):
        return content
    return msgspec.Raw(b"[" + b",".join(bytes(_block(block)) for block in blocks) + b"]")


def _block(block: Payload) -> Payload:
    fields = fields_of(block)
    kind = text(fields, "type")
    if kind == "reasoning":
        said = present(fields, "reasoning")
        redacted = present(fields, "summary") if is_true(fields, "redacted") else said
        return as_object({"type": fields["type"], "text": _NOTHING if redacted is None else redacted})
    if kind != "tool_use":
        return block
    ran = {"type": msgspec.Raw(canonical(f"{text(fields, 'tool_type') or 'server_tool'}_call"))}
    named = {"id": "id", "name": "name", "arguments": "arguments", "result": "output", "error": "error"}
    ran |= {told: fields[name] for name, told in named.items() if present(fields, name) is not None}
    if present(fields, "context") is not None:
        ran["server_label"] = fields["context"]
    if "error" in ran:
        ran["status"] = raw("failed")
    return as_object(ran)
