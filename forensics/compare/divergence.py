"""What is one difference between two runs, and what caused it? The causing step is the earliest difference that no
earlier one explains.

What a model says rests on all that its agent was shown: any earlier difference in its lane, or in what names no agent,
explains it. What a tool returns rests on its arguments and on the world: an earlier difference in those arguments, or
in a call that may have had an effect, explains it, and nothing else does. Both are inferred: that an earlier difference
can explain a later one does not prove that it did.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """In what two runs differ."""

    INPUT = "input"
    MODEL_OUTPUT = "model_output"
    ARGUMENTS = "arguments"
    RESULT = "result"
    OUTCOME = "outcome"
    OUTPUT = "output"
    MISSING = "missing"
    EXTRA = "extra"
    ORDER = "order"


class Cause(StrEnum):
    """What a difference comes from, as far as the records tell."""

    INPUT = "input_difference"
    MODEL = "model_difference"
    TOOL = "tool_difference"
    AGENT = "agent_difference"
    GENERATED = "generated_id_differs"
    MASKED = "masked_failure"
    HANDLE = "handle_changed"


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """One difference. `index` is the step of the left run, or where it would stand there; `what` names what differs in
    words; `left` and `right` are both sides at `pointer` as short JSON texts (None: nothing stands there). `because`
    says more of the cause, and `explained_by` is the position of the earlier divergence that explains it. `touches`
    says that a call that may have an effect was made otherwise, so that the world may be another one afterwards.
    """

    index: int
    kind: Kind
    cause: Cause
    lane: str
    what: str
    left: str | None
    right: str | None
    pointer: str | None = None
    left_step: int | None = None
    right_step: int | None = None
    occurrence: str | None = None
    because: str = ""
    touches: bool = False
    explained_by: int | None = None


class Explanations:
    """Which earlier divergence explains a new one? Constant work for each."""

    def __init__(self) -> None:
        self.divergences: list[Divergence] = []
        self._first_of_lane: dict[str, int] = {}
        self._touched: int | None = None
        self._differs: dict[int, int] = {}

    def explain(self, one: Divergence, call: int | None = None, *, joins: bool = False) -> Divergence:
        """The divergence with the earlier one that explains it; `call` is the row of the left call that it is about.
        `joins` says that what it is about comes from other lanes: a sub-agent's result, the first words to an agent.
        """
        earlier = self._earlier(one, call, joins=joins)
        return one if earlier is None else msgspec.structs.replace(one, explained_by=self._root(earlier))

    def add(self, one: Divergence, call: int | None = None) -> None:
        """Note a divergence, in the order of the left run."""
        position = len(self.divergences)
        self.divergences.append(one)
        self._first_of_lane.setdefault(one.lane, position)
        if one.touches and self._touched is None:
            self._touched = position
        if call is not None:
            self._differs.setdefault(call, position)

    def _earlier(self, one: Divergence, call: int | None, *, joins: bool) -> int | None:
        if joins and self.divergences:
            return 0
        if one.kind not in {Kind.RESULT, Kind.OUTCOME}:
            return self._first_of_lane.get(one.lane, self._first_of_lane.get(""))
        return self._touched if call is None else self._differs.get(call, self._touched)

    def _root(self, position: int) -> int:
        """The cause behind a divergence that is itself explained."""
        explained = self.divergences[position].explained_by
        return position if explained is None else explained
