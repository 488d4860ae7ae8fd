"""Makes pager.smolagents.otlp.jsonl: the pager incident run by a smolagents agent, instrumented by OpenInference.

The SDK takes no tool name with a dot, and its agent ends by calling `final_answer`: the scenario is told so.
"""

from __future__ import annotations

from typing import Any

from openinference.instrumentation.smolagents import SmolagentsInstrumentor
from otlp_file import exporting
from scenarios import Tool, answered_by_a_call, pager
from smolagents import OpenAIServerModel, ToolCallingAgent
from smolagents import Tool as SmolTool
from smolagents.agents import EMPTY_PROMPT_TEMPLATES
from stub import MODEL, serving


class Offered(SmolTool):
    """One tool of the scenario in the SDK's shape."""

    output_type = "any"
    skip_forward_signature_validation = True

    def __init__(self, tool: Tool) -> None:
        self.name = tool.name
        self.description = tool.description
        self.inputs = {name: {**told, "description": name} for name, told in tool.schema["properties"].items()}
        self.tool = tool
        super().__init__()

    def forward(self, **arguments: Any) -> Any:
        """Call the function."""
        return self.tool.run(**arguments)


def main() -> None:
    """Run the incident once."""
    scenario = answered_by_a_call(pager())
    with exporting("pager.smolagents.otlp.jsonl", scenario.agent) as provider, serving(scenario) as address:
        SmolagentsInstrumentor().instrument(tracer_provider=provider)
        model = OpenAIServerModel(MODEL, api_base=f"{address}/v1", api_key="not-used")
        tools = [Offered(tool) for tool in scenario.tools if tool.name != "final_answer"]  # that one is the SDK's
        prompts = {**EMPTY_PROMPT_TEMPLATES, "system_prompt": scenario.system}
        agent = ToolCallingAgent(tools, model, prompt_templates=prompts, name=scenario.agent, verbosity_level=0)
        agent.run(scenario.user)


if __name__ == "__main__":
    main()
