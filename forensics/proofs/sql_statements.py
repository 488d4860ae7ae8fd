"""What kind of statement is this, and does it only read? EXPLAIN, SHOW, DESCRIBE and PRAGMA, which the parser leaves as
text, are read here, by their first words; everything else is the tree's to judge.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from forensics.core.late import late

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.proofs.sql_tree import Tree
    from forensics.proofs.tables import Dialect, Explain

_FIRST = late(r"[A-Za-z]+")
_NAME = r"""(?:\w+|`[^`]+`|"[^"]+"|\[[^\]]+\])"""
_DESCRIBE = late(rf"(?:TABLE\s+|VIEW\s+)?{_NAME}(?:\.{_NAME}){{0,2}}(?:\s+\w+)?\s*", re.IGNORECASE)
_SHOWN = late(rf"""(?:(?:{_NAME}|'[^'\\]*'|\d+)(?:\s*[.,=]\s*|\s+|$))+""")
_SHOW_MODIFIERS = frozenset({"full", "extended", "global", "session", "open", "all", "terse"})
_PRAGMA = late(r"(?:\w+\.)?(\w+)\s*(?:\(\s*(?:\w+|'[\w.]+'|\"[\w.]+\")\s*(\)))?\s*")
_OPTION = late(r"\s*([A-Za-z_]+)(?:\s+([A-Za-z0-9_]+))?\s*")
_OFF = frozenset({"false", "off", "0"})


def told_apart(statement: str, dialect: Dialect, tree: Tree) -> str | None:
    """The kind of a statement that only reads, or None."""
    found = _FIRST.match(statement)
    word = found.group().lower() if found else ""
    judge = _BY_WORD.get(word)
    if judge is None:
        return tree.reads(statement)
    return word if judge(statement[len(word) :].strip(), dialect, tree) else None


def _show(rest: str, dialect: Dialect, tree: Tree) -> bool:
    del tree
    return shows(rest, dialect)


def shows(rest: str, dialect: Dialect) -> bool:
    """Whether what stands behind SHOW only asks for something to be shown."""
    if not dialect.show or not _SHOWN.fullmatch(rest):
        return False
    words = [w.lower() for w in re.findall(r"\w+", rest)]
    subject = next((w for w in words if w not in _SHOW_MODIFIERS), "all")
    return "*" in dialect.show or subject in dialect.show


def _pragma(rest: str, dialect: Dialect, tree: Tree) -> bool:
    """PRAGMA name, or PRAGMA name(argument) where the argument only says what to tell of."""
    del tree
    found = _PRAGMA.fullmatch(rest)
    if found is None:
        return False
    return found.group(1).lower() in (dialect.pragmas_of_a_name if found.group(2) else dialect.pragmas)


def _describe(rest: str, dialect: Dialect, tree: Tree) -> bool:
    if not dialect.describe:
        return False
    words = rest.split()
    first = words[0].lower() if words else ""
    names_a_table = first not in ("select", "with") and _DESCRIBE.fullmatch(rest) is not None
    return names_a_table or _explain(rest, dialect, tree)


def _explain(rest: str, dialect: Dialect, tree: Tree) -> bool:
    """EXPLAIN plans a statement; with ANALYZE it runs it, and then the statement itself must read."""
    how = dialect.explain
    if how is None:
        return False
    options, statement = _parenthesised(rest) if rest.startswith("(") else _bare(rest, how)
    if options is None or not options.keys() <= how.words:
        return False
    runs = any(word in how.executes and value not in _OFF for word, value in options.items())
    judge = tree.plans if how.plans_writes and not runs else tree.reads
    return judge(statement) is not None


def _bare(rest: str, how: Explain) -> tuple[dict[str, str] | None, str]:
    """The words before the statement, each perhaps with `= value`."""
    options: dict[str, str] = {}
    while (found := re.match(r"([A-Za-z_]+)(?:\s*=\s*([A-Za-z_]+))?\s+", rest)) and found.group(1).lower() in how.words:
        options[found.group(1).lower()] = ""
        rest = rest[found.end() :]
    return options, rest


def _parenthesised(rest: str) -> tuple[dict[str, str] | None, str]:
    """`(ANALYZE false, FORMAT json) SELECT ...`; a word said twice is no option list that one can trust."""
    inside, closed, statement = rest[1:].partition(")")
    options: dict[str, str] = {}
    for part in inside.split(","):
        found = _OPTION.fullmatch(part)
        if found is None or found.group(1).lower() in options:
            return None, ""
        options[found.group(1).lower()] = (found.group(2) or "").lower()
    return (options, statement) if closed else (None, "")


_BY_WORD: dict[str, Callable[[str, Dialect, Tree], bool]] = {
    "show": _show,
    "pragma": _pragma,
    "describe": _describe,
    "desc": _describe,
    "explain": _explain,
}
