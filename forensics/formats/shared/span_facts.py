"""What do the spans say about the tools themselves? Definitions, declarations and descriptions, as facts by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.classes import ToolFacts
from forensics.core.jsonvalue import decode, unfold
from forensics.formats.shared import span_names as names

if TYPE_CHECKING:
    from forensics.core.evidence import Locator
    from forensics.core.trace import Trace
    from forensics.formats.shared.spans import Span


_LISTS = frozenset(names.TOOL_LISTS)


class FactReader:
    """Collects the facts of one trace; what is said first stands, later records fill what is missing."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._seen: set[tuple[str, bytes]] = set()

    def read(self, span: Span, server: str) -> None:
        """Note the tools that a span lists: each distinct list once."""
        if _LISTS.isdisjoint(span.names):
            return
        for name in names.TOOL_LISTS:
            payload = span.value(name)
            if payload is None or (server, bytes(payload)) in self._seen:
                continue
            self._seen.add((server, bytes(payload)))
            listed = unfold(decode(payload).value)
            locator = self._trace.places.locator(span.place, span.where(name))
            listed = listed.get("function_tools") if isinstance(listed, dict) else listed
            for item in listed if isinstance(listed, list) else []:
                self._read_item(unfold(item), server, locator)

    def _read_item(self, item: object, server: str, locator: Locator) -> None:
        if not isinstance(item, dict):
            return
        inner = item.get("function")
        told = inner if isinstance(inner, dict) else item
        name = told.get("name")
        if isinstance(name, str) and name:
            self.add(_facts(name, told, item, server, locator))

    def add(self, facts: ToolFacts) -> None:
        """Join facts with what is known of that tool already."""
        known = self._trace.facts.get(facts.name)
        self._trace.facts[facts.name] = facts if known is None else _filled(known, facts)


def _facts(name: str, told: dict[str, Any], item: dict[str, Any], server: str, locator: Locator) -> ToolFacts:
    annotations = told.get("annotations")
    return ToolFacts(
        name,
        server=server or None,
        description=_text(told.get("description")),
        input_schema=_object(
            told.get("parameters")
            or told.get("input_schema")
            or told.get("inputSchema")
            or told.get("parameters_json_schema")
        ),
        output_schema=_object(told.get("output_schema") or told.get("outputSchema")),
        hints=annotations if isinstance(annotations, dict) else {},
        replay_class=_text(item.get("replay_class")),
        tool_type=_text(item.get("tool_type")),
        http=_http(item.get("config")),
        locator=locator,
    )


def _http(config: object) -> tuple[str, str] | None:
    """Method and URL of a tool that is a REST call."""
    if not isinstance(config, dict):
        return None
    method, url = _text(config.get("method")), _text(config.get("url"))
    return (method.upper(), url or "") if method else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _object(value: object) -> dict[str, object] | None:
    return value if isinstance(value, dict) else None


def _filled(known: ToolFacts, more: ToolFacts) -> ToolFacts:
    changes = {
        field: getattr(more, field)
        for field in known.__struct_fields__
        if getattr(known, field) in (None, {}) and getattr(more, field) not in (None, {})
    }
    return msgspec.structs.replace(known, **changes) if changes else known
