"""Which lists do flattened attributes spell? `llm.input_messages.0.message.role` and its like, put together again.

The number is part of the key: it is sorted as a number, and a hole in the numbers means that an exporter left something
out. Words that only repeat what the list holds (`message`, `tool_call`) are passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from forensics.core.jsonvalue import decode_embedded, text_of
from forensics.formats.shared.fields import is_text
from forensics.formats.shared.spans import Item, Spread, below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from forensics.core.trace import Payload

_PASSED_OVER = frozenset({"message", "message_content", "tool_call", "tool", "document", "prompt", "completion"})
_DEEPEST = 12
_DIGITS = 6
_TEXT = msgspec.Raw(b'"assistant"')


class Flat(NamedTuple):
    """One flattened attribute: the family it belongs to, its name, its value, and where it stood."""

    family: str
    name: str
    payload: Payload
    slot: int | str


class Together(NamedTuple):
    """A family put together: its list as JSON, and where the items stood."""

    payload: Payload
    spread: Spread


_Node = dict[str, "_Node | Flat"]


def put_together(flat: Iterable[Flat]) -> dict[str, Together]:
    """Each family of these attributes as one list. A name that is spelled like no item, or that contradicts another,
    leaves its list not whole.
    """
    lists: dict[str, dict[int, _Node]] = {}
    broken: set[str] = set()
    for one in flat:
        path = one.name[len(one.family) + 1 :].split(".")
        is_item = path[0].isdecimal() and path[0].isascii() and len(path[0]) <= _DIGITS and len(path) <= _DEEPEST
        if not is_item or not _hang(lists.setdefault(one.family, {}).setdefault(int(path[0]), {}), path, one):
            broken.add(one.family)
    for family in broken:
        lists.setdefault(family, {})
    return {family: _joined(family, items, family in broken) for family, items in sorted(lists.items())}


def _hang(node: _Node, path: list[str], leaf: Flat) -> bool:
    """Hang an attribute under its item; False where something else hangs there."""
    steps = [step for i, step in enumerate(path) if i and not (path[i - 1].isdigit() and step in _PASSED_OVER)]
    for step in steps[:-1]:
        below_it = node.setdefault(step, {})
        if isinstance(below_it, Flat):
            return False
        node = below_it
    last = steps[-1] if steps else ""
    return node.setdefault(last, leaf) is leaf


def _joined(family: str, items: dict[int, _Node], broken: bool) -> Together:  # noqa: FBT001 - asked in one place
    numbers = sorted(items)
    spell = _SPELL.get(family, _plain)
    told = [spell(items[number]) for number in numbers]
    places = tuple(_item(items[number]) for number in numbers)
    whole = not broken and numbers == list(range(len(numbers))) and not any(map(_lacks_calls, items.values()))
    return Together(_encoded(told), Spread(places, whole=whole))


def _lacks_calls(node: _Node) -> bool:
    """Whether a number is missing among the calls of a message."""
    calls = node.get("tool_calls")
    return isinstance(calls, dict) and set(calls) != {str(number) for number in range(len(calls))}


def _encoded(told: object) -> Payload:
    try:
        return msgspec.Raw(msgspec.json.encode(told))
    except UnicodeEncodeError:  # a name with a lone surrogate
        return msgspec.Raw(b"[]")


def _plain(node: _Node | Flat) -> object:
    """A node as the value that it spells: a list where all its names are numbers."""
    if isinstance(node, Flat):
        return node.payload
    if set(node) == {""}:
        return _plain(node[""])
    if all(name.isdigit() and len(name) <= _DIGITS for name in node):
        return [_plain(node[name]) for name in sorted(node, key=int)]
    return {name: _plain(held) for name, held in node.items()}


# messages ------------------------------------------------------------------------------------------------------------


def _message(node: _Node) -> object:
    """A message as the APIs write it: `contents` is the content where no other is told."""
    told = _plain(node)
    if not isinstance(told, dict):
        return told
    parts = told.pop("contents", None)
    if parts is not None:
        told.setdefault("content", parts)
    content = told.get("content")
    if isinstance(content, msgspec.Raw):
        told["content"] = _blocks(content)
    return told


def _answer(node: _Node) -> object:
    told = _message(node)
    if isinstance(told, dict):
        told.setdefault("role", _TEXT)
        return told
    return {"role": _TEXT, "content": told}


def _prompt_text(node: _Node) -> object:
    """A prompt that is a text and no message."""
    told = _plain(node)
    text = told.get("text") if isinstance(told, dict) else told
    return {"role": msgspec.Raw(b'"user"'), "content": text}


def _answer_text(node: _Node) -> object:
    told = _plain(node)
    return {"role": _TEXT, "content": told.get("text") if isinstance(told, dict) else told}


def _blocks(content: Payload) -> Payload:
    """Content blocks that were written as a text, as the list that they are."""
    if not bytes(memoryview(content)[:3]).startswith((b'"[{', b'"[ ')):
        return content
    listed = decode_embedded(text_of(content))
    if listed is None or not isinstance(listed.value, list):
        return content
    is_blocks = all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in listed.value)
    return _encoded(listed.value) if is_blocks else content


# tools ---------------------------------------------------------------------------------------------------------------


def _tool(node: _Node) -> object:
    """A tool's definition, which is itself JSON in a text or holds its schema so."""
    told = _plain(node)
    if not isinstance(told, dict):
        return _opened(told)
    if "json_schema" in told:
        return _opened(told["json_schema"])
    return {name: _opened(value) for name, value in told.items()}


def _opened(value: object) -> object:
    if not isinstance(value, msgspec.Raw) or not is_text(value):
        return value
    held = decode_embedded(text_of(value))
    return value if held is None else held.value


_SPELL: dict[str, Callable[[_Node], object]] = {
    "llm.input_messages": _message,
    "gen_ai.prompt": _message,
    "llm.output_messages": _answer,
    "gen_ai.completion": _answer,
    "llm.prompts": _prompt_text,
    "llm.choices": _answer_text,
    "llm.tools": _tool,
    "llm.request.functions": _tool,
}


# places --------------------------------------------------------------------------------------------------------------


def _item(node: _Node) -> Item:
    calls = node.get("tool_calls")
    places = {} if calls is None or isinstance(calls, Flat) else {n: _place(held) for n, held in calls.items()}
    return Item(_place(node), places)


def _place(node: _Node | Flat) -> str:
    """Where a node stands: the attribute in it that says most."""
    leaves = dict(_leaves(node, ""))
    said = next((leaves[path] for path in _SAYS_MOST if path in leaves), None)
    leaf = said or next(iter(leaves.values()))
    return below(leaf.slot, leaf.name)


_SAYS_MOST = (".content", ".function.arguments", ".arguments", ".function.name", ".name")


def _leaves(node: _Node | Flat, path: str) -> Iterator[tuple[str, Flat]]:
    if isinstance(node, Flat):
        yield path, node
        return
    for name, held in node.items():
        yield from _leaves(held, f"{path}.{name}")
