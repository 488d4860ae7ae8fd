"""What do the rules, the declarations and the operator say about a tool, a call and its result?

The engine only collects evidence; `forensics.core.classes.resolve` weighs it. Declarations are rules too
(rules/tools/declarations.yaml): what a trace claims about a tool may raise, and lowers only where the operator trusts
the server that made the claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import msgspec

from forensics.core.classes import ClassEvidence, Effect, Scope, Source, Stability, Tier, ToolFacts
from forensics.core.keyed import Keyed
from forensics.core.pointers import resolve_pointer
from forensics.core.rpc_errors import answered
from forensics.rules.conditions import (
    glob,
    same_json,
)
from forensics.rules.members import Holding, MemberRules
from forensics.rules.memory import keep
from forensics.rules.model import Pack, ToolRule
from forensics.rules.names import NameReader
from forensics.rules.packs import extra_files, read_packs, shipped_files, shipped_tables
from forensics.rules.shapes import Shapes
from forensics.rules.shipped import value_read_before
from forensics.rules.tool_index import ToolIndex
from forensics.rules.words import Hit, Lexicon

if TYPE_CHECKING:
    import datetime
    from pathlib import Path

    from forensics.core.policy import Policy, ToolEntry
    from forensics.rules.descriptions import DescriptionReader

_CACHE = 65536
_RESULT_TEXT_LIMIT = 1024 * 1024
_MISSING = object()
NO_RESULT = object()
"""In place of a result that is not to be looked at."""
_MADE = "schema.output.made"
_TOOL_SOURCES = ("declaration", "pack", "schema", "name", "description")


class _Compiled(msgspec.Struct, frozen=True):
    """A tool rule in the vocabulary of the core, with the pack that it stands in."""

    rule: ToolRule
    pack: str
    source: Source
    effect: Effect | None
    result: Stability | None
    scope: Scope | None


class RuleSet:
    """Every rule in force. `digest` is "sha256:..." over the packs' contents in a fixed order; `answered_by_proof`
    holds the ids of the vetoes that say no more than *nothing proved this text read-only*: a proof removes them.
    `about_any_text` holds those of them that hold whatever the text says.
    """

    def __init__(self, packs: tuple[Pack, ...], digest: str) -> None:
        self.packs = packs
        self.digest = digest
        rules = self._rules = [_compiled(rule, pack.pack) for pack in packs for rule in pack.tools]
        self._tool_rules = tuple(c for c in rules if c.rule.source in _TOOL_SOURCES)
        self._refining = tuple(c for c in self._tool_rules if c.rule.refines)
        words = frozenset(rule.id for pack in packs for rule in pack.words if rule.proof)
        self.answered_by_proof = words | {c.rule.id for c in rules if c.rule.proof}
        self.about_any_text = frozenset(c.rule.id for c in rules if c.rule.any_text)
        self._said: dict[tuple[object, ...], tuple[ClassEvidence, ...]] = {}
        self._tools: dict[tuple[bytes, str, datetime.date | None], tuple[ClassEvidence, ...]] = {}

    # each is made when it is first asked for: a corpus that did not change needs none of them, nor a log without tools

    @cached_property
    def _lexicon(self) -> Lexicon:
        return Lexicon(tuple(rule for pack in self.packs for rule in pack.words))

    @cached_property
    def _names(self) -> NameReader:
        return NameReader(self._lexicon)

    @cached_property
    def _descriptions(self) -> DescriptionReader:
        from forensics.rules.descriptions import DescriptionReader

        return DescriptionReader(self._lexicon)

    @cached_property
    def _shapes(self) -> Shapes:
        return Shapes(tuple(rule for pack in self.packs for rule in pack.shapes))

    @cached_property
    def _index(self) -> ToolIndex:
        return ToolIndex([c.rule.when for c in self._tool_rules])

    @cached_property
    def call_rules(self) -> _MemberRules:
        """The rules about arguments."""
        return _member_rules("arguments", self._rules)

    @cached_property
    def result_rules(self) -> _MemberRules:
        """The rules about results."""
        return _member_rules("result", self._rules)

    def heard(self, calls: Sequence[CallRules], arguments: Keyed, results: Keyed) -> HeardOfMany:
        """What `CallRules.heard` says of each of several calls, with these arguments and results (`NO_RESULT`: of which
        none is to be looked at).
        """
        given, gave = arguments.values, results.values
        asked = self.call_rules.index.several(arguments, lambda at: calls[at].asked(given[at]))
        single = [group for group in results.groups if _NESTS.isdisjoint(group.keys)]
        told = self.result_rules.index.several(Keyed(gave, single), lambda at: calls[at].told(given[at], gave[at]))
        return HeardOfMany(_operators(calls, given), asked, told)

    def tool_evidence(self, facts: ToolFacts, policy: Policy) -> tuple[ClassEvidence, ...]:
        """Everything known about a tool before a call is looked at; remembered by the tool's facts and the policy."""
        signature = _signature(facts)
        if signature is None:
            return self._judge_tool(facts, policy)
        key = (signature, policy.digest, policy.as_of)
        known = self._tools.get(key)
        if known is None:
            known = self._judge_tool(facts, policy)
            keep(self._tools, key, known, _CACHE)
        return known

    def calls_of(self, facts: ToolFacts, policy: Policy) -> CallRules:
        """What the rules say of the calls of one tool."""
        return CallRules(self, facts, policy)

    def call_evidence(self, facts: ToolFacts, arguments: object, policy: Policy) -> tuple[ClassEvidence, ...]:
        """What only the arguments show: the operator's conditional entries, methods, free text, output paths, keys."""
        calls = CallRules(self, facts, policy)
        return calls.evidence(calls.heard(arguments))

    def result_evidence(self, facts: ToolFacts, arguments: object, result: object) -> tuple[ClassEvidence, ...]:
        """What the shape of the recorded result shows: that something was created, sent, changed. Always a veto."""
        calls = CallRules(self, facts, None)
        return calls.evidence(Heard((), (), calls.heard(arguments, result).result))

    def handle_kind(self, value: str, key: str | None) -> str | None:
        """The kind of an opaque value (uuid, ulid, prefixed-id, hash, timestamp, cursor, etag, token, url, arn, number;
        `id` when only its key says so), or None when the value is not opaque.
        """
        return self._shapes.kind(value, key)

    def handle_kinds(self, values: Sequence[str], key: str | None) -> list[str | None]:
        """The kind of each of these values, which all stand under that key, as `handle_kind` tells it."""
        return self._shapes.kinds(values, key)

    def is_id_key(self, key: str) -> bool:
        """Whether a key's name says that its value identifies something (`id`, `pageId`, `issue_number`, `cursor`)."""
        return self._shapes.is_id_key(key)

    def _judge_tool(self, facts: ToolFacts, policy: Policy) -> tuple[ClassEvidence, ...]:
        entries = tuple([_operator(e) for e in _entries(policy, facts) if not e.arguments]) if policy.tools else ()
        said = self._said_of(facts, self._heard(facts), policy, writes=any(map(_writes, entries)))
        pieces = (*entries, *said) if entries else said
        if facts.output_schema is None or not any(map(_writes, pieces)):
            return pieces
        from forensics.rules.outputs import made_member

        made = made_member(facts, self.is_id_key)
        return pieces if made is None else (*pieces, _made(made, facts))

    def _heard(self, facts: ToolFacts) -> _HeardOfTool:
        described = self._descriptions.read(facts.description) if facts.description else ()
        return _HeardOfTool(self._index.holding(_subject(facts)), self._names.read(facts.name), described)

    def _said_of(
        self, facts: ToolFacts, heard: _HeardOfTool, policy: Policy, *, writes: bool
    ) -> tuple[ClassEvidence, ...]:
        """What was heard, as evidence; one and the same tuple for tools of which the same was heard."""
        who = (facts.server, facts.version, facts.inventory, facts.locator)
        key = (heard, who, policy.digest, policy.as_of, writes)
        said = self._said.get(key)
        if said is None:
            pieces = self._pieces(facts, heard, policy)
            writes = writes or any(map(_writes, pieces))  # a place is only of interest where something lands
            said = tuple([p for p in pieces if writes or (p.effect, p.result) != (None, None)])
            keep(self._said, key, said, _CACHE)
        return said

    def _pieces(self, facts: ToolFacts, heard: _HeardOfTool, policy: Policy) -> list[ClassEvidence]:
        pieces = _speaking([self._tool_rules[i] for i in heard.rules], facts, policy)
        silenced = _silenced(self._refining, pieces)
        for hits, source in ((heard.name, Source.NAME), (_two_kinds(heard), Source.DESCRIPTION)):
            pieces += [_words(hit, source, facts) for hit in hits if hit.rule.id not in silenced]
        return pieces


