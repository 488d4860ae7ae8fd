"""Records of a Claude Code session told at once are told as they are one by one, damaged and odd ones included."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.core.evidence import Evidence
from forensics.core.reading import EvidenceBuilder
from forensics.errors import CorruptEvidenceError
from forensics.formats import claude_code
from forensics.formats.shared.claude.walk import Session
from forensics.formats.shared.source import Source
from tests.property.told import of_trace, payload

if TYPE_CHECKING:
    from forensics.core.reading import Reading

Fields = dict[str, Any]
SESSION = "0f0e0d0c-0001-4000-8000-00000000a001"
AT = "2026-09-21T14:13:22.604Z"

# what may stand anywhere ---------------------------------------------------------------------------------------------

ids = st.sampled_from(["t1", "t2", "t3", "c11", "c12", "", None, 7])
uuids = st.sampled_from(["u1", "u2", "r11", "m1", "", None])
messages = st.sampled_from(["m1", "m2", "n11", "u1", "", None])
times = st.sampled_from([AT, "2026-09-21T14:13:23.604Z", "x", None, 17e8])
tools = st.sampled_from(["Bash", "Read", "mcp__files__read", "mcp__", "Task", "", None, 3])
texts = st.sampled_from(
    ["hello", "", "é \U0001f600", "[Request interrupted by user]", "[1]", 'say "x"', "a\nb", None, 5]
)
in_lists = st.sampled_from([[], [{"type": "text", "text": "in a list"}], [{"type": "image"}], {}])
results = texts | in_lists | st.sampled_from(["Error: it timed out", "The user doesn't want to proceed"])
copies = st.sampled_from(
    ["Error: no", "fine", None, {"interrupted": False, "x": "true"}, {"interrupted": True}, {"stdout": "x"}, [1]]
)
numbers = st.sampled_from([3, "3", -1, 1.5, None, 10**30])
usages = st.none() | st.fixed_dictionaries({}, optional={"input_tokens": numbers, "output_tokens": numbers})
stops = st.sampled_from(["tool_use", "end_turn", "max_tokens", None, ""])


def some(required: Fields, **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Fields]:
    """An object with these fields and some of those, which stand before or behind them."""
    told = st.tuples(st.fixed_dictionaries({}, optional=optional), st.booleans())
    return told.map(lambda one: required | one[0] if one[1] else one[0] | required)


calls = some({"type": "tool_use"}, id=ids, name=tools, input=st.sampled_from([{}, {"prompt": "go"}, None, 1]))
answers = some({"type": "tool_result"}, tool_use_id=ids, content=results, is_error=st.booleans(), output=texts)
spoken = some({"type": "text"}, text=texts, citations=st.none())
thoughts = some({"type": "thinking"}, thinking=texts, signature=st.just("c2ln"))
odd_blocks = st.sampled_from(
    [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}, {"type": "image"}, {}, "x",
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}, {"type": "tool_use_new", "id": "t9"},
        {"type": "tool_result", "tool_use_id": "t1", "content": "a", "text": "beside"}, {"type": None}, {"text": "a"},
    ]
)  # fmt: skip
blocks = st.lists(st.one_of(spoken, thoughts, calls, answers, odd_blocks), max_size=3)
turns = some(
    {"role": "assistant"}, id=messages, model=st.sampled_from(["demo", "<synthetic>", None]), usage=usages,
    stop_reason=stops, content=blocks | texts, tool_calls=st.sampled_from([[], [{"id": "c"}]]),
)  # fmt: skip
prompts = some({"role": "user"}, content=blocks | texts)


def record(kind: str, **more: st.SearchStrategy[Any]) -> st.SearchStrategy[Fields]:
    return some(
        {"type": kind}, uuid=uuids, parentUuid=uuids, timestamp=times, isSidechain=st.booleans(), isMeta=st.booleans(),
        sessionId=st.just(SESSION), agentId=st.sampled_from(["a1", ""]), parent_tool_use_id=st.none() | st.just("t1"),
        **more,
    )  # fmt: skip


called = {"type": "assistant", "uuid": "u5", "message": {"id": "m9", "content": [{"type": "tool_use", "id": "t5"}]}}
news = st.sampled_from(
    [
        {"type": "bash_progress", "output": "x"}, {}, None, "bash", {"type": "odd", "x": {"tool_use": 1}},
        {"type": "agent_progress", "agentId": "a1", "message": called}, {"type": "agent_progress", "message": "none"},
    ]
)  # fmt: skip
subtypes = st.sampled_from(["api_error", "local_command", "compact_boundary", "turn_duration", None])
attached: st.SearchStrategy[Any] = st.sampled_from([{"type": "todo"}, {}, "text", None, {"tool_calls": []}])
kept = st.sampled_from([{}, {"name": "Bash", "input": 1, "kind": "function_call"}])
anything = st.one_of(
    record("assistant", message=turns, requestId=messages),
    record("user", message=prompts, toolUseResult=copies, toolDenialKind=texts, isCompactSummary=st.booleans()),
    record("progress", data=news, toolUseID=ids),
    record("system", subtype=subtypes, content=texts),
    record("attachment", attachment=attached),
    record("file-history-snapshot", snapshot=kept),
    record("result", subtype=st.sampled_from(["success", "error"]), is_error=st.booleans(), usage=usages),
    record("odd", message=turns),
)


# what mostly stands in a session -------------------------------------------------------------------------------------


def usual(number: int, kind: str, part: str, **more: Any) -> Fields:
    head = {"parentUuid": f"r{number - 1}", "isSidechain": False, "sessionId": SESSION, "type": kind, **more}
    return {**head, "uuid": f"{part}{number}", "timestamp": f"2026-09-21T14:13:{number}.604Z"}


def piece(number: int, part: str, block: Fields, **more: Any) -> Fields:
    message = {"id": f"n{number}", "model": "demo", "content": [block], **more, "usage": {"input_tokens": number}}
    return usual(number, "assistant", part, message=message)


def of_agent(number: int, part: str, block: Fields, **more: Any) -> Fields:
    """News of what a sub-agent said or was shown."""
    kind = "assistant" if block["type"] in ("tool_use", "text") else "user"
    message = {"id": f"n{part}{number}", "model": "small", "role": kind, "content": [block], "stop_reason": None}
    inner = {"type": kind, "message": message, "uuid": f"i{part}{number}", "timestamp": "2026-09-21T14:13:10.604Z"}
    data = {"message": inner, "normalizedMessages": [], "type": "agent_progress", "prompt": "", "agentId": "a7"} | more
    return usual(number, "progress", part, data=data, toolUseID=f"agent_{number}", parentToolUseID=f"c{number}")


def exchange(number: int, ways: frozenset[str], stop: str | None) -> list[Fields]:
    """A turn in pieces, what its call reported while it ran, its result, and what was said beside it."""
    call = {"type": "tool_use", "id": f"c{number}", "name": "mcp__x__y" if "mcp" in ways else "Bash", "input": {"n": 1}}
    answer = {"tool_use_id": f"c{number}", "type": "tool_result", "content": f"done {number}"}
    beside = [{"type": "text", "text": "so"}] if "beside" in ways else []
    told = [
        ("thought", piece(number, "h", {"type": "thinking", "thinking": "hm", "signature": "c2ln"}, stop_reason=None)),
        ("said", piece(number, "s", {"type": "text", "text": "so I call"}, stop_reason=stop)),
        ("asked", piece(number, "a", call, stop_reason="tool_use")),
        ("news", usual(number, "progress", "p", data={"type": "bash_progress", "output": "x"})),
        ("shown", usual(number, "user", "r", message={"content": [answer, *beside]}, toolUseResult={"stdout": "x"})),
        ("agent", of_agent(number, "x", {"type": "tool_use", "id": f"s{number}", "name": "Read", "input": {"n": 2}})),
        ("agent", of_agent(number, "y", {"type": "tool_result", "tool_use_id": f"s{number}", "content": "read"})),
        ("attached", usual(number, "attachment", "f", attachment={"type": "todo"})),
        ("prompt", usual(number, "user", "q", message={"content": "on"}, isMeta="meta" in ways)),
    ]
    own = {"isSidechain": True, "agentId": "a1"} if "aside" in ways else {}
    return [one | own for name, one in told if name in ways or name in ("asked", "shown")]


ways = st.frozensets(
    st.sampled_from(["thought", "said", "news", "agent", "attached", "prompt", "meta", "mcp", "beside", "aside"])
)
exchanges = st.builds(exchange, st.integers(10, 59), ways, stops)
compact = st.one_of(exchanges, exchanges, exchanges, anything.map(lambda one: [one])).map(
    lambda many: [json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in many]
)
spaced = anything.map(lambda one: [json.dumps(one)])
broken = st.sampled_from(
    [
        '{"type":"user","message":', "", "1", "{}", "\x00\x00", '{"type":"user","type":"assistant"}',
        '{"type":"\\ud800"}', '{"type":"user","message":{"content":"a","content":"b"}}', '{"type":"user","message":1}',
        '{"type":"progress","uuid":"u1"}{"type":"progress","uuid":"u2"}', '{"type":"user","message":{"content": "x"}}',
        '{"type":"assistant","message":{"content":[{"type":"text","text":"a","text":"b"}]}}',
        '{"type":"assistant","message":{"content":[{"type":"text","text":"\\udc80"}]}}',
    ]
).map(lambda one: [one])  # fmt: skip
sessions = st.one_of(st.lists(compact, max_size=12), st.lists(st.one_of(*[compact] * 6, spaced, broken), max_size=12))
FIRST = {"type": "user", "uuid": "r9", "sessionId": SESSION, "message": {"content": "go"}}


def read(lines: list[str]) -> Reading:
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    source = Source("session", memoryview(data), "")
    evidence = Evidence(0, source.name, source.sha256, source.size, claude_code.NAME)
    build = EvidenceBuilder(evidence, records_calls=claude_code.RECORDS_CALLS, text=source.data)
    with contextlib.suppress(CorruptEvidenceError):  # of a file without any record
        claude_code.read(source, build)
    return build.finish()


def told(lines: list[str], *, few: int, block: int) -> tuple[object, ...]:
    """What a session says where so few records are told one by one, in blocks of about that many bytes."""
    shared = "forensics.formats.shared"
    with (
        mock.patch(f"{shared}.claude.at_once._FEW", few),
        mock.patch(f"{shared}.forms._FEW", few),
        mock.patch("forensics.formats.claude_code._BLOCK", block),
    ):
        reading = read(lines)
    marks = [(sorted(trace.named_turns), trace.silent_turns, trace.ended_normally) for trace in reading.traces]
    return (reading.gaps, reading.findings, reading.counts, marks, list(map(of_trace, reading.traces)))


@settings(deadline=None, max_examples=300)
@given(sessions, st.sampled_from([1000, 4000, 1 << 18]), st.integers(0, 1))
def test_what_is_told_at_once_is_told_as_one_by_one(session: list[list[str]], block: int, begun: int) -> None:
    lines = [json.dumps(FIRST, separators=(",", ":"))] * begun + [line for lines in session for line in lines]
    assert told(lines, few=0, block=block) == told(lines, few=1 << 30, block=block)


def said_in_one(role: str, *blocks: Any, **more: Any) -> Fields:
    return usual(30, role, "o", message={"role": role, "content": list(blocks)}, **more)


def told_by(block: Fields | str) -> Fields:
    return {"type": "tool_result", "tool_use_id": "c20"} | (block if isinstance(block, dict) else {"content": block})


A_TEXT, TWO = {"type": "text", "text": "a"}, [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]
SAYS_SO = '"content":"x"'
ODD = [
    said_in_one("user", A_TEXT, {"type": "thinking", "thinking": "b"}),
    said_in_one("user", {"type": "text", "text": ""}),
    said_in_one("user", {"type": "text", "text": ""}, told_by("late"), A_TEXT, isMeta=True),
    said_in_one("user", {"type": "text", "text": None, "thinking": "b"}),
    said_in_one("user", {"type": "image", "source": {"content": "x"}}, A_TEXT),
    said_in_one("user", {"type": "image", "source": {"text": "x"}, "text": "y"}),
    said_in_one("user", {"type": "text", "text": "[Request interrupted by user]"}),
    said_in_one("user", told_by("x"), toolUseResult="Error: a", tool_use_result="b"),
    said_in_one("user", told_by("x"), tool_use_result="Error: a"),
    said_in_one("user", told_by("x"), toolUseResult=None),
    said_in_one("user", told_by({"content": None, "output": "x"})),
    said_in_one("user", told_by({"content": TWO, "output": "x"}), toolUseResult={"content": TWO}),
    said_in_one("user", told_by({"output": "x", "content": {"text": "y"}, "text": "z"})),
    said_in_one("user", told_by({"content": "no", "is_error": True})),
    said_in_one("user", told_by({"content": "timed out", "is_error": True, "caller": {"content": "x"}})),
    said_in_one("user", {"caller": {"content": "x"}} | told_by("after an object")),
    said_in_one("user", told_by({"content": SAYS_SO, "note": SAYS_SO}), cwd=f"/{SAYS_SO}"),
    {"attachment": {"message": {"content": "x"}}} | said_in_one("user", A_TEXT),
    {"data": {"message": {"content": [1]}}} | said_in_one("user", told_by("x")),
    {"more": {"message": {"content": [1]}}} | said_in_one("user", told_by("x")),
    said_in_one("assistant", {"type": "tool_use", "id": "c77", "name": "Bash", "input": None}, A_TEXT),
    said_in_one("assistant", {"input": {"text": "x"}, "text": "y", "type": "tool_use", "id": "c77", "name": "Bash"}),
    said_in_one("assistant", {"type": "thinking", "thinking": SAYS_SO, "signature": "x"}, *TWO),
    said_in_one("assistant"),
    said_in_one("user"),
    usual(30, "assistant", "o", message={"usage": {"content": 1}, "content": [A_TEXT]}),
    usual(30, "user", "o", message={"content": ""}),
    usual(30, "user", "o", message={"content": None}),
    usual(30, "user", "o", message=None),
    usual(30, "attachment", "o", message={"content": "x"}, attachment={"type": "x"}),
    usual(30, "attachment", "o", data={"attachment": 1}, attachment={"type": "x", "attachment": 2}),
    usual(30, "attachment", "o", attachment={"type": None, "toolCalls": []}),
    usual(30, "progress", "o", data={"type": "hook_progress", "say": 'a "tool_use"'}),
    usual(30, "progress", "o", data={"type": "tool_use"}),
    usual(30, "queue-operation", "o", content="x", operation="enqueue"),
    usual(30, "system", "o", subtype="local_command", content="x"),
    usual(30, "queue-operation", "o", name="Bash", arguments={"x": 1}),
    usual(30, "queue-operation", "o", name="Bash"),
    of_agent(30, "o", A_TEXT),
    of_agent(30, "o", A_TEXT, agentId=None),
    of_agent(30, "o", A_TEXT, normalizedMessages=[{"type": "tool_use", "id": "hidden", "name": "x", "input": {}}]),
    of_agent(30, "o", A_TEXT, message="none"),
    of_agent(30, "o", A_TEXT, message={"type": "system", "message": {"content": [A_TEXT]}}),
    of_agent(30, "o", A_TEXT, message={"type": "user", "agentId": "a8", "message": {"content": "on"}, "isMeta": True}),
    of_agent(30, "o", A_TEXT, message={"type": "user", "message": {"content": "on"}, "toolDenialKind": "x"}),
    of_agent(30, "o", {"type": "tool_result", "tool_use_id": "c20", "content": "no", "is_error": True}),
    of_agent(30, "o", {"type": "tool_use", "id": "c20", "name": "Task", "input": {"prompt": "go"}}),
    {"type": "summary", "summary": "x", "leafUuid": "y"},
]


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_record_among_usual_ones_is_told_as_alone(odd: Fields) -> None:
    """The odd one comes often enough to be learned, and alone after it is."""
    many = [one for number in range(10, 58) for one in exchange(number, frozenset({"said", "news", "attached"}), None)]
    again = [odd | {"uuid": f"o{number}"} if "uuid" in odd else odd for number in range(30)]
    told_so = [FIRST, *many[:200], *again, *many[200:], odd | {"uuid": "o99", "parentUuid": "gone"}]
    lines = [json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in told_so]
    for few, block in ((0, 4000), (0, 1 << 18), (4, 16000)):
        assert told(lines, few=few, block=block) == told(lines, few=1 << 30, block=block)


def test_a_sub_agent_that_is_asked_is_no_branch_of_its_session() -> None:
    asked = [one for number in range(10, 20) for one in exchange(number, frozenset({"aside", "prompt"}), None)]
    lines = [json.dumps(one | {"parentUuid": "r9"}, separators=(",", ":")) for one in (FIRST, *asked)]
    assert read(lines).counts.branches == 1


def test_what_a_session_mostly_holds_is_told_at_once() -> None:
    ways = frozenset({"thought", "said", "news", "attached", "prompt", "beside"})
    told = [FIRST, *(one for number in range(10, 50) for one in exchange(number, ways, None))]
    with mock.patch.object(Session, "line", autospec=True, side_effect=Session.line) as one_by_one:
        (trace,) = read([json.dumps(one, separators=(",", ":")) for one in told]).traces
    assert one_by_one.call_count == 1
    assert [call.recorded_id for call in trace.calls] == [f"c{number}" for number in range(10, 50)]
    assert [payload(call.result) for call in trace.calls] == [b'"done %d"' % number for number in range(10, 50)]
    said = [payload(step.payload) for step in trace.steps() if step.kind.label == "model"]
    assert said == [b'"hm\\nso I call"'] * 40


def test_what_a_sub_agent_did_is_told_at_once_from_the_news_of_it() -> None:
    held = [one for number in range(10, 60) for one in exchange(number, frozenset({"agent"}), None)]
    lines = [json.dumps(one, separators=(",", ":")) for one in held if one["type"] == "progress"]
    with mock.patch.object(Session, "line", autospec=True, side_effect=Session.line) as one_by_one:
        (trace,) = read([json.dumps(FIRST, separators=(",", ":")), *lines]).traces
    assert one_by_one.call_count == 2
    told = [(call.recorded_id, payload(call.result)) for call in trace.calls]
    assert told == [(f"s{number}", b'"read"') for number in range(10, 60)]
    assert {step.agent for step in trace.steps()} == {"main", "agent-a7"}


def test_a_session_of_which_little_can_be_told_at_once_is_soon_given_up() -> None:
    told = [FIRST, *(one | {"uuid": "same"} for number in range(999) for one in exchange(10, frozenset(), None))]
    new_ones = "forensics.formats.shared.claude.history.Again.new_ones"
    with mock.patch(new_ones, return_value=0) as looked:
        reading = read([json.dumps(one, separators=(",", ":")) for one in told])
    assert looked.call_count < 20
    assert reading.counts.records == 1999
