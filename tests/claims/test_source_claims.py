"""Does everything that the document about replay claims work here, and is what it won't do done? One test a claim.

docs/reference/replay.md has the table: what two versions of the SDK that the document is about do, and what is done
here.
"""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from forensics.cli.program import program
from tests.claims.local_db import TRACE, Run, charging, shipping
from tests.claims.model import Model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
Rerun = Any


def command(*arguments: object) -> tuple[int, str]:
    ended = CliRunner().invoke(program, [*map(str, arguments)], env={"COLUMNS": "80"})
    return ended.exit_code, ended.stdout


@pytest.fixture
def rerun(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """The document of a rerun of a run, or of a file."""

    made = itertools.count()
    (tmp_path / "evidence").mkdir()

    def run(what: Run | Path, *options: object) -> dict[str, Any]:
        place = what if isinstance(what, Path) else what.into(tmp_path / "evidence" / f"{next(made)}.db")
        _, printed = command("replay", place, "--policy", "inject", "--format", "json", *options)
        document: dict[str, Any] = json.loads(printed)
        return document

    return run


def dispositions(document: dict[str, Any]) -> list[str]:
    return [call["disposition"] for call in document["calls"]]


def codes(document: dict[str, Any]) -> set[str]:
    return {one["code"] for one in (*document["findings"], *document["verdict"]["reasons"])}


# what a rerun is -----------------------------------------------------------------------------------------------------


def test_a_rerun_is_an_execution_built_from_the_trace(rerun: Rerun) -> None:
    document = rerun(shipping())
    assert (dispositions(document), document["comparison"]["result"]) == (["injected"], "identical")
    assert document["rerun"] != document["trace"] == TRACE
    assert document["six_questions"]["rebuilt_from"]["answer"].startswith("The trace alone")


def test_a_recorded_rerun_says_what_was_said_and_asks_no_model(rerun: Rerun) -> None:
    document = rerun(shipping())
    assert document["output"]["new"] == document["output"]["original"] == "Order 1042 was shipped via DHL."
    assert {turn["served"] for turn in document["model_calls"]} == {"recorded"}
    assert document["usage"]["new"] == {"input_tokens": 0, "output_tokens": 0, "cost": 0.0}


# 1: the root span is the blueprint -----------------------------------------------------------------------------------


def test_the_root_span_is_the_blueprint(rerun: Rerun) -> None:
    assert rerun(shipping())["lacks"] == ["output type and response format"]
    run = shipping()
    del run.root["agent.llm.config"]
    document = rerun(run)
    assert "incomplete_blueprint" in codes(document)
    assert "the settings of the model" in json.dumps(document["verdict"]["reasons"])


def test_a_key_in_the_trace_is_never_used(rerun: Rerun) -> None:
    run = shipping()
    told = {
        "provider": "test",
        "model": "function-model",
        "api_key": "sk-" + "a" * 40,
        "base_url": "https://evil.example",
    }
    run.root["agent.llm.config"] = json.dumps(told)
    document = rerun(run)
    assert document["comparison"]["result"] == "identical"
    assert "sk-aaaa" not in json.dumps(document["plan"])
    assert document["plan"]["endpoint"] is None


def test_a_tool_needs_no_function_in_this_process(rerun: Rerun) -> None:
    document = rerun(charging())
    assert document["calls"][0]["shown"] == {"status": "charged", "id": "ch_5502"}
    assert document["calls"][0]["failed"] is False


NO_CARDS = {
    "name": "no_cards",
    "guardrail_type": "regex",
    "position": "output",
    "config": {"pattern": r"\b\d{16}\b"},
    "action": "block",
}
NO_SECRETS = {"name": "no_secrets", "guardrail_type": "code", "position": "output", "config": {}, "action": "block"}
POLITE = {**NO_SECRETS, "name": "polite", "guardrail_type": "llm_judge"}


def test_guardrails_that_data_describes_run_again(rerun: Rerun) -> None:
    document = rerun(shipping().guardrails(NO_CARDS).guarded("no_cards"))
    assert [(one["name"], one["ran"], one["passed"]) for one in document["guardrails"]] == [("no_cards", True, True)]
    assert document["comparison"]["result"] == "identical"
    lying = Run().tool("lookup_order").guardrails(NO_CARDS).asked("card?")
    blocked = rerun(lying.turn("It is 4111111111111111.").guarded("no_cards"))
    assert blocked["guardrails"][0]["passed"] is False
    assert blocked["agent_error"].startswith("GuardrailBlocked")


def test_of_a_guardrail_that_is_code_the_recorded_decision_is_given(rerun: Rerun) -> None:
    document = rerun(shipping().guardrails(NO_SECRETS).guarded("no_secrets"))
    assert [(one["name"], one["ran"]) for one in document["guardrails"]] == [("no_secrets", False)]
    assert document["comparison"]["result"] == "identical"


def test_what_is_not_rebuilt_is_named(rerun: Rerun) -> None:
    facts = rerun(shipping())["six_questions"]["touched"]["facts"]
    assert {facts[name] for name in ("memory", "checkpointer", "identity")} == {"none in reach"}
    assert "output type and response format" in rerun(SAMPLES / "pager.db")["lacks"]


# 2: the record of the model ------------------------------------------------------------------------------------------


def test_every_captured_answer_is_served_in_order(rerun: Rerun) -> None:
    document = rerun(SAMPLES / "pager.db")
    steps = [turn["recorded_step"] for turn in document["model_calls"]]
    assert steps == sorted(steps)
    assert len(steps) == 4


def test_a_turn_that_only_calls_tools_is_served_too(rerun: Rerun) -> None:
    first = rerun(shipping())["model_calls"][0]
    assert (first["text"], first["calls"], first["served"]) == (None, 1, "recorded")


def test_a_guardrails_model_has_answers_of_its_own(rerun: Rerun) -> None:
    document = rerun(shipping().guardrails(POLITE).guarded("polite", judge="yes"))
    served = [(turn["agent"], turn["text"]) for turn in document["model_calls"]]
    assert served == [
        ("shipping", None),
        ("shipping", "Order 1042 was shipped via DHL."),
        ("guardrail polite", "yes"),
    ]
    assert document["output"]["new"] == "Order 1042 was shipped via DHL."
    assert document["comparison"]["result"] == "identical"


def test_a_changed_prompt_can_not_change_a_recorded_answer(rerun: Rerun) -> None:
    document = rerun(shipping(), "--set-prompt", "Répondez en français.")
    assert document["output"]["new"] == "Order 1042 was shipped via DHL."
    assert "modification_without_effect" in codes(document)


def test_recorded_mode_needs_the_captured_answers(rerun: Rerun) -> None:
    run = shipping()
    for row in run.rows:
        for name in ("gen_ai.response.content", "gen_ai.response.tool_calls"):
            row[4].pop(name, None)
    document = rerun(run)
    assert document["calls"] == []
    assert {"model_output_missing", "evidence_gap"} & codes(document)


# 3: tools ------------------------------------------------------------------------------------------------------------


def test_no_card_is_charged_twice(rerun: Rerun) -> None:
    document = rerun(charging())
    assert dispositions(document) == ["injected"]
    assert document["six_questions"]["ran"]["answer"].startswith("No tool ran")


def test_a_stub_replaces_one_tool_or_every_call_of_it(rerun: Rerun) -> None:
    document = rerun(SAMPLES / "pager.db", "--stub", 'pager.trigger={"status": "down"}')
    assert dispositions(document) == ["injected", "overridden", "injected"]
    assert document["plan"]["changes"] == ["stub pager.trigger"]


def test_the_declared_class_is_a_claim_and_lowers_nothing(tmp_path: Path) -> None:
    run = charging()
    run.tools[0]["replay_class"] = "read_only"
    run.root["agent.tools"] = json.dumps(run.tools)
    _, printed = command("audit", run.into(tmp_path / "local.db"), "--format", "json")
    (tool,) = json.loads(printed)["traces"][0]["tools"]
    assert tool["class"] != "idempotent"


def test_a_tool_that_did_something_else_is_a_divergence(rerun: Rerun) -> None:
    document = rerun(charging(), "--stub", 'charge_card={"status": "declined"}')
    assert document["comparison"]["result"] == "diverged"
    assert document["comparison"]["first_divergence"]["kind"] == "result"


# 4: the miss and the divergence --------------------------------------------------------------------------------------


def test_a_miss_is_an_error_before_anything_is_asked(rerun: Rerun) -> None:
    document = rerun(SAMPLES / "crash.db")
    assert document["stopped"]["code"] == "replay_miss"
    assert document["six_questions"]["missing_turn"]["facts"]["on_miss"] == "error"


def test_a_miss_goes_live_only_by_name() -> None:
    code, _ = command("replay", SAMPLES / "pager.db", "--policy", "inject", "--on-miss", "live")
    assert code == 2


def test_the_divergence_names_the_causing_step(rerun: Rerun) -> None:
    document = rerun(SAMPLES / "pager.db", "--stub", 'pager.trigger={"status": "down"}')
    first = document["comparison"]["first_divergence"]
    assert (first["index"], first["kind"], first["cause"]) == (7, "result", "tool_difference")


def test_what_can_not_be_compared_is_not_called_equal() -> None:
    code, printed = command("compare", SAMPLES / "pager.db", SAMPLES / "pager.mcp.jsonl", "--format", "json")
    document = json.loads(printed)
    assert (code, document["result"]) == (3, "not_comparable")
    assert document["not_compared"]


# 5: production -------------------------------------------------------------------------------------------------------


def test_a_memory_that_the_record_does_not_hold_is_refused(rerun: Rerun) -> None:
    document = rerun(shipping().remembered("write"))
    assert document["calls"] == []
    assert "result_missing" in codes(document)


def test_a_pause_is_refused_by_name_with_the_way_past_it(rerun: Rerun) -> None:
    run = Run("refunds", "You refund.").tool("refund").asked("refund 1042")
    document = rerun(run.turn(None, ("refund", {"order": "1042"})).paused("refund needs a human"))
    assert "run_paused" in codes(document)
    assert "--stub refund=JSON" in document["verdict"]["advice"]


def test_a_rerun_is_a_trace_of_its_own(rerun: Rerun, tmp_path: Path) -> None:
    written = tmp_path / "rerun.jsonl"
    document = rerun(shipping(), "--trace-out", written)
    assert document["rerun"] != document["trace"]
    code, printed = command("inspect", written, "--format", "json")
    assert (code, json.loads(printed)["tuples"][0]["call"]["tool"]) == (0, "lookup_order")


# 6: the fix is kept --------------------------------------------------------------------------------------------------


def test_a_rerun_becomes_a_case_with_its_calls(tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    code, _ = command("case", "save", SAMPLES / "pager.db", "--policy", "inject", "--to", cases)
    assert code == 0
    case = json.loads(cases.read_text(encoding="utf-8"))
    assert {"input", "expected_output", "trace_id", "source_trace_id", "fork_step", "modifications"} <= case.keys()
    assert "pager.trigger" in json.dumps(case)


def test_a_case_runs_free_of_charge_and_catches_a_changed_action(tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    command("case", "save", SAMPLES / "pager.db", "--policy", "inject", "--to", cases)
    code, _ = command("case", "run", cases, "--evidence", SAMPLES)
    assert code == 0


# what replay still won't do ------------------------------------------------------------------------------------------


def test_a_fork_goes_on_from_its_step(rerun: Rerun) -> None:
    options = ("--fork", "8", "--stub", 'incident.annotate="gone"', "--stub", 'query_metrics="not here"')
    assert dispositions(rerun(SAMPLES / "pager.db", *options)) == ["injected", "injected", "overridden"]


def test_a_state_is_changed_at_a_fork(rerun: Rerun, model: Model) -> None:
    options = ("--mode", "live", "--endpoint", model.url, "--fork", "5", "--set-state", '/messages/3/content="lost"')
    document = rerun(shipping(), *options)
    assert model.asked[0]["messages"][3]["content"] == "lost"
    assert document["plan"]["changes"] == ["state/messages/3/content"]


@pytest.mark.parametrize("kind", ["chain", "swarm", "supervisor"])
def test_a_run_of_several_agents_is_refused(rerun: Rerun, kind: str) -> None:
    run = shipping()
    span_id, _, name, start, attributes, status, events = run.rows[0]
    above = "f" * 16
    run.rows[0] = (span_id, above, name, start, attributes, status, events)
    told = {f"{kind}.name": "relay", f"{kind}.input": "Where is order 1042?", "fastaiagent.runner.type": kind}
    run.rows.insert(0, (above, None, f"{kind}.relay", "2026-11-29T09:59:59.000000+00:00", told, "UNSET", []))
    document = rerun(run)
    assert document["calls"] == []
    assert f"a {kind}" in next(
        r["message"] for r in document["verdict"]["reasons"] if r["code"] == "incomplete_blueprint"
    )


def test_a_streamed_run_without_its_setup_is_refused(rerun: Rerun) -> None:
    run = shipping()
    for name in ("agent.config", "agent.llm.config", "agent.tools", "agent.guardrails", "agent.system_prompt"):
        run.root.pop(name)
    run.root["agent.streamed"] = True
    document = rerun(run)
    assert "incomplete_blueprint" in codes(document)
    assert "streamed" in json.dumps(document["verdict"]["reasons"])


def test_a_resumed_run_is_refused(rerun: Rerun) -> None:
    run = shipping()
    run.root["agent.resumed_execution_id"] = "exec-1"
    assert "resumed" in json.dumps(rerun(run)["verdict"]["reasons"])


@pytest.fixture
def model() -> Iterator[Model]:
    pytest.importorskip("httpx", reason="the extra live")
    with Model("Votre commande 1042 est partie.") as one:
        yield one


def test_a_fix_is_tried_where_a_model_is_asked(rerun: Rerun, model: Model) -> None:
    asks = ("--mode", "live", "--endpoint", model.url, "--fork", "5", "--set-prompt", "Répondez en français.")
    document = rerun(shipping(), *asks)
    assert document["output"]["new"] == "Votre commande 1042 est partie."
    assert dispositions(document) == ["injected"]
    assert [turn["served"] for turn in document["model_calls"]] == ["recorded", "live"]
    assert model.asked[0]["messages"][0]["content"] == "Répondez en français."
    assert "modification_without_effect" not in codes(document)


def test_what_a_provider_does_not_heed_is_named(rerun: Rerun, model: Model) -> None:
    document = rerun(shipping(), "--mode", "deterministic", "--endpoint", model.url, "--fork", "5")
    assert any("seed" in one for one in document["model_calls"][-1]["ignored"])
    assert document["reproduction"] is False


def test_a_rerun_reads_only_what_it_was_cleared_for(rerun: Rerun) -> None:
    document = rerun(shipping())
    assert document["plan"]["digest"].startswith("sha256:")
    assert document["evidence"][0]["sha256"] == document["six_questions"]["rebuilt_from"]["facts"]["evidence_sha256"]


# the six questions ---------------------------------------------------------------------------------------------------


def test_the_six_questions_are_answered(rerun: Rerun) -> None:
    questions = rerun(shipping())["six_questions"]
    assert set(questions) == {"rebuilt_from", "fixed", "ran", "missing_turn", "touched", "fix_kept"}
    assert all(one["answer"] and one["question"] for one in questions.values())


def test_the_table_names_each_of_these_tests() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "reference" / "replay.md"
    listed = re.findall(r"`(test_\w+)` \|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    here = re.findall(r"^def (test_\w+)\(", Path(__file__).read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(set(here) - {"test_the_table_names_each_of_these_tests"})
