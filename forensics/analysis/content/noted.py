"""What was noted in the content of an evidence, and which findings does it give? One for a value, with all its places.

A place is told to the step whose record holds it and whose payload shows it; what no step shows (settings in an
attribute of a span) stands with its place in the evidence alone.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

from forensics.core.evidence import Basis, Locator, Severity
from forensics.core.findings import finding
from forensics.core.sanitise import one_line
from forensics.core.secrets import CREDENTIAL, PERSONAL, Secret, Secrets, fingerprint
from forensics.core.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.analysis.content.matcher import Span
    from forensics.core.findings import Finding
    from forensics.core.reading import Reading

_PLACES = 20  # of one value that are named; all are counted
_TOLD = 5_000  # places of an evidence for which the steps are looked up
_SHOWN = 60  # characters of what acts
_VALUES = 200  # credentials of an evidence that have a finding of their own
_SAYS = {
    "control_sequence": "what controls a terminal or the direction of writing stands in {}, such as {}",
    "active_content": "what a browser or a viewer would act on stands in {}, such as {}",
    "lookalike_key": "keys that look alike and are not the same characters stand in {}: {}",
    "formula_like_text": "what a spreadsheet would compute stands at the beginning of {}, such as {}",
}
CODES = ("secret", *sorted(_SAYS))
"""What is found in values, by code."""
_INFERRED = frozenset({"token", "authorization", "auth", "cookie", "set-cookie"})
"""Kinds that rest on the entropy of a value under a name that need not mean a credential."""


class Where(msgspec.Struct, frozen=True, gc=False):
    """A place of a value: its locator, the value as it may be written there, and its row where the step is known."""

    locator: Locator
    written: tuple[bytes, ...]
    row: int | None = None


def spellings(value: str) -> tuple[bytes, ...]:
    """How a text may stand in JSON: as it is, escaped, and escaped once more in a JSON text that a text holds."""
    plain = value.encode("utf-8", "surrogatepass")
    once = _inside(value)
    return tuple(
        dict.fromkeys((plain, once, _inside(once.decode("utf-8", "surrogatepass")), _inside(value, plain=True)))
    )


def _inside(value: str, *, plain: bool = False) -> bytes:
    return json.dumps(value, ensure_ascii=plain)[1:-1].encode("utf-8", "surrogatepass")


class _Value(msgspec.Struct):
    """Everything about one value."""

    kind: str
    group: str
    places: list[Locator]
    steps: set[int]
    trace: Trace | None = None
    count: int = 0
    last: int = -1  # the offset of the place that was noted last, and its pointer
    pointer: str | None = None


class Noted:
    """Collects what stands in one evidence; `findings` and `secrets` say it."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._values: dict[str, _Value] = {}
        self._told = 0
        self._kinds: dict[str, int] = {}
        self._packed: dict[str, str] = {}
        self._acting: dict[str, tuple[str, _Value]] = {}
        self._steps: _Steps | None = None

    def secret(self, span: Span, where: Where, trace: Trace | None = None) -> None:
        """A credential or a piece of personal data."""
        value = self._values.get(span.value)
        if value is None:
            value = self._values[span.value] = _Value(span.kind, span.group, [], set())
            self._kinds[span.kind] = self._kinds.get(span.kind, 0) + 1
        if span.packed is not None and span.packed != span.value:
            self._packed[span.packed] = span.value
        self._add(value, where, trace)

    def acting(self, code: str, shown: str, where: Where, trace: Trace | None = None) -> None:
        """A text that could act; `shown` is the part that would."""
        _, value = self._acting.setdefault(code, (shown, _Value(code, "texts", [], set())))
        self._add(value, where, trace)

    def again(self, values: tuple[str, ...], evidence: int, start: int, told: bytes) -> None:
        """The same bytes once more, which begin at this offset; these values were found around them."""
        for one in values:
            written = spellings(one)
            found = next(((at, len(w)) for w in written if (at := told.find(w)) >= 0), None)
            if found is not None and start + found[0] > self._values[one].last:
                locator = Locator(evidence, offset=start + found[0], length=found[1])
                self._add(self._values[one], Where(locator, written), None)

    def _add(self, value: _Value, where: Where, trace: Trace | None) -> None:
        offset, pointer = where.locator.offset, where.locator.pointer
        if offset is not None:
            if offset <= value.last and (value.pointer is None or pointer in {None, value.pointer}):
                return
            value.last, value.pointer = offset, pointer
        value.count += 1
        if len(value.places) >= _PLACES or where.locator in value.places:
            return
        value.places.append(where.locator)
        self._told += 1
        if where.row is None and (not where.written or self._told > _TOLD):
            return
        if where.row is None:
            self._steps = self._steps or _Steps(self._reading)
            trace, rows = self._steps.of(where)
        else:
            rows = [where.row]
        if trace is not None and value.trace in (None, trace):
            value.trace = trace
            value.steps.update(rows)

    # what it comes to ------------------------------------------------------------------------------------------------

    @property
    def enough_mail(self) -> bool:
        """Whether so many addresses were found that the place of another is not named."""
        return self._kinds.get("email", 0) > _PLACES

    @property
    def any_secret(self) -> bool:
        """Whether there is a value to be named."""
        return bool(self._values)

    @property
    def values(self) -> Iterator[bytes]:
        """The values themselves."""
        return (value.encode("utf-8", "surrogatepass") for value in self._values)

    def secrets(self, key: bytes, *, complete: bool) -> Secrets:
        """The values with their names under the key of the evidence; an id that links records keeps its own."""
        ids = frozenset(_ids(self._reading)) & self._values.keys() if self._values else frozenset()
        known = {
            text: Secret(v.kind, v.group, fingerprint(text, key)) for text, v in self._values.items() if text not in ids
        }
        packed = {run: known[value] for run, value in self._packed.items() if value in known and run not in ids}
        return Secrets(key, known, packed, ids, complete, sought=True)

    def findings(self, secrets: Secrets) -> Iterator[tuple[Trace | None, Finding]]:
        """(trace, finding), the trace being None for what no step of one shows."""
        yield from self._credentials(secrets)
        yield from self._personal()
        for code, (shown, value) in sorted(self._acting.items()):
            where = _counted(value.count, "object" if code == "lookalike_key" else "text")
            message = _SAYS[code].format(where, one_line(shown, _SHOWN))
            yield value.trace, _finding(code, message, value)

    def _credentials(self, secrets: Secrets) -> Iterator[tuple[Trace | None, Finding]]:
        found = [(text, v) for text, v in self._values.items() if v.group == CREDENTIAL]
        for text, value in found[:_VALUES]:
            named = secrets.secret(text, value.kind, value.group).name
            linking = ", which links records and is shown as it is" if text in secrets.ids else ""
            told = f"a value that looks like a credential ({value.kind}) stands in {_counted(value.count, 'place')}"
            confidence = "medium" if value.kind in _INFERRED else "high"
            message = f"{told}: {named}{linking}"
            yield value.trace, _finding("secret", message, value, confidence=confidence, tags=(value.kind,))
        rest = found[_VALUES:]
        if rest:
            message = f"{len(rest)} more values look like credentials, and are not listed one by one"
            yield rest[0][1].trace, _finding("secret", message, rest[0][1])

    def _personal(self) -> Iterator[tuple[Trace | None, Finding]]:
        by_kind: dict[str, list[_Value]] = defaultdict(list)
        for value in self._values.values():
            if value.group == PERSONAL:
                by_kind[value.kind].append(value)
        for kind, values in by_kind.items():
            places = [place for value in values for place in value.places[:1]][:_PLACES]
            first = next((v.trace for v in values if v.trace is not None), None)
            steps = {s for v in values if v.trace is first and first is not None for s in v.steps}
            total = _Value(kind, PERSONAL, places, steps, first, sum(v.count for v in values))
            message = f"personal data ({kind}): {_counted(len(values), 'value')} in {_counted(total.count, 'place')}"
            yield (
                first,
                _finding("secret", message, total, confidence="medium", tags=(PERSONAL, kind), severity=Severity.INFO),
            )


