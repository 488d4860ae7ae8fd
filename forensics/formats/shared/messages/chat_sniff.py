"""Whose message list is this? Marks that only one API's messages carry, counted over the first messages.

A list without any mark (plain role and content) is OpenAI Chat, the common shape; the walk reads all four alike, so a
wrong name here costs a label and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from forensics.formats.shared.fields import (
    Fields,
    fields_of,
    is_text,
    items_in,
    items_of,
    object_in,
    opens_with,
    present,
    text,
)
from forensics.formats.shared.messages.conversation import is_item, is_message
from forensics.formats.shared.messages.interactions import holder_of, is_step
from forensics.formats.shared.messages.letta_messages import is_of_letta
from forensics.formats.shared.messages.model_messages import is_model_message
from forensics.formats.shared.messages.vocabulary import is_of_langchain

if TYPE_CHECKING:
    import msgspec

    from forensics.formats.shared.reader import Look

_BLOCKS = {
    "tool_use": "anthropic-messages",
    "tool_result": "anthropic-messages",
    "thinking": "anthropic-messages",
    "server_tool_use": "anthropic-messages",
    "input_text": "openai-responses",
    "output_text": "openai-responses",
    "image_url": "openai-chat",
}
_ITEMS = frozenset(
    {"function_call", "function_call_output", "reasoning", "custom_tool_call", "custom_tool_call_output"}
)
"""Items that stand a line for themselves in no other format."""
_LISTS = ("messages", "contents", "input", "items")
_WRAPPERS = ("request", "body", "request_body", "modelInput", "inputBodyJson", "run_data")
_ANSWERS = ("response", "response_body", "body", "result", "message")
"""Members in which the answer of a batch, or of a gateway's log, stands without its request."""
_CALLERS_OWN = frozenset({"custom_id", "request_body"})
"""Members of which a line of a batch, or of a gateway's log, has one."""
_BODIES = {"response": ("output", "responses_body"), "chat.completion": ("choices", "chat_body")}
_ENDINGS = ("tool_use", "tool_result")  # of a block's type: Anthropic adds tools of its own that way
_LOOKED_AT = 40
# Keys that say "another format": its messages are not the evidence, only a part of it.
_FOREIGN = frozenset(
    [
        "$schemaVersion",
        "answer_generation",
        "app_name",
        "conversation_id",
        "dotted_order",
        "eval",
        "export_version",
        "info",
        "interactions",
        "jsonrpc",
        "mistake_agent",
        "mode",
        "parentUuid",
        "projectHash",
        "resourceSpans",
        "run_type",
        "schema_version",
        "sessionId",
        "simulations",
        "spans",
        "suite_name",
        "task_id",
        "traj",
        "trajectory",
        "trajectory_format",
    ]
)


_known: WeakKeyDictionary[Look, dict[str, int]] = WeakKeyDictionary()  # four readers ask about each look


def marks(look: Look) -> dict[str, int]:
    """Scores (0 to 100) of these formats for this evidence."""
    found = _known.get(look)
    if found is None:
        found = _known[look] = _marks(_messages(look))
    return found


def _marks(messages: list[Fields]) -> dict[str, int]:
    if not messages:
        return {}
    votes: dict[str, int] = {}
    for fields in messages:
        for name in _votes(fields):
            votes[name] = votes.get(name, 0) + 1
    if not votes:
        return {"openai-chat": 45}
    winner = max(votes, key=lambda name: (votes[name], name))
    return {name: 80 if name == winner else 30 for name in votes}


def _messages(look: Look) -> list[Fields]:
    if look.document is not None:
        return _of_object(look.document)
    if look.array is not None:
        return _of_array(look.array)
    told = [found for fields in look.lines if (found := _of_object(fields))]
    told += [found for items in look.line_arrays if (found := _of_array(items))]
    failed = sum(not _of_object(fields) for fields in look.lines if "custom_id" in fields)  # of a batch
    if len(told) * 2 < len(look.lines) - failed + len(look.line_arrays):
        return []  # a few items of an API among records of another kind
    return [message for messages in told for message in messages]


def _of_object(fields: Fields) -> list[Fields]:
    """The messages in an object: the object itself, those of a request that it wraps, a response body, or its lists."""
    if _is_foreign(fields):
        return []
    if holder_of(fields):
        return [{"interaction": fields["status"]}]
    if is_message(fields):
        return [fields] if _is_one(fields) else []
    return _wrapped(fields) or _body(fields) or _listed(fields) or _answered(fields)


