"""What do the calls of a trace show, one by one? One pass, some hundred calls at a time, that decodes every call's
arguments and result once.

It collects the evidence for classes, and what can be read in two ways. What depends on the tool and on the members of
arguments and result alone is worked out once for all calls that have these.
"""

from __future__ import annotations

from array import array
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.analysis.alike import Alike
from forensics.analysis.doubts import Doubts
from forensics.analysis.endings import Endings
from forensics.analysis.inband import may_say_it_failed, says_it_failed
from forensics.analysis.listing import NOTHING_LISTED, Known, Listing
from forensics.analysis.refusals import error_evidence
from forensics.analysis.tool_classes import ToolClasses
from forensics.core.classes import Classes, ClassEvidence, Classification, Effect, Source, Stability, Tier, ToolFacts
from forensics.core.findings import Finding
from forensics.core.json_texts import canonicals, unfolded
from forensics.core.jsonvalue import canonical
from forensics.core.rpc_errors import may_be_an_error
from forensics.core.sanitise import one_line
from forensics.core.trace import NOWHERE, Outcome
from forensics.rules.engine import NO_RESULT
from forensics.rules.memory import keep

if TYPE_CHECKING:
    from forensics.core.evidence import Locator
    from forensics.core.keyed import Keyed
    from forensics.core.policy import Policy
    from forensics.core.trace import Call, Trace
    from forensics.rules.engine import Heard, HeardOfMany, RuleSet

Evidence = tuple[ClassEvidence, ...]

_REMEMBERED = 4096

ToolKey = tuple[str, str | None]
"""A tool by its name and the server that its calls name (None: none named)."""


class Survey(msgspec.Struct, frozen=True):
    """Every call of one trace, and the evidence by tool. Of each call, row by row: its classification before values
    were followed, a number that is the same for the same arguments, and whether what is recorded as its result is the
    envelope of an error. `doubtful` are the calls in whose result an answer is missed, among other things, and
    `did_nothing` those that count as answered, and of which the result says that they did nothing.
    """

    classified: Classes
    arguments: array[int]
    tools: dict[ToolKey, Evidence]
    facts: dict[ToolKey, ToolFacts]
    findings: tuple[Finding, ...]
    failed: bytes = b""
    doubtful: tuple[int, ...] = ()
    did_nothing: tuple[int, ...] = ()


def survey(trace: Trace, rules: RuleSet, policy: Policy, listing: Listing = NOTHING_LISTED) -> Survey:
    """Study every call of the trace, in order; `listing` is the inventory beside it."""
    return _Surveyor(trace, rules, policy, listing).run()


class _Part(msgspec.Struct, frozen=True):
    """Some calls that are studied together: their tools, arguments (with the number that equal ones have) and results;
    by place, what a result shows that is an error; and those of which the arguments had an answer before.
    """

    rows: range
    tools: list[ToolClasses]
    arguments: list[Any]
    results: list[Any]
    alike: list[int]
    errors: dict[int, ClassEvidence]
    again: frozenset[int]


