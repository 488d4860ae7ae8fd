"""What stands beside a proven text and is not known keeps the vetoes, whatever its key. Found by mutation testing."""

from __future__ import annotations

import pytest

from forensics.core.classes import ClassEvidence, Effect, RestsOn, Source, Tier, ToolFacts, resolve
from forensics.proofs import answer
from forensics.proofs.calls import proof_of

SELECT = "SELECT id FROM orders"
TOOL = ToolFacts(name="execute_sql")
VETO = ClassEvidence(Source.ARGUMENTS, Tier.PACK, "runs a text", effect=Effect.IRREVERSIBLE, rule="runs-text")
OTHER = ClassEvidence(Source.NAME, Tier.PACK, "says delete", effect=Effect.IRREVERSIBLE, rule="deletes")


@pytest.mark.parametrize("key", [5, None, True, ("a",), ""])
def test_a_key_that_is_no_name_is_not_known(key: object) -> None:
    assert proof_of(TOOL, {"sql": SELECT, key: "x"}) is None


@pytest.mark.parametrize("nothing", [None, "", [], {}])
def test_what_is_not_set_is_nothing(nothing: object) -> None:
    assert proof_of(TOOL, {"sql": SELECT, "anything_new": nothing}) is not None


@pytest.mark.parametrize("something", [0, False, " ", [None], {"a": None}])
def test_what_is_set_is_something(something: object) -> None:
    assert proof_of(TOOL, {"sql": SELECT, "anything_new": something}) is None


def test_a_proof_says_what_was_parsed_and_by_whom() -> None:
    said = proof_of(TOOL, {"sql": SELECT})
    assert said is not None
    assert (said.source, said.tier, said.effect, said.rule) == (Source.PROOF, Tier.PACK, Effect.NONE, "proof.sql")
    assert said.says == "the text that it runs was parsed (sqlglot) and only reads: 1 SQL statement (select)"
    assert resolve([said]).rests_on is RestsOn.PROOF


def test_a_proof_answers_the_vetoes_that_ask_for_one_and_no_other() -> None:
    answered = frozenset({"runs-text"})
    assert resolve(answer((VETO,), TOOL, {"sql": SELECT}, answered)).effect is Effect.NONE
    assert resolve(answer((VETO, OTHER), TOOL, {"sql": SELECT}, answered)).effect is Effect.IRREVERSIBLE
    assert answer((VETO,), TOOL, {"sql": "DELETE FROM orders"}, answered) == (VETO,)
    assert answer((OTHER,), TOOL, {"sql": SELECT}, answered) == (OTHER,)
    assert answer((), TOOL, {"sql": SELECT}, answered) == ()


def test_the_tool_that_runs_the_text_is_asked_for_its_language() -> None:
    answered, text = frozenset({"runs-text"}), {"command": "ls -la"}
    assert resolve(answer((VETO,), ToolFacts(name="bash"), text, answered)).effect is Effect.NONE
    assert answer((VETO,), ToolFacts(name="run_powershell"), text, answered) == (VETO,)


def test_a_command_that_is_no_shell_script_may_be_a_statement() -> None:
    assert proof_of(ToolFacts(name="run_python"), {"command": SELECT}) is not None


@pytest.mark.parametrize(("count", "proven"), [(63, True), (64, False)])
def test_so_many_arguments_are_looked_at(count: int, proven: bool) -> None:  # noqa: FBT001
    others = {f"unset{number}": None for number in range(count)}
    assert (proof_of(TOOL, {"sql": SELECT, **others}) is not None) is proven


def test_the_dialect_that_the_operator_names_is_the_one_that_is_asked() -> None:
    answered, text = frozenset({"runs-text"}), {"sql": "PRAGMA page_size"}
    assert answer((VETO,), TOOL, text, answered) == (VETO,)
    assert resolve(answer((VETO,), TOOL, text, answered, "sqlite")).effect is Effect.NONE
    assert answer((VETO,), TOOL, text, answered, "postgres") == (VETO,)
