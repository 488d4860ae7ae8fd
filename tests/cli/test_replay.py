"""How does a rerun end, and what does it print? On the samples, and on the real databases of the workplace."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from forensics.cli.program import program
from forensics.report.schemas import schema

if TYPE_CHECKING:
    from click.testing import Result

REAL = Path(__file__).resolve().parents[3] / "shared" / "cases" / "fastaiagent"
real = pytest.mark.skipif(not REAL.is_dir(), reason="the real databases are not here")
REBUILT = (
    "double_charge.chat.json mailing.events.jsonl pager.adk.json pager.agents.json pager.atif.json pager.chat.json "
    "pager.codex.jsonl pager.db pager.eval pager.json pager.langgraph.db pager.langsmith.json pager.otlp.jsonl "
    "pager.smolagents.otlp.jsonl pager.vcr.yaml pager.vercel.otlp.json readonly.db readonly.responses.json"
)


def replay(*arguments: object) -> Result:
    return CliRunner().invoke(program, ["replay", *map(str, arguments)], env={"COLUMNS": "80"})


def rerun(*arguments: object) -> tuple[int, dict[str, Any]]:
    ended = replay(*arguments, "--format", "json")
    document: dict[str, Any] = json.loads(ended.stdout)
    Draft202012Validator(schema("rerun")).validate(document)
    return ended.exit_code, document


@pytest.mark.parametrize("name", REBUILT.split())
def test_a_run_that_its_trace_tells_in_full_is_rebuilt_and_comes_out_as_it_was(samples: Path, name: str) -> None:
    code, document = rerun(samples / name, "--policy", "inject")
    assert (code, document["comparison"]["result"]) == (0, "identical")
    assert {call["disposition"] for call in document["calls"]} == {"injected"}
    assert document["output"]["new"] == document["output"]["original"]
    assert {turn["served"] for turn in document["model_calls"]} == {"recorded"}
    assert document["reproduction"] is True


def test_calls_that_ended_in_another_order_are_named(samples: Path) -> None:
    code, document = rerun(samples / "parallel.anthropic.json", "--policy", "inject")
    assert (code, document["comparison"]["result"]) == (0, "equivalent")


def test_a_packed_run_is_rerun_as_it_lies(samples: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "run.tar.gz", "w:gz") as archive:
        archive.add(samples / "pager.db", "incident/local.db")
    code, document = rerun(tmp_path / "run.tar.gz", "--policy", "inject")
    assert (code, document["comparison"]["result"]) == (0, "identical")


def test_an_inventory_beside_the_run_counts(samples: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools.jsonl"
    tools.write_text(
        '{"name": "query_metrics", "description": "Reads.", "replay_class": "read_only"}\n', encoding="utf-8"
    )
    code, document = rerun(samples / "pager.chat.json", "--policy", "inject", "--tools", tools)
    assert (code, document["comparison"]["result"]) == (0, "identical")


@real
def test_the_pager_is_rerun_and_pages_nobody() -> None:
    code, document = rerun(REAL / "pager_1.94.0.db", "--policy", "inject")
    assert code == 0
    assert document["trace"] == "8433c342dbbe334809eb343535865ec2"
    assert [(call["tool"], call["disposition"]) for call in document["calls"]] == [
        ("query_metrics", "injected"),
        ("pager.trigger", "injected"),
        ("incident.annotate", "injected"),
    ]
    assert document["calls"][1]["shown"] == {"status": "paged", "id": "pg_8812"}
    assert document["output"] == {"original": "Paged on-call: pg_8812.", "new": "Paged on-call: pg_8812."}
    assert document["comparison"]["result"] == "identical"
    assert document["isolation"]["captured"] == []


@real
def test_under_strict_it_is_refused_with_its_inspection() -> None:
    code, document = rerun(REAL / "pager_1.94.0.db")
    assert (code, document["calls"], document["model_calls"], document["comparison"]) == (1, [], [], None)
    codes = {reason["code"] for reason in document["verdict"]["reasons"]}
    assert codes == {"unvouched", "not_idempotent"}
    assert len(document["inspection"]["tuples"]) == 3
    text = replay(REAL / "pager_1.94.0.db").stdout
    assert text.startswith("REFUSED")
    assert "pg_8812" in text


@real
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE spans SET attributes = replace(attributes, 'pg_8812', 'pg_6666') WHERE name = 'tool.pager.trigger'",
        "UPDATE spans SET attributes = replace(attributes, 'sev1', 'sev9') WHERE name = 'tool.pager.trigger'",
        "DELETE FROM spans WHERE name = 'tool.pager.trigger'",
    ],
)
def test_a_database_that_was_tampered_with_is_refused(change: str, tmp_path: Path) -> None:
    place = shutil.copy(REAL / "pager_1.94.0.db", tmp_path / "local.db")
    with sqlite3.connect(place) as database:
        assert database.execute(change).rowcount > 0
    database.close()
    code, document = rerun(place, "--policy", "inject", "--trace", "8433c342dbbe334809eb343535865ec2")
    assert (code, document["verdict"]["cleared"], document["calls"]) == (1, False, [])
    assert {"inconsistent_tuple", "evidence_gap"} & {reason["code"] for reason in document["verdict"]["reasons"]}


@real
@pytest.mark.parametrize(("name", "says"), [("chain.db", "a chain"), ("streaming.db", "streamed")])
def test_what_can_not_be_rebuilt_in_full_is_refused_by_name(name: str, says: str) -> None:
    code, document = rerun(REAL / name, "--policy", "inject")
    assert (code, document["calls"]) == (1, [])
    reasons = [reason for reason in document["verdict"]["reasons"] if reason["code"] == "incomplete_blueprint"]
    assert says in reasons[0]["message"]
    assert document["inspection"]["steps"]


@real
def test_a_tool_that_failed_fails_as_recorded() -> None:
    code, document = rerun(REAL / "tool_error.db", "--policy", "inject")
    assert (code, document["comparison"]["result"]) == (0, "identical")
    (call,) = document["calls"]
    assert (call["disposition"], call["failed"]) == ("injected", True)
    assert "503 from deploy api" in call["shown"]


@real
def test_a_run_that_died_stops_where_its_recording_ends() -> None:
    code, document = rerun(REAL / "crashed_midrun.db", "--policy", "inject")
    assert (code, document["stopped"]["code"]) == (1, "replay_miss")
    assert [call["disposition"] for call in document["calls"]] == ["injected"]
    assert "replay_miss" in {one["code"] for one in document["findings"]}


def test_a_record_without_the_words_of_the_model_is_refused(samples: Path) -> None:
    code, document = rerun(samples / "pager.mcp.jsonl", "--policy", "inject")
    assert (code, document["calls"]) == (1, [])
    assert "model_output_missing" in {reason["code"] for reason in document["verdict"]["reasons"]}


def test_the_six_questions_are_answered_from_what_happened(samples: Path) -> None:
    _, document = rerun(samples / "pager.db", "--policy", "inject")
    questions = document["six_questions"]
    assert questions["rebuilt_from"]["answer"].startswith("The trace alone")
    assert questions["ran"]["facts"]["dispositions"] == {"injected": 3}
    assert questions["missing_turn"]["facts"] == {"on_miss": "error", "happened": None}
    _, refused = rerun(samples / "pager.db")
    assert refused["six_questions"]["ran"]["answer"].startswith("No tool ran: the rerun was refused")


def test_two_reruns_print_the_same_bytes(samples: Path) -> None:
    first, second = (replay(samples / "pager.db", "--policy", "inject", "--format", "json") for _ in range(2))
    assert first.stdout == second.stdout


def test_the_text_says_what_it_is(samples: Path) -> None:
    text = replay(samples / "pager.db", "--policy", "inject").stdout
    assert text.startswith("IDENTICAL the rerun is the recorded run\n")
    assert "injected" in text
    assert "Six questions" in text


@pytest.mark.parametrize(
    "options",
    [
        ("--on-miss", "live"),
        ("--agent", "no.such.module:run"),
        ("--agent", "not a target"),
        ("--tool", "pager"),
        ("--stub", "pager={"),
        ("--set", "temperature"),
        ("--path", "no such folder"),
    ],
)
def test_a_plan_that_can_not_be_meant_is_a_usage_error(samples: Path, options: tuple[str, ...]) -> None:
    assert replay(samples / "pager.db", *options).exit_code == 2


# code of the user's, in the cell --------------------------------------------------------------------------------------

ESCAPED = "/tmp/escaped-from-a-rerun"  # noqa: S108 - it must never come into being
TOOLS = """
from pathlib import Path


