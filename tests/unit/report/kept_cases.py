"""A case of the incident, and what a rerun of it did: what the tests of cases begin with."""

from __future__ import annotations

from typing import Any

import msgspec

from forensics.report.case_differences import Got
from forensics.report.case_documents import CASE, CaseDocument, CaseSource, ExpectedCall, ExpectedTuple

PAGE = {"service": "checkout", "severity": "sev1"}


def tuple_(occurrence: str, tool: str, arguments: Any = None, **more: Any) -> ExpectedTuple:
    told: dict[str, Any] = {
        "occurrence": occurrence,
        "prompt_sha256": "sha256:00",
        "prompt": "checkout is failing",
        "said": None,
        "tool": tool,
        "arguments": arguments,
        "outcome": "recorded",
        "result": "ok",
        **more,
    }
    return ExpectedTuple(**told)


TUPLES = (
    tuple_("0.0", "query_metrics", {"service": "checkout"}, result={"error_rate": 0.31}),
    tuple_("1.0", "pager.trigger", PAGE, said="Paging.", result={"id": "pg_8812"}),
    tuple_("2.0", "incident.annotate", {"page_id": "pg_8812"}),
)


def case(name: str = "pager", **more: Any) -> CaseDocument:
    made = CaseDocument(
        schema=CASE,
        name=name,
        input="checkout is failing",
        expected_output="Paged on-call: pg_8812.",
        expected_trajectory=[one.tool for one in TUPLES],
        expected_tool_calls=[ExpectedCall(name=one.tool, arguments=one.arguments) for one in TUPLES],
        expected_tuples=list(TUPLES),
        trace_id="r1",
        source_trace_id="t1",
        fixed_trace_id="r1",
        fork_step=None,
        modifications={},
        changes={},
        source=CaseSource(name="pager.db", sha256="ab" * 32, size=1, format="fastaiagent-db", trace="t1"),
        agent="blueprint",
        stubs=[],
        overrides=[],
        redacted=True,
        policy="inject",
        policy_digest="sha256:cd",
        rules_digest="sha256:ef",
        plan_sha256="01",
    )
    return msgspec.structs.replace(made, **more)


def got(*tuples: ExpectedTuple, **more: Any) -> Got:
    told: dict[str, Any] = {
        "input": "checkout is failing",
        "output": "Paged on-call: pg_8812.",
        "tuples": tuples or TUPLES,
        **more,
    }
    return Got(**told)
