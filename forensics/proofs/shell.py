"""Does every command of this shell text only read?

Parsed by tree-sitter's grammar of bash. A text is a list of pipelines of plain commands, perhaps in subshells, with
`&&`, `||`, `;` and new lines between them; nothing is substituted, assigned, defined or put in the background, and what
is redirected goes to /dev/null or to another descriptor. Each command is then held against its own rule. What an alias,
a function of the session or the search path makes of a name is not in the text and not shown.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from forensics.proofs.proof import Proof, counted
from forensics.proofs.shell_commands import only_reads
from forensics.proofs.shell_words import Word, is_file, word
from forensics.proofs.tables import shell_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node, Parser

_MAX_BYTES = 32 * 1024
_MAX_NODES = 20_000
_NEVER = re.compile(r"<<|`|\$[({\[]|\(\s*\)")
"""Here-documents, substitutions and functions: never proven, and slow to parse where there are many."""

_LISTS = frozenset({"program", "list", "pipeline", "redirected_statement", "negated_command", "subshell"})
_BETWEEN = frozenset({"&&", "||", ";", "|", "|&", "!", "(", ")", "\n"})
_WRITING = frozenset({">", ">>", "&>", "&>>", ">|"})


class _Place(NamedTuple):
    """A node of the tree, and whether it stands in a subshell."""

    node: Node
    inside: bool


def prove_text(text: str, dialect: str | None) -> Proof | None:
    """The proof of one text. `dialect` names the shell; one that is no POSIX shell proves nothing."""
    if dialect is not None and dialect not in shell_tables().shells:
        return None
    source = text.encode()
    if len(source) > _MAX_BYTES or _NEVER.search(text):
        return None
    root = _parser().parse(source).root_node
    if root.has_error or root.type != "program":
        return None
    names = _Script(source).names(root)
    return Proof(counted(names, "command", "commands"), "tree-sitter-bash") if names else None


@lru_cache(maxsize=1)
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


class _Script:
    """One parsed text."""

    def __init__(self, source: bytes) -> None:
        self._source = source

    def names(self, root: Node) -> list[str] | None:
        """The names of all commands in order, or None where something else than reading commands stands there."""
        found: list[str] = []
        for place in self._places(root):
            name = self._judged(place)
            if name is None:
                return None
            found += [name] if name else []
        return found

    def _places(self, root: Node) -> Iterator[_Place]:
        """Every node down to commands and redirections, in order. Raises ValueError for a tree that is too large."""
        if root.descendant_count > _MAX_NODES:
            raise ValueError("too many nodes")
        todo = [_Place(root, inside=False)]
        while todo:
            place = todo.pop()
            yield place
            if place.node.type in _LISTS:
                inside = place.inside or place.node.type == "subshell"
                todo += [_Place(child, inside) for child in reversed(place.node.children)]

    def _judged(self, place: _Place) -> str | None:
        """The name of a command that reads, "" for what stands around commands, None for anything else."""
        node = place.node
        if not node.is_named:
            return "" if node.type in _BETWEEN else None
        if not self._is_whole(node):
            return None
        if node.type == "command":
            return _command(node, inside=place.inside)
        known = node.type in _LISTS or (node.type == "file_redirect" and _goes_nowhere(node))
        return "" if known else None

    def _is_whole(self, node: Node) -> bool:
        """Whether only blanks stand between the children of a node: what the parser skipped, a shell might not."""
        place = node.start_byte
        for child in node.children:
            if self._source[place : child.start_byte].strip(b" \t\n"):
                return False
            place = child.end_byte
        return not self._source[place : node.end_byte].strip(b" \t\n")


def _command(node: Node, *, inside: bool) -> str | None:
    words: list[Word] = []
    for child in node.children:
        named = child.type == "command_name"
        read = word(child.children[0] if named and child.child_count == 1 else child)
        if read is None or named == bool(words):
            return None
        words.append(read)
    return only_reads(words, inside=inside) if words else None


def _goes_nowhere(node: Node) -> bool:
    """`2>/dev/null`, `2>&1`, `< file`: nothing is written."""
    *before, target = node.children
    operators = [child.type for child in before if child.type != "file_descriptor"]
    read = word(target)
    if len(operators) != 1 or read is None or read.unsure:
        return False
    if operators[0] == ">&":
        return read.text in ("1", "2")
    if operators[0] == "<":
        return is_file(read.text)
    return operators[0] in _WRITING and read.text == "/dev/null"
