"""Do the faults of public reports about replays stay caught: an answer out of the queue, one answer given twice?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from forensics.api_match import match, match_exit_code

CASES = Path(__file__).parent / "cases"


def rows(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_miss_is_not_served_from_the_queue(tmp_path: Path) -> None:
    """bernstein issue 4866: a request without a match was given the next answer of its kind."""
    recording = rows(
        tmp_path / "recording.jsonl",
        *(
            {"kind": "tool", "request": {"tool": "triage", "arguments": {"n": n}}, "response": f"t{n}"}
            for n in range(3)
        ),
    )
    asked = [{"kind": "tool", "request": {"tool": "triage", "arguments": {"n": n}}} for n in (0, 7, 1)]
    matched = match(recording, rows(tmp_path / "requests.jsonl", *asked))
    document = matched.document()
    assert [(row.status, row.served) for row in document.requests] == [
        ("served", "t0"),
        ("miss", None),
        ("not_reached", None),
    ]
    assert document.requests[1].nearest[0].pointer == "/arguments/n"
    assert [f.code for f in document.findings] == ["replay_miss"]
    assert match_exit_code(matched) == 1


def test_equal_requests_get_their_answers_in_order_and_a_third_gets_none(tmp_path: Path) -> None:
    """vcrpy issue 842: the first answer was played back both times."""
    (cassette,) = (CASES / "61-identical-requests-different-answers").glob("cassette.*")
    body = '{"messages":[{"role":"user","content":"and now?"}]}'
    asked = [{"method": "POST", "uri": "https://model.example/v1/chat", "headers": {}, "body": body}] * 3
    requests = tmp_path / "requests.json"
    requests.write_text(json.dumps(asked))
    document = match(cassette, requests).document()
    assert [row.status for row in document.requests] == ["served", "served", "miss"]
    assert "look it up" in str(document.requests[0].served)
    assert "that is all" in str(document.requests[1].served)
    assert {f.code for f in document.findings} == {"same_request_different_answers", "replay_miss", "multiple_traces"}
