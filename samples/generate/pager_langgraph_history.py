"""Makes pager.langgraph-history.json: the pager incident run by a LangGraph agent, as the snapshots of its state.

They are those of `get_state_history`, last first, written by LangChain's own `dumps` (the messages are its objects).
"""

from __future__ import annotations

import json

from files import write_json
from langchain_agent import agent, question
from langchain_core.load import dumps
from langgraph.checkpoint.memory import InMemorySaver
from scenarios import pager
from stub import serving


def main() -> None:
    """Run the incident once, in a thread of its own."""
    scenario = pager()
    thread = {"configurable": {"thread_id": "incident-1"}}
    with serving(scenario) as address:
        graph = agent(scenario, address, InMemorySaver())
        graph.invoke(question(scenario), thread)
        history = [snapshot._asdict() for snapshot in graph.get_state_history(thread)]
    write_json("pager.langgraph-history.json", json.loads(dumps(history)))


if __name__ == "__main__":
    main()
