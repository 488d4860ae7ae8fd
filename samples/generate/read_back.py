"""Does every sample hold what its scenario says, and nothing of the machine that made it?

Reads the samples with the standard library alone (so that it doubts the SDKs and this project alike), prints the tool
calls of each with their results, and ends 1 when a call differs from the scenario or a file names this machine. What
holds MessagePack or YAML is searched for this machine's names alone; `pager.eval` is compressed and is not looked at.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import sys
import tempfile
from ast import literal_eval
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scenarios
from files import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Call = tuple[str, Any, Any]  # tool name, arguments, result (None: none recorded)
GENAI = ("gen_ai.tool.name", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result")
VERCEL = ("ai.toolCall.name", "ai.toolCall.args", "ai.toolCall.result")


def plain(value: object) -> object:
    """A value that may be JSON in a string, as the value."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def chat(path: Path) -> list[list[Call]]:
    """Calls of a Chat Completions message list, bare or under `messages`."""
    document = json.loads(path.read_bytes())
    messages = document if isinstance(document, list) else document["messages"]
    results = {m["tool_call_id"]: plain(m["content"]) for m in messages if m["role"] == "tool"}
    calls = [call for message in messages for call in message.get("tool_calls", ())]
    return [[(c["function"]["name"], plain(c["function"]["arguments"]), results.get(c["id"])) for c in calls]]


def responses(path: Path) -> list[list[Call]]:
    """Calls of a Responses item list."""
    items = json.loads(path.read_bytes())
    results = {i["call_id"]: plain(i["output"]) for i in items if i.get("type") == "function_call_output"}
    calls = [item for item in items if item.get("type") == "function_call"]
    return [[(c["name"], plain(c["arguments"]), results.get(c["call_id"])) for c in calls]]


def anthropic(path: Path) -> list[list[Call]]:
    """Calls of an Anthropic message list."""
    messages = json.loads(path.read_bytes())["messages"]
    blocks = [block for m in messages if isinstance(m["content"], list) for block in m["content"]]
    results = {b["tool_use_id"]: plain(b["content"]) for b in blocks if b["type"] == "tool_result"}
    return [[(b["name"], b["input"], results.get(b["id"])) for b in blocks if b["type"] == "tool_use"]]


def events(path: Path) -> list[list[Call]]:
    """Calls of a plain event log."""
    log = [json.loads(line) for line in path.read_bytes().splitlines()]
    results = {event["call_id"]: event["result"] for event in log if event["type"] == "tool_result"}
    return [[(e["name"], e["args"], results.get(e["id"])) for e in log if e["type"] == "tool_call"]]


def documents(path: Path) -> list[Any]:
    """The JSON documents that stand one after another in a file, on a line each or not."""
    text, decoder = path.read_text("utf-8").strip(), json.JSONDecoder()
    found, at = [], 0
    while at < len(text):
        document, at = decoder.raw_decode(text, at)
        found.append(document)
        at += len(text[at:]) - len(text[at:].lstrip())
    return found


