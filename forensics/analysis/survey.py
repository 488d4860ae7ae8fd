"""What do the calls of a trace show, one by one? One pass, some hundred calls at a time, that decodes every call's
arguments and result once.

It collects the evidence for classes, and what can be read in two ways. What depends on the tool and on the members of
arguments and result alone is worked out once for all calls that have these.
"""

from __future__ import annotations

from array import array
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.analysis.alike import Alike
from forensics.analysis.doubts import Doubts
from forensics.analysis.inband import may_say_it_failed, says_it_failed
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
from forensics.core.findings import Finding
from forensics.core.json_texts import unfolded
from forensics.core.jsonvalue import canonical
from forensics.core.rpc_errors import may_be_an_error
from forensics.core.sanitise import one_line
from forensics.core.trace import NOWHERE, Outcome
from forensics.proofs.calls import answerable, proof_of, without
from forensics.rules.engine import NO_RESULT
from forensics.rules.memory import keep

if TYPE_CHECKING:
    from forensics.core.evidence import Locator
    from forensics.core.policy import Policy
    from forensics.core.trace import Call, Trace
    from forensics.rules.engine import CallRules, Heard, RuleSet

Evidence = tuple[ClassEvidence, ...]

_REMEMBERED = 4096

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
        self._settled: dict[Heard, int] = {}  # the classes that neither arguments nor behaviour can change
        self._proofs: dict[ClassEvidence | None, None] = {}

    def classify(self, heard: Heard, arguments: object, behaved: ClassEvidence | None = None) -> int:
        """The class of a call about which this was heard; `behaved` says that its result differs from that of the same
        call before, or is an error.
        """
        settled = self._settled.get(heard) if behaved is None else None
        if settled is not None:
            return settled
        proof = self._proof(heard, arguments)
        known = (heard, None if behaved is None else behaved.rule, proof)
        number = self._classified.get(known)
        if number is None:
            number = self._classified[known] = len(self._kinds)
            own = self.calls.evidence(heard)
            self._kinds.append(self._resolved(own if behaved is None else (*own, behaved), proof))
        if behaved is None and not self._runs_text[heard]:
            self._settled[heard] = number
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
        self.last_change = NOWHERE
        self.kinds: list[Classification] = []
        self.doubts = Doubts(trace)
        self.arguments = Alike()
        self.failed = bytearray(len(trace.calls))
        self.answered_first: dict[tuple[int, ToolKey], int] = {}
        self.plain: dict[tuple[str, ...], bool] = {}

    def run(self) -> Survey:
        numbers = array("i")
        for rows in self.trace.calls.parts():
            numbers.extend(self._study(rows))
        called = {name for name, _ in self.tools}
        for name in self.trace.facts:
            if name not in called:
                self._tool((name, None))
        for listed in self.listing:
            if (listed.name, listed.server) not in self.listed:
                self._tool((listed.name, listed.server))
        tools = {name: tool.evidence() for name, tool in self.tools.items()}
        facts = {name: tool.facts for name, tool in self.tools.items()}
        classes = Classes(tuple(self.kinds), numbers)
        return Survey(classes, self.arguments.close(), tools, facts, self.doubts.findings(), bytes(self.failed))

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

    def _study(self, rows: range) -> list[int]:
        """The numbers of the classes of these calls."""
        told = self.doubts.read(rows)
        keys = list(self.trace.calls.tools(rows))
        tools = [self.tools.get(key) or self._tool(key) for key in keys]
        alike = self.arguments.add(map(canonical, told.arguments))
        ended = [
            value is not None and outcome is Outcome.RECORDED
            for value, outcome in zip(told.results, self.trace.calls.each("outcome", rows), strict=True)
        ]
        errors = self._errors(rows, told.results, ended)
        shown = [
            result if end or at in errors else NO_RESULT
            for at, (result, end) in enumerate(zip(told.results, ended, strict=True))
        ]
        heard = self.rules.heard([tool.calls for tool in tools], told.arguments, shown)
        numbers: list[int] = []
        for at, (row, tool, said) in enumerate(zip(rows, tools, heard, strict=True)):
            behaved = errors.get(at)
            if behaved is None and ended[at]:
                behaved = self._changed(row, alike[at], keys[at], told.results[at])
            number = tool.classify(said, told.arguments[at], behaved)
            if self.kinds[number].effect is not Effect.NONE:
                self.last_change = row
            numbers.append(number)
        return numbers

    def _errors(self, rows: range, results: list[Any], ended: list[bool]) -> dict[int, ClassEvidence]:
        """By place, what the result of a call says where it is an error; and which calls failed by their words."""
        found: dict[int, ClassEvidence] = {}
        for at, result in enumerate(results):
            if not isinstance(result, dict) or self._is_plain(tuple(result)):
                continue
            self.failed[rows[at]] = ended[at] and says_it_failed(result)
            error = error_evidence(result, partial(self._place, rows[at]))
            if error is not None:
                found[at] = error
        return found

    def _is_plain(self, members: tuple[str, ...]) -> bool:
        """Whether an object with these members tells of no error, whatever their values."""
        plain = self.plain.get(members)
        if plain is None:
            plain = not (may_be_an_error(members) or may_say_it_failed(members))
            keep(self.plain, members, plain, _REMEMBERED)
        return plain

    def _changed(self, row: int, alike: int, key: ToolKey, result: object) -> ClassEvidence | None:
        """What it shows that the same call had another result before, if it had."""
        before = self._answered_before(row, alike, key)
        if before == row or self._has_result(before, result):
            return None
        return self._says_changed(self.trace.calls[before], row)

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
        return payload is not None and canonical(unfolded([bytes(payload)])[0][0]) == canonical(result)

    def _says_changed(self, first: Call, row: int) -> ClassEvidence:
        """The same call with another result: the result is not stable. Whether a call that may change something ran
        between the two says where to look for the reason, and nothing about this tool's own effect.
        """
        says, rule = "the same call with the same arguments gave another result in this trace", "behaviour.changed"
        between = None if self.last_change < 0 else self.trace.calls[self.last_change]
        if between is not None and first.step < between.step:
            rule = "behaviour.changed-after-write"
            says += (
                f", after {one_line(between.tool, 60)}, which may change something, ran between (step {between.step})"
            )
        return ClassEvidence(
            Source.BEHAVIOUR, Tier.PACK, says, result=Stability.VOLATILE, rule=rule, locator=self._place(row)
        )

    def _place(self, row: int) -> Locator:
        return self.trace.locator(self.trace.calls[row].step)
