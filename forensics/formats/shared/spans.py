"""What does one span say, whatever container it came in? Its ids, times, status, and attributes as plain JSON payloads.

The readers of span formats (OTLP, the stores of span-writing frameworks) make these; `span_walk` tells the builder.
"""

from __future__ import annotations

import base64
import binascii
import re
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.jsonvalue import text_of, texts_of_all
from forensics.core.pointers import escape
from forensics.core.times import LAST
from forensics.core.trace import NOWHERE, Payload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from forensics.core.reading import EvidenceBuilder

Attributes = dict[str, Payload]

_HEX_ID = re.compile(r"[0-9a-fA-F]{16}(?:[0-9a-fA-F]{16})?")
_BASE64_SIZES = {12: 8, 24: 16}
_FAR_AWAY = 2.0**63
_DIGITS = 20  # of a 64-bit number
_LOWER_HEX, _DECIMAL = b"0123456789abcdef", b"0123456789"
_HEX_SIZES = frozenset({16, 32})
_LAST = str(LAST)
_FIRST = "1".ljust(len(_LAST), "0")
_NO_ID = frozenset({"", "0" * 16, "0" * 32})


class Event(msgspec.Struct, frozen=True, gc=False):
    """Something that happened inside a span: an exception, a message of the older conventions. `pointer` as in Span;
    `place` is its own where it stands in another record than its span.
    """

    name: str
    attributes: Attributes
    pointer: str
    place: int = NOWHERE


class Item(msgspec.Struct, frozen=True, gc=False):
    """Where one item of a flattened list stands, below its span: the item itself, and each call in it by its number."""

    own: str
    calls: dict[str, str] = {}


class Spread(msgspec.Struct, frozen=True, gc=False):
    """A list that was put together from flattened attributes: its items, and whether none of its numbers is missing."""

    items: tuple[Item, ...]
    whole: bool = True


class Shape(msgspec.Struct, frozen=True, gc=False):
    """What many spans say alike of their attributes: the number of each name that is read among their values, where it
    stood (an index of the attribute *list*, the object that holds it, or, with a slash before it, the whole pointer
    below the span), and a vocabulary that is not read.
    """

    numbers: dict[str, int]
    slots: tuple[int | str, ...]
    foreign: str = ""


@lru_cache(maxsize=1024)
def shape_of(names: tuple[str, ...], slots: tuple[int | str, ...], foreign: str = "") -> Shape:
    """The shape of attributes of these names, of which none stands twice; most often the same one each time."""
    return Shape({name: number for number, name in enumerate(names)}, slots, foreign)


def shaped(attributes: Attributes, slots: Sequence[int | str], foreign: str = "") -> tuple[Shape, tuple[Payload, ...]]:
    """Attributes that stood there as a shape and values."""
    return shape_of(tuple(attributes), tuple(slots), foreign), tuple(attributes.values())


class Span(msgspec.Struct, frozen=True, gc=False):
    """One span. Ids are lower-case hex where they can be (`parent` is "" at a root), times nanoseconds since the epoch
    (-1: not recorded), `kind` the number of OTLP (3 client, 4 producer), `failed` its error status.

    `values` are those attributes that are read, each as plain JSON, and `shape` says which they are; `pointer` stands
    for the span inside its place, `spread` says where the items of flattened lists stood. `tainted` is a code where a
    name stands twice; `lost` names what the exporter says that it left out.
    """

    trace: str
    id: str
    parent: str
    name: str
    start: int
    end: int
    kind: int
    failed: bool
    status_message: Payload | None
    shape: Shape
    values: tuple[Payload, ...]
    events: tuple[Event, ...]
    place: int
    pointer: str
    service: str = ""
    tainted: str | None = None
    lost: str = ""
    spread: dict[str, Spread] = {}

    def get(self, names: Sequence[str]) -> tuple[str, Payload] | None:
        """The first of these attributes that is there, with its name."""
        numbers = self.shape.numbers
        for name in names:
            if name in numbers:
                return name, self.values[numbers[name]]
        return None

    def value(self, name: str) -> Payload | None:
        """That attribute, if it is there."""
        number = self.shape.numbers.get(name)
        return None if number is None else self.values[number]

    @property
    def names(self) -> Mapping[str, int]:
        """The names of its attributes."""
        return self.shape.numbers

    def payload(self, names: Sequence[str]) -> Payload | None:
        """The payload of the first of these attributes that is there."""
        found = self.get(names)
        return None if found is None else found[1]

    def text(self, names: Sequence[str]) -> str:
        """The text of the first of these attributes that is there, else ""."""
        found = self.get(names)
        return "" if found is None else text_of(found[1])

    def where(self, name: str) -> str:
        """The JSON Pointer of an attribute, inside the span's place."""
        return self.pointer + below(self.shape.slots[self.shape.numbers[name]], name)

    @property
    def spot(self) -> Spot:
        """Where it stands and when it began."""
        return Spot(self.place, self.pointer, self.start)

    @property
    def ended_at(self) -> int:
        """When it ended, or when it began where no end is recorded."""
        return self.end if self.end >= 0 else self.start


