"""How do classes become the classification document? One row a tool or call, in the order in which they were given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.analysis.argue import argue
from forensics.core.jsonvalue import spell_surrogates
from forensics.report.compose import classed, policy_name, program
from forensics.report.documents import (
    CLASSIFICATION,
    ArgumentRow,
    ChangeRow,
    ClassificationDocument,
    ClassifiedCall,
    ClassifiedTool,
    Digest,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forensics.analysis.argue import Argument, Change
    from forensics.analysis.inventory import Classified
    from forensics.core.policy import Policy
    from forensics.rules.engine import RuleSet


def classification_document(
    tools: Iterable[Classified], calls: Iterable[Classified], policy: Policy, rules: RuleSet
) -> ClassificationDocument:
    """The classification document of these tools and calls."""
    argued = _Arguments(rules.answered_by_proof)
    return ClassificationDocument(
        schema=CLASSIFICATION,
        tool=program(),
        policy=policy_name(policy),
        rules=Digest(digest=rules.digest),
        tools=[
            ClassifiedTool(
                name=spell_surrogates(t.name), argument=argued.of(t), server=_server(t), **classed(t.classification)
            )
            for t in tools
        ],
        calls=[
            ClassifiedCall(
                tool=spell_surrogates(c.name), argument=argued.of(c), server=_server(c), **classed(c.classification)
            )
            for c in calls
        ],
    )


class _Arguments:
    """The argument of each classification, made once for calls that share theirs."""

    def __init__(self, answered: frozenset[str]) -> None:
        self._answered = answered
        self._made: dict[tuple[int, str | None], ArgumentRow] = {}

    def of(self, one: Classified) -> ArgumentRow:
        key = (id(one.classification), one.server)
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = _row(
                argue(one.classification, one.server, self._answered), sandbox=one.classification.scope.contained
            )
        return made


def _row(argument: Argument, *, sandbox: bool) -> ArgumentRow:
    return ArgumentRow(
        speaks_for=list(argument.speaks_for),
        against=list(argument.against),
        without_weight=list(argument.without_weight),
        decided=list(argument.decided),
        missing=list(argument.missing),
        changes=[_change(change) for change in argument.changes],
        sandbox=sandbox,
    )


def _change(change: Change) -> ChangeRow:
    then = change.then
    return ChangeRow(
        what=spell_surrogates(change.what),
        class_=then.tool_class.value,
        effect=then.effect.name.lower(),
        result=then.result.name.lower(),
        rests_on=then.rests_on.value,
    )


def _server(one: Classified) -> str | None:
    return None if one.server is None else spell_surrogates(one.server)
