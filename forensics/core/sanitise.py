"""How is a text out of a trace shown without acting on whoever reads it? One sanitiser a sink: terminal, HTML,
Markdown, tables of commas, XML, SARIF, file names (JSON: report/jsonout.py).

Control characters (C0 but newline and tab, DEL, C1), bidirectional overrides, characters without width (format and
default-ignorable ones, variation selectors), private-use characters and lone surrogates become visible escapes (Trojan
Source, CVE-2021-42574; terminal escape injection, CWE-150; Unicode Standard, section 5.21). The other sinks show the
same escapes, and besides that nothing in them is markup (stored cross-site scripting, CWE-79).
"""

from __future__ import annotations

import re
from hashlib import sha256

from forensics.core.late import late

_UNSAFE = late(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u115f-\u1160"
    "\u17b4-\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\uf8ff\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U00013438\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
_SPELLINGS = ((0xFF, "\\x{:02x}"), (0xFFFF, "\\u{:04x}"), (0x10FFFF, "\\U{:08x}"))
_BREAKS = late(r"[\t\n ]+")
CUT = "…"
"""Stands where a text was cut: of ours, and in most plain texts the only letter beyond ASCII."""


def visible(text: str) -> str:
    """The text with everything that could act on a terminal or hide spelled out; newlines and tabs stay."""
    if text.isprintable() and (text.isascii() or text.replace(CUT, "").isascii()):
        return text
    return _UNSAFE.sub(_spell, text)


def _spell(match: re.Match[str]) -> str:
    code = ord(match.group())
    return next(shown.format(code) for limit, shown in _SPELLINGS if code <= limit)


def one_line(text: str, limit: int = 120) -> str:
    """The text safe and on one line, cut at `limit` characters with an ellipsis."""
    head = text if len(text) <= limit * 4 else text[: limit * 4]
    line = _BREAKS.sub(" ", visible(head)).strip()
    return line if len(line) <= limit and len(head) == len(text) else line[: limit - 1] + CUT


# HTML and Markdown ---------------------------------------------------------------------------------------------------

_MARKUP, _MARKUP_OF_CONTENT = late("[&<>\"']"), late("[&<>]")
_TICKS = late("`+")
_LEAST_FENCE = 3


def html_text(text: str, *, quote: bool = True) -> str:
    """The text for an element's content or a quoted attribute of HTML: no character of it is markup. For content alone,
    where quotes are no markup, `quote` may be false: a text that is JSON is half as long so.
    """
    if text.isascii() and text.isprintable() and not (_MARKUP if quote else _MARKUP_OF_CONTENT).search(text):
        return text  # most are plain, and a page has hundreds of thousands
    import html

    return html.escape(visible(text), quote=quote)


def markdown_code(text: str) -> str:
    """The text as a code span of Markdown, on one line: neither markup, nor a link, nor the mention of a person."""
    line = _BREAKS.sub(" ", visible(text)) or " "
    fence = "`" * (_longest_ticks(line) + 1)
    padding = " " if line.strip(" ") and (line[0] in "` " or line[-1] in "` ") else ""
    return f"{fence}{padding}{line}{padding}{fence}"


def markdown_cell(text: str) -> str:
    """The same for a cell of a table. A code span can't hold a bar there on every renderer, so that one becomes HTML
    with each of its characters that could act written as a number.
    """
    if "|" not in text:
        return markdown_code(text)
    line = _BREAKS.sub(" ", visible(text))
    return f"<code>{''.join(c if c.isalnum() or c == ' ' else f'&#{ord(c)};' for c in line)}</code>"


def markdown_block(text: str) -> str:
    """The text as a fenced block of Markdown, which no line of it can close; its own lines are kept."""
    shown = visible(text)
    fence = "`" * max(_LEAST_FENCE, _longest_ticks(shown) + 1)
    return f"{fence}text\n{shown}\n{fence}\n"


def _longest_ticks(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)


_PROSE = late(r"(?!.*(?:www\.|https?:))[\w \t.,:;?!()/%'\"“”=&+…-]*", re.IGNORECASE)
_STRETCH = late(  # between white space, but for that in a quotation and in JSON, of which the end may be cut
    r"(?:“[^”]{0,1000}”|\{(?:[^{}]|\{[^{}]{0,1000}\}){0,1000}\}|\[[^\[\]]{0,1000}\]|[{\[][^{}“”…]{0,1000}…|\S)+"
)
_END_OF_CLAUSE = ".,:;"


def markdown_text(text: str) -> str:
    """A sentence of ours that may quote the trace: as it is but for the words and quotations in which something can be
    markup, a link or a mention, which are code spans.
    """
    line = _BREAKS.sub(" ", visible(text)).strip()
    return _prose(line) if _PROSE.fullmatch(line) else _STRETCH.sub(_said, line)


def _said(stretch: re.Match[str]) -> str:
    text = stretch.group()
    if _PROSE.fullmatch(text):
        return _prose(text)
    body = text.rstrip(_END_OF_CLAUSE)
    return markdown_code(body) + text[len(body) :]


def _prose(text: str) -> str:
    return text.replace("_", "\\_").replace("&", "&amp;")


# tables, XML, SARIF, file names --------------------------------------------------------------------------------------

_FORMULA = late(r"[=+\-@|%\uff0b\uff0d\uff1d\uff20\ufe62\ufe63\ufe66\ufe6b\t\r\n]")
_WHITE = str.maketrans({"\n": "\\n", "\t": "\\t"})
_NO_CHARACTER = str.maketrans({"\ufffe": "\\ufffe", "\uffff": "\\uffff"})
_LINKS = late(r"\](?=\()")
_PLACEHOLDER = late(r"\{(?=\d+\})")
_UNNAMED = late(r"[^A-Za-z0-9._-]+")
_NAME = 60
_RESERVED = late(r"(?i)(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")


def csv_cell(text: str) -> str:
    """The text for a cell of a table of commas: on one line, and no formula to any program that opens it. One that
    begins like a formula gets an apostrophe before it (OWASP, CSV injection; full-width signs count too).
    """
    line = visible(text).translate(_WHITE)
    return f"'{line}" if _FORMULA.match(text.lstrip(" \u00a0\u3000")) else line


def xml_text(text: str) -> str:
    """The text with only characters that XML 1.0 allows; whoever writes the XML escapes the markup."""
    return visible(text).translate(_NO_CHARACTER)


def sarif_text(text: str) -> str:
    """The text for a SARIF message, in which `[a](b)` would be a link and `{0}` an argument (SARIF 2.1.0, 3.11)."""
    return _PLACEHOLDER.sub("{ ", _LINKS.sub("] ", visible(text)))


def file_name(text: str) -> str:
    """A name for a file out of a text of the trace: no path, no hidden file, no device, and no two alike."""
    digest = sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:8]
    kept = _UNNAMED.sub("-", text[: _NAME * 4]).strip(".-")[:_NAME].rstrip(".-")
    return digest if not kept else f"_{kept}-{digest}" if _RESERVED.fullmatch(kept) else f"{kept}-{digest}"