class InterruptSignal(Exception):
    pass


def page(service, severity):
    return {"status": "paged", "id": "pg_9147"}


def other(service, severity):
    return {"status": "down"}


def asks_a_person(**_told):
    raise InterruptSignal("a person must agree")


def writes(service, severity):
    Path("/tmp/escaped-from-a-rerun").write_text("paged")
    return {"status": "paged", "id": "pg_8812"}


def metrics(service):
    return {"service": service, "error_rate": 0.31, "threshold": 0.05}


def agent(ports):
    page = None
    while True:
        answer = ports.model.ask()
        if not answer.calls:
            return f"{answer.text} ({page})"
        for call in answer.calls:
            page = ports.tools.call(call.name, call.arguments)
"""
POLICY = """\
schema: forensics/policy/v1
name: mine
extends: inject
tools:
  - tool: query_metrics
    effect: none
    result: stable
    because: A read replica.
    by: the on-call lead
execute: [query_metrics, pager.trigger]
"""
WIDE = """\
schema: forensics/policy/v1
name: wide
extends: strict
tools:
  - {tool: "*", effect: none, because: All of them., by: nobody}
  - {tool: pager.trigger, effect: irreversible, because: It pages., by: nobody}
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "mine.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    return tmp_path / "code"


def in_cell(code: Path, *options: object, policy: object = "inject") -> tuple[int, dict[str, Any]]:
    place = Path(__file__).resolve().parents[2] / "samples" / "pager.db"
    ended = replay(place, "--policy", policy, "--path", code, "--format", "json", *options)
    if ended.exit_code == 3 and not ended.stdout:
        pytest.skip(f"this machine builds no wall: {ended.stderr}")
    document: dict[str, Any] = json.loads(ended.stdout)
    return ended.exit_code, document


