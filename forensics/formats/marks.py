"""Which readers can know this evidence at all? Names of which every JSON evidence of a format has one at its top.

A reader is a module with much below it, so one that could only say no is not loaded: a look-up here costs nothing, and
so does a format that is added. What is no JSON has no names, and every reader is asked about it.

Names that any log may have count with what stands there: `data[]` is an array of that name and `call{}` an object,
`data/spans` a member of such an object, `type=message` and `object=list` a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.formats.shared.fields import fields_of, opens_with, spelled, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from forensics.formats.shared.fields import Fields
    from forensics.formats.shared.reader import Look

_MESSAGES = frozenset(
    {"role", "parts", "lc", "type", "request", "body", "object", "input", "messages", "contents", "items"}
    | {
        "candidates",
        "output",
        "custom_id",
        "request_body",
        "modelInput",
        "run_data",
        "steps",
        "outputs",
        "message_type",
    }
)
_RPC_BODIES = ("msg", "message", "payload", "data", "body", "rpc", "raw", "content", "request", "response")

MARKS: dict[str, frozenset[str]] = {
    "fastaiagent-db": frozenset(),
    "fastaiagent-json": frozenset({"export_version"}),
    "otlp": frozenset({"resourceSpans", "trace{}", "batches"}),
    "otel-spans": frozenset(
        {"context", "spanContext", "_spanContext", "span_context", "spans[]", "data[]", "traces[]", "items[]"}
        | {"span_id", "spanId", "spanID", "SpanId", "context.span_id"}
        | {"ai.operationId", "gen_ai.operation.name", "llm.request.type", "monocle.span.type"}
        | {"openinference.span.kind", "span.type", "traceloop.span.kind"}
    ),
    "jaeger": frozenset({"data[]", "spans[]"}),
    "openai-chat": _MESSAGES,
    "openai-responses": _MESSAGES,
    "anthropic-messages": _MESSAGES,
    "gemini": _MESSAGES,
    "pydantic-ai": _MESSAGES,
    "letta": _MESSAGES,
    "claude-code": frozenset({"type", "agentType", "messages"}),
    "codex-cli": frozenset({"payload", "instructions", "git"}),
    "copilot-cli": frozenset({"data"}),
    "openai-agents-traces": frozenset({"object", "data[]"}),
    "openai-agents-runstate": frozenset({"$schemaVersion"}),
    "vscode-chat": frozenset({"requests", "v", "k"}),
    "vcr-cassette": frozenset({"interactions", "http_interactions", "log"}),
    "mcp-jsonrpc": frozenset(
        {"jsonrpc", "method", "tools", "inputSchema", "messages", "history", "log", "entries", *_RPC_BODIES}
    ),
    "kimi": frozenset({"protocol_version", "event", "systemPrompt", "token_count"}),
    "langgraph-db": frozenset(),
    "langgraph-history": frozenset({"history", "states", "snapshots", "checkpoints", "metadata"}),
    "langsmith": frozenset({"run_type", "dotted_order", "parent_run_id", "post", "patch", "runs", "data[]"}),
    "langfuse": frozenset(
        {"traceId", "parentObservationId", "parent_observation_id", "observations", "batch[]", "data[]", "trace{}"}
    ),
    "event-log": frozenset({"type", "kind"}),
    "agentdojo": frozenset({"suite_name"}),
    "inspect": frozenset({"eval"}),
    "tau1": frozenset({"traj", "messages_display"}),
    "tau2": frozenset({"task_id", "info"}),
    "temporal": frozenset({"events", "event_id"}),
    "toolbench": frozenset({"tree", "trys"}),
    "mlflow": frozenset({"data/spans", "spans"}),
    "mini-swe-agent": frozenset({"trajectory_format", "role"}),
    "qwen-code": frozenset({"systemPayload", "toolCallResult", "message/parts"}),
    "sweagent": frozenset({"trajectory", "history"}),
    "pi": frozenset({"type=message", "type=session", "type=session_start"}),
    "cline": frozenset({"sessionId"}),
    "gemini-cli": frozenset({"projectHash", "type=gemini"}),
    "openhands": frozenset({"action", "observation", "history"}),
    "openclaw-telemetry": frozenset({"sessionKey", "channel"}),
    "opencode": frozenset({"info", "messages", "part", "properties", "sessionID", "messageID"}),
    "gemini-responses": frozenset({"response"}),
    "google-adk": frozenset({"events"}),
    "openai-assistants": frozenset(
        {f"object=thread.{kind}{piece}" for kind in ("message", "run", "run.step") for piece in ("", ".delta")}
        | {"object=list", "run_steps", "runs", "data{}", "messages{}", "run{}"}
    ),
    "openai-realtime": frozenset({"event_id", "session", "item", "item_id"}),
    "smolagents": frozenset({"step_number", "step", "steps"}),
    "vercel-ai": frozenset({"finishReason", "steps"}),
    "braintrust": frozenset({"root_span_id", "events[]", "data[]", "rows[]"}),
    "weave": frozenset({"op_name", "calls[]", "batch[]", "call{}", "req{}"}),
    "google-adk-eval": frozenset({"eval_set_id", "query", "data[]"}),
    "anthropic-managed-agents": frozenset({"processed_at", "environment_id", "events[]", "data[]"}),
    "ag2-chat": frozenset({"history", "chat_history", "tool_responses"}),
    "autogen": frozenset(
        {"source", "mode", "stop_reason", "agent_states", "llm_context", "message_thread", "inner_team_state"}
        | {"agent_id", "sender", "handling_agent"}
    ),
    "crewai": frozenset({"event_data", "events", "source_fingerprint", "uri"}),
}
"""By format; a database has none. One that is not here (its name may stand further down) is always asked."""
_DOCUMENTS = frozenset({"atif", "cline", "toolbench"})
"""Formats of which every evidence is one object, not lines and not an array."""

_ANYWHERE = frozenset(
    mark.partition("/")[0].rstrip("[]{}")
    for marks in MARKS.values()
    for mark in marks
    if mark.endswith(("[]", "{}")) or "/" in mark
)
"""Names that count with what stands there."""


def may_be(look: Look, formats: Iterable[str]) -> tuple[str, ...]:
    """Those of these formats that the evidence may have, in their order."""
    if look.is_sqlite:
        return tuple(one for one in formats if not MARKS.get(one) and one not in _DOCUMENTS)
    names = _names(look)
    if names is None:
        return tuple(formats)
    return tuple(
        one
        for one in formats
        if (one not in MARKS or not names.isdisjoint(MARKS[one]))
        and (one not in _DOCUMENTS or look.document is not None)
    )


def _names(look: Look) -> set[str] | None:
    """The names at the top of the objects that the evidence holds, in snake case too, and with what stands there; None
    where anything else stands in it: a text, a list, what is damaged.
    """
    objects = [look.document] if look.document is not None else look.items() or list(look.lines)
    if not objects or not all(objects) or look.line_arrays:
        return None
    if look.document is None and not look.array and not look.from_the_first:
        return None  # what stands before the lines that are objects could be of another format
    names = {name for fields in objects for name in fields}
    if b'"jsonrpc"' in look.head:  # a text log shows messages amid other lines
        names.add("jsonrpc")
    return names | {spelled(name) for name in names} | {said for fields in objects for said in _said(fields)}


def _said(fields: Fields) -> Iterator[str]:
    """What stands under the names that any log may have."""
    yield f"type={text(fields, 'type')}"
    if "object" in fields:
        yield f"object={text(fields, 'object')}"
    for name in _ANYWHERE & fields.keys():
        held = fields[name]
        if opens_with(held, b"["):
            yield f"{name}[]"
        elif opens_with(held, b"{"):
            yield f"{name}{{}}"
            yield from (f"{name}/{inner}" for inner in fields_of(held))