def _is_foreign(fields: Fields) -> bool:
    """Whether an object has keys of another format. Pydantic AI keeps the conversation's id in each of its messages,
    and Agno says beside a run of which type it is.
    """
    return not _FOREIGN.isdisjoint(fields) and "run_data" not in fields and not is_model_message(fields)


def _is_one(fields: Fields) -> bool:
    """Whether an object that may be a message surely is one, though it stands alone."""
    if "role" in fields or "lc" in fields or text(fields, "type") in _ITEMS:
        return True
    return is_of_langchain(fields) or is_model_message(fields) or is_of_letta(fields)


def _is_own_item(kind: str) -> bool:
    """Whether a type is one that only Responses gives to an item (a message says its role)."""
    return kind != "message" and is_item(kind)


def _wrapped(fields: Fields) -> list[Fields]:
    inner = (fields[name] for name in _WRAPPERS if name in fields and not is_text(fields[name]))
    return next((found for raw in inner if (found := _of_object(fields_of(raw)))), [])


def _answered(fields: Fields) -> list[Fields]:
    """The answer in a line of a batch or of a gateway's log, or the request in a record of Bedrock's invocation log."""
    if "schemaType" in fields and "input" in fields:
        return _wrapped(object_in(fields, "input"))
    return _within(fields) if _CALLERS_OWN & fields.keys() else []


def _within(fields: Fields, left: int = 3) -> list[Fields]:
    found = _body(fields) or ([fields] if "role" in fields else [])
    if found or not left:
        return found
    inner = (fields_of(fields[name]) for name in _ANSWERS if name in fields and opens_with(fields[name], b"{"))
    return next((told for one in inner if (told := _within(one, left - 1))), [])


def _body(fields: Fields) -> list[Fields]:
    body = _BODIES.get(text(fields, "object"))
    if body is not None and body[0] in fields:
        return [{body[1]: fields[body[0]]}]
    if "candidates" in fields:
        return [
            inner
            for raw in items_in(fields, "candidates")
            if "parts" in (inner := object_in(fields_of(raw), "content"))
        ]
    if "stopReason" in fields and "message" in (output := object_in(fields, "output")):
        return [fields_of(output["message"])]
    asked = present(fields, "input")
    if asked is not None and is_text(asked) and present(fields, "model", "output") is not None:
        return [{"responses_body": asked}]
    return []


def _listed(fields: Fields) -> list[Fields]:
    lists = (fields[name] for name in _LISTS if name in fields and not is_text(fields[name]))
    return next((found for raw in lists if (found := _of_array(items_of(raw)))), [])


def _of_array(items: list[msgspec.Raw]) -> list[Fields]:
    if items and bytes(items[0])[:1] == b"[":
        return _of_array(items_of(items[0]))
    messages = [fields_of(raw) for raw in items[:_LOOKED_AT]]
    if messages and is_step(messages[0]):
        return [{"interaction": items[0]}]
    if messages and not any(is_message(m) for m in messages[:1]):
        return _of_object(messages[0]) if messages[0].keys() & {"messages", "contents", "run_data"} else []
    return [m for m in messages if is_message(m) and not _is_foreign(m)]


def _votes(fields: Fields) -> list[str]:
    if "chat_body" in fields:
        return ["openai-chat"]
    if "responses_body" in fields or ("role" not in fields and _is_own_item(text(fields, "type"))):
        return ["openai-responses"]
    if "interaction" in fields:
        return ["gemini"]
    if is_model_message(fields):
        return ["pydantic-ai"]
    if is_of_letta(fields):
        return ["letta"]
    votes = []
    if (
        "role" in fields
        and "parts" in fields
        and not any("type" in fields_of(one) for one in items_in(fields, "parts"))
    ):
        votes.append("gemini")
    if "tool_calls" in fields or "tool_call_id" in fields or "lc" in fields:
        votes.append("openai-chat")
    content = fields.get("content")
    if content is not None and not is_text(content):
        kinds = (text(fields_of(block), "type") for block in items_of(content))
        votes.extend(_BLOCKS[k] for k in map(_family, kinds) if k in _BLOCKS)
    return votes


def _family(kind: str) -> str:
    return next((end for end in _ENDINGS if kind.endswith(end)), kind)
