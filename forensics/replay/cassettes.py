"""What does a cassette answer to which HTTP request? Its exchanges as recordings, in recorded order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.evidence import Locator
from forensics.core.jsonvalue import decode
from forensics.formats.shared.cassettes.file import CassetteFile, cassette_file
from forensics.formats.shared.cassettes.recorded_http import exchange_of
from forensics.replay.recordings import Record, Recording, Request
from forensics.replay.wire import http_forms

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from forensics.core.reading import Reading
    from forensics.formats.shared.cassettes.recorded_http import Body, Exchange
    from forensics.formats.shared.source import Source
    from forensics.formats.shared.yaml_text import Extent

FORMAT = "vcr-cassette"
_UNKNOWN = "some of the requests can't be read, so that it is not known what was asked"
_LOST = "something before it in the cassette can't be read, and may be an equal request"


def cassette_record(source: Source, reading: Reading) -> Record:
    """The recordings of a cassette; the findings are those of its reading. Raises LimitExceededError."""
    recordings = tuple(_recordings(cassette_file(source.data), reading.evidence.index))
    return Record(recordings=recordings, findings=reading.findings, compared=True)


def cassette_requests(source: Source, reading: Reading) -> tuple[Request, ...]:
    """The requests of a cassette alone, as a client would make them again; in doubt where one of them can't be read."""
    file = cassette_file(source.data)
    requests = tuple(recording.request for recording in _recordings(file, reading.evidence.index))
    if file.error or len(requests) < len(file.interactions):
        return tuple(msgspec.structs.replace(one, doubt=one.doubt or _UNKNOWN) for one in requests)
    return requests


def _recordings(file: CassetteFile, evidence: int) -> Iterator[Recording]:
    doubt = "the cassette can be read in two ways: a key stands twice" if _twice(file.faults) else ""
    for value, (pointer, extent) in zip(file.interactions, file.places(), strict=True):
        exchange = exchange_of(value)
        if exchange is None or not isinstance(value, dict):
            doubt = doubt or _LOST
            continue
        yield _recording(value, exchange, _locator(evidence, extent, pointer), doubt)


def _twice(faults: tuple[Any, ...]) -> bool:
    return any(fault.code == "duplicate_key" for fault in faults)


def _locator(evidence: int, extent: Extent, pointer: str) -> Locator:
    line = extent.line or None
    return Locator(evidence=evidence, line=line, offset=extent.offset, length=extent.length, pointer=pointer)


def _recording(value: dict[str, Any], exchange: Exchange, locator: Locator, doubt: str) -> Recording:
    first, *others = http_forms(exchange, value["request"], locator, doubt=doubt)
    answer = value.get("response")
    return Recording(
        request=first,
        others=tuple(others),
        answer=answer,
        missing="" if isinstance(answer, dict) and answer else "the cassette holds no answer to it",
        doubt=first.doubt or _body_doubt(exchange.response),
        failed=exchange.failed,
    )


def _body_doubt(body: Body) -> str:
    """Why the body of an answer can't be given to anybody in place of a new one."""
    if body.doubt:
        return f"its answer can't be given: {body.doubt}"
    if body.streamed is not None and body.streamed.doubts:
        return f"its answer can't be given: {body.streamed.doubts[0]}"
    said = body.json() if body.streamed is None else None
    if said is not None and bytes(said).lstrip()[:1] in (b"{", b"[") and _twice(decode(said).faults):
        return "its answer can be read in two ways: a key stands twice"
    return ""
