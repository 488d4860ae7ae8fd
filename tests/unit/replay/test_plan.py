"""What is a plan, and what changes its digest?"""

from __future__ import annotations

import msgspec
import pytest

from forensics.replay.plan import Code, Mode, Modifications, OnMiss, Override, Plan, Stub

CODE = Code("agents:run", "0" * 64)


@pytest.mark.parametrize(
    "change",
    [
        {"mode": Mode.LIVE},
        {"agent": CODE},
        {"agent": Code("agents:run", "1" * 64)},
        {"overrides": (Override("pager", CODE),)},
        {"stubs": (Stub("pager", (1,)),)},
        {"stubs": (Stub("pager", (1,), each=True),)},
        {"execute": ("query_metrics",)},
        {"modifications": Modifications(prompt="Be brief.")},
        {"on_miss": OnMiss.LIVE},
        {"fork": 3},
        {"endpoint": "http://127.0.0.1:1/v1"},
    ],
)
def test_whatever_a_plan_says_is_in_its_digest(change: dict[str, object]) -> None:
    changed = msgspec.structs.replace(Plan(), **change)
    assert changed.digest != Plan().digest
    assert changed.digest == msgspec.structs.replace(Plan(), **change).digest


def test_where_code_is_found_is_not_what_it_is() -> None:
    assert Plan(paths=("/home/me",)).digest == Plan().digest


def test_a_plan_names_its_changes() -> None:
    changes = Modifications(prompt="x", settings={"temperature": 0}, state={"/messages/0": 1})
    plan = Plan(modifications=changes, stubs=(Stub("pager", (1,)),), overrides=(Override("mail", CODE),))
    assert plan.changes() == ("prompt", "settings.temperature", "state/messages/0", "tool mail", "stub pager")
    assert Plan().changes() == ()


def test_only_a_tool_of_the_users_executes() -> None:
    assert not Plan(agent=CODE).executes
    assert Plan(overrides=(Override("mail", CODE),)).executes
