"""Which tools does an inventory list, and which calls a list of calls? Both as a person keeps them.

An inventory is JSON lines, TSV with a header, one tool, what an MCP server answers to `tools/list`, or the tools of a
request to a model API; calls are JSON lines (CONTRACT: files a user writes). Both are the operator's own files, so a
fault is an error and nothing is guessed.
"""

from __future__ import annotations

import csv
import hashlib
import io
from types import NoneType
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.classes import ToolFacts
from forensics.core.evidence import Locator
from forensics.core.jsonvalue import Decoded, decode, unfold
from forensics.errors import CorruptEvidenceError

if TYPE_CHECKING:
    from collections.abc import Iterator

_FACTS = frozenset(
    {
        "annotations",
        "description",
        "function",
        "http",
        "inputSchema",
        "input_schema",
        "outputSchema",
        "output_schema",
        "parameters",
        "replay_class",
        "tool_name",
        "tool_type",
        "type",
    }
)
_FAULTS_SHOWN = 20
_REMEMBERED = 65536
_FIELD_LIMIT = 64 * 1024 * 1024  # bytes of one TSV field: a tool's input schema
_HINT = "`forensics classify --help` shows what is read"


class CallFacts(msgspec.Struct, frozen=True, gc=False):
    """One call as it was listed: its tool, its arguments, its result where one is given (UNSET: none), and the dialect
    of the text that it runs (a database, a shell) where that is said.
    """

    tool: ToolFacts
    arguments: Any
    result: Any = msgspec.UNSET
    dialect: str | None = None


class _Item(msgspec.Struct, frozen=True, gc=False):
    """One thing that a file lists, and where: in words for an error, and as a locator without its evidence."""

    where: str
    value: object
    locator: Locator


def read_tools(data: bytes, name: str, evidence: int = -1) -> tuple[ToolFacts, ...]:
    """The tools of an inventory, each with the digest of the inventory and, where the inventory is the evidence of
    that index, its place. Raises CorruptEvidenceError naming every item that is no tool.
    """
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    items = list(_items(data, name))
    found = _all([(item.where, _tool(item, digest, evidence)) for item in items], name)
    return tuple(tool for tool in found if isinstance(tool, ToolFacts))


def read_calls(data: bytes, name: str) -> tuple[CallFacts, ...]:
    """The calls of a list, one JSON object a line. Raises CorruptEvidenceError naming every line that is none. Equal
    lines give one and the same object, and so do the tools of calls that say no more of theirs than its name.
    """
    tools: dict[tuple[object, object], ToolFacts] = {}
    known: dict[bytes, CallFacts | None] = {}
    found: list[tuple[str, CallFacts | None]] = []
    for number, _, line in _raw_lines(data):
        if line not in known:
            if len(known) >= _REMEMBERED:
                known.clear()
            known[line] = _call(_decoded(line, number, name), tools)
        found.append((f"line {number}", known[line]))
    return _all(found, name)


def _all(found: list[tuple[str, Any]], name: str) -> tuple[Any, ...]:
    wrong = [where for where, one in found if one is None]
    if wrong:
        more = "" if len(wrong) <= _FAULTS_SHOWN else f" and {len(wrong) - _FAULTS_SHOWN} more"
        message = f"{name}: no object with a name: {', '.join(wrong[:_FAULTS_SHOWN])}{more}"
        raise CorruptEvidenceError(message, hint=_HINT)
    if not found:
        raise CorruptEvidenceError(f"{name} lists nothing", hint=_HINT)
    return tuple(one for _, one in found)


# what a file lists ---------------------------------------------------------------------------------------------------


def _items(data: bytes, name: str) -> Iterator[_Item]:
    """The tools that an inventory lists, however it is written."""
    if _is_table(data):
        yield from _table(data, name)
        return
    whole = None if _is_lines(data) else decode(data.removeprefix(b"\xef\xbb\xbf"))
    if whole is not None and whole.error is None and _is_inventory(whole):
        yield from _unfolded(_Item("the document", whole.value, Locator(offset=0, length=len(data))))
        return
    for line in _json_lines(data, name):
        yield from _unfolded(line) if _is_listing(line.value) else (line,)


