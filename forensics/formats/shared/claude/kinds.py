"""What do the types, marks and names in a Claude Code session stand for? Tables, whichever way its records are told."""

from __future__ import annotations

from forensics.core.trace import Boundary

SUB_AGENT_TOOLS = frozenset({"Task", "Agent"})
TEXTS = frozenset({"text", "thinking", "redacted_thinking"})
MEDIA = frozenset({"image", "document", "file"})
WORDS = ("text", "thinking")
"""The fields of a block in which its text may stand."""
CONTENT = ("content", "output")
"""The fields of a result in which its content may stand."""
STRUCTURED = ("toolUseResult", "tool_use_result")
"""The fields of a record in which its own copy of a result may stand."""
CALLS_BESIDE = frozenset({"tool_calls", "tool_call", "function_call", "toolCalls", "toolUse"})
"""The fields of a message that hold calls beside its content."""
CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
"""The stop reasons of an output that is not whole."""
SYNTHETIC = "<synthetic>"
"""The model of what the harness said in the model's place."""
AGENT_NEWS = "agent_progress"
"""News of a sub-agent, which carry its own records."""
API_ERROR, LOCAL_COMMAND = "api_error", "local_command"
COMPACTIONS = frozenset({"compact_boundary", "microcompact_boundary"})


def is_call(kind: str) -> bool:
    """Whether a block of that type asks for a call: `tool_use`, `server_tool_use` and the like."""
    return kind.endswith("tool_use")


def is_result(kind: str) -> bool:
    """Whether a block of that type is the result of a call: `tool_result`, `web_search_tool_result` and the like."""
    return kind.endswith("tool_result")


def is_read(speaker: str, kind: str) -> bool:
    """Whether a block of this kind is read in a record of this speaker."""
    calls = is_call(kind) and speaker == "assistant"
    return calls or is_result(kind) or kind in TEXTS or kind in MEDIA


def boundary(tool: str, kind: str) -> Boundary:
    """What a call reaches, by its tool and the type of its block."""
    if kind == "server_tool_use":
        return Boundary.PROVIDER_TOOL
    return Boundary.SUB_AGENT if tool in SUB_AGENT_TOOLS else Boundary.TOOL
