"""B1, B3, B4, B6: does ten times the data cost at most eleven times the time?"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tests.benchmarks.measures.harness import Cost, interleaved, job
from tests.benchmarks.measures.rows import Row, at_most

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.benchmarks.measures.asked import Asked

ELEVEN_TENTHS = 1.1
STEPS = (10_000, 100_000, 1_000_000)
BYTES_OF_A_STEP = 750
TENFOLD: dict[str, tuple[dict[str, float], dict[str, float]]] = {
    "handles": ({"handles": 2}, {"handles": 20}),
    "distance": ({"window": 400}, {"window": 4_000}),
    "fan-out": ({"reuse": 0.1}, {"reuse": 1.0}),
}
LARGE = 10  # megabytes below which start-up costs hide the growth


def grown(name: str, tells: str, costs: Mapping[float, Cost]) -> Iterator[Row]:
    """From each size to the next: the time, as a multiple of what the size grew by."""
    for small, large in pairwise(sorted(costs)):
        if small >= LARGE:
            value = costs[large].cpu / costs[small].cpu / (large / small)
            data = f"{small:g} → {large:g} MB"
            yield Row(name, f"{tells}: growth of time over growth of size", data, value, "x", at_most(ELEVEN_TENTHS))


def measure(asked: Asked) -> Iterator[Row]:
    """B6: ten times the steps, the handles, the distance and the fan-out."""
    most = asked.most * 1e6 / BYTES_OF_A_STEP
    counts = [count for count in STEPS if count <= max(STEPS[1], most)]
    logs = {str(count): asked.data.trace("plain", steps=count) for count in counts}
    for name, (less, more) in TENFOLD.items():
        logs[f"one {name}"] = asked.data.trace("plain", steps=counts[0], **less)
        logs[f"ten {name}"] = asked.data.trace("plain", steps=counts[0], **more)
    costs = interleaved({name: job("audit", path) for name, path in logs.items()}, asked.rounds)
    for small, large in pairwise(map(str, counts)):
        value = costs[large].cpu / costs[small].cpu
        yield Row("B6", "audit: time of ten times the steps", f"{small} → {large}", value, "x", at_most(11))
    for name in TENFOLD:
        value = costs[f"ten {name}"].cpu / costs[f"one {name}"].cpu
        yield Row("B6", f"audit: time of ten times the {name}", f"{counts[0]} steps", value, "x", at_most(11))