class _HeardOfTool(msgspec.Struct, frozen=True):
    """What spoke about a tool: rules, by their place in the list, and words. Equal ones mean equal evidence."""

    rules: Holding
    name: tuple[Hit, ...]
    description: tuple[Hit, ...]


_NAMES_A_THING = frozenset({"read_noun", "read_plural"})


def _two_kinds(heard: _HeardOfTool) -> tuple[Hit, ...]:
    """What counts of the description: beside a name that only names a thing, not what it says of the answer."""
    if not any(hit.rule.role in _NAMES_A_THING for hit in heard.name):
        return heard.description
    return tuple(hit for hit in heard.description if hit.rule.role != "read_answer")


def _writes(piece: ClassEvidence) -> bool:
    return piece.effect is not None and piece.effect is not Effect.NONE


class _MemberRules(msgspec.Struct, frozen=True):
    """The rules of one source, with the index by which they are asked."""

    compiled: tuple[_Compiled, ...]
    index: MemberRules


def _member_rules(source: str, rules: list[_Compiled]) -> _MemberRules:
    """A source is also the name of the object that its rules look at."""
    of_source = tuple(c for c in rules if c.rule.source == source)
    return _MemberRules(of_source, MemberRules(source, [c.rule.when for c in of_source]))


class Heard(msgspec.Struct, frozen=True):
    """What spoke about one call, by place: entries of the operator, rules about arguments, rules about the result.
    Equal ones mean equal evidence.
    """

    operator: Holding
    arguments: Holding
    result: Holding


