"""Do the guard of the library and every report name the same reason first?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forensics.api import assert_dynamically_replayable, examine, load
from forensics.core.verdict import Reason, deciding
from forensics.errors import NonReplayableTraceError
from forensics.report.terminal_verdict import deciding as deciding_row

if TYPE_CHECKING:
    from collections.abc import Sequence

SAMPLES = Path(__file__).resolve().parents[3] / "samples"
UNVOUCHED = Reason("unvouched", "only words", 3)
NOT_IDEMPOTENT = Reason("not_idempotent", "it pays", 6)
OTHER = Reason("not_idempotent", "it may do anything", 1)
LOST = Reason("evidence_gap", "a line is lost")
UNANSWERED = Reason("unanswered_call", "no result", 15)
EFFECTS = {1: "unknown", 3: "none", 6: "irreversible", 15: "repeating"}


@pytest.mark.parametrize(
    ("injecting", "asked", "first"),
    [
        ((UNANSWERED,), (UNVOUCHED, NOT_IDEMPOTENT, UNANSWERED), UNANSWERED),
        ((LOST, UNANSWERED), (LOST, UNANSWERED), UNANSWERED),
        ((), (UNVOUCHED, OTHER, NOT_IDEMPOTENT), NOT_IDEMPOTENT),
        ((), (UNVOUCHED, OTHER), OTHER),
        ((), (UNVOUCHED,), UNVOUCHED),
    ],
)
def test_what_no_rerun_gets_past_comes_first_and_then_what_harms_most(
    injecting: Sequence[Reason], asked: Sequence[Reason], first: Reason
) -> None:
    assert deciding(injecting, asked, EFFECTS.get) is first


def _told_by_both(evidence: Path) -> list[tuple[str, str]]:
    """What the guard raises for each refused trace, and what the documents name first."""
    rows = examine(evidence).audit().traces
    told = []
    for trace, row in zip(load(evidence), rows, strict=True):
        if row.verdict.cleared:
            assert assert_dynamically_replayable(trace)
            continue
        with pytest.raises(NonReplayableTraceError) as refused:
            assert_dynamically_replayable(trace)
        first = deciding_row(row)
        before = "" if first.step is None else f"step {first.step - row.first_step}: "
        told.append((str(refused.value), before + first.message))
    return told


@pytest.mark.parametrize("name", ["pager.db", "double_charge.chat.json", "mailing.events.jsonl", "crash.db"])
def test_the_guard_names_what_the_reports_name(name: str) -> None:
    told = _told_by_both(SAMPLES / name)
    assert told
    assert all(raised.startswith(named) for raised, named in told)


def test_a_call_without_an_answer_is_named_before_a_payment_that_has_one(tmp_path: Path) -> None:
    rows = [
        {"type": "user", "text": "pay"},
        {"type": "tool_call", "id": "a", "name": "charge_card", "args": {"amount": 5}},
        {"type": "tool_result", "call_id": "a", "result": {"id": "ch_5501"}},
        {"type": "tool_call", "id": "b", "name": "send_email", "args": {"to": "ann"}},
    ]
    evidence = tmp_path / "log.jsonl"
    evidence.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    [(raised, named)] = _told_by_both(evidence)
    assert raised.startswith("step 3: send_email was asked for and no result is recorded (and ")
    assert raised.startswith(named)
