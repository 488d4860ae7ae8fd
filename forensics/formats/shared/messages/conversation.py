"""What was one model shown, and what did it answer? One JSON value as a conversation: a list of messages, a request,
or a request with its response, in the wrappings that logs give them.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from forensics.core.messages import Doubt, Message
from forensics.core.sanitise import one_line
from forensics.core.trace import NOWHERE, Payload
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    call_marks,
    fields_of,
    holds_a_call,
    is_text,
    items_of,
    opens_with,
    present,
    text,
)
from forensics.formats.shared.messages.answers import BODIES, Answer, join_items, read_answer, read_body
from forensics.formats.shared.messages.interactions import holder_of
from forensics.formats.shared.messages.letta_messages import in_order, is_of_letta
from forensics.formats.shared.messages.model_messages import parse_messages, without_repeated
from forensics.formats.shared.messages.vocabulary import is_of_langchain, parse_message

LISTS = ("messages", "contents", "input", "items", "history")
_REQUESTS = ("request", "body", "req", "request_body", "modelInput", "run_data")
_RESPONSES = ("response", "completion", "resp", "response_body", "modelOutput")
_LOGGED = (("input", "inputBodyJson"), ("output", "outputBodyJson"))
"""Where Bedrock's log of model invocations keeps the request and the response."""
_BESIDE = ("result", "output")
_BODIES = ("output", "choices", "candidates")
_ANSWERS = BODIES | {"error"}
_OF_A_BATCH = "custom_id"
_TOOL_LISTS = ("tools", "functions")
_ENDS = frozenset({"stop_reason", "stopReason", "usage"})
"""What the API says beside its answer, and nobody says of a message that was sent to it."""

_TEXTS_ARE_THE_USERS = frozenset({"contents", "input"})
_NULL = msgspec.Raw(b"null")

Locate = Callable[[Payload], int]


def nowhere(_raw: Payload) -> int:
    """The place of a message that has none of its own: it stands in its line."""
    return NOWHERE


class Conversation(msgspec.Struct, frozen=True):
    """One prompt with, perhaps, the answer to it; pointers are those of its place in the record. `error` is what the
    model's API answered instead; `doubts` are what in the wrapping may hide something.
    """

    prompt: tuple[Message, ...] = ()
    answer: tuple[Message, ...] = ()
    tools: Payload | None = None
    model: str = ""
    trace_id: str = ""
    usage: Payload | None = None
    error: Payload | None = None
    doubts: tuple[Doubt, ...] = ()
    tools_pointer: str = "/tools"


def is_message(fields: Fields) -> bool:
    """Whether an object has the keys of one message (or one Responses item) of any vocabulary."""
    kind = text(fields, "type")
    if "role" in fields or "parts" in fields or "lc" in fields or is_item(kind):
        return True
    return kind in ("human", "ai") or is_of_langchain(fields) or is_of_letta(fields)


def is_item(kind: str) -> bool:
    """Whether that is the type of an item of a Responses list."""
    return kind in _ITEM_TYPES or (kind.endswith(("_call", "_call_output")) and kind != "tool_call")


_ITEM_TYPES = frozenset({"message", "reasoning", "item_reference", "compaction"}) | {
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_list_tools",
    "tool_search_output",
    "program",
    "program_output",
}


def is_conversation(raw: Payload) -> bool:
    """Whether a JSON value is a list of messages, a request or a response."""
    if opens_with(raw, b"["):
        return True
    fields = fields_of(raw)
    if holder_of(fields):
        return True
    if is_message(fields):
        return False
    return any(k in fields for k in (*LISTS, *_REQUESTS, *_RESPONSES, *_BODIES, _OF_A_BATCH))


