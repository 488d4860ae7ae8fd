"""The rule set: what it finds about tools, calls and results, by whose word, and how fast it loads."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import msgspec
import pytest

from forensics.core.classes import ClassEvidence, Effect, RestsOn, Scope, Source, Stability, Tier, ToolFacts, resolve
from forensics.core.policy import BasePolicy, Policy, ToolEntry, TrustEntry
from forensics.errors import RuleError
from forensics.rules import load_rules
from forensics.rules.packs import read_packs, shipped_files, shipped_tables

if TYPE_CHECKING:
    from pathlib import Path

RULES = load_rules()
NOBODY = Policy(name="strict", base=BasePolicy.STRICT, digest="sha256:0")
PACK = """\
schema: forensics/rules/v1
pack: mine
about: One harness.
tools:
  - id: mine.read
    because: Its source was read.
    source: pack
    when: {tool: Exact}
    effect: none
    says: the harness's own reading tool
    tests:
      - {name: Exact, speaks: true}
      - {name: Other, speaks: false}
  - id: mine.refine
    because: This harness's create only shows.
    source: pack
    when: {tool: create_view}
    effect: none
    says: it shows
    refines: [words.write.repeating]
    tests:
      - {name: create_view, speaks: true}
      - {name: create_issue, speaks: false}
