"""Makes pager.agentdojo.json: the pager incident as the one user task of an AgentDojo suite, as the benchmark logs it.

The suite is the scenario's: an environment without anything in it, its tools, and a task without an injection.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import openai
from agentdojo.agent_pipeline import (
    AgentPipeline,
    InitQuery,
    OpenAILLM,
    SystemMessage,
    ToolsExecutionLoop,
    ToolsExecutor,
)
from agentdojo.base_tasks import BaseUserTask
from agentdojo.benchmark import benchmark_suite_without_injections
from agentdojo.functions_runtime import EmptyEnv, Function, FunctionCall
from agentdojo.logging import OutputLogger
from agentdojo.task_suite import TaskSuite
from files import write_json
from pydantic import Field, create_model
from scenarios import Scenario, Tool, pager
from stub import MODEL, serving

TYPES = {"string": str, "number": float, "integer": int}


def function(tool: Tool) -> Function:
    """One tool in the SDK's shape."""
    fields: dict[str, Any] = {
        name: (TYPES[told["type"]], Field(description=name)) for name, told in tool.schema["properties"].items()
    }
    return Function(
        name=tool.name,
        description=tool.description,
        parameters=create_model(f"Input schema for `{tool.name}`", **fields),
        dependencies={},
        run=tool.run,
        full_docstring=tool.description,
        return_type=None,
    )


def suite(scenario: Scenario, folder: Path) -> TaskSuite[EmptyEnv]:
    """The scenario as a suite; it reads its environment from the folder."""
    (folder / "environment.yaml").write_text("nothing: here\n", encoding="utf-8")
    (folder / "injection_vectors.yaml").write_text("{}\n", encoding="utf-8")
    made = TaskSuite(scenario.agent, EmptyEnv, [function(tool) for tool in scenario.tools], folder)

    @made.register_user_task
    class UserTask0(BaseUserTask[EmptyEnv]):
        """Page somebody."""

        PROMPT = scenario.user

        def ground_truth(self, pre_environment: EmptyEnv) -> list[FunctionCall]:  # noqa: ARG002 - the SDK's signature
            """What the scenario's model does."""
            return [FunctionCall(function=n, args=a) for turn in scenario.turns for n, a in turn.calls]

        def utility(self, model_output: str, *_environments: object, **_strict: object) -> bool:
            """Whether the answer is the scenario's."""
            return scenario.turns[-1].text in model_output

    return made


def pipeline(scenario: Scenario, address: str) -> AgentPipeline:
    """The scenario's agent on the Chat Completions model of the stub."""
    model = OpenAILLM(openai.OpenAI(base_url=f"{address}/v1", api_key="not-used"), MODEL)
    loop = ToolsExecutionLoop([ToolsExecutor(), model])
    agent = AgentPipeline([SystemMessage(scenario.system), InitQuery(), model, loop])
    agent.name = MODEL
    return agent


def main() -> None:
    """Run the one task once."""
    scenario = pager()
    with tempfile.TemporaryDirectory() as folder, serving(scenario) as address, OutputLogger(folder):
        home = Path(folder)
        benchmark_suite_without_injections(pipeline(scenario, address), suite(scenario, home), home, force_rerun=True)
        (log,) = home.glob("**/none.json")
        write_json("pager.agentdojo.json", json.loads(log.read_text("utf-8")))


if __name__ == "__main__":
    main()
