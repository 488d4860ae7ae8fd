"""What does a rerun that asks a model send, say and come to? A model on loopback answers."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

pytest.importorskip("httpx", reason="the extra live")

from forensics.cli.program import program

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
PAGE = {"service": "checkout", "severity": "sev1"}


class Model:
    """A model that says what it is told to, and keeps what it was asked."""

    def __init__(self, *turns: dict[str, Any]) -> None:
        self.asked: list[dict[str, Any]] = []
        self.turns = list(turns)
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                model.asked.append(json.loads(body))
                answer = {"choices": [{"message": model.turns.pop(0), "finish_reason": "stop"}], "model": "stand-in"}
                data = json.dumps({**answer, "usage": {"prompt_tokens": 5, "completion_tokens": 2}}).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def says(text: str | None, *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    asked = [
        {"id": f"x{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for n, (name, arguments) in enumerate(calls)
    ]
    return {"role": "assistant", "content": text, **({"tool_calls": asked} if asked else {})}


@pytest.fixture
def models() -> Iterator[Any]:
    made: list[Model] = []

    def make(*turns: dict[str, Any]) -> Model:
        made.append(Model(*turns))
        return made[-1]

    yield make
    for model in made:
        model.server.shutdown()
        model.server.server_close()


def replay(model: Model, *options: str) -> tuple[int, dict[str, Any], str]:
    arguments = ["replay", str(SAMPLES / "pager.db"), "--policy", "inject", "--endpoint", model.url, "--format", "json"]
    ended = CliRunner().invoke(program, [*arguments, *options], env={"COLUMNS": "80"})
    return ended.exit_code, json.loads(ended.stdout or "{}"), ended.stderr


def test_a_model_that_says_the_same_is_asked_and_every_tool_answers_from_the_record(models: Any) -> None:
    model = models(
        says(None, ("query_metrics", {"service": "checkout"})),
        says("Error rate 0.31 is over 0.05, paging.", ("pager.trigger", PAGE)),
        says(
            "Page pg_8812 is out; annotating it.",
            ("incident.annotate", {"page_id": "pg_8812", "note": "error_rate 0.31"}),
        ),
        says("Paged on-call: pg_8812."),
    )
    code, document, told = replay(model, "--mode", "deterministic")
    assert (code, document["comparison"]["result"]) == (0, "identical")
    assert {call["disposition"] for call in document["calls"]} == {"injected"}
    assert {turn["served"] for turn in document["model_calls"]} == {"live"}
    assert document["reproduction"] is False
    assert {(one["temperature"], one["seed"]) for one in model.asked} == {(0, 0)}
    assert any("seed" in one for one in document["model_calls"][0]["ignored"])
    assert document["usage"]["new"] == {"input_tokens": 20, "output_tokens": 8, "cost": None}
    assert told.startswith("note: ")
    assert "127.0.0.1" in told


def test_a_new_prompt_is_tried_and_another_call_stops_the_rerun(models: Any) -> None:
    model = models(says("On it.", ("pager.trigger", {**PAGE, "severity": "sev2"})))
    code, document, _ = replay(model, "--mode", "live", "--set-prompt", "Page at once.")
    assert model.asked[0]["messages"][0] == {"role": "system", "content": "Page at once."}
    assert (code, document["stopped"]["code"]) == (1, "replay_miss")
    assert document["stopped"]["nearest"][0]["pointer"] == "/arguments/severity"
    assert "modification_without_effect" not in {one["code"] for one in document["findings"]}


def test_on_miss_live_refuses_the_call_and_goes_on(models: Any) -> None:
    model = models(says("On it.", ("pager.trigger", {**PAGE, "severity": "sev2"})), says("I could not page."))
    code, document, _ = replay(model, "--mode", "live", "--on-miss", "live")
    assert [call["disposition"] for call in document["calls"]] == ["refused"]
    assert document["output"]["new"] == "I could not page."
    assert (code, document["reproduction"]) == (1, False)
    assert model.asked[1]["messages"][-1]["content"].startswith("Not run")


def test_a_fork_goes_on_from_a_step_with_the_change(models: Any) -> None:
    model = models(says("Nichts mehr zu tun."))
    code, document, _ = replay(model, "--mode", "live", "--fork", "8", "--set-prompt", "Antworte deutsch.")
    assert [turn["served"] for turn in document["model_calls"]] == ["recorded", "recorded", "live"]
    (asked,) = model.asked
    roles = [message["role"] for message in asked["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert asked["messages"][0]["content"] == "Antworte deutsch."
    assert "pg_8812" in asked["messages"][-1]["content"]
    assert document["output"]["new"] == "Nichts mehr zu tun."
    assert document["plan"]["fork"] == 8
    assert code == 1


@pytest.mark.parametrize(
    "options", [("--mode", "live"), ("--endpoint", "http://127.0.0.1:9/v1"), ("--set-state", "/messages/0=1")]
)
def test_a_model_is_asked_by_name_alone(options: tuple[str, ...]) -> None:
    ended = CliRunner().invoke(program, ["replay", str(SAMPLES / "pager.db"), "--policy", "inject", *options])
    assert ended.exit_code == 2


def test_a_state_is_changed_at_the_fork(models: Any) -> None:
    model = models(says("All is well."))
    changed = json.dumps('{"status": "paged", "id": "pg_1"}')
    options = ("--mode", "live", "--fork", "8", "--set-state", f"/messages/5/content={changed}")
    _, document, _ = replay(model, *options)
    assert model.asked[0]["messages"][5]["content"] == '{"status": "paged", "id": "pg_1"}'
    assert document["plan"]["changes"] == ["state/messages/5/content"]
    assert document["output"]["new"] == "All is well."


def test_a_state_that_is_not_there_is_told(models: Any) -> None:
    model = models(says("All is well."))
    code, document, _ = replay(model, "--mode", "live", "--fork", "8", "--set-state", "/messages/50/content=1")
    assert (code, document["agent_error"]) == (1, "NoSuchState: nothing stands at /messages/50/content")
    assert model.asked == []


def test_a_fork_beyond_the_run_is_told() -> None:
    arguments = ["replay", str(SAMPLES / "pager.db"), "--policy", "inject", "--fork", "99"]
    ended = CliRunner().invoke(program, arguments)
    assert ended.exit_code == 2
    assert "there is no step 99" in ended.stderr


def test_stand_ins_count_from_the_fork_on() -> None:
    arguments = ["replay", str(SAMPLES / "pager.db"), "--policy", "inject", "--fork", "7", "--format", "json"]
    stubs = [f"--stub={tool}=" + json.dumps({"status": "down"}) for tool in ("query_metrics", "incident.annotate")]
    ended = CliRunner().invoke(program, [*arguments, *stubs])
    calls = json.loads(ended.stdout)["calls"]
    assert [call["disposition"] for call in calls] == ["injected", "injected", "overridden"]
