"""B16: what does it cost to write down a hundred thousand findings?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.benchmarks.measures.harness import interleaved, job
from tests.benchmarks.measures.rows import Row, at_most

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.benchmarks.measures.asked import Asked

FINDINGS = 100_000
SECONDS, SHARE = 0.5, 0.25


def measure(asked: Asked) -> Iterator[Row]:
    """A trace in which every call has a finding, as JSON and as a page, beside the audit of it."""
    count = FINDINGS if asked.most >= 100 else FINDINGS // 10
    path = asked.data.made(f"findings-{count}.jsonl", lambda path: _write(path, count))
    costs = interleaved({"audit": job("audit", path), "report": job("report_of_findings", path)}, asked.rounds)
    figures = {name: cost.figures() for name, cost in costs.items()}
    report, data = costs["report"], f"{costs['report'].says['findings']} findings"
    yield Row("B16", "report as JSON and HTML: processor time", data, report.cpu, "s", at_most(SECONDS), figures)
    yield Row(
        "B16", "report as JSON and HTML over the audit", data, report.cpu / costs["audit"].cpu, "x", at_most(SHARE)
    )


def _write(path: Path, count: int) -> None:
    """Every call is asked for and never answered."""
    with path.open("w", encoding="utf-8") as out:
        out.write('{"type": "user", "text": "Send them all."}\n')
        for number in range(count):
            out.write('{"type": "model", "text": "The next."}\n')
            call = {"type": "tool_call", "id": f"c{number}", "name": "send_mail", "args": {"to": f"a{number}"}}
            out.write(json.dumps(call) + "\n")
