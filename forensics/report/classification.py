"""How do classes become the classification document? One row a tool or call, in the order in which they were given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.jsonvalue import spell_surrogates
from forensics.report.compose import classed, policy_name, program
from forensics.report.documents import (
    CLASSIFICATION,
    ClassificationDocument,
    ClassifiedCall,
    ClassifiedTool,
    Digest,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forensics.analysis.inventory import Classified
    from forensics.core.policy import Policy


def classification_document(
    tools: Iterable[Classified], calls: Iterable[Classified], policy: Policy, rules_digest: str
) -> ClassificationDocument:
    """The classification document of these tools and calls."""
    return ClassificationDocument(
        schema=CLASSIFICATION,
        tool=program(),
        policy=policy_name(policy),
        rules=Digest(digest=rules_digest),
        tools=[
            ClassifiedTool(name=spell_surrogates(t.name), server=_server(t), **classed(t.classification)) for t in tools
        ],
        calls=[
            ClassifiedCall(tool=spell_surrogates(c.name), server=_server(c), **classed(c.classification)) for c in calls
        ],
    )


def _server(one: Classified) -> str | None:
    return None if one.server is None else spell_surrogates(one.server)
