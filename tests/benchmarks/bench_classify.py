"""What does classifying many tools and many calls cost, beside parsing the same lines?

`python tests/benchmarks/bench_classify.py [--calls N] [--tools N]` makes an inventory of distinct tools and a list of
calls of 100 tools with 1,000 distinct argument texts (a tenth of them SQL, a tenth shell), and prints the CPU of
reading and classifying each as a multiple of `orjson.loads` over the same lines, and what a distinct SQL and shell text
costs to prove. It ends 1 where a limit is passed (100 and 8); calls of which no two lines are alike are measured too,
and have none. Each multiple is taken three times, on lines that were not seen before, the parsing before and after the
work that it is compared with; the least counts, the greatest is shown beside it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import sys
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import orjson

from forensics.analysis.inventory import classify_calls, classify_tools
from forensics.analysis.inventory_files import read_calls, read_tools
from forensics.proofs.prove import prove
from forensics.rules import load_policy, load_rules

if TYPE_CHECKING:
    from collections.abc import Callable

TOOLS_LIMIT = 100
CALLS_LIMIT = 8
ROUNDS = 3
VERBS = ("get", "list", "create", "delete", "update", "search", "send", "fetch", "query", "move")
NOUNS = ("page", "invoice", "user", "ticket", "branch", "message", "order", "file", "event", "metric")
KEYS = ("id", "name", "limit", "cursor", "filter", "path", "title", "state")


def cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def tool_lines(count: int, turn: int = 0) -> list[bytes]:
    """Tools no two of which are alike, in one round or in two."""
    draw = random.Random(7 + turn)  # noqa: S311 - a corpus, no secret
    lines = []
    for number in range(turn * count, turn * count + count):
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


def call_lines(count: int, turn: int = 0) -> list[bytes]:
    """Calls of 100 tools with 1,000 argument texts, other texts in each round."""
    draw = random.Random(7 + turn)  # noqa: S311 - a corpus, no secret
    first = 1000 * turn
    tools = [f"{draw.choice(VERBS)}_{draw.choice(NOUNS)}_{number}" for number in range(80)]
    made = [
        *({"tool": draw.choice(tools), "arguments": {"id": n, "title": f"text {first + n}"}} for n in range(800)),
        *({"tool": f"execute_sql_{n % 10}", "arguments": {"sql": sql_text(first + n)}} for n in range(100)),
        *({"tool": f"bash_{n % 10}", "arguments": {"command": shell_text(first + n)}} for n in range(100)),
    ]
    distinct = [json.dumps(call).encode() for call in made]
    return [draw.choice(distinct) for _ in range(count)]


def numbered(count: int, turn: int = 0) -> list[bytes]:
    """The same calls, no two lines alike: each has an id of its own."""
    return [b'{"id": %d, ' % number + line[1:] for number, line in enumerate(call_lines(count, turn))]


def sql_text(number: int) -> str:
    return f"SELECT a, count(*) FROM t{number} WHERE b > {number} GROUP BY a ORDER BY 2 DESC LIMIT 10"


def shell_text(number: int) -> str:
    return f"grep -rn 'word{number}' src | head -n {number + 1}"


class Measured(NamedTuple):
    """What one round took (CPU seconds): the parsing alone, the least of it before and after the work; and the work."""

    lines: int
    parsing: float
    work: float

    @property
    def times(self) -> float:
        return self.work / self.parsing


def measured(lines: list[bytes], work: Callable[[bytes], object]) -> Measured:
    data = b"\n".join(lines)
    before = min(cpu(lambda: deque(map(orjson.loads, lines), maxlen=0)) for _ in range(3))
    taken = cpu(lambda: work(data))
    after = min(cpu(lambda: deque(map(orjson.loads, lines), maxlen=0)) for _ in range(3))
    return Measured(len(lines), min(before, after), taken)


def is_held(title: str, made: Callable[[int], list[bytes]], work: Callable[[bytes], object], limit: int | None) -> bool:
    """Measure, print, and say whether the limit is kept, where there is one."""
    rounds = [measured(made(turn), work) for turn in range(ROUNDS)]
    least, most = min(rounds, key=lambda one: one.times), max(rounds, key=lambda one: one.times)
    each = least.work / least.lines * 1e6
    said = f"limit {limit}" if limit is not None else "no limit"
    print(
        f"{title}: {least.lines:,} lines, {least.work:.2f} s CPU ({each:.1f} us each) = {least.times:.1f} x orjson"
        f" ({said}; {most.times:.1f} at most in {ROUNDS} rounds)"
    )
    return limit is None or least.times <= limit


def print_cost_of_a_proof(kind: str, text: Callable[[int], str]) -> None:
    prove(kind, text(10**6))  # the parser is loaded once
    taken = cpu(lambda: [prove(kind, text(10**7 + number)) for number in range(200)])
    print(f"a distinct {kind} text: {taken / 200 * 1e3:.2f} ms to prove")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--tools", type=int, default=10_000)
    options = parser.parse_args()
    rules, policy = load_rules(), load_policy(None, datetime.date(2027, 1, 1))
    warm = b'{"tool": "run", "arguments": {"sql": "SELECT 1", "url": "a"}, "result": {"status": "sent"}}'
    classify_calls(read_calls(warm, "warm"), rules, policy)  # the packs' patterns and the parser are loaded once
    print_cost_of_a_proof("sql", sql_text)
    print_cost_of_a_proof("shell", shell_text)

    def tools(data: bytes) -> object:
        return classify_tools(read_tools(data, "t"), rules, policy)

    def calls(data: bytes) -> object:
        return classify_calls(read_calls(data, "c"), rules, policy)

    held = is_held("tools", partial(tool_lines, options.tools), tools, TOOLS_LIMIT)
    held &= is_held("calls", partial(call_lines, options.calls), calls, CALLS_LIMIT)
    is_held("calls, no two lines alike", partial(numbered, options.calls), calls, None)
    return int(not held)


if __name__ == "__main__":
    sys.exit(main())
