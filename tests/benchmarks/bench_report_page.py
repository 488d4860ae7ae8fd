"""How large is the page of a report on 5,000 steps, and how long does it take to open beside an empty page?

`python tests/benchmarks/bench_report_page.py [ROUNDS]` needs Playwright and a Chromium. The promises (issue 7): below
3 MB, and opened in less than twice the time of an empty page and one second. Interleaved, wall medians; a page is open
when the second frame after its load has been drawn.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from forensics.api import Options, examine
from forensics.report.html.report import report_html
from forensics.report.incident.compose import ReportOptions, report_document

if TYPE_CHECKING:
    from playwright.sync_api import Browser

STEPS, ROUNDS = 5_000, 9
SAID = "the error rate is above the threshold, so the owner is told and the change is taken back; " * 6
BYTES = 3_000_000
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
EMPTY = b"<!DOCTYPE html><title>empty</title>"


def trace(path: Path) -> Path:
    """An event log of turns, calls of forty tools and results that mint, with more text than a page has room for."""
    with path.open("w") as out:
        for n in range(-(-STEPS // 3)):
            said = (
                f"turn {n}: "
                + "the error rate is above the threshold, so the owner is told and the change taken back; " * 6
            )
            result = {"status": "created", "id": f"msg_{n * 7919:016x}", "body": said}
            for row in (
                {"type": "model", "text": said, "ts": 1790000000 + n},
                {
                    "type": "tool_call",
                    "call_id": f"c{n}",
                    "name": f"send_{n % 40}",
                    "args": {"to": f"a{n}", "body": said},
                },
                {"type": "tool_result", "call_id": f"c{n}", "result": result},
            ):
                out.write(json.dumps(row) + "\n")
    return path


def page_of(path: Path) -> bytes:
    examined = examine([path], Options(input_format="event-log"))
    document = report_document(examined.examined, examined.policy, examined.rules.digest, 1, ReportOptions())
    assert len(document.timeline.events) >= STEPS
    return report_html(document)


def seconds(browser: Browser, path: Path) -> float:
    page = browser.new_page()
    start = time.perf_counter()
    page.goto(path.as_uri())
    page.evaluate(DRAWN)
    took = time.perf_counter() - start
    page.close()
    return took


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        content = page_of(trace(folder / "trace.jsonl"))
        files = folder / "empty.html", folder / "report.html"
        for file, data in zip(files, (EMPTY, content), strict=True):
            file.write_bytes(data)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        times = [[seconds(browser, file) for file in files] for _ in range(rounds)]
        browser.close()
    empty, report = (statistics.median(column) for column in zip(*times, strict=True))
    limit = 2 * empty + 1
    print(f"{STEPS} steps: {len(content):,} bytes of at most {BYTES:,}")
    print(f"opened in {report:.2f} s of at most {limit:.2f} s (an empty page: {empty:.2f} s, {rounds} rounds)")
    return int(len(content) >= BYTES or report >= limit)


if __name__ == "__main__":
    raise SystemExit(main())
