"""What may a tool do to the world, and is its result the same next time? Two axes, their evidence, and the join.

The two axes decide; the three classes of the field (idempotent, handle-returning, side-effecting) are derived. The
word idempotent names only the class: an idempotent *write* is not safe to run again a week later (it overwrites newer
state), so only effect NONE may ever execute. Sources of the idea: RFC 9110 section 9.2 (safe versus idempotent) and
the trace-replay guard in which this project began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, TypeVar, overload

import msgspec

from forensics.core.evidence import Locator

if TYPE_CHECKING:
    from array import array

_T = TypeVar("_T")


class Effect(IntEnum):
    """What running the call again does to the world, in rising order of harm; UNKNOWN is what no evidence means."""

    NONE = 0
    OVERWRITING = 1
    REPEATING = 2
    IRREVERSIBLE = 3
    UNKNOWN = 4


class Stability(IntEnum):
    """What running the call again does to its result; UNKNOWN is what no evidence means."""

    STABLE = 0
    VOLATILE = 1
    HANDLE = 2
    UNKNOWN = 3


class Scope(StrEnum):
    """Where an effect lands; a sandbox can neutralise session and local."""

    NONE = "none"
    SESSION = "session"
    LOCAL = "local"
    EXTERNAL = "external"
    UNKNOWN = "unknown"

    @property
    def contained(self) -> bool:
        """Whether a sandbox can hold the effect: the state of the session, and files of the machine."""
        return self in (Scope.SESSION, Scope.LOCAL)


class Tier(IntEnum):
    """Whose word it is: the trace's own claims, the shipped rules and argument proofs, the operator's policy file."""

    CLAIMED = 0
    PACK = 1
    OPERATOR = 2


class Source(StrEnum):
    """The kind of a piece of evidence. Two *independent* kinds are needed to say that a tool has no effect."""

    OPERATOR = "operator"
    DECLARATION = "declaration"
    PROOF = "proof"
    PACK = "pack"
    NAME = "name"
    DESCRIPTION = "description"
    SCHEMA = "schema"
    ARGUMENTS = "arguments"
    RESULT = "result"
    BEHAVIOUR = "behaviour"
    CODE = "code"


class RestsOn(StrEnum):
    """What the effect of a tool rests on (CONTRACT: rests on); only the first three let a call be really executed."""

    OPERATOR = "operator"
    DECLARATION = "declaration"
    PROOF = "proof"
    PACK = "pack"
    WORDS = "words"
    NONE = "none"


VOUCHED = frozenset({RestsOn.OPERATOR, RestsOn.DECLARATION, RestsOn.PROOF})


class ToolClass(StrEnum):
    """The field's three classes, derived from the axes."""

    IDEMPOTENT = "idempotent"
    HANDLE_RETURNING = "handle-returning"
    SIDE_EFFECTING = "side-effecting"


class ClassEvidence(msgspec.Struct, frozen=True, gc=False):
    """One piece of evidence for a class. It never says UNKNOWN: a piece that knows nothing of an axis leaves it None.

    `trusted` marks a declaration whose server the policy trusts by name, or a pack that it trusts by name. `says` is a
    sentence for a person; `rule` the id of the rule that spoke.
    """

    source: Source
    tier: Tier
    says: str
    effect: Effect | None = None
    result: Stability | None = None
    scope: Scope | None = None
    rule: str | None = None
    locator: Locator | None = None
    trusted: bool = False


class ToolFacts(msgspec.Struct, frozen=True, gc=False):
    """What the evidence and the operator's inventory say about one tool: the input of classification.

    `input_schema` and `output_schema` are decoded JSON Schemas or None; `hints` are MCP annotations; `http` is
    (method, path or URL); `tool_type` a harness's own kind (READ, WRITE, rest_api ...); `server` as recorded.
    `version` of the server and `inventory` ("sha256:...") are set only by the operator's inventory: what meets a pin.
    """

    name: str
    server: str | None = None
    description: str | None = None
    input_schema: dict[str, object] | None = None
    output_schema: dict[str, object] | None = None
    hints: dict[str, object] = {}
    replay_class: str | None = None
    tool_type: str | None = None
    http: tuple[str, str] | None = None
    locator: Locator | None = None
    version: str | None = None
    inventory: str | None = None


