"""Does the incident report work in a browser: by mouse, by keyboard, without a script, on paper, aloud, and if it is
hostile?
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forensics.api import Options, examine
from forensics.report.html.report import report_html
from forensics.report.incident.compose import ReportOptions, report_document

if TYPE_CHECKING:
    from .conftest import Open

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = (
    "</script></style></textarea></title><script>alert(1)</script>",
    '" autofocus onfocus="alert(1)" x=\'',
    "<img src=x onerror=alert(1)><svg onload=alert(1)>",
    "<!--<script>",
    "javascript:alert(1)",
    "<meta http-equiv=refresh content='0;url=https://evil.invalid'>",
    "<form action=https://evil.invalid><input name=q>",
    "a\x1b[2J\x00\u202eb\ufffe\u2028\ud800",
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 12 34",
)


def report(path: Path, wish: ReportOptions | None = None) -> bytes:
    examined = examine([path], Options(input_format="event-log" if path.name == "hostile.jsonl" else None))
    parts = examined.examined, examined.policy, examined.rules.digest
    return report_html(report_document(*parts, 1, wish or ReportOptions()))


@pytest.fixture(scope="module")
def pager() -> bytes:
    return report(ROOT / "samples" / "pager.db")


def test_the_deciding_step_is_chosen_and_shown_with_its_tuple(opened: Open, pager: bytes) -> None:
    page = opened(pager)
    detail = page.locator("#t0 .detail").inner_text()
    assert detail.startswith("Step 6: call 1.0 pager.trigger")
    assert "a rerun would inject it" in detail
    assert page.locator("#t0 .detail dd").all_inner_texts()[2:] == [
        '{"service": "checkout", "severity": "sev1"}',
        '{"status": "paged", "id": "pg_8812"}',
    ]


def test_a_step_that_is_named_is_chosen_in_the_timeline_of_its_run_which_unfolds(opened: Open, pager: bytes) -> None:
    page = opened(pager)
    page.locator("#verdict .verdict a[href='#s9']").first.click()
    assert page.locator("#t0 .detail h3").inner_text() == "Step 9: call 2.0 incident.annotate !"
    page.locator("#verdict .verdict a[href='#s18']").first.click()
    assert page.locator("#t1 .detail h3").inner_text() == "Step 18: call 1.0 pager.trigger !#"
    assert "replay_executed_side_effect" in page.locator("#t1 .detail").inner_text()
    assert page.evaluate("location.hash") == "#s18"


def test_an_address_with_a_step_chooses_it_and_shows_its_row(opened: Open, pager: bytes) -> None:
    page = opened(pager, fragment="#s21")
    assert page.locator("#t1 .detail h3").inner_text() == "Step 21: call 2.0 incident.annotate !"
    assert page.locator("#s21").is_visible()


def test_steps_are_filtered_by_finding(opened: Open, pager: bytes) -> None:
    page = opened(pager)
    page.locator("#t0").get_by_label("Finding").select_option("handle_flow")
    assert page.locator("#t0 .rows .number").all_inner_texts() == ["7", "8", "9", "10", "11"]


def test_without_a_script_every_part_is_read(opened: Open, pager: bytes) -> None:
    page = opened(pager, java_script_enabled=False)
    assert page.locator("main > section").count() == 16
    assert page.locator(".timeline").first.is_hidden()
    assert page.locator("#s6").inner_text().split("\t")[3] == "pager.trigger !#"
    page.locator("#verdict .verdict a[href='#s18']").first.click()
    assert page.locator("#s18").is_visible()  # a fragment unfolds what it is in


def test_tab_goes_from_the_head_through_every_part_and_nowhere_is_a_trap(opened: Open, pager: bytes) -> None:
    page = opened(pager)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the verdict"
    seen = set()
    for _ in range(400):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.closest('section')?.id ?? ''"))
        if page.evaluate("document.activeElement === document.body"):
            break
    assert {"verdict", "timeline", "effects", "findings", "tools", "blanks", "obligations"} <= seen


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(opened: Open, pager: bytes, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    page = opened(pager, width=width, color_scheme=scheme, bypass_csp=True)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    found = axe.run(page).response["violations"]
    assert [(one["id"], one["impact"], [node["html"] for node in one["nodes"]][:3]) for one in found] == []


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_screen(opened: Open, pager: bytes, width: int) -> None:
    page = opened(pager, width=width)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_on_paper_all_is_unfolded_in_light_colours_and_blanks_stand_there(opened: Open, pager: bytes) -> None:
    page = opened(pager, color_scheme="dark")
    page.emulate_media(media="print")
    page.wait_for_timeout(100)
    assert page.locator("#t0 .row").count() == 12
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 39)"
    assert page.locator("#obligations td").first.is_visible()
    assert page.locator("#blank-sign_off").is_visible()
    assert not page.locator("nav").is_visible()


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_the_trace_and_of_people_stay_texts(opened: Open, tmp_path: Path, text: str) -> None:
    rows = [
        {"type": "user", "text": text},
        {"type": "model", "text": text, "name": text},
        {"type": "tool_call", "call_id": text, "name": text, "args": {text: text, "to": text}},
        {"type": "tool_result", "call_id": text, "result": {"status": "created", "id": f"{text}id_7731x"}},
        {"type": "approval_request", "id": text, "text": text},
        {"type": "approval", "id": text, "text": text},
        {"type": "error", "text": text},
        {"type": "model", "text": f"made {text}id_7731x"},
    ]
    path = tmp_path / "hostile.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    page = opened(report(path, ReportOptions(title=text, case_id=text, author=text)))
    made = "script, style, img, svg:not([aria-hidden]), iframe, object, base, form, input, a:not([href^='#'])"
    assert page.locator(made).count() == 3  # the style, the data and the script
    assert page.locator("[onload], [onerror], [onfocus], [style]:not(.timeline *), meta[content*='evil']").count() == 0
    assert page.get_by_role("heading", level=1).is_visible()
    page.get_by_role("listbox").focus()
    for key in ("Home", *["ArrowDown"] * 7):
        page.keyboard.press(key)
    assert page.locator(made).count() == 3


@pytest.mark.parametrize("sign", ["W", "_a"])
def test_a_name_that_nothing_breaks_leaves_room_for_what_stands_beside_it(
    opened: Open, tmp_path: Path, sign: str
) -> None:
    """On a screen a table could be moved; on paper what stands to the right of the page is lost."""
    name = sign * (200 // len(sign))
    events: list[dict[str, object]] = [
        {"type": "user", "text": "go"},
        {"type": "model", "text": "well", "model": name},
        {"type": "tool_call", "call_id": "1", "name": name, "args": {"to": name}},
        {"type": "tool_result", "call_id": "1", "result": {"id": name}},
    ]
    path = tmp_path / "long.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in events), encoding="utf-8")
    page = opened(report(path), width=740)
    page.emulate_media(media="print")
    right = "[...document.querySelectorAll('th, td')].map(cell => cell.getBoundingClientRect().right)"
    assert max(page.evaluate(right)) <= 740 + 1


@pytest.mark.parametrize("width", [360, 700, 1280])
def test_the_names_of_many_lanes_stand_apart_and_inside(opened: Open, tmp_path: Path, width: int) -> None:
    """Each at least its own size away from the next, none above the picture, and still to be told from its kin."""
    events: list[dict[str, object]] = []
    for number in range(9):
        events += [
            {"type": "model", "agent": f"Front desk agent for region {number}", "text": "x"},
            {"type": "tool_call", "id": f"c{number}", "name": f"inventory_and_purchase_lookup_{number}", "args": {}},
            {"type": "tool_result", "call_id": f"c{number}", "result": "ok"},
        ]
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events), "utf-8")
    page = opened(report(path), width=width)
    size, apart, above, names = page.evaluate("""() => {
        const heads = document.querySelector("#t0 .heads"), names = [...heads.querySelectorAll("text")];
        const places = names.map((one) => one.transform.baseVal.consolidate().matrix);
        const gaps = places.slice(1).map((one, n) => -(one.e - places[n].e) * one.b);  // across the slant
        const above = names.map((one) => one.getBoundingClientRect().top - heads.getBoundingClientRect().top);
        const size = Number(names[0].getAttribute("font-size"));
        return [size, Math.min(...gaps), Math.min(...above), names.map((one) => one.textContent)];
    }""")
    assert len(names) == 10
    assert apart >= 0.9 * size
    assert above >= 0
    assert len(set(names)) == len(names)