def test_an_agent_of_ones_own_runs_in_the_cell(code: Path) -> None:
    _, document = in_cell(code, "--agent", "mine:agent")
    assert document["isolation"]["level"] != "none"
    assert document["output"]["new"].startswith("Paged on-call: pg_8812.")
    assert document["plan"]["agent"] == "mine:agent"
    assert {call["disposition"] for call in document["calls"]} == {"injected"}


@pytest.mark.parametrize(
    ("function", "disposition", "shown", "result"),
    [
        ("page", "normalised", "pg_8812", "identical"),
        ("other", "overridden", None, "diverged"),
        ("writes", "overridden", "pg_8812", "identical"),
    ],
)
def test_a_function_stands_in_for_a_tool(
    code: Path, function: str, disposition: str, shown: str | None, result: str
) -> None:
    _, document = in_cell(code, "--tool", f"pager.trigger=mine:{function}")
    call = document["calls"][1]
    assert (call["disposition"], call["shown"].get("id")) == (disposition, shown)
    assert document["comparison"]["result"] == result
    assert document["isolation"]["level"] == "wall"
    assert not Path(ESCAPED).exists()
    written = [one["path"] for one in document["isolation"]["captured"]]
    assert (ESCAPED in written) is (function == "writes")
    assert ("effect_captured" in {one["code"] for one in document["findings"]}) is (function == "writes")


def test_a_function_that_pauses_is_refused_by_name(code: Path) -> None:
    exit_code, document = in_cell(code, "--tool", "pager.trigger=mine:asks_a_person")
    assert (exit_code, document["stopped"]["code"]) == (1, "run_paused")
    assert "--stub pager.trigger=JSON" in document["stopped"]["hint"]


def test_what_the_policy_lets_run_is_run_and_compared(code: Path) -> None:
    tools = ("--tool", "query_metrics=mine:metrics", "--tool", "pager.trigger=mine:page")
    exit_code, document = in_cell(code, *tools, policy=code.parent / "policy.yaml")
    assert [call["disposition"] for call in document["calls"]] == ["executed", "normalised", "injected"]
    assert (exit_code, document["comparison"]["result"]) == (0, "identical")


