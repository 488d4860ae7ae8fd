"""Which requests does a log hold, and which answers? JSON lines or a JSON list of `{"kind", "request", "response"}`.

Any homemade harness can write it. A request may also stand by itself: an HTTP request as a cassette holds it, a tool
with its arguments, or whatever a model was sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forensics.core.build import Spot
from forensics.core.evidence import Evidence
from forensics.core.findings import finding
from forensics.core.jsonvalue import decode
from forensics.core.reading import EvidenceBuilder
from forensics.errors import CorruptEvidenceError, UnknownFormatError
from forensics.formats.shared.fields import Fields, as_object, fields_of, items_of, opens_with, text
from forensics.formats.shared.json_lines import faults_of, json_lines
from forensics.formats.shared.lines import BOM
from forensics.replay.recordings import HTTP, MODEL, TOOL, Record, Recording, Request
from forensics.replay.wire import http_request, is_http

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import msgspec

    from forensics.core.evidence import Locator
    from forensics.core.reading import Reading
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

FORMAT = "request-log"
_FIRST = 8
_KINDS = {
    "model": MODEL, "llm": MODEL, "chat": MODEL, "completion": MODEL, "generation": MODEL,
    "tool": TOOL, "tool_call": TOOL, "tool_use": TOOL, "function": TOOL, "function_call": TOOL, "call": TOOL,
    "http": HTTP, "http_request": HTTP,
}  # fmt: skip
_ANSWERS = ("response", "result", "output", "answer")
_LANES = ("lane", "agent")
_IDS = ("id", "call_id", "tool_call_id", "tool_use_id")
_TOOL_NAMES = ("tool", "tool_name", "name")
_ARGUMENTS = ("arguments", "args", "input", "params", "parameters")
_PROMPTS = frozenset({"prompt", "messages", "contents", "input"})
_ABOUT = frozenset({"kind", "type", "error", "i", "index", "seq", "n", "ts", "timestamp", "time", "at"})
"""Fields of a record that are no part of what is asked, where it stands by itself."""


def is_request_log(look: Look) -> bool:
    """Whether most of the first records hold a request with its kind or its answer."""
    return _most(look, lambda fields: "request" in fields and bool({"kind", "response"} & fields.keys()))


def is_request_list(look: Look) -> bool:
    """Whether most of the first records are requests: those of a log, or HTTP requests as cassettes hold them."""
    return _most(
        look, lambda fields: "request" in fields or ("method" in fields and bool({"uri", "url"} & fields.keys()))
    )


def _most(look: Look, holds: Callable[[Fields], bool]) -> bool:
    records = _first_records(look)
    held = [fields for fields in records if "jsonrpc" not in fields and holds(fields)]
    return bool(held) and len(held) * 2 >= len(records)


def _first_records(look: Look) -> list[Fields]:
    """The fields of the first records: of a list, of lines, or of the only object."""
    if look.array is not None:
        return look.items()
    if look.lines:
        return list(look.lines)
    if look.document is not None:
        return [look.document]
    return [fields_of(item) for items in look.line_arrays[:1] for item in items[:_FIRST]]


def log_record(source: Source, evidence: int) -> tuple[Record, Reading]:
    """The recordings of a log, and what was read. What stands behind a line that can't be read is in doubt: that line
    may have held an equal request. Raises LimitExceededError.
    """
    build = _builder(source, evidence)
    recordings = tuple(_recording(*row) for row in _rows(source, build))
    reading = build.finish()
    return Record(recordings=recordings, findings=reading.findings), reading


def log_requests(source: Source, evidence: int) -> tuple[tuple[Request, ...], Reading]:
    """The requests of a log, and what was read. Raises CorruptEvidenceError where one can't be read, and
    UnknownFormatError where there is none: what a rerun asked must be known.
    """
    build = _builder(source, evidence)
    requests = tuple(_request(fields, locator, doubt) for fields, locator, doubt, _ in _rows(source, build))
    if build.counts.bad_lines:
        message = f"line {build.counts.bad_lines[0]} of {source.name} can't be read"
        raise CorruptEvidenceError(message, hint="every request must be known: they are matched in order")
    if not requests:
        raise UnknownFormatError(
            f"{source.name} holds no request", hint="one JSON object a line, or a JSON list of them"
        )
    return requests, build.finish()


def _builder(source: Source, evidence: int) -> EvidenceBuilder:
    about = Evidence(evidence, source.name, source.sha256, source.size, FORMAT, compression=source.compression)
    return EvidenceBuilder(about, records_calls=True)


# records -------------------------------------------------------------------------------------------------------------

_Row = tuple[Fields, "Locator", str, int]
"""The fields of a record, where it stands, why it is in doubt, and how many lines before it could not be read."""


def _rows(source: Source, build: EvidenceBuilder) -> Iterator[_Row]:
    body = source.data[len(BOM) :] if bytes(source.data[:3]) == BOM else source.data
    if opens_with(body, b"["):
        yield from _listed(body, build)
        return
    whole = fields_of(body)
    if whole:
        build.counts.lines += 1
        yield _row(body, whole, Spot(build.places.add(line=1, offset=0, length=len(source.data))), build)
        return
    for line in json_lines(source, build):
        doubt = "" if line.tainted is None else _TWO_WAYS
        yield line.fields, build.places.locator(line.spot.place), doubt, len(build.counts.bad_lines)


def _listed(body: memoryview, build: EvidenceBuilder) -> Iterator[_Row]:
    whole = build.places.add(offset=0, length=len(body))
    items = items_of(body)
    if not items and decode(body).error is not None:
        message = f"the list can't be read: {decode(body).error}"
        build.counts.bad_lines.append(1)
        build.found(finding("malformed_line", message, locators=(build.places.locator(whole),)))
    for index, item in enumerate(items):
        fields = fields_of(item) if opens_with(item, b"{") else {"request": item}
        yield _row(item, fields, Spot(whole, f"/{index}"), build)


def _row(data: msgspec.Raw | memoryview, fields: Fields, spot: Spot, build: EvidenceBuilder) -> _Row:
    build.counts.records += 1
    tainted = faults_of(decode(data).faults, spot, build)
    return fields, build.places.locator(spot.place, spot.pointer), _TWO_WAYS if tainted else "", 0


_TWO_WAYS = "its record can be read in two ways: a key stands twice"


def _recording(fields: Fields, locator: Locator, doubt: str, lost: int) -> Recording:
    held = next((name for name in _ANSWERS if name in fields), None)
    failed = held is None and "error" in fields
    name = "error" if failed else held
    answer = None if name is None else decode(fields[name]).value
    before = f"{lost} lines before it can't be read, and one may hold an equal request" if lost else ""
    return Recording(
        request=_request(fields, locator, ""),
        answer={"error": answer} if failed else answer,
        missing="the recording holds no answer" if name is None else "",
        doubt=doubt or before,
        failed=failed,
    )


# one request ---------------------------------------------------------------------------------------------------------


def _request(fields: Fields, locator: Locator, doubt: str) -> Request:
    said = fields.get("request")
    if said is None:
        said = as_object({name: held for name, held in fields.items() if name not in _BESIDE})
    value = decode(said).value
    lane = text(fields, *_LANES) or None
    recorded_id = text(fields, *_IDS) or None
    if is_http(value):
        return http_request(value, locator, lane=lane, recorded_id=recorded_id, doubt=doubt)
    kind = _KINDS.get(text(fields, "kind", "type").lower()) or text(fields, "kind") or _kind_of(value)
    if kind == TOOL:
        own_id, value = _tool_call(value, text(fields, *_TOOL_NAMES) if "request" in fields else "")
        recorded_id = recorded_id or own_id
    return Request(
        kind=kind,
        value=value,
        locator=locator,
        lane=lane,
        recorded_id=recorded_id,
        spelled=bytes(said),
        doubt=doubt,
    )


_BESIDE = _ABOUT.union(_ANSWERS, _LANES, _IDS)


def _kind_of(value: Any) -> str:
    """The kind of a request that does not say it, by its members; "" where they don't tell."""
    if not isinstance(value, dict):
        return ""
    if any(isinstance(value.get(n), str) for n in _TOOL_NAMES) and any(n in value for n in _ARGUMENTS):
        return TOOL
    return MODEL if _PROMPTS & value.keys() else ""


def _tool_call(value: Any, named: str) -> tuple[str | None, Any]:
    """The id of a call, and the call in one form: `{"tool", "arguments"}` and whatever else is said. `named` is the
    tool that the record names beside the request, which then holds the arguments alone.
    """
    if not isinstance(value, dict):
        return None, {"tool": named, "arguments": value} if named else value
    if isinstance(value.get("function"), dict):
        value = {**{k: v for k, v in value.items() if k not in ("function", "type")}, **value["function"]}
    name = next((n for n in _TOOL_NAMES if isinstance(value.get(n), str)), None)
    arguments = next((n for n in _ARGUMENTS if n in value), None)
    if named and (name is None or arguments is None):
        return None, {"tool": named, "arguments": value}
    if name is None:
        return None, value
    ids = [value[n] for n in _IDS if isinstance(value.get(n), str)]
    rest = {k: v for k, v in value.items() if k not in (name, arguments, *_IDS)}
    call = {"tool": value[name], **({"arguments": value[arguments]} if arguments else {}), **rest}
    return ids[0] if ids else None, call
