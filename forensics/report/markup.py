"""How is a page of HTML put together so that no text can become markup? Of elements whose texts are escaped as they are
made; only what was made here counts as markup (the idea of MarkupSafe and of htpy).
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import NamedTuple

from forensics.core.sanitise import html_text
from forensics.report.jsonout import compact

_VOID = frozenset({"meta", "br", "hr", "input", "link", "wbr"})
_ENDS_DATA = {b"<": b"\\u003c", b">": b"\\u003e", b"&": b"\\u0026"}  # escapes that JSON reads alike


class Markup(NamedTuple):
    """A piece of a page that is markup. What comes out of a trace becomes one through `el` or `text` alone."""

    html: str


Child = Markup | str | None
Attribute = str | int | bool | None


def text(content: str) -> Markup:
    """A text, escaped."""
    return Markup(html_text(content, quote=False))


def join(*children: Child) -> Markup:
    """The children one after the other; texts are escaped, None is left out."""
    return Markup("".join([_html(child) for child in children]))


def el(tag: str, *children: Child, **attributes: Attribute) -> Markup:
    """An element. An attribute's name stands with `_` for `-` (`class_` for class); True writes the bare name, None and
    False leave it out. Its value is escaped like a text. Raises ValueError for an address that is none of the page.
    """
    if "href" in attributes and not str(attributes["href"]).startswith("#"):
        raise ValueError("a page leads nowhere but into itself")
    written = "".join([_attribute(name, value) for name, value in attributes.items()]) if attributes else ""
    if tag in _VOID:
        return Markup(f"<{tag}{written}>")
    held = _html(children[0]) if len(children) == 1 else "".join(map(_html, children))
    return Markup(f"<{tag}{written}>{held}</{tag}>")


def quoted(content: str) -> Markup:
    """A text out of the trace among our own words: its direction can't reorder them (Unicode UAX 9, section 6.3)."""
    return el("bdi", content)


def page(title: str, style: str, *body: Child, script: str = "", data: object = None) -> Markup:
    """A whole page in one file. It loads nothing, sends nothing and runs nothing but its own `script`, and its
    Content-Security-Policy has the browser see to that: the one style sheet and the one script by their digests, no
    address, no text that becomes markup (Trusted Types). `data`, any value of JSON, stands in an element with the id
    `data` that no browser runs.
    """
    policy = f"default-src 'none'; style-src '{_digest(style)}'; base-uri 'none'; form-action 'none'"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy + (_scripted(script) if script else "")),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="referrer", content="no-referrer"),
        Markup('<link rel="icon" href="data:,">') if script else None,  # or a browser asks the server for one
        el("title", title),
        Markup(f"<style>{style}</style>"),
    )
    end = Markup(f"{_data(data)}<script>{script}</script>") if script else None
    return Markup(f"<!DOCTYPE html>\n{el('html', head, el('body', *body, end), lang='en').html}\n")


def _scripted(script: str) -> str:
    return f"; script-src '{_digest(script)}'; img-src data:; require-trusted-types-for 'script'; trusted-types 'none'"


def _digest(source: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"


def _data(value: object) -> str:
    found = compact(value)
    for character, escape in _ENDS_DATA.items():
        found = found.replace(character, escape)
    return f'<script type="application/json" id="data">{found.decode()}</script>'


def _html(child: Child) -> str:
    if isinstance(child, Markup):
        return child.html
    return "" if child is None else html_text(child, quote=False)


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    written = _written(name)
    return f" {written}" if value is True else f' {written}="{html_text(str(value))}"'


@cache
def _written(name: str) -> str:
    """An attribute's name as HTML has it; the names are our own, and few."""
    return name.rstrip("_").replace("_", "-")
