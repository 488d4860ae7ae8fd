"""What is each tool of an inventory, and each call of a list? Reads both as a person keeps them, and classifies.

An inventory is JSON lines, TSV with a header, one tool, or what an MCP server answers to `tools/list`; calls are JSON
lines (CONTRACT: files a user writes). Both are the operator's own files, so a fault is an error and nothing is guessed.
"""

from __future__ import annotations

import csv
import io
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from forensics.analysis.agreements import agreements
from forensics.analysis.returned import minted_by_call
from forensics.core.classes import ClassEvidence, Classification, Source, ToolFacts, resolve
from forensics.core.jsonvalue import decode, unfold
from forensics.errors import CorruptEvidenceError
from forensics.proofs.calls import answerable, proof_of, without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from forensics.analysis.run import TraceAnalysis
    from forensics.analysis.source_tools import SourceTool
    from forensics.core.policy import Policy
    from forensics.rules.engine import Heard, RuleSet

_FACTS = frozenset(
    {"function", "tool_name", "description", "input_schema", "inputSchema", "parameters", "output_schema"}
)
_FACTS |= {"outputSchema", "annotations", "replay_class", "tool_type", "http"}
_FAULTS_SHOWN = 20
_REMEMBERED = 65536
_LONGEST = 4096  # bytes of a line that is remembered
_Read = TypeVar("_Read")
_FIELD_LIMIT = 64 * 1024 * 1024  # bytes of one TSV field: a tool's input schema


class Classified(msgspec.Struct, frozen=True):
    """One tool or call with its class."""

    name: str
    server: str | None
    classification: Classification


class CallFacts(msgspec.Struct, frozen=True, gc=False):
    """One call as it was listed: its tool, its arguments, its result where one is given (UNSET: none), and the dialect
    of the text that it runs (a database, a shell) where that is said.
    """

    tool: ToolFacts
    arguments: Any
    result: Any = msgspec.UNSET
    dialect: str | None = None


# classifying ---------------------------------------------------------------------------------------------------------


def classify_tools(tools: Iterable[ToolFacts], rules: RuleSet, policy: Policy) -> tuple[Classified, ...]:
    """The class of each tool, before any call of it is seen."""
    return tuple(Classified(t.name, t.server, resolve(rules.tool_evidence(t, policy))) for t in tools)


def classify_calls(calls: Iterable[CallFacts], rules: RuleSet, policy: Policy) -> tuple[Classified, ...]:
    """The class of each call: what is known of its tool, and what its arguments and result show. The same call twice
    costs once.
    """
    tools: dict[int, _CalledTool] = {}
    known: dict[int, Classified] = {}
    listed = tuple(calls)  # keeps every call alive, so that an id names one
    for call in listed:
        if id(call) not in known:
            tool = tools.get(id(call.tool)) or tools.setdefault(id(call.tool), _CalledTool(call.tool, rules, policy))
            known[id(call)] = tool.classify(call)
    return tuple([known[id(call)] for call in listed])


class _CalledTool:
    """One tool with what is said of it, and the classes that its calls were given by what spoke about them."""

    def __init__(self, facts: ToolFacts, rules: RuleSet, policy: Policy) -> None:
        self._facts = facts
        self._rules = rules
        self._base = rules.tool_evidence(facts, policy)
        self._calls = rules.calls_of(facts, policy)
        self._said: dict[Heard, tuple[ClassEvidence, ...]] = {}
        self._known: dict[tuple[Heard, ClassEvidence | None], Classified] = {}

    def classify(self, call: CallFacts) -> Classified:
        """The class of one call of this tool."""
        has_result = call.result is not msgspec.UNSET
        heard = self._calls.heard(call.arguments, call.result) if has_result else self._calls.heard(call.arguments)
        said = self._said.get(heard)
        if said is None:
            said = self._said[heard] = (*self._base, *self._calls.evidence(heard))
        runs_text = answerable(said, self._rules.answered_by_proof)
        proof = proof_of(self._facts, call.arguments, call.dialect) if runs_text else None
        known = self._known.get((heard, proof))
        if known is None:
            pieces = said if proof is None else (*without(said, self._rules.answered_by_proof), proof)
            known = self._known[heard, proof] = _classified(self._facts, pieces)
        return self._with_minted(known, call) if has_result else known

    def _with_minted(self, known: Classified, call: CallFacts) -> Classified:
        classified = known.classification
        minted = minted_by_call(call.arguments, call.result, classified.effect, self._rules)
        return known if not minted else _classified(self._facts, (*classified.evidence, *minted))


