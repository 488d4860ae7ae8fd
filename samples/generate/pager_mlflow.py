"""Makes pager.mlflow.json: the pager incident over the OpenAI client, as a trace of MLflow's own instrumentation."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

import mlflow
from files import target
from mlflow.entities import SpanType
from openai import OpenAI
from openai_chat import run
from scenarios import Scenario, pager
from stub import serving


def traced_run(client: OpenAI, scenario: Scenario) -> str:
    """Run the agent inside an agent span, each tool inside a tool span; returns the answer."""

    def execute(_call_id: str, name: str, arguments: dict[str, Any]) -> object:
        with mlflow.start_span(name, span_type=SpanType.TOOL) as span:
            span.set_inputs(arguments)
            result = scenario.call(name, arguments)
            span.set_outputs(result)
            return result

    with mlflow.start_span(scenario.agent, span_type=SpanType.AGENT) as span:
        span.set_inputs(scenario.user)
        answer = run(client, scenario, execute)[-1]["content"]
        span.set_outputs(answer)
        return str(answer)


def hide_machine() -> None:
    """The trace names the user, and the script with its folder: not those of the machine that makes the sample."""
    os.environ["LOGNAME"] = "oncall"
    sys.argv[0] = "pager_mlflow.py"


def main() -> None:
    """Run the incident with the client instrumented."""
    hide_machine()
    scenario = pager()
    with tempfile.TemporaryDirectory() as folder, serving(scenario) as address:
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        experiment = mlflow.create_experiment(scenario.agent, artifact_location="mlflow-artifacts:/oncall")
        mlflow.set_experiment(experiment_id=experiment)
        mlflow.openai.autolog()
        traced_run(OpenAI(base_url=f"{address}/v1", api_key="not-used"), scenario)
        mlflow.flush_trace_async_logging()
        trace = mlflow.get_trace(mlflow.get_last_active_trace_id())
        target("pager.mlflow.json").write_text(trace.to_json(pretty=True) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
