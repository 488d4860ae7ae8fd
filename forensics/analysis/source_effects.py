"""What does a Python function call that touches the world, in its own body or in functions that it calls?

Every piece says so with file and line, and every piece raises: that nothing was found shows nothing, since a name can
hide any call. Functions of the same files are followed, each once.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from forensics.analysis.source_modules import FunctionNode
from forensics.analysis.source_table import CallRule, rules_for
from forensics.core.classes import ClassEvidence, Effect, Scope, Source, Stability, Tier
from forensics.core.evidence import Locator
from forensics.core.sanitise import one_line
from forensics.proofs.prove import prove

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.analysis.source_modules import Module

_MOST_FUNCTIONS = 500
_WRITING_MODES = frozenset("wax+")
_MODE = re.compile(r"[rwaxbtU+]{1,4}")
_MUTATING = frozenset(
    {"append", "extend", "insert", "add", "update", "pop", "popitem", "remove", "discard", "clear", "setdefault"}
)

_OPENS = CallRule(
    id="source.file.write",
    because="A file that is opened to be written is changed.",
    names=(),
    says="which opens a file for writing",
)
_STATE = CallRule(
    id="source.state",
    because="What outlives the call is seen by the calls after it.",
    names=(),
    says="which later calls see",
)


class Place(NamedTuple):
    """A function in its module, the class around it, and by whom it was called (empty: the tool itself)."""

    module: Module
    node: FunctionNode
    owner: ast.ClassDef | None
    via: str


def effects_of(place: Place, by_stem: dict[str, Module]) -> tuple[ClassEvidence, ...]:
    """One piece for each kind of thing that is done, at the first place that does it; `by_stem` are the files whose
    functions are followed.
    """
    found: dict[str, ClassEvidence] = {}
    for one in _reached(place, by_stem):
        for piece in _Body(one).pieces():
            found.setdefault(piece.rule or "", piece)
    return tuple(found.values())


def _reached(start: Place, by_stem: dict[str, Module]) -> Iterator[Place]:
    """The function and those of these files that it calls, breadth first."""
    todo, seen = [start], {id(start.node)}
    for place in todo:
        yield place
        for name in _Body(place).names():
            called = _find(place, name, by_stem)
            if called is not None and id(called.node) not in seen and len(todo) < _MOST_FUNCTIONS:
                seen.add(id(called.node))
                todo.append(called)


def _find(place: Place, name: str, by_stem: dict[str, Module]) -> Place | None:
    """The function that a dotted name stands for, where it is one of these files'."""
    head, _, last = name.rpartition(".")
    if head in ("self", "cls") and place.owner is not None:
        own = (node for node in place.owner.body if isinstance(node, FunctionNode) and node.name == last)
        return next((Place(place.module, node, place.owner, last) for node in own), None)
    module = place.module if not head else by_stem.get(head.rpartition(".")[2])
    node = None if module is None else module.functions.get(last)
    return None if module is None or node is None else Place(module, node, None, last)


