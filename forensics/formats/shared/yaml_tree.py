"""What does this YAML text of the evidence say, as JSON values, and where do its items stand? No constructor runs.

The text is hostile and was written by others: tags are not constructed (`!!binary` gives its bytes, others are read as
the plain data under them and named), aliases are followed within a limit on what they expand to, and what stands before
a syntax error is kept. (`rules/yaml_strict` reads what people write for this program, and refuses all of that.)
"""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Protocol, cast

import msgspec

from forensics.core.jsonvalue import Fault
from forensics.core.limits import exceeded, limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NODE_WEIGHT = 8
_FAULTS = 100
_DIGITS = 4_000
_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = frozenset({"", "!", *(_TAG + kind for kind in ("str", "int", "float", "bool", "null", "seq", "map"))})
_WORDS: dict[str, object] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?[0-9]{0,400}\.[0-9]{0,400}(?:[eE][-+][0-9]{1,5})?")  # YAML 1.1: with a point
_BREAK = re.compile(rb"\r\n|[\r\n]|\xc2\x85|\xe2\x80[\xa8\xa9]")


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where an item of a list begins: its line (from 1) and byte offset, both counted as every other reader does."""

    line: int
    offset: int


class YamlTree(msgspec.Struct, frozen=True):
    """A document as JSON values (bytes where a tag says binary). `items` are the places of the items of the lists that
    stand at the top; `faults` are what is read in two ways or not at all; `error` is why the text ends early.
    """

    value: Any
    items: dict[tuple[str, int], Place]
    faults: tuple[Fault, ...] = ()
    error: str | None = None


class _Mark(Protocol):
    line: int


class _Event(Protocol):
    """A parser event: `anchor` of a node or an alias, `tag` of a node, `value` and `style` of a scalar."""

    start_mark: _Mark
    anchor: str | None
    tag: str | None
    value: str
    style: str | None


def load_yaml(data: bytes) -> YamlTree:
    """Read the first document. Raises LimitExceededError; a syntax error ends the reading and is told in `error`."""
    builder = _Builder(data)
    error = None
    try:
        for event in _events(_text(data, builder.faults)):
            if not builder.take(event):
                break
    except _BrokenError as broken:
        error = str(broken)
    return YamlTree(builder.root, builder.items, tuple(builder.faults), error)


class _BrokenError(Exception):
    """The syntax breaks here."""


def _text(data: bytes, faults: list[Fault]) -> str:
    """The text; bytes that are no UTF-8 are spelled out and named."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"bytes that are no UTF-8, the first at {error.start}: each is spelled out"
        faults.append(Fault("encoding", "", message))
        return data.decode("utf-8-sig", "backslashreplace")


