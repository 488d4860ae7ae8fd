"""What do the evaluations of Google ADK expect of an agent, and what did it do when it was evaluated? Eval sets
(`.evalset.json`, `.test.json`, in their current and their first shape) and the results of running them.

An eval case is what is expected: it may have been taken from a session, but nothing in it says that it ran, so that
each is a gap. A result has the session that was run, or else its invocations.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from forensics.core.sanitise import one_line
from forensics.formats.shared.adk_invocations import Invocations, calls_beside
from forensics.formats.shared.document import note_cut, open_document
from forensics.formats.shared.document_values import document_values
from forensics.formats.shared.either_case import EitherCase
from forensics.formats.shared.fields import Fields, fields_of, items_in, items_of, opens_with
from forensics.formats.shared.messages.telling import taint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.build import Spot, TraceBuilder
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.adk_events import Conversation
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

    Placed = tuple[Payload, Spot, str | None]

NAME = "google-adk-eval"
ABOUT = "Google ADK evaluations: eval sets (.evalset.json, .test.json) and the results of running them"
CARRIES = "calls, arguments, answers; of results the session with what calls gave; instructions, tools (some)"
LACKS = "whether a case of an eval set ever ran; results and call ids (mostly)"
RERUN = "everything but what was asked: an eval set is no recording"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_CASES, _RESULTS = "eval_cases", "eval_case_results"
_FIRST_SHAPE = frozenset({"query", "expected_tool_use"})
_COMPARED = "eval_metric_result_per_invocation"
_READ_OF_RESULT = frozenset({"session_details", _COMPARED})
_READ_OF_COMPARED = frozenset({"actual_invocation", "expected_invocation"})
_READ_OF_SESSION = frozenset({"events", "state"})
_EXPECTED = "a case of an eval set tells what is expected of an agent: nothing says that it ran, or what its calls gave"
_SHOWN = 8


def sniff(look: Look) -> int:
    """95 for eval sets and results."""
    if look.document is not None:
        names = EitherCase.names(look.document)
        return 95 if {"eval_set_id", _CASES} <= names or {"eval_set_id", _RESULTS} <= names else 0
    items = look.items()
    return 95 if any(map(_is_turn, items)) or any(map(_is_first_case, items)) else 0


def _is_turn(fields: Fields) -> bool:
    return fields.keys() >= _FIRST_SHAPE


def _is_first_case(fields: Fields) -> bool:
    return "name" in fields and any(_is_turn(fields_of(item)) for item in items_in(fields, "data")[:_SHOWN])


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell each case. Raises CorruptEvidenceError where nothing of it is JSON."""
    document = open_document(source, build)
    evals = _Evals(build)
    if opens_with(document.body, b"["):
        values = list(document_values(source, build, document, items_of(document.body), ""))
        evals.first_shape(values, document.spot)
    else:
        whole = EitherCase(document.body, document.spot)
        for value in _listed(source, build, document, whole, _CASES):
            evals.case(*value)
        for value in _listed(source, build, document, whole, _RESULTS):
            evals.result(*value)
        evals.beside(whole)
    note_cut(document, build)
    if not build.counts.records:
        raise source.holds_no("case of an evaluation")


def _listed(
    source: Source, build: EvidenceBuilder, document: Document, whole: EitherCase, name: str
) -> Iterator[Placed]:
    items = items_in(whole.fields, name)
    return document_values(source, build, document, items, whole.spot_of(name).pointer)


class _Evals:
    """The cases and results of one evidence: each is a trace."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.names: set[str] = set()
        self.again: dict[str, int] = {}

    def _trace(self, name: str) -> TraceBuilder:
        """A trace of that name, or one beside it where that stands there already: a case may be run several times."""
        wanted = first = name or "case"
        while wanted in self.names:
            self.again[first] = self.again.get(first, 1) + 1
            wanted = f"{first} ({self.again[first]})"
        self.names.add(wanted)
        return self.build.trace(wanted)

    def first_shape(self, values: list[Placed], spot: Spot) -> None:
        """A list of turns, or of cases with their turns, as eval sets were first written."""
        if any(_is_turn(fields_of(item)) for item, _, _ in values[:_SHOWN]):
            self._turns(self._expected("conversation", spot), values)
            return
        for item, at, tainted in values:
            one = EitherCase(item, at)
            turns = [(turn, where, tainted) for turn, where in one.items("data")]
            self._turns(self._expected(one.text("name"), at), turns)

    def _turns(self, told: Invocations, turns: list[Placed]) -> None:
        for item, spot, tainted in turns:
            self.build.counts.records += 1
            before = len(told.builder.trace.calls)
            told.tell_first(EitherCase(item, spot))
            taint(told.builder, tainted, spot, before)

    def _expected(self, name: str, spot: Spot) -> Invocations:
        told = Invocations(self._trace(name))
        told.gap(spot, _EXPECTED)
        return told

    def case(self, item: Payload, spot: Spot, tainted: str | None) -> None:
        """A case of an eval set."""
        one = EitherCase(item, spot)
        told = self._expected(one.text("eval_id"), spot)
        begins = one.inner("session_input")
        if begins is not None:
            told.builder.trace.surroundings = [begins.raw]
        self._invocations(told, list(one.objects("conversation")), spot, tainted)

    def result(self, item: Payload, spot: Spot, tainted: str | None) -> None:
        """What came of one case: its session, or else the invocations that were compared with the expected ones."""
        one = EitherCase(item, spot)
        told = Invocations(self._trace(one.text("session_id", "eval_id")))
        session, results = one.inner("session_details"), list(one.objects(_COMPARED))
        events = [] if session is None else list(session.objects("events"))
        told.look_through(one, _READ_OF_RESULT)
        for each, read in [(session, _READ_OF_SESSION), *((each, _READ_OF_COMPARED) for each in results)]:
            if each is not None:
                told.look_through(each, read)
        compared = [each.inner("actual_invocation") for each in results]
        if events:
            self._session(told.conversation, events, spot, tainted)
            self._compare(told, [each for each in compared if each is not None])
            return
        if not compared or any(each is None or each.held("intermediate_data") is None for each in compared):
            told.gap(spot, "a result of an evaluation that does not tell all that was done")
        self._invocations(told, [each for each in compared if each is not None], spot, tainted)

    def _compare(self, told: Invocations, compared: list[EitherCase]) -> None:
        """A gap where invocations hold more calls of a tool than the session that was told."""
        left = Counter(call.tool for call in told.builder.trace.calls)
        for between in (each.inner("intermediate_data") for each in compared):
            for use in [] if between is None else between.objects("tool_uses"):
                name = use.text("name")
                left[name] -= 1
                if left[name] < 0:
                    told.gap(use.spot, f"an invocation holds a call of {one_line(name, 60)} that its session lacks")

    def beside(self, whole: EitherCase) -> None:
        """What stands beside the cases and results is of none of them: it may hide a call of each."""
        for spot, message in calls_beside(whole, frozenset({_CASES, _RESULTS})):
            self.build.gap("evidence_gap", message, spot)

    def _session(self, conversation: Conversation, events: list[EitherCase], spot: Spot, tainted: str | None) -> None:
        for event in events:
            self.build.counts.records += 1
            conversation.event(event.fields, event.spot, None)
        conversation.close()
        taint(conversation.builder, tainted, spot)

    def _invocations(self, told: Invocations, listed: list[EitherCase], spot: Spot, tainted: str | None) -> None:
        for one in listed:
            self.build.counts.records += 1
            told.tell(one)
        self.build.counts.records += not listed
        taint(told.builder, tainted, spot)
