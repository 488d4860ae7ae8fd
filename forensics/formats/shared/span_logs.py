"""Which messages of a span stand in a log record beside it? CloudWatch and the older conventions keep content there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.jsonvalue import raw
from forensics.formats.shared.fields import Fields, fields_of, is_text, items_of, opens_with, present, text
from forensics.formats.shared.spans import Event

if TYPE_CHECKING:
    from collections.abc import Iterator

_TIMES = ("startTimeUnixNano", "start_time", "startTime", "start_time_unix_nano", "endTimeUnixNano", "end_time")
_EVENT_OF_SIDE = {"input": "gen_ai.user.message", "output": "gen_ai.choice"}


def is_log(fields: Fields) -> bool:
    """Whether a record is a log record: it has a body and never began or ended."""
    return "body" in fields and not any(name in fields for name in _TIMES)


def events_of(fields: Fields, place: int, pointer: str) -> list[Event]:
    """The messages that a log record tells, as events of its span."""
    body = fields_of(fields["body"])
    sides = [side for side in _EVENT_OF_SIDE if side in body and opens_with(body[side], b"{")]
    if sides:
        return [event for side in sides for event in _of_side(body, side, place, f"{pointer}/body/{side}")]
    name = text(fields, "eventName", "event_name", "name")
    attributes = present(fields, "attributes")
    if not name and attributes is not None and opens_with(attributes, b"{"):
        name = text(fields_of(attributes), "event.name")
    return [Event(name, body, f"{pointer}/body", place)] if name.startswith("gen_ai.") and body else []


def _of_side(body: Fields, side: str, place: int, pointer: str) -> Iterator[Event]:
    """The messages of a body that tells what went in and what came out."""
    listed = present(fields_of(body[side]), "messages")
    for index, item in enumerate(items_of(listed) if listed is not None else ()):
        fields = fields_of(item)
        content = present(fields, "content")
        if content is not None and opens_with(content, b"{"):
            inner = fields_of(content)
            told = present(inner, "content", "message")
            fields = {**fields, "content": told if told is not None else raw(bytes(content).decode("utf-8", "replace"))}
        if fields or is_text(item):
            told_fields = fields or {"content": item}
            yield Event(_EVENT_OF_SIDE[side], told_fields, f"{pointer}/messages/{index}", place)