class HeardOfMany(msgspec.Struct, frozen=True):
    """What spoke about each of several calls."""

    operators: list[Holding]
    arguments: list[Holding]
    results: list[Holding]

    def of(self, at: int) -> Heard:
        """What spoke about one of them."""
        return Heard(self.operators[at], self.arguments[at], self.results[at])


class CallRules:
    """What the rules and the operator's conditional entries say of the calls of one tool."""

    def __init__(self, rules: RuleSet, facts: ToolFacts, policy: Policy | None) -> None:
        self._rules = rules
        self._facts = facts
        self._policy = policy
        self._entries = () if policy is None else tuple(e for e in _entries(policy, facts) if e.arguments)
        self._call = _subject(facts)
        self._answer = _subject(facts)

    def heard(self, arguments: object, result: object = NO_RESULT) -> Heard:
        """What speaks about a call with these arguments, and about its result where one was recorded."""
        return Heard(self.operator(arguments), self.asked(arguments), self.told(arguments, result))

    @property
    def is_conditional(self) -> bool:
        """Whether the operator has an entry for calls with some arguments."""
        return bool(self._entries)

    def operator(self, arguments: object) -> Holding:
        """The conditional entries of the operator that these arguments meet."""
        return tuple([i for i, e in enumerate(self._entries) if _meets(e, arguments)]) if self._entries else ()

    def asked(self, arguments: object) -> Holding:
        """The rules that hold for these arguments."""
        self._call["arguments"] = arguments
        return self._rules.call_rules.index.holding(self._call)

    def told(self, arguments: object, result: object) -> Holding:
        """The rules that hold for the result of a call with these arguments; none for `NO_RESULT`."""
        found: Holding = ()
        self._answer["arguments"] = arguments
        for view in () if result is NO_RESULT else _views(result):
            self._answer["result"] = view
            holding = self._rules.result_rules.index.holding(self._answer)
            found = tuple(sorted({*found, *holding})) if found else holding
        return found

    def evidence(self, heard: Heard) -> tuple[ClassEvidence, ...]:
        """What was heard, as evidence. A result only ever vetoes, so nobody's trust is asked about it."""
        return (
            *(_operator(self._entries[i]) for i in heard.operator),
            *self._spoken(self._rules.call_rules, heard.arguments, self._policy),
            *self._spoken(self._rules.result_rules, heard.result, None),
        )

    def _spoken(self, rules: _MemberRules, holding: Holding, policy: Policy | None) -> list[ClassEvidence]:
        return _speaking([rules.compiled[i] for i in holding], self._facts, policy)


