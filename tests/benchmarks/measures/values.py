"""B7, B8: how fast are values followed, and how many of the planted flows are found?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.benchmarks.bench_flow_accuracy import EXACT, NEAR, accuracy
from tests.benchmarks.measures.harness import interleaved, job
from tests.benchmarks.measures.rows import Row, at_least, at_most

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.benchmarks.measures.asked import Asked

TIMES = 2
STEPS = 100_000
RECALL = {"verbatim": 0.995, "case": 0.99, "type": 0.99, "substring": 0.95, "base64": 0.75, "url": 0.75}


def measure(asked: Asked) -> Iterator[Row]:
    """Both."""
    yield from _rates(asked)
    yield from _accuracy(asked)


def _rates(asked: Asked) -> Iterator[Row]:
    for style in ("prose", "code", "log"):
        path = asked.data.trace("plain", megabytes=min(asked.most, 50), style=style)
        jobs = {"floor": job("split_and_look_up", path), "ours": job("follow_values", path)}
        costs = interleaved(jobs, asked.rounds)
        value = costs["floor"].cpu / costs["ours"].cpu
        figures = {key: cost.figures() for key, cost in costs.items()}
        rate = costs["ours"].says["payload"] / 1e6 / costs["ours"].cpu
        yield Row("B7", "values followed: split and set over ours", style, value, "x", at_least(TIMES), figures)
        yield Row("B7", "values followed: payload a second", style, rate, "MB/s")


def _accuracy(asked: Asked) -> Iterator[Row]:
    steps = STEPS if asked.most >= 100 else STEPS // 10
    path, truth = asked.data.with_truth("plain", steps=steps)
    found = accuracy(path, truth)
    data = f"{steps} steps"
    for how, goal in RECALL.items():
        yield Row("B8", f"planted flows found: {how}", data, found.recall.get(how, 0.0), "", at_least(goal))
    yield Row("B8", "found flows that were planted: as the value is", data, found.exact, "", at_least(EXACT))
    yield Row("B8", "found flows that were planted: all", data, found.near, "", at_least(NEAR))
    yield Row("B8", "uses that do not stand in the bytes of their step", data, found.unfounded, "", at_most(0))
