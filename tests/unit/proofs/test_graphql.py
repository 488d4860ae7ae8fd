"""Is a GraphQL document proven exactly where every operation of it is a query?"""

from __future__ import annotations

import pytest

from forensics.proofs import prove

READS = [
    "{ a }",
    "{ viewer { login } }",
    "query { viewer { login } }",
    "query Q { viewer { login } }",
    "query Q($id: ID!) { node(id: $id) { id } }",
    "query Q($n: Int = 3) { list(first: $n) { id } }",
    "query Q($ids: [ID!]!) { nodes(ids: $ids) { id } }",
    "{ a: viewer { b: login } }",
    "{ __schema { types { name } } }",
    '{ __type(name: "User") { fields { name } } }',
    "{ viewer { __typename } }",
    "query A { a } query B { b }",
    "{ ...F } fragment F on Query { a }",
    "fragment F on Query { a } query { ...F }",
    "{ node { ... on User { login } } }",
    "{ node { ... { id } } }",
    "query Q($x: Boolean!) { a @include(if: $x) }",
    "query Q($x: Boolean!) { a @skip(if: $x) { b } }",
    "{ ... @defer { a } }",
    "{ list @stream(initialCount: 1) { a } }",
    '{ search(text: "mutation { delete }") { id } }',
    '{ search(text: """block " text""") { id } }',
    "{ a(filter: {b: [1, 2], c: {d: null}}) }",
    "{ a(state: OPEN) }",
    "{ a(x: 1.5e3, y: -2, z: true) }",
    "# mutation\n{ a }",
    "{ mutation }",
    "{ subscription { mutation } }",
    "query mutation { a }",
    "{\n  a,\n  b,\n}",
    "query Q { a { b { c { d { e } } } } }",
    "{ deleteEverything: createdAt }",
]

TRAPS = [
    "mutation { a }",
    "mutation M { deleteUser(id: 1) { id } }",
    "mutation M($id: ID!) { deleteUser(id: $id) { id } }",
    "subscription { a }",
    "subscription S { messageAdded { id } }",
    "query A { a } mutation B { b }",
    "mutation B { b } query A { a }",
    "{ a } mutation { b }",
    "fragment F on Mutation { a } mutation { ...F }",
    "fragment F on Query { a }",
    "# { a }\nmutation { b }",
    "{ a @live }",
    "query Q @cached(ttl: 1) { a }",
    "query Q($x: Int @lower) { a(x: $x) }",
    '{ a @export(as: "x") }',
    "{ ...F @arguments(x: 1) } fragment F on Query { a }",
    "{ ...F } fragment F on Query @raw { a }",
    "type Query { a: Int }",
    "schema { mutation: M }",
    "extend type Query { a: Int }",
    "directive @a on FIELD",
    "{ a } type Query { a: Int }",
    "input I { a: Int }",
    "scalar Date",
    "enum E { A }",
    "{ a",
    "a }",
    "query",
    "{ a(x: ) }",
    "{ a } }",
    "SELECT 1",
    '{"query": "{ a }"}',
    '{ a(b: "unclosed) }',
    "{{ a }}",
    "{ a }\u0000",
    "{\u200b a }",
    "",
]


@pytest.mark.parametrize("text", READS)
def test_queries_are_proven(text: str) -> None:
    proof = prove("graphql", text)
    assert proof is not None
    assert proof.parser == "graphql-core"


@pytest.mark.parametrize("text", TRAPS)
def test_traps_are_not(text: str) -> None:
    assert prove("graphql", text) is None


@pytest.mark.parametrize("text", READS)
def test_one_mutation_spoils_all(text: str) -> None:
    assert prove("graphql", f"{text}\nmutation {{ a }}") is None


def test_a_proof_says_what_was_shown() -> None:
    proof = prove("graphql", "query A { a } query B { b }")
    assert proof is not None
    assert proof.reads == "2 GraphQL operations (query)"
    one = prove("graphql", "{ a }")
    assert one is not None
    assert one.reads == "1 GraphQL operation (query)"


def test_a_document_may_have_so_many_tokens() -> None:
    assert prove("graphql", "{" + "a " * 9_998 + "}") is not None
    assert prove("graphql", "{" + "a " * 9_999 + "}") is None
