"""What is known of a trace beside its file stays within what docs/reference/limits.md says of each step."""

from __future__ import annotations

import hashlib
import json
import re
import tracemalloc
from pathlib import Path

from forensics.api import examine
from forensics.report.terminal import lines_of

LIMITS = Path(__file__).parents[3] / "docs" / "reference" / "limits.md"
CALLS = 1600  # a block of lines, of calls and of texts is full by then: what each costs no longer grows
TIMES = 4  # so that tables that double are as full in the one as in the other


def word(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def log(path: Path, calls: int) -> Path:
    """Turns that each ask for a call, whose result brings two new values, of which a later call names one."""
    with path.open("w", encoding="utf-8") as file:
        for n in range(calls):
            used = f"job_{word('job', max(n - 7, 0))[:10]}"
            arguments = {"query": f"what of {word('query', n)[:6]}", "limit": n % 90, "after": used}
            result = {"id": f"job_{word('job', n)[:10]}", "ref": word("ref", n)[:32], "status": "queued"}
            result["log"] = " ".join(f"worker {word('log', n, k)[:8]} is done" for k in range(4))
            call = {"call_id": word("call", n)[:24], "name": f"tool_{n % 9}"}
            told = ({"type": "model", "text": f"Next is {n}."}, {"type": "tool_call", **call, "args": arguments})
            for line in (*told, {"type": "tool_result", **call, "result": result}):
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
    return path


def traced(path: Path) -> tuple[int, int]:
    """The steps of a log, and the most bytes that were in use at once while it was audited."""
    tracemalloc.start()
    try:
        examination = examine(path)
        lines_of(examination.audit(at_once=False))
        return len(examination.analyses[0].trace), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_step_costs_no_more_than_is_documented(tmp_path: Path) -> None:
    documented = re.search(r"at most (\d+) bytes a step", LIMITS.read_text(encoding="utf-8"))
    assert documented is not None
    short, long = (log(tmp_path / f"{times}.jsonl", CALLS * times) for times in (1, TIMES))
    lines_of(examine(short).audit(at_once=False))  # what is made once is there
    (few, least), (many, most) = traced(short), traced(long)
    assert (few, many) == (3 * CALLS, 3 * CALLS * TIMES)

    assert (most - least) / (many - few) <= int(documented.group(1))


def test_a_long_value_costs_nothing_beside_the_file(tmp_path: Path) -> None:
    paths = []
    for size in (1 << 10, 1 << 13):
        path = tmp_path / f"{size}.jsonl"
        lines = []
        for n in range(200):
            told = {"type": "tool_result", "call_id": f"c{n}", "result": {"text": "x" * size}}
            lines += [{"type": "tool_call", "call_id": f"c{n}", "name": "read", "args": {"n": n}}, told]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        paths.append(path)
    examine(paths[0])
    tracemalloc.start()
    try:
        kept = []
        for path in paths:
            before, examination = tracemalloc.get_traced_memory()[0], examine(path)
            kept.append(tracemalloc.get_traced_memory()[0] - before)
            assert len(examination.analyses[0].trace) == 400
    finally:
        tracemalloc.stop()

    assert kept[1] - kept[0] < 1 << 16  # of 1.6 MB


def most_held(path: Path, tmp_path: Path) -> float:
    """The most memory that was in use at once while a log was examined, as a multiple of its size."""
    examine(log(tmp_path / "short.jsonl", 1))  # what is made once is there
    tracemalloc.start()
    try:
        examine(path)
        return tracemalloc.get_traced_memory()[1] / path.stat().st_size
    finally:
        tracemalloc.stop()


def one_result(path: Path, result: object) -> Path:
    call = {"type": "tool_call", "call_id": "c0", "name": "create_orders", "args": {}}
    told = (call, {"type": "tool_result", "call_id": "c0", "result": result})
    path.write_text("".join(json.dumps(line) + "\n" for line in told), encoding="utf-8")
    return path


def test_a_long_text_costs_no_object_for_each_of_its_words(tmp_path: Path) -> None:
    said = "The order stands, and nothing else is known of it. " * 40_000
    path = one_result(tmp_path / "log.jsonl", {"log": said})
    assert most_held(path, tmp_path) < 6  # each of its 400,000 words, as an object, would be 20 times as much


def test_the_ids_of_a_long_list_are_looked_at_some_at_a_time(tmp_path: Path) -> None:
    path = one_result(tmp_path / "log.jsonl", {"ids": [f"ord_{n * 7919 % 10**9:09}" for n in range(60_000)]})
    assert most_held(path, tmp_path) < 24  # tables of all of them would make it 31


def test_the_ids_of_a_long_list_are_its_values_in_their_places(tmp_path: Path) -> None:
    ids = [f"ord_{n:06}" for n in range(20_000)]
    path = one_result(tmp_path / "log.jsonl", {"note": "see job_77f1a", "ids": [*ids, ids[5]], "last": ids[-1]})
    handles = examine(path).analyses[0].handles
    assert [one.value for one in handles] == [*ids, "job_77f1a"]
    assert [one.pointer for one in handles] == [*(f"/ids/{n}" for n in range(20_000)), ""]
