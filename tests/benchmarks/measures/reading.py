"""B1, B2: how fast do bytes become steps, beside parsing the same bytes and dropping what was parsed?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.benchmarks.measures.growth import grown
from tests.benchmarks.measures.harness import interleaved, job
from tests.benchmarks.measures.rows import Row, at_least, at_most

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.benchmarks.measures.asked import Asked
    from tests.benchmarks.measures.harness import Cost

LINES = {"plain": "plain log", "cc": "Claude Code", "otlpl": "OTLP lines"}
B1 = 0.7
TIMES, SHARE, ALLOWANCE = 5, 0.15, 60


def measure(asked: Asked) -> Iterator[Row]:
    """Both."""
    for kind, title in LINES.items():
        yield from _of_lines(asked, kind, title)
    yield from _of_a_document(asked)


def _of_lines(asked: Asked, kind: str, title: str) -> Iterator[Row]:
    ours: dict[float, Cost] = {}
    for size in asked.sizes:
        path = asked.data.trace(kind, megabytes=size)
        jobs = {"read": job("read_only", path), "R": job("orjson_lines", path), "steps": job("steps", path)}
        costs = interleaved(jobs, asked.rounds)
        ours[size] = costs["steps"]
        figures = {name: cost.figures() for name, cost in costs.items()}
        value = costs["R"].cpu / costs["steps"].cpu
        yield Row("B1", "lines to steps: R over ours", f"{title} {size:g} MB", value, "R", at_least(B1), figures)
    yield from grown("B1", "lines to steps", ours)


def _of_a_document(asked: Asked) -> Iterator[Row]:
    path = asked.data.trace("otlp", megabytes=asked.document)
    costs = interleaved({"json": job("json_document", path), "steps": job("steps", path)}, asked.rounds)
    figures = {name: cost.figures() for name, cost in costs.items()}
    megabytes, data = _size(path), f"OTLP {asked.document:g} MB"
    value = costs["json"].cpu / costs["steps"].cpu
    yield Row("B2", "one document to steps: json.load over ours", data, value, "x", at_least(TIMES), figures)
    allowed = SHARE * megabytes + ALLOWANCE
    yield Row("B2", "one document to steps: anonymous memory", data, costs["steps"].anonymous, "MB", at_most(allowed))


def _size(path: Path) -> float:
    return path.stat().st_size / 1e6
