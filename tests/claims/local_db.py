"""How is a database made in which a run stands as FastAIAgent's spans tell it? Rows of the one table that a trace
needs, in the shapes that version 1.94.0 writes.
"""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

TRACE = "0123456789abcdef0123456789abcdef"
_TABLE = """CREATE TABLE spans (span_id TEXT PRIMARY KEY, trace_id TEXT NOT NULL, parent_span_id TEXT, name TEXT,
start_time TEXT, end_time TEXT, status TEXT DEFAULT 'OK', attributes TEXT DEFAULT '{}', events TEXT DEFAULT '[]',
project_id TEXT NOT NULL DEFAULT '', synced INTEGER NOT NULL DEFAULT 0)"""


class Run:
    """One run on its way to a database. Spans are told in the order in which they begin."""

    def __init__(self, name: str = "shipping", prompt: str = "You answer shipping questions.") -> None:
        self.rows: list[tuple[Any, ...]] = []
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": prompt}]
        self.root: dict[str, Any] = {
            "agent.name": name,
            "agent.config": json.dumps({"max_iterations": 5, "tool_choice": "auto", "temperature": None}),
            "agent.llm.config": json.dumps({"provider": "test", "model": "function-model"}),
            "agent.guardrails": "[]",
            "agent.system_prompt": prompt,
            "agent.status": "completed",
        }
        self.tools: list[dict[str, Any]] = []
        self.heads: list[tuple[str, dict[str, Any]]] = []
        self._parents: list[str] = [self._span(f"agent.{name}", self.root, parent=None)]

    def asked(self, said: str) -> Run:
        """What the user said first."""
        self.root["agent.input"] = said
        self.messages.append({"role": "user", "content": said})
        return self

    def tool(self, name: str, replay_class: str = "side_effecting") -> Run:
        """A tool that the agent has."""
        schema = {"type": "object", "properties": {}}
        told = {"name": name, "description": "", "tool_type": "function", "parameters": schema}
        self.tools.append({**told, "replay_class": replay_class, "config": {}})
        self.root["agent.tools"] = json.dumps(self.tools)
        return self

    def guardrails(self, *told: dict[str, Any]) -> Run:
        """The guardrails of the agent."""
        self.root["agent.guardrails"] = json.dumps(told)
        return self

    def turn(self, text: str | None, *calls: tuple[str, dict[str, Any]], model: str = "function-model") -> Run:
        """One turn of the model."""
        asked = [{"id": f"call_{len(self.rows)}_{n}", "name": c[0], "arguments": c[1]} for n, c in enumerate(calls)]
        attributes: dict[str, Any] = {
            "gen_ai.system": "test",
            "gen_ai.request.model": model,
            "gen_ai.request.messages": json.dumps(self.messages),
            "gen_ai.response.finish_reason": "tool_calls" if calls else "stop",
        }
        if text is not None:
            attributes["gen_ai.response.content"] = text
        if calls:
            attributes["gen_ai.response.tool_calls"] = json.dumps(asked)
        self._span(f"llm.test.{model}", attributes)
        told = [
            {
                "id": one["id"],
                "type": "function",
                "function": {"name": one["name"], "arguments": json.dumps(one["arguments"])},
            }
            for one in asked
        ]
        self.messages.append({"role": "assistant", "content": text, **({"tool_calls": told} if told else {})})
        self._waiting = asked
        self.root["agent.output"] = text or ""
        return self

    def ran(self, result: Any) -> Run:
        """The next call that was asked for ran and returned this."""
        call = self._waiting.pop(0)
        text = result if isinstance(result, str) else json.dumps(result)
        attributes = {
            "tool.name": call["name"],
            "tool.origin": "function",
            "fastaiagent.runner.type": "tool",
            "fastaiagent.tool.replay_class": "side_effecting",
            "tool.args": json.dumps(call["arguments"]),
            "tool.status": "ok",
            "tool.result": text,
        }
        self._span(f"tool.{call['name']}", attributes)
        self.messages.append({"role": "tool", "content": text, "tool_call_id": call["id"]})
        return self

    def guarded(self, name: str, *, passed: bool = True, judge: str | None = None) -> Run:
        """A guardrail decided, and what its own model said for it."""
        attributes = {
            "fastaiagent.guardrail.name": name,
            "fastaiagent.guardrail.position": "output",
            "fastaiagent.guardrail.passed": passed,
            "fastaiagent.guardrail.checks": json.dumps([{"name": name, "result": "pass" if passed else "block"}]),
            "fastaiagent.guardrail.action_taken": "none" if passed else "blocked",
        }
        guard = self._span(f"guardrail.{name}", attributes)
        if judge is not None:
            asked = [{"role": "user", "content": f"Is this polite? {self.root['agent.output']}"}]
            told = {"gen_ai.request.model": "judge", "gen_ai.request.messages": json.dumps(asked)}
            self._span("llm.test.judge", {**told, "gen_ai.response.content": judge}, parent=guard)
        return self

    def paused(self, why: str) -> Run:
        """The next call that was asked for paused for a person."""
        call = self._waiting.pop(0)
        attributes = {"tool.name": call["name"], "tool.origin": "function", "tool.args": json.dumps(call["arguments"])}
        told = {"exception.type": "fastaiagent.chain.interrupt.InterruptSignal", "exception.message": why}
        self._span(
            f"tool.{call['name']}", attributes, status="ERROR", events=[{"name": "exception", "attributes": told}]
        )
        self.root |= {"agent.status": "paused", "agent.output": ""}
        return self

    def remembered(self, operation: str) -> Run:
        """The agent's memory was read or written."""
        attributes = {"fastaiagent.runner.type": "memory", "memory.operation": operation, "memory.message_count": 2}
        self._span(f"memory.{operation}", attributes)
        return self

    def into(self, place: Path) -> Path:
        """The database."""
        with sqlite3.connect(place) as database:
            database.execute("PRAGMA user_version = 28")
            database.execute(_TABLE)
            for span_id, parent, name, start, attributes, status, events in self.rows:
                end = f"2026-11-29T10:00:59.{len(self.rows):06}+00:00" if parent is None else start
                row = (span_id, TRACE, parent, name, start, end, status, json.dumps(attributes), json.dumps(events))
                columns = "span_id, trace_id, parent_span_id, name, start_time, end_time, status, attributes, events"
                database.execute(f"INSERT INTO spans ({columns}) VALUES ({', '.join('?' * 9)})", row)
        database.close()
        return place

    def _span(
        self, name: str, attributes: dict[str, Any], *, parent: str | None = "", status: str = "UNSET", events: Any = ()
    ) -> str:
        span_id = f"{len(self.rows) + 1:016x}"
        above = self._parents[-1] if parent == "" else parent
        start = f"2026-11-29T10:00:{len(self.rows):02}.000000+00:00"
        self.rows.append((span_id, above, name, start, attributes, status, list(events)))
        return span_id


def shipping() -> Run:
    """The run of the source document: an order is looked up."""
    run = Run().tool("lookup_order", "read_only").asked("Where is order 1042?")
    run.turn(None, ("lookup_order", {"order_id": "1042"}))
    run.ran({"order": "1042", "status": "shipped", "carrier": "DHL"})
    return run.turn("Order 1042 was shipped via DHL.")


def charging() -> Run:
    """A card is charged."""
    run = Run("billing", "You charge cards.").tool("charge_card").asked("charge 42")
    run.turn(None, ("charge_card", {"amount": 42.0}))
    return run.ran({"status": "charged", "id": "ch_5502"}).turn("Done: charged 42.00.")