"""


def policy(digest: str, *, trust: tuple[TrustEntry, ...] = (), tools: tuple[ToolEntry, ...] = ()) -> Policy:
    return msgspec.structs.replace(NOBODY, digest=digest, trust=trust, tools=tools)


def declared(facts: ToolFacts, by: Policy = NOBODY) -> list[ClassEvidence]:
    return [piece for piece in RULES.tool_evidence(facts, by) if piece.source is Source.DECLARATION]


@pytest.mark.parametrize(
    ("facts", "effect"),
    [
        (ToolFacts("x", hints={"readOnlyHint": True}), Effect.NONE),
        (ToolFacts("x", hints={"readOnlyHint": False}), Effect.REPEATING),
        (ToolFacts("x", hints={"readOnlyHint": False, "destructiveHint": True}), Effect.IRREVERSIBLE),
        (ToolFacts("x", hints={"destructiveHint": True}), Effect.IRREVERSIBLE),
        (ToolFacts("x", hints={"readOnlyHint": True, "destructiveHint": True}), Effect.IRREVERSIBLE),
        (ToolFacts("x", hints={"readOnlyHint": False, "idempotentHint": True}), Effect.OVERWRITING),
        (ToolFacts("x", replay_class="read_only"), Effect.NONE),
        (ToolFacts("x", replay_class="idempotent"), Effect.OVERWRITING),
        (ToolFacts("x", replay_class="side_effecting"), Effect.REPEATING),
        (ToolFacts("x", tool_type="READ"), Effect.NONE),
        (ToolFacts("x", tool_type="WRITE"), Effect.REPEATING),
        (ToolFacts("x", http=("get", "/v1")), Effect.NONE),
        (ToolFacts("x", http=("POST", "/v1")), Effect.REPEATING),
        (ToolFacts("x", http=("DELETE", "/v1")), Effect.OVERWRITING),
    ],
)
def test_declarations_are_claims(facts: ToolFacts, effect: Effect) -> None:
    pieces = declared(facts)
    assert max(piece.effect for piece in pieces if piece.effect is not None) is effect
    assert all(piece.tier is Tier.CLAIMED and not piece.trusted and piece.rule for piece in pieces)


@pytest.mark.parametrize(
    "facts",
    [
        ToolFacts("x"),
        ToolFacts("x", hints={"title": "X"}),
        ToolFacts("x", tool_type="rest_api"),
        ToolFacts("x", http=("POST", "/v1/things/search")),
        ToolFacts(
            "x",
            hints={"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True},
        ),
    ],
)
def test_uninformative_declarations_say_nothing(facts: ToolFacts) -> None:
    assert declared(facts) == []


def test_only_a_server_trusted_by_name_lowers() -> None:
    facts = ToolFacts("get_page", server="s", hints={"readOnlyHint": True})
    trusting = policy("sha256:1", trust=(TrustEntry(server="s"),))
    by_pack = policy("sha256:2", trust=(TrustEntry(pack="declarations"),))
    assert resolve(RULES.tool_evidence(facts, NOBODY)).effect is Effect.UNKNOWN
    assert resolve(RULES.tool_evidence(facts, by_pack)).effect is Effect.UNKNOWN
    assert resolve(RULES.tool_evidence(facts, trusting)).rests_on is RestsOn.DECLARATION


def test_the_operator_is_quoted_and_stands_in_its_own_tier() -> None:
    entry = ToolEntry(tool="delete_*", because="A dry copy.", by="lead", effect=Effect.NONE)
    evidence = RULES.tool_evidence(ToolFacts("delete_user"), policy("sha256:3", tools=(entry,)))
    operator = [piece for piece in evidence if piece.source is Source.OPERATOR]
    assert [(piece.tier, piece.says, piece.effect) for piece in operator] == [
        (Tier.OPERATOR, "A dry copy. (lead)", Effect.NONE)
    ]
    assert resolve(evidence).rests_on is RestsOn.OPERATOR


def test_an_entry_for_a_server_speaks_of_no_other() -> None:
    entry = ToolEntry(tool="x", server="a", because="b", by="c", effect=Effect.NONE)
    by = policy("sha256:4", tools=(entry,))
    assert RULES.tool_evidence(ToolFacts("x", server="a"), by)
    assert not RULES.tool_evidence(ToolFacts("x", server="b"), by)
    assert not RULES.tool_evidence(ToolFacts("x"), by)


def test_an_entry_with_conditions_speaks_of_calls_that_meet_all() -> None:
    entry = ToolEntry(tool="x", because="b", by="c", effect=Effect.NONE, arguments={"/mode": "read", "/n": 1})
    by = policy("sha256:5", tools=(entry,))
    facts = ToolFacts("x")
    assert not RULES.tool_evidence(facts, by)
    assert RULES.call_evidence(facts, {"mode": "read", "n": 1}, by)
    assert not RULES.call_evidence(facts, {"mode": "read", "n": True}, by)
    assert not RULES.call_evidence(facts, {"mode": "read"}, by)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"command": "rm -rf x"}, "call.free-text"),
        ({"query": "SELECT a FROM b"}, "call.free-text"),
        ({"query": "mutation { x }"}, "call.graphql-mutation"),
        ({"method": "DELETE", "url": "u"}, "call.operation"),
        ({"output_path": "out/x.png"}, "call.output-path"),
        ({"idempotencyKey": "k"}, "call.idempotency-key"),
    ],
)
def test_arguments_that_veto(arguments: dict[str, object], rule: str) -> None:
    evidence = RULES.call_evidence(ToolFacts("x"), arguments, NOBODY)
    assert rule in {piece.rule for piece in evidence}
    assert all(piece.effect not in (None, Effect.NONE) for piece in evidence)


@pytest.mark.parametrize("arguments", [{}, None, [], "text", {"query": "select a good place"}, {"service": "checkout"}])
def test_arguments_that_say_nothing(arguments: object) -> None:
    assert RULES.call_evidence(ToolFacts("x"), arguments, NOBODY) == ()


@pytest.mark.parametrize(
    "result",
    [
        {"status": "paged", "id": "pg_8812"},
        '{"status": "created"}',
        {"content": [{"type": "text", "text": '{"rowsAffected": 2}'}]},
        {"structuredContent": {"sent": True}},
        {"status": 201},
        {"headers": {"Location": "/pages/1"}},
    ],
)
def test_results_of_a_write_veto(result: object) -> None:
    pieces = RULES.result_evidence(ToolFacts("x"), {}, result)
    assert pieces
    assert all(piece.source is Source.RESULT and piece.effect is Effect.REPEATING for piece in pieces)


@pytest.mark.parametrize("result", [None, "ok", 3, [], {"status": "ok"}, {"value": 1}, "{broken", {"content": "text"}])
def test_other_results_say_nothing(result: object) -> None:
    assert RULES.result_evidence(ToolFacts("x"), {}, result) == ()


def test_a_deep_json_text_in_a_result_is_left_alone() -> None:
    assert RULES.result_evidence(ToolFacts("x"), {}, '{"a":' * 60000) == ()


def test_free_text_is_a_veto_that_a_proof_answers() -> None:
    facts = ToolFacts("execute_sql", input_schema={"properties": {"sql": {"type": "string"}}})
    vetoes = [*RULES.tool_evidence(facts, NOBODY), *RULES.call_evidence(facts, {"sql": "SELECT 1 FROM t"}, NOBODY)]
    assert vetoes
    assert {piece.rule for piece in vetoes} <= RULES.answered_by_proof


LONG = 70_000


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"url": "https://example.org/?q=" + "a" * LONG + "&action=delete"}, "http.call.acting-link"),
        ({"url": "https://example.org/" + "a" * LONG}, "http.call.acting-link"),
        ({"url": "https://example.org/" + "\u00e9" * (LONG // 2)}, "http.call.acting-link"),
        ({"endpoint": "/" + "a" * LONG}, "http.call.acting-link"),
        ({"command": "a" * LONG + ";rm"}, "call.free-text"),
        ({"query": "SELECT " + "a," * LONG + "b FROM c"}, "call.free-text"),
        ({"query": "-- " + "a" * LONG + "\ndrop table c"}, "call.free-text"),
        ({"query": "{ " + "a " * LONG + "} mutation { b }"}, "call.free-text"),
        ({"action": " _" * LONG + "delete"}, "call.operation"),
    ],
)
def test_a_text_that_is_not_seen_whole_is_not_cleared(arguments: dict[str, object], rule: str) -> None:
    assert rule in [piece.rule for piece in RULES.call_evidence(ToolFacts("x"), arguments, NOBODY)]


@pytest.mark.parametrize(
    "arguments",
    [
        {"url": "https://example.org/" + "a" * 60_000},
        {"url": "data:image/png;base64," + "A" * LONG},
        {"text": "A long story. " * 10_000},
        {"query": "who wrote " + "very " * LONG + "long questions"},
        {"content": "https://example.org/" + "a" * LONG},
    ],
)
def test_a_long_text_of_another_kind_says_nothing(arguments: dict[str, object]) -> None:
    assert RULES.call_evidence(ToolFacts("x"), arguments, NOBODY) == ()


def test_an_output_schema_that_says_new_is_a_handle() -> None:
    facts = ToolFacts("x", output_schema={"properties": {"id": {"description": "ID of the created page."}}})
    assert {piece.result for piece in RULES.tool_evidence(facts, NOBODY)} == {Stability.HANDLE}


def test_scopes() -> None:
    assert resolve(RULES.tool_evidence(ToolFacts("move_file"), NOBODY)).scope is Scope.LOCAL
    assert resolve(RULES.tool_evidence(ToolFacts("select_page"), NOBODY)).scope is Scope.SESSION
    assert resolve(RULES.tool_evidence(ToolFacts("send_email"), NOBODY)).scope is Scope.EXTERNAL


def test_lone_surrogates_and_huge_numbers_are_judged() -> None:
    facts = ToolFacts("delete\ud800", description="Get \udfff", hints={"n": 10**400})
    assert resolve(RULES.tool_evidence(facts, NOBODY)).effect is Effect.IRREVERSIBLE


def test_memory_keeps_servers_and_policies_apart() -> None:
    hints: dict[str, object] = {"readOnlyHint": True}
    trusting = policy("sha256:6", trust=(TrustEntry(server="a"),))
    first = declared(ToolFacts("x", server="a", hints=hints), trusting)
    assert first == declared(ToolFacts("x", server="a", hints=hints), trusting)
    assert [piece.trusted for piece in first] == [True]
    assert [piece.trusted for piece in declared(ToolFacts("x", server="b", hints=hints), trusting)] == [False]
    assert [piece.trusted for piece in declared(ToolFacts("x", server="a", hints=hints))] == [False]


def test_an_exact_tool_rule_lowers_only_where_its_pack_is_trusted(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(PACK, "utf-8")
    rules = load_rules([tmp_path])
    trusting = policy("sha256:7", trust=(TrustEntry(pack="mine"),))
    assert rules.tool_evidence(ToolFacts("Exact"), NOBODY) == ()
    assert resolve(rules.tool_evidence(ToolFacts("Exact"), trusting)).rests_on is RestsOn.PACK
    assert resolve(rules.tool_evidence(ToolFacts("create_view"), trusting)).effect is Effect.NONE
    assert resolve(rules.tool_evidence(ToolFacts("create_view"), NOBODY)).effect is Effect.REPEATING
    assert rules.digest != RULES.digest


def test_faults_of_several_packs_are_named_together(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(PACK.replace("speaks: false", "speaks: true"), "utf-8")
    (tmp_path / "b.yaml").write_text(PACK.replace("mine.refine", "handles.uuid").replace("words.write.repeating", "x"))
    (tmp_path / "c.yaml").write_text("nothing: here\n", "utf-8")
    with pytest.raises(RuleError) as caught:
        load_rules([tmp_path])
    text = "\n".join(caught.value.faults)
    assert "a.yaml:5:5: rule 'mine.read' needs at least two tests, one of each outcome" in text
    assert "b.yaml:5:5: rule id 'mine.read' is already used in a.yaml" in text
    assert "b.yaml:14:5: rule id 'handles.uuid' is already used in rules/handles/shapes.yaml" in text
    assert "refines 'x', which is not there" in text
    assert "c.yaml:1:10:" in text


def test_a_missing_pack_is_named(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match=r"^gone.yaml:1:1: No such file"):
        load_rules([tmp_path / "gone.yaml"])


def test_the_digest_is_of_the_contents_in_a_fixed_order() -> None:
    files = shipped_files()
    assert list(files) == sorted(files)
    tables = shipped_tables()
    assert RULES.digest == read_packs(files, tables)[1]
    assert RULES.digest.startswith("sha256:")
    changed = ((files[0][0], files[0][1] + b"# more\n"), *files[1:])
    assert read_packs(changed, tables)[1] != RULES.digest
    longer = ((tables[0][0], tables[0][1] + b"# more\n"), *tables[1:])
    assert read_packs(files, longer)[1] != RULES.digest


def test_loading_takes_no_time_a_person_would_see() -> None:
    best = min(_seconds_to_load() for _ in range(3))
    print(f"shipped packs read, checked and compiled in {best * 1000:.0f} ms")  # noqa: T201 - the measure is wanted
    assert best < 1.0  # measured: below a tenth; a slow machine is no fault


def _seconds_to_load() -> float:
    began = time.process_time()
    read_packs(shipped_files())
    return time.process_time() - began


def test_loading_imports_nothing_heavy_and_nothing_that_acts() -> None:
    code = (
        "import sys; from forensics.rules import load_rules; load_rules();"
        "print([m for m in ('pydantic', 'jsonschema', 're2', 'networkx', 'socket', 'subprocess') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