def otlp_spans(path: Path) -> list[dict[str, str | None]]:
    """The texts among the attributes of each span in an OTLP file, by start time."""
    spans = [
        span
        for document in documents(path)
        for resource in document["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
    spans.sort(key=lambda span: int(span["startTimeUnixNano"]))
    return [{a["key"]: a["value"].get("stringValue") for a in span["attributes"]} for span in spans]


def otlp(path: Path) -> list[list[Call]]:
    """Calls of the GenAI tool spans in an OTLP JSON Lines file."""
    return tool_calls(otlp_spans(path), GENAI)


def tool_calls(spans: list[dict[str, Any]], names: tuple[str, str, str]) -> list[list[Call]]:
    """Calls of the spans that have these attributes: tool, arguments, result."""
    return [[(at[names[0]], plain(at[names[1]]), plain(at[names[2]])) for at in spans if names[2] in at]]


def vercel(path: Path) -> list[list[Call]]:
    """Calls of the tool spans of the Vercel AI SDK."""
    return tool_calls(otlp_spans(path), VERCEL)


def printed(path: Path) -> list[list[Call]]:
    """Calls of the GenAI tool spans that a console exporter printed."""
    return tool_calls([span["attributes"] for span in documents(path)], GENAI)


def span_list(path: Path) -> list[list[Call]]:
    """Calls of the GenAI tool spans in a list of spans."""
    return tool_calls([span["attributes"] for span in json.loads(path.read_bytes())], GENAI)


def monocle(path: Path) -> list[list[Call]]:
    """Calls of Monocle's tool spans, whose arguments and results stand in their events."""
    spans = [s for s in json.loads(path.read_bytes()) if s["attributes"]["span.type"] == "agentic.tool.invocation"]
    told = [(s["attributes"]["entity.1.name"], [event["attributes"] for event in s["events"]]) for s in spans]
    return [[(name, plain(given["input"]), plain(got["response"])) for name, (given, got) in told]]


def codex(path: Path) -> list[list[Call]]:
    """Calls of MCP tools that a Codex rollout says were completed."""
    payloads = [record["payload"] for record in documents(path)]
    items = [payload["item"] for payload in payloads if payload.get("type") == "item_completed"]
    calls = [item for item in items if item["type"] == "McpToolCall"]
    return [[(c["tool"], c["arguments"], plain(c["result"]["content"][0]["text"])) for c in calls]]


def atif(path: Path) -> list[list[Call]]:
    """Calls of an ATIF trajectory that was made of a Codex rollout, with its names and what it puts before a result."""
    steps = json.loads(path.read_bytes())["steps"]
    results = {r["source_call_id"]: r["content"] for s in steps for r in s.get("observation", {}).get("results", ())}
    calls = [call for step in steps for call in step.get("tool_calls", ())]
    told = {key: plain(said.partition("\nOutput:\n")[2]) for key, said in results.items()}
    return [[(c["function_name"], c["arguments"], told.get(c["tool_call_id"])) for c in calls]]


def as_codex_shows_it() -> scenarios.Scenario:
    """The pager incident with the names that Codex offers, a text that a tool returned as an object."""
    scenario = scenarios.pager()
    tools = [replace(tool, name=tool.name.replace(".", "_")) for tool in scenario.tools]
    turns = [replace(t, calls=tuple((n.replace(".", "_"), a) for n, a in t.calls)) for t in scenario.turns]
    wrapped = [replace(t, run=wrapping(t.run)) if t.name == "incident_annotate" else t for t in tools]
    return replace(scenario, tools=tuple(wrapped), turns=tuple(turns))


def wrapping(run: Callable[..., Any]) -> Callable[..., Any]:
    """The function, its result under `result`."""
    return lambda **arguments: {"result": run(**arguments)}


def history(path: Path) -> list[list[Call]]:
    """Calls of the latest snapshot of a LangGraph state."""
    messages = [message["kwargs"] for message in json.loads(path.read_bytes())[0]["values"]["messages"]]
    results = {m["tool_call_id"]: plain(m["content"]) for m in messages if m["type"] == "tool"}
    calls = [call for message in messages for call in message.get("tool_calls", ())]
    return [[(c["name"], c["args"], results.get(c["id"])) for c in calls]]


def run_state(path: Path) -> list[list[Call]]:
    """Calls among the items of an OpenAI Agents run state."""
    items = [item["raw_item"] for item in json.loads(path.read_bytes())["generated_items"]]
    results = {i["call_id"]: plain(i["output"]) for i in items if i["type"] == "function_call_output"}
    calls = {item["call_id"]: item for item in items if item["type"] == "function_call"}
    return [[(c["name"], plain(c["arguments"]), results.get(c["call_id"])) for c in calls.values()]]


def langfuse(path: Path) -> list[list[Call]]:
    """Calls of Langfuse's tool observations in an OTLP file, which name the tool as their span."""
    head = "langfuse.observation."
    spans = [sc["spans"] for d in documents(path) for r in d["resourceSpans"] for sc in r["scopeSpans"]]
    told = [
        (s["name"], {a["key"]: a["value"].get("stringValue") for a in s["attributes"]}) for one in spans for s in one
    ]
    tools = [(name, at) for name, at in told if at[head + "type"] == "tool"]
    return [[(name, plain(at[head + "input"]), plain(at[head + "output"])) for name, at in tools]]


def adk(path: Path) -> list[list[Call]]:
    """Calls among the events of an ADK session; what is no object stands under `result`."""
    parts = [part for event in json.loads(path.read_bytes())["events"] for part in event["content"]["parts"]]
    answers = [part["function_response"] for part in parts if "function_response" in part]
    results = {answer["id"]: answer["response"].get("result", answer["response"]) for answer in answers}
    calls = [part["function_call"] for part in parts if "function_call" in part]
    return [[(c["name"], c["args"], results.get(c["id"])) for c in calls]]


def smolagents(path: Path) -> list[list[Call]]:
    """Calls of the tool spans of smolagents, with the arguments inside those of the tool's own call."""
    tools = [at for at in otlp_spans(path) if at["openinference.span.kind"] == "TOOL"]
    return [
        [
            (str(at["tool.name"]), json.loads(at["input.value"] or "")["kwargs"], plain(at["output.value"]))
            for at in tools
        ]
    ]


def agentdojo(path: Path) -> list[list[Call]]:
    """Calls that AgentDojo's tool messages repeat; what is no text stands in Python's notation."""
    messages = [m for m in json.loads(path.read_bytes())["messages"] if m["role"] == "tool"]
    told = [(m["tool_call"], m["content"][0]["content"]) for m in messages]
    return [[(c["function"], c["args"], literal_eval(said) if said[:1] == "{" else said) for c, said in told]]


def ended_by_a_call() -> scenarios.Scenario:
    """The pager incident as smolagents is told it."""
    return scenarios.answered_by_a_call(scenarios.pager())


def paused() -> scenarios.Scenario:
    """The pager incident in which nobody has allowed the note yet: its result is not there."""
    scenario = scenarios.pager()
    tools = [replace(t, run=lambda **_: None) if t.name == "incident.annotate" else t for t in scenario.tools]
    return replace(scenario, tools=tuple(tools))


def openinference(path: Path) -> list[list[Call]]:
    """Calls that the model spans ask for, with what the tool spans of the same call id returned."""
    spans = otlp_spans(path)
    outputs = [json.loads(at["output.value"] or "")["data"] for at in spans if at["openinference.span.kind"] == "TOOL"]
    results = {output["tool_call_id"]: plain(output["content"]) for output in outputs}
    asked = "llm.output_messages.0.message.tool_calls.0.tool_call."  # no turn of the scenario asks for more than one
    calls = [at for at in spans if asked + "id" in at]
    names = ("function.name", "function.arguments")
    return [[(str(at[asked + names[0]]), plain(at[asked + names[1]]), results.get(at[asked + "id"])) for at in calls]]


def mcp(path: Path) -> list[list[Call]]:
    """Calls of an MCP log in which no id is used twice."""
    messages = [json.loads(line)["message"] for line in path.read_bytes().splitlines()]
    results = {m["id"]: plain(m["result"]["content"][0]["text"]) for m in messages if "content" in m.get("result", {})}
    calls = [message for message in messages if message.get("method") == "tools/call"]
    return [[(c["params"]["name"], c["params"]["arguments"], results.get(c["id"])) for c in calls]]


def agents(path: Path) -> list[list[Call]]:
    """Calls of the function spans in an OpenAI Agents batch."""
    spans = [item["span_data"] for item in json.loads(path.read_bytes())["data"] if item["object"] == "trace.span"]
    return [[(s["name"], plain(s["input"]), plain(s["output"])) for s in spans if s["type"] == "function"]]


def langsmith(path: Path) -> list[list[Call]]:
    """Calls of the tool runs in a LangSmith batch."""
    runs = sorted(json.loads(path.read_bytes())["post"], key=lambda run: run["dotted_order"])
    tools = [run for run in runs if run["run_type"] == "tool"]
    return [[(run["name"], run["inputs"], plain(run["outputs"]["output"]["content"])) for run in tools]]


def inspect_log(path: Path) -> list[list[Call]]:
    """Calls of each sample of an Inspect log."""
    samples = [sample["messages"] for sample in json.loads(path.read_bytes())["samples"]]
    results = {m["tool_call_id"]: plain(m["content"]) for messages in samples for m in messages if m["role"] == "tool"}
    calls = [[call for message in messages for call in message.get("tool_calls") or ()] for messages in samples]
    return [[(c["function"], c["arguments"], results.get(c["id"])) for c in asked] for asked in calls]


def mlflow(path: Path) -> list[list[Call]]:
    """Calls of the tool spans in an MLflow trace, whose attributes are JSON in strings."""
    spans = json.loads(path.read_bytes())["data"]["spans"]
    spans.sort(key=lambda span: span["start_time_unix_nano"])
    told = [(span["name"], {key: plain(value) for key, value in span["attributes"].items()}) for span in spans]
    tools = [(name, at) for name, at in told if at["mlflow.spanType"] == "TOOL"]
    return [[(name, at["mlflow.spanInputs"], at["mlflow.spanOutputs"]) for name, at in tools]]


def fastai_export(path: Path) -> list[list[Call]]:
    """Calls of a FastAIAgent JSON export."""
    spans = [span["attributes"] | span["input"] | span["output"] for span in json.loads(path.read_bytes())["spans"]]
    return [[fastai_call(span) for span in spans if "tool.name" in span]]


def fastai_call(attributes: dict[str, Any]) -> Call:
    """The call of one FastAIAgent tool span."""
    return attributes["tool.name"], plain(attributes["tool.args"]), plain(attributes.get("tool.result"))


def fastai_database(path: Path) -> list[list[Call]]:
    """Calls of a FastAIAgent database, one list a trace, in the order of the traces' ends."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        rows = connection.execute("SELECT trace_id, attributes FROM spans ORDER BY rowid").fetchall()
    traces: dict[str, list[Call]] = {}
    for trace, text in rows:
        attributes = json.loads(text)
        calls = traces.setdefault(trace, [])
        if "tool.name" in attributes:
            calls.append(fastai_call(attributes))
    return list(traces.values())


SAMPLES: dict[str, tuple[Callable[[Path], list[list[Call]]], Callable[[], scenarios.Scenario]]] = {
    "crash.db": (fastai_database, scenarios.crash),
    "double_charge.chat.json": (chat, scenarios.double_charge),
    "mailing.events.jsonl": (events, scenarios.mailing),
    "pager.adk.json": (adk, scenarios.pager),
    "pager.agentdojo.json": (agentdojo, scenarios.pager),
    "pager.agents.json": (agents, scenarios.pager),
    "pager.atif.json": (atif, as_codex_shows_it),
    "pager.chat.json": (chat, scenarios.pager),
    "pager.codex.jsonl": (codex, scenarios.pager),
    "pager.console.json": (printed, scenarios.pager),
    "pager.db": (fastai_database, scenarios.pager),
    "pager.inspect.json": (inspect_log, scenarios.pager),
    "pager.json": (fastai_export, scenarios.pager),
    "pager.langchain.otlp.jsonl": (openinference, scenarios.pager),
    "pager.langfuse.otlp.jsonl": (langfuse, scenarios.pager),
    "pager.langgraph-history.json": (history, scenarios.pager),
    "pager.langsmith.json": (langsmith, scenarios.pager),
    "pager.logfire.json": (span_list, scenarios.pager),
    "pager.mcp-2026.jsonl": (mcp, scenarios.pager),
    "pager.mcp.jsonl": (mcp, scenarios.pager),
    "pager.mlflow.json": (mlflow, scenarios.pager),
    "pager.monocle.json": (monocle, scenarios.pager),
    "pager.otlp.jsonl": (otlp, scenarios.pager),
    "pager.pydantic-ai.otlp.jsonl": (otlp, scenarios.pager),
    "pager.runstate.json": (run_state, paused),
    "pager.smolagents.otlp.jsonl": (smolagents, ended_by_a_call),
    "pager.vercel.otlp.json": (vercel, scenarios.pager),
    "parallel.anthropic.json": (anthropic, scenarios.parallel),
    "readonly.db": (fastai_database, scenarios.readonly),
    "readonly.responses.json": (responses, scenarios.readonly),
}


def expected(scenario: scenarios.Scenario, traces: int) -> list[list[Call]]:
    """What `traces` runs of the scenario in a row must have recorded."""
    return [
        [(name, arguments, scenario.call(name, arguments)) for turn in scenario.turns for name, arguments in turn.calls]
        for _ in range(traces)
    ]


def machine_words() -> Iterator[str]:
    """What must stand in no sample: this machine's name, the user's, their folders."""
    yield from {
        socket.gethostname(),
        f"{Path.home()}/",
        str(Path.cwd()),
        sys.prefix,
        "site-packages",
        tempfile.gettempdir(),
    }
    yield os.environ.get("USER", "site-packages") + "@"


def told(name: str) -> bool:
    """Print a sample's calls; whether they are those of its scenario."""
    if name not in SAMPLES:
        print("  the standard library reads no such file")
        return True
    read, scenario = SAMPLES[name]
    traces = read(FOLDER / name)
    for number, calls in enumerate(traces):
        for tool, arguments, result in calls:
            print(f"  {number} {tool} {json.dumps(arguments)} -> {json.dumps(result)}")
    same = traces == expected(scenario(), len(traces))
    print(f"  {len(traces)} trace(s)", "as scripted" if same else "NOT AS SCRIPTED")
    return same


def main() -> int:
    """Print each sample's calls and what is wrong with it."""
    faults = 0
    for path in sorted(path for path in FOLDER.iterdir() if path.suffix in (".db", ".json", ".jsonl", ".yaml")):
        content = path.read_bytes()
        leaks = [word for word in machine_words() if word.encode() in content]
        print(f"{path.name}: {len(content)} bytes", *leaks)
        faults += bool(leaks) + (not told(path.name))
    # A side file would mean that a sample is not whole without it.
    faults += sum(1 for path in FOLDER.iterdir() if path.name.endswith(("-wal", "-shm", "-journal")))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
