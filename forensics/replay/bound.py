"""Which names does a module have, as far as its source tells without being run?"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_OWN_SCOPE = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_COMPUTED = frozenset({"exec", "eval", "globals", "locals", "vars", "setattr", "modules", "__dict__", "__getattr__"})
"""Words of a source that may make names of which the source does not tell."""


def bound_names(source: Path) -> frozenset[str] | None:
    """The names that the statements of a module bind. None where that can't be told: of what is no source of Python, of
    an import of everything, and of a module that may compute its names.
    """
    if source.suffix != ".py":
        return None
    try:
        tree = ast.parse(source.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if any(_computes(node) for node in ast.walk(tree)):
        return None
    return frozenset(_bound(tree))


def _computes(node: ast.AST) -> bool:
    match node:
        case ast.ImportFrom(names=names):
            return any(alias.name == "*" for alias in names)
        case ast.Name(id=word) | ast.Attribute(attr=word) | ast.FunctionDef(name=word):
            return word in _COMPUTED
    return False


def _bound(tree: ast.Module) -> Iterator[str]:
    """The names bound in the module's own scope, and those that a function binds there (`global`)."""
    yield from (name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names)
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield from _names(node)
        if not isinstance(node, _OWN_SCOPE):
            waiting += ast.iter_child_nodes(node)


def _names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store()) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
