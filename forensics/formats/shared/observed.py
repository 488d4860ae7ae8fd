"""What did one model request, tool call or step of an agent do, as an observability service recorded it? One record of
such a service (a run, an observation) as a span: its kind, its input and its output, in the names of `span_names`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.jsonvalue import raw, text_of
from forensics.core.pointers import escape
from forensics.core.trace import Payload
from forensics.formats.shared.dialects import Told, translate
from forensics.formats.shared.fields import Fields, fields_of, is_text, items_of, json_inside, opens_with, present, text
from forensics.formats.shared.flattened import Flat
from forensics.formats.shared.spans import Attributes, Span, shaped

if TYPE_CHECKING:
    from collections.abc import Iterator

KIND = "openinference.span.kind"
INPUT, OUTPUT = "input.value", "output.value"
_TOOL, _MODEL = "tool", "llm"
_NOTHING = (b"", b"null", b'""', b"{}", b"[]", b'"{}"', b'"null"')
_TYPE = re.compile(r"\s*([A-Za-z_][\w.]*)\s*\(")
_NO_FAILURE = frozenset({"ParentCommand"})
"""What LangGraph raises to hand over to the graph around a node."""


class Record(msgspec.Struct):
    """A record on its way to a span. `kind` is a word of OpenInference's; pointers are those below `spot`."""

    trace: str
    id: str
    parent: str
    name: str
    kind: str
    start: int
    end: int
    spot: Spot
    attributes: Attributes = {}
    slots: list[int | str] = []
    flat: list[Flat] = []
    error: Payload | None = None
    service: str = ""
    foreign: str = ""
    tainted: str | None = None

    def put(self, name: str, payload: Payload | None, pointer: str) -> None:
        """Add an attribute, where it says something and nothing of that name is told."""
        if payload is not None and bytes(payload) not in _NOTHING and name not in self.attributes:
            self.attributes[name] = payload
            self.slots.append(pointer)


def span_of(record: Record) -> Span:
    """The span of a record: arguments and results out of their wrapping, errors by their type."""
    if record.kind == _TOOL:
        _tool(record)
    elif record.kind == _MODEL:
        _tool_definitions(record)
    failure = _failure(record)
    record.put(KIND, raw(record.kind), "/type")
    told = Told(record.attributes, record.slots, (), record.spot.pointer)
    translate(told, record.flat)
    return Span(
        record.trace,
        record.id,
        record.parent,
        record.name,
        record.start,
        record.end,
        0,
        failure is not None,
        failure,
        *shaped(record.attributes, record.slots, record.foreign),
        (),
        record.spot.place,
        record.spot.pointer,
        record.service,
        record.tainted,
        spread=told.spread,
    )


def _failure(record: Record) -> Payload | None:
    """The error of a record; a hand-over to the graph around is none."""
    if record.error is None or bytes(record.error) in _NOTHING:
        return None
    found = _TYPE.match(text_of(record.error)[:200])
    name = found.group(1).rpartition(".")[2] if found is not None else ""
    if name in _NO_FAILURE:
        return None
    if name:
        record.put("error.type", raw(name), "/error")
    return record.error


# tools ---------------------------------------------------------------------------------------------------------------


def _tool(record: Record) -> None:
    """A tool's name, what it was given, and what it returned."""
    if not any(name in record.attributes for name in ("gen_ai.tool.name", "tool.name")):
        record.put("gen_ai.tool.name", raw(record.name), "/name")
    given = record.attributes.get(INPUT)
    if given is not None:
        record.attributes[INPUT] = _given(given)
    returned = record.attributes.get(OUTPUT)
    if returned is not None:
        record.attributes[OUTPUT] = returned = _returned(returned)
        if text(_message(returned), "status") == "error":
            content = present(_message(returned), "content")
            record.put("tool.status", raw("error"), "/output/status")
            record.put("tool.error", content, "/output/content")


def _given(payload: Payload) -> Payload:
    """Arguments that LangChain passed as one text under `input`."""
    fields = fields_of(json_inside(payload))
    inner = fields.get("input") if len(fields) == 1 else None
    return payload if inner is None or not is_text(inner) or text_of(inner).lstrip()[:1] != "{" else inner


def _returned(payload: Payload) -> Payload:
    """What a tool returned: the one output, or the tool message in the update of the state that it asks for."""
    fields = fields_of(json_inside(payload))
    inner = fields.get("output") if len(fields) == 1 else None
    told = payload if inner is None else inner
    update = present(fields_of(json_inside(told)), "update")
    listed = None if update is None else present(fields_of(update), "messages")
    messages = [] if listed is None else items_of(listed)
    return next((item for item in messages if "tool_call_id" in _message(item)), told)


def is_tool_message(payload: Payload | None) -> bool:
    """Whether a value is the message of a tool, which names the call that it answers."""
    return payload is not None and {"tool_call_id", "content"} <= _message(payload).keys()


def _message(payload: Payload) -> Fields:
    fields = fields_of(json_inside(payload))
    return fields_of(fields["kwargs"]) if "lc" in fields and "kwargs" in fields else fields


# models --------------------------------------------------------------------------------------------------------------


def _tool_definitions(record: Record) -> None:
    """Tools that were offered: some services write them among the messages, as ones of the role tool."""
    shown = record.attributes.get(INPUT)
    if shown is None:
        return
    opened = json_inside(shown)
    if opens_with(opened, b"{"):
        record.put(
            "gen_ai.tool.definitions", present(fields_of(opened), "tools", "functions"), record_slot(record, INPUT)
        )
        return
    items = items_of(opened) if opens_with(opened, b"[") else []
    offered = [tool for item in items if (tool := _definition(item)) is not None]
    if offered:
        kept = [item for item in items if _definition(item) is None]
        place = record_slot(record, INPUT)
        record.attributes[INPUT] = msgspec.Raw(msgspec.json.encode(kept))
        record.put("gen_ai.tool.definitions", msgspec.Raw(msgspec.json.encode(offered)), place)


def record_slot(record: Record, name: str) -> str:
    """Where an attribute of a record stands."""
    return str(record.slots[list(record.attributes).index(name)])


def _definition(item: Payload) -> Payload | None:
    fields = fields_of(item)
    content = present(fields, "content") if text(fields, "role") == "tool" else None
    if content is None or is_text(content) or "tool_call_id" in fields:
        return None
    inner = fields_of(content)
    return content if text(inner, "type") == "function" and "function" in inner else None


def below(fields: Fields, *path: str) -> tuple[Payload, str] | None:
    """What stands at the end of a path of members, with its pointer; None where something on the way is not there."""
    pointer = ""
    held: Payload | None = None
    for name in path:
        held = present(fields, name)
        if held is None:
            return None
        pointer += f"/{escape(name)}"
        fields = fields_of(json_inside(held))
    return None if held is None else (held, pointer)


def first_below(fields: Fields, *paths: tuple[str, ...]) -> tuple[Payload | None, str]:
    """The first of these paths at whose end something stands."""
    found: Iterator[tuple[Payload, str]] = (one for path in paths if (one := below(fields, *path)) is not None)
    return next(found, (None, ""))