def _events(text: str) -> Iterator[_Event]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        yield from cast("Iterator[_Event]", yaml.parse(text, Loader=loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        line = f" in line {mark.line + 1}" if mark is not None else ""
        raise _BrokenError(f"{problem}{line}") from None
    except RecursionError:
        raise _BrokenError("nested too deep") from None


class _Open(msgspec.Struct):
    """A list or an object that is being filled: its anchor, its weight so far, and for an object the key that waits."""

    value: list[Any] | dict[str, Any]
    anchor: str | None
    weight: int = _NODE_WEIGHT
    key: str | None = None


class _Builder:
    """Builds the value from the events, without recursion."""

    def __init__(self, data: bytes) -> None:
        self.root: Any = None
        self.faults: list[Fault] = []
        self.items: dict[tuple[str, int], Place] = {}
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._nodes = 0
        self._named = 0
        self._expanded = 0
        self._limits = limits()
        self._breaks = [m.end() for m in _BREAK.finditer(data)]
        self._newlines = [at for at in self._breaks if data[at - 1] == ord("\n")]

    def take(self, event: _Event) -> bool:
        """One event; False where the document ends."""
        handler = _HANDLERS.get(type(event).__name__)
        if handler is not None:
            handler(self, event)
        return type(event).__name__ != "DocumentEndEvent"

    def scalar(self, event: _Event) -> None:
        """A text, a number, a word, or bytes."""
        if self._wants_key():
            self._key(event)
            return
        value = self._value(event)
        self._put(event, value, _NODE_WEIGHT + len(event.value))

    def begin_list(self, event: _Event) -> None:
        """A list begins."""
        self._begin(event, [])

    def begin_object(self, event: _Event) -> None:
        """An object begins."""
        self._begin(event, {})

    def end(self, event: _Event) -> None:
        """The innermost list or object ends."""
        del event
        one = self._open.pop()
        if one.anchor:
            self._anchors[one.anchor] = (one.value, one.weight)
        if self._open:
            self._open[-1].weight += one.weight

    def alias(self, event: _Event) -> None:
        """A value that stands elsewhere, named again: it counts as often as it is named."""
        known = self._anchors.get(event.anchor or "")
        if known is None:
            self._fault("malformed_line", event, f"an alias of what is not there or not ended ({event.anchor})")
            known = (None, 0)
        value, weight = known
        self._expanded += weight
        self._named += 1
        if self._named > self._limits.aliases:
            raise exceeded("aliases", f"the YAML text has {self._named} aliases or more")
        if self._expanded > self._limits.unpacked:
            raise exceeded("unpacked", f"aliases of the YAML text expand to {self._expanded} bytes or more")
        if self._wants_key():
            self._open[-1].key = str(value)
        else:
            self._add(event, value, weight)

    # nodes -------------------------------------------------------------------------------------------------------

    def _begin(self, event: _Event, value: list[Any] | dict[str, Any]) -> None:
        if self._wants_key():
            self._fault("malformed_line", event, "a key that is no text")
            self._open[-1].key = f"?{event.start_mark.line + 1}"
        self._note_tag(event)
        self._add(event, value, 0)
        self._open.append(_Open(value, event.anchor))
        if len(self._open) > self._limits.nesting:
            raise exceeded("nesting", f"the YAML text is nested {len(self._open)} deep or more")

    def _put(self, event: _Event, value: Any, weight: int) -> None:
        if event.anchor:
            self._anchors[event.anchor] = (value, weight)
        self._add(event, value, weight)

    def _add(self, event: _Event, value: Any, weight: int) -> None:
        self._nodes += 1
        if self._nodes > self._limits.nodes:
            raise exceeded("nodes", f"the YAML text holds {self._nodes} values or more")
        if not self._open:
            self.root = value
            return
        holder = self._open[-1]
        holder.weight += weight
        if isinstance(holder.value, list):
            self._note_place(event, len(holder.value))
            holder.value.append(value)
        else:
            self._set(holder, event, value)

    def _set(self, holder: _Open, event: _Event, value: Any) -> None:
        assert isinstance(holder.value, dict)  # noqa: S101 - a list has no key
        key, holder.key = holder.key or "", None
        if key in holder.value:
            self._fault("duplicate_key", event, f"the key {key[:60]} stands twice")
        holder.value[key] = value

    def _wants_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].value, dict) and self._open[-1].key is None

    def _key(self, event: _Event) -> None:
        self._open[-1].key = event.value
        if event.anchor:
            self._anchors[event.anchor] = (event.value, len(event.value))

    def _note_place(self, event: _Event, index: int) -> None:
        """The place of an item of a list that stands at the top, or under a key of the top."""
        if len(self._open) > 2:  # noqa: PLR2004 - the top, and the list in it
            return
        top = self._open[0].value
        name = next(reversed(top), "") if len(self._open) > 1 and isinstance(top, dict) else ""
        line = event.start_mark.line
        offset = self._breaks[line - 1] if 0 < line <= len(self._breaks) else 0
        self.items[name, index] = Place(bisect_right(self._newlines, offset) + 1, offset)

    # scalars -----------------------------------------------------------------------------------------------------

    def _value(self, event: _Event) -> Any:
        tag = event.tag or ""
        if tag == _TAG + "binary":
            return self._binary(event)
        self._note_tag(event)
        plain = not event.style and tag in _PLAIN_TAGS and tag not in ("!", _TAG + "str")
        return self._plain(event) if plain else event.value

    def _plain(self, event: _Event) -> Any:
        said = event.value
        if said in _WORDS:
            return _WORDS[said]
        if _INTEGER.fullmatch(said):
            return int(said) if len(said) < _DIGITS else said
        if any(map(str.isdigit, said)) and _FLOAT.fullmatch(said):
            return self._float(event)
        return said

    def _float(self, event: _Event) -> Any:
        number = float(event.value)
        if number in (float("inf"), float("-inf")):
            self._fault("non_finite_number", event, f"{event.value[:40]} is beyond a double: kept as text")
            return event.value
        return number

    def _binary(self, event: _Event) -> bytes:
        try:
            return base64.b64decode("".join(event.value.split()), validate=True)
        except (binascii.Error, ValueError):
            self._fault("truncated_payload", event, "a binary value that is no base64")
            return b""

    def _note_tag(self, event: _Event) -> None:
        tag = event.tag or ""
        if tag not in _PLAIN_TAGS:
            self._fault("dialect", event, f"the tag {tag[:80]} is not constructed: read as the plain data under it")

    def _fault(self, code: str, event: _Event, message: str) -> None:
        if len(self.faults) < _FAULTS:
            self.faults.append(Fault(code, "", f"line {event.start_mark.line + 1}: {message}"))


_HANDLERS: dict[str, Callable[[_Builder, Any], None]] = {
    "ScalarEvent": _Builder.scalar,
    "SequenceStartEvent": _Builder.begin_list,
    "MappingStartEvent": _Builder.begin_object,
    "SequenceEndEvent": _Builder.end,
    "MappingEndEvent": _Builder.end,
    "AliasEvent": _Builder.alias,
}
