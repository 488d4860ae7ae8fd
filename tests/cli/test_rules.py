"""Do `forensics rules list`, `show`, `lint` and `test` say what stands in the packs, and where?"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from forensics.cli.program import program
from forensics.core.findings import REASON_CODES

ROOT = Path(__file__).resolve().parents[2]
GOOD = """\
schema: forensics/rules/v1
pack: mine
about: One harness.
tools:
  - id: mine.greet
    because: Greeting reaches a person.
    references: [The harness's own manual]
    source: name
    when: {at: /tool, words: [greet]}
    effect: irreversible
    says: it greets
    tests:
      - {name: greet_user, speaks: true}
      - {name: get_user, speaks: false}
"""


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(program, ["rules", *map(str, arguments)], env={"COLUMNS": "80", "NO_COLOR": "1"})


def document(*arguments: str | Path, name: str) -> dict[str, Any]:
    result = run(*arguments, "--format", "json")
    found: dict[str, Any] = json.loads(result.stdout)
    assert found["schema"] == f"forensics/{name}/v1"
    schema = json.loads(CliRunner().invoke(program, ["schema", name]).stdout)
    assert [error.message for error in Draft202012Validator(schema).iter_errors(found)] == []
    return found


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD, encoding="utf-8")
    return path


def changed(path: Path, old: str, new: str) -> Path:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


def test_the_list_has_every_rule_with_its_place(mine: Path) -> None:
    found = document("list", "--rules", mine, name="rule-list")
    assert sum(pack["rules"] for pack in found["packs"]) == len(found["entries"])
    row = next(row for row in found["entries"] if row["id"] == "mine.greet")
    assert (row["file"], row["line"], row["kind"], row["source"]) == ("mine.yaml", 5, "tool", "name")
    assert (row["effect"], row["because"]) == ("irreversible", "Greeting reaches a person.")
    assert row["references"] == ["The harness's own manual"]
    only = document("list", "--rules", mine, "--pack", "mine", name="rule-list")
    assert [row["id"] for row in only["entries"]] == ["mine.greet"]
    assert only["rules"] == found["rules"]


def test_the_list_as_text_names_packs_and_rules() -> None:
    text = run("list").stdout
    assert "arguments: Idempotency keys" in text
    assert "schema.idempotency-key  [repeating, in external]" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_rule_is_shown_whole(mine: Path) -> None:
    found = document("show", "mine.greet", "--rules", mine, name="rule")
    assert found["definition"]["when"] == {"at": "/tool", "words": ["greet"]}
    assert len(found["definition"]["tests"]) == found["rule"]["tests"] == 2
    text = run("show", "mine.greet", "--rules", mine).stdout
    assert "mine.yaml:5 (pack mine)" in text
    assert "speaks of" in text
    assert "silent about" in text


def test_a_rule_names_those_that_refine_it(mine: Path) -> None:
    refined = changed(mine, "    says: it greets\n", "    says: it greets\n    refines: [words.write.session]\n")
    found = document("show", "words.write.session", "--rules", refined, name="rule")
    assert found["refined_by"] == ["mine.greet"]


@pytest.mark.parametrize("code", sorted(REASON_CODES))
def test_every_code_has_its_page(code: str) -> None:
    found = document("show", code, name="code")
    assert all(found[part] for part in ("means", "matters", "example", "does_not_prove", "do"))
    text = " ".join(run("show", code).stdout.split())
    assert text.startswith(f"{code} (")
    assert " ".join(found["do"].split()) in text


def test_a_wrong_name_names_the_nearest() -> None:
    result = run("show", "evidnce_gap")
    assert result.exit_code == 2
    assert "did you mean evidence_gap?" in result.stderr


def test_a_good_pack_has_no_complaint(mine: Path) -> None:
    found = document("lint", mine, name="rule-lints")
    assert (found["complaints"], found["files"], found["checked"]) == ([], ["mine.yaml"], 1)
    assert run("lint", mine).exit_code == 0
    assert run("lint", mine).stdout.startswith("0 complaints: 1 rule in 1 file")


@pytest.mark.parametrize(
    ("old", "new", "lint", "place"),
    [
        ("mine.greet", "handles.uuid", "id-reused", (5, 5)),
        ("    because: Greeting reaches a person.\n", "", "because-missing", (5, 5)),
        ("because: Greeting reaches a person.", 'because: " "', "because-missing", (6, 14)),
        ("      - {name: get_user, speaks: false}\n", "", "negative-test-missing", (5, 5)),
        ("words: [greet]", "matches: '^greet.*'", "regex-not-anchored", (9, 32)),
        ("words: [greet]", "matches: '(?=greet).*'", "pattern-not-linear", (9, 32)),
        ("words: [greet]", "words: [greet, say_hi]", "unreachable", (9, 38)),
        ("at: /tool, words: [greet]", "at: /arguments, keys: [greeting]", "unreachable", (9, 16)),
        ("at: /tool, words: [greet]", "not: {at: /tool, words: [greet]}", "too-wide", (9, 11)),
        ("effect: irreversible", "effect: none", "lowers-without-refines", (5, 5)),
        ("    effect: irreversible\n", "", "says-nothing", (5, 5)),
        ("    says: it greets\n", "    says: it greets\n    refines: [not.there]\n", "refines-nothing", (12, 15)),
        ("source: name", "source: nonsense", "form", (8, 13)),
        ("pack: mine", "pack: [", "form", (4, 6)),
    ],
)
def test_each_fault_has_its_lint_and_its_place(
    mine: Path, old: str, new: str, lint: str, place: tuple[int, int]
) -> None:
    found = document("lint", changed(mine, old, new), name="rule-lints")["complaints"]
    assert (lint, *place) in [(one["lint"], one["line"], one["column"]) for one in found]
    result = run("lint", mine)
    assert result.exit_code == 1
    assert f"mine.yaml:{place[0]}:{place[1]}: {lint}: " in result.stdout


def test_a_changed_copy_of_the_shipped_packs_is_checked_in_their_place(tmp_path: Path) -> None:
    copy = tmp_path / "rules"
    shutil.copytree(ROOT / "rules", copy)
    found = document("lint", copy, name="rule-lints")
    assert found["complaints"] == []
    assert all(name.partition("/")[0] in ("handles", "tools", "words") for name in found["files"])
    assert document("test", copy, name="rule-tests")["tests"] == document("test", name="rule-tests")["tests"]


def test_the_tests_of_all_packs_in_force_hold() -> None:
    found = document("test", name="rule-tests")
    assert found["failed"] == []
    assert found["tests"] >= 2 * found["checked"] > 100
    assert run("test").stdout.startswith("0 failed: ")


def test_a_test_that_does_not_hold_is_named_with_its_place(mine: Path) -> None:
    changed(mine, "{name: get_user, speaks: false}", "{name: user.greet, speaks: false}")
    (failed,) = document("test", mine, name="rule-tests")["failed"]
    assert (failed["file"], failed["line"], failed["column"], failed["number"]) == ("mine.yaml", 14, 9, 1)
    assert (failed["rule"], failed["expected"]) == ("mine.greet", "silent")
    result = run("test", mine)
    assert result.exit_code == 1
    assert "mine.yaml:14:9: rule 'mine.greet': it speaks about test 1" in " ".join(result.stdout.split())


def test_a_wrong_pattern_is_a_fault_of_the_file_and_not_of_the_program(mine: Path, samples: Path) -> None:
    changed(mine, "words: [greet]", "matches: '(a'")
    audit = CliRunner().invoke(program, ["audit", str(samples / "pager.chat.json"), "--rules", str(mine)])
    assert audit.exit_code == 2
    assert "mine.yaml:9:32: rule 'mine.greet': pattern: missing )" in audit.stderr


@pytest.mark.parametrize("text", ["", "[]", "a: &b c", "\x00", "schema: forensics/rules/v1\ntools: [1, {id: []}]\n"])
def test_no_file_makes_the_program_fail(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(text, encoding="utf-8")
    assert run("lint", path).exit_code == 1
    assert run("test", path).exit_code == 2
