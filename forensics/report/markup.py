"""How is a page of HTML put together so that no text can become markup? Of elements whose texts are escaped as they are
made; only what was made here counts as markup (the idea of MarkupSafe and of htpy).
"""

from __future__ import annotations

import base64
import hashlib
from typing import NamedTuple

from forensics.core.sanitise import html_text

_VOID = frozenset({"meta", "br", "hr", "input", "link", "wbr"})


class Markup(NamedTuple):
    """A piece of a page that is markup. What comes out of a trace becomes one through `el` or `text` alone."""

    html: str


Child = Markup | str | None
Attribute = str | int | bool | None


def text(content: str) -> Markup:
    """A text, escaped."""
    return Markup(html_text(content))


def join(*children: Child) -> Markup:
    """The children one after the other; texts are escaped, None is left out."""
    return Markup("".join(_html(child) for child in children))


def el(tag: str, *children: Child, **attributes: Attribute) -> Markup:
    """An element. An attribute's name stands with `_` for `-` (`class_` for class); True writes the bare name, None and
    False leave it out. Its value is escaped like a text.
    """
    opened = f"<{tag}{''.join(_attribute(name, value) for name, value in attributes.items())}>"
    return Markup(opened if tag in _VOID else f"{opened}{join(*children).html}</{tag}>")


def page(title: str, style: str, *body: Child) -> Markup:
    """A whole page in one file: it loads nothing and runs nothing, and its Content-Security-Policy has the browser see
    to that (`default-src 'none'`, and the one style sheet by its digest).
    """
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", title),
        Markup(f"<style>{style}</style>"),
    )
    return Markup(f"<!DOCTYPE html>\n{el('html', head, el('body', *body), lang='en').html}\n")


def _html(child: Child) -> str:
    if child is None:
        return ""
    return child.html if isinstance(child, Markup) else html_text(child)


def _attribute(name: str, value: Attribute) -> str:
    written = name.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {written}" if value is True else f' {written}="{html_text(str(value))}"'
