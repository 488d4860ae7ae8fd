"""What in this evidence leaks, acts or deceives? One pass over its bytes, whatever a step shows of them.

The triggers run over the bytes at the speed of memory. Only where one fires is the JSON around it decoded and judged,
text by text, at every depth. Payloads that do not stand in the bytes as JSON (rows of a database, members of an
archive, YAML) are looked through in the same way, step by step.
"""

from __future__ import annotations

from bisect import bisect_right
from heapq import merge
from itertools import accumulate
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from forensics.analysis.content.lookalikes import alike, lookalikes
from forensics.analysis.content.matcher import acting, spans
from forensics.analysis.content.names import secret_name
from forensics.analysis.content.noted import Noted, Where, spellings
from forensics.analysis.content.patterns import triggers
from forensics.analysis.content.regions import Regions
from forensics.analysis.content.values import Field, fields_of
from forensics.core.evidence import Locator
from forensics.core.jsonvalue import decode
from forensics.core.late import late

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from forensics.analysis.content.lookalikes import Pair
    from forensics.analysis.content.patterns import Trigger
    from forensics.analysis.content.regions import Region
    from forensics.core.reading import Reading
    from forensics.core.trace import Trace

_TOKEN_ENDS = late(rb"[\s\"'<>,;()\[\]{}\\]")
_TOKEN = 200  # bytes around what fired, by which a run of characters is told
_CONTEXT = 160  # bytes behind what fired, by which its place is told
_BEFORE, _WINDOW, _STEP = 256, 8_192, 4_096  # bytes of a text without structure that are looked at together
_PARSED = 20_000  # regions; what fires beyond is judged as text, which costs less and gives no JSON Pointer
_MORE = late(rb"[:/%=+\\]")
_SEEN = 50_000  # places that are remembered, so that a long log needs no memory for all of its own
_LOCATED = 50_000  # values that are told to their own bytes
_LARGE = _BLOCK = 1 << 20
_encode = msgspec.json.Encoder().encode
_CLOSE, _DENSE = 200, 8  # bytes from one place to the next, and how many places
_HEADER = 100  # bytes: the header of a database holds some that no text has


class Fired(msgspec.Struct, frozen=True, order=True, gc=False):
    """A place where a trigger fired."""

    start: int
    end: int
    by_token: bool


def scan(reading: Reading, data: memoryview, find: Callable[[bytes, int], int]) -> tuple[Noted, bool]:
    """Everything of note in an evidence, and whether all that a reader takes from it was looked through; `data` are its
    plain bytes, and `find` searches them from an offset.
    """
    noted = Noted(reading)
    one = _Scan(reading.evidence.index, data, find, noted)
    one.run()
    if not one.regions.structured:
        for trace in reading.traces:
            _payloads(trace, noted)
    return noted, one.regions.structured


