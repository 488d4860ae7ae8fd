"""What is each tool of an inventory, each call of a list, and each tool of several traces? All by the same rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.agreements import agreements
from forensics.analysis.listing import NOTHING_LISTED, Listing
from forensics.analysis.refusals import error_evidence
from forensics.analysis.returned import minted_by_call
from forensics.core.classes import ClassEvidence, Classification, Source, ToolFacts, resolve
from forensics.core.rpc_errors import answered
from forensics.proofs.calls import answerable, proof_of, without

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from forensics.analysis.inventory_files import CallFacts
    from forensics.analysis.listing import Known
    from forensics.analysis.run import TraceAnalysis
    from forensics.analysis.source_tools import SourceTool
    from forensics.core.policy import Policy
    from forensics.rules.engine import Heard, RuleSet


class Classified(msgspec.Struct, frozen=True, gc=False):
    """One tool or call with its class."""

    name: str
    server: str | None
    classification: Classification


def classify_tools(tools: Iterable[ToolFacts], rules: RuleSet, policy: Policy) -> tuple[Classified, ...]:
    """The class of each tool, before any call of it is seen."""
    resolved: dict[int, Classification] = {}
    listed = [(tool, rules.tool_evidence(tool, policy)) for tool in tools]  # alive, so that an id names one
    for _, pieces in listed:
        if id(pieces) not in resolved:
            resolved[id(pieces)] = resolve(pieces)
    return tuple([Classified(tool.name, tool.server, resolved[id(pieces)]) for tool, pieces in listed])


def classify_calls(
    calls: Iterable[CallFacts], rules: RuleSet, policy: Policy, listing: Listing = NOTHING_LISTED
) -> tuple[Classified, ...]:
    """The class of each call: what is known of its tool, from its line and from the inventory beside the list, and
    what its arguments and result show. The same call twice costs once.
    """
    tools: dict[int, _CalledTool] = {}
    known: dict[int, Classified] = {}
    listed = tuple(calls)  # keeps every call alive, so that an id names one
    for call in listed:
        if id(call) not in known:
            number = id(call.tool)
            tool = tools.get(number) or tools.setdefault(number, _CalledTool(listing.known(call.tool), rules, policy))
            known[id(call)] = tool.classify(call)
    return tuple([known[id(call)] for call in listed])


class _CalledTool:
    """One tool with what is said of it, and the classes that its calls were given by what spoke about them."""

    def __init__(self, known: Known, rules: RuleSet, policy: Policy) -> None:
        self._facts = known.facts
        self._rules = rules
        self._base = known.evidence(rules, policy)
        self._calls = rules.calls_of(known.facts, policy)
        self._said: dict[Heard, tuple[ClassEvidence, ...]] = {}
        self._known: dict[tuple[Heard, ClassEvidence | None], Classified] = {}

    def classify(self, call: CallFacts) -> Classified:
        """The class of one call of this tool."""
        has_result = call.result is not msgspec.UNSET
        heard = self._calls.heard(call.arguments, call.result) if has_result else self._calls.heard(call.arguments)
        said = self._said.get(heard)
        if said is None:
            said = self._said[heard] = (*self._base, *self._calls.evidence(heard))
        runs_text = answerable(said, self._rules.answered_by_proof)
        proof = proof_of(self._facts, call.arguments, call.dialect) if runs_text else None
        known = self._known.get((heard, proof))
        if known is None:
            pieces = said if proof is None else (*without(said, self._rules.answered_by_proof), proof)
            known = self._known[heard, proof] = _classified(self._facts, pieces)
        return self._with_result(known, call) if has_result else known

    def _with_result(self, known: Classified, call: CallFacts) -> Classified:
        """The same with what the result shows: that it is an error, or what the call made."""
        classified = known.classification
        error = error_evidence(call.result)
        if error is not None:
            return _classified(self._facts, (*classified.evidence, error))
        minted = minted_by_call(call.arguments, answered(call.result), classified.effect, self._rules)
        return known if not minted else _classified(self._facts, (*classified.evidence, *minted))


def _classified(facts: ToolFacts, pieces: tuple[ClassEvidence, ...]) -> Classified:
    return Classified(facts.name, facts.server, resolve(pieces))


def with_code(tools: Iterable[Classified], source: Iterable[SourceTool]) -> tuple[Classified, ...]:
    """The same tools, each with what the source of a tool of that name does. Code only raises, so a name that means
    another tool by chance lowers nothing.
    """
    code: dict[str, list[ClassEvidence]] = {}
    for one in source:
        code.setdefault(one.facts.name, []).extend(one.code)
    return tuple(
        Classified(tool.name, tool.server, resolve((*tool.classification.evidence, *code.get(tool.name, ()))))
        for tool in tools
    )


def classify_traces(analyses: Sequence[TraceAnalysis]) -> tuple[Classified, ...]:
    """The tools of several traces, each once: what every trace shows of a tool is joined, and how often equal calls of
    it agreed over all of them. A proof speaks of calls, so it counts where every trace has one.
    """
    learnt = agreements(analyses)
    pieces: dict[tuple[str, str | None], dict[tuple[str, str, str | None], ClassEvidence]] = {}
    unproven: set[tuple[str, str | None]] = set()
    for analysis in analyses:
        for tool in analysis.tools:
            key = (tool.name, tool.facts.server)
            known = pieces.setdefault(key, {})
            for piece in tool.classified.evidence:
                known.setdefault((piece.source.value, piece.says, piece.rule), piece)
            if all(piece.source is not Source.PROOF for piece in tool.classified.evidence):
                unproven.add(key)
    return tuple(
        Classified(*key, resolve((*_counting(known.values(), proven=key not in unproven), *learnt.evidence(key))))
        for key, known in pieces.items()
    )


def _counting(pieces: Iterable[ClassEvidence], *, proven: bool) -> Iterator[ClassEvidence]:
    return (piece for piece in pieces if proven or piece.source is not Source.PROOF)
