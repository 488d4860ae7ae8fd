"""Is every operation of this GraphQL document a query?

By the language's definition a query has no side effects, and a mutation or a subscription may have (GraphQL
specification, October 2021, section 2.3). A resolver that breaks this is a fault of the server that no text can show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.late import late
from forensics.proofs.proof import Proof, counted
from forensics.proofs.tables import graphql_tables

if TYPE_CHECKING:
    from graphql import DefinitionNode, DocumentNode

_MAX_TOKENS = 10_000
_BEGINS = late(r"(?:[\s,\ufeff]|#[^\n\r]*+)*+(?:\{|(?:query|fragment)\b)")
"""How every document begins that may be proven: most other texts need no parser."""


def prove_text(text: str, dialect: str | None) -> Proof | None:
    """The proof of one document; a dialect says nothing about GraphQL."""
    del dialect
    if not _BEGINS.match(text):
        return None
    from graphql import parse

    document = parse(text, no_location=True, max_tokens=_MAX_TOKENS)
    if not all(map(_only_reads, document.definitions)) or not _known_directives(document):
        return None
    queries = [d.kind for d in document.definitions if d.kind == "operation_definition"]
    return (
        Proof(counted(["query"] * len(queries), "GraphQL operation", "GraphQL operations"), "graphql-core")
        if queries
        else None
    )


def _only_reads(definition: DefinitionNode) -> bool:
    from graphql import FragmentDefinitionNode, OperationDefinitionNode, OperationType

    if isinstance(definition, OperationDefinitionNode):
        return definition.operation is OperationType.QUERY
    return isinstance(definition, FragmentDefinitionNode)


def _known_directives(document: DocumentNode) -> bool:
    """A server may give a directive of its own any meaning."""
    from graphql import DirectiveNode, Visitor, visit

    known = graphql_tables().directives
    strange: list[str] = []

    class _Directives(Visitor):
        def enter_directive(self, node: DirectiveNode, *_: object) -> None:
            if node.name.value not in known:
                strange.append(node.name.value)

    visit(document, _Directives())
    return not strange