def _operators(calls: Sequence[CallRules], arguments: Sequence[object]) -> list[Holding]:
    if not any(one.is_conditional for one in set(calls)):
        return [()] * len(calls)
    return [one.operator(given) for one, given in zip(calls, arguments, strict=True)]


def load_rules(extra: Sequence[Path] = ()) -> RuleSet:
    """The shipped packs, and those in `extra` (files, or folders of *.yaml). Raises RuleError with every fault."""
    return rules_with(extra_files(extra)) if extra else _shipped()


def rules_with(packs: Iterable[tuple[str, bytes]]) -> RuleSet:
    """The shipped packs, and these of a user (name, content). Their patterns are compiled at once: a wrong one is a
    fault of the file and not of a trace. Raises RuleError with every fault.
    """
    added = tuple(packs)
    return rule_set_of((*shipped_files(), *added)) if added else _shipped()


def rule_set_of(files: Iterable[tuple[str, bytes]]) -> RuleSet:
    """The rules of these packs (name, content) and no others. Raises RuleError with every fault."""
    from forensics.rules.lints.patterns import PatternNotLinear
    from forensics.rules.lints.refusing import REFUSING

    return RuleSet(*read_packs(files, shipped_tables(), (*REFUSING, PatternNotLinear())))


@lru_cache(maxsize=1)
def _shipped() -> RuleSet:
    """What was read before was checked before, too (`write_values`)."""
    files, tables = shipped_files(), shipped_tables()
    if all(value_read_before(data) is not None for _, data in files):
        return RuleSet(*read_packs(files, tables))
    from forensics.rules.lints.refusing import REFUSING

    return RuleSet(*read_packs(files, tables, REFUSING))


def _compiled(rule: ToolRule, pack: str) -> _Compiled:
    effect = Effect[rule.effect.name] if rule.effect is not None else None
    result = Stability[rule.result.name] if rule.result is not None else None
    scope = Scope(rule.scope.value) if rule.scope is not None else None
    return _Compiled(rule, pack, Source(rule.source), effect, result, scope)


def _signature(facts: ToolFacts) -> bytes | None:
    """The facts as bytes, or None for what JSON can't hold (a lone surrogate): such a tool is judged each time."""
    try:
        return msgspec.json.encode(facts, order="deterministic")
    except (UnicodeEncodeError, OverflowError, RecursionError):
        return None


def _subject(facts: ToolFacts) -> dict[str, object]:
    http = {"method": facts.http[0].upper(), "path": facts.http[1]} if facts.http is not None else None
    return {
        "tool": facts.name,
        "server": facts.server,
        "description": facts.description,
        "http": http,
        "hints": facts.hints,
        "replay_class": facts.replay_class,
        "tool_type": facts.tool_type,
        "input_schema": facts.input_schema,
        "output_schema": facts.output_schema,
    }


def _speaking(holding: list[_Compiled], facts: ToolFacts, policy: Policy | None) -> list[ClassEvidence]:
    silenced = {other for c in holding for other in c.rule.refines}
    speaking = [c for c in holding if c.rule.id not in silenced and _counts(c, policy)]
    return [_evidence(c, facts, policy) for c in speaking]


