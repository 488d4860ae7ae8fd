"""What does classifying many tools and many calls cost, beside parsing the same lines?

`python tests/benchmarks/bench_classify.py [--calls N] [--tools N]` makes an inventory of distinct tools and a list of
calls of 100 tools with 1,000 distinct argument texts (a tenth of them SQL, a tenth shell), and prints the CPU of
reading and classifying each as a multiple of `orjson.loads` over the same lines in the same run (limits: 100 and 8),
and what a distinct SQL and shell text costs to prove.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import sys
import time
from collections import deque
from typing import TYPE_CHECKING

import orjson

from forensics.analysis.inventory import classify_calls, classify_tools
from forensics.analysis.inventory_files import read_calls, read_tools
from forensics.proofs.prove import prove
from forensics.rules import load_policy, load_rules

if TYPE_CHECKING:
    from collections.abc import Callable

TOOLS_LIMIT = 100
CALLS_LIMIT = 8
VERBS = ("get", "list", "create", "delete", "update", "search", "send", "fetch", "query", "move")
NOUNS = ("page", "invoice", "user", "ticket", "branch", "message", "order", "file", "event", "metric")
KEYS = ("id", "name", "limit", "cursor", "filter", "path", "title", "state")


def cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def tool_lines(count: int) -> list[bytes]:
    draw = random.Random(7)  # noqa: S311 - a corpus, no secret
    lines = []
    for number in range(count):
        verb, noun = draw.choice(VERBS), draw.choice(NOUNS)
        tool = {
            "name": f"{verb}_{noun}_{number}",
            "server": f"server{number % 50}",
            "description": f"{verb.capitalize()} the {noun} number {number} of a project. Use it when you know its id.",
            "input_schema": {"properties": {key: {"type": "string"} for key in draw.sample(KEYS, 3)}},
            "annotations": {"readOnlyHint": draw.random() < 0.5},
        }
        lines.append(json.dumps(tool).encode())
    return lines


def call_lines(count: int) -> list[bytes]:
    draw = random.Random(7)  # noqa: S311 - a corpus, no secret
    tools = [f"{draw.choice(VERBS)}_{draw.choice(NOUNS)}_{number}" for number in range(80)]
    made = [
        *({"tool": draw.choice(tools), "arguments": {"id": n, "title": f"text {n}"}} for n in range(800)),
        *({"tool": f"execute_sql_{n % 10}", "arguments": {"sql": sql_text(n)}} for n in range(100)),
        *({"tool": f"bash_{n % 10}", "arguments": {"command": shell_text(n)}} for n in range(100)),
    ]
    distinct = [json.dumps(call).encode() for call in made]
    return [draw.choice(distinct) for _ in range(count)]


def numbered(lines: list[bytes]) -> list[bytes]:
    """The same calls, no two lines alike: each has an id of its own."""
    return [b'{"id": %d, ' % number + line[1:] for number, line in enumerate(lines)]


def sql_text(number: int) -> str:
    return f"SELECT a, count(*) FROM t{number} WHERE b > {number} GROUP BY a ORDER BY 2 DESC LIMIT 10"


def shell_text(number: int) -> str:
    return f"grep -rn 'word{number}' src | head -n {number + 1}"


def ratio(title: str, lines: list[bytes], work: Callable[[bytes], object], limit: int) -> bool:
    data = b"\n".join(lines)
    parsing = min(cpu(lambda: deque(map(orjson.loads, lines), maxlen=0)) for _ in range(3))
    taken = cpu(lambda: work(data))
    times = taken / parsing
    per = taken / len(lines) * 1e6
    print(
        f"{title}: {len(lines):,} lines, {taken:.2f} s CPU ({per:.1f} us each) = {times:.1f} x orjson (limit {limit})"
    )
    return times <= limit


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--tools", type=int, default=10_000)
    options = parser.parse_args()
    rules, policy = load_rules(), load_policy(None, datetime.date(2027, 1, 1))
    warm = b'{"tool": "run", "arguments": {"sql": "SELECT 1", "url": "a"}, "result": {"status": "sent"}}'
    classify_calls(read_calls(warm, "warm"), rules, policy)  # the packs' patterns and the parser are loaded once
    for kind in ("sql", "shell"):
        text = sql_text if kind == "sql" else shell_text
        prove(kind, text(10**6))
        taken = cpu(lambda kind=kind, text=text: [prove(kind, text(10**7 + n)) for n in range(200)])  # type: ignore[misc]
        print(f"a distinct {kind} text: {taken / 200 * 1e3:.2f} ms to prove")
    held = ratio(
        "tools",
        tool_lines(options.tools),
        lambda data: classify_tools(read_tools(data, "t"), rules, policy),
        TOOLS_LIMIT,
    )
    calls = call_lines(options.calls)
    for title, lines in (("calls", calls), ("calls, no two lines alike", numbered(calls))):
        held &= ratio(title, lines, lambda data: classify_calls(read_calls(data, "c"), rules, policy), CALLS_LIMIT)
    return int(not held)


if __name__ == "__main__":
    sys.exit(main())
