"""What does an event of a Temporal history say, however it was exported? Its kind in one spelling, its members in camel
or snake case, and payloads that are base64 with an encoding beside them, or plain JSON where the exporter decoded them.
"""

from __future__ import annotations

import base64
import binascii

import msgspec

from forensics.core.jsonvalue import decode, text_of
from forensics.core.times import nanoseconds
from forensics.core.trace import Payload
from forensics.formats.shared.fields import Fields, fields_of, is_text, items_of, opens_with, present, spelled, text

NULL = msgspec.Raw(b"null")
_PREFIX = "EVENT_TYPE_"

_DIGITS = 19  # of a number that 64 bits may not hold


class Event(msgspec.Struct, frozen=True):
    """One event: its number, its kind (`activity_task_scheduled`), its attributes by names in snake case, and when."""

    number: int
    kind: str
    attributes: Fields
    at: int

    def text(self, *names: str) -> str:
        """The text of the first of these attributes that holds one."""
        return text(self.attributes, *names)

    def number_of(self, *names: str) -> int:
        """The number in the first of these attributes (an event's number may be text); -1 where there is none."""
        told = self.text(*names)
        return int(told) if told.isascii() and told.isdigit() and len(told) < _DIGITS else -1

    def member(self, name: str, inner: str) -> str:
        """The text of a member of an attribute: the name of a type."""
        told = present(self.attributes, name)
        return "" if told is None else text(snake(fields_of(told)), inner)


def snake(fields: Fields) -> Fields:
    """The fields by their names in snake case."""
    return {spelled(name): value for name, value in fields.items()}


def event_of(raw: Payload) -> Event | None:
    """The event, or None for what is none."""
    fields = snake(fields_of(raw))
    number, kind = text(fields, "event_id"), text(fields, "event_type")
    if not kind or not (number.isascii() and number.isdigit()):
        return None
    kind = spelled(kind.removeprefix(_PREFIX)) if kind.startswith(_PREFIX) else spelled(kind)
    attributes = present(fields, f"{kind}_event_attributes", "attributes")
    return Event(
        int(number[:18]),
        kind,
        {} if attributes is None else snake(fields_of(attributes)),
        nanoseconds(present(fields, "event_time")),
    )


class Payloads(msgspec.Struct, frozen=True):
    """The values of a list of payloads in order; `unread` names the encoding of one that can't be read ("": none)."""

    values: tuple[Payload, ...] = ()
    unread: str = ""

    @property
    def one(self) -> Payload | None:
        """The only value; several as one list; None where there is none, or where one can't be read."""
        if self.unread or not self.values:
            return None
        if len(self.values) == 1:
            return self.values[0]
        return msgspec.Raw(b"[" + b",".join(bytes(v) for v in self.values) + b"]")


def payloads_of(told: Payload | None) -> Payloads:
    """The payloads of an attribute: `{"payloads": […]}`, one payload, or the plain values that some exporters write."""
    if told is None:
        return Payloads()
    if opens_with(told, b"["):
        return _joined(items_of(told))
    fields = fields_of(told)
    listed = present(fields, "payloads")
    if listed is not None:
        return _joined(items_of(listed))
    return _joined([told])


def _joined(items: list[Payload]) -> Payloads:
    values, unread = [], ""
    for item in items:
        value, encoding = _value(item)
        values.append(value)
        unread = unread or encoding
    return Payloads(tuple(values), unread)


def _value(item: Payload) -> tuple[Payload, str]:
    """The value of one payload, and the encoding by which it can't be read."""
    fields = fields_of(item) if opens_with(item, b"{") else {}
    metadata = present(fields, "metadata")
    if metadata is None or fields.keys() - {"metadata", "data", "externalPayloads"}:
        return item, ""
    encoding = _plain(text(fields_of(metadata), "encoding"))
    if encoding == "binary/null":
        return NULL, ""
    data = present(fields, "data")
    if data is None or not is_text(data):
        return (NULL, encoding or "none") if data is None else (data, "")
    if not encoding.startswith("json/"):
        return data, encoding or "not said"
    held = _decoded(text_of(data))
    return (data, f"{encoding}, damaged") if held is None else (held, "")


def _decoded(data: str) -> Payload | None:
    """The JSON value in base64 (or, from some exporters, as it is); None where it is none."""
    try:
        held = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        held = data.encode("utf-8", "surrogatepass")
    return None if decode(held).error is not None else msgspec.Raw(held)


def _plain(encoding: str) -> str:
    """The encoding, which protobuf's JSON writes in base64 as well."""
    if "/" in encoding:
        return encoding
    try:
        return base64.b64decode(encoding, validate=True).decode("ascii", "replace")
    except (binascii.Error, ValueError):
        return encoding
