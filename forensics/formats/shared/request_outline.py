"""Is a request of spans in OTLP's JSON written in one way only, so that it can be read span by span?

A document of many megabytes is not decoded as a whole: that takes five times its size. Its outline leaves each span as
the text that it is; the request is as its outline says where outline and spans hold every quote of the document (then
no member stands twice or is of another format), and where no span says anything in two ways.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from forensics.core.depth import is_deeper_than
from forensics.core.jsonvalue import decode
from forensics.core.limits import limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Part = msgspec.Raw | UnsetType

_TOGETHER = 16  # spans that are decoded at once: with so few brackets that their depth is no question
_AROUND = 8  # levels of a document around a span, at most
_CHUNK = 1 << 20


class _Scope(msgspec.Struct, rename="camel", gc=False):
    scope: Part = UNSET
    instrumentation_library: Part = UNSET
    schema_url: Part = UNSET
    spans: list[msgspec.Raw] | UnsetType = UNSET


class _Resource(msgspec.Struct, rename="camel", gc=False):
    resource: Part = UNSET
    schema_url: Part = UNSET
    scope_spans: list[_Scope] | UnsetType = UNSET
    instrumentation_library_spans: list[_Scope] | UnsetType = UNSET


class _Request(msgspec.Struct, rename="camel", gc=False):
    resource_spans: list[_Resource] | UnsetType = UNSET
    batches: list[_Resource] | UnsetType = UNSET


_request = msgspec.json.Decoder(_Request).decode
_write = msgspec.json.Encoder().encode


def is_written_one_way(body: memoryview) -> bool:
    """Whether a document is one request of spans, and nothing in it can be read in two ways."""
    try:
        outline = _request(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    resources = list(chain(outline.resource_spans or (), outline.batches or ()))
    scopes = [s for r in resources for s in chain(r.scope_spans or (), r.instrumentation_library_spans or ())]
    spans = [span for scope in scopes for span in scope.spans or ()]
    for scope in scopes:
        scope.spans = [] if scope.spans else scope.spans
    quotes = _quotes([_write(outline), *spans])
    around = [part for r in resources for part in (r.resource, r.schema_url)]
    around += [part for s in scopes for part in (s.scope, s.instrumentation_library, s.schema_url)]
    parts = chain((part for part in around if part is not UNSET), spans)
    return quotes == _quotes(_chunks(body)) and all(map(_are_plain, _several(parts)))


def _several(parts: Iterator[msgspec.Raw]) -> Iterator[list[msgspec.Raw]]:
    """Parts of a document, some at a time."""
    while some := list(islice(parts, _TOGETHER)):
        yield some


def _are_plain(parts: list[msgspec.Raw]) -> bool:
    """Whether parts of a document say nothing in two ways, and nothing too deep for the document."""
    text = b"[" + b",".join(parts) + b"]"
    decoded = decode(text)
    if decoded.error is not None or decoded.faults:
        return False
    return not is_deeper_than(limits().nesting - _AROUND + 1, text, decoded.value)


def _quotes(texts: Iterable[bytes | msgspec.Raw]) -> int:
    return sum(bytes(text).count(b'"') for text in texts)


def _chunks(body: memoryview) -> Iterator[bytes]:
    return (bytes(body[start : start + _CHUNK]) for start in range(0, len(body), _CHUNK))
