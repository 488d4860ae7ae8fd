"""Does the indexed flow find what a naive one finds, in traces drawn at random and in the samples?

The naive one reads every text again for every value, so it is quadratic and has no index that could be wrong. It shares
with the fast one what a run, a leaf and the shape of a value are, and nothing of how they are found again.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import datetime
import re
import string
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote_to_bytes

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics import load
from forensics.analysis import columns, minting, occurrences, related_runs, run_blocks, runs
from forensics.analysis import texts as texts_read
from forensics.analysis.flow import flow
from forensics.analysis.runs import all_runs, anchor_of, plain_bytes
from forensics.analysis.survey import survey
from forensics.core.build import Spot, TraceBuilder
from forensics.core.classes import Effect, seems_to_read
from forensics.core.jsonvalue import value_of
from forensics.core.leaves import Leaf, leaves_of, pointer_of
from forensics.core.trace import Places, StepKind, Trace
from forensics.rules.engine import load_rules
from forensics.rules.policy_file import load_policy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.classes import Classes
    from forensics.rules.engine import RuleSet

NEW_BY_SHAPE = {"uuid", "ulid", "cursor", "token", "url", "presigned-url", "jwt"}


class Found(NamedTuple):
    """A value with the step and pointer where it was minted, and its uses: step and how it is written."""

    value: str
    kind: str
    step: int
    pointer: str
    uses: dict[int, str]


class Naive:
    def __init__(self, trace: Trace, classified: Classes, rules: RuleSet) -> None:
        self.trace, self.classified, self.rules = trace, classified, rules
        self.small = len(trace) <= runs.SMALL_TRACE
        self.plain = {row: plain_bytes(p) for row, p in enumerate(trace.payload) if p is not None}
        self.found: list[Found] = []
        self.waiting: list[tuple[str, int, int, str]] = []

    def runs(self, row: int) -> list[bytes]:
        return self.runs_of(self.plain.get(row, b""))

    def runs_of(self, text: bytes) -> list[bytes]:
        runs = all_runs(text)
        return runs if self.small else [run for run in runs if re.search(b"[0-9]", run)]

    def leaves(self, row: int) -> list[Leaf]:
        payload = self.trace.payload[row]
        return [] if payload is None else leaves_of(value_of(payload))

    def is_new(self, run: bytes, row: int) -> bool:
        minted = {anchor_of(one.value) for one in self.found if one.step < row}
        return run not in minted and not any(run in self.runs(earlier) for earlier in range(row))

    def is_new_time(self, parts: list[bytes], row: int) -> bool:
        """Whether the runs of a written time stand behind each other in no earlier text, unless a longer one begins so
        that ends in a Z.
        """
        if self.time_in(parts) != parts:
            return False
        for earlier in range(row):
            runs = self.runs(earlier)
            for at in range(len(runs)):
                time = self.time_in(runs[at:])
                if time == parts or (time[: len(parts)] == parts and not time[-1].endswith(b"Z")):
                    return False
        return True

    @staticmethod
    def time_in(runs: list[bytes]) -> list[bytes]:
        """The runs of a time that these begin with, or of a date."""
        if not re.fullmatch(b"[0-9]{4}-[01][0-9]-[0-3][0-9](T[0-2][0-9])?", runs[0]):
            return []
        found = runs[:1]
        for run in runs[1:]:
            if len(found) <= 6 and re.fullmatch(b"[0-9]{1,9}", run):
                found.append(run)
                continue
            if re.fullmatch(b"[0-9]{1,9}Z", run):
                found.append(run)
            break
        return found

    def run(self) -> list[Found]:
        for row, kind in enumerate(self.trace.kind):
            self.look(row, StepKind(kind))
            if kind == StepKind.TOOL_RESULT and self.trace.call[row] >= 0:
                self.mint(row, self.trace.call[row])
        return sorted(self.found, key=lambda one: one.step)

    # what a result brings --------------------------------------------------------------------------------------------

    def mint(self, row: int, call: int) -> None:
        taken: set[bytes] = set()
        values: set[str] = set()
        for leaf in self.leaves(row):
            if leaf[0] is None or leaf[3] in values or (isinstance(leaf[3], int) and leaf[2] is None):
                continue
            if isinstance(leaf[3], int):
                self.number(leaf, row, call, taken)
            elif self.opaque(leaf[3], leaf[2]):
                values.add(leaf[3])
                self.text(leaf, leaf[3], row, call, taken)
        for run in dict.fromkeys(self.runs(row)):
            token = run.strip(b"-_")
            if run not in taken and self.is_new(run, row) and self.is_new(token, row):
                self.loose(token, row, call)

    def opaque(self, value: str, key: str | None) -> bool:
        if not value or len(value) > 4096 or re.search(r"\s", value):
            return False
        named = self.small and key is not None and self.rules.is_id_key(key)
        return named or re.search("[0-9]", value) is not None

    def number(self, leaf: Leaf, row: int, call: int, taken: set[bytes]) -> None:
        anchor = str(leaf[3]).encode()
        if self.rules.is_id_key(leaf[2] or "") and anchor not in taken and self.is_new(anchor, row):
            self.add(str(leaf[3]), "number", row, call, pointer_of(leaf[0], leaf[1]))
        taken.add(anchor)

    def text(self, leaf: Leaf, value: str, row: int, call: int, taken: set[bytes]) -> None:
        anchor = anchor_of(value)
        if anchor is None:
            return
        parts = [anchor] if len(anchor) == len(value) else self.runs_of(value.encode())
        if any(self.is_new(part, row) for part in parts) or (len(parts) > 1 and self.is_new_time(parts, row)):
            kind = self.rules.handle_kind(value, leaf[2])
            taken.update([anchor] if kind is None else parts)
            if kind is not None:
                self.add(value, kind, row, call, pointer_of(leaf[0], leaf[1]))
            elif re.search(b"[0-9]", anchor):
                self.wait(value, row, call, pointer_of(leaf[0], leaf[1]))

    def loose(self, token: bytes, row: int, call: int) -> None:
        if not 2 <= len(token) <= 200 or not re.search(b"[0-9]", token) or re.fullmatch(b"[0-9]{1,9}Z", token):
            return
        value = token.decode()
        kind = None if value.isdigit() else self.rules.handle_kind(value, None)
        if kind in (None, "number", "timestamp"):
            self.wait(value, row, call, "")
        else:
            self.add(value, str(kind), row, call, "")

    def wait(self, value: str, row: int, call: int, pointer: str) -> None:
        if all(anchor_of(waiting[0]) != anchor_of(value) for waiting in self.waiting):
            self.waiting.append((value, row, call, pointer))

    def add(self, value: str, kind: str, row: int, call: int, pointer: str) -> bool:
        if self.reads(row, value, call, pointer) and kind not in NEW_BY_SHAPE:
            if kind == "timestamp":
                return False
            kind = "reference"
        self.found.append(Found(value, kind, row, pointer, {}))
        return True

    def reads(self, row: int, value: str, call: int, pointer: str) -> bool:
        """Whether a call reads; one of which a word alone says so does as to what is no value of its own."""
        if self.classified[call].effect is Effect.NONE:
            return True
        payload = self.trace.payload[row]
        whole = pointer != "" or (payload is not None and str(value_of(payload)).strip() == value)
        return not whole and seems_to_read(self.classified[call])

    # where it goes ---------------------------------------------------------------------------------------------------

    def look(self, row: int, kind: StepKind) -> None:
        named: dict[int, str] = {}
        for run in self.runs(row):
            for index, written in self.best(run, self.plain[row]):
                named.setdefault(index, written)
        if kind == StepKind.TOOL_CALL:
            self.promote(row, named)
        for how, decoded in self.decoded(row) if kind in (StepKind.TOOL_CALL, StepKind.MODEL) else ():
            for run in all_runs(decoded):
                for index, written in self.best(run, decoded):
                    if written != "bare":
                        named.setdefault(index, how)
        for index, written in named.items():
            self.use(index, row, written)

    def decoded(self, row: int) -> Iterator[tuple[str, bytes]]:
        runs = self.runs(row)
        for word in re.split(rb'[\s"]+', self.plain[row]) if runs else ():
            if re.search(b"%[0-9A-Fa-f]{2}", word):
                yield "url", unquote_to_bytes(word)
        for run in runs:
            for padding in (b"", b"=", b"=="):
                with contextlib.suppress(binascii.Error):
                    said = base64.b64decode(run + padding, validate=True)
                    if len(run) >= 8 and run.isalnum() and re.search(b"[a-z].*[A-Z]|[A-Z].*[a-z]", run):
                        if re.fullmatch(b"[ -~]+", said):
                            yield "base64", said
                        break

    def best(self, run: bytes, text: bytes) -> Iterator[tuple[int, str]]:
        """What a run names: values that are runs as well as any is written, and values that stand around it."""
        told = [(index, self.written(one, run)) for index, one in enumerate(self.found)]
        for rank in ("verbatim", "case", "embedded", "bare"):
            if any(written == rank for _, written in told):
                yield from ((index, rank) for index, written in told if written == rank)
                break
        for index, one in enumerate(self.found):
            value, anchor = one.value.encode(), anchor_of(one.value)
            if anchor is not None and anchor != value and anchor.lower() == run.lower():
                if self.stands_around(anchor, value, text):
                    yield index, "verbatim"
                elif self.stands_in_another_case(index, anchor, text):
                    yield index, "case"

    def stands_in_another_case(self, index: int, anchor: bytes, text: bytes) -> bool:
        """Whether a text holds a value in another case where it holds no other value: the first of those alike."""
        values = [one.value.encode() for one in self.found]
        folded = values[index].lower()
        if folded in [value.lower() for value in values[:index]]:
            return False
        places = self.stands_around(anchor.lower(), folded, text.lower())
        return any(text[at : at + len(folded)] not in values for at in places)

    @staticmethod
    def stands_around(anchor: bytes, value: bytes, text: bytes) -> list[int]:
        """Where a text holds a value, with the anchor as a run of the text."""
        before, behind = value.split(anchor, 1)
        whole = rb"(?=%b(?<![0-9A-Za-z_-])%b(?![0-9A-Za-z_-])%b)"
        return [at.start() for at in re.finditer(whole % tuple(map(re.escape, (before, anchor, behind))), text)]

    def written(self, one: Found, run: bytes) -> str | None:
        value = one.value.encode()
        if anchor_of(one.value) != value:
            return None
        if value == run or value.lower() == run.lower():
            return "verbatim" if value == run else "case"
        ends = [run.startswith(value + cut) or run.endswith(cut + value) for cut in (b"-", b"_")]
        if any(ends) and len(value) >= 4 and len(run) <= 512:
            return "embedded"
        prefix, rest = value[: -len(run)], re.search(b"[0-9]", run) and len(run) >= 4 and run[:1].isalnum()
        new = not any(run in self.runs(row) for row in range(one.step + 1))
        return "bare" if value.endswith(run) and re.fullmatch(b"[A-Za-z]+[-_]", prefix) and rest and new else None

    def is_meant(self, rest: str, row: int) -> bool:
        if self.trace.kind[row] not in (StepKind.TOOL_CALL, StepKind.MODEL):
            return False
        long = len(rest) >= 5 or (self.small and not re.fullmatch("(19|20)[0-9]{2}", rest))
        if not rest.isdigit() or (long and rest[-3:] != "000"):
            return True
        leaves = self.leaves(row) if self.trace.kind[row] == StepKind.TOOL_CALL else []
        alone = [leaf for leaf in leaves if leaf[3] == rest and rest[-3:] != "000"]
        return bool(alone) or any(str(leaf[3]) == rest and self.rules.is_id_key(leaf[2] or "") for leaf in leaves)

    def promote(self, row: int, named: dict[int, str]) -> None:
        here = [one for one in self.waiting if anchor_of(one[0]) in self.runs(row)]
        for waiting in sorted(here, key=lambda one: (one[1], one[3], one[0])):
            value, origin, call, pointer = waiting
            self.waiting.remove(waiting)
            if value.isdigit() and not self.tells(value, row):
                continue
            kind = self.rules.handle_kind(value, None) or ("number" if value.isdigit() else "id")
            if self.add(value, kind, origin, call, pointer):
                named[len(self.found) - 1] = "verbatim"

    def tells(self, number: str, row: int) -> bool:
        held = [leaf for leaf in self.leaves(row) if str(leaf[3]) == number]
        telling = not number.endswith("000") and (self.small or len(number) >= 6)
        return any(telling or self.rules.is_id_key(leaf[2] or "") for leaf in held)

    def use(self, index: int, row: int, written: str) -> None:
        one, kind = self.found[index], self.trace.kind[row]
        if row <= one.step or (
            written == "bare" and not self.is_meant(re.split("[-_]", one.value, maxsplit=1)[1], row)
        ):
            return
        structured = kind in (StepKind.TOOL_CALL, StepKind.TOOL_RESULT)
        leaves = self.leaves(row) if structured else []
        exact = [leaf for leaf in leaves if str(leaf[3]) == one.value]
        holding = exact or [leaf for leaf in leaves if isinstance(leaf[3], str) and one.value in leaf[3]]
        if one.value.isdigit() and len(one.value) < 4 and not holding:
            return
        other_type = bool(exact) and isinstance(exact[0][3], int) is not (one.kind == "number")
        one.uses[row] = "number" if other_type and written == "verbatim" else written


RULES = load_rules()
POLICY = load_policy(None, datetime.date(2026, 11, 29))
SAMPLES = sorted(p for p in (Path(__file__).parents[2] / "samples").iterdir() if p.suffix in (".json", ".jsonl", ".db"))

VALUES = [
    "pg_8812", "PG_8812", "pg_8812-copy", "page-pg_8812", "f4af", "F4AF", "8812", "42", "7", "-7", "100234",
    "2026-11-13T10:00:01.312Z", "2026-11-13T10:00:02.408Z", "312Z", "13", "0b9f3a54-6d5e-4a8e-9a51-0d2f6a1f7c11",
    "a1-b2_c3", "a1", "b2_c3", 'W/"a1b2"', "https://x.test/a?token=zz9&b=1", "-edge1-", "edge1", "ok", "id7", "é9x",
    "pg%5F8812", "id%3A8812", "cGdfODgxMg==", "ZmlsZS1mNGFm", "2026-11-13T10:00:02.312Z", "2026-11-13 10:00", "13 10",
    "MjAyNi0xMS0xM1QxMDowMDowMS4zMTJa", "x" * 30 + "9Aa" + "y" * 20,
    "x2026-11-13T10:00:02.312Z", "2026-11-13T10:00:02.312Zx", "2026-11-13t10:00:02.312z", "https://X.test/a?token=zz9&b=1",
    "on_2024", "2024", "item_5000", "5000",
]  # fmt: skip
values = st.sampled_from(VALUES)
words = st.text(string.ascii_lowercase + '0189 -_.:\\"\n%', max_size=12)
texts = st.lists(values | words, max_size=4).map(" ".join)
numbers = st.integers(-9, 100300) | st.sampled_from([8812, 42, 7])
scalars = values | texts | numbers | st.booleans() | st.none()
keys = st.sampled_from(["id", "ref", "count", "name", "order_id", "note", "a/b", "url"])
lists = st.lists(scalars, max_size=2) | st.lists(values, max_size=5)
objects = st.dictionaries(keys, scalars | lists | st.dictionaries(keys, scalars, max_size=2))
tools = st.sampled_from(["pager.trigger", "get_status", "read_file", "mystery"])
events = st.lists(
    st.tuples(st.sampled_from(["user", "model"]), texts)
    | st.tuples(st.just("call"), tools, objects, objects | texts, st.booleans()),
    max_size=8,
)


def told(story: list[tuple[Any, ...]]) -> Trace:
    """The trace of a story: texts, and calls with arguments and result, the result as an object or as a JSON text."""
    places = Places(0)
    build = TraceBuilder("t", places, "test")
    lane = build.lane()
    for event in story:
        spot = Spot(places.add(line=len(places) + 1))
        if event[0] == "user":
            build.step(StepKind.USER, spot, payload=raw(event[1]))
        elif event[0] == "model":
            build.turn(lane, spot, text=raw(event[1]))
        else:
            _, tool, arguments, result, as_text = event
            build.request(lane, build.turn(lane, spot), tool, None, raw(arguments), spot)
            build.show(lane, None, tool, raw(raw_text(result) if as_text else result), spot)
    return build.finish()


def raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def raw_text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def both(trace: Trace) -> tuple[list[Found], list[Found]]:
    classified = survey(trace, RULES, POLICY).classified
    fast = [
        Found(h.value, h.kind, h.step, h.pointer, {u.step: u.written for u in h.uses if u.role != "branch"})
        for h in flow(trace, classified, RULES).handles
    ]
    return fast, Naive(trace, classified, RULES).run()


@given(events)
def test_small_traces(story: list[tuple[Any, ...]]) -> None:
    fast, naive = both(told(story))
    assert fast == naive


@pytest.fixture
def every_trace_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (occurrences, runs):
        monkeypatch.setattr(module, "SMALL_TRACE", -1)
    monkeypatch.setattr(related_runs, "_FEW", -1)


@pytest.mark.usefixtures("every_trace_is_large")
@given(events)
def test_large_traces(story: list[tuple[Any, ...]]) -> None:
    fast, naive = both(told(story))
    assert fast == naive


@given(events)
@pytest.mark.parametrize("most", [1_000, -1])
def test_long_texts_that_name_many_values(most: int, story: list[tuple[Any, ...]]) -> None:
    trace = told(story)
    with pytest.MonkeyPatch.context() as patch:
        for module in (occurrences, runs):
            patch.setattr(module, "SMALL_TRACE", most)
        patch.setattr(run_blocks, "_LONG", 4)
        patch.setattr(runs, "_FEW", 0)
        patch.setattr(columns, "_LONGEST", 1)
        patch.setattr(columns, "_AT_ONCE", 2)
        patch.setattr(texts_read, "_SEARCHES", 0)
        fast, naive = both(trace)
    assert fast == naive


@given(st.lists(events, min_size=2, max_size=4).map(lambda stories: [event for story in stories for event in story]))
@pytest.mark.parametrize("most", [1_000, -1])
def test_results_that_are_looked_at_together_bring_what_each_by_itself_brings(
    most: int, story: list[tuple[Any, ...]]
) -> None:
    trace = told(story)
    classified = survey(trace, RULES, POLICY).classified
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(occurrences, "SMALL_TRACE", most)
        patch.setattr(related_runs, "_FEW", most)
        together = list(flow(trace, classified, RULES).handles)
        patch.setattr(occurrences, "_TOGETHER", 1)
        patch.setattr(run_blocks, "_BLOCK", 1)
        assert together == list(flow(trace, classified, RULES).handles)
        patch.setattr(columns, "_LONGEST", 0)
        patch.setattr(columns, "_AT_ONCE", 2)
        assert together == list(flow(trace, classified, RULES).handles)
        patch.setattr(minting.Minting, "_is_known_oddly", lambda *_: True)
        assert together == list(flow(trace, classified, RULES).handles)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_samples(sample: Path) -> None:
    for trace in load(sample):
        if trace.calls and trace.calls[0].start < 0:  # a clock of the call's own makes timestamps new: not told naively
            fast, naive = both(trace)
            assert fast == naive
