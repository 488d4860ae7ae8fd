"""Which bytes does a model's server send? A loopback stand-in for three vendors' APIs, standard library only.

It plays one scenario: the n-th request is answered with the n-th turn, in the wire shape of the path asked for
(`/v1/chat/completions`, `/v1/responses`, `/v1/messages`). A response that is asked for as a stream is sent as one, for
`/v1/responses` alone. It listens on 127.0.0.1 and nowhere else.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from loopback import Quiet, listening
from scenarios import Scenario, Turn, numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PORT = 48812  # fixed, because instrumentations record it
CREATED = 1795996800  # a fixed second, so that two makings of a sample differ less
MODEL = "scripted-1"


def chat_completion(number: int, turn: Turn, ids: tuple[str, ...]) -> dict[str, Any]:
    """A Chat Completions response."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.text}
    if turn.calls:
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for call_id, (name, arguments) in zip(ids, turn.calls, strict=True)
        ]
    reason = "tool_calls" if turn.calls else "stop"
    return {
        "id": f"chatcmpl-{number:04d}",
        "object": "chat.completion",
        "created": CREATED + number,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 40 + 25 * number, "completion_tokens": 18, "total_tokens": 58 + 25 * number},
    }


def response(number: int, turn: Turn, ids: tuple[str, ...]) -> dict[str, Any]:
    """A Responses API response."""
    output: list[dict[str, Any]] = []
    if turn.text:
        text = {"type": "output_text", "text": turn.text, "annotations": []}
        output.append(
            {
                "type": "message",
                "id": f"msg_{number:04d}",
                "role": "assistant",
                "status": "completed",
                "content": [text],
            }
        )
    output += [
        {
            "type": "function_call",
            "id": f"fc_{number:04d}_{index}",
            "call_id": call_id,
            "name": name,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
        for index, (call_id, (name, arguments)) in enumerate(zip(ids, turn.calls, strict=True))
    ]
    return {
        "id": f"resp_{number:04d}",
        "object": "response",
        "created_at": CREATED + number,
        "status": "completed",
        "model": MODEL,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def message(number: int, turn: Turn, ids: tuple[str, ...]) -> dict[str, Any]:
    """A Messages API response."""
    content: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
    content += [
        {"type": "tool_use", "id": f"toolu_{call_id}", "name": name, "input": arguments}
        for call_id, (name, arguments) in zip(ids, turn.calls, strict=True)
    ]
    return {
        "id": f"msg_{number:04d}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": content,
        "stop_reason": "tool_use" if turn.calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 40 + 25 * number, "output_tokens": 18},
    }


def in_namespaces(answer: dict[str, Any], tools: list[dict[str, Any]]) -> dict[str, Any]:
    """A response that names its calls as they were offered: in a namespace there are no dots, and it stands beside."""
    offered = {
        tool["name"]: space["name"] for space in tools if space["type"] == "namespace" for tool in space["tools"]
    }
    for item in answer["output"]:
        name = item.get("name", "").replace(".", "_")
        if name in offered:
            item |= {"name": name, "namespace": offered[name]}
    return answer


def stream(whole: dict[str, Any]) -> bytes:
    """A Responses API response as server-sent events, each item whole: no client here needs its fragments."""
    events = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
        *(
            {"type": "response.output_item.done", "output_index": index, "item": item}
            for index, item in enumerate(whole["output"])
        ),
        {"type": "response.completed", "response": whole},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


ANSWERS: dict[str, Callable[[int, Turn, tuple[str, ...]], dict[str, Any]]] = {
    "/v1/chat/completions": chat_completion,
    "/v1/responses": response,
    "/v1/messages": message,
}


def handler(scenario: Scenario) -> type[Quiet]:
    """The request handler that plays `scenario` once."""
    script = enumerate(numbered(scenario.turns))

    class Handler(Quiet):
        def do_POST(self) -> None:  # noqa: N802 - the name that http.server calls
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            number, (turn, ids) = next(script)
            answer = ANSWERS[self.path](number, turn, ids)
            if self.path == "/v1/responses":
                answer = in_namespaces(answer, request.get("tools", []))
            streamed = bool(request.get("stream"))
            body = stream(answer) if streamed else json.dumps(answer).encode()
            self.reply(body, "text/event-stream" if streamed else "application/json")

    return Handler


@contextmanager
def serving(scenario: Scenario) -> Iterator[str]:
    """Serve `scenario` on loopback for the length of a `with` block; gives the base address."""
    with listening(PORT, handler(scenario)) as address:
        yield address
