"""Is a page made of elements alone, whatever its texts hold?"""

from __future__ import annotations

import base64
import hashlib
import json

import pytest

from forensics.report.markup import Markup, el, join, page, quoted, text


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


def test_the_one_script_is_allowed_by_its_digest_and_data_can_not_end_their_element() -> None:
    made = page("t", "p{}", script="go()", data={"x": "</script><!--&\u2028"}).html
    digest = base64.b64encode(hashlib.sha256(b"go()").digest()).decode()
    assert (
        f"; script-src &#x27;sha256-{digest}&#x27;; img-src data:; require-trusted-types-for &#x27;script&#x27;" in made
    )
    data = made.partition('<script type="application/json" id="data">')[2].partition("</script>")[0]
    assert not set(data) & {"<", ">", "&", "\u2028"}
    assert json.loads(data) == {"x": "</script><!--&\u2028"}


def test_a_text_of_the_trace_is_isolated_and_an_address_stays_in_the_page() -> None:
    assert quoted("\u05d0<") == Markup("<bdi>\u05d0&lt;</bdi>")
    assert el("a", "x", href="#s1").html == '<a href="#s1">x</a>'
    with pytest.raises(ValueError, match="nowhere"):
        el("a", "x", href="javascript:alert(1)")
