"""Does the page of a comparison work in a browser: by keyboard, on paper, aloud, and on a narrow screen?"""

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
    "javascript:alert(1)",
    "a\x1b[2J\x00\u202eb\ufffe\u2028\ud800",
    "W" * 400,
)


def compared(folder: Path, *arguments: object) -> bytes:
    path = folder / "out" / "page.html"
    result = CliRunner().invoke(program, ["compare", *map(str, arguments), "--to", str(path), "--force"])
    assert result.exit_code in (0, 1, 3), result.output
    return path.read_bytes()


def log(folder: Path, name: str, text: str, turns: int = 1) -> Path:
    """An event log in which a person, a model, a tool and its result all say that text."""
    path = folder / name
    with path.open("w") as out:
        for n in range(turns):
            rows = [
                {"type": "user", "text": text},
                {"type": "model", "text": text},
                {"type": "tool_call", "call_id": f"c{n}", "name": text[:200], "args": {text[:50]: f"{text}{n}"}},
                {"type": "tool_result", "call_id": f"c{n}", "result": text},
            ]
            out.writelines(json.dumps(row) + "\n" for row in rows)
    return path


@pytest.fixture(scope="module")
def pager(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return compared(tmp_path_factory.mktemp("pager"), PAGER, PAGER, "--trace-b", "b8e63f8c")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(opened: Open, pager: bytes, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    found = axe.run(opened(pager, width=width, color_scheme=scheme, bypass_csp=True)).response["violations"]
    assert [(one["id"], one["impact"], [node["html"] for node in one["nodes"]]) for one in found] == []


def test_the_runs_stand_side_by_side_and_one_below_the_other_on_a_narrow_screen(opened: Open, pager: bytes) -> None:
    for width, beside in ((1280, True), (390, False)):
        page = opened(pager, width=width, java_script_enabled=True)
        left, right = (page.locator("#row-7 .pair > div").nth(n).bounding_box() for n in (0, 1))
        assert left is not None
        assert right is not None
        assert (left["y"] == right["y"]) is beside
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_without_a_script_the_keyboard_leads_from_a_difference_to_its_step(opened: Open, pager: bytes) -> None:
    page = opened(pager, java_script_enabled=False)
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to the result"
    link = page.get_by_role("link", name="the arguments of incident.annotate")
    link.focus()
    page.keyboard.press("Enter")
    assert page.url.endswith("#row-9")
    assert "tool call incident.annotate" in page.locator("li:target").inner_text()


def test_on_paper_everything_stands_in_black(opened: Open, pager: bytes) -> None:
    page = opened(pager, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert page.locator("ol.rows > li").count() == 12
    assert not page.get_by_role("navigation").is_visible()


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_the_runs_stay_texts_and_fit(opened: Open, tmp_path: Path, text: str) -> None:
    content = compared(tmp_path, log(tmp_path, "a.jsonl", text), log(tmp_path, "b.jsonl", text + "z"))
    for width in (1280, 390):
        page = opened(content, width=width)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.locator("img, script, iframe").count() == 0
        assert page.locator("ol.rows > li.cause").count() >= 1


def test_a_long_run_is_a_page_of_a_few_megabytes(opened: Open, tmp_path: Path) -> None:
    runs = [log(tmp_path, f"{name}.jsonl", f"{name} {'word ' * 20}", turns=1_250) for name in "ab"]
    content = compared(tmp_path, *runs)
    assert len(content) < 12_000_000
    assert opened(content).locator("ol.rows > li").count() == 5_000