def test_what_was_run_and_returned_something_else_stops_the_rerun(code: Path) -> None:
    source = code / "mine.py"
    source.write_text(TOOLS.replace("0.31", "0.99"), encoding="utf-8")
    tools = ("--tool", "query_metrics=mine:metrics")
    exit_code, document = in_cell(code, *tools, policy=code.parent / "policy.yaml")
    assert (exit_code, document["stopped"]["code"]) == (1, "result_mismatch")
    assert "recorded 0.31, returned 0.99" in document["stopped"]["message"]


# what is printed, one thing beside the other -------------------------------------------------------------------------


def printed(code: Path, *options: object, policy: str = "inject") -> str:
    """What a rerun of the pager prints, its lines joined."""
    place = Path(__file__).resolve().parents[2] / "samples" / "pager.db"
    ended = replay(place, "--policy", policy, "--path", code, *options)
    if ended.exit_code == 3 and not ended.stdout:
        pytest.skip(f"this machine builds no wall: {ended.stderr}")
    return " ".join((ended.stdout or ended.stderr).split())


def test_a_name_that_is_not_there_is_a_wrong_use_and_its_neighbour_is_named(code: Path, samples: Path) -> None:
    def wrong(*options: object) -> str:
        ended = replay(samples / "pager.db", "--policy", "inject", "--path", code, *options)
        assert (ended.exit_code, ended.stdout) == (2, "")
        return ended.stderr

    assert "did you mean pager.trigger?" in wrong("--stub", 'pager.triger={"id": 1}')
    assert "did you mean page?" in wrong("--tool", "pager.trigger=mine:pag")
    assert "there is no nosuch in the module mine" in wrong("--agent", "mine:nosuch")


def test_a_rerun_with_a_stand_in_says_so_wherever_it_says_what_it_is(code: Path) -> None:
    text = printed(code, "--stub", 'pager.trigger={"status": "paged", "id": "pg_1111"}')
    assert "IDENTICAL the rerun is the recorded run, with what stood in for pager.trigger rerun" in text
    assert "not a reproduction: what stood in for pager.trigger does not come from the record; the ids in it" in text
    assert "every result of a tool, but for what stood in for pager.trigger, whose ids are shown as" in text
    assert "stood in" not in printed(code)


def test_a_call_that_the_agent_did_not_make_is_said_to_be_that(code: Path) -> None:
    (code / "mine.py").write_text("def run(ports):\n    ports.model.ask()\n    ports.model.ask()\n", encoding="utf-8")
    text = printed(code, "--agent", "mine:run")
    assert "rerun the call was not made cause" in text
    assert "2 recorded answers of the model (steps 8, 11) were never asked for" in text


HELPER = "import json\n\n\ndef parsed(text):\n    return json.loads(text)\n"
FAILING = """\
from tools import helper

def run(ports):
    ports.model.ask()
    return helper.parsed("no json")
"""


@pytest.mark.parametrize(
    ("source", "raised", "at"),
    [
        (FAILING, "JSONDecodeError: Expecting value", "tools/helper.py:5 in parsed"),
        ("def run(ports):\n    return 1 / ports.input\n", "TypeError: ", "mine.py:2 in run"),
        ("class Agent:\n    def run(self):\n        pass\nrun = Agent().run\n", "TypeError: ", None),
        ("import nosuchmodule\ndef run(ports):\n    pass\n", "ModuleNotFoundError: ", "mine.py:1"),
        ("def run(ports):\n    return eval('1 +')\n", "SyntaxError: ", "mine.py:2 in run"),
        ("def run(ports):\n    pass\n)\n", "SyntaxError: ", "mine.py:3"),
    ],
)
def test_an_agent_that_raises_is_told_with_the_place_in_its_own_code(
    code: Path, source: str, raised: str, at: str | None
) -> None:
    (code / "tools").mkdir()
    (code / "tools" / "__init__.py").write_text("", encoding="utf-8")
    (code / "tools" / "helper.py").write_text(HELPER, encoding="utf-8")
    (code / "mine.py").write_text(source, encoding="utf-8")
    ended, document = in_cell(code, "--agent", "mine:run")
    assert (ended, document["agent_error_at"]) == (1, at)
    assert document["agent_error"].startswith(raised)
    text = printed(code, "--agent", "mine:run")
    assert f"FAILED the agent raised {raised}" in text
    assert (f" at {at} rerun recorded, mine:run" in text) is (at is not None)