class Classification(msgspec.Struct, frozen=True, gc=False):
    """The answer for one tool or one call, with what decided it."""

    effect: Effect
    result: Stability
    scope: Scope
    rests_on: RestsOn
    evidence: tuple[ClassEvidence, ...]
    missing: tuple[str, ...] = ()

    @property
    def tool_class(self) -> ToolClass:
        """The class that follows from the axes."""
        return derive_class(self.effect, self.result)

    @property
    def labels(self) -> tuple[str, ...]:
        """Every label that holds."""
        return derive_labels(self.effect, self.result)

    @property
    def vouched(self) -> bool:
        """Whether strict accepts what the effect rests on; a shipped pack vouches only where the policy trusts it."""
        if self.rests_on is RestsOn.PACK:
            return any(p.source is Source.PACK and p.trusted for p in self.evidence)
        return self.rests_on in VOUCHED


class Classes(Sequence[Classification]):
    """The class of each call, row by row. Thousands of calls share a handful of classes: `kinds` are the different ones
    and `numbers` says which of them each call has, so that what follows from a class is worked out once a class.
    """

    def __init__(self, kinds: tuple[Classification, ...], numbers: array[int]) -> None:
        self.kinds = kinds
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, row: int) -> Classification: ...
    @overload
    def __getitem__(self, row: slice) -> Classes: ...
    def __getitem__(self, row: int | slice) -> Classification | Classes:
        if isinstance(row, slice):
            return Classes(self.kinds, self.numbers[row])
        return self.kinds[self.numbers[row]]

    def __iter__(self) -> Iterator[Classification]:
        return map(self.kinds.__getitem__, self.numbers)

    def each(self, fact: Callable[[Classification], _T]) -> Iterator[_T]:
        """A fact about the class of each call, worked out once a class."""
        facts = [fact(kind) for kind in self.kinds]
        return map(facts.__getitem__, self.numbers)


def derive_class(effect: Effect, result: Stability) -> ToolClass:
    """The class: handle first, then idempotent for effect none with a known result, else side-effecting."""
    if result is Stability.HANDLE:
        return ToolClass.HANDLE_RETURNING
    if effect is Effect.NONE and result in (Stability.STABLE, Stability.VOLATILE):
        return ToolClass.IDEMPOTENT
    return ToolClass.SIDE_EFFECTING


def derive_labels(effect: Effect, result: Stability) -> tuple[str, ...]:
    """Every label that holds; a writing tool that mints a handle carries both."""
    labels = []
    if effect is not Effect.NONE or result is Stability.UNKNOWN:
        labels.append(ToolClass.SIDE_EFFECTING.value)
    if result is Stability.HANDLE:
        labels.append(ToolClass.HANDLE_RETURNING.value)
    if not labels:
        labels.append(ToolClass.IDEMPOTENT.value)
    if result is Stability.VOLATILE:
        labels.append("volatile")
    return tuple(labels)


def join_effects(effects: Iterable[Effect]) -> Effect:
    """The upward join; of none, UNKNOWN. Commutative, associative, idempotent."""
    return max(effects, default=Effect.UNKNOWN)


def join_results(results: Iterable[Stability]) -> Stability:
    """The upward join; of none, UNKNOWN."""
    return max(results, default=Stability.UNKNOWN)


_LOWERING_PAIRS: tuple[tuple[frozenset[Source], RestsOn], ...] = (
    (frozenset({Source.DECLARATION, Source.NAME}), RestsOn.DECLARATION),
    (frozenset({Source.DECLARATION, Source.DESCRIPTION}), RestsOn.DECLARATION),
    (frozenset({Source.NAME, Source.DESCRIPTION}), RestsOn.WORDS),
)
_STRONGEST_FIRST = tuple(RestsOn)
_RESTS_ON_SOURCE = {
    Source.DECLARATION: RestsOn.DECLARATION,
    Source.PROOF: RestsOn.PROOF,
    Source.PACK: RestsOn.PACK,
}


def resolve(evidence: Iterable[ClassEvidence]) -> Classification:
    """Join every piece of evidence for one tool or call into a classification.

    The operator's entry stands alone. Otherwise anything that raises wins over anything that lowers; a lower tier may
    raise and never lower, so an untrusted declaration that says "read-only" is kept as evidence and weighs nothing.
    """
    pieces = tuple(evidence)
    effect, rests_on = _effect(pieces)
    result = _result(pieces, effect)
    missing = (
        () if effect is not Effect.UNKNOWN else ("two independent kinds of evidence that say the tool only reads",)
    )
    return Classification(effect, result, _scope(pieces, effect), rests_on, pieces, missing)


