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
    return markup.page(title, asset("page.css"), *body, script=asset("timeline.js"), data=data).html.encode()


@cache
def asset(name: str) -> str:
    """The text of a file that is shipped beside this module."""
    return (files("forensics.report.html") / "assets" / name).read_text("utf-8")
