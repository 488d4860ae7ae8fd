"""Is an answer that was streamed put together as the body that would have been answered without streaming?"""

from __future__ import annotations

import base64
import json
import struct
import time
import zlib
from typing import TYPE_CHECKING, Any

import pytest

from forensics.formats.shared.messages.streams import Streamed, is_event_stream, read_binary, read_events, read_pieces
from tests.unit.formats.conftest import read_evidence

if TYPE_CHECKING:
    from pathlib import Path

Fields = dict[str, Any]


def sse(*events: Fields | str, newline: str = "\n") -> bytes:
    lines = []
    for event in events:
        if isinstance(event, dict) and "type" in event:
            lines.append(f"event: {event['type']}")
        lines += [f"data: {event if isinstance(event, str) else json.dumps(event)}", ""]
    return (": ping" + newline * 2 + newline.join(lines) + newline).encode()


def chunk(delta: Fields, finish: str | None = None) -> Fields:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def part(index: int, arguments: str, **more: Any) -> Fields:
    name = more.pop("name", None)
    return {"tool_calls": [{"index": index, "function": {"name": name, "arguments": arguments}, **more}]}


CHAT = (
    chunk({"role": "assistant", "content": "Pag"}), chunk({"content": "ing"}),
    chunk(part(0, "", id="c1", name="page")), chunk(part(1, "{}", id="c2", name="look")),
    chunk(part(0, '{"who":')), chunk(part(0, ' "ann"}')), chunk({}, "tool_calls"),
)  # fmt: skip


def test_openai_chat() -> None:
    found = read_events(sse(*CHAT, "[DONE]"))
    (choice,) = found.body["choices"]
    assert choice["message"] == {
        "role": "assistant",
        "content": "Paging",
        "tool_calls": [
            {"function": {"name": "page", "arguments": '{"who": "ann"}'}, "id": "c1"},
            {"function": {"name": "look", "arguments": "{}"}, "id": "c2"},
        ],
    }
    assert (choice["finish_reason"], found.doubts) == ("tool_calls", ())


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_may_end_as_the_standard_allows(newline: str) -> None:
    assert read_events(sse(*CHAT, newline=newline)) == read_events(sse(*CHAT))


def test_anthropic() -> None:
    events: list[Fields] = [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": {"a": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hm"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "page"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a'}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '": 1}'}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"b": 2}},
        {"type": "message_stop"},
    ]
    found = read_events(sse(*events))
    assert found.doubts == ()
    assert found.body["content"] == [
        {"type": "text", "text": "Hm"},
        {"type": "tool_use", "id": "t", "name": "page", "input": {"a": 1}},
    ]
    assert (found.body["stop_reason"], found.body["usage"]) == ("tool_use", {"a": 1, "b": 2})


def test_openai_responses_takes_the_last_event_or_what_was_done() -> None:
    item = {"type": "function_call", "name": "page", "call_id": "c1", "arguments": "{}"}
    done = {"type": "response.output_item.done", "item": item}
    whole = {"type": "response.completed", "response": {"output": [item], "status": "completed"}}
    assert read_events(sse(done, whole)) == Streamed({"output": [item], "status": "completed"})
    cut = read_events(sse({"type": "response.created", "response": {"id": "r", "output": []}}, done))
    assert (cut.body, len(cut.doubts)) == ({"id": "r", "output": [item]}, 1)


@pytest.mark.parametrize(("parts", "told"), [(1.5, [1.5]), ("x", ["x"]), ({"text": "x"}, [{"text": "x"}]), (None, [])])
def test_parts_of_gemini_that_are_no_list_are_kept_as_they_stand(parts: Any, told: list[Any]) -> None:
    found = read_pieces([{"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}])
    assert found.body["candidates"][0]["content"]["parts"] == told


def test_gemini_as_events_and_as_a_list() -> None:
    def piece(part: Fields, **more: Any) -> Fields:
        return {"candidates": [{"content": {"role": "model", "parts": [part]}, **more}]}

    pieces = [piece({"text": "a"}), piece({"functionCall": {"name": "page", "args": {}}}, finishReason="STOP")]
    found = read_events(sse(*pieces))
    (candidate,) = found.body["candidates"]
    assert candidate["content"]["parts"] == [{"text": "a"}, {"functionCall": {"name": "page", "args": {}}}]
    assert found.doubts == ()
    assert read_pieces([pieces]) == found


def frame(kind: str, value: Fields) -> bytes:
    name = b"\x0b:event-type\x07" + struct.pack(">H", len(kind)) + kind.encode()
    payload = json.dumps(value).encode()
    prelude = struct.pack(">II", 16 + len(name) + len(payload), len(name))
    head = prelude + struct.pack(">I", zlib.crc32(prelude)) + name + payload
    return head + struct.pack(">I", zlib.crc32(head))


CONVERSE = (
    frame("messageStart", {"role": "assistant"}),
    frame("contentBlockStart", {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "t", "name": "page"}}}),
    frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"toolUse": {"input": '{"a": '}}}),
    frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"toolUse": {"input": "1}"}}}),
    frame("messageStop", {"stopReason": "tool_use"}),
)


