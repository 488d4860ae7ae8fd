"""What do the calls of a trace show, one by one? One pass that decodes every call's arguments and result once.

It collects the evidence for classes, what can be read in two ways, and the values in results that may be handles.
"""

from __future__ import annotations

from array import array
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.analysis.inband import says_it_failed
from forensics.analysis.listing import NOTHING_LISTED, Known, Listing
from forensics.analysis.refusals import error_evidence
from forensics.core.classes import (
    Classes,
    ClassEvidence,
    Classification,
    Effect,
    Source,
    Stability,
    Tier,
    ToolFacts,
    resolve,
)
from forensics.core.findings import Finding, finding
from forensics.core.jsonvalue import SAFE_INTEGER, Decoded, canonical, decode, decode_embedded
from forensics.core.leaves import leaves_of
from forensics.core.sanitise import one_line
from forensics.core.trace import NOWHERE, Call, Outcome
from forensics.proofs.calls import answerable, proof_of, without

if TYPE_CHECKING:
    from forensics.core.evidence import Locator
    from forensics.core.policy import Policy
    from forensics.core.trace import Payload, Trace
    from forensics.rules.engine import CallRules, Heard, RuleSet

Evidence = tuple[ClassEvidence, ...]

_DIGITS_AS_ZEROS = bytes.maketrans(b"0123456789", b"0" * 10)
_NAMED = 8
_DIGEST = 16  # bytes: enough for no two to be equal by chance or on purpose
_ESCAPED_DIGIT = b"\\u003"
_LONG_NUMBER = b"0" * len(str(SAFE_INTEGER))

ToolKey = tuple[str, str | None]
"""A tool by its name and the server that its calls name (None: none named)."""


class Survey(msgspec.Struct, frozen=True):
    """Every call of one trace, and the evidence by tool. Of each call, row by row: its classification before values
    were followed, a number that is the same for the same arguments, and whether what is recorded as its result is the
    envelope of an error.
    """

    classified: Classes
    arguments: array[int]
    tools: dict[ToolKey, Evidence]
    facts: dict[ToolKey, ToolFacts]
    findings: tuple[Finding, ...]
    failed: bytes = b""


class Alike:
    """Which calls have the same arguments? A number for each call and, by number, the first call with an answer (-1: no
    call has one).
    """

    def __init__(self) -> None:
        self.numbers = array("i")
        self.first = array("i")
        self._known: dict[bytes, int] = {}

    def add(self, arguments: bytes) -> int:
        """Note the canonical arguments of the next call; returns their number."""
        digest = blake2b(arguments, digest_size=_DIGEST).digest()
        number = self._known.setdefault(digest, len(self.first))
        if number == len(self.first):
            self.first.append(NOWHERE)
        self.numbers.append(number)
        return number

    def close(self) -> array[int]:
        """The number of each call, when the last one is there. What tells arguments apart is forgotten."""
        self._known.clear()
        return self.numbers


def survey(trace: Trace, rules: RuleSet, policy: Policy, listing: Listing = NOTHING_LISTED) -> Survey:
    """Study every call of the trace, in order; `listing` is the inventory beside it."""
    return _Surveyor(trace, rules, policy, listing).run()


