"""Is the JSON what its schema says, and the same on every machine?"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from forensics.cli.program import program

if TYPE_CHECKING:
    from .conftest import Run

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted(p for p in (ROOT / "samples").iterdir() if p.suffix in (".json", ".jsonl", ".db"))


def output(*arguments: str | Path) -> bytes:
    return CliRunner().invoke(program, [str(a) for a in arguments]).stdout_bytes


def strict(data: bytes) -> Any:
    def refuse(word: str) -> None:
        raise AssertionError(word)

    return json.loads(data.decode("utf-8"), parse_constant=refuse)


def check(name: str, document: object) -> None:
    schema = strict(output("schema", name))
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(document)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
@pytest.mark.parametrize(
    ("command", "name"),
    [("audit", "audit"), ("inspect", "inspection"), ("classify", "classification"), ("report", "report")],
)
def test_documents_are_as_their_schema_says(command: str, name: str, sample: Path) -> None:
    document = strict(output(command, sample, "--format", "json"))
    assert document["schema"] == f"forensics/{name}/v1"
    check(name, document)


def test_one_step_is_an_inspection_too(samples: Path) -> None:
    check("inspection", strict(output("inspect", samples / "pager.db", "--step", "6", "--format", "json")))


def test_an_evidence_that_can_not_be_read_is_a_document_too() -> None:
    check("audit", strict(output("audit", "no-such-file", "--format", "json")))


def test_formats_and_policy_check(samples: Path) -> None:
    check("formats", strict(output("formats", "--format", "json")))
    policy = samples / "policies" / "readonly.yaml"
    check("policy-check", strict(output("policy", "check", policy, samples / "readonly.db", "--format", "json")))


def test_every_schema_is_one() -> None:
    names = output("schema").decode().split()
    assert names == [
        *(
            "audit",
            "inspection",
            "classification",
            "formats",
            "policy-check",
            "graph",
            "explanation",
            "matching",
            "comparison",
            "rerun",
            "report",
            "timeline",
        ),
        *("verification", "corpus", "corpus-file", "corpus-finding", "corpus-report", "query", "questions"),
        *("doctor", "case", "case-run"),
        *("rule-list", "rule", "code", "rule-lints", "rule-tests"),
        *("policy", "rules", "suppressions"),
    ]
    for name in names:
        Draft202012Validator.check_schema(strict(output("schema", name)))
    assert output("schema", "rule-pack") == output("schema", "rules")


@pytest.mark.parametrize("sample", ["pager.db", "parallel.anthropic.json"])
@pytest.mark.parametrize("command", ["audit", "inspect", "classify", "report"])
def test_the_same_input_gives_the_same_bytes(command: str, sample: str, forensics: Run, tmp_path: Path) -> None:
    other = tmp_path / "other" / "folder"
    other.mkdir(parents=True)
    shutil.copy(ROOT / "samples" / sample, other / sample)
    for form in ("json", "text"):
        first = forensics(command, ROOT / "samples" / sample, "--format", form, PYTHONHASHSEED="1", TZ="UTC")
        world = {"PYTHONHASHSEED": "77", "TZ": "Asia/Kathmandu", "LC_ALL": "C", "PYTHONUTF8": "0"}
        again = forensics(command, sample, "--format", form, cwd=other, **world)
        assert first.stdout
        assert again.stdout == first.stdout


def test_utf_8_in_every_locale(forensics: Run, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([{"role": "user", "content": "größer 界"}, {"role": "assistant", "content": "ja"}]))
    for form in ("json", "text"):
        out = forensics("inspect", path, "--format", form, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0").stdout
        assert "größer 界" in out.decode("utf-8")


def test_integers_beyond_a_double_are_text(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    rows = [
        '{"type":"user","text":"go"}',
        '{"type":"tool_call","call_id":"a","name":"get_user","args":{"id":7312292042121000001}}',
        '{"type":"tool_result","call_id":"a","result":{"id":7312292042121000001}}',
    ]
    path.write_text("\n".join(rows) + "\n")
    (call,) = strict(output("audit", path, "--format", "json"))["traces"][0]["calls"]
    assert call["arguments"] == {"id": "7312292042121000001"}