def _is_lines(data: bytes) -> bool:
    """Whether the first line is a JSON document of its own, and others follow."""
    first, _, rest = data.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    return bool(rest.strip()) and not decode(first).error


def _is_inventory(whole: Decoded) -> bool:
    """Whether the whole file is a list or a listing of tools, or one tool, perhaps written over many lines."""
    if isinstance(whole.value, list) or _is_listing(whole.value):
        return True
    return not whole.faults and _from_json(whole.value) is not None


_LISTS = ("tools", "functionDeclarations", "function_declarations")


def _is_listing(value: object) -> bool:
    """Whether an object lists tools: an MCP `tools/list` result or the response around one, a request to a model API,
    or Gemini's function declarations.
    """
    if not isinstance(value, dict):
        return False
    for name in _LISTS:
        if name in value and isinstance(value[name], list):
            return True
    return "result" in value and _is_listing(value["result"])


def _unfolded(item: _Item) -> Iterator[_Item]:
    """The tools that an item lists, or the item itself where it is one tool. Iterative: a listing may hold listings."""
    todo: list[tuple[_Item, dict[str, Any]]] = [(item, {})]
    numbered = 0
    while todo:
        one, server = todo.pop()
        if isinstance(one.value, list) or _is_listing(one.value):
            todo.extend(reversed([(inner, server | _server_of(one.value)) for inner in _listed(one)]))
            continue
        numbered += 1
        where = f"tool {numbered}" if item.locator.line is None else item.where
        value = {**server, **one.value} if isinstance(one.value, dict) else one.value
        yield _Item(where, value, one.locator)


def _listed(item: _Item) -> list[_Item]:
    """What a list holds, or the list that a listing holds."""
    value = item.value
    if isinstance(value, list):
        return [_Item(item.where, inner, _below(item.locator, str(index))) for index, inner in enumerate(value)]
    fields = _object(value)
    key = next((name for name in _LISTS if isinstance(fields.get(name), list)), "result")
    return [_Item(item.where, fields[key], _below(item.locator, key))]


def _below(locator: Locator, step: str) -> Locator:
    return msgspec.structs.replace(locator, pointer=f"{locator.pointer or ''}/{step}")


def _server_of(listing: object) -> dict[str, Any]:
    """The server that a listing names, with its version."""
    if not isinstance(listing, dict):
        return {}
    info = _object(listing.get("serverInfo")) or _object(_object(listing.get("metadata")).get("serverInfo"))
    told = {"server": _text(listing, "server") or _text(info, "name"), "server_version": _text(info, "version")}
    return {key: text for key, text in told.items() if text}


def _json_lines(data: bytes, name: str) -> Iterator[_Item]:
    for number, offset, line in _raw_lines(data):
        place = Locator(line=number, offset=offset, length=len(line))
        yield _Item(f"line {number}", _decoded(line, number, name), place)


