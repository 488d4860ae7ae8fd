"""Is a call that stands only in a model's words a gap, however many others were read?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import examine
from forensics.core.trace import Outcome
from tests.unit.formats.conftest import hiding, read_records, read_value

if TYPE_CHECKING:
    from pathlib import Path

MOVE = '{"name": "move_file", "arguments": {"to": "/old"}}'
HERMES = f"<tool_call>{MOVE}</tool_call>"
REACT = "Thought: it is old\nAction: move_file\nAction Input: /old"
TEXTS = [HERMES, REACT, f"[TOOL_CALLS][{MOVE}]", f"```json\n{MOVE}\n```"]


def asked(name: str, call_id: str, said: str | None = None) -> dict[str, Any]:
    function = {"name": name, "arguments": "{}"}
    return {"role": "assistant", "content": said, "tool_calls": [{"id": call_id, "function": function}]}


def answered(call_id: str) -> dict[str, str]:
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


BEFORE: list[dict[str, Any]] = [{"role": "user", "content": "go"}, asked("list_files", "c1"), answered("c1")]
DONE = {"role": "assistant", "content": "It is done."}


def spelled(messages: list[str]) -> list[str]:
    return [told for told in messages if "spells a call" in told]


@pytest.mark.parametrize("text", TEXTS)
def test_beside_calls_that_were_read_it_still_refuses(tmp_path: Path, text: str) -> None:
    chat = [*BEFORE, {"role": "assistant", "content": text}, {"role": "user", "content": "Observation: ok"}, DONE]
    [told] = hiding(read_value(tmp_path, chat))
    assert "move_file" in told
    assert examine(tmp_path / "evidence.json").analyses[0].verdict.inject


@pytest.mark.parametrize("text", TEXTS)
def test_in_the_words_of_the_other_apis(tmp_path: Path, text: str) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "list_files", "input": {}}
    anthropic = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a"}]},
        {"role": "assistant", "content": [{"type": "text", "text": text}]},
    ]
    gemini = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "list_files", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "list_files", "response": {"out": "a"}}}]},
        {"role": "model", "parts": [{"text": text}]},
    ]
    for messages in (anthropic, gemini):
        assert len(spelled(hiding(read_value(tmp_path, messages)))) == 1


def test_a_call_that_its_turn_records_as_well_was_read(tmp_path: Path) -> None:
    chat = [BEFORE[0], asked("move_file", "c1", HERMES), answered("c1"), DONE]
    assert hiding(read_value(tmp_path, chat)) == []


def test_each_read_call_stands_for_one_that_is_spelled(tmp_path: Path) -> None:
    chat = [BEFORE[0], asked("move_file", "c1", f"{HERMES}\n{HERMES}"), answered("c1"), DONE]
    assert len(hiding(read_value(tmp_path, chat))) == 1


@pytest.mark.parametrize("member", ["reasoning_content", "reasoning", "thinking", "refusal"])
@pytest.mark.parametrize("text", TEXTS)
def test_beside_the_text_of_a_message_it_refuses_as_well(tmp_path: Path, text: str, member: str) -> None:
    [told] = hiding(read_value(tmp_path, [*BEFORE, {**DONE, member: text}]))
    assert "move_file" in told
    assert examine(tmp_path / "evidence.json").analyses[0].verdict.inject


@pytest.mark.parametrize("member", ["reasoning_content", "refusal"])
def test_what_a_message_thinks_of_and_asks_for_is_read(tmp_path: Path, member: str) -> None:
    asks = asked("move_file", "c1")
    assert hiding(read_value(tmp_path, [BEFORE[0], {**asks, member: HERMES}, answered("c1"), DONE])) == []
    twice = [BEFORE[0], {**asks, member: f"{HERMES} {HERMES}"}, answered("c1"), DONE]
    assert len(hiding(read_value(tmp_path, twice))) == 1
    assert hiding(read_value(tmp_path, [*BEFORE, {**DONE, member: "It speaks of <tool_call> tags."}])) == []


def test_reasoning_in_parts_is_searched(tmp_path: Path) -> None:
    parts = [{"type": "reasoning.text", "text": REACT}]
    assert len(hiding(read_value(tmp_path, [*BEFORE, {**DONE, "reasoning_details": parts}]))) == 1


def test_prose_about_calls_is_no_gap(tmp_path: Path) -> None:
    chat = [*BEFORE, {"role": "assistant", "content": "It writes <tool_call> tags. Action: none of them is one."}]
    assert hiding(read_value(tmp_path, chat)) == []


def span(number: int, kind: str, name: str, **attributes: str) -> dict[str, Any]:
    told = {"openinference.span.kind": kind, **{key.replace("__", "."): value for key, value in attributes.items()}}
    context = {"trace_id": "0x1", "span_id": f"0x{number}"}
    start, end = (f"2026-01-01T00:00:{2 * number + later:02d}Z" for later in (0, 1))
    return {"name": name, "context": context, "parent_id": None, "start_time": start, "end_time": end,
            "attributes": told}  # fmt: skip


def model_span(number: int, said: str, *before: str) -> dict[str, Any]:
    shown = {
        f"llm__input_messages__{at}__message__{part}": value
        for at, text in enumerate(("go", *before))
        for part, value in (("role", "assistant" if at else "user"), ("content", text))
    }
    out = {"llm__output_messages__0__message__role": "assistant", "llm__output_messages__0__message__content": said}
    return span(number, "LLM", "chat", **shown, **out)


def test_a_tool_that_a_span_records_was_read_and_told_once_more_by_the_prompt(tmp_path: Path) -> None:
    ran = span(2, "TOOL", "move_file", tool__name="move_file", input__value="/old", output__value="ok")
    repeated = model_span(3, "Final Answer: ok", f"{REACT}\nObservation: ok")
    reading = read_records(tmp_path, model_span(1, REACT), ran, repeated)
    [trace] = reading.traces
    assert [call.tool for call in trace.calls] == ["move_file"]
    assert spelled(hiding(reading)) == []
    again = read_records(tmp_path, model_span(1, REACT), ran, model_span(3, REACT))
    assert len(spelled(hiding(again))) == 1


@pytest.mark.parametrize("name", [{}, {"name": ""}, {"name": None}, {"name": ["pay"]}, {"name": " "}])
def test_a_call_without_a_name_is_a_gap_whatever_answers_it(tmp_path: Path, name: dict[str, Any]) -> None:
    call = {"id": "c1", "type": "function", "function": {**name, "arguments": "{}"}}
    chat = [BEFORE[0], {"role": "assistant", "content": None, "tool_calls": [call]}, answered("c1"), DONE]
    reading = read_value(tmp_path, chat)
    assert [call.outcome for call in reading.traces[0].calls] == [Outcome.RECORDED]
    assert hiding(reading) == ["1 of 1 calls name no tool: what they did is not known"]


@pytest.mark.parametrize(
    "more",
    [
        {"custom": {"name": "pay", "input": "x"}},
        {"name": "pay"},
    ],
)
def test_one_call_of_two_tools_may_hide_one(tmp_path: Path, more: dict[str, Any]) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}, **more}
    chat = [BEFORE[0], {"role": "assistant", "content": None, "tool_calls": [call]}, answered("c1"), DONE]
    assert len(hiding(read_value(tmp_path, chat))) == 1


def test_calls_deep_in_a_member_that_is_not_read_are_a_gap_unless_they_repeat_the_others(tmp_path: Path) -> None:
    raw = {"choices": [{"message": asked("list_files", "c1")}]}
    chat = [BEFORE[0], {**asked("list_files", "c1"), "raw": raw}, answered("c1"), {**DONE, "raw": None}]
    assert hiding(read_value(tmp_path, chat)) == []
    other = {"choices": [{"message": {**asked("pay", "c2"), "function_call": None}}]}
    chat[1] = {**asked("list_files", "c1"), "raw": other}
    assert hiding(read_value(tmp_path, chat)) == ["what looks like calls in a member that is not read (raw)"]


@pytest.mark.parametrize("odd", [{"a": 1}, ["c1"], 7])
def test_a_call_deep_in_such_a_member_may_have_an_id_of_any_type(tmp_path: Path, odd: object) -> None:
    raw = {"choices": [{"message": {"tool_calls": [{"id": odd, "function": {"name": "pay", "arguments": "{}"}}]}}]}
    chat = [BEFORE[0], {**asked("list_files", "c1"), "raw": raw}, answered("c1"), DONE]
    assert hiding(read_value(tmp_path, chat)) == ["what looks like calls in a member that is not read (raw)"]
