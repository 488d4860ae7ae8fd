"""How does each provider want to be asked, and how does it answer? One table row a wire format.

OpenAI Chat Completions, OpenAI Responses and Anthropic Messages, after their API references (October 2026). Many other
providers and local servers speak the first.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeGuard

import msgspec

from forensics.core.jsonvalue import SAFE_INTEGER, decode
from forensics.errors import ReplayFault
from forensics.replay.live.leaving import Sent
from forensics.replay.ports import AskedCall, ModelAnswer, ModelRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Body = dict[str, Any]


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """A wire format: where requests go below the endpoint, under which variable of the environment its key stands and
    in which header it is sent, the settings it knows, and how request and answer are written.
    """

    name: str
    path: str
    key_variable: str
    headers: Callable[[str], dict[str, str]]
    settings: dict[str, str]
    body: Callable[[ModelRequest, Sent], Body]
    answer: Callable[[Body], ModelAnswer]


def _same(names: str, **renamed: str) -> dict[str, str]:
    return {**{name: name for name in names.split()}, **renamed}


def _bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


# OpenAI Chat Completions ---------------------------------------------------------------------------------------------


def _chat_body(request: ModelRequest, sent: Sent) -> Body:
    body: Body = {**sent.settings, "messages": [_chat_message(one) for one in request.messages or ()], "stream": False}
    if sent.tools:
        body["tools"] = [{"type": "function", "function": _function(tool)} for tool in sent.tools]
    return body


def _chat_message(message: Mapping[str, Any]) -> Body:
    out = {key: message[key] for key in ("role", "tool_call_id") if key in message}
    content = message.get("content")
    out["content"] = content if content is None or isinstance(content, str) or _is_parts(content) else _shown(content)
    if message.get("tool_calls"):
        out["tool_calls"] = [
            {"id": call.get("id"), "type": "function", "function": {"name": call["name"], "arguments": _text(call)}}
            for call in message["tool_calls"]
        ]
    return out


def _chat_answer(body: Body) -> ModelAnswer:
    choice = body["choices"][0]
    said = choice["message"]
    return ModelAnswer(
        text=said.get("content"),
        calls=tuple(
            AskedCall(one["function"]["name"], _arguments(one["function"]["arguments"]), one.get("id"))
            for one in said.get("tool_calls") or ()
        ),
        finish=choice.get("finish_reason"),
        model=body.get("model"),
        usage=_usage(body, "prompt_tokens", "completion_tokens"),
        live=True,
    )


# OpenAI Responses ----------------------------------------------------------------------------------------------------


def _responses_body(request: ModelRequest, sent: Sent) -> Body:
    items = [item for one in request.messages or () for item in _items(one)]
    body: Body = {**sent.settings, "input": items, "stream": False, "store": False}
    if sent.tools:
        body["tools"] = [{"type": "function", **_function(tool)} for tool in sent.tools]
    return body


def _items(message: Mapping[str, Any]) -> Iterable[Body]:
    if message["role"] == "tool":
        output = _shown(message.get("content"))
        yield {"type": "function_call_output", "call_id": message.get("tool_call_id"), "output": output}
        return
    if message.get("content") is not None:
        yield {"role": message["role"], "content": message["content"]}
    for call in message.get("tool_calls") or ():
        yield {"type": "function_call", "call_id": call.get("id"), "name": call["name"], "arguments": _text(call)}


def _responses_answer(body: Body) -> ModelAnswer:
    said = [part.get("text", "") for item in body["output"] for part in item.get("content") or ()]
    return ModelAnswer(
        text="".join(said) or None,
        calls=tuple(
            AskedCall(item["name"], _arguments(item["arguments"]), item.get("call_id"))
            for item in body["output"]
            if item.get("type") == "function_call"
        ),
        finish=body.get("status"),
        model=body.get("model"),
        usage=_usage(body, "input_tokens", "output_tokens"),
        live=True,
    )


# Anthropic Messages --------------------------------------------------------------------------------------------------

_MAX_TOKENS = 4096  # the API wants one; used where the record has none


def _messages_body(request: ModelRequest, sent: Sent) -> Body:
    messages = request.messages or ()
    system = [_shown(one.get("content")) for one in messages if one["role"] in {"system", "developer"}]
    turns = [_turn(one) for one in messages if one["role"] not in {"system", "developer"}]
    body: Body = {"max_tokens": _MAX_TOKENS, **sent.settings, "messages": _joined(turns)}
    if system:
        body["system"] = "\n\n".join(system)
    if sent.tools:
        body["tools"] = [
            {"name": tool["name"], "description": tool.get("description", ""), "input_schema": _schema(tool)}
            for tool in sent.tools
        ]
    return body


def _turn(message: Mapping[str, Any]) -> tuple[str, list[Body]]:
    content = message.get("content")
    if message["role"] == "tool":
        block = {"type": "tool_result", "tool_use_id": message.get("tool_call_id"), "content": _shown(content)}
        return "user", [block]
    blocks: list[Body] = [] if content in (None, "") else [{"type": "text", "text": _shown(content)}]
    blocks += [
        {"type": "tool_use", "id": call.get("id"), "name": call["name"], "input": call["arguments"]}
        for call in message.get("tool_calls") or ()
    ]
    return message["role"], blocks


def _joined(turns: Iterable[tuple[str, list[Body]]]) -> list[Body]:
    """Turns of one role in a row as one: the results of parallel calls stand in one message."""
    out: list[Body] = []
    for role, blocks in turns:
        if out and out[-1]["role"] == role:
            out[-1]["content"] += blocks
        else:
            out.append({"role": role, "content": [*blocks]})
    return out


def _messages_answer(body: Body) -> ModelAnswer:
    said = [block["text"] for block in body["content"] if block["type"] == "text"]
    return ModelAnswer(
        text="".join(said) or None,
        calls=tuple(
            AskedCall(block["name"], block["input"], block.get("id"))
            for block in body["content"]
            if block["type"] == "tool_use"
        ),
        finish=body.get("stop_reason"),
        model=body.get("model"),
        usage=_usage(body, "input_tokens", "output_tokens"),
        live=True,
    )


# what they share -----------------------------------------------------------------------------------------------------


def _function(tool: Mapping[str, Any]) -> Body:
    return {"name": tool["name"], "description": tool.get("description", ""), "parameters": _schema(tool)}


def _schema(tool: Mapping[str, Any]) -> Any:
    found = (tool.get(name) for name in ("parameters", "input_schema", "schema"))
    return next((one for one in found if one), {"type": "object", "properties": {}})


def _text(call: Mapping[str, Any]) -> str:
    held = call["arguments"]
    return held if isinstance(held, str) else json.dumps(held, ensure_ascii=False)


def _shown(content: object) -> str:
    """A content as text. Raises ReplayFault for parts that are no text: they would be lost without a word."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not _is_parts(content):
        return json.dumps(content, ensure_ascii=False)
    if any(part["type"] != "text" for part in content):
        message = "the prompt holds parts that are no text, and they are not sent to this provider"
        raise ReplayFault(message, hint="ask through an endpoint that takes the recorded format")
    return "".join(str(part.get("text", "")) for part in content)