def _classified(facts: ToolFacts, pieces: tuple[ClassEvidence, ...]) -> Classified:
    return Classified(facts.name, facts.server, resolve(pieces))


def with_code(tools: Iterable[Classified], source: Iterable[SourceTool]) -> tuple[Classified, ...]:
    """The same tools, each with what the source of a tool of that name does. Code only raises, so a name that means
    another tool by chance lowers nothing.
    """
    code: dict[str, list[ClassEvidence]] = {}
    for one in source:
        code.setdefault(one.facts.name, []).extend(one.code)
    return tuple(
        Classified(tool.name, tool.server, resolve((*tool.classification.evidence, *code.get(tool.name, ()))))
        for tool in tools
    )


def classify_traces(analyses: Sequence[TraceAnalysis]) -> tuple[Classified, ...]:
    """The tools of several traces, each once: what every trace shows of a tool is joined, and how often equal calls of
    it agreed over all of them. A proof speaks of calls, so it counts where every trace has one.
    """
    learnt = agreements(analyses)
    pieces: dict[tuple[str, str | None], dict[tuple[str, str, str | None], ClassEvidence]] = {}
    unproven: set[tuple[str, str | None]] = set()
    for analysis in analyses:
        for tool in analysis.tools:
            key = (tool.name, tool.facts.server)
            known = pieces.setdefault(key, {})
            for piece in tool.classified.evidence:
                known.setdefault((piece.source.value, piece.says, piece.rule), piece)
            if all(piece.source is not Source.PROOF for piece in tool.classified.evidence):
                unproven.add(key)
    return tuple(
        Classified(*key, resolve((*_counting(known.values(), proven=key not in unproven), *learnt.evidence(key))))
        for key, known in pieces.items()
    )


def _counting(pieces: Iterable[ClassEvidence], *, proven: bool) -> Iterator[ClassEvidence]:
    return (piece for piece in pieces if proven or piece.source is not Source.PROOF)


# reading -------------------------------------------------------------------------------------------------------------


def read_tools(data: bytes, name: str) -> tuple[ToolFacts, ...]:
    """The tools of an inventory. Raises CorruptEvidenceError naming every line that is none."""
    if _is_table(data):
        return _all([(number, _from_table(row)) for number, row in _table(data, name)], name)
    whole = None if _is_lines(data) else decode(data)
    listed = None if whole is None or whole.error else _listed(whole.value)
    if listed is None and whole is not None and not whole.faults and _from_json(whole.value) is not None:
        listed = [whole.value]  # one tool, written over many lines
    if listed is not None:
        return _all([(number, _from_json(item)) for number, item in enumerate(listed, 1)], name, "tool")
    return _all(list(_lines(data, name, _from_json)), name)


def read_calls(data: bytes, name: str) -> tuple[CallFacts, ...]:
    """The calls of a list, one JSON object a line. Raises CorruptEvidenceError naming every line that is none. Equal
    lines give one and the same object, and so do the tools of calls that say no more of theirs than its name.
    """
    tools: dict[tuple[object, object], ToolFacts] = {}
    return _all(list(_lines(data, name, lambda item: _call(item, tools))), name)


def _all(found: list[tuple[int, Any]], name: str, unit: str = "line") -> tuple[Any, ...]:
    wrong = [f"{unit} {number}" for number, one in found if one is None]
    if wrong:
        more = "" if len(wrong) <= _FAULTS_SHOWN else f" and {len(wrong) - _FAULTS_SHOWN} more"
        message = f"{name}: no object with a name: {', '.join(wrong[:_FAULTS_SHOWN])}{more}"
        raise CorruptEvidenceError(message, hint="`forensics classify --help` shows what is read")
    if not found:
        raise CorruptEvidenceError(f"{name} lists nothing", hint="`forensics classify --help` shows what is read")
    return tuple(one for _, one in found)


