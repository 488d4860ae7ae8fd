"""Which classes do the calls of one tool have? Worked out once for all calls about which the same was heard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.classes import resolve
from forensics.proofs.calls import answerable, proof_of, without

if TYPE_CHECKING:
    from forensics.core.classes import ClassEvidence, Classification, ToolFacts
    from forensics.rules.engine import CallRules, Heard

    Evidence = tuple[ClassEvidence, ...]


class ToolClasses:
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

    def is_settled(self, heard: Heard) -> bool:
        """Whether a call about which this was heard, as about one before, has a class whatever its arguments say."""
        return not self._runs_text[heard]

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