def column(spans: Sequence[Span], name: str) -> list[Payload]:
    """That attribute of spans of one shape, which has it."""
    number = spans[0].shape.numbers[name]
    return [span.values[number] for span in spans]


def texts(spans: Sequence[Span], names: Sequence[str]) -> list[str]:
    """What `Span.text` says of each."""
    found = [span.payload(names) for span in spans]
    told = iter(texts_of_all([payload for payload in found if payload is not None]))
    return ["" if payload is None else next(told) for payload in found]


def below(slot: int | str, name: str) -> str:
    """The pointer of an attribute below its span, by where it stood."""
    if isinstance(slot, int):
        return f"/attributes/{slot}/value/stringValue"
    return slot if slot.startswith("/") else f"/{slot}/{escape(name)}"


def hex_id(recorded: str) -> tuple[str, bool]:
    """An id as lower-case hex, and whether it was base64 (protobuf's JSON writes bytes so, OTLP's rule is hex).

    A text that is hex of the right length is hex, though it may be base64 as well; "" and zeros are no id. What is
    neither is kept as it stands.
    """
    if _HEX_ID.fullmatch(recorded):
        if recorded in _NO_ID:
            return "", False
        return (recorded if recorded.islower() or recorded.isdigit() else recorded.lower()), False
    size = _BASE64_SIZES.get(len(recorded))
    if size is not None:
        try:
            decoded = base64.b64decode(recorded, validate=True)
        except (binascii.Error, ValueError):
            decoded = b""
        if len(decoded) == size:
            return ("" if not any(decoded) else decoded.hex()), True
    return recorded, False


def nanoseconds(recorded: object) -> int:
    """Nanoseconds since the epoch from OTLP's text or number, or -1 where there is none; never through a float."""
    if isinstance(recorded, str):
        if not (recorded.isascii() and recorded.isdigit() and len(recorded) < _DIGITS):
            return NOWHERE
        recorded = int(recorded)
    elif isinstance(recorded, float):
        return int(recorded) if 0 < recorded < _FAR_AWAY else NOWHERE
    if isinstance(recorded, int) and not isinstance(recorded, bool) and 0 < recorded <= LAST:
        return recorded
    return NOWHERE


def are_hex_ids(recorded: Sequence[str]) -> bool:
    """Whether each of these is an id that `hex_id` leaves as it is."""
    joined = "".join(recorded)
    if not joined.isascii() or joined.encode().translate(None, _LOWER_HEX):
        return False
    return set(map(len, recorded)) <= _HEX_SIZES and _NO_ID.isdisjoint(recorded)


def all_nanoseconds(recorded: Sequence[object]) -> list[int] | None:
    """What `nanoseconds` says of each, where all are texts of as many digits as times of these years have."""
    texts = [one for one in recorded if isinstance(one, str)]
    joined = "".join(texts)
    if len(texts) < len(recorded) or not joined.isascii() or joined.encode().translate(None, _DECIMAL):
        return None
    if set(map(len, texts)) != {len(_LAST)} or max(texts) > _LAST or min(texts) < _FIRST:
        return None
    return list(map(int, texts))


def say_lost_time(build: EvidenceBuilder, spot: Spot) -> None:
    """A time that is recorded and can't be held (beyond the year 2262), or that is no time: not in silence."""
    build.once("large_integer", "a recorded time is no time between 1970 and 2262: read as not recorded", spot)
