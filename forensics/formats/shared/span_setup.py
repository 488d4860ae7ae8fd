"""How was an agent set up, by the span of its run? What a rerun rebuilds it from, as the span has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.setup import Setup
from forensics.formats.shared import span_names as names
from forensics.formats.shared.span_names import Role

if TYPE_CHECKING:
    from forensics.core.evidence import Locator
    from forensics.formats.shared.spans import Span

_TRUE = frozenset({"true", "1"})


def setup_of(span: Span, role: Role, agent: str, locator: Locator) -> Setup:
    """The setup that the span of an agent, or of what steers several, records."""
    steers = span.text(names.RUNNER) or "workflow"
    return Setup(
        kind="agent" if role is Role.AGENT else steers,
        name=agent,
        locator=locator,
        input=span.payload(names.AGENT_INPUT),
        prompt=span.payload(names.SYSTEM_PROMPT),
        model=span.payload(names.AGENT_MODEL),
        tools=span.payload(names.AGENT_TOOLS),
        guardrails=span.payload(names.AGENT_GUARDRAILS),
        config=span.payload(names.AGENT_CONFIG),
        output_type=span.payload(names.AGENT_OUTPUT_TYPE),
        streamed=span.text(names.AGENT_STREAMED).lower() in _TRUE,
        resumed=span.get(names.AGENT_RESUMED) is not None,
        paused=span.text(names.AGENT_STATUS) == "paused",
    )