def test_what_an_agent_prints_is_told_and_changes_nothing(code: Path) -> None:
    quiet = TOOLS.replace("    page = None\n", "    import sys\n    page = None\n")
    (code / "mine.py").write_text(quiet, encoding="utf-8")
    _, before = in_cell(code, "--agent", "mine:agent")
    told = "    print('paging\\x1b[2J now')\n    sys.stderr.write('careful' + '!' * 5_000)\n    page = None\n"
    (code / "mine.py").write_text(quiet.replace("    page = None\n", told), encoding="utf-8")
    _, document = in_cell(code, "--agent", "mine:agent")
    assert before["printed"] == {"stdout": "", "stderr": "", "more": False}
    assert document["printed"]["stdout"] == "paging\x1b[2J now\n"
    assert document["printed"]["stderr"].startswith("careful!!!")
    assert (len(document["printed"]["stderr"]), document["printed"]["more"]) == (4_000, True)
    assert document["output"] == before["output"]
    text = printed(code, "--agent", "mine:agent")
    assert "printed paging" in text
    assert "on stderr careful!!!" in text
    assert "\x1b[2J now" not in text


def test_an_act_that_was_denied_is_told_as_a_call(code: Path) -> None:
    dials = "import socket\ndef dials(service, severity):\n    socket.create_connection(('10.1.1.1', 80))\n"
    (code / "mine.py").write_text(dials, encoding="utf-8")
    text = printed(code, "--tool", "pager.trigger=mine:dials")
    assert "wall: 1 act denied, 0 changes captured" in text
    assert "the first act outside the cell was denied, and ended the agent: socket.getaddrinfo('10.1.1.1', 80," in text
    assert "this is not a reproduction: it did not come to its end" in text
    assert "rerun the rerun stopped before it was answered" in text


def test_a_refusal_gives_its_reasons_once(code: Path) -> None:
    text = printed(code, policy="strict")
    assert text.count("nobody vouched for it") == 1
    assert text.count("Use static inspection") == 1
    assert "because of 3 reasons of the verdict, which follows" in text
    quiet = printed(code, "-q", policy="strict")
    assert quiet.count("nobody vouched for it") == 1
    assert quiet.count("Use static inspection") == 1


def test_a_refusal_ends_with_its_reason_and_buries_it_under_no_long_inspection(tmp_path: Path) -> None:
    calls = [{"type": "tool_call", "id": f"c{n}", "name": "note", "args": {"text": "x " * 900}} for n in range(60)]
    ends = [{"type": "tool_result", "call_id": f"c{n}", "result": "ok"} for n in range(59)]
    rows = [row for pair in zip(calls, ends, strict=False) for row in pair]
    evidence = tmp_path / "long.jsonl"
    evidence.write_text("".join(json.dumps(row) + "\n" for row in (*rows, calls[-1])), encoding="utf-8")

    def shown(*options: str) -> list[str]:
        return replay(evidence, "--policy", "inject", *options).stdout.splitlines()

    last = "REFUSED no rerun: step 118: unanswered_call: note was asked for and no result is recorded"
    lines, all_lines = shown(), shown("-v")
    assert " ".join(" ".join(lines[-2:]).split()) == last
    assert " ".join(" ".join(all_lines[-2:]).split()) == last
    assert "  … 99 more: forensics inspect" in lines
    assert "  … 40 more: forensics inspect" in lines
    assert len(lines) < 400 < len(all_lines)
    assert " ".join(shown("-q")).count("unanswered_call") == 1


def test_a_refusal_warns_of_its_policy_at_its_head_with_q_and_else_at_the_verdict(code: Path, tmp_path: Path) -> None:
    policy = tmp_path / "wide.yaml"
    policy.write_text(WIDE, encoding="utf-8")
    head, verdict = printed(code, policy=str(policy)).split("of 1 reason of the verdict")
    assert ("vouches for every tool" in head, "vouches for every tool" in verdict) == (False, True)
    assert printed(code, "-q", policy=str(policy)).count("vouches for every tool") == 1