class _Tool:
    """What is known of one tool, and the classes that its calls were given so far, by what spoke about them. Classes go
    by their number in `kinds`.
    """

    def __init__(
        self, facts: ToolFacts, base: Evidence, calls: CallRules, answered: frozenset[str], kinds: list[Classification]
    ) -> None:
        self.facts = facts
        self.base = base
        self.calls = calls
        self.answered = answered
        self.extra: dict[tuple[str, str | None], ClassEvidence] = {}
        self._kinds = kinds
        self._classified: dict[tuple[Heard, str | None, ClassEvidence | None], int] = {}
        self._runs_text: dict[Heard, bool] = {}
        self._proofs: dict[ClassEvidence | None, None] = {}

    def classify(self, heard: Heard, arguments: object, behaved: ClassEvidence | None = None) -> int:
        """The class of a call about which this was heard; `behaved` says that its result differs from that of the same
        call before, or is an error.
        """
        proof = self._proof(heard, arguments)
        known = (heard, None if behaved is None else behaved.rule, proof)
        number = self._classified.get(known)
        if number is None:
            number = self._classified[known] = len(self._kinds)
            own = self.calls.evidence(heard)
            self._kinds.append(self._resolved(own if behaved is None else (*own, behaved), proof))
        return number

    def evidence(self) -> Evidence:
        """What is known of the tool from all its calls. A proof speaks of one call, so it counts where all have one."""
        pieces = (*self.base, *self.extra.values())
        proofs = tuple(proof for proof in self._proofs if proof is not None)
        if len(proofs) != len(self._proofs):
            return pieces
        return (*without(pieces, self.answered), *proofs)

    def _proof(self, heard: Heard, arguments: object) -> ClassEvidence | None:
        runs_text = self._runs_text.get(heard)
        if runs_text is None:
            pieces = (*self.base, *self.calls.evidence(heard))
            runs_text = self._runs_text[heard] = answerable(pieces, self.answered)
        proof = proof_of(self.facts, arguments) if runs_text else None
        self._proofs[proof] = None
        return proof

    def _resolved(self, own: Evidence, proof: ClassEvidence | None) -> Classification:
        for piece in own:
            self.extra.setdefault((piece.says, piece.rule), piece)
        pieces = (*self.base, *own)
        return resolve(pieces if proof is None else (*without(pieces, self.answered), proof))


