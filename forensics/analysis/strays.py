"""Which handles does a call name that nothing before it holds? A model that asks for a record by an id which it was
never given made the id up, or was given it where the trace does not look.

Absence is only evidence where everything is there, so nothing is said of a trace with a gap, with a shortened prompt,
without a system prompt (which an agent has and a trace may leave out), or with a text that holds a picture or a file.
A caller may name what it creates, so only calls that read, overwrite or can't be undone count, and calls that failed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.runs import anchor_of
from forensics.core.classes import Effect
from forensics.core.evidence import Basis
from forensics.core.findings import Finding, finding
from forensics.core.jsonvalue import value_of
from forensics.core.late import late
from forensics.core.leaves import leaves_of, pointer_of
from forensics.core.sanitise import one_line
from forensics.core.trace import NOWHERE, Call, Outcome, StepKind, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.analysis.occurrences import Occurrences
    from forensics.core.classes import Classes, Classification
    from forensics.rules.engine import RuleSet

_KINDS = frozenset({"uuid", "ulid", "prefixed-id", "arn", "token", "cursor", "hash", "number"})
_FEWEST_DIGITS = 6
_MOST = 64  # values that are looked for in every earlier text
_LAST_WORD = late(
    r"(?:^|[^A-Za-z])(?:[A-Za-z]*(?:I[dD]s?|ID|Uuid|UUID|Arn|Token|Cursor|Handle|Ticket)"
    r"|ids?|uuid|guid|ulid|arn|token|cursor|handle|ticket)$"
)
_OF_THE_CALLER = late(
    r"idempot|request_?id|client|nonce|correlation|dedup|trace_?id|span_?id|run_?id|session_?id|transaction_?id|external",
    re.IGNORECASE,
)
_MEDIA = late(
    rb'"(?:image|image_url|input_image|inline_?data|inlineData|input_file|file|document|input_audio|audio)"|;base64,'
)
_LAST_WORDS = (b"id", b"ids", b"arn", b"token", b"cursor", b"handle", b"ticket")  # or they end so
_ENDS = tuple(word + end for word in _LAST_WORDS for end in (b'"', b'\\"'))


class Stray(msgspec.Struct, frozen=True):
    """One value in the arguments of a call that stands in nothing before it."""

    value: str
    call: int
    pointer: str


class Strays:
    """Looks at the calls of one trace, with the places where each run of its texts first stands."""

    def __init__(self, trace: Trace, classified: Classes, rules: RuleSet, runs: Occurrences) -> None:
        self._trace = trace
        self._rules = rules
        self._first = runs.first
        self._acts_on_what_is_there = list(classified.each(_acts_on_what_is_there))
        self._turn_row: dict[int, int] = {}
        self._told: list[tuple[int, bytes]] | None = None

    def find(self) -> tuple[Stray, ...]:
        """Every stray value, at the first call that names it."""
        if not self._may_be_whole():
            return ()
        turns = self._trace.turn
        self._turn_row = {turns[row]: row for row in reversed(self._trace.rows(StepKind.MODEL))}
        candidates: dict[str, Stray] = {}
        for number, call in enumerate(self._trace.calls):
            for stray in self._candidates(number, call):
                candidates.setdefault(stray.value, stray)
        if not 0 < len(candidates) <= _MOST or self._holds_media():  # so many: the trace begins amid a story
            return ()
        return tuple(stray for stray in candidates.values() if not self._was_told(stray))

    def _may_be_whole(self) -> bool:
        """Whether what the model was shown is all there, as far as the trace says so of itself."""
        trace = self._trace
        if any(gap.hides for gap in trace.gaps) or trace.silent_turns or trace.media:
            return False
        if StepKind.SYSTEM not in trace.kind:
            return False
        return all(found.code != "compacted_history" for found in trace.findings)

    def _holds_media(self) -> bool:
        """Whether a text holds what is no text."""
        return any(payload is not None and _MEDIA.search(payload) for payload in self._trace.payload)

    def _candidates(self, number: int, call: Call) -> Iterator[Stray]:
        asked = call.requested
        turn = self._turn_row.get(call.turn, NOWHERE)
        if asked is None or asked.payload is None or turn < 0 or not self._counts(number, call):
            return
        if not _may_name(bytes(asked.payload)):
            return
        for above, token, key, item in leaves_of(value_of(asked.payload)):
            if key is None or not self._names_a_record(key, str(item)):
                continue
            anchor = anchor_of(str(item))
            if anchor is not None and self._first.get(anchor, turn) >= turn:
                yield Stray(str(item), number, pointer_of(above, token))

    def _counts(self, number: int, call: Call) -> bool:
        return call.outcome is Outcome.FAILED or self._acts_on_what_is_there[number]

    def _names_a_record(self, key: str, value: str) -> bool:
        if not _LAST_WORD.search(key) or _OF_THE_CALLER.search(key):
            return False
        if value.isdigit() and len(value) < _FEWEST_DIGITS:
            return False
        return self._rules.handle_kind(value, key) in _KINDS

    def _was_told(self, stray: Stray) -> bool:
        """Whether a text before the turn holds the value after all: in another case, or without its dashes."""
        before = self._turn_row[self._trace.calls[stray.call].turn]
        wanted = _folded(stray.value.encode("utf-8", "surrogatepass"))
        return any(wanted in text for row, text in self._texts() if row < before)

    def _texts(self) -> list[tuple[int, bytes]]:
        if self._told is None:
            payloads = enumerate(self._trace.payload)
            self._told = [(row, _folded(bytes(payload))) for row, payload in payloads if payload is not None]
        return self._told


def _may_name(arguments: bytes) -> bool:
    """Whether a key in these arguments may name a record: whether any text in them ends as such a key does."""
    folded = arguments.lower()
    return any(end in folded for end in _ENDS)


def _acts_on_what_is_there(kind: Classification) -> bool:
    """Whether a call reads, overwrites or destroys; of an unknown effect, whether anything says that it reads."""
    if kind.effect is Effect.UNKNOWN:
        return any(piece.effect is Effect.NONE for piece in kind.evidence)
    return kind.effect is not Effect.REPEATING


def _folded(text: bytes) -> bytes:
    return text.lower().translate(None, b"-_ \\")


def from_nowhere(trace: Trace, strays: tuple[Stray, ...]) -> Iterator[Finding]:
    """One finding for each stray value."""
    for stray in strays:
        call = trace.calls[stray.call]
        where = f"{one_line(stray.pointer, 60)} of {one_line(call.tool, 60)}"
        message = f"{one_line(stray.value, 60)} in {where} stands in no prompt, result or answer before it"
        locators = (trace.locator(call.step),)
        yield finding(
            "handle_from_nowhere",
            message,
            steps=(call.step,),
            locators=locators,
            basis=Basis.INFERRED,
            confidence="medium",
        )
