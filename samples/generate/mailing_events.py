"""Makes mailing.events.jsonl: the plain event log of an agent loop written by hand, with no SDK at all.

The loop logs what it does, one JSON object a line, and asks a person before it runs a tool that is not a read.
"""

from __future__ import annotations

import json
from typing import Any

from files import target
from scenarios import Scenario, mailing, numbered


def events(scenario: Scenario) -> list[dict[str, Any]]:
    """Run the agent; returns its log, `seq` counting from 1."""
    log: list[dict[str, Any]] = []

    def note(kind: str, **fields: object) -> None:
        log.append({"seq": len(log) + 1, "type": kind, **fields})

    needs_approval = {tool.name for tool in scenario.tools if tool.replay_class != "read_only"}
    note("user", text=scenario.user)
    for turn, ids in numbered(scenario.turns):
        if turn.text:
            note("model", text=turn.text)
        for call_id, (name, arguments) in zip(ids, turn.calls, strict=True):
            note("tool_call", id=call_id, name=name, args=arguments)
            if name in needs_approval:
                note("approval_request", approval_id=f"apr_{call_id}", call_id=call_id)
                note("approval", approval_id=f"apr_{call_id}", decision="approve")
            note("tool_result", call_id=call_id, result=scenario.call(name, arguments))
    return log


def main() -> None:
    """Write one event a line."""
    lines = [json.dumps(event) + "\n" for event in events(mailing())]
    target("mailing.events.jsonl").write_text("".join(lines), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