class _Scan:
    def __init__(self, evidence: int, data: memoryview, find: Callable[[bytes, int], int], noted: Noted) -> None:
        self.regions = Regions(data, find)
        self._evidence = evidence
        self._data = data
        self._noted = noted
        self._binary = not self.regions.structured and _is_binary(bytes(data[:_HEADER]))
        self._seen: dict[bytes, tuple[str, ...]] = {}
        self._parsed = self._located = 0
        self._last = self._close = 0

    def run(self) -> None:
        """Judge every place where a trigger fired, in order; a region is judged once."""
        judged = Judged()
        for fired in fired_in(self._data, judged, binary=self._binary):
            if len(self._seen) > _SEEN:
                self._seen.clear()
            start, told = self._told(fired)
            known = self._seen.get(told)
            if known is not None and not self._is_dense(fired.start):
                self._noted.again(known, self._evidence, start, told)
                continue
            if fired.by_token and self._noted.enough_mail and _is_mail(told):
                self._seen[told] = self._mail(told, fired.start)
                continue
            self._close = 0
            judged.until, found = self._judge(fired)
            self._seen[told] = found

    def _is_dense(self, offset: int) -> bool:
        """Whether so many places that are known stand so close that to judge what holds them all costs less."""
        self._close = self._close + 1 if offset - self._last < _CLOSE else 0
        self._last = offset
        return self._close > _DENSE

    def _mail(self, token: bytes, offset: int) -> tuple[str, ...]:
        """One more address of very many: its place in the bytes is all that is told of it."""
        found = spans(token, None)
        for span in found:
            self._noted.secret(span, Where(Locator(self._evidence, offset=offset), ()))
        return tuple(span.value for span in found)

    def _told(self, fired: Fired) -> tuple[int, bytes]:
        """What tells this place from others, and its offset: where it is the same, so is what stands there."""
        if not fired.by_token:
            return fired.start, bytes(self._data[fired.start : fired.end + _CONTEXT])
        start = max(fired.start - _TOKEN, 0)
        before = _TOKEN_ENDS.split(bytes(self._data[start : fired.start]))[-1]
        after = _TOKEN_ENDS.split(bytes(self._data[fired.end : fired.end + _TOKEN]), maxsplit=1)[0]
        return fired.start - len(before), before + bytes(self._data[fired.start : fired.end]) + after

    def _judge(self, fired: Fired) -> tuple[int, tuple[str, ...]]:
        """Judge what stands around; returns up to where nothing is left to judge, and the values found."""
        region = self.regions.around(fired.start)
        self._parsed += 1
        named = fired.start < region.start  # in the name of a member
        if not region.is_json or self._parsed > _PARSED or (named and region.end - region.start > _LARGE):
            return self._judge_text(fired, region)
        self._alike(region, named=named)
        fields = list(fields_of(decode(self._data[region.start : region.end]).value, region.pointer, region.key))
        if named and region.key is not None:
            fields.append(Field(region.pointer, None, region.key, is_key=True))
        return region.end, tuple(value for field in telling(fields) for value in self._field(field, region))

    def _alike(self, region: Region, *, named: bool) -> None:
        """Note keys that look alike: in the objects of a region, and of a large object the names of its members."""
        data = bytes(self._data[region.start : region.end])
        pairs: list[Pair] = []
        if not data.isascii() or b"\\u" in data:
            pairs += lookalikes(decode(data).value, region.pointer)
        if named and region.key is not None and not region.key.isascii():
            above = region.pointer.rpartition("/")[0]
            pairs += [(above, *two) for two in alike(self.regions.names_beside()) if region.key in two]
        for pointer, one, other in pairs:
            self._noted.acting("lookalike_key", f"{one!a} and {other!a}", self._where(region, other, pointer))

    def _judge_text(self, fired: Fired, region: Region) -> tuple[int, tuple[str, ...]]:
        """Judge the text around, as it is written."""
        start = max(min(region.start, fired.start), fired.start - _BEFORE)
        end = min(max(region.end, fired.end), fired.start + _WINDOW)
        text = bytes(self._data[start:end]).decode("utf-8", "surrogateescape")
        window = replace(region, start=start, end=end, is_json=False)
        return (end if end == region.end else fired.start + _STEP), self._field(Field("", None, text), window)

    def _field(self, field: Field, region: Region) -> tuple[str, ...]:
        text = field.text.encode("utf-8", "surrogateescape" if not region.is_json else "surrogatepass")
        found = []
        for span in spans(text, field.key):
            where = self._where(region, span.packed or span.value, field.pointer + span.pointer)
            self._noted.secret(span, where)
            found.append(span.value)
        no_text = not region.is_json and (self._binary or _is_binary(text))
        for code, what in () if no_text else acting(text):
            shown = what.decode("utf-8", "replace")
            self._noted.acting(code, shown, self._where(region, field.text[:_CONTEXT], field.pointer))
        return tuple(found)

    def _where(self, region: Region, value: str, pointer: str) -> Where:
        """Where a value of a region stands: at its own bytes, or where the region begins if it is packed there."""
        self._located += 1
        written = spellings(value)
        if region.end - region.start > _LARGE or self._located > _LOCATED:  # told to its region, which costs nothing
            data = b""
        else:
            data = bytes(self._data[region.start : region.end])
        found = ((data.find(one), len(one)) for one in written)
        at, length = next(((at, length) for at, length in found if at >= 0), (0, region.end - region.start))
        locator = Locator(
            self._evidence,
            line=None if self._binary else self.regions.line_of(region),
            offset=region.start + at,
            length=length,
            pointer=(pointer or None) if region.is_json else None,
        )
        return Where(locator, written)


