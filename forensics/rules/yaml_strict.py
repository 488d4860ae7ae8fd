"""What does this YAML text say, read as strictly as JSON, and where does each value stand?

YAML is kept for people (comments, block text) and stripped of what makes it dangerous: no aliases or anchors (alias
bombs), no tags (object construction), no merge keys, no second document, no duplicate keys, and plain scalars mean what
JSON says they mean: `no`, `12:30:45` and `2027-03-01` are strings. Faults are collected and raised together.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol, cast

import msgspec

from forensics.core.late import late
from forensics.errors import RuleError
from forensics.rules.shipped import value_read_before

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_BYTES = 10 * 1024 * 1024
MAX_NODES = 500_000
MAX_DEPTH = 64
MAX_FAULTS = 100

_SECOND = 2
Path = tuple[str | int, ...]
Position = tuple[int, int]

_INTEGER = late(r"-?(?:0|[1-9][0-9]{0,30})")
_FLOAT = late(r"-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,5})?")
_WORDS: dict[str, object] = {"null": None, "true": True, "false": False}


class _Mark(Protocol):
    """A place in the text; both count from 0."""

    line: int
    column: int


class _Event(Protocol):
    """A parser event; `value` and `style` only of a scalar, `anchor` and `tag` only of a node."""

    start_mark: _Mark
    value: str
    style: str | None
    anchor: str | None
    tag: str | None


class StrictYaml:
    """A loaded document: its value (JSON types only) and the position (line, column, both from 1) of every node, for
    which a document that was read before is read again.
    """

    def __init__(self, value: object, positions: Callable[[], dict[Path, Position]]) -> None:
        self.value = value
        self._positions_of = positions

    @cached_property
    def positions(self) -> dict[Path, Position]:
        """The position of every node."""
        return self._positions_of()

    def position(self, path: Path) -> Position:
        """Where the node at `path` stands; of a node that does not exist, where its nearest parent stands."""
        while path and path not in self.positions:
            path = path[:-1]
        return self.positions.get(path, (1, 1))


def load_strict(data: bytes, name: str) -> StrictYaml:
    """Read one document. `name` is how faults call the file. Raises RuleError with every fault found."""
    known = value_read_before(data)
    if known is None:
        return read_strict(data, name)
    return StrictYaml(msgspec.json.decode(known), lambda: read_strict(data, name).positions)


def read_strict(data: bytes, name: str) -> StrictYaml:
    """The same, whether it was read before or not."""
    text = _decode(data, name)
    builder = _Builder(name)
    value = builder.document(_events(text, builder))
    if builder.faults:
        raise rule_error(builder.faults)
    return StrictYaml(value, lambda: builder.positions)


def rule_error(faults: list[str]) -> RuleError:
    """One error for many faults; its message is the first fault and how many more there are."""
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return RuleError(faults[0] + more, faults=tuple(faults))


def _decode(data: bytes, name: str) -> str:
    if len(data) > MAX_BYTES:
        raise rule_error([f"{name}:1:1: larger than {MAX_BYTES} bytes"])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        raise rule_error([f"{name}:{line}:{column}: not UTF-8"]) from None


def _events(text: str, builder: _Builder) -> Iterator[_Event]:
    """The parser's events, ending early (with a fault) where the syntax breaks."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        yield from cast("Iterator[_Event]", yaml.parse(text, Loader=loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        builder.fault(mark, f"not YAML: {problem}")
    except RecursionError:
        builder.fault(None, "nested too deep")


class _Builder:
    """Builds JSON values out of parser events (a pull parser: one method for each kind of node)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.faults: list[str] = []
        self.positions: dict[Path, Position] = {}

    def fault(self, mark: _Mark | None, text: str) -> None:
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(f"{self.name}:{line}:{column}: {text}")

    def document(self, events: Iterator[_Event]) -> object:
        value: object = None
        documents = 0
        for event in events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                documents += 1
                if documents == _SECOND:
                    self.fault(event.start_mark, "a second document")
            elif kind in ("ScalarEvent", "SequenceStartEvent", "MappingStartEvent", "AliasEvent"):
                found = self.node(event, events, () if documents == 1 else (documents,))
                value = found if documents == 1 else value
        if documents == 0 and not self.faults:
            self.fault(None, "nothing in the document")
        return value

    def node(self, event: _Event, events: Iterator[_Event], path: Path) -> object:
        mark = event.start_mark
        self.positions[path] = (mark.line + 1, mark.column + 1)
        if len(self.positions) > MAX_NODES:
            raise rule_error([*self.faults, f"{self.name}:{mark.line + 1}:1: more than {MAX_NODES} values"])
        kind = type(event).__name__
        if kind == "AliasEvent":
            self.fault(mark, f"alias *{event.anchor} is not allowed")
            return None
        self._decorations(event)
        if kind == "ScalarEvent":
            return self.scalar(event)
        if len(path) >= MAX_DEPTH:
            raise rule_error([*self.faults, f"{self.name}:{mark.line + 1}:{mark.column + 1}: nested too deep"])
        return self.sequence(events, path) if kind == "SequenceStartEvent" else self.mapping(events, path)

    def _decorations(self, event: _Event) -> None:
        if event.anchor:
            self.fault(event.start_mark, f"anchor &{event.anchor} is not allowed")
        if event.tag:
            self.fault(event.start_mark, f"tag {event.tag} is not allowed")

    def sequence(self, events: Iterator[_Event], path: Path) -> list[object]:
        items: list[object] = []
        for event in events:
            if type(event).__name__ == "SequenceEndEvent":
                break
            items.append(self.node(event, events, (*path, len(items))))
        return items

    def mapping(self, events: Iterator[_Event], path: Path) -> dict[str, object]:
        members: dict[str, object] = {}
        for event in events:
            if type(event).__name__ == "MappingEndEvent":
                break
            key = self.key(event, events, path, members)
            inner = next(events, None)
            if inner is None:
                break
            value = self.node(inner, events, (*path, key))
            members.setdefault(key, value)
        return members

    def key(self, event: _Event, events: Iterator[_Event], path: Path, members: dict[str, object]) -> str:
        mark = event.start_mark
        if type(event).__name__ != "ScalarEvent":
            self.fault(mark, "a key must be a string")
            self.node(event, events, (*path, "?"))
            return f"?{mark.line}:{mark.column}"
        self._decorations(event)
        if event.value == "<<" and not event.style:
            self.fault(mark, "merge key << is not allowed")
        if event.value in members:
            self.fault(mark, f"duplicate key {event.value!r}")
        return str(event.value)

    def scalar(self, event: _Event) -> object:
        text: str = event.value
        if event.style:  # libyaml gives "" for a plain scalar, the Python parser None
            return text
        if text == "":
            self.fault(event.start_mark, 'a value is missing (write null or "")')
            return None
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.fullmatch(text):
            return int(text)
        return self._number(event, text) if _FLOAT.fullmatch(text) else text

    def _number(self, event: _Event, text: str) -> float:
        number = float(text)
        if number in (float("inf"), float("-inf")):
            self.fault(event.start_mark, f"{text} is not a finite number")
            return 0.0
        return number
