"""How does the page of all codes read (docs/reference/findings.md)? It is written from the data."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from forensics.core.findings import REASON_CODES
from forensics.report.code_pages import code_groups, severity_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.report.code_pages import CodePage

_WIDTH = 120
_CODE = re.compile(r"`([a-z_]+)`")
_HEAD = """\
# Findings and reasons

A finding is about something that is there: it names at least one step or one place in the evidence. A reason is what
refuses a rerun; it uses the same codes where they fit, and the codes of the [last section](#reasons). Codes never
change their meaning.

Every section says what the code means, why that matters, what it looks like, what it does not prove, and what to do.
The severity is the usual one; a finding may carry another where the case calls for it. `forensics rules show CODE`
shows the same at a terminal.

<!-- Written from rules/codes by forensics.report.codes_markdown.codes_page; a test compares the two. -->
"""


def codes_page() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *_sections()]).rstrip("\n") + "\n"


def _sections() -> Iterator[str]:
    for group in code_groups():
        yield f"## {group.group.capitalize()}\n"
        yield _wrapped(group.about)
        for page in group.codes:
            yield f"### {page.code}\n"
            yield from _paragraphs(page)


def _paragraphs(page: CodePage) -> Iterator[str]:
    severity = severity_of(page.code)
    known = page.means if severity is None else f"{page.means} **Severity** {severity}."
    yield _wrapped(f"{known} {page.matters}")
    yield _wrapped(f"*For example:* {page.example}")
    seen = "".join(f" See [{_title(where)}]({_relative(where)})." for where in page.see)
    yield _wrapped(f"*Does not prove:* {page.does_not_prove} *Do:* {page.do}{seen}")


def _wrapped(text: str) -> str:
    linked = _CODE.sub(_link, text)
    return "\n".join(textwrap.wrap(linked, _WIDTH, break_long_words=False, break_on_hyphens=False)) + "\n"


def _link(match: re.Match[str]) -> str:
    code = match[1]
    return f"[`{code}`](#{code})" if code in REASON_CODES else match[0]


def _title(where: str) -> str:
    return where.rpartition("/")[2].removesuffix(".md").replace("-", " ")


def _relative(where: str) -> str:
    """A page below docs/ as seen from docs/reference/."""
    return where.removeprefix("reference/") if where.startswith("reference/") else f"../{where}"
