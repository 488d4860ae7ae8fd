"""B3, B4, B5: how fast is a whole audit, and what does it keep in memory?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.benchmarks.measures.growth import grown
from tests.benchmarks.measures.harness import forensics, interleaved, job
from tests.benchmarks.measures.rows import Row, at_least, at_most

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.benchmarks.measures.asked import Asked
    from tests.benchmarks.measures.harness import Cost

ALLOWANCE, SHARE, OF_A_GIGABYTE = 80, 0.3, 0.35
REAL, DENSE, WITH_SECRETS = (0.5, 1.0), (0.2, 0.6), 0.1


def measure(asked: Asked) -> Iterator[Row]:
    """On sessions of the shape of real ones, and on dense generated traces."""
    for size in asked.sizes:
        path = asked.data.session(size)
        yield from _rates("B3", f"session {size:g} MB", REAL, _costs(asked, path))
    dense: dict[float, Cost] = {}
    for size in asked.sizes:
        path = asked.data.trace("cc", megabytes=size)
        costs = _costs(asked, path)
        dense[size] = costs["audit"]
        yield from _rates("B4", f"dense {size:g} MB", DENSE, costs)
        yield from _memory(path, f"dense {size:g} MB", costs)
    yield from grown("B4", "audit", dense)


def _costs(asked: Asked, path: Path) -> dict[str, Cost]:
    commands = {
        "R": job("orjson_lines", path),
        "J": job("json_lines", path),
        "audit": job("audit", path),
        "without scan": job("audit_without_scan", path),
        "command": forensics("audit", path),
        "command json": forensics("audit", "--format", "json", path),
    }
    return interleaved(commands, asked.rounds)


def _rates(name: str, data: str, goals: tuple[float, float], costs: dict[str, Cost]) -> Iterator[Row]:
    figures = {key: cost.figures() for key, cost in costs.items()}
    r, j = (costs[floor].cpu / costs["without scan"].cpu for floor in "RJ")
    yield Row(name, "audit, its scan for secrets aside: R over ours", data, r, "R", at_least(goals[0]), figures)
    yield Row(name, "audit, its scan for secrets aside: J over ours", data, j, "J", at_least(goals[1]))
    value = costs["R"].cpu / costs["audit"].cpu
    yield Row(name, "audit: R over ours", data, value, "R", at_least(WITH_SECRETS))
    for key in ("command", "command json"):
        yield Row(name, f"{key}, start-up included: R over ours", data, costs["R"].cpu / costs[key].cpu, "R")


def _memory(path: Path, data: str, costs: dict[str, Cost]) -> Iterator[Row]:
    megabytes = path.stat().st_size / 1e6
    allowed = OF_A_GIGABYTE * megabytes if megabytes > 900 else ALLOWANCE + SHARE * megabytes
    for key in ("audit", "command"):
        yield Row("B5", f"{key}: anonymous memory", data, costs[key].anonymous, "MB", at_most(round(allowed)))
