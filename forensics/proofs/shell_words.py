"""What does one word of a shell command say, as far as the text shows?"""

from __future__ import annotations

import posixpath
import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from forensics.proofs.tables import shell_tables

if TYPE_CHECKING:
    from tree_sitter import Node

_PLAIN = re.compile(rb"(?:[^\s\\'\"`$&|;<>(){}!#=]|[=#](?<=.[=#])|\\[^\n\w])+", re.DOTALL)
"""An unquoted word: no quote, expansion, brace or history in it, and no `#` or `=` at its beginning."""

_ESCAPE = re.compile(r"\\(.)")
_GLOB = re.compile(r"(?<!\\)[*?\[]")
_IN_QUOTES = re.compile(rb"(?:[^\\\"`$!]|\\[^\n$`!])*", re.DOTALL)
_ESCAPE_IN_QUOTES = re.compile(r'\\(["\\])')
_WHOLE = frozenset({b"!", b"!=", b"="})


class Word(NamedTuple):
    """A word after quoting was removed. `unsure` says that the shell makes something else of it (names of files, the
    value of a variable), perhaps several words; `text` is then what stands before that.
    """

    text: str
    unsure: bool


def word(node: Node) -> Word | None:
    """The word of a node, or None for one whose value the text does not show."""
    parts = node.children if node.type == "concatenation" else [node]
    read = [_part(part) for part in parts]
    if any(part is None for part in read) or not _adjacent(parts):
        return None
    text, unsure = "", False
    for part in read:
        if part is not None and not unsure:
            text, unsure = text + part.text, part.unsure
    return Word(text, unsure)


def is_file(path: str) -> bool:
    """Whether an argument names no more than a file: opening a device or a socket may do something."""
    tables = shell_tables()
    named = {posixpath.normpath(part).replace("//", "/") for part in (path, path.partition("=")[2]) if part}
    return named <= tables.files or not any(name.startswith(tables.no_files) for name in named)


def _adjacent(parts: list[Node]) -> bool:
    return all(one.end_byte == other.start_byte for one, other in pairwise(parts))


def _part(node: Node) -> Word | None:
    raw = node.text or b""
    match node.type:
        case "word" | "number":
            return _unquoted(raw)
        case "raw_string":
            return Word(raw[1:-1].decode(), unsure=False)
        case "string":
            return _quoted(node, raw)
        case "simple_expansion":
            return Word("", unsure=True) if _is_variable(node) else None
    return None


def _unquoted(raw: bytes) -> Word | None:
    if raw not in _WHOLE and not _PLAIN.fullmatch(raw):
        return None
    text = raw.decode()
    glob = _GLOB.search(text)
    before = text if glob is None else text[: glob.start()]
    return Word(_ESCAPE.sub(r"\1", before), unsure=glob is not None)


def _quoted(node: Node, raw: bytes) -> Word | None:
    """A text in double quotes, in which only plain variables are expanded."""
    inside = [child for child in node.children if child.type != '"']
    if any(child.type not in ("string_content", "simple_expansion") for child in inside):
        return None
    variables = [child for child in inside if child.type == "simple_expansion"]
    if not all(map(_is_variable, variables)):
        return None
    start, end = node.start_byte + 1, variables[0].start_byte if variables else node.end_byte - 1
    rest = raw[1:-1] if not variables else _without(raw, node, variables)
    if not _IN_QUOTES.fullmatch(rest):
        return None
    before = raw[start - node.start_byte : end - node.start_byte].decode()
    return Word(_ESCAPE_IN_QUOTES.sub(r"\1", before), unsure=bool(variables))


def _without(raw: bytes, node: Node, variables: list[Node]) -> bytes:
    kept, place = b"", 1
    for variable in variables:
        kept += raw[place : variable.start_byte - node.start_byte]
        place = variable.end_byte - node.start_byte
    return kept + raw[place:-1]


def _is_variable(node: Node) -> bool:
    """`$NAME`, whose value is only looked up."""
    return re.fullmatch(rb"\$[A-Za-z_][A-Za-z0-9_]*", node.text or b"") is not None