def test_bedrock_frames() -> None:
    found = read_binary(b"".join(CONVERSE))
    message = found.body["output"]["message"]
    assert message["content"] == [{"toolUse": {"toolUseId": "t", "name": "page", "input": {"a": 1}}}]
    assert (found.body["stopReason"], found.doubts) == ("tool_use", ())


def test_bedrock_frames_with_the_events_of_another_api_in_them() -> None:
    events: list[Fields] = [
        {"type": "message_start", "message": {"role": "assistant"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hi"}},
        {"type": "message_stop"},
    ]
    frames = (frame("chunk", {"bytes": base64.b64encode(json.dumps(e).encode()).decode()}) for e in events)
    found = read_binary(b"".join(frames))
    assert (found.body["content"], found.doubts) == ([{"type": "text", "text": "hi"}], ())


@pytest.mark.parametrize(
    "found",
    [
        read_events(sse(*CHAT[:-1])),
        read_events(sse(*CHAT[:-1], "{broken", "[DONE]")),
        read_binary(b"".join(CONVERSE[:-1])),
        read_binary(b"".join(CONVERSE)[:-7]),
        read_events(sse({"type": "content_block_delta", "index": 0, "delta": {"text": "x"}})),
    ],
)
def test_a_stream_that_breaks_off_may_hide_something(found: Streamed) -> None:
    assert found.doubts


@pytest.mark.parametrize(
    "data", [b"", b"data: 5\n\n", b"data: {}\n\n", b"\x00" * 64, b"\xff" * 20, b"data: [[[1]]]\n\n"]
)
def test_nothing_of_an_answer_is_nothing(data: bytes) -> None:
    for read in (read_events, read_binary):
        assert read(data).body in (None, {})


def test_hostile_indices_and_shapes_are_bounded() -> None:
    odd: list[Fields] = [
        chunk({"tool_calls": [{"index": 10**9, "function": {"name": "x"}}, {"index": -5}, {"index": "a"}, 7]}),
        chunk({"content": {"a": 1}}), {"choices": [None, {"delta": None}]}, chunk({}, "stop"),
    ]  # fmt: skip
    assert read_events(sse(*odd)).body["choices"]


def test_many_pieces_are_put_together_in_linear_time() -> None:
    def seconds(count: int) -> float:
        stream = sse(*(chunk({"content": "x" * 50}) for _ in range(count)), chunk({}, "stop"))
        begun = time.process_time()
        assert len(read_events(stream).body["choices"][0]["message"]["content"]) == 50 * count
        return time.process_time() - begun

    seconds(100)
    assert min(seconds(20_000) for _ in range(3)) < 40 * max(min(seconds(2_000) for _ in range(3)), 0.005)


def test_a_stream_is_known_by_how_it_begins() -> None:
    assert is_event_stream(sse(*CHAT))
    assert not is_event_stream(b'{"data": 1}')


@pytest.mark.parametrize("kept", [sse(*CHAT, "[DONE]").decode(), list(CHAT)])
def test_a_stream_beside_a_request_is_the_answer_to_it(tmp_path: Path, kept: object) -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": "Who?"}]}
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"request": request, "response": kept}), "utf-8")
    found = read_evidence(path)
    assert [c.tool for t in found.traces for c in t.calls] == ["page", "look"]
    assert not found.gaps


def test_calls_that_a_server_numbers_alike_are_two_where_each_has_an_id_and_a_tool() -> None:
    found = read_events(sse(chunk(part(0, "", id="c1", name="page")), chunk(part(0, "", id="c2", name="look")),
                            chunk({}, "tool_calls")))  # fmt: skip
    (choice,) = found.body["choices"]
    assert [(call["id"], call["function"]["name"]) for call in choice["message"]["tool_calls"]] == [
        ("c1", "page"),
        ("c2", "look"),
    ]
    again = read_events(sse(chunk(part(0, "{", id="c1", name="page")), chunk(part(0, "}", id="c9")),
                            chunk({}, "tool_calls")))  # fmt: skip
    (choice,) = again.body["choices"]
    assert [call["function"] for call in choice["message"]["tool_calls"]] == [{"name": "page", "arguments": "{}"}]


@pytest.mark.parametrize(
    "piece",
    [
        {"object": "chat.completion.chunk", "choices": {"0": {"delta": part(1, "{}", name="look")}}},
        {"object": "chat.completion.chunk", "choices": [[{"delta": part(1, "{}", name="look")}]]},
        chunk({"tool_calls": {"1": {"function": {"name": "look"}}}}),
        chunk({"tool_calls": [{"index": "1", "function": {"name": "look"}}]}),
        chunk({"tool_calls": ["look"]}),
    ],
)
def test_a_chunk_of_another_shape_may_hide_a_call(piece: Fields) -> None:
    assert read_events(sse(*CHAT[:-1], piece, CHAT[-1], "[DONE]")).doubts
