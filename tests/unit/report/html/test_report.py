"""Does the report's page hold every part, lead only into itself, and stay within its size?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from forensics.api import examine
from forensics.report.html.opening import inspecting
from forensics.report.html.parts import BRIEF, brief_row, brief_table
from forensics.report.html.report import report_html
from forensics.report.html.words import Inspecting
from forensics.report.incident.compose import ReportOptions, report_document
from forensics.report.incident.content import Level
from forensics.report.incident.documents import Suppressed

from .conftest import ROOT, Page

if TYPE_CHECKING:
    from pathlib import Path

    from forensics.report.markup import Markup

    from .conftest import Report

SAMPLES = sorted(
    p.name for p in (ROOT / "samples").iterdir() if p.suffix in (".json", ".jsonl", ".db", ".yaml", ".eval")
)
PARTS = (
    *("verdict", "happened", "timeline", "effects", "findings", "causes", "tools", "oversight", "quality", "replay"),
    *("custody", "privacy", "blanks", "obligations", "regression", "words"),
)
MEGABYTE = 1_000_000


def turns(count: int, said: str) -> list[dict[str, Any]]:
    """Turns, each with a call that writes and a result that mints: all texts are `said`, and many calls are equal."""
    rows: list[dict[str, Any]] = [{"type": "user", "text": said}]
    for n in range(count):
        minted = {"status": "created", "id": f"msg_{n * 7919:016x}", "text": said}
        rows += [
            {"type": "model", "text": said, "ts": 1790000000 + n},
            {
                "type": "tool_call",
                "call_id": f"c{n}",
                "name": f"send_{n % 40}",
                "args": {"to": f"a{n % 80}", "body": said},
            },
            {"type": "tool_result", "call_id": f"c{n}", "result": "Error: timed out" if n % 5 == 0 else minted},
        ]
    return rows


@pytest.mark.parametrize("sample", SAMPLES)
def test_every_part_stands_in_the_page_of_every_sample_and_every_link_has_its_end(sample: str, report: Report) -> None:
    document = report(sample)
    page = Page(report_html(document))
    assert [name for name in page.ids if name in PARTS] == [p for p in PARTS if p != "causes" or document.causes]
    assert len(page.ids) == len(set(page.ids))
    assert page.fragments <= set(page.ids)
    assert page.tags.count("script") == 2


def test_the_verdict_comes_first_with_what_decides_what_would_happen_and_the_proof(report: Report) -> None:
    text = Page(report_html(report("pager.db"))).text
    box = text[
        text.index("A rerun is refused for 2 of 2 runs") : text.index("What happened 1")
        if "What happened 1" in text
        else None
    ]
    assert "Decided by step 6: pager.trigger is side-effecting and handle-returning" in box
    assert "If it ran again pager.trigger on checkout would act once more, and that can't be undone (step 6)" in box
    assert "executed pager.trigger again" in box
    assert "Proved at asked for: pager.db, spans row 3, /attributes/gen_ai.response.tool_calls/0; to see it: " in box
    assert "its result: pager.db, spans row 4, /attributes/tool.result; to see it: " in box
    assert "forensics inspect pager.db --step 6" in box


def test_the_same_document_gives_the_same_bytes(report: Report) -> None:
    assert report_html(report("pager.db")) == report_html(report("pager.db"))


def test_blanks_are_fields_with_labels_and_what_a_person_said_stands_there(report: Report) -> None:
    page = Page(report_html(report("pager.db", case_id="INC-7 <b>", author="on call")))
    document = report("pager.db")
    assert page.tags.count("textarea") == len(document.blanks) + 1  # the version; case and author were given
    labelled = {value for name, value in page.attributes if name == "for"}
    assert labelled == {name for name in page.ids if name.startswith("blank-")}
    assert "Case: INC-7 <b>" in page.text


def test_a_suppressed_finding_is_shown_with_who_and_why_and_is_not_loud(report: Report) -> None:
    document = report("pager.db")
    first = document.findings.rows[0]
    covered = msgspec.structs.replace(first, suppressed=Suppressed(because="a drill", by="lead", until="2027-01-01"))
    rows = [covered, *document.findings.rows[1:]]
    quiet = msgspec.structs.replace(document, findings=msgspec.structs.replace(document.findings, rows=rows))
    text = Page(report_html(quiet)).text
    assert "Suppressed by lead until 2027-01-01: a drill" in text
    box = text[text.index("Stands out") : text.index("Proved at")]
    assert "executed pager.trigger again" not in box


def test_without_content_no_text_of_the_trace_stands_in_the_page(report: Report) -> None:
    html = report_html(report("pager.db", content=Level.NONE)).decode()
    assert "checkout is failing" not in html
    assert "Error rate 0.31" not in html
    assert "pager.trigger" in html


@pytest.mark.parametrize("said", ["x" * 900, "重要な変更を送信" * 60, "<&>\"'" * 200, "\x1b[31m\u202e\ue000" * 200])
def test_five_thousand_steps_stay_below_three_megabytes(said: str, report: Report) -> None:
    document = report(turns(1667, said))
    assert len(document.timeline.events) >= 5000
    assert len(report_html(document)) < 3 * MEGABYTE


def test_what_is_beyond_a_page_is_said(report: Report) -> None:
    text = Page(report_html(report(turns(1667, "x")))).text
    assert "more rows are not in this page" in text
    assert "Steps 4,900 to 4,999 as a table" in text


def test_reasons_beyond_a_thousand_are_counted(report: Report) -> None:
    document = report("double_charge.chat.json")
    (verdict,) = document.verdict.traces
    reasons = (verdict.strict * BRIEF)[: BRIEF + 5]
    many = msgspec.structs.replace(document.verdict, traces=[msgspec.structs.replace(verdict, strict=reasons)])
    text = Page(report_html(msgspec.structs.replace(document, verdict=many))).text
    assert "1,005 reasons to refuse under strict" in text
    assert text.count("5 more reasons are not in this page; the form .json of the report has every one.") == 1


def test_rows_that_a_page_does_not_show_are_not_made() -> None:
    made: list[int] = []

    def tell(number: int) -> Markup:
        made.append(number)
        return brief_row(str(number))

    table = brief_table("Numbers", ("Number",), range(BRIEF + 7), tell)
    assert table is not None
    assert made == list(range(BRIEF))
    assert "7 more rows are not in this page" in table.html
    assert brief_table("Numbers", ("Number",), (), tell) is None


def test_evidence_that_can_not_be_read_gives_a_page_too(tmp_path: Path) -> None:
    path = tmp_path / "noise.bin"
    path.write_bytes(b"\x00\x01noise" * 50)
    examined = examine([path])
    document = report_document(examined.examined, examined.policy, examined.rules.digest, 3, ReportOptions())
    text = Page(report_html(document)).text
    assert "Nothing could be told: no trace could be read" in text
    assert "noise.bin" in text
    assert text.count("1 of 1 inputs could not be read: nothing is known of them.") == 4
    assert text.count("No step was read.") == 1
    assert "1 of 1 input could not be read: nothing is known of what is in it." in text
    assert "suggests that a call, a result or a turn is missing" not in text


def test_a_command_counts_steps_as_the_evidence_alone_does() -> None:
    first, second = ROOT / "samples" / "pager.json", ROOT / "samples" / "parallel.anthropic.json"
    examined = examine([first, second])
    document = report_document(examined.examined, examined.policy, examined.rules.digest, 1, ReportOptions())
    commands = [inspecting(document, n) for n in range(2)]
    assert commands == [
        Inspecting("forensics inspect pager.json", 0),
        Inspecting("forensics inspect parallel.anthropic.json", document.traces[1].first_step),
    ]
    decided = document.verdict.traces[1].decided_by
    assert decided is not None
    assert decided.step is not None
    assert commands[1] is not None
    assert commands[1].step(decided.step) == "forensics inspect parallel.anthropic.json --step 5"


def test_equal_acts_stand_together_in_the_box(report: Report) -> None:
    rows: list[dict[str, Any]] = []
    for n in range(9):
        call = {"type": "tool_call", "call_id": f"c{n}", "name": "add_note", "args": {"text": f"note {n}"}}
        rows += [call, {"type": "tool_result", "call_id": f"c{n}", "result": "ok"}]
    text = Page(report_html(report(rows))).text
    box = text[text.index("If it ran again") : text.index("Proved at")]
    assert box.count("add_note") == 1
    assert ", 9 times" in box


def test_the_page_shows_the_steps_of_the_run_first_that_is_read_first(report: Report, monkeypatch: Any) -> None:
    monkeypatch.setattr("forensics.report.html.report.STEPS", 15)
    page = Page(report_html(report("pager.db")))
    assert [name for name in page.ids if name.startswith("s") and name[1:].isdigit()] == [f"s{n}" for n in range(15)]
    assert "9 steps of it are not in this page" in page.text


def test_tools_that_nobody_called_are_listed_apart(report: Report) -> None:
    tool = {"type": "tool_call", "call_id": "c", "name": "get_it", "args": {}}
    document = report([tool, {"type": "tool_result", "call_id": "c", "result": "ok"}])
    idle = [msgspec.structs.replace(document.tools[0], name=f"idle_{n}", calls=0) for n in range(3)]
    text = Page(report_html(msgspec.structs.replace(document, tools=[*document.tools, *idle]))).text
    assert "Tools that were offered and never called: 1 to 3 of 3" in text
    assert text.count("idle_2") == 1


def test_runs_beyond_a_hundred_are_told_in_brief(report: Report) -> None:
    document = report("parallel.anthropic.json")
    verdicts = document.verdict.traces * 150
    many = msgspec.structs.replace(document, verdict=msgspec.structs.replace(document.verdict, traces=verdicts))
    text = Page(report_html(many)).text
    assert "Further runs: 1 to 50 of 50" in text
