"""Does the page of a corpus work in a browser: in light and dark, narrow, without a script, on paper, and aloud?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from forensics.corpus.engines import serial
from forensics.corpus.folder import results_in
from forensics.corpus.overview import corpus_report
from forensics.corpus.run import Corpus, audit_corpus
from forensics.report.html.corpus import corpus_html

if TYPE_CHECKING:
    from .conftest import Open

HOSTILE = (
    "</script></style></title><script>alert(1)</script>",
    '" onload="alert(1)" x=\'',
    "<img src=x onerror=alert(1)>",
    "a\x1b[2J\x00\u202eb\ufffe\u2028",
    "W" * 400,
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The report on runs of twenty days, whose tools have names that act on pages."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "traces").mkdir()
    for n in range(20):
        name = HOSTILE[n % len(HOSTILE)] if n % 2 else "create_ticket"
        day = f"2026-03-{n + 1:02}T10:00:0"
        steps = [
            {"type": "user", "text": "go", "ts": f"{day}0Z"},
            {"type": "tool_call", "id": "c", "name": name, "args": {}, "ts": f"{day}1Z"},
            {"type": "tool_result", "call_id": "c", "result": {"id": f"tk_{n}8123"}, "ts": f"{day}2Z"},
            {"type": "model", "text": f"made tk_{n}8123", "ts": f"{day}3Z"},
        ]
        text = "".join(json.dumps(step) + "\n" for step in steps)
        (folder / "traces" / f"run{n:02}.jsonl").write_text(text, encoding="utf-8")
    (folder / "traces" / "none.json").write_text("{}", encoding="utf-8")
    audit_corpus([folder / "traces"], folder / "results", Corpus(engine=serial()))
    return corpus_html(corpus_report(results_in(folder / "results")))


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(opened: Open, page: bytes, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    found = axe.run(opened(page, width=width, color_scheme=scheme, bypass_csp=True)).response["violations"]
    assert [(one["id"], one["impact"], [node["html"] for node in one["nodes"]]) for one in found] == []


@pytest.mark.parametrize("width", [1280, 390])
def test_everything_is_there_without_a_script_and_fits(opened: Open, page: bytes, width: int) -> None:
    shown = opened(page, width=width, java_script_enabled=False)
    assert shown.locator("svg.columns rect").count() == 20
    assert shown.locator("#trend tbody tr").count() == 20
    assert shown.locator("#tools tbody tr").count() == len(HOSTILE) + 1
    assert shown.locator("img, script, iframe").count() == 0
    assert shown.get_by_role("heading", level=2).count() == 8
    box = shown.locator("body").bounding_box()
    assert box is not None
    assert box["width"] == width


def test_no_text_of_a_trace_is_more_than_a_text(opened: Open, page: bytes) -> None:
    shown = opened(page)
    assert HOSTILE[2] in shown.locator("#tools").inner_text()
    assert shown.evaluate("document.documentElement.scrollWidth") == 1280


def test_bars_are_as_long_as_their_numbers(opened: Open, page: bytes) -> None:
    shown = opened(page)
    first = shown.locator("#tools tbody tr").first
    bar = first.locator("svg.share")
    whole, filled = bar.bounding_box(), bar.locator("rect").bounding_box()
    assert whole is not None
    assert filled is not None
    assert "create_ticket" in first.inner_text()
    assert filled["width"] / whole["width"] == pytest.approx(10 / 20, abs=0.03)


def test_the_keyboard_leads_into_the_parts(opened: Open, page: bytes) -> None:
    shown = opened(page)
    shown.keyboard.press("Tab")
    assert shown.locator(":focus").inner_text() == "Skip to the verdict"
    shown.get_by_role("link", name="Over time").focus()
    shown.keyboard.press("Enter")
    assert shown.url.endswith("#trend")


def test_on_paper_it_stands_on_white(opened: Open, page: bytes) -> None:
    shown = opened(page, color_scheme="dark")
    shown.emulate_media(media="print")
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