def _lines(data: bytes, name: str, read: Callable[[object], _Read]) -> Iterator[tuple[int, _Read]]:
    """What is read of each JSON line, once for equal lines. Raises CorruptEvidenceError for a line that is no JSON."""
    known: dict[bytes, _Read] = {}
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        found = known.get(line)
        if found is None:
            if not line.strip():
                continue
            found = read(_decoded(line, number, name))
            if len(known) >= _REMEMBERED:
                known.clear()
            if len(line) <= _LONGEST:
                known[line] = found
        yield number, found


def _decoded(line: bytes, number: int, name: str) -> object:
    decoded = decode(line)
    twice = [fault.message for fault in decoded.faults if fault.code == "duplicate_key"]
    if decoded.error or twice:
        message = f"{name}: line {number}: {decoded.error or twice[0]}"
        raise CorruptEvidenceError(message, hint="one JSON object a line")
    return decoded.value


def _listed(value: object) -> list[Any] | None:
    """The tools of a whole JSON document: a list, an MCP `tools/list` result, or the whole response around one."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("tools"), list):
        server = value.get("server") or _text(_object(value.get("serverInfo")), "name")
        return [{"server": server, **item} if isinstance(item, dict) else item for item in value["tools"]]
    inner = value.get("result")
    return _listed(inner) if isinstance(inner, dict) else None


def _is_table(data: bytes) -> bool:
    head = data.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    return b"\t" in head and not head.lstrip().startswith((b"{", b"["))


def _is_lines(data: bytes) -> bool:
    """Whether the first line is a JSON document of its own, and others follow."""
    first, _, rest = data.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    return bool(rest.strip()) and not decode(first).error


def _table(data: bytes, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    csv.field_size_limit(_FIELD_LIMIT)
    reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig", "backslashreplace"), newline=""), delimiter="\t")
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise CorruptEvidenceError(f"{name}: line {reader.line_num}: {error}", hint="TSV with a header") from None


_PLAIN_COLUMNS = ("server", "description", "replay_class", "tool_type")


def _from_table(row: dict[str, Any]) -> ToolFacts | None:
    texts = {key: text for key, text in row.items() if isinstance(text, str) and text}
    plain = {key: text for key, text in texts.items() if key in _PLAIN_COLUMNS}
    parsed = {
        "name": texts.get("name") or texts.get("tool_name"),
        "input_schema": unfold(texts.get("input_schema") or texts.get("input_schema_json")),
        "output_schema": unfold(texts.get("output_schema") or texts.get("output_schema_json")),
        "annotations": unfold(texts.get("annotations") or texts.get("annotations_json")),
        "http": unfold(texts.get("http")),
    }
    return _from_json({**plain, **parsed})


def _from_json(item: object) -> ToolFacts | None:
    """The facts of one listed tool, in the words of this project or of MCP and of function definitions."""
    if not isinstance(item, dict):
        return None
    told = {**item, **_object(item.get("function"))}
    name = _text(told, "name") or _text(told, "tool_name") or _text(told, "tool")
    if not name:
        return None
    return ToolFacts(
        name=name,
        server=_text(told, "server"),
        description=_text(told, "description"),
        input_schema=_schema(told, "input_schema", "inputSchema", "parameters"),
        output_schema=_schema(told, "output_schema", "outputSchema"),
        hints=_object(told.get("annotations")),
        replay_class=_text(told, "replay_class"),
        tool_type=_text(told, "tool_type"),
        http=_http(told.get("http")),
    )


def _call(item: object, tools: dict[tuple[object, object], ToolFacts]) -> CallFacts | None:
    if not isinstance(item, dict):
        return None
    name, server = item.get("tool") or item.get("name"), item.get("server")
    plain = _FACTS.isdisjoint(item) and isinstance(name, str) and isinstance(server, (str, NoneType))
    tool = tools.get((name, server)) if plain else None
    if tool is None:
        tool = _from_json({**item, "name": name})
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
    return next((fields[key] for key in keys if isinstance(fields.get(key), dict)), None)


def _http(found: object) -> tuple[str, str] | None:
    fields = _object(found)
    method = _text(fields, "method")
    return None if method is None else (method, _text(fields, "path") or _text(fields, "url") or "")
