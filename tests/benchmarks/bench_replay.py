"""What does a rerun add to a call? At most 100 µs with the pipe, and at most 20 times `json.dumps` of its arguments.

Both medians come out of one interleaved run, inside the cell: each call of a recorded run of 10,000 steps is made once,
with its arguments written as JSON just before it. The agent asks no model, so that nothing but the calls is measured.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from forensics.api import Options
from forensics.api_replay import prepare
from forensics.replay.code import code_of
from forensics.replay.plan import Plan

CALLS = 3_333  # a turn, a call and a result each
MOST, TIMES = 100e-6, 20.0
_MICRO = 1e6


def arguments(number: int) -> dict[str, Any]:
    """What an agent of a shop asks a tool."""
    return {
        "order": f"ord_{number:06}",
        "customer": {"name": "Ana Example", "email": f"ana{number}@example.com", "tier": "gold"},
        "items": [{"sku": f"SKU-{number % 97}", "quantity": number % 5 + 1, "price": 19.9} for _ in range(3)],
        "note": "Deliver to the back door, please: the front one is being painted until Friday.",
    }


def recording(place: Path) -> Path:
    """A run of 10,000 steps."""
    rows: list[dict[str, Any]] = [{"type": "user", "text": "Ship what was ordered."}]
    for number in range(CALLS):
        rows.append({"type": "model", "text": f"order {number}"})
        rows.append({"type": "tool_call", "id": f"c{number}", "name": "ship", "args": arguments(number)})
        rows.append(
            {"type": "tool_result", "call_id": f"c{number}", "result": {"status": "shipped", "eta": number % 9}}
        )
    rows.append({"type": "model", "text": "Everything is shipped."})
    place.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return place


def agent(ports: Any) -> list[float]:
    """Make every call, and say how long one took and how long its JSON."""
    calls, dumps = [], []
    for number in range(CALLS):
        told = arguments(number)
        begin = time.perf_counter()
        json.dumps(told)
        middle = time.perf_counter()
        ports.tools.call("ship", told)
        calls.append(time.perf_counter() - middle)
        dumps.append(middle - begin)
    return [statistics.median(calls), statistics.median(dumps)]


def measured() -> tuple[float, float]:
    """The medians of a call and of its JSON, in seconds."""
    here = str(Path(__file__).resolve().parent)
    with tempfile.TemporaryDirectory() as folder:
        place = recording(Path(folder) / "run.jsonl")
        plan = Plan(agent=code_of("bench_replay:agent", (here,)), paths=(here,))
        begin = time.perf_counter()
        replayed = prepare(place, Options(policy="inject"), plan).run()
        took = time.perf_counter() - begin
    done = replayed.rerun
    assert done is not None
    assert done.stopped is None, done.stopped
    assert len(done.calls) == CALLS
    print(f"{len(replayed.prepared.analysis.trace)} steps, {CALLS} calls; everything together {took:.1f} s")
    call, dumped = done.output
    return call, dumped


if __name__ == "__main__":
    call, dumped = measured()
    times = call / dumped
    print(f"a call {call * _MICRO:.1f} µs, json.dumps of its arguments {dumped * _MICRO:.1f} µs: {times:.1f} times")
    sys.exit(call > MOST or times > TIMES)