class _Surveyor:
    def __init__(self, trace: Trace, rules: RuleSet, policy: Policy, listing: Listing) -> None:
        self.trace = trace
        self.rules = rules
        self.policy = policy
        self.listing = listing
        self.listed: set[ToolKey] = set()
        self.tools: dict[ToolKey, _Tool] = {}
        self.last_change: Call | None = None
        self.findings: list[Finding] = []
        self.kinds: list[Classification] = []
        self.texts: list[int] = []
        self.large: tuple[int, int] | None = None  # the first integer beyond 2^53, and the step of its call
        self.arguments = Alike()
        self.failed = bytearray(len(trace.calls))
        self.answered_first: dict[tuple[int, ToolKey], int] = {}

    def run(self) -> Survey:
        numbers = array("i", map(self._study, self.trace.calls))
        called = {name for name, _ in self.tools}
        for name in self.trace.facts:
            if name not in called:
                self._tool((name, None))
        for listed in self.listing:
            if (listed.name, listed.server) not in self.listed:
                self._tool((listed.name, listed.server))
        if self.large is not None:
            self._note_large_integer(*self.large)
        if self.texts:
            self._note_texts()
        tools = {name: tool.evidence() for name, tool in self.tools.items()}
        facts = {name: tool.facts for name, tool in self.tools.items()}
        classes = Classes(tuple(self.kinds), numbers)
        return Survey(classes, self.arguments.close(), tools, facts, tuple(self.findings), bytes(self.failed))

    def _tool(self, key: ToolKey) -> _Tool:
        known = self._known(*key)
        self.listed.update((one.name, one.server) for one in known.listed)
        base = known.evidence(self.rules, self.policy)
        calls = self.rules.calls_of(known.facts, self.policy)
        tool = self.tools[key] = _Tool(known.facts, base, calls, self.rules.answered_by_proof, self.kinds)
        return tool

    def _known(self, name: str, server: str | None) -> Known:
        """What the evidence says of a tool of that server; another server's tool of the same name is another tool."""
        known = self.trace.facts.get(name)
        if known is None or (server is not None and known.server not in (None, server)):
            return self.listing.known(ToolFacts(name=name, server=server), declared=False)
        own = known if server is None else msgspec.structs.replace(known, server=server)
        return self.listing.known(own)

    def _study(self, call: Call) -> int:
        """The number of a call's class."""
        number = self._class_of(call)
        if self.kinds[number].effect is not Effect.NONE:
            self.last_change = call
        return number

    def _class_of(self, call: Call) -> int:
        key = (call.tool, call.server)
        tool = self.tools.get(key) or self._tool(key)
        payload = call.result
        arguments = self._read(call, call.arguments)
        result = self._read(call, payload)
        if isinstance(arguments, str) and not call.freeform and not call.blocks and _is_no_json(arguments):
            self.texts.append(call.step)
        alike = self.arguments.add(canonical(arguments))
        ended = payload is not None and result is not None and call.outcome is Outcome.RECORDED
        self.failed[call.row] = ended and says_it_failed(result)
        error = None if payload is None else error_evidence(result, lambda: self._place(call))
        if error is not None:
            return tool.classify(tool.calls.heard(arguments, result), arguments, error)
        if not ended:
            return tool.classify(tool.calls.heard(arguments), arguments)
        heard = tool.calls.heard(arguments, result)
        before = self._answered_before(call.row, alike, key)
        if before == call.row or self._has_result(before, result):
            return tool.classify(heard, arguments)
        return tool.classify(heard, arguments, self._changed(self.trace.calls[before], call))

    def _answered_before(self, row: int, alike: int, key: ToolKey) -> int:
        """The first call of that tool with arguments of that number that has an answer: perhaps the one that asks."""
        first = self.arguments.first[alike]
        if first < 0:
            self.arguments.first[alike] = row
            return row
        call = self.trace.calls[first]
        return first if (call.tool, call.server) == key else self.answered_first.setdefault((alike, key), row)

    def _has_result(self, row: int, result: object) -> bool:
        payload = self.trace.calls[row].result
        return payload is not None and canonical(_decoded(payload).value) == canonical(result)

    def _changed(self, first: Call, call: Call) -> ClassEvidence:
        """The same call with another result: the result is not stable. Whether a call that may change something ran
        between the two says where to look for the reason, and nothing about this tool's own effect.
        """
        says, rule = "the same call with the same arguments gave another result in this trace", "behaviour.changed"
        between = self.last_change
        if between is not None and first.step < between.step:
            rule = "behaviour.changed-after-write"
            says += (
                f", after {one_line(between.tool, 60)}, which may change something, ran between (step {between.step})"
            )
        place = self._place(call)
        return ClassEvidence(Source.BEHAVIOUR, Tier.PACK, says, result=Stability.VOLATILE, rule=rule, locator=place)

    # what a payload says in two ways -----------------------------------------------------------------------------

    def _read(self, call: Call, payload: Payload | None) -> Any:
        if payload is None:
            return None
        decoded = _decoded(payload)
        if decoded.faults:
            self._note_faults(call, decoded)
        if self.large is None and _has_a_long_number(bytes(payload)):
            found = _large_integer(decoded.value)
            self.large = None if found is None else (found, call.step)
        return decoded.value

    def _note_faults(self, call: Call, decoded: Decoded) -> None:
        for fault in decoded.faults:
            message = f"{one_line(call.tool, 60)}: {fault.message}"
            self.findings.append(finding(fault.code, message, steps=(call.step,), locators=(self._place(call),)))
            if fault.code == "duplicate_key":
                call.block(fault.code, message)

    def _note_large_integer(self, value: int, step: int) -> None:
        message = f"integers beyond 2^53 ({value}) are rounded by readers that use doubles; here they are exact"
        self.findings.append(finding("large_integer", message, steps=(step,)))

    def _note_texts(self) -> None:
        """Arguments that a tool takes as JSON, and that a model wrote as something else."""
        many = f"the arguments of {len(self.texts)} calls are" if len(self.texts) > 1 else "the arguments of a call are"
        message = f"{many} a text that is no JSON: kept as a text"
        self.findings.append(finding("dialect", message, steps=tuple(self.texts[:_NAMED])))

    def _place(self, call: Call) -> Locator:
        return self.trace.locator(call.step)


def _decoded(payload: Payload) -> Decoded:
    """A payload decoded, a text that holds JSON unfolded."""
    decoded = decode(payload)
    if isinstance(decoded.value, str):
        return decode_embedded(decoded.value) or decoded
    return decoded


def _is_no_json(text: str) -> bool:
    """Whether a text that says anything is no JSON."""
    return bool(text) and not text.isspace() and decode(text.encode("utf-8", "surrogatepass")).error is not None


def _has_a_long_number(data: bytes) -> bool:
    """Whether a text holds as many digits in a row as an integer beyond 2^53 has, or may spell digits as escapes."""
    return _LONG_NUMBER in data.translate(_DIGITS_AS_ZEROS) or _ESCAPED_DIGIT in data


def _large_integer(value: object) -> int | None:
    """The first integer beyond 2^53 in document order."""
    for _, _, _, item in leaves_of(value):
        if isinstance(item, int) and abs(item) > SAFE_INTEGER:
            return item
    return None
