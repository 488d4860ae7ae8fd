"""Where an effect lands: a place that a sandbox holds is only named where nobody says that there is more."""

from __future__ import annotations

import pytest

from forensics.core.classes import Scope, ToolFacts, resolve
from forensics.core.policy import BasePolicy, Policy, ToolEntry, TrustEntry
from forensics.rules import load_rules

RULES = load_rules()
NOBODY = Policy(name="strict", base=BasePolicy.STRICT, digest="sha256:0")
TRUSTING = Policy(name="t", base=BasePolicy.STRICT, digest="sha256:1", trust=(TrustEntry(server="s"),))
PATHS: dict[str, object] = {"properties": {"output_path": {"type": "string"}}}
CLOSED: dict[str, object] = {"readOnlyHint": False, "openWorldHint": False}


@pytest.mark.parametrize(
    ("facts", "scope"),
    [
        (ToolFacts("get_page", description="Get a page."), Scope.NONE),
        (ToolFacts("cd"), Scope.SESSION),
        (ToolFacts("select_tab", description="Select the active tab."), Scope.SESSION),
        (ToolFacts("write_file"), Scope.LOCAL),
        (ToolFacts("take_snapshot", description="Saves a snapshot to disk."), Scope.LOCAL),
        (ToolFacts("send_email"), Scope.EXTERNAL),
        (ToolFacts("create_ticket", input_schema=PATHS), Scope.EXTERNAL),
        (ToolFacts("create_thing", input_schema=PATHS), Scope.UNKNOWN),
        (ToolFacts("render_x", description="Get a page.", input_schema=PATHS), Scope.UNKNOWN),
        (ToolFacts("get_page", description="Get a page.", input_schema=PATHS), Scope.LOCAL),
        (ToolFacts("create_thing"), Scope.UNKNOWN),
        (ToolFacts("frobnicate"), Scope.UNKNOWN),
    ],
    ids=lambda one: one.name if isinstance(one, ToolFacts) else one.value,
)
def test_where_an_effect_lands(facts: ToolFacts, scope: Scope) -> None:
    assert resolve(RULES.tool_evidence(facts, NOBODY)).scope is scope


def test_a_claim_that_nobody_trusts_bounds_nothing() -> None:
    facts = ToolFacts("create_thing", server="s", hints=CLOSED)
    assert resolve(RULES.tool_evidence(facts, NOBODY)).scope is Scope.UNKNOWN
    assert resolve(RULES.tool_evidence(facts, TRUSTING)).scope is Scope.LOCAL


def test_the_operator_says_where() -> None:
    entry = ToolEntry(tool="send_email", because="a test double", by="us", scope=Scope.LOCAL)
    policy = Policy(name="t", base=BasePolicy.STRICT, digest="sha256:2", tools=(entry,))
    assert resolve(RULES.tool_evidence(ToolFacts("send_email"), policy)).scope is Scope.LOCAL


def test_a_sandbox_holds_the_session_and_local_files_only() -> None:
    assert [scope for scope in Scope if scope.contained] == [Scope.SESSION, Scope.LOCAL]
