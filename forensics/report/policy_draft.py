"""What could a policy file say about these tools? A file in which every entry is a comment until a person knows better.

Names come from the trace: in a comment each is made safe and kept on one line; as a value it is a double-quoted scalar
in ASCII, so that it can break out of neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.terminal_page import short

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.report.documents import BasisRow, ClassificationDocument, ClassifiedTool

_WIDTH = 160
_EFFECTS = "none | overwriting | repeating | irreversible"
_RESULTS = "stable | volatile | handle"


def draft(document: ClassificationDocument, evidence: Sequence[str]) -> str:
    """A valid policy file that vouches for nothing, with one commented entry a tool."""
    return "\n".join(_lines(document, evidence)) + "\n"


def _lines(document: ClassificationDocument, evidence: Sequence[str]) -> Iterator[str]:
    yield _comment(f"A draft from {', '.join(evidence)}, by {document.tool.name} {document.tool.version}.")
    yield "## Nothing here vouches for a tool yet. For what you know yourself, remove the single # that begins each"
    yield "## line of its entry and the word above the list, and fill in what is empty; no line is moved."
    yield "## What a trace says of its own tools is a claim."
    yield "schema: forensics/policy/v1"
    yield "name: draft"
    yield "extends: strict"
    servers = list(dict.fromkeys(tool.server for tool in document.tools if tool.server is not None))
    if servers:
        yield ""
        yield "## Whose own declarations count:"
        yield "#trust:"
        yield from (f"#  - server: {quoted(server)}" for server in servers)
    yield ""
    yield "#tools:"
    for tool in document.tools:
        yield from _tool(tool)
    yield ""
    yield "## The only tools that a rerun may really run; they still need effect none:"
    yield "#execute: []"


def _tool(tool: ClassifiedTool) -> Iterator[str]:
    yield ""
    yield _evidence(f"{tool.name}: {' and '.join(tool.labels)}; rests on {tool.rests_on}")
    for piece in tool.basis:
        yield _evidence(f"- {_basis(piece)}")
    if not _can_be_named(tool):
        yield _evidence("Its name holds a wildcard or a broken character: a policy can't name it alone.")
        return
    yield f"#  - tool: {quoted(tool.name)}"
    if tool.server is not None:
        yield f"#    server: {quoted(tool.server)}"
    yield f"#    effect: {_known(tool.effect)}  # {_EFFECTS}"
    yield f"#    result: {_known(tool.result)}  # {_RESULTS}"
    yield '#    because: ""'
    yield '#    by: ""'


def _basis(piece: BasisRow) -> str:
    says = ", ".join(f"{axis} {said}" for axis, said in (("effect", piece.effect), ("result", piece.result)) if said)
    return f"{piece.source}: {piece.says} ({says or 'no axis'}{'' if piece.weighs else ', weighs nothing'})"


def _known(word: str) -> str:
    """The word, or an empty one where it is unknown: the entry is then no valid one until a person fills it in."""
    return '""' if word == "unknown" else word


def _can_be_named(tool: ClassifiedTool) -> bool:
    """A policy's names are globs without an escape, and a lone surrogate (spelled out by now) was no name."""
    return not any(mark in text for text in (tool.name, tool.server or "") for mark in ("*", "?", "\\ud"))


def _comment(text: str) -> str:
    return f"## {short(text, _WIDTH)}"


def _evidence(text: str) -> str:
    """A comment that stays one when the first # of every line is removed."""
    return f"#  ## {short(text, _WIDTH)}"


def quoted(text: str) -> str:
    """A double-quoted YAML scalar in printable ASCII that reads back as the text."""
    return '"' + "".join(_character(c) for c in text) + '"'


def _character(character: str) -> str:
    code = ord(character)
    if character in '"\\':
        return "\\" + character
    if 0x20 <= code < 0x7F:  # noqa: PLR2004 - printable ASCII
        return character
    if code <= 0xFF:  # noqa: PLR2004 - YAML's \x holds one byte
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - and \u two
