"""Is a page made of elements alone, whatever its texts hold?"""

from __future__ import annotations

import base64
import hashlib

from forensics.report.markup import Markup, el, join, page, text


def test_texts_are_escaped_and_markup_is_not_escaped_twice() -> None:
    assert el("p", "<b>", el("b", "x & y")) == Markup("<p>&lt;b&gt;<b>x &amp; y</b></p>")
    assert join("<", None, text(">")) == Markup("&lt;&gt;")


def test_attributes_are_quoted_and_escaped() -> None:
    made = el("td", "x", class_="a", aria_label='"><script>', colspan=2, hidden=False, title=None)
    assert made.html == '<td class="a" aria-label="&quot;&gt;&lt;script&gt;" colspan="2">x</td>'
    assert el("details", open=True).html == "<details open></details>"
    assert el("meta", charset="utf-8").html == '<meta charset="utf-8">'


def test_a_page_allows_itself_its_style_and_nothing_else() -> None:
    made = page("</title><script>", "p{margin:0}", el("p", "x")).html
    digest = base64.b64encode(hashlib.sha256(b"p{margin:0}").digest()).decode()
    assert f"default-src &#x27;none&#x27;; style-src &#x27;sha256-{digest}&#x27;" in made
    assert made.startswith('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">')
    assert "<script>" not in made
