"""Makes pager.inspect.json and pager.eval: the pager incident as a sample of an Inspect task, in both forms of log."""

from __future__ import annotations

import inspect
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from files import target
from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ModelOutput, ModelUsage, get_model
from inspect_ai.solver import generate, system_message, use_tools
from inspect_ai.tool import ToolCall, ToolDef
from openai_chat import as_text
from scenarios import Scenario, Tool, numbered, pager

if TYPE_CHECKING:
    from collections.abc import Iterator


def outputs(scenario: Scenario) -> Iterator[ModelOutput]:
    """What the model says turn by turn."""
    for turn, ids in numbered(scenario.turns):
        calls = [ToolCall(key, name, arguments) for key, (name, arguments) in zip(ids, turn.calls, strict=True)]
        message = ChatMessageAssistant(content=turn.text or "", tool_calls=calls or None)
        output = ModelOutput.from_message(message, "tool_calls" if calls else "stop")
        output.usage = ModelUsage(
            input_tokens=40, output_tokens=18, total_tokens=58
        )  # else it is counted by a download
        yield output


def definition(tool: Tool) -> Any:
    """One tool in Inspect's shape."""

    async def execute(**arguments: Any) -> str:
        result: Any = tool.run(**arguments)
        return as_text(result)

    execute.__signature__ = inspect.signature(tool.run, eval_str=True)  # type: ignore[attr-defined]
    execute.__annotations__ = inspect.get_annotations(tool.run, eval_str=True)
    parameters = {name: f"The {name}." for name in tool.schema["properties"]}
    return ToolDef(execute, tool.name, tool.description, parameters).as_tool()


def task(scenario: Scenario) -> Task:
    """The scenario as a task of one sample, which nothing scores."""
    tools = [definition(tool) for tool in scenario.tools]
    return Task(
        dataset=[Sample(scenario.user, id=1)],
        solver=[system_message(scenario.system), use_tools(tools), generate()],
        name=scenario.agent,
    )


def run(scenario: Scenario, kind: Literal["json", "eval"], name: str) -> None:
    """Run the task once on the scripted model, in a folder of its own; its log becomes the sample `name`."""
    path = target(name)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the log names the folder and the revision that it stands in
        model = get_model("mockllm/scripted-1", custom_outputs=outputs(scenario))
        (log,) = evaluate(task(scenario), model=model, log_dir="logs", log_format=kind, display="none")
        path.write_bytes(Path(log.location.removeprefix("file://")).read_bytes())
        os.chdir(path.parent)


def main() -> None:
    """Run the task for each form of the log."""
    run(pager(), "json", "pager.inspect.json")
    run(pager(), "eval", "pager.eval")


if __name__ == "__main__":
    main()
