"""Makes pager.monocle.json: the pager incident run by an OpenAI Agents agent, as the trace file that Monocle writes."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from files import target
from monocle_apptrace import setup_monocle_telemetry
from opentelemetry import trace
from scenarios import pager
from stub import serving

PLACE = "/srv/oncall"  # where the spans say that the sources stand


def main() -> None:
    """Run the incident once; the folders of the sources are told as another one."""
    scenario = pager()
    with tempfile.TemporaryDirectory() as folder, serving(scenario) as address:
        os.environ["MONOCLE_TRACE_OUTPUT_PATH"] = folder
        setup_monocle_telemetry(workflow_name=scenario.agent, monocle_exporters_list="file")
        from agents import Runner, set_trace_processors
        from pager_openai_agents import agent

        set_trace_processors([])
        Runner.run_sync(agent(scenario, address), scenario.user)
        trace.get_tracer_provider().shutdown()
        (file,) = Path(folder).iterdir()
        spans = re.sub(r'(?<="span_source": ")[^"]*/', f"{PLACE}/", file.read_text("utf-8"))
    target("pager.monocle.json").write_text(spans, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
