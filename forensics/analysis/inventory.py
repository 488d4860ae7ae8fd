"""What is each tool of an inventory, and each call of a list? Reads both as a person keeps them, and classifies.

An inventory is JSON lines, TSV with a header, one tool, or what an MCP server answers to `tools/list`; calls are JSON
lines (CONTRACT: files a user writes). Both are the operator's own files, so a fault is an error and nothing is guessed.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.analysis.agreements import agreements
from forensics.analysis.returned import minted_by_call
from forensics.core.classes import ClassEvidence, Classification, Source, ToolFacts, resolve
from forensics.core.jsonvalue import decode, unfold
from forensics.errors import CorruptEvidenceError
from forensics.proofs.calls import answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from forensics.analysis.run import TraceAnalysis
    from forensics.analysis.source_tools import SourceTool
    from forensics.core.policy import Policy
    from forensics.rules.engine import RuleSet

_FAULTS_SHOWN = 20
_FIELD_LIMIT = 64 * 1024 * 1024  # bytes of one TSV field: a tool's input schema


class Classified(msgspec.Struct, frozen=True):
    """One tool or call with its class."""

    name: str
    server: str | None
    classification: Classification


class CallFacts(msgspec.Struct, frozen=True):
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
    """The class of each call: what is known of its tool, and what its arguments and result show."""
    return tuple(Classified(c.tool.name, c.tool.server, resolve(_call_evidence(c, rules, policy))) for c in calls)


def with_code(tools: Iterable[Classified], source: Iterable[SourceTool]) -> tuple[Classified, ...]:
    """The same tools, each with what the source of a tool of that name does. Code only raises, so a name that means
    another tool by chance lowers nothing.
    """
    code: dict[str, list[ClassEvidence]] = {}
    for one in source:
        code.setdefault(one.facts.name, []).extend(one.code)
    return tuple(
        tool if not code.get(tool.name) else _joined(tool, (*tool.classification.evidence, *code[tool.name]))
        for tool in tools
    )


def _joined(tool: Classified, pieces: tuple[ClassEvidence, ...]) -> Classified:
    return Classified(tool.name, tool.server, resolve(pieces))


def _call_evidence(call: CallFacts, rules: RuleSet, policy: Policy) -> tuple[ClassEvidence, ...]:
    said = (
        *rules.tool_evidence(call.tool, policy),
        *rules.call_evidence(call.tool, call.arguments, policy),
        *(() if call.result is msgspec.UNSET else rules.result_evidence(call.tool, call.arguments, call.result)),
    )
    known = answer(said, call.tool, call.arguments, rules.answered_by_proof, call.dialect)
    if call.result is msgspec.UNSET:
        return known
    return (*known, *minted_by_call(call.arguments, call.result, resolve(known).effect, rules))


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
    whole = decode(data)
    listed = None if whole.error else _listed(whole.value)
    if listed is None and not whole.faults and _from_json(whole.value) is not None:
        listed = [whole.value]  # one tool, written over many lines
    if listed is not None:
        return _all([(number, _from_json(item)) for number, item in enumerate(listed, 1)], name, "tool")
    return _all([(number, _from_json(item)) for number, item in _json_lines(data, name)], name)


def read_calls(data: bytes, name: str) -> tuple[CallFacts, ...]:
    """The calls of a list, one JSON object a line. Raises CorruptEvidenceError naming every line that is none."""
    return _all([(number, _call(item)) for number, item in _json_lines(data, name)], name)


def _all(found: list[tuple[int, Any]], name: str, unit: str = "line") -> tuple[Any, ...]:
    wrong = [f"{unit} {number}" for number, one in found if one is None]
    if wrong:
        more = "" if len(wrong) <= _FAULTS_SHOWN else f" and {len(wrong) - _FAULTS_SHOWN} more"
        message = f"{name}: no object with a name: {', '.join(wrong[:_FAULTS_SHOWN])}{more}"
        raise CorruptEvidenceError(message, hint="`forensics classify --help` shows what is read")
    if not found:
        raise CorruptEvidenceError(f"{name} lists nothing", hint="`forensics classify --help` shows what is read")
    return tuple(one for _, one in found)


def _json_lines(data: bytes, name: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        decoded = decode(line)
        twice = [fault.message for fault in decoded.faults if fault.code == "duplicate_key"]
        if decoded.error or twice:
            message = f"{name}: line {number}: {decoded.error or twice[0]}"
            raise CorruptEvidenceError(message, hint="one JSON object a line")
        yield number, decoded.value


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


def _call(item: object) -> CallFacts | None:
    if not isinstance(item, dict):
        return None
    tool = _from_json({**item, "name": item.get("tool") or item.get("name")})
    if tool is None:
        return None
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