def parse_conversation(raw: Payload, locate: Locate = nowhere) -> Conversation:
    """A list, a request, or a request with its response, as one conversation."""
    if opens_with(raw, b"["):
        return Conversation(_messages(raw, "", locate))
    fields = fields_of(raw)
    if is_message(fields) and not holder_of(fields):
        return _alone(fields, raw)
    request, base = _request(fields)
    answer = _answer(fields, request, base)
    prompt = _prompt(request, base, locate)
    return Conversation(
        prompt=prompt,
        answer=_unless_told(answer.messages, prompt),
        tools=present(request, *_TOOL_LISTS),
        tools_pointer=f"{base}/{next((name for name in _TOOL_LISTS if name in request), 'tools')}",
        model=answer.model or text(request, "model"),
        trace_id=text(fields, "id", "trace_id", "session_id", "conversation_id", "run_id"),
        usage=answer.usage,
        error=answer.error or _own_error(fields),
        doubts=(
            *answer.doubts,
            *_held_elsewhere(request, base),
            *_is_a_call_itself(fields),
            *_untold_calls(fields, (*prompt, *answer.messages)),
            *_is_unanswered(fields, prompt, answer),
        ),
    )


def _alone(fields: Fields, raw: Payload) -> Conversation:
    """A message that stands alone: the body of a response where it says how the model ended, else a list of one."""
    if _ENDS.isdisjoint(fields):
        return Conversation((parse_message(raw, ""),))
    told = read_body(fields, "")
    return Conversation(
        answer=told.messages,
        model=told.model,
        usage=told.usage,
        error=told.error,
        doubts=told.doubts,
        trace_id=text(fields, "id"),
    )


# the request ---------------------------------------------------------------------------------------------------------


def _request(fields: Fields) -> tuple[Fields, str]:
    for name in _REQUESTS:
        raw = fields.get(name)
        if raw is not None and not is_text(raw):
            inner = fields_of(raw)
            if any(k in inner for k in LISTS):
                return inner, f"/{name}"
    logged = _logged(fields, 0)
    return (fields, "") if logged is None else (fields_of(logged[0]), logged[1])


def _logged(fields: Fields, side: int) -> tuple[Payload, str] | None:
    """The request (side 0) or the response (1) of a record of Bedrock's invocation log, and where it stands."""
    holder, name = _LOGGED[side]
    held = fields.get(holder)
    if held is None or not opens_with(held, b"{"):
        return None
    body = present(fields_of(held), name)
    return None if body is None else (body, f"/{holder}/{name}")


def _prompt(request: Fields, base: str, locate: Locate) -> tuple[Message, ...]:
    system = present(request, "system", "instructions", "systemInstruction", "system_instruction")
    first = () if system is None else (_system_message(system, base),)
    name = next((k for k in LISTS if k in request), None)
    if name is None:
        return first
    listed = _listed(request[name], name, base, locate)
    if name != "history" and present(request, "history") is not None:
        listed = _with_history(_listed(request["history"], "history", base, locate), listed)
    return first + listed


def _listed(raw: Payload, name: str, base: str, locate: Locate) -> tuple[Message, ...]:
    if is_text(raw):
        return (parse_message(_as_user(raw), f"{base}/{name}"),)
    if opens_with(raw, b"{"):
        return (parse_message(raw, f"{base}/{name}"),)
    return _messages(raw, f"{base}/{name}", locate, texts_are_the_users=name in _TEXTS_ARE_THE_USERS)


def _with_history(history: tuple[Message, ...], listed: tuple[Message, ...]) -> tuple[Message, ...]:
    """What was said before stands in front, unless the list repeats it."""
    told = [m.key for m in history]
    return listed if [m.key for m in listed[: len(told)]] == told else history + listed


def _held_elsewhere(request: Fields, base: str) -> tuple[Doubt, ...]:
    """A request that goes on with what the provider keeps: an id stands for the messages before."""
    name = next((k for k in ("previous_response_id", "conversation") if present(request, k) is not None), None)
    if name is None or opens_with(request[name], b"["):
        return ()
    return (Doubt(f"the history of this request is held elsewhere ({name})", f"{base}/{name}"),)


def _is_a_call_itself(fields: Fields) -> tuple[Doubt, ...]:
    """A record that was taken for a request by its input, and that names a tool with it."""
    if "model" in fields or next((k for k in LISTS if k in fields), "") != "input" or not call_marks(fields):
        return ()
    return (Doubt("a record that looks like a call and not like a request"),)


def _system_message(raw: Payload, base: str) -> Message:
    fields = fields_of(raw) if bytes(raw)[:1] == b"{" else {"content": raw}
    return parse_message(as_object({**fields, "role": msgspec.Raw(b'"system"')}), f"{base}/system")


