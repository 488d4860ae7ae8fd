"""Makes pager.vcr.yaml: the pager incident over the OpenAI client, as a VCR cassette of its requests and responses."""

from __future__ import annotations

from typing import Any

import vcr
from files import target
from openai import OpenAI
from openai_chat import run
from scenarios import pager
from stub import serving

# What names a machine or changes with it; a cassette that is kept is recorded so.
REQUEST_HEADERS = ["authorization", "user-agent", "x-stainless-arch", "x-stainless-os", "x-stainless-runtime-version"]


def without_clock(response: dict[str, Any]) -> dict[str, Any]:
    """The response without the time and the server's version."""
    kept = {name: value for name, value in response["headers"].items() if name.lower() not in ("date", "server")}
    return {**response, "headers": kept}


def main() -> None:
    """Run the incident once; the model is behind HTTP, the tools are functions of the script."""
    scenario = pager()
    path = target("pager.vcr.yaml")
    recorder = vcr.VCR(filter_headers=REQUEST_HEADERS, before_record_response=without_clock, record_mode="once")
    with serving(scenario) as address, recorder.use_cassette(str(path)):
        client = OpenAI(base_url=f"{address}/v1", api_key="not-used")
        run(client, scenario, lambda _id, name, arguments: scenario.call(name, arguments))


if __name__ == "__main__":
    main()
