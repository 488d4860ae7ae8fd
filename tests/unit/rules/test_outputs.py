"""Members of an output schema that the call itself makes."""

from __future__ import annotations

import pytest

from forensics.core.classes import Stability, ToolFacts, resolve
from forensics.core.policy import BasePolicy, Policy
from forensics.rules import load_rules
from forensics.rules.outputs import made_member

RULES = load_rules()
NOBODY = Policy(name="strict", base=BasePolicy.STRICT, digest="sha256:0")


def schema(**members: object) -> dict[str, object]:
    return {"type": "object", "properties": members}


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("given", "returned", "made"),
    [
        (schema(title=TEXT), schema(title=TEXT, ticketId=TEXT), "ticketId"),
        (schema(ticket_id=TEXT), schema(ticketId=TEXT, state=TEXT), None),
        (schema(ticket_id=TEXT), schema(id=TEXT), None),
        (schema(ticket_id=TEXT), schema(comment_id={"type": "integer"}), "comment_id"),
        (schema(title=TEXT), schema(result=schema(key=TEXT)), "key"),
        (schema(title=TEXT), {"type": "array", "items": schema(id=TEXT)}, "id"),
        (schema(title=TEXT), schema(made={"type": "string", "format": "uuid"}), "made"),
        (schema(title=TEXT), schema(token=schema(kind=TEXT)), None),
        (schema(title=TEXT), schema(title=TEXT), None),
    ],
)
def test_made_members(given: dict[str, object], returned: dict[str, object], made: str | None) -> None:
    facts = ToolFacts("x", input_schema=given, output_schema=returned)
    assert made_member(facts, RULES.is_id_key) == made


def test_hostile_schemas_are_read_without_fault() -> None:
    deep: dict[str, object] = {}
    for _ in range(500):
        deep = {"properties": {"x": deep, "y": 1, "id": ["no", "schema"]}, "items": [deep]}
    assert made_member(ToolFacts("x", output_schema=deep), RULES.is_id_key) is None


@pytest.mark.parametrize(("name", "result"), [("update_page", Stability.HANDLE), ("get_page", Stability.VOLATILE)])
def test_only_a_tool_that_writes_makes_it(name: str, result: Stability) -> None:
    facts = ToolFacts(name, description=name.replace("_", " "), output_schema=schema(revision_id=TEXT))
    assert resolve(RULES.tool_evidence(facts, NOBODY)).result is result