def _raw_lines(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Number, offset and bytes of each line that is not blank."""
    offset = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    for number, line in enumerate(data[offset:].split(b"\n"), 1):
        if line.strip():
            yield number, offset, line
        offset += len(line) + 1


def _decoded(line: bytes, number: int, name: str) -> object:
    decoded = decode(line)
    if not decoded.error and not decoded.faults:
        return decoded.value
    twice = [fault.message for fault in decoded.faults if fault.code == "duplicate_key"]
    if decoded.error or twice:
        message = f"{name}: line {number}: {decoded.error or twice[0]}"
        raise CorruptEvidenceError(message, hint="one JSON object a line")
    return decoded.value


def _is_table(data: bytes) -> bool:
    head = data.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    return b"\t" in head and not head.lstrip().startswith((b"{", b"["))


def _table(data: bytes, name: str) -> Iterator[_Item]:
    csv.field_size_limit(_FIELD_LIMIT)
    reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig", "backslashreplace"), newline=""), delimiter="\t")
    try:
        for row in reader:
            yield _Item(f"line {reader.line_num}", _from_table(row), Locator(line=reader.line_num))
    except csv.Error as error:
        raise CorruptEvidenceError(f"{name}: line {reader.line_num}: {error}", hint="TSV with a header") from None


# one tool, one call --------------------------------------------------------------------------------------------------

_PLAIN_COLUMNS = ("server", "description", "replay_class", "tool_type")


def _from_table(row: dict[str, Any]) -> dict[str, Any]:
    texts = {key: text for key, text in row.items() if isinstance(text, str) and text}
    plain = {key: text for key, text in texts.items() if key in _PLAIN_COLUMNS}
    parsed = {
        "name": texts.get("name") or texts.get("tool_name"),
        "input_schema": unfold(texts.get("input_schema") or texts.get("input_schema_json")),
        "output_schema": unfold(texts.get("output_schema") or texts.get("output_schema_json")),
        "annotations": unfold(texts.get("annotations") or texts.get("annotations_json")),
        "http": unfold(texts.get("http")),
    }
    return {**plain, **parsed}


def _tool(item: _Item, digest: str, evidence: int) -> ToolFacts | None:
    """The facts of one listed tool; one that a provider runs goes by its type."""
    place = msgspec.structs.replace(item.locator, evidence=evidence) if evidence >= 0 else None
    version = _text(_object(item.value), "server_version")
    return _from_json(item.value, locator=place, version=version, inventory=digest)


def _from_json(
    item: object, *, locator: Locator | None = None, version: str | None = None, inventory: str | None = None
) -> ToolFacts | None:
    """The facts of one listed tool, in the words of this project or of MCP and of function definitions."""
    if not isinstance(item, dict):
        return None
    told = {**item, **_object(item["function"])} if "function" in item else item
    name = _text(told, "name") or _text(told, "tool_name") or _text(told, "tool") or _text(told, "type")
    if name is None or (name == told.get("type") == "function"):
        return None
    return ToolFacts(
        name=name,
        server=_text(told, "server"),
        description=_text(told, "description"),
        input_schema=_schema(told, "input_schema", "inputSchema", "parameters", "parametersJsonSchema"),
        output_schema=_schema(told, "output_schema", "outputSchema"),
        hints=_object(told.get("annotations")),
        replay_class=_text(told, "replay_class"),
        tool_type=_text(told, "tool_type"),
        http=_http(told["http"]) if "http" in told else None,
        locator=locator,
        version=version,
        inventory=inventory,
    )


def _call(item: object, tools: dict[tuple[object, object], ToolFacts]) -> CallFacts | None:
    if not isinstance(item, dict):
        return None
    name, server = item.get("tool") or item.get("name"), item.get("server")
    plain = _FACTS.isdisjoint(item) and isinstance(name, str) and isinstance(server, (str, NoneType))
    tool = tools.get((name, server)) if plain else None
    if tool is None:
        tool = _from_json({**item, "name": name, "type": None})
    if tool is None:
        return None
    if plain:
        tools[name, server] = tool
    arguments = unfold(item.get("arguments", item.get("args")))
    result = unfold(item["result"]) if "result" in item else msgspec.UNSET
    return CallFacts(tool, arguments, result, _text(item, "dialect"))


def _text(fields: dict[str, Any], key: str) -> str | None:
    found = fields.get(key)
    return found if isinstance(found, str) and found else None


def _object(found: object) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _schema(fields: dict[str, Any], *keys: str) -> dict[str, Any] | None:
    for key in keys:
        if key in fields and isinstance(fields[key], dict):
            schema: dict[str, Any] = fields[key]
            return schema
    return None


def _http(found: object) -> tuple[str, str] | None:
    fields = _object(found)
    method = _text(fields, "method")
    return None if method is None else (method, _text(fields, "path") or _text(fields, "url") or "")