def _is_binary(data: bytes) -> bool:
    """Whether these bytes are no text (a database, something packed): nothing in them acts on who reads a text."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return b"\x00" in data


def _is_mail(token: bytes) -> bool:
    """Whether nothing but an address can be meant by a run of characters."""
    return token.count(b"@") == 1 and not _MORE.search(token)


def telling(fields: list[Field]) -> list[Field]:
    """The fields that need be looked at: a trigger fires in the text, or its name says credential. The texts are looked
    through together, each written as JSON writes it, since that is what triggers are made for.
    """
    written = [_written(field.text) for field in fields]
    starts = [0, *accumulate(len(text) + 1 for text in written)]
    wanted = {at for at, field in enumerate(fields) if field.key is not None and secret_name(field.key) is not None}
    judged = Judged()
    for fired in fired_in(b"\n".join(written), judged):
        following = bisect_right(starts, fired.end - 1)
        wanted.update(range(bisect_right(starts, fired.start) - 1, following))
        judged.until = starts[following]
    return [fields[at] for at in sorted(wanted)]


def _written(text: str) -> bytes:
    try:
        return _encode(text)
    except UnicodeEncodeError:  # half of a pair
        return b'"%b"' % text.encode("utf-8", "surrogatepass")


class Judged(msgspec.Struct):
    """Up to where all is judged, as whoever takes the places of triggers says: before it none is told."""

    until: int = -1


def fired_in(data: bytes | memoryview, judged: Judged, *, binary: bool = False) -> Iterator[Fired]:
    """Every place where a trigger fires in what is not judged yet, in ascending order; none is kept."""
    told = merge(*(_fired(trigger, data, judged) for trigger in triggers(binary=binary)))
    return (fired for fired in told if fired.start >= judged.until)


def _fired(trigger: Trigger, data: bytes | memoryview, judged: Judged) -> Iterator[Fired]:
    """The same of one trigger: what is judged is stepped over, since hostile bytes can fire at every other one."""
    at = 0
    while True:
        for match in trigger.pattern.finditer(data, at):
            start = match.start(1)
            fired = Fired(start if start >= 0 else match.start(), match.end(), trigger.by_token)
            if fired.start < judged.until:
                at = max(judged.until, fired.end)
                break
            yield fired
        else:
            return


# payloads that are no JSON in the bytes ------------------------------------------------------------------------------


def _payloads(trace: Trace, noted: Noted) -> None:
    """Look through the payloads of a trace in blocks."""
    rows: list[int] = []
    starts: list[int] = []
    block = bytearray()
    for row, payload in enumerate(trace.payload):
        if payload is None:
            continue
        rows.append(row)
        starts.append(len(block))
        block += bytes(payload)
        block += b"\n"
        if len(block) > _BLOCK:
            _block(trace, bytes(block), rows, starts, noted)
            rows, starts, block = [], [], bytearray()
    _block(trace, bytes(block), rows, starts, noted)


def _block(trace: Trace, block: bytes, rows: list[int], starts: list[int], noted: Noted) -> None:
    judged = Judged()
    for fired in fired_in(block, judged):
        following = bisect_right(starts, fired.start)
        _payload(trace, rows[following - 1], noted)
        judged.until = starts[following] if following < len(starts) else len(block)


def _payload(trace: Trace, row: int, noted: Noted) -> None:
    payload = trace.payload[row]
    if payload is None:
        return
    locator = trace.locator(row)
    for field in fields_of(decode(payload).value):
        text = field.text.encode("utf-8", "surrogatepass")
        here = msgspec.structs.replace(locator, pointer=(locator.pointer or "") + field.pointer or None)
        for span in spans(text, field.key):
            where = Where(msgspec.structs.replace(here, pointer=(here.pointer or "") + span.pointer or None), (), row)
            noted.secret(span, where, trace)
        for code, what in acting(text):
            noted.acting(code, what.decode("utf-8", "replace"), Where(here, (), row), trace)