def _is_parts(content: object) -> TypeGuard[list[dict[str, Any]]]:
    """Whether a content is a list of parts, as chat APIs have them."""
    return isinstance(content, list) and all(isinstance(part, dict) and "type" in part for part in content)


def _arguments(text: object) -> Any:
    """Arguments as the model wrote them: JSON that says one thing, or else the text, which matches no recording."""
    if not isinstance(text, str):
        return text
    if not text.strip():
        return {}
    decoded = decode(text.encode("utf-8", "surrogatepass"))
    return text if decoded.error or decoded.faults else decoded.value


def _usage(body: Body, asked: str, said: str) -> dict[str, int]:
    usage = body.get("usage") or {}
    found = {"input_tokens": usage.get(asked), "output_tokens": usage.get(said)}
    return {name: count for name, count in found.items() if type(count) is int and 0 <= count <= SAFE_INTEGER}


_SAMPLING = "model temperature top_p tool_choice"
PROVIDERS = {
    one.name: one
    for one in (
        Provider(
            name="openai-chat",
            path="/chat/completions",
            key_variable="OPENAI_API_KEY",
            headers=_bearer,
            settings=_same(
                f"{_SAMPLING} max_tokens max_completion_tokens seed stop presence_penalty frequency_penalty "
                "response_format parallel_tool_calls reasoning_effort logit_bias verbosity"
            ),
            body=_chat_body,
            answer=_chat_answer,
        ),
        Provider(
            name="openai-responses",
            path="/responses",
            key_variable="OPENAI_API_KEY",
            headers=_bearer,
            settings=_same(
                f"{_SAMPLING} max_output_tokens reasoning text parallel_tool_calls truncation instructions",
                max_tokens="max_output_tokens",
            ),
            body=_responses_body,
            answer=_responses_answer,
        ),
        Provider(
            name="anthropic",
            path="/messages",
            key_variable="ANTHROPIC_API_KEY",
            headers=lambda key: {"x-api-key": key},
            settings=_same(f"{_SAMPLING} max_tokens top_k stop_sequences thinking", stop="stop_sequences"),
            body=_messages_body,
            answer=_messages_answer,
        ),
    )
}
