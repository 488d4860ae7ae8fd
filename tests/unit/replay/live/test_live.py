"""What leaves when a model is asked again, to whom, and what is made of the answer? A provider on loopback tells."""

from __future__ import annotations

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("httpx", reason="the extra live")

from forensics.errors import ConfigurationError, ReplayFault
from forensics.replay.live import endpoint as door
from forensics.replay.live.answerer import LiveAnswerer, what_leaves
from forensics.replay.live.endpoint import endpoint
from forensics.replay.live.providers import PROVIDERS
from forensics.replay.plan import Mode
from forensics.replay.ports import AskedCall, ModelAnswer, ModelRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CHAT = {
    "model": "small-2026",
    "system_fingerprint": "fp_1",
    "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "All is well."}}],
    "usage": {"prompt_tokens": 12, "completion_tokens": 4},
}
_CALLING = {
    "choices": [
        {
            "finish_reason": "tool_calls",
            "message": {
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "page", "arguments": '{"sev": "sev1"}'}},
                    {"id": "c2", "type": "function", "function": {"name": "page", "arguments": "not JSON"}},
                ],
            },
        }
    ]
}
_REQUEST = ModelRequest(
    messages=(
        {"role": "system", "content": "You answer pages."},
        {"role": "user", "content": "Is checkout well?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "name": "query", "arguments": {"service": "checkout"}},
                {"id": "c2", "name": "query", "arguments": {"service": "cart"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "0.01"},
        {"role": "tool", "tool_call_id": "c2", "content": {"rate": 0.02}},
    ),
    tools=(
        {"name": "query", "description": "Metrics.", "parameters": {"type": "object"}},
        {"type": "web_search"},
        {"type": "mcp", "name": "shop", "server_url": "https://example.com"},
    ),
    settings={
        "model": "small",
        "temperature": 0.7,
        "background": True,
        "store": True,
        "mcp_servers": [],
        "top_p": None,
    },
)
_TAKEN_OUT = (
    "setting background",
    "setting mcp_servers",
    "setting store",
    "tool shop (the provider would run it)",
    "tool web_search (the provider would run it)",
)


class _Provider:
    """A model behind HTTP: what it was asked, and what it answers next (status, body, headers)."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.answers: list[tuple[int, Any, dict[str, str]]] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                provider.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                status, answer, headers = provider.answers.pop(0)
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                for name, value in {"content-length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST  # noqa: N815 - the name that http.server calls

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def will_answer(self, body: Any, status: int = 200, **headers: str) -> None:
        self.answers.append((status, body, headers))


Start = "Callable[[], _Provider]"


@pytest.fixture
def start() -> Iterator[Callable[[], _Provider]]:
    started: list[_Provider] = []

    def one() -> _Provider:
        provider = _Provider()
        threading.Thread(target=provider.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        started.append(provider)
        return provider

    yield one
    for provider in started:
        provider.server.shutdown()
        provider.server.server_close()


@pytest.fixture
def model(start: Callable[[], _Provider], monkeypatch: pytest.MonkeyPatch) -> _Provider:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", door.KEY_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    return start()


def _ask(model: _Provider, name: str, request: ModelRequest = _REQUEST, mode: Mode = Mode.LIVE) -> ModelAnswer:
    answerer = LiveAnswerer(endpoint(model.url, name), mode, seed=7)
    try:
        return answerer.answer(request)
    finally:
        answerer.close()


def test_chat_completions_are_asked_without_what_the_provider_would_run(model: _Provider) -> None:
    model.will_answer(_CHAT)
    answer = _ask(model, "openai-chat")
    [(path, headers, body)] = model.asked
    assert path == "/v1/chat/completions"
    assert "authorization" not in headers
    assert body == {
        "model": "small",
        "temperature": 0.7,
        "stream": False,
        "messages": [
            {"role": "system", "content": "You answer pages."},
            {"role": "user", "content": "Is checkout well?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": f"c{n}",
                        "type": "function",
                        "function": {"name": "query", "arguments": json.dumps({"service": service})},
                    }
                    for n, service in ((1, "checkout"), (2, "cart"))
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "0.01"},
            {"role": "tool", "tool_call_id": "c2", "content": '{"rate": 0.02}'},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "query", "description": "Metrics.", "parameters": {"type": "object"}},
            }
        ],
    }
    assert answer == ModelAnswer(
        text="All is well.",
        finish="stop",
        model="small-2026",
        usage={"input_tokens": 12, "output_tokens": 4},
        ignored=_TAKEN_OUT,
        live=True,
    )


def test_calls_are_told_with_their_arguments_and_what_is_no_json_stays_a_text(model: _Provider) -> None:
    model.will_answer(_CALLING)
    answer = _ask(model, "openai-chat")
    assert answer.text is None
    assert answer.calls == (AskedCall("page", {"sev": "sev1"}, "c1"), AskedCall("page", "not JSON", "c2"))


def test_anthropic_messages(model: _Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-env")
    said = [{"type": "text", "text": "Hm."}, {"type": "tool_use", "id": "t1", "name": "page", "input": {"sev": 1}}]
    model.will_answer({"content": said, "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 2}})
    answer = _ask(model, "anthropic", mode=Mode.DETERMINISTIC)
    [(path, headers, body)] = model.asked
    assert (path, headers["x-api-key"], headers["anthropic-version"]) == ("/v1/messages", "k-env", "2023-06-01")
    assert body == {
        "max_tokens": 4096,
        "model": "small",
        "temperature": 0,
        "system": "You answer pages.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Is checkout well?"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "c1", "name": "query", "input": {"service": "checkout"}},
                    {"type": "tool_use", "id": "c2", "name": "query", "input": {"service": "cart"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "0.01"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": '{"rate": 0.02}'},
                ],
            },
        ],
        "tools": [{"name": "query", "description": "Metrics.", "input_schema": {"type": "object"}}],
    }
    assert (answer.text, answer.calls) == ("Hm.", (AskedCall("page", {"sev": 1}, "t1"),))
    assert answer.ignored == ("seed (the provider has none)", *_TAKEN_OUT)


def test_openai_responses_are_never_stored(model: _Provider) -> None:
    output = [
        {"type": "message", "content": [{"type": "output_text", "text": "Well."}]},
        {"type": "function_call", "call_id": "c9", "name": "page", "arguments": "{}"},
    ]
    model.will_answer({"status": "completed", "output": output})
    answer = _ask(model, "openai-responses")
    body = model.asked[0][2]
    assert body["store"] is False
    assert "background" not in body
    assert body["input"][2:4] == [
        {"type": "function_call", "call_id": "c1", "name": "query", "arguments": '{"service": "checkout"}'},
        {"type": "function_call", "call_id": "c2", "name": "query", "arguments": '{"service": "cart"}'},
    ]
    assert body["input"][5] == {"type": "function_call_output", "call_id": "c2", "output": '{"rate": 0.02}'}
    assert (answer.text, answer.calls) == ("Well.", (AskedCall("page", {}, "c9"),))


@pytest.mark.parametrize("choice", [{"type": "web_search_preview"}, {"type": "mcp"}, "code_interpreter", 3])
def test_a_tool_choice_that_names_a_tool_of_the_provider_is_taken_out(model: _Provider, choice: Any) -> None:
    model.will_answer(_CHAT)
    request = ModelRequest(messages=({"role": "user", "content": "x"},), settings={"tool_choice": choice})
    assert _ask(model, "openai-chat", request).ignored == ("setting tool_choice",)
    assert "tool_choice" not in model.asked[0][2]


# the mode deterministic ----------------------------------------------------------------------------------------------


def test_deterministic_asks_at_temperature_0_with_a_seed_and_tells_what_is_not_confirmed(model: _Provider) -> None:
    model.will_answer({**_CHAT, "system_fingerprint": None})
    answer = _ask(model, "openai-chat", mode=Mode.DETERMINISTIC)
    assert {"temperature": 0, "seed": 7}.items() <= model.asked[0][2].items()
    assert answer.ignored[0] == "seed (no system_fingerprint came back: whether it was used is not known)"


def test_a_setting_that_the_provider_refuses_is_left_out_and_told(model: _Provider) -> None:
    model.will_answer({"error": {"message": "Unsupported value", "param": "temperature"}}, 400)
    model.will_answer(_CHAT)
    answer = _ask(model, "openai-chat", mode=Mode.DETERMINISTIC)
    assert ["temperature" in body for _, _, body in model.asked] == [True, False]
    assert answer.ignored[0] == "temperature (refused by the provider)"


# where it goes -------------------------------------------------------------------------------------------------------


def test_the_key_comes_from_the_environment_and_from_no_trace(
    model: _Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k-general")
    monkeypatch.setenv(door.KEY_VARIABLE, "k-own")
    model.will_answer(_CHAT)
    settings = {"api_key": "sk-recorded", "base_url": "http://example.com", "extra_headers": {"authorization": "x"}}
    _ask(model, "openai-chat", ModelRequest(messages=(), settings=settings))
    [(_, headers, body)] = model.asked
    assert headers["authorization"] == "Bearer k-own"
    assert "sk-recorded" not in json.dumps(body)


def test_no_redirect_and_no_proxy_is_followed(
    model: _Provider, start: Callable[[], _Provider], monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = start()
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, elsewhere.url)
    model.will_answer({}, 307, location=elsewhere.url)
    with pytest.raises(ReplayFault, match="answered 307"):
        _ask(model, "openai-chat")
    assert elsewhere.asked == []


@pytest.mark.parametrize("url", ["", "ftp://host/v1", "host/v1", "https://", "https://name:word@host/v1"])
def test_an_address_that_is_none_or_holds_a_password_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError):
        endpoint(url, "openai-chat")


def test_a_provider_that_is_not_known_is_refused_with_those_that_are() -> None:
    with pytest.raises(ConfigurationError) as caught:
        endpoint("https://host/v1", "other")
    assert caught.value.hint == ", ".join(PROVIDERS)


def test_what_leaves_is_said_with_the_host(model: _Provider) -> None:
    to = endpoint("https://models.example/v1", "openai-chat")
    assert what_leaves(to, _REQUEST).startswith("5 messages of 52 characters")
    assert what_leaves(to, _REQUEST).endswith(
        "3 tools with their schemas and the model's settings go to models.example"
    )
    assert what_leaves(endpoint(model.url, "openai-chat"), _REQUEST).endswith("not encrypted")


def _calling(name: Any, arguments: str, call_id: Any = "c1") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"choices": [{"message": {"content": None, "tool_calls": [{"id": call_id, "function": function}]}}]}


@pytest.mark.parametrize(
    "arguments", ['{"sev": 1, "sev": 2}', '{"sev": NaN}', "[" * 100_000, "[" * 50_000 + "]" * 50_000, '{"sev": 1e999}']
)
def test_arguments_that_say_two_things_or_none_stay_a_text(model: _Provider, arguments: str) -> None:
    model.will_answer(_calling("page", arguments))
    assert [call.arguments for call in _ask(model, "openai-chat").calls] == [arguments]


@pytest.mark.parametrize("usage", [{"prompt_tokens": True}, {"prompt_tokens": -1}, {"prompt_tokens": 10**30}])
def test_a_count_of_tokens_that_is_none_is_not_told(model: _Provider, usage: dict[str, Any]) -> None:
    model.will_answer({"choices": [{"message": {"content": "x"}}], "usage": usage})
    assert _ask(model, "openai-chat").usage == {}


# answers that are none -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"<html>", 502, "answered 502: no JSON that says why"),
        ({"error": {"message": "no \x1b[2J such model"}}, 404, r"answered 404: no \\x1b"),
        ({"error": "down"}, 500, "answered 500"),
        (b"[" * 100_000, 200, "answered 200"),
        ({}, 200, "not that of openai-chat"),
        ({"choices": []}, 200, "not that of openai-chat"),
        ({"choices": [{"message": "x"}]}, 200, "not that of openai-chat"),
        ({"choices": [{"message": {"content": "x"}, "finish_reason": ["stop"]}]}, 200, "not that of openai-chat"),
        ({"choices": [{"message": {"content": "x"}}], "model": {}}, 200, "not that of openai-chat"),
        (_calling("page", "{}", {}), 200, "not that of openai-chat"),
        (_calling(5, "{}"), 200, "not that of openai-chat"),
        (b'{"choices": [], "choices": [{"message": {"content": "x"}}]}', 200, "answered 200"),
        (b'{"choices": [{"message": {"content": NaN}}]}', 200, "answered 200"),
        ({"error": {"param": ["temperature"]}}, 400, "answered 400"),
        ({"error": {"param": {"temperature": 1}}}, 400, "answered 400"),
    ],
)
def test_an_answer_that_is_none_stops_the_rerun(model: _Provider, body: Any, status: int, said: str) -> None:
    model.will_answer(body, status)
    with pytest.raises(ReplayFault, match=said):
        _ask(model, "openai-chat")
    assert len(model.asked) == 1


def test_an_answer_without_end_is_not_read_to_its_end(model: _Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "ANSWER_LIMIT", 1 << 16)
    model.will_answer(b"x" * (1 << 20))
    with pytest.raises(ReplayFault, match="more than 65536 bytes"):
        _ask(model, "openai-chat")


def test_an_encoding_that_unpacks_without_bound_is_not_read(model: _Provider) -> None:
    model.will_answer(b"x", 200, **{"content-encoding": "zstd"})
    with pytest.raises(ReplayFault, match="encoding that was not asked for: zstd"):
        _ask(model, "openai-chat")
    assert model.asked[0][1]["accept-encoding"] == "gzip, deflate"


def test_a_packed_answer_counts_by_what_it_unpacks_to(model: _Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "ANSWER_LIMIT", 1 << 16)
    model.will_answer(gzip.compress(b" " * (1 << 20)), 200, **{"content-encoding": "gzip"})
    with pytest.raises(ReplayFault, match="more than 65536 bytes"):
        _ask(model, "openai-chat")


def test_an_answer_that_comes_byte_by_byte_has_an_end(model: _Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of a whole answer counts, not that between two bytes."""
    answerer = LiveAnswerer(endpoint(model.url, "openai-chat"), Mode.LIVE)
    monkeypatch.setattr(door, "TIMEOUT", -1.0)  # the connection has the patience that it was made with
    model.will_answer({"choices": [{"message": {"content": "x"}}]})
    with pytest.raises(ReplayFault, match="seconds for one answer"):
        answerer.answer(_REQUEST)
    answerer.close()


def test_nobody_there_is_a_fault_and_no_traceback() -> None:
    answerer = LiveAnswerer(endpoint("http://127.0.0.1:9/v1", "openai-chat"), Mode.LIVE)
    with pytest.raises(ReplayFault, match="could not be asked"):
        answerer.answer(ModelRequest(messages=()))
    answerer.close()


def test_a_request_without_messages_is_not_sent(model: _Provider) -> None:
    with pytest.raises(ReplayFault, match="the agent gave none"):
        _ask(model, "openai-chat", ModelRequest())


def test_parts_that_are_no_text_are_not_lost_without_a_word(model: _Provider) -> None:
    picture = {"role": "tool", "tool_call_id": "c1", "content": [{"type": "image", "source": {}}]}
    with pytest.raises(ReplayFault, match="no text"):
        _ask(model, "anthropic", ModelRequest(messages=(picture,)))
    assert model.asked == []