class _Body:
    """The body of one function: its names resolved by imports and by what it assigns."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._locals: dict[str, str] = {}
        self._nodes = [node for statement in place.node.body for node in ast.walk(statement)]
        self._assign()

    def names(self) -> Iterator[str]:
        """The dotted names of every call."""
        return (name for node in self._nodes if isinstance(node, ast.Call) and (name := self._dotted(node.func)))

    def pieces(self) -> Iterator[ClassEvidence]:
        """Every piece of evidence in the body, in the order of the lines."""
        found = [(rule, node, what) for node in self._nodes for rule, what in self._spoken(node)]
        for rule, node, what in sorted(found, key=lambda one: getattr(one[1], "lineno", 0)):
            yield self._piece(rule, node, what)

    def _spoken(self, node: ast.AST) -> Iterator[tuple[CallRule, str]]:
        if isinstance(node, ast.Call):
            name = self._dotted(node.func)
            if name is not None:
                yield from self._called(node, name)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            yield _STATE, f"assigns {', '.join(node.names)}"
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            held = self._outlives(node)
            if held is not None:
                yield _STATE, f"changes {held}"

    def _called(self, node: ast.Call, name: str) -> Iterator[tuple[CallRule, str]]:
        last = name.rpartition(".")[2]
        if (name == "open" or last == "open") and _opens_to_write(node):
            yield _OPENS, f"calls {name}"
        if last in _MUTATING and isinstance(node.func, ast.Attribute):
            held = self._outlives(node.func.value)
            if held is not None:
                yield _STATE, f"changes {held}"
        rule = next((rule for rule in rules_for(name) if _applies(rule, node)), None)
        if rule is not None:
            yield rule, f"calls {name}"

    def _outlives(self, node: ast.expr) -> str | None:
        """The name of an object of the module, of the instance or of the process that this expression is part of."""
        member = ""
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            if self._dotted(node) == "os.environ":
                return "os.environ"
            member = f".{node.attr}" if isinstance(node, ast.Attribute) else member
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self._locals:
            return None
        return node.id + member if node.id in ("self", "cls") or node.id in self._place.module.globals else None

    def _dotted(self, node: ast.expr) -> str | None:
        """`requests.Session().post`: names as imported, a call by what it calls and a pair of brackets."""
        parts: list[str] = []
        while True:
            if isinstance(node, ast.Attribute):
                parts.append(f".{node.attr}")
                node = node.value
            elif isinstance(node, ast.Call):
                parts.append("()")
                node = node.func
            elif isinstance(node, ast.Await):
                node = node.value
            else:
                break
        if isinstance(node, ast.Name):
            head = self._locals.get(node.id) or self._place.module.aliases.get(node.id) or node.id
            return head + "".join(reversed(parts))
        return "?" + "".join(reversed(parts)) if parts else None

    def _assign(self) -> None:
        """Local names that stand for what a call returned: `session = requests.Session()`, `with open(p) as f`."""
        arguments = self._place.node.args
        own = {arg.arg for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)} - {"self", "cls"}
        self._locals.update({name: name for name in own})
        for node in self._nodes:
            pairs: list[tuple[ast.expr, ast.expr | None]] = []
            if isinstance(node, ast.Assign):
                pairs = [(target, node.value) for target in node.targets]
            elif isinstance(node, ast.AnnAssign):
                pairs = [(node.target, node.value)]
            elif isinstance(node, (ast.With, ast.AsyncWith)):
                pairs = [
                    (item.optional_vars, item.context_expr) for item in node.items if item.optional_vars is not None
                ]
            for target, value in pairs:
                if isinstance(target, ast.Name) and target.id not in self._locals:
                    named = self._dotted(value) if isinstance(value, (ast.Call, ast.Await, ast.Attribute)) else None
                    self._locals[target.id] = named or target.id
        for node in self._nodes:
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                for name in node.names:
                    self._locals.pop(name, None)

    def _piece(self, rule: CallRule, node: ast.AST, what: str) -> ClassEvidence:
        module, line = self._place.module, getattr(node, "lineno", self._place.node.lineno)
        via = f" (in {self._place.via})" if self._place.via else ""
        own = rule in (_OPENS, _STATE)
        effect = Effect.OVERWRITING if own else None if rule.effect is None else Effect[rule.effect.name]
        scope = Scope.LOCAL if rule is _OPENS else Scope.SESSION if rule is _STATE else None
        return ClassEvidence(
            Source.CODE,
            Tier.PACK,
            f"{module.name}:{line}{via} {one_line(what, 80)}, {rule.says}",
            effect=effect,
            result=None if rule.result is None else Stability[rule.result.name],
            scope=scope if rule.scope is None else Scope(rule.scope.value),
            rule=rule.id,
            locator=Locator(evidence=module.file, line=line, member=module.name),
        )


def _opens_to_write(node: ast.Call) -> bool:
    """Whether a mode is given that is not known to read: `open(path, "w")`, `path.open("a")`, `open(path, mode)`."""
    named = [keyword.value for keyword in node.keywords if keyword.arg == "mode"]
    second = node.args[1:2] if isinstance(node.func, ast.Name) else []
    texts = [
        one.value for one in (*node.args[:2], *named) if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]
    written = any(_MODE.fullmatch(text) and not _WRITING_MODES.isdisjoint(text) for text in texts)
    return written or any(not isinstance(one, ast.Constant) for one in (*second, *named))


def _applies(rule: CallRule, node: ast.Call) -> bool:
    if rule.given or rule.positions is not None:
        named = any(keyword.arg is None or keyword.arg in rule.given for keyword in node.keywords)
        return named or (rule.positions is not None and len(node.args) >= rule.positions)
    if rule.text is None:
        return True
    return bool(node.args) and not _is_proven(rule.text, node.args[0])


def _is_proven(language: str, node: ast.expr) -> bool:
    """Whether the text stands there as a constant, bare or in `text(...)`, and a parser shows that it only reads."""
    while isinstance(node, ast.Call) and len(node.args) == 1:
        node = node.args[0]
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and prove(language, node.value) is not None