def _as_user(raw: Payload) -> Payload:
    return as_object({"role": msgspec.Raw(b'"user"'), "content": raw})


def _messages(raw: Payload, base: str, locate: Locate, *, texts_are_the_users: bool = False) -> tuple[Message, ...]:
    found: list[Message] = []
    for index, item in in_order(items_of(raw)):
        pointer, place = f"{base}/{index}", locate(item)
        told = _text_item(item, pointer, known=texts_are_the_users) if is_text(item) else None
        said = parse_messages(item, pointer) if told is None else (told,)
        found.extend(msgspec.structs.replace(message, place=place) for message in said)
    return join_items(without_repeated(found), base)


def _text_item(item: Payload, pointer: str, *, known: bool) -> Message:
    """An item of a list that is only a text; whose it is may be known from the list."""
    message = parse_message(_as_user(item), pointer)
    doubt = Doubt("an item that is only a text: who said it is not recorded")
    return message if known else msgspec.structs.replace(message, doubts=(*message.doubts, doubt))


# the response --------------------------------------------------------------------------------------------------------


def _answer(fields: Fields, request: Fields, base: str) -> Answer:
    """The answer under one of the names of a response, in a body that is itself the record, or under a name that may
    as well hold something else.
    """
    logged = _logged(fields, 1)
    if logged is not None:
        return read_answer(*logged)
    name = next((k for k in _RESPONSES if k in fields), None)
    if name is not None and (fields[name] != _NULL or _own_error(fields) is None):
        return read_answer(fields[name], f"/{name}")
    ends = "stopReason" in request  # Bedrock says so beside the object that holds its answer
    own = {k: v for k, v in request.items() if k not in _BESIDE or opens_with(v, b"[") or (ends and k == "output")}
    if any(k in own for k in _BODIES) or holder_of(own):
        return read_body(own, base)
    for beside in _BESIDE:
        value = fields.get(beside)
        if value is not None and any(_ANSWERS & fields_of(one).keys() for one in _one_or_items(value)):
            return read_answer(value, f"/{beside}")
    return Answer()


def _one_or_items(raw: Payload) -> list[Payload]:
    return items_of(raw) if opens_with(raw, b"[") else [raw] if opens_with(raw, b"{") else []


_NO_ANSWER = frozenset({*_REQUESTS, *_RESPONSES, *_TOOL_LISTS, "kwargs"})


def _untold_calls(fields: Fields, told: tuple[Message, ...]) -> tuple[Doubt, ...]:
    """Members beside what was read that hold calls which it does not: another list, another answer."""
    read = next((k for k in LISTS if k in fields), "")
    known = {(part.tool, part.recorded_id) for message in told for part in message.calls}
    doubts = []
    for name, value in fields.items():
        if name == read or name in _NO_ANSWER or is_text(value) or not holds_a_call(value):
            continue
        calls = (part for message in read_answer(value, "").messages for part in message.calls)
        if any(part.tool and (part.tool, part.recorded_id) not in known for part in calls):
            doubts.append(Doubt(f"{one_line(name, 40)} holds calls that what is read does not", f"/{name}"))
    return tuple(doubts)


def _is_unanswered(fields: Fields, prompt: tuple[Message, ...], answer: Answer) -> tuple[Doubt, ...]:
    """A line of a batch that holds neither a request nor how it ended: it was cancelled, or ran out of time."""
    if _OF_A_BATCH not in fields or prompt or answer.messages or answer.error is not None or answer.doubts:
        return ()
    return () if _own_error(fields) is not None else (Doubt("a line of a batch that holds no answer"),)


def _own_error(fields: Fields) -> Payload | None:
    """The error beside a request that was not answered."""
    error = present(fields, "error")
    return None if error is None or bytes(error) in (b'""', b"{}", b"[]", b"false") else error


def _unless_told(answer: tuple[Message, ...], prompt: tuple[Message, ...]) -> tuple[Message, ...]:
    """The answer, unless the list that it stands beside ends with it already."""
    told = [(m.key, len(m.calls)) for m in answer]
    return () if told and [(m.key, len(m.calls)) for m in prompt[-len(told) :]] == told else answer