def _effect(pieces: tuple[ClassEvidence, ...]) -> tuple[Effect, RestsOn]:
    operator = [p.effect for p in pieces if p.tier is Tier.OPERATOR and p.effect is not None]
    if operator:
        return join_effects(operator), RestsOn.OPERATOR
    raising = [p for p in pieces if p.effect is not None and p.effect is not Effect.NONE]
    if raising:
        effect = join_effects(p.effect for p in raising if p.effect is not None)
        return effect, _strongest(p for p in raising if p.effect is effect)
    return _lowest(tuple(p for p in pieces if p.effect is Effect.NONE and may_lower(p)))


def may_lower(piece: ClassEvidence) -> bool:
    """Whether this piece can take part in saying that a tool has no effect: a claim only when its server is trusted."""
    return piece.trusted or piece.tier is not Tier.CLAIMED


def weighs(piece: ClassEvidence) -> bool:
    """Whether a piece counts at all: a claim that would lower an axis, and that nobody trusts, does not."""
    lowers = piece.effect is Effect.NONE or (piece.effect is None and piece.result is Stability.STABLE)
    return not lowers or may_lower(piece)


def seems_to_read(known: Classification) -> bool:
    """Whether all that is known of a call is that it reads: too little to run it again where no second kind of evidence
    says so, enough to take what stands in a text that it returned for what was there before.
    """
    if known.effect is Effect.UNKNOWN:
        return any(piece.effect is Effect.NONE and may_lower(piece) for piece in known.evidence)
    return known.effect is Effect.NONE


def _strongest(pieces: Iterable[ClassEvidence]) -> RestsOn:
    found = {_RESTS_ON_SOURCE.get(p.source, RestsOn.WORDS) if may_lower(p) else RestsOn.WORDS for p in pieces}
    return min(found, key=_STRONGEST_FIRST.index)


def _lowest(lowering: tuple[ClassEvidence, ...]) -> tuple[Effect, RestsOn]:
    kinds = {p.source for p in lowering}
    if Source.PROOF in kinds:
        return Effect.NONE, RestsOn.PROOF
    if Source.PACK in kinds:
        return Effect.NONE, RestsOn.PACK
    for pair, rests_on in _LOWERING_PAIRS:
        if pair <= kinds:
            return Effect.NONE, rests_on
    return Effect.UNKNOWN, RestsOn.NONE


def _result(pieces: tuple[ClassEvidence, ...], effect: Effect) -> Stability:
    operator = [p.result for p in pieces if p.tier is Tier.OPERATOR and p.result is not None]
    if operator:
        return join_results(operator)
    known = [p.result for p in pieces if p.result is not None and (p.result is not Stability.STABLE or may_lower(p))]
    if not known and effect is Effect.NONE:
        return Stability.VOLATILE
    return join_results(known)


_WIDEST_LAST = tuple(Scope)
_ASIDE = frozenset({Source.SCHEMA, Source.ARGUMENTS, Source.CODE})
"""Kinds of evidence that show one thing that a tool touches, and not that it touches nothing else."""


def _scope(pieces: tuple[ClassEvidence, ...], effect: Effect) -> Scope:
    """Where the effect lands. A place that a sandbox holds is only named where nobody says that there is more: not by a
    claim that nobody trusts, and not by an argument beside an act of which no place is known.
    """
    if effect is Effect.NONE:
        return Scope.NONE
    by_operator = [p.scope for p in pieces if p.tier is Tier.OPERATOR and p.scope is not None]
    said = [p for p in pieces if p.scope is not None and (may_lower(p) or p.scope is Scope.EXTERNAL)]
    scopes = by_operator or [p.scope for p in said if p.scope is not None]
    if not scopes:
        return Scope.UNKNOWN
    widest = max(scopes, key=_WIDEST_LAST.index)
    return Scope.UNKNOWN if not by_operator and widest.contained and _is_open(pieces, said) else widest


def _is_open(pieces: tuple[ClassEvidence, ...], said: list[ClassEvidence]) -> bool:
    """Whether something else than what gave a place says that the tool writes."""
    if any(p.source not in _ASIDE for p in said):
        return False
    return any(p.effect not in (None, Effect.NONE) and p.source not in _ASIDE for p in pieces)
