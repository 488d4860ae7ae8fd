"""Which attribute means what, in which dialect of the span conventions? Tables only: the first name that is there wins.

Dialects: OpenTelemetry GenAI as it stands (1.37 and later), its older names, FastAIAgent, pydantic-ai, OpenInference,
OpenLLMetry, the Vercel AI SDK, Google ADK, Monocle and Langfuse. `FAMILIES` are the heads of attributes that are
flattened with indices. Vocabularies that are recognised and not read are named too, so that a trace in them never looks
as if it had no calls.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

OPERATION = ("gen_ai.operation.name",)
RUNNER = ("fastaiagent.runner.type",)

AGENT_NAME = ("gen_ai.agent.name", "agent.name", "agent_name", "ai.telemetry.functionId")
AGENT_INPUT = (
    "agent.input", "chain.input", "swarm.input", "supervisor.input",
    "input.value", "traceloop.entity.input", "monocle.input", "langfuse.observation.input",
)  # fmt: skip
AGENT_OUTPUT = (
    "agent.output", "final_result", "chain.output", "swarm.output", "supervisor.output",
    "output.value", "traceloop.entity.output", "monocle.output", "langfuse.observation.output",
)  # fmt: skip
AGENT_STATUS = ("agent.status", "chain.status", "swarm.status", "supervisor.status")
SYSTEM_PROMPT = ("agent.system_prompt",)
AGENT_MODEL = ("agent.llm.config",)
AGENT_CONFIG = ("agent.config",)
AGENT_TOOLS = ("agent.tools",)
AGENT_GUARDRAILS = ("agent.guardrails",)
AGENT_OUTPUT_TYPE = ("agent.output_type", "agent.response_format")
AGENT_STREAMED = ("agent.streamed",)
AGENT_RESUMED = ("agent.resumed_execution_id", "agent.resume.kind", "chain.resumed_execution_id")
"""How an agent was set up, beside its steps: what a rerun rebuilds it from."""
WHOLE_CONVERSATION = ("pydantic_ai.all_messages", "all_messages_events")

PROMPT = (
    "gen_ai.input.messages", "gen_ai.request.messages", "llm.input_messages", "gen_ai.prompt", "ai.prompt.messages",
    "llm.prompts", "monocle.prompt",
)  # fmt: skip
SYSTEM_INSTRUCTIONS = ("gen_ai.system_instructions",)
ANSWER = (
    "gen_ai.output.messages", "llm.output_messages", "gen_ai.completion", "llm.choices", "monocle.answer",
)  # fmt: skip
ANSWER_TEXT = ("gen_ai.response.content", "ai.response.text", "ai.response.object", "fastaiagent.decision.answers")
ANSWER_CALLS = ("gen_ai.response.tool_calls", "ai.response.toolCalls")
REQUEST_BODY = (
    "gcp.vertex.agent.llm_request", "input.value", "traceloop.entity.input", "langfuse.observation.input",
)  # fmt: skip
RESPONSE_BODY = (
    "gcp.vertex.agent.llm_response", "output.value", "traceloop.entity.output", "langfuse.observation.output",
)  # fmt: skip
"""A whole request to a model and its response, where no messages are told apart."""
EVENT_LIST = ("events",)
FINISH = ("gen_ai.response.finish_reasons", "gen_ai.response.finish_reason", "ai.response.finishReason")
MODEL = (
    "gen_ai.response.model", "gen_ai.request.model", "model_name", "llm.model_name", "ai.response.model", "ai.model.id",
    "langfuse.observation.model.name",
)  # fmt: skip
INPUT_TOKENS = (
    "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "ai.usage.inputTokens",
    "ai.usage.promptTokens", "llm.usage.prompt_tokens",
)  # fmt: skip
OUTPUT_TOKENS = (
    "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion",
    "ai.usage.outputTokens", "ai.usage.completionTokens", "llm.usage.completion_tokens",
)  # fmt: skip

TOOL_NAME = (
    "gen_ai.tool.name", "tool.name", "mcp.tool.name", "ai.toolCall.name", "monocle.tool", "traceloop.entity.name",
)  # fmt: skip
TOOL_CALL_ID = ("gen_ai.tool.call.id", "tool_call.id", "ai.toolCall.id", "tool.id")
TOOL_ARGUMENTS = (
    "gen_ai.tool.call.arguments", "tool_arguments", "tool.args", "ai.toolCall.args", "ai.toolCall.input",
    "gcp.vertex.agent.tool_call_args", "input.value", "traceloop.entity.input", "monocle.input",
    "langfuse.observation.input",
)  # fmt: skip
TOOL_RESULT = (
    "gen_ai.tool.call.result", "tool_response", "tool.result", "ai.toolCall.result", "ai.toolCall.output",
    "gcp.vertex.agent.tool_response", "output.value", "traceloop.entity.output", "monocle.output",
    "langfuse.observation.output",
)  # fmt: skip
TOOL_ERROR = ("tool.error",)
TOOL_STATUS = ("tool.status",)
TOOL_ORIGIN = ("tool.origin",)
DISPOSITION = ("fastaiagent.replay.tool_disposition",)
ERROR_TYPE = ("error.type", "exception.type")
ERROR_MESSAGE = ("exception.message", "error.message")

TOOL_DESCRIPTION = ("gen_ai.tool.description", "tool.description", "monocle.description")
TOOL_PARAMETERS = ("tool.parameters",)
REPLAY_CLASS = ("fastaiagent.tool.replay_class",)
TOOL_LISTS = (
    "agent.tools", "gen_ai.tool.definitions", "gen_ai.request.tools", "llm.tools", "llm.request.functions",
    "ai.prompt.tools", "model_request_parameters",
)  # fmt: skip

MCP_METHOD = ("mcp.method.name",)
RETRIEVAL_QUERY = (
    "gen_ai.retrieval.query.text", "gen_ai.retrieval.query", "input.value", "monocle.input",
    "langfuse.observation.input",
)  # fmt: skip
RETRIEVAL_RESULT = (
    "gen_ai.retrieval.documents", "retrieval.documents", "output.value", "monocle.output",
    "langfuse.observation.output",
)  # fmt: skip
DATA_SOURCE = ("gen_ai.data_source.id",)
MEMORY_OPERATION = ("memory.operation",)
MEMORY_QUERY = ("memory.query",)
GUARDRAIL_NAME = ("fastaiagent.guardrail.name",)
GUARDRAIL_ACTION = ("fastaiagent.guardrail.action_taken",)
MIDDLEWARE = ("fastaiagent.middleware",)
GUARDRAIL_SAYS = ("fastaiagent.guardrail.checks", "fastaiagent.guardrail.passed", "output.value")

MCP_RESOURCE = ("mcp.resource.uri", "gen_ai.prompt.name", "mcp.prompt.name")
HTTP_METHOD = ("http.request.method", "http.method")
HTTP_URL = ("url.full", "http.url", "url.path", "http.target", "server.address")
HTTP_SERVED = ("http.route", "http.server_name", "http.client_ip", "client.address")
RPC_METHOD = ("rpc.method",)
RPC = ("rpc.service", "rpc.system", "rpc.system.name")
FUNCTION = ("faas.invoked_name", "faas.invoked_provider", "faas.invoked_region")
DATABASE = ("db.system.name", "db.system", "db.namespace", "db.name")
DATABASE_OPERATION = ("db.operation.name", "db.operation")
DATABASE_TEXT = ("db.query.text", "db.statement")
DATABASE_RESULT = ("db.query.retrieved_documents",)
DATABASE_TABLE = ("db.collection.name", "db.sql.table")
MESSAGING = ("messaging.system",)
MESSAGING_TO = ("messaging.destination.name", "messaging.destination")

SOURCE_TRACE = ("fastaiagent.replay.source_trace_id",)
REPLAY_MODE = ("replay.mode",)
REPLAY_SOURCE = ("fastaiagent.source",)
SERVICE = "service.name"

LANGFUSE_END = ("langfuse.observation.level", "langfuse.observation.status_message")
"""How an observation of Langfuse ended; nothing is said where it ended well."""

SHARED = frozenset({*OPERATION, *RUNNER, *AGENT_NAME, *FINISH, *MODEL, *TOOL_NAME, *INPUT_TOKENS, *OUTPUT_TOKENS})
"""Names of which many spans have the same value."""

WANTED: dict[str, str] = {
    name: name
    for row in (
        OPERATION, RUNNER, AGENT_NAME, AGENT_INPUT, AGENT_OUTPUT, AGENT_STATUS, SYSTEM_PROMPT, WHOLE_CONVERSATION,
        AGENT_MODEL, AGENT_CONFIG, AGENT_GUARDRAILS, AGENT_OUTPUT_TYPE, AGENT_STREAMED, AGENT_RESUMED,
        PROMPT, SYSTEM_INSTRUCTIONS, ANSWER, ANSWER_TEXT, ANSWER_CALLS, EVENT_LIST, FINISH, MODEL, INPUT_TOKENS,
        OUTPUT_TOKENS, TOOL_NAME, TOOL_CALL_ID, TOOL_ARGUMENTS, TOOL_RESULT, TOOL_ERROR, TOOL_STATUS, DISPOSITION,
        ERROR_TYPE, ERROR_MESSAGE, TOOL_DESCRIPTION, REPLAY_CLASS, TOOL_LISTS, MCP_METHOD, RETRIEVAL_QUERY,
        RETRIEVAL_RESULT, DATA_SOURCE, MEMORY_OPERATION, MEMORY_QUERY, GUARDRAIL_NAME, GUARDRAIL_SAYS, MCP_RESOURCE,
        HTTP_METHOD, HTTP_URL, HTTP_SERVED, RPC_METHOD, RPC, FUNCTION, DATABASE, DATABASE_OPERATION, DATABASE_TEXT,
        DATABASE_RESULT, DATABASE_TABLE, MESSAGING, MESSAGING_TO, SOURCE_TRACE, REPLAY_MODE, REPLAY_SOURCE,
        TOOL_ORIGIN, GUARDRAIL_ACTION, MIDDLEWARE, REQUEST_BODY, RESPONSE_BODY, TOOL_PARAMETERS,
        ("openinference.span.kind", "traceloop.span.kind", "ai.operationId", "llm.request.type", "span.type"),
        ("langfuse.observation.type", *LANGFUSE_END, "langfuse.observation.usage_details"),
    )
    for name in row
}  # fmt: skip
"""Every name that is read, interned: other attributes are dropped while the file is read."""

FAMILIES: tuple[str, ...] = (
    "llm.input_messages.", "llm.output_messages.", "gen_ai.prompt.", "gen_ai.completion.", "llm.tools.",
    "llm.request.functions.", "llm.prompts.", "llm.choices.", "retrieval.documents.", "entity.",
)  # fmt: skip
"""Heads of attributes that are flattened: an index follows, and what the item says. Their items are put together under
the head's own name (`dialects`)."""

