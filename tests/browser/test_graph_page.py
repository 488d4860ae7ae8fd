"""Does the page of a causal graph work in a browser: by mouse, by keyboard, without a script, on paper, and aloud?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from forensics.cli.program import program

if TYPE_CHECKING:
    from .conftest import Open

PAGER = Path(__file__).resolve().parents[2] / "samples" / "pager.db"
HOSTILE = (
    "</script></style></title><script>alert(1)</script>",
    '" onload="alert(1)" x=\'',
    "<img src=x onerror=alert(1)>",
    "<!--<script>",
    "{{constructor.constructor('alert(1)')()}}",
    "javascript:alert(1)",
    "a\x1b[2J\x00\u202eb\ufffe\u2028\ud800",
)


def graph(*arguments: object) -> bytes:
    result = CliRunner().invoke(program, ["graph", *map(str, arguments), "--to", "html"])
    assert result.exit_code == 0, result.output
    return result.stdout_bytes


def many(folder: Path, turns: int) -> Path:
    """An event log of so many turns, a call and a result each."""
    path = folder / "many.jsonl"
    with path.open("w") as out:
        for n in range(turns):
            out.write('{"type":"model","text":"t"}\n')
            out.write(f'{{"type":"tool_call","call_id":"c{n}","name":"get_it","args":{{"n":{n}}}}}\n')
            out.write(f'{{"type":"tool_result","call_id":"c{n}","result":"ok {n}"}}\n')
    return path


@pytest.fixture(scope="module")
def pager() -> bytes:
    return graph(PAGER)


def test_each_step_is_a_row_with_its_words_and_each_minted_value_a_thread(opened: Open, pager: bytes) -> None:
    page = opened(pager)
    rows = page.locator(".row")
    assert rows.count() == 12
    assert "pager.trigger !#" in rows.nth(6).inner_text()
    assert "mints pg_8812" in rows.nth(7).inner_text()
    assert [n for n in range(12) if "holds pg_8812" in rows.nth(n).inner_text()] == [8, 9, 10, 11]
    assert page.locator(".picture .thread").count() == 1
    assert page.locator(".picture .dot").count() == 12


def test_a_click_shows_the_tuple_and_where_its_bytes_stand(opened: Open, pager: bytes) -> None:
    page = opened(pager)
    page.locator(".row").nth(6).click()
    detail = page.locator(".detail").inner_text()
    tuple_of = page.locator(".detail .tuple dd").all_inner_texts()
    assert detail.startswith("Step 6: call 1.0 pager.trigger")
    assert tuple_of[1:] == [
        "Error rate 0.31 is over 0.05, paging.",
        '{"service": "checkout", "severity": "sev1"}',
        '{"status": "paged", "id": "pg_8812"}',
    ]
    assert "error_rate" in tuple_of[0]
    assert "spans row 3, /attributes/gen_ai.response.tool_calls/0" in detail
    assert "forensics inspect pager.db --step 6" in detail
    page.locator(".detail").get_by_role("button", name="step 7").first.click()
    assert page.locator(".detail h3").inner_text() == "Step 7: result 1.0 pager.trigger"
    assert "pg_8812 minted here, then in step 8 model output" in page.locator(".detail").inner_text()


def test_the_keyboard_reaches_every_step(opened: Open, pager: bytes) -> None:
    page = opened(pager)
    steps = page.get_by_role("listbox", name="In causal order, steps 0 to 11")
    steps.focus()
    seen = []
    for key in ("Home", *["ArrowDown"] * 11, "End", "ArrowUp", "PageUp", "ArrowDown"):
        page.keyboard.press(key)
        seen.append(steps.get_attribute("aria-activedescendant"))
    assert seen == [f"t0-{n}" for n in (*range(12), 11, 10, 0, 1)]
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.className") == "detail"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.className").startswith("canvas")
    assert page.locator("[aria-selected=true]").count() == 1


def test_every_control_is_reached_by_tab(opened: Open, pager: bytes) -> None:
    page = opened(pager)
    reached = []
    for _ in range(9):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("[document.activeElement.tagName, document.activeElement.ariaLabel ?? ''].join(' ')")
        )
    assert reached[:3] == ["SELECT ", "SELECT ", "SELECT "]
    assert {"BUTTON Zoom out", "BUTTON Zoom in", "DIV In causal order, steps 0 to 11"} <= set(reached)


def test_filters_keep_what_they_name(opened: Open, pager: bytes) -> None:
    page = opened(pager)
    page.get_by_label("Tool").select_option("pager.trigger")
    assert page.locator(".rows .number").all_inner_texts() == ["6", "7"]
    assert page.locator("output").inner_text() == "2 of 12 steps"
    page.get_by_label("Tool").select_option("")
    page.get_by_label("Class").select_option("side-effecting")
    assert page.locator(".rows .number").all_inner_texts() == ["9", "10"]
    page.get_by_label("Class").select_option("")
    page.locator(".bar").get_by_label("Value").select_option("pg_8812")
    assert page.locator(".rows .number").all_inner_texts() == ["7", "8", "9", "10", "11"]
    assert page.get_by_label("Finding").is_disabled()


def test_zooming_out_shows_more_and_in_shows_words(opened: Open, tmp_path: Path) -> None:
    page = opened(graph(many(tmp_path, 200)))
    words = page.locator(".row").count()
    page.get_by_role("button", name="Zoom out").click()
    assert page.locator(".row").count() > words
    assert page.locator(".row").first.inner_text() == ""
    assert page.locator(".row").first.get_attribute("aria-label") == "0 model turn "
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator(".row").first.inner_text() != ""


def test_only_rows_in_sight_are_drawn_and_the_end_is_reached(opened: Open, tmp_path: Path) -> None:
    page = opened(graph(many(tmp_path, 1000)))
    assert page.locator(".row").count() < 100
    page.get_by_role("listbox").focus()
    page.keyboard.press("End")
    assert page.locator("[aria-selected=true] .number").inner_text() == "2999"
    assert page.locator("[aria-selected=true]").get_attribute("aria-posinset") == "3000"
    assert page.locator(".detail").inner_text().startswith("Step 2999: result 999.0 get_it")


def test_a_fragment_and_links_choose_a_step(opened: Open, pager: bytes) -> None:
    page = opened(pager)
    page.locator("#s9 a").first.click()  # within the table one stays in the table
    assert page.evaluate("location.hash") == "#s7"
    assert page.locator(".detail h3").inner_text() == "Step 0: system prompt to oncall"


def test_without_a_script_the_tables_say_it_all(opened: Open, pager: bytes) -> None:
    page = opened(pager, java_script_enabled=False)
    assert page.locator(".timeline").is_hidden()
    rows = page.get_by_role("row")
    assert rows.count() == 13
    assert rows.nth(7).inner_text().split("\t") == [
        "6",
        "2026-11-29 22:38:12.032054Z",
        "call 1.0",
        "pager.trigger !#",
        '{"service": "checkout", "severity": "sev1"}',
        "5",
        "spans row 3, /attributes/gen_ai.response.tool_calls/0",
    ]
    assert rows.nth(10).inner_text().split("\t")[5] == "◆7 8"


def test_on_paper_every_row_stands_in_light_colours(opened: Open, pager: bytes) -> None:
    page = opened(pager, color_scheme="dark")
    page.emulate_media(media="print")
    page.wait_for_timeout(100)
    assert page.locator(".row").count() == 12
    assert not page.get_by_label("Tool").is_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 39)"
    assert page.locator(".steps").get_by_role("row").count() == 13


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(opened: Open, pager: bytes, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    found = axe.run(opened(pager, width=width, color_scheme=scheme, bypass_csp=True)).response["violations"]
    assert [(one["id"], one["impact"], [node["html"] for node in one["nodes"]]) for one in found] == []


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_screen(opened: Open, pager: bytes, width: int) -> None:
    page = opened(pager, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_the_trace_stay_texts(opened: Open, tmp_path: Path, text: str) -> None:
    rows = [
        {"type": "user", "text": text},
        {"type": "model", "text": text, "name": text},
        {"type": "tool_call", "call_id": text, "name": text, "args": {text: text}},
        {"type": "tool_result", "call_id": text, "result": {"status": "created", "id": f"{text}id_7731x"}},
        {"type": "model", "text": f"made {text}id_7731x"},
    ]
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    page = opened(graph(path))
    made = page.locator("script, style, img, iframe, object, base, link, a:not([href^='#']), [onload], [onerror]")
    assert made.count() == 4  # the icon, the style, the data and the script
    page.get_by_role("listbox").focus()
    for key in ("Home", *["ArrowDown"] * 4):
        page.keyboard.press(key)
        assert made.count() == 4
    assert page.locator(".detail .tuple").count() == 1
