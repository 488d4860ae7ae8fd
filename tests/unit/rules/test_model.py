"""The typed model: fast conversion, and every fault with its position when it fails."""

from __future__ import annotations

import jsonschema
import pytest

from forensics.errors import RuleError
from forensics.rules import policy_schema, rule_pack_schema
from forensics.rules.model import Pack, PolicyFile, convert
from forensics.rules.yaml_strict import load_strict

PACK = """\
schema: forensics/rules/v1
pack: mine
about: A test.
tools:
  - id: mine.one
    because: It is so.
    source: arguments
    when: {at: /arguments/mode, equals: write}
    effect: repeating
    says: it writes
    tests:
      - {arguments: {mode: write}, speaks: true}
      - {arguments: {mode: read}, speaks: false}
"""


def read(text: str) -> Pack:
    return convert(load_strict(text.encode(), "p.yaml"), Pack, "p.yaml")


def test_a_pack_converts() -> None:
    rule = read(PACK).tools[0]
    assert (rule.id, rule.when.at, rule.when.equals) == ("mine.one", "/arguments/mode", "write")


def test_all_faults_are_named_with_positions() -> None:
    text = PACK.replace("effect: repeating", "effect: unknown").replace("speaks: true", "speaks: maybe")
    text = text.replace("because: It is so.", "becase: It is so.")
    with pytest.raises(RuleError) as caught:
        read(text)
    places = [fault.split(": ")[0] for fault in caught.value.faults]
    assert places == ["p.yaml:5:5", "p.yaml:6:13", "p.yaml:9:13", "p.yaml:12:44"]
    assert "'because' is a required property" in caught.value.faults[0]
    assert "'becase' was unexpected" in caught.value.faults[1]


def test_schemas_are_json_schemas_that_accept_what_converts() -> None:
    jsonschema.Draft202012Validator.check_schema(rule_pack_schema())
    jsonschema.Draft202012Validator.check_schema(policy_schema())
    jsonschema.validate(load_strict(PACK.encode(), "p.yaml").value, rule_pack_schema())


def test_a_bad_date_is_named_where_it_stands() -> None:
    text = b"schema: forensics/policy/v1\nname: x\ntrust:\n  - server: s\n    expires: soon\n"
    with pytest.raises(RuleError, match=r"^p.yaml:5:14: "):
        convert(load_strict(text, "p.yaml"), PolicyFile, "p.yaml")
