"""What do the other verbs cost, beside parsing the same bytes or beside the audit? They have no goal of issue 8."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.benchmarks.measures.harness import interleaved, job
from tests.benchmarks.measures.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.benchmarks.measures.asked import Asked

TOGETHER = 10  # megabytes of a file that two verbs are tried on


def measure(asked: Asked) -> Iterator[Row]:
    """Inspect, the documents, compare."""
    size = min(asked.most, TOGETHER)
    path, other = (asked.data.trace("plain", megabytes=size, seed=seed) for seed in (0, 1))
    commands = {
        "R": job("orjson_lines", path),
        "audit": job("audit", path),
        "audit document": job("audit_document", path),
        "inspection document": job("inspection_document", path),
        "comparison of two": job("compare_two", path, other),
    }
    costs = interleaved(commands, asked.rounds)
    figures = {name: cost.figures() for name, cost in costs.items()}
    for name in ("audit document", "inspection document", "comparison of two"):
        value = costs[name].cpu / costs["audit"].cpu
        yield Row("verbs", f"{name}, over the audit", f"plain log {size:g} MB", value, "x", None, figures)
