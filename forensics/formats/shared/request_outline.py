"""Which spans does a request in OTLP's JSON hold, each as it is written? Told where what stands around them is written
in one way only.

A request is not decoded as a whole: that takes five times its size. It is as its outline says where the outline and the
spans make up the text: where they are as long as it is (then no member is left out, and no blank stands between them)
or have as many quotes (then no member is left out, one that stands twice or is of another format).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from forensics.core.depth import is_deeper_than
from forensics.core.jsonvalue import decode
from forensics.core.limits import limits
from forensics.core.trace import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Part = msgspec.Raw | UnsetType

_TOGETHER = 16  # spans that are decoded at once: with so few brackets that their depth is no question
_AROUND = 8  # levels of a document around a span, at most
_CHUNK = 1 << 20
_TAIL = 64  # bytes
_HEAD = 256
_REACHES = (
    1,
    1 << 10,
    1 << 13,
    1 << 16,
)  # bytes before spans: a comma, or what stands around a scope's


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


class Listed(msgspec.Struct, frozen=True, gc=False):
    """The spans of one scope as they are written, the pointer that their index follows, and their resource."""

    above: str
    resource: Part
    spans: Sequence[msgspec.Raw]


_request = msgspec.json.Decoder(_Request).decode
_write = msgspec.json.Encoder().encode


def outline_of(body: memoryview) -> list[Listed] | None:
    """The spans of a text that is one request of spans; None where it is none, or where something around the spans can
    be read in two ways.
    """
    try:
        outline = _request(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    found = list(_listed(outline))
    around = list(_taken_out(outline))
    is_all = _is_as_long(outline, found, body) or _has_as_many_quotes(outline, found, body)
    return found if is_all and are_plain(around) else None


def _listed(outline: _Request) -> Iterator[Listed]:
    for member, resources in (("resourceSpans", outline.resource_spans), ("batches", outline.batches)):
        for r, resource in enumerate(resources or ()):
            for name, scopes in (
                ("scopeSpans", resource.scope_spans),
                ("instrumentationLibrarySpans", resource.instrumentation_library_spans),
            ):
                for s, scope in enumerate(scopes or ()):
                    yield Listed(f"/{member}/{r}/{name}/{s}/spans/", resource.resource, scope.spans or ())


def _taken_out(outline: _Request) -> Iterator[msgspec.Raw]:
    """Take the spans out of an outline; what else is left in it as it was written."""
    for resource in chain(outline.resource_spans or (), outline.batches or ()):
        yield from (part for part in (resource.resource, resource.schema_url) if part is not UNSET)
        for scope in chain(resource.scope_spans or (), resource.instrumentation_library_spans or ()):
            parts = (scope.scope, scope.instrumentation_library, scope.schema_url)
            yield from (part for part in parts if part is not UNSET)
            scope.spans = [] if scope.spans else scope.spans


def _is_as_long(outline: _Request, listed: list[Listed], body: memoryview) -> bool:
    """Whether an outline and the spans that were taken out of it are as long as the text, without a blank at its end.
    They are written as short as it goes, so nothing else stands in it then.
    """
    tail = bytes(body[-_TAIL:])
    length = len(body) - len(tail) + len(tail.rstrip())
    spans = sum(sum(map(len, one.spans)) + len(b",") * max(len(one.spans) - 1, 0) for one in listed)
    return len(_write(outline)) + spans == length


def _has_as_many_quotes(outline: _Request, listed: list[Listed], body: memoryview) -> bool:
    quotes = _quotes([_write(outline), *chain.from_iterable(one.spans for one in listed)])
    return quotes == _quotes(bytes(body[start : start + _CHUNK]) for start in range(0, len(body), _CHUNK))


def _quotes(texts: Iterable[bytes | msgspec.Raw]) -> int:
    return sum(bytes(text).count(b'"') for text in texts)


class Begins:
    """Where the spans of a text begin; some are asked for at a time, in the order in which they stand there."""

    def __init__(self, text: memoryview) -> None:
        self._text = text
        self._behind = 0

    def of(self, spans: Sequence[msgspec.Raw]) -> list[int] | None:
        """Where each of these begins, with a comma between them; None where they are not found, nor any after them."""
        joined = b",".join(spans)
        at = self._find(joined) if self._behind >= 0 else NOWHERE
        self._behind = at + len(joined) if at >= 0 else NOWHERE
        return None if at < 0 else list(accumulate([len(span) + len(b",") for span in spans[:-1]], initial=at))

    def _find(self, joined: bytes) -> int:
        """Where that text begins: most likely behind a comma, else not far away; below 0 where it was not found."""
        for reach in _REACHES:
            near = bytes(self._text[self._behind : self._behind + reach + len(joined)])
            at = near.find(joined[:_HEAD])
            if at >= 0 and near.startswith(joined, at):
                return self._behind + at
        return NOWHERE


def are_plain(parts: Sequence[msgspec.Raw], within: int = 0) -> bool:
    """Whether parts of a request say nothing in two ways, and nothing too deep for it; they stand so many levels deep
    in a span, or beside the spans.
    """
    return all(_is_plain(parts[start : start + _TOGETHER], within) for start in range(0, len(parts), _TOGETHER))


def _is_plain(parts: Sequence[msgspec.Raw], within: int) -> bool:
    text = b"[" + b",".join(parts) + b"]"
    decoded = decode(text)
    if decoded.error is not None or decoded.faults:
        return False
    return not is_deeper_than(limits().nesting - _AROUND - within + 1, text, decoded.value)