class _Surveyor:
    def __init__(self, trace: Trace, rules: RuleSet, policy: Policy, listing: Listing) -> None:
        self.trace = trace
        self.rules = rules
        self.policy = policy
        self.listing = listing
        self.listed: set[ToolKey] = set()
        self.tools: dict[ToolKey, ToolClasses] = {}
        self.last_change = NOWHERE
        self.kinds: list[Classification] = []
        self.changes = {NOWHERE: False}  # by the number of a class, whether such a call may change something
        self.settled: dict[tuple[Any, ...], int] = {}  # by tool and what was heard, a class that no arguments change
        self.doubts = Doubts(trace)
        self.endings = Endings(trace)
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
        found, ends = self.doubts.findings(), (tuple(self.endings.doubtful), tuple(self.endings.did_nothing))
        return Survey(classes, self.arguments.close(), tools, facts, found, bytes(self.failed), *ends)

    def _tool(self, key: ToolKey) -> ToolClasses:
        known = self._known(*key)
        self.listed.update((one.name, one.server) for one in known.listed)
        base = known.evidence(self.rules, self.policy)
        calls = self.rules.calls_of(known.facts, self.policy)
        tool = self.tools[key] = ToolClasses(known.facts, base, calls, self.rules.answered_by_proof, self.kinds)
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
        given, gave = told.arguments.values, told.results.values
        tools = [self.tools.get(key) or self._tool(key) for key in self.trace.calls.tools(rows)]
        marked = self._ended(rows, gave)
        self.endings.read(rows, told.results)
        ended = self._ended(rows, gave)
        errors = self._errors(rows, told.results, marked)
        hidden = {at for at, end in enumerate(ended) if not end and at not in errors}
        alike = self.arguments.add(canonicals(given))
        answered = [at for at, end in enumerate(ended) if end and at not in errors]
        part = _Part(rows, tools, given, gave, alike, errors, self._answered_again(rows, alike, answered))
        calls = [tool.calls for tool in tools]
        return self._classified(part, self.rules.heard(calls, told.arguments, told.results.without(hidden, NO_RESULT)))

    def _ended(self, rows: range, gave: list[Any]) -> list[bool]:
        """Which of these calls count as answered, and have something as their result."""
        outcomes = self.trace.calls.each("outcome", rows)
        return [
            value is not None and outcome is Outcome.RECORDED for value, outcome in zip(gave, outcomes, strict=True)
        ]

    def _classified(self, part: _Part, heard: HeardOfMany) -> list[int]:
        """The numbers of the classes of these calls, about which this was heard. Those of which the same was heard
        before, and whose results show no more, have the same; the others are asked about in order.
        """
        same = list(zip(part.tools, heard.operators, heard.arguments, heard.results, strict=True))
        numbers = list(map(self.settled.get, same, repeat(NOWHERE)))
        changes = bytearray(map(self.changes.__getitem__, numbers))
        for at in [at for at, number in enumerate(numbers) if number < 0 or at in part.errors or at in part.again]:
            self._note_change(part.rows, changes.rfind(1, 0, at))
            behaved = part.errors.get(at) or (self._changed(part, at) if at in part.again else None)
            if behaved is not None or numbers[at] < 0:
                numbers[at] = self._number(same[at], heard.of(at), part.arguments[at], behaved)
                changes[at] = self.changes[numbers[at]]
        self._note_change(part.rows, changes.rfind(1))
        return numbers

    def _number(self, same: tuple[Any, ...], heard: Heard, arguments: object, behaved: ClassEvidence | None) -> int:
        known = self.settled.get(same) if behaved is None else None
        if known is not None:
            return known
        tool: ToolClasses = same[0]
        number = tool.classify(heard, arguments, behaved)
        self.changes[number] = self.kinds[number].effect is not Effect.NONE
        if behaved is None and tool.is_settled(heard):
            self.settled[same] = number
        return number

    def _note_change(self, rows: range, at: int) -> None:
        """The call at that place of these may have changed something; one before the first is none."""
        if at >= 0:
            self.last_change = rows[at]

    def _errors(self, rows: range, results: Keyed, ended: list[bool]) -> dict[int, ClassEvidence]:
        """By place, what the result of a call says where it is an error; and which calls failed by their words."""
        found: dict[int, ClassEvidence] = {}
        for at in sorted(chain.from_iterable(one.places for one in results.groups if not self._is_plain(one.keys))):
            result = results.values[at]
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

    def _answered_again(self, rows: range, alike: list[int], answered: list[int]) -> frozenset[int]:
        """Which of the calls with an answer had it before, or one like it: a call with the same arguments has one."""
        first, found = self.arguments.first, []
        for at in answered:
            if first[alike[at]] < 0:
                first[alike[at]] = rows[at]
            else:
                found.append(at)
        return frozenset(found)

    def _changed(self, part: _Part, at: int) -> ClassEvidence | None:
        """What it shows that the same call had another result before, if it had."""
        row = part.rows[at]
        before = self._answered_before(row, part.alike[at])
        if before == row or self._has_result(before, part.results[at]):
            return None
        return self._says_changed(self.trace.calls[before], row)

    def _answered_before(self, row: int, alike: int) -> int:
        """The first call of that tool with arguments of that number that has an answer: perhaps the one that asks."""
        first, call = self.trace.calls[self.arguments.first[alike]], self.trace.calls[row]
        key = (call.tool, call.server)
        return first.row if (first.tool, first.server) == key else self.answered_first.setdefault((alike, key), row)

    def _has_result(self, row: int, result: object) -> bool:
        payload = self.trace.calls[row].result
        return payload is not None and canonical(unfolded([bytes(payload)])[0].values[0]) == canonical(result)

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
