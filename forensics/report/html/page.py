"""What do all our pages have in common? The style sheet and the script that are shipped beside this module."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from forensics.report import markup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.report.markup import Markup


def page(title: str, timelines: Sequence[dict[str, Any]], *body: Markup) -> bytes:
    """The page with this title and body; `timelines` is what the script draws."""
    data = {"timelines": timelines}
    return markup.page(title, _asset("page.css"), *body, script=_asset("timeline.js"), data=data).html.encode()


@cache
def _asset(name: str) -> str:
    return (files("forensics.report.html") / "assets" / name).read_text("utf-8")
