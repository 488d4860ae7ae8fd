"""Makes pager.langsmith.json: the pager incident run by a LangChain agent, as the LangSmith client posts its runs."""

from __future__ import annotations

import os
import platform

from collector import collecting
from files import write_json
from langchain_agent import agent, question
from langchain_core.tracers import LangChainTracer
from langsmith import Client
from scenarios import pager
from stub import serving

# What the service says of itself: one JSON body for many runs, and nothing in a hurry.
INFO = {
    "batch_ingest_config": {
        "use_multipart_endpoint": False,
        "size_limit": 1000,
        "size_limit_bytes": 20_000_000,
        "scale_up_nthreads_limit": 1,
        "scale_up_qsize_trigger": 1000,
        "scale_down_nempty_trigger": 4,
    }
}


def hide_machine() -> None:
    """The client writes platform and revision into every run: not those of the machine that makes the sample."""
    platform.platform = lambda *_unused, **_named: "Linux"
    os.environ["LANGCHAIN_REVISION_ID"] = "1"


def main() -> None:
    """Run the incident once; every run of it goes out in one batch at the end."""
    hide_machine()
    scenario = pager()
    with collecting({"/info": INFO}) as posted, serving(scenario) as address:
        client = Client(api_url=posted.address, api_key="not-used", auto_batch_tracing=True)
        tracer = LangChainTracer(client=client, project_name=scenario.agent)
        agent(scenario, address).invoke(question(scenario), {"callbacks": [tracer]})
        client.flush()
        client.cleanup()
    (batch,) = posted.bodies
    write_json("pager.langsmith.json", batch)


if __name__ == "__main__":
    main()
