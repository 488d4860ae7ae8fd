"""B9: what does a causal graph of a million steps cost, beside `networkx.DiGraph`?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.benchmarks.measures.harness import interleaved, job
from tests.benchmarks.measures.rows import Row, at_most

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.benchmarks.measures.asked import Asked

STEPS = 1_000_000


def measure(asked: Asked) -> Iterator[Row]:
    """Built from the same columns, with the same attributes; then walked."""
    names = ("graph_ours", "graph_networkx", "ancestors_in_view", "ancestors_in_networkx")
    costs = interleaved({name: job(name, STEPS) for name in names}, asked.rounds)
    figures = {name: cost.figures() for name, cost in costs.items()}
    ours, theirs, view, graph = (costs[name] for name in names)
    data = f"{STEPS} steps, {ours.says['edges']} edges"
    yield Row("B9", "graph: our time over networkx's", data, ours.cpu / theirs.cpu, "x", at_most(0.2), figures)
    yield Row("B9", "graph: our memory while built over networkx's", data, ours.grown / theirs.grown, "x", at_most(0.1))
    yield Row("B9", "ancestors: time in our view over theirs", data, view.cpu / graph.cpu, "x")
