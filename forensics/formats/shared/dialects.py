"""What do the attributes of another vocabulary say in the names that are read? Names that only differ are rows in the
tables of `span_names`; here stands what has another shape: flattened lists, wrapped arguments, texts in events.

Nothing is taken away: what is translated stands beside what was recorded, under a name of its own and with the place of
the attribute that it came from, so that two vocabularies in one span are compared and not merged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import canonical, raw, text_of, unfold, value_of
from forensics.core.pointers import escape
from forensics.formats.shared.fields import Fields, fields_of, is_text, present
from forensics.formats.shared.flattened import Flat, put_together
from forensics.formats.shared.monocle import translate_monocle
from forensics.formats.shared.python_repr import from_repr
from forensics.formats.shared.span_names import LANGFUSE_END, TOOL_ARGUMENTS, TOOL_CALL_ID
from forensics.formats.shared.spans import Attributes, Event, Spread, below

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from forensics.core.trace import Payload

_OTHER_VOCABULARIES = (
    "openinference.span.kind", "traceloop.span.kind", "span.type", "ai.operationId", "langfuse.observation.type",
)  # fmt: skip
MARKS = frozenset(_OTHER_VOCABULARIES)
"""Names that say: a span is written in a vocabulary with another shape."""


class Told:
    """The attributes of one span while they are translated."""

    def __init__(self, attributes: Attributes, slots: list[int | str], events: Sequence[Event], pointer: str) -> None:
        self.attributes = attributes
        self.slots = slots
        self.events = events
        self.pointer = pointer
        self.spread: dict[str, Spread] = {}

    def text(self, name: str) -> str:
        """The text of an attribute, else ""."""
        payload = self.attributes.get(name)
        return "" if payload is None else text_of(payload)

    def place(self, name: str) -> str:
        """Where an attribute stands, below the span."""
        return below(self.slots[list(self.attributes).index(name)], name)

    def put(self, name: str, payload: Payload, place: str) -> None:
        """Add what was translated, where nothing of that name is told."""
        if name not in self.attributes:
            self.attributes[name] = payload
            self.slots.append(place)

    def of_event(self, name: str, *fields: str) -> tuple[Payload, str] | None:
        """The first of these attributes of the last event of that name, and where it stands."""
        for event in reversed(self.events):
            if event.name == name:
                found = next((field for field in fields if field in event.attributes), None)
                if found is not None:
                    place = event.pointer.removeprefix(self.pointer)
                    return event.attributes[found], f"{place}/attributes/{escape(found)}"
        return None


def translate(told: Told, flat: Sequence[Flat]) -> None:
    """Add to the attributes of a span what other vocabularies say."""
    families = put_together(flat) if flat else {}
    for family, together in families.items():
        if family != "entity":
            items = together.spread.items
            told.spread[family] = together.spread
            told.put(family, together.payload, items[0].own if items else "/attributes")
    for name in _OTHER_VOCABULARIES:
        if name in told.attributes:
            _TRANSLATORS[name](told, flat)


def _openinference(told: Told, _flat: Sequence[Flat]) -> None:
    if told.text("openinference.span.kind").strip().lower() != "tool":
        return
    _unwrap_arguments(told, "input.value")
    schema = told.attributes.get("tool.parameters")
    if schema is not None and not any(name in told.attributes for name in TOOL_ARGUMENTS) and not _is_schema(schema):
        told.put("input.value", schema, told.place("tool.parameters"))
    _unwrap_result(told, "output.value")


def _traceloop(told: Told, _flat: Sequence[Flat]) -> None:
    kind = told.text("traceloop.span.kind").strip().lower()
    if kind == "agent" and "traceloop.entity.name" in told.attributes:
        told.put("gen_ai.agent.name", told.attributes["traceloop.entity.name"], told.place("traceloop.entity.name"))
    if kind == "tool":
        _unwrap_arguments(told, "traceloop.entity.input")
        _unwrap_result(told, "traceloop.entity.output")


def _vercel(told: Told, _flat: Sequence[Flat]) -> None:
    """The answer of a model may be an object that is no text: as the text of its JSON."""
    said = told.attributes.get("ai.response.object")
    if said is not None and not is_text(said):
        told.attributes["ai.response.object"] = raw(bytes(said).decode("utf-8", "replace"))


_USED = {
    "gen_ai.usage.input_tokens": ("input", "prompt_tokens", "input_tokens"),
    "gen_ai.usage.output_tokens": ("output", "completion_tokens", "output_tokens"),
}
_OFFERED = {"gen_ai.request.tools": ("tools", "functions")}


def _langfuse(told: Told, _flat: Sequence[Flat]) -> None:
    """How an observation ended, and what stands together in one JSON text: the tokens, the tools in a request."""
    level, message = LANGFUSE_END
    if told.text(level).strip().upper() == "ERROR":
        told.put("tool.status", raw("error"), told.place(level))
        if message in told.attributes:
            told.put("exception.message", told.attributes[message], told.place(message))
    _put_from(told, "langfuse.observation.usage_details", _USED)
    if told.text("langfuse.observation.type").strip().lower() == "generation":
        _put_from(told, "langfuse.observation.input", _OFFERED)


def _put_from(told: Told, whole: str, parts: Mapping[str, tuple[str, ...]]) -> None:
    """Add members of an attribute that is a JSON object, each by the first of its names."""
    payload = told.attributes.get(whole)
    fields = {} if payload is None else fields_of(_json_of(payload))
    for name, kinds in parts.items():
        found = present(fields, *kinds)
        if found is not None:
            told.put(name, found, told.place(whole))


_TRANSLATORS: dict[str, Callable[[Told, Sequence[Flat]], None]] = {
    "openinference.span.kind": _openinference,
    "traceloop.span.kind": _traceloop,
    "span.type": translate_monocle,
    "ai.operationId": _vercel,
    "langfuse.observation.type": _langfuse,
}


# arguments and results in their wrapping -----------------------------------------------------------------------------

_WRAPPING = frozenset({"args", "kwargs", "sanitize_inputs_outputs", "inputs", "input_str", "tags", "metadata"})


def _unwrap_arguments(told: Told, name: str) -> None:
    payload = told.attributes.get(name)
    if payload is not None:
        told.attributes[name] = plain_arguments(payload)


def plain_arguments(payload: Payload) -> Payload:
    """The arguments of a call without the wrapping of the function that was called, and as JSON where they are written
    as Python writes them.
    """
    fields = fields_of(_json_of(payload))
    if not fields or not fields.keys() <= _WRAPPING or not fields.keys() & {"kwargs", "inputs", "input_str"}:
        return from_repr(payload)
    inner = present(fields, "inputs", "input_str")
    if inner is not None:
        return from_repr(inner)
    positional = fields.get("args")
    return fields["kwargs"] if positional is None or bytes(positional).strip() in (b"[]", b"null") else payload


def _json_of(payload: Payload) -> Payload:
    if not is_text(payload):
        return payload
    return msgspec.Raw(text_of(payload).encode("utf-8", "surrogatepass"))


def _is_schema(payload: Payload) -> bool:
    """Whether an object describes parameters, instead of giving them."""
    value = unfold(value_of(payload))
    if not isinstance(value, dict):
        return True
    described = [v for v in value.values() if isinstance(v, dict) and ("type" in v or "description" in v)]
    return "properties" in value or (bool(described) and len(described) == len(value))


def _unwrap_result(told: Told, name: str) -> None:
    """A tool message that stands where the result should: its content, and the id of the call that it answers."""
    payload = told.attributes.get(name)
    if payload is None:
        return
    fields = fields_of(_json_of(payload))
    wrapped = fields.keys() <= {"output", "kwargs"} and present(fields, "output")
    message = _tool_message(fields_of(_json_of(wrapped)) if wrapped else fields)
    content, recorded = present(message, "content"), present(message, "tool_call_id")
    if content is not None and recorded is not None and is_text(recorded):
        told.attributes[name] = content
        if "status" in message:
            told.put("tool.status", message["status"], told.place(name))
        if not any(known in told.attributes for known in TOOL_CALL_ID):
            told.put("tool_call.id", msgspec.Raw(canonical(text_of(recorded))), told.place(name))
    elif wrapped and "kwargs" in fields:
        told.attributes[name] = wrapped


def _tool_message(fields: Fields) -> Fields:
    """The fields of a message that LangChain wrote whole: its constructor (`kwargs`) or its dict (`data`)."""
    inner = present(fields, "kwargs" if "lc" in fields else "data") if {"lc", "data"} & fields.keys() else None
    return fields if inner is None else fields_of(inner)
