"""What stands in these Python files? Parsed, never imported and never run.

A file is the operator's own, and still only data here: `ast` builds a tree and nothing in it is executed. A file that
can't be parsed is named, and the others are still read.
"""

from __future__ import annotations

import ast
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from forensics.errors import CorruptEvidenceError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BYTES = 4 * 1024 * 1024
MAX_FILES = 20_000
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", ".git", ".venv", "venv"})

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class Module(msgspec.Struct, frozen=True):
    """One parsed file. `name` is its path below the folder that was asked for, `file` its number as an evidence;
    `aliases` are its imported names with what they stand for; `functions` those of its top level, `classes` its classes
    by name; `globals` the names that it assigns at its top level.
    """

    name: str
    file: int
    tree: ast.Module
    aliases: dict[str, str]
    functions: dict[str, FunctionNode]
    classes: dict[str, ast.ClassDef]
    globals: frozenset[str]

    @property
    def stem(self) -> str:
        """The name by which other files import it."""
        path = Path(self.name)
        return path.parent.name if path.stem == "__init__" else path.stem


def read_modules(where: Path, first: int = 0) -> tuple[tuple[Module, ...], tuple[str, ...]]:
    """The modules of a file or of every *.py below a folder, in the order of their names, and what can't be read. The
    files are evidences from number `first` on: those before it are what the source is read beside.

    Raises CorruptEvidenceError when there is no Python file at all.
    """
    found: list[Module] = []
    faults: list[str] = []
    for number, path in enumerate(_files(where), first):
        name = path.relative_to(where).as_posix() if where.is_dir() else path.name
        try:
            found.append(_module(name, number, _parsed(path)))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
            faults.append(f"{name}: {_why(error)}")
    if not found and not faults:
        raise CorruptEvidenceError(f"{where.name} holds no Python file", hint="name a *.py file, or a folder of them")
    return tuple(found), tuple(faults)


def _files(where: Path) -> Iterator[Path]:
    if not where.is_dir():
        yield where
        return
    inside = (path for path in sorted(where.rglob("*.py")) if _SKIPPED.isdisjoint(path.relative_to(where).parts))
    for number, path in enumerate(inside):
        if number >= MAX_FILES:
            raise CorruptEvidenceError(f"more than {MAX_FILES} Python files", hint="name a smaller folder")
        yield path


def _parsed(path: Path) -> ast.Module:
    data = path.read_bytes()
    if len(data) > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES} bytes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(data)


def _why(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return error.msg if error.lineno is None else f"line {error.lineno}: {error.msg}"
    return str(error) or type(error).__name__


def _module(name: str, number: int, tree: ast.Module) -> Module:
    top = tuple(_top_level(tree))
    functions = {node.name: node for node in top if isinstance(node, FunctionNode)}
    classes = {node.name: node for node in top if isinstance(node, ast.ClassDef)}
    assigned = frozenset(
        target.id
        for node in top
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    )
    return Module(name, number, tree, dict(_imported(tree)), functions, classes, assigned)


def _top_level(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements of the module, those under `if` and `try` too; tools are often made inside a function, which is
    why functions inside functions count as well.
    """
    todo: list[ast.AST] = [tree]
    while todo:
        for child in ast.iter_child_nodes(todo.pop()):
            if isinstance(child, ast.stmt):
                yield child
                if not isinstance(child, ast.ClassDef):
                    todo.append(child)


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (
                    (alias.asname or alias.name.partition(".")[0]),
                    (alias.name if alias.asname else alias.name.partition(".")[0]),
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module or ''}.{alias.name}".lstrip(".")
