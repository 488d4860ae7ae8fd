"""Makes pager.db and pager.json: the pager incident, and a rerun by the SDK's own Replay that paged again.

The rerun takes the model's words from the record and runs the tools live. So the engineer is paged a second time
(pg_9147) while the words still say pg_8812.
"""

from __future__ import annotations

from fastai_store import agent, database
from fastaiagent.trace.replay import Replay
from fastaiagent.trace.trace_export import export_trace_to_file
from files import target
from scenarios import pager


def main() -> None:
    """Run the incident, rerun it, export the original."""
    with database("pager.db") as path:
        scenario = pager()
        trace_id = str(agent(scenario).run(scenario.user).trace_id)
        fork = Replay.load(trace_id).fork_at(0)
        fork.with_determinism("recorded", on_miss="error").with_tool_policy("live").rerun()
        export_trace_to_file(path, trace_id, target("pager.json"))


if __name__ == "__main__":
    main()
