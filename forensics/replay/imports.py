"""Which other modules of the user's does a module bring along by its import statements, and what are they to the byte?

Sources are parsed and never run. What is imported under a name that is computed, what an installed package does, and
files of data are not seen: whoever changes those between clearing and running runs other code than was planned.
"""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from forensics.replay.cell.sources import finder
from forensics.replay.plan import Imported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SOURCE = ".py"


def source_of(module: str, paths: Sequence[str]) -> str | None:
    """The file from which Python would load a module out of these folders: a package before an extension before a
    source, folder by folder, as the import system has it; only looked for, nothing is loaded. Each finder is a new one,
    since it remembers what it saw.
    """
    folders, source = list(paths), None
    for part in module.split("."):
        found = [spec for folder in folders if (spec := finder(folder).find_spec(part)) is not None]
        whole = next((spec for spec in found if spec.loader is not None), None)
        source = None if whole is None else whole.origin
        folders = [
            place for spec in (found if whole is None else [whole]) for place in spec.submodule_search_locations or ()
        ]
    return source


def imports_of(module: str, paths: Sequence[str]) -> tuple[Imported, ...]:
    """The modules out of these folders that this one imports, itself left out, and those that they import, by name. A
    module of a package brings along the package.
    """
    sources: dict[str, str | None] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in sources:
            continue
        source = sources[name] = source_of(name, paths)
        above, _, _ = name.rpartition(".")
        waiting += [above] if above else []
        if source is not None:
            waiting += _imported(Path(source), name)
    own = sources.pop(module)
    files = sorted((name, Path(source)) for name, source in sources.items() if source is not None and source != own)
    return tuple(Imported(name, hashlib.sha256(source.read_bytes()).hexdigest()) for name, source in files)


def _imported(source: Path, name: str) -> Iterator[str]:
    """Every name that the statements of a source may import. A source that can't be parsed can't be run."""
    package = name if source.stem == "__init__" else name.rpartition(".")[0]
    try:
        tree = ast.parse(source.read_bytes() if source.suffix == _SOURCE else b"")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, package)
            yield from (base, *(f"{base}.{alias.name}" for alias in node.names)) if base else ()


def _base(node: ast.ImportFrom, package: str) -> str:
    """The module that a `from` names: one dot is the package itself, each more the one above."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    above = parts[: max(len(parts) - node.level + 1, 0)]
    return ".".join([*above, *([node.module] if node.module else [])])
