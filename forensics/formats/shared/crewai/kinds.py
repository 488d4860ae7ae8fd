"""What is an event of CrewAI by its type? Tables: what begins and what ends something, and what each of these is."""

from __future__ import annotations

import msgspec

LLM, TOOL, AGENT, MCP = "llm_call", "tool_usage", "agent_execution", "mcp_tool_execution"
METHOD = "method_execution"
FAILURE = "tool_failure_detected"
"""A tool came back and says that it did not do its work."""
A2A = "a2a_"
"""How the types begin that tell of agents elsewhere."""

_BEGINS = "_started"
_ENDS = {"_completed": False, "_finished": False, "_failed": True, "_error": True}
"""How the types of events end that end something, and whether it went wrong."""
_FAMILIES = {
    "lite_agent_execution": AGENT,
    "tool_execution": TOOL,
    "knowledge_search_query": "knowledge_retrieval",
}
"""Other names of what begins and ends."""

KINDS = {
    LLM: "llm", TOOL: "tool", AGENT: "agent",
    "memory_query": "retriever", "knowledge_retrieval": "retriever",
}  # fmt: skip
"""What of that is more than what stands around others, in the words of a recorded span."""
HARNESS = frozenset(
    {"crew_kickoff", "crew_train", "crew_test", "task", "flow", METHOD, "llm_guardrail", "memory_retrieval"}
    | {"memory_save", "knowledge_query", "agent_reasoning", "agent_evaluation", "conversation_turn", "checkpoint"}
    | {"checkpoint_fork", "checkpoint_restore", "plan_step", "step_observation", "skill_discovery", "mcp_connection"}
    | {MCP, *KINDS}
)
RUNS = frozenset({"crew_kickoff", "flow"})
"""What a run begins with."""
LEAVES = frozenset({LLM, MCP, "memory_query", "memory_save"})
"""What holds nothing else, where no event says so."""

NOT_RUN = frozenset({"tool_selection_error", "tool_validate_input_error"})
"""A call that came to no tool."""
NOTES = frozenset(
    {"agent_logs_started", "agent_logs_execution", "llm_stream_chunk", "llm_thinking_chunk", "crew_test_result"}
    | {"task_evaluation", "cc_env", "codex_env", "cursor_env", "default_env", "flow_created", "flow_paused"}
    | {"flow_plot", "flow_input_requested", "flow_input_received", "method_execution_paused", "hook_dispatched"}
    | {"conversation_message_added", "conversation_route_selected", "human_feedback_requested"}
    | {"human_feedback_received", "plan_refinement", "plan_replan_triggered", "goal_achieved_early", "skill_loaded"}
    | {"skill_activated", "skill_load_failed", "skill_used", "checkpoint_pruned", "mcp_config_fetch_failed"}
)
"""What is told elsewhere as well, or reaches nothing."""


class Phase(msgspec.Struct, frozen=True):
    """What an event begins or ends, and whether it went wrong."""

    family: str
    begins: bool
    failed: bool = False


def phase_of(kind: str) -> Phase | None:
    """What an event of that type begins or ends; None for one that does neither."""
    if kind in NOTES or kind in NOT_RUN or kind == FAILURE:
        return None
    if kind.endswith(_BEGINS):
        return Phase(_family(kind.removesuffix(_BEGINS)), begins=True)
    for end, failed in _ENDS.items():
        if kind.endswith(end):
            return Phase(_family(kind.removesuffix(end)), begins=False, failed=failed)
    return None


def _family(name: str) -> str:
    return _FAMILIES.get(name, name)


def is_known(kind: str) -> bool:
    """Whether a type is one that CrewAI is known to write."""
    phase = phase_of(kind)
    return kind in NOTES or kind in NOT_RUN or kind == FAILURE or (phase is not None and phase.family in HARNESS)
