"""What does one MLflow span say, in the names that the span walk reads? Attributes are JSON written as text, and what a
model was given and gave stands there as the caller of its SDK saw it, whichever SDK that was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import decode, raw, text_of
from forensics.core.trace import NOWHERE, Payload
from forensics.formats.shared.fields import (
    Fields,
    as_object,
    fields_of,
    is_text,
    items_in,
    items_of,
    object_in,
    opens_with,
    present,
    text,
)
from forensics.formats.shared.messages.conversation import LISTS
from forensics.formats.shared.spans import Event, Span, hex_id, nanoseconds, shaped

if TYPE_CHECKING:
    from collections.abc import Iterator

_NULL = msgspec.Raw(b"null")
_OPERATIONS = {
    "AGENT": "invoke_agent", "CHAT_MODEL": "chat", "LLM": "chat", "TOOL": "execute_tool", "RETRIEVER": "retrieval",
    "EMBEDDING": "embeddings", "WORKFLOW": "invoke_workflow", "MEMORY": "search_memory",
}  # fmt: skip
_HARMLESS = frozenset({"CHAIN", "PARSER", "RERANKER", "EVALUATOR", "GUARDRAIL", "TASK"})
_UNKNOWN_OPERATION = "a kind that is not said"
_INPUTS, _OUTPUTS = "mlflow.spanInputs", "mlflow.spanOutputs"
_ROLES = ("role", "content", "parts", "tool_calls")


def unwrapped(told: Payload | None) -> Payload | None:
    """The value of an attribute, which MLflow writes as a JSON text."""
    if told is None or not is_text(told):
        return told
    held = text_of(told).encode("utf-8", "surrogatepass")
    return told if decode(held).error is not None else msgspec.Raw(held)


class Told(msgspec.Struct):
    """The attributes of one span under the names that are read, each with the JSON Pointer of where it stands."""

    attributes: dict[str, Payload] = {}
    slots: list[str] = []
    unread: str = ""

    def add(self, name: str, value: Payload | None, slot: str) -> None:
        """Note an attribute, unless it says nothing."""
        if value is not None and value != _NULL and name not in self.attributes:
            self.attributes[name] = value
            self.slots.append(slot)


def span_of(fields: Fields, trace: str, place: int, pointer: str, *, leaf: bool) -> tuple[Span, str]:
    """The span, and what of it is not read ("": nothing). `leaf` says that no other span names it as its parent."""
    context = object_in(fields, "context")
    told = _told(fields, leaf=leaf)
    status = fields_of(fields["status"]) if "status" in fields and opens_with(fields["status"], b"{") else fields
    code = text(status, "code", "status_code", "status").upper()
    message = present(status, "message", "status_message")
    parent, _ = hex_id(text(fields, "parent_span_id", "parent_id"))
    span, _ = hex_id(text(fields, "span_id") or text(context, "span_id"))
    return Span(
        trace,
        span,
        parent,
        text(fields, "name"),
        _time(fields, "start_time_unix_nano", "start_time"),
        _time(fields, "end_time_unix_nano", "end_time"),
        0,
        code.endswith("ERROR"),
        message if message is not None and bytes(message) != b'""' else None,
        *shaped(told.attributes, told.slots),
        tuple(_events(fields, pointer)),
        place,
        pointer,
    ), told.unread


def _time(fields: Fields, *names: str) -> int:
    when = present(fields, *names)
    return NOWHERE if when is None else nanoseconds(decode(when).value)


def _events(fields: Fields, pointer: str) -> Iterator[Event]:
    for at, item in enumerate(items_in(fields, "events")):
        event = fields_of(item)
        yield Event(text(event, "name"), object_in(event, "attributes"), f"{pointer}/events/{at}")


def _told(fields: Fields, *, leaf: bool) -> Told:
    own = object_in(fields, "attributes")
    kind = text_of(unwrapped(own.get("mlflow.spanType")) or _NULL).upper()
    inputs, outputs = (unwrapped(present(own, name)) for name in (_INPUTS, _OUTPUTS))
    told = Told()
    operation = _OPERATIONS.get(kind, "" if kind in _HARMLESS or not leaf else _UNKNOWN_OPERATION)
    if operation:
        told.add("gen_ai.operation.name", raw(operation), "/attributes/mlflow.spanType")
    _READERS.get(kind, _nothing)(told, fields, own, inputs, outputs)
    return told


# one kind of span each -----------------------------------------------------------------------------------------------


def _nothing(told: Told, fields: Fields, own: Fields, inputs: Payload | None, outputs: Payload | None) -> None:
    """A span whose inputs and outputs nobody needs."""


def _tool(told: Told, fields: Fields, own: Fields, inputs: Payload | None, outputs: Payload | None) -> None:
    name = unwrapped(present(own, "mlflow.spanFunctionName"))
    told.add("gen_ai.tool.name", name if name is not None else fields.get("name"), "/name")
    told.add("gen_ai.tool.call.arguments", inputs, f"/attributes/{_INPUTS}")
    told.add("gen_ai.tool.call.result", outputs, f"/attributes/{_OUTPUTS}")
    call = fields_of(inputs) if inputs is not None and opens_with(inputs, b"{") else {}
    if text(call, "type") == "tool_call":  # LangChain gives a tool the whole call
        told.add("gen_ai.tool.call.id", present(call, "id"), f"/attributes/{_INPUTS}/id")


def _agent(told: Told, fields: Fields, own: Fields, inputs: Payload | None, outputs: Payload | None) -> None:
    del own
    told.add("gen_ai.agent.name", fields.get("name"), "/name")
    told.add("agent.input", inputs, f"/attributes/{_INPUTS}")
    told.add("agent.output", outputs, f"/attributes/{_OUTPUTS}")


def _retriever(told: Told, fields: Fields, own: Fields, inputs: Payload | None, outputs: Payload | None) -> None:
    del own
    told.add("gen_ai.data_source.id", fields.get("name"), "/name")
    told.add("gen_ai.retrieval.query.text", inputs, f"/attributes/{_INPUTS}")
    told.add("gen_ai.retrieval.documents", outputs, f"/attributes/{_OUTPUTS}")


def _model(told: Told, fields: Fields, own: Fields, inputs: Payload | None, outputs: Payload | None) -> None:
    given = fields_of(inputs) if inputs is not None and opens_with(inputs, b"{") else {}
    system = next((one for one in ("system", "instructions") if present(given, one) is not None), "")
    told.add("gen_ai.system_instructions", given.get(system), f"/attributes/{_INPUTS}/{system}")
    prompt, slot = prompt_of(inputs, given)
    told.add("gen_ai.input.messages", prompt, f"/attributes/{_INPUTS}{slot}")
    answer, slot = answer_of(outputs)
    told.add("gen_ai.output.messages", answer, f"/attributes/{_OUTPUTS}{slot}")
    offered = unwrapped(present(own, "mlflow.chat.tools"))
    told.add("gen_ai.tool.definitions", offered if offered is not None else given.get("tools"), "/attributes")
    model = unwrapped(present(own, "mlflow.llm.model"))
    told.add("gen_ai.request.model", model if model is not None else present(given, "model"), "/attributes")
    _usage(told, fields_of(unwrapped(present(own, "mlflow.chat.tokenUsage")) or _NULL))
    if outputs is None and any(_is_chunk(event) for event in items_in(fields, "events")):
        told.unread = "the answer of a model stands in pieces, which are not put together"
    elif outputs is not None and outputs != _NULL and answer is None:
        told.unread = "the answer of a model in a shape that is not read"


def _usage(told: Told, usage: Fields) -> None:
    for name in ("input_tokens", "output_tokens"):
        told.add(f"gen_ai.usage.{name}", present(usage, name), "/attributes/mlflow.chat.tokenUsage")


def _is_chunk(event: Payload) -> bool:
    return text(fields_of(event), "name").startswith("mlflow.chunk")


_READERS = {
    "TOOL": _tool,
    "AGENT": _agent,
    "RETRIEVER": _retriever,
    "CHAT_MODEL": _model,
    "LLM": _model,
    "MEMORY": _retriever,
}


# what models are given and give --------------------------------------------------------------------------------------


def prompt_of(inputs: Payload | None, given: Fields) -> tuple[Payload | None, str]:
    """The messages of a request, and where below the inputs they stand: a list of them, one batch of lists (LangChain),
    or a text.
    """
    name = next((one for one in (*LISTS, "prompt", "prompts") if present(given, one) is not None), "")
    listed = given[name] if name else None if given else inputs
    slot = f"/{name}" if name else ""
    if listed is None or listed == _NULL:
        return None, ""
    if is_text(listed):
        return _list(as_object({"role": raw("user"), "content": listed})), slot
    items = items_of(listed)
    if items and opens_with(items[0], b"["):
        return items[0], f"{slot}/0"
    if items and is_text(items[0]):
        return _list(*(as_object({"role": raw("user"), "content": item}) for item in items)), slot
    return listed, slot


def answer_of(outputs: Payload | None) -> tuple[Payload | None, str]:
    """The messages of a response, and where below the outputs they stand; None where it has no shape that is known."""
    if outputs is None or outputs == _NULL:
        return None, ""
    if is_text(outputs):
        return _list(as_object({"role": raw("assistant"), "content": outputs})), ""
    if opens_with(outputs, b"["):
        known = items_of(outputs)
        return (outputs, "") if known and all(_is_message(fields_of(item)) for item in known) else (None, "")
    fields = fields_of(outputs)
    for name, reader in _ANSWERS.items():
        if present(fields, name) is not None and not is_text(fields[name]):
            return _list(*reader(fields[name])), f"/{name}"
    return (_list(as_object({"role": raw("assistant"), **fields})), "") if _is_message(fields) else (None, "")


def _is_message(fields: Fields) -> bool:
    return any(name in fields for name in _ROLES) or "lc" in fields


def _list(*items: Payload) -> Payload:
    return msgspec.Raw(b"[" + b",".join(map(bytes, items)) + b"]")


def _choices(listed: Payload) -> Iterator[Payload]:
    for item in items_of(listed):
        choice = fields_of(item)
        said = fields_of(choice["message"]) if "message" in choice else {"content": choice.get("text", _NULL)}
        yield as_object({"role": raw("assistant"), **said, "finish_reason": choice.get("finish_reason", _NULL)})


def _candidates(listed: Payload) -> Iterator[Payload]:
    for item in items_of(listed):
        candidate = fields_of(item)
        reason = present(candidate, "finishReason", "finish_reason") or _NULL
        yield as_object({"role": raw("model"), **object_in(candidate, "content"), "finish_reason": reason})


def _generations(listed: Payload) -> Iterator[Payload]:
    """LangChain: for each prompt of a batch the generations, of which each holds its message."""
    for batch in items_of(listed):
        for item in items_of(batch) if opens_with(batch, b"[") else [batch]:
            generation = fields_of(item)
            message = present(generation, "message")
            told = {"role": raw("assistant"), "content": generation.get("text", _NULL)}
            yield as_object(told) if message is None else message


def _message(one: Payload) -> Iterator[Payload]:
    yield as_object({"role": raw("assistant"), **fields_of(one)})


def _items(listed: Payload) -> Iterator[Payload]:
    yield from items_of(listed)


_ANSWERS = {
    "choices": _choices,
    "candidates": _candidates,
    "generations": _generations,
    "output": _items,
    "message": _message,
}
