"""What do the tests in a browser share? One headless Chromium a module, and pages whose every request and word is kept.

The browser is the one that is installed (Debian's `chromium`); where it or Playwright is absent, the tests are skipped
and say so.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Dialog, Page

Open = Callable[..., "Page"]
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip("no Chromium is installed")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path)
        yield chromium
        chromium.close()


class Listener:
    """What a page asked for and complained of."""

    def __init__(self, page: Page, address: str) -> None:
        self.heard: list[str] = []
        self._own = address
        page.on("console", lambda message: self.hear(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.hear(f"error: {error}"))
        page.on("popup", lambda other: self.hear(f"popup: {other.url}"))
        page.on("request", lambda request: self.hear(request.url))
        page.on("dialog", self._dismiss)

    def hear(self, said: str) -> None:
        if not said.startswith((self._own, "data:,")):
            self.heard.append(said)

    def _dismiss(self, dialog: Dialog) -> None:
        self.hear(f"dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Open a page from its bytes. In the end, none of them may have asked for anything or complained."""
    listeners: list[Listener] = []

    def open_page(content: bytes, *, width: int = 1280, fragment: str = "", **options: Any) -> Page:
        path = tmp_path / f"{len(listeners)}.html"
        path.write_bytes(content)
        page = browser.new_context(viewport={"width": width, "height": 800}, **options).new_page()
        listeners.append(Listener(page, path.as_uri()))
        page.goto(path.as_uri() + fragment)
        return page

    yield open_page
    for context in browser.contexts:
        context.close()
    assert [said for listener in listeners for said in listener.heard] == []