def _finding(
    code: str,
    message: str,
    value: _Value,
    *,
    confidence: str = "high",
    tags: tuple[str, ...] = (),
    severity: Severity | None = None,
) -> Finding:
    return finding(
        code,
        message,
        steps=tuple(sorted(value.steps)),
        locators=tuple(value.places),
        basis=Basis.DERIVED,
        severity=severity,
        confidence=confidence,
        tags=tags,
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count != 1 else ''}"


def _ids(reading: Reading) -> Iterator[str]:
    """The values that link records of an evidence to one another."""
    for trace in reading.traces:
        yield trace.id
        yield trace.session
        if trace.rerun_of is not None:
            yield trace.rerun_of
        for rows in trace.calls.parts():
            yield from (one for one in trace.calls.recorded_ids(rows) if one is not None)
    yield from reading.counts.orphan_results
    yield from reading.counts.missing_spans


class _Steps:
    """Which steps stand in the record around an offset."""

    def __init__(self, reading: Reading) -> None:
        self._records: dict[tuple[int, int], list[tuple[Trace, int]]] = {}
        for trace in reading.traces:
            spans = {place: _span(trace, place) for place in set(trace.place)}
            for row, place in enumerate(trace.place):
                span = spans[place]
                if span is not None:
                    self._records.setdefault(span, []).append((trace, row))
        self._order = sorted(self._records)

    def of(self, where: Where) -> tuple[Trace | None, list[int]]:
        """The trace and the rows whose record holds a place and whose payload shows the value."""
        offset = where.locator.offset
        if offset is None:
            return None, []
        found = [one for span in self._around(offset) for one in self._records[span] if _shows(*one, where.written)]
        if not found:
            return None, []
        trace = found[0][0]
        return trace, [row for holder, row in found if holder is trace]

    def _around(self, offset: int) -> Iterator[tuple[int, int]]:
        """The records that hold an offset; they are nested at most, so few end before it."""
        at = bisect_right(self._order, (offset, 1 << 62))
        for start, end in reversed(self._order[max(at - _NEAR, 0) : at]):
            if end > offset:
                yield start, end


_NEAR = 64


def _span(trace: Trace, place: int) -> tuple[int, int] | None:
    locator = trace.places.locator(place) if place >= 0 else None
    if locator is None or locator.offset is None or locator.member is not None:
        return None
    return locator.offset, locator.offset + (locator.length or 0)


def _shows(trace: Trace, row: int, written: tuple[bytes, ...]) -> bool:
    payload = trace.payload[row]
    if payload is None:
        return False
    data = bytes(payload)
    return any(one in data for one in written)
