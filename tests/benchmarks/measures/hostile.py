"""B15: does evidence that was made to be slow end in the time and the memory of plain data of its size?"""

from __future__ import annotations

import json
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from tests.benchmarks.measures.harness import forensics, interleaved
from tests.benchmarks.measures.jobs import SMALL
from tests.benchmarks.measures.rows import Row, at_most

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from tests.benchmarks.measures.asked import Asked

TIMES, MEMORY = 3, 3
FEW = 1_000


def measure(asked: Asked) -> Iterator[Row]:
    """Each, beside a generated log of the same size."""
    for name, lines in HOSTILE.items():
        path = asked.data.made(f"{name}-{asked.most:g}.jsonl", partial(_write, lines(asked.most)))
        megabytes = path.stat().st_size / 1e6
        plain = asked.data.trace("plain", megabytes=round(megabytes, 3))
        commands = {
            "hostile": forensics("audit", path),
            "plain": forensics("audit", plain),
            "started": forensics("audit", SMALL),
        }
        costs = interleaved(commands, asked.rounds)
        figures = {key: cost.figures() for key, cost in costs.items()}
        data, titled = f"{megabytes:.1f} MB", name.replace("-", " ")
        value = costs["hostile"].cpu / costs["plain"].cpu
        yield Row("B15", f"{titled}: time over plain data's", data, value, "x", at_most(TIMES), figures)
        own = costs["hostile"].resident - costs["started"].resident
        yield Row("B15", f"{titled}: resident memory over the file", data, own / megabytes, "x", at_most(MEMORY))


def _write(records: Iterable[dict[str, object] | str], path: Path) -> None:
    with path.open("w", encoding="utf-8") as out:
        out.writelines(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in records)


def _run(result: str, after: Iterable[dict[str, object]] = ()) -> Iterator[dict[str, object] | str]:
    """A run of one call with this result, as JSON."""
    yield {"type": "user", "text": "Go."}
    yield {"type": "model", "text": "I ask."}
    yield {"type": "tool_call", "id": "c0", "name": "create_order", "args": {}}
    yield f'{{"type": "tool_result", "call_id": "c0", "result": {result}}}'
    yield from after
    yield {"type": "model", "text": "Done."}


def _deep(_: float) -> Iterator[dict[str, object] | str]:
    depth = 100_000
    return _run("[" * depth + "1" + "]" * depth)


def _long_line(most: float) -> Iterator[dict[str, object] | str]:
    words = "The order stands, and nothing else is known of it. "
    return _run(json.dumps({"status": "ok", "log": words * int(min(50, most / 2) * 1e6 / len(words))}))


def _many_handles(most: float) -> Iterator[dict[str, object] | str]:
    return _run(json.dumps({"ids": [f"ord_{n * 7919 % 10**9:09}" for n in range(_million(most))]}))


def _one_handle_often(most: float) -> Iterator[dict[str, object] | str]:
    said = "ord_581f3a is due. " * (_million(most) // FEW)
    turns: Iterator[tuple[dict[str, object], ...]] = (
        (
            {"type": "model", "text": said},
            {"type": "tool_call", "id": f"c{n + 1}", "name": "get_order", "args": {"id": "ord_581f3a"}},
            {"type": "tool_result", "call_id": f"c{n + 1}", "result": {"status": "open"}},
        )
        for n in range(FEW)
    )
    return _run('{"id": "ord_581f3a"}', chain.from_iterable(turns))


def _million(most: float) -> int:
    return 1_000_000 if most >= 100 else 100_000


HOSTILE: dict[str, Callable[[float], Iterator[dict[str, object] | str]]] = {
    "nested-100,000-deep": _deep,
    "one-long-line": _long_line,
    "many-handles-in-one-result": _many_handles,
    "one-handle-used-often": _one_handle_often,
}
