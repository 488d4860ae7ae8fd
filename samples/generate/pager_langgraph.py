"""Makes pager.langgraph.db: the pager incident run by a LangGraph agent, as the checkpoints of its SQLite saver."""

from __future__ import annotations

import tempfile
from pathlib import Path

from files import target
from langchain_agent import agent, question
from langgraph.checkpoint.sqlite import SqliteSaver
from scenarios import pager
from sqlite_file import compact
from stub import serving


def main() -> None:
    """Run the incident once, in a thread of its own."""
    scenario = pager()
    with tempfile.TemporaryDirectory() as folder, serving(scenario) as address:
        path = Path(folder) / "checkpoints.db"
        with SqliteSaver.from_conn_string(str(path)) as saver:
            thread = {"configurable": {"thread_id": "incident-1"}}
            agent(scenario, address, saver).invoke(question(scenario), thread)
            compact(path, target("pager.langgraph.db"))


if __name__ == "__main__":
    main()