def _silenced(rules: Iterable[_Compiled], spoken: Iterable[ClassEvidence]) -> frozenset[str]:
    ids = {piece.rule for piece in spoken}
    return frozenset(other for c in rules if c.rule.id in ids for other in c.rule.refines)


def _counts(compiled: _Compiled, policy: Policy | None) -> bool:
    """A rule about an exact tool lowers only where the policy trusts its pack by name; raising is always welcome."""
    lowers = compiled.rule.source == "pack" and (compiled.effect is Effect.NONE or compiled.result is Stability.STABLE)
    return not lowers or (policy is not None and policy.trusts_pack(compiled.pack))


def _evidence(compiled: _Compiled, facts: ToolFacts, policy: Policy | None) -> ClassEvidence:
    return ClassEvidence(
        source=compiled.source,
        tier=Tier.CLAIMED if compiled.source is Source.DECLARATION else Tier.PACK,
        says=compiled.rule.says,
        effect=compiled.effect,
        result=compiled.result,
        scope=compiled.scope,
        rule=compiled.rule.id,
        locator=facts.locator,
        trusted=policy is not None and _trusts(policy, compiled, facts),
    )


def _trusts(policy: Policy, compiled: _Compiled, facts: ToolFacts) -> bool:
    """A declaration is trusted by its server, never by the pack that reads it; every other rule by its pack."""
    if compiled.rule.source == "declaration":
        return policy.trusts_server(facts.server, facts.version, facts.inventory)
    return policy.trusts_pack(compiled.pack)


def _words(hit: Hit, source: Source, facts: ToolFacts) -> ClassEvidence:
    return ClassEvidence(
        source=source,
        tier=Tier.PACK,
        says=f"the {source.value} says {hit.word!r}",
        effect=hit.effect,
        result=hit.result,
        scope=hit.scope,
        rule=hit.rule.id,
        locator=facts.locator,
    )


def _made(member: str, facts: ToolFacts) -> ClassEvidence:
    says = f"its output schema has {member!r}, which identifies something and which no input names"
    locator = facts.locator
    return ClassEvidence(Source.SCHEMA, Tier.PACK, says, result=Stability.HANDLE, rule=_MADE, locator=locator)


def _entries(policy: Policy, facts: ToolFacts) -> Iterator[ToolEntry]:
    for entry in policy.tools:
        if not glob(entry.tool)(facts.name):
            continue
        if entry.server is None or (facts.server is not None and glob(entry.server)(facts.server)):
            yield entry


def _meets(entry: ToolEntry, arguments: object) -> bool:
    return all(same_json(resolve_pointer(arguments, p, _MISSING), v) for p, v in entry.arguments.items())


def _operator(entry: ToolEntry) -> ClassEvidence:
    return ClassEvidence(
        source=Source.OPERATOR,
        tier=Tier.OPERATOR,
        says=f"{entry.because} ({entry.by})",
        effect=entry.effect,
        result=entry.result,
        scope=entry.scope,
    )


_NESTS = frozenset({"jsonrpc", "structuredContent", "content"})
"""Members by which an object may hold another that is looked at as a result; without them it is the only one."""


def _views(result: object) -> Iterator[Mapping[str, object]]:
    """The objects that a result is: itself, what a JSON-RPC response holds, a JSON text, and the structured or text
    content of an MCP result.
    """
    value = answered(_decoded(result))
    if not isinstance(value, (dict, Mapping)):  # dict first, because asking about Mapping is slow
        return
    yield value
    structured = value.get("structuredContent")
    if isinstance(structured, Mapping):
        yield structured
    content = value.get("content")
    for part in content if isinstance(content, (list, tuple)) else ():
        inner = _decoded(part.get("text")) if isinstance(part, Mapping) else None
        if isinstance(inner, Mapping):
            yield inner


def _decoded(value: object) -> object:
    if not isinstance(value, str) or len(value) > _RESULT_TEXT_LIMIT or not value.lstrip().startswith("{"):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return value