FOREIGN_PREFIXES: tuple[tuple[str, str], ...] = (
    ("llm.", "openinference"),
    ("ai.prompt", "vercel ai sdk"),
    ("ai.response", "vercel ai sdk"),
    ("ai.toolCall", "vercel ai sdk"),
    ("mlflow.", "mlflow"),
    ("langfuse.", "langfuse"),
    ("langsmith.", "langsmith"),
    ("genkit:", "genkit"),
    ("braintrust.", "braintrust"),
)


class Other(NamedTuple):
    """What an attribute is whose name is in no table: an item of a family, or a mark of an unread vocabulary."""

    family: str
    vocabulary: str


class OtherNames(dict[str, "Other | None"]):
    """The names of one evidence that are in no table, each looked at once; None for one that is dropped."""

    def __missing__(self, name: str) -> Other | None:
        """Look at a name that was not met before."""
        self[name] = found = _other(name)
        return found


def _other(name: str) -> Other | None:
    if name.startswith(FAMILIES):
        family = next(head for head in FAMILIES if name.startswith(head))
        if name[len(family) : len(family) + 1].isdigit():
            return Other(family[:-1], "")
    vocabulary = next((told for prefix, told in FOREIGN_PREFIXES if name.startswith(prefix)), "")
    return Other("", vocabulary) if vocabulary else None


