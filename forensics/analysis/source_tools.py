"""Which functions of these Python files are tools, and what does each say of itself?

Frameworks mark a tool by a decorator whose last word says so, by a base class, by a list of tools or by a factory; the
words are data (rules/source). Where nothing marks one, the public functions with a docstring are taken: whoever names a
file means its functions.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import msgspec

from forensics.analysis.source_effects import Place, effects_of
from forensics.analysis.source_modules import FunctionNode
from forensics.analysis.source_table import source_table
from forensics.core.classes import ClassEvidence, ToolFacts
from forensics.core.evidence import Locator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.analysis.source_modules import Module

_HINTS = frozenset({"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"})


class Told(msgspec.Struct, frozen=True):
    """What the mark of a tool says of it."""

    name: str | None = None
    description: str | None = None
    hints: dict[str, bool] = {}


Marked = tuple[Place, Told]


class SourceTool(msgspec.Struct, frozen=True):
    """One tool of the source: its facts, as an inventory would have them, and what its code does."""

    facts: ToolFacts
    code: tuple[ClassEvidence, ...]


def source_tools(modules: tuple[Module, ...]) -> tuple[SourceTool, ...]:
    """Every tool of these modules, in the order of files and lines."""
    found = [one for module in modules for one in _marked(module, modules)]
    if not found:
        found = [(place, Told()) for module in modules for place in _documented(module)]
    by_stem = {module.stem: module for module in reversed(modules)}
    return tuple(SourceTool(_facts(place, told), effects_of(place, by_stem)) for place, told in found)


def _marked(module: Module, modules: tuple[Module, ...]) -> Iterator[Marked]:
    listed = _listed(modules)
    places: dict[int, Marked] = {}
    for node in module.functions.values():
        told = _decorated(node)
        if told is None and node.name in listed:
            told = listed[node.name]
        if told is not None:
            places[id(node)] = (Place(module, node, None, ""), told)
    for owner in module.classes.values():
        for node, told in _of_class(owner):
            places.setdefault(id(node), (Place(module, node, owner, ""), told))
    yield from sorted(places.values(), key=lambda one: one[0].node.lineno)


def _documented(module: Module) -> Iterator[Place]:
    for node in module.functions.values():
        if not node.name.startswith("_") and ast.get_docstring(node):
            yield Place(module, node, None, "")


# how a tool is marked ------------------------------------------------------------------------------------------------


def _decorated(node: FunctionNode) -> Told | None:
    """What the decorator of a tool says (`name`, `description`, hints), or None where none marks a tool."""
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        if _last(decorator if call is None else call.func) in source_table().decorators:
            return Told() if call is None else _told(call)
    return None


def _of_class(owner: ast.ClassDef) -> Iterator[tuple[FunctionNode, Told]]:
    """The methods of a class that are tools: decorated ones, and the running method of a class of tools."""
    methods = {node.name: node for node in owner.body if isinstance(node, FunctionNode)}
    for node in methods.values():
        told = _decorated(node)
        if told is not None:
            yield node, told
    if any(_last(base) in source_table().bases for base in owner.bases):
        runs = next((methods[name] for name in source_table().methods if name in methods), None)
        if runs is not None:
            says = dict(_class_says(owner))
            yield runs, Told(says.get("name", owner.name), says.get("description", ast.get_docstring(owner)))


def _class_says(owner: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """`name = "..."` and `description = "..."` in the body of a class."""
    for node in owner.body:
        if not isinstance(node, (ast.Assign, ast.AnnAssign)):
            continue
        text = _text(node.value)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name) and target.id in ("name", "description") and text is not None:
                yield target.id, text


def _listed(modules: tuple[Module, ...]) -> dict[str, Told]:
    """The names of functions in lists of tools and in factories: `tools=[a, b]`, `TOOLS = [a]`, `Tool(func=a)`."""
    found: dict[str, Told] = {}
    for module in modules:
        for node in ast.walk(module.tree):
            found.update((name, told) for name, told in _registered(node) if told != Told() or name not in found)
    return found


def _registered(node: ast.AST) -> Iterator[tuple[str, Told]]:
    table = source_table()
    if isinstance(node, ast.Call) and _last(node.func) in table.factories:
        given = [*node.args, *(k.value for k in node.keywords if k.arg in ("func", "fn", "function", "coroutine"))]
        yield from ((one.id, _told(node)) for one in given if isinstance(one, ast.Name))
    keyword = isinstance(node, ast.keyword) and node.arg in table.lists
    assigned = isinstance(node, ast.Assign) and any(_last(target) in table.lists for target in node.targets)
    if keyword or assigned:
        yield from ((name, Told()) for name in _names(getattr(node, "value", None)))


def _names(node: ast.expr | None) -> Iterator[str]:
    items = node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else []
    items = node.values if isinstance(node, ast.Dict) else items
    return (item.id for item in items if isinstance(item, ast.Name))


def _last(node: ast.expr | None) -> str:
    """The last word of a dotted name, in lower case."""
    if isinstance(node, ast.Attribute):
        return node.attr.lower()
    if isinstance(node, ast.Subscript):
        return _last(node.value)
    return node.id.lower() if isinstance(node, ast.Name) else ""


# what a tool says of itself ------------------------------------------------------------------------------------------


def _told(call: ast.Call) -> Told:
    """Name, description and hints in the keywords of a decorator or factory; a text in first place is the name."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    first = _text(call.args[0]) if call.args else None
    hints = given.get("annotations") or given.get("hints")
    return Told(
        _text(given.get("name")) or first,
        _text(given.get("description")),
        {} if hints is None else dict(_hints(hints)),
    )


def _hints(node: ast.expr) -> Iterator[tuple[str, bool]]:
    """`{"readOnlyHint": True}` or `ToolAnnotations(readOnlyHint=True)`."""
    pairs: list[tuple[str | None, ast.expr]] = []
    if isinstance(node, ast.Dict):
        pairs = [(_text(key), value) for key, value in zip(node.keys, node.values, strict=True)]
    elif isinstance(node, ast.Call):
        pairs = [(keyword.arg, keyword.value) for keyword in node.keywords]
    for key, value in pairs:
        if key in _HINTS and isinstance(value, ast.Constant) and isinstance(value.value, bool):
            yield str(key), value.value


def _facts(place: Place, told: Told) -> ToolFacts:
    node = place.node
    return ToolFacts(
        name=told.name or node.name,
        description=told.description or ast.get_docstring(node),
        input_schema={"type": "object", "properties": {arg: {} for arg in _parameters(node)}},
        hints=dict(told.hints),
        locator=Locator(evidence=place.module.file, line=node.lineno, member=place.module.name),
    )


def _parameters(node: FunctionNode) -> Iterator[str]:
    for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        if arg.arg not in ("self", "cls", "ctx", "context"):
            yield arg.arg


def _text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