class Role(IntEnum):
    """What a span stands for in an agent run."""

    OTHER = 0
    AGENT = 1
    WORKFLOW = 2
    MODEL = 3
    TOOL = 4
    RETRIEVER = 5
    MEMORY = 6
    GUARDRAIL = 7
    HANDOFF = 8
    HTTP = 9
    DATABASE = 10
    MESSAGING = 11
    FOREIGN = 12
    REMOTE_AGENT = 13
    REMOTE = 14


ROLE_OF_OPERATION: dict[str, Role] = {
    "chat": Role.MODEL,
    "generate_content": Role.MODEL,
    "text_completion": Role.MODEL,
    "completion": Role.MODEL,
    "decide": Role.MODEL,
    "execute_tool": Role.TOOL,
    "invoke_agent": Role.AGENT,
    "invoke_workflow": Role.WORKFLOW,
    "tool_call": Role.TOOL,
    "call_tool": Role.TOOL,
    "retrieval": Role.RETRIEVER,
    "search_memory": Role.MEMORY,
    "create_memory": Role.MEMORY,
    "update_memory": Role.MEMORY,
    "upsert_memory": Role.MEMORY,
    "delete_memory": Role.MEMORY,
    "create_memory_store": Role.MEMORY,
    "delete_memory_store": Role.MEMORY,
    "handoff": Role.HANDOFF,
    "embeddings": Role.OTHER,
    "create_agent": Role.OTHER,
}
"""In lower case. An operation that is not here, on a span that says nothing else, is a gap."""
ROLE_OF_RUNNER: dict[str, Role] = {
    "tool": Role.TOOL,
    "agent": Role.AGENT,
    "memory": Role.MEMORY,
    "chain": Role.WORKFLOW,
    "swarm": Role.WORKFLOW,
    "supervisor": Role.WORKFLOW,
}
ROLE_OF_KIND: dict[str, dict[str, Role]] = {
    "openinference.span.kind": {
        "llm": Role.MODEL, "tool": Role.TOOL, "agent": Role.AGENT, "retriever": Role.RETRIEVER,
        "reranker": Role.RETRIEVER, "guardrail": Role.GUARDRAIL, "chain": Role.OTHER, "embedding": Role.OTHER,
        "evaluator": Role.OTHER, "prompt": Role.OTHER, "unknown": Role.OTHER,
    },
    "traceloop.span.kind": {
        "workflow": Role.WORKFLOW, "task": Role.OTHER, "agent": Role.AGENT, "tool": Role.TOOL,
    },
    "ai.operationId": {
        "ai.generatetext": Role.AGENT, "ai.streamtext": Role.AGENT, "ai.generateobject": Role.AGENT,
        "ai.streamobject": Role.AGENT, "ai.generatetext.dogenerate": Role.MODEL, "ai.streamtext.dostream": Role.MODEL,
        "ai.generateobject.dogenerate": Role.MODEL, "ai.streamobject.dostream": Role.MODEL, "ai.toolcall": Role.TOOL,
        "ai.embed": Role.OTHER, "ai.embed.doembed": Role.OTHER, "ai.embedmany": Role.OTHER,
        "ai.embedmany.doembed": Role.OTHER, "ai.rerank": Role.OTHER, "ai.rerank.dorerank": Role.RETRIEVER,
    },
    "llm.request.type": {
        "chat": Role.MODEL, "completion": Role.MODEL, "embedding": Role.OTHER, "rerank": Role.RETRIEVER,
    },
    "langfuse.observation.type": {
        "generation": Role.MODEL, "tool": Role.TOOL, "agent": Role.AGENT, "retriever": Role.RETRIEVER,
        "guardrail": Role.GUARDRAIL, "chain": Role.OTHER, "span": Role.OTHER, "event": Role.OTHER,
        "embedding": Role.OTHER, "evaluator": Role.OTHER,
    },
    "monocle.span.type": {
        "workflow": Role.WORKFLOW, "agentic.turn": Role.WORKFLOW, "agentic.request": Role.WORKFLOW,
        "agentic.invocation": Role.AGENT, "agentic.tool.invocation": Role.TOOL, "agentic.mcp.invocation": Role.TOOL,
        "agentic.delegation": Role.HANDOFF, "inference": Role.MODEL, "inference.framework": Role.MODEL,
        "inference.modelapi": Role.MODEL, "retrieval": Role.RETRIEVER, "embedding": Role.OTHER, "generic": Role.OTHER,
        "http.process": Role.OTHER, "http.send": Role.HTTP,
    },
}  # fmt: skip
"""The attributes by which other vocabularies name the kind of a span, and what each kind means, in lower case. A kind
that is not here, on a span that says nothing else, is a gap."""
HANDOFF_HEADS = ("handoff", "transfer_to_")
"""How the name of a span begins that handed over to another agent, where it names no tool."""
ROLE_OF_ATTRIBUTES: tuple[tuple[tuple[str, ...], Role], ...] = (
    (("gen_ai.tool.call.id", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.tool.name"), Role.TOOL),
    (("tool.args", "tool.result", "tool.status", "tool.error", "tool_arguments"), Role.TOOL),
    (("fastaiagent.guardrail.name",), Role.GUARDRAIL),
    (("memory.operation",), Role.MEMORY),
    (("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.request.messages"), Role.MODEL),
    (
        (
            "gen_ai.response.content",
            "gen_ai.response.tool_calls",
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.prompt_tokens",
        ),
        Role.MODEL,
    ),
    (("gen_ai.request.model",), Role.MODEL),
    (("agent.input", "agent.output", "agent.tools", "gen_ai.agent.id"), Role.AGENT),
    (("chain.input", "swarm.input", "supervisor.input"), Role.WORKFLOW),
    (("ai.toolCall.name", "ai.toolCall.id", "ai.toolCall.args", "gcp.vertex.agent.tool_call_args"), Role.TOOL),
    (
        (
            "llm.input_messages", "llm.output_messages", "gen_ai.prompt", "gen_ai.completion", "llm.choices",
            "ai.response.text", "ai.response.toolCalls", "gcp.vertex.agent.llm_request",
            "gcp.vertex.agent.llm_response",
        ),
        Role.MODEL,
    ),
    (("input.value", "output.value", "traceloop.entity.input", "traceloop.entity.output"), Role.FOREIGN),
)  # fmt: skip
"""Where no operation is named: the first row of which a span carries a name decides."""

ROLE_OF_CLIENT: tuple[tuple[tuple[str, ...], Role], ...] = (
    ((*MESSAGING, *MESSAGING_TO), Role.MESSAGING),
    ((*DATABASE, *DATABASE_OPERATION, *DATABASE_TEXT, *DATABASE_TABLE), Role.DATABASE),
    ((*FUNCTION, *RPC, *RPC_METHOD), Role.REMOTE),
    ((*HTTP_METHOD, "url.full", "http.url"), Role.HTTP),
)
"""What leaves the agent otherwise, by the first row of which a span carries a name (unless it came from outside)."""
MCP_HOUSEKEEPING = frozenset({
    "initialize", "ping", "tools/list", "resources/list", "resources/templates/list", "prompts/list",
    "logging/setLevel", "server/discover",
})  # fmt: skip
"""Requests of MCP that reach no tool, resource or person; notifications are none either."""
TOOL_HEADS = ("execute_tool ", "tool ")
"""How the name of a span begins that ran a tool, where it carries nothing else."""

PAYLOADS = frozenset({*PROMPT, *ANSWER_TEXT, *ANSWER_CALLS, *TOOL_ARGUMENTS, *TOOL_RESULT, *TOOL_LISTS[1:]})
"""What FastAIAgent writes for every turn and every call, or, with its capture off, for none."""
LEFT_AS_IT_WAS = ("", "none", "warned", "blocked")
"""What a guardrail did where it changed no text and no turn."""
PAUSES = ("interruptsignal", "graphinterrupt", "nodeinterrupt")
"""Exceptions that mean a pause for a person, never a failure."""
INDETERMINATE = (
    "timeout", "timedout", "deadline", "cancelled", "canceled", "connectionreset", "brokenpipe", "disconnected",
)  # fmt: skip
"""Parts of an error's type after which the effect may have happened all the same."""
