"""What does one block, part or item of a message say: text, a call, a result, or something that may hide one?

Tables of kinds with the readers they stand for; APIs add tools by kinds that end alike, so a kind that is not in the
table is read by the end of its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet

import msgspec

from forensics.core.jsonvalue import value_of
from forensics.core.messages import MODEL_ROLES
from forensics.core.sanitise import one_line
from forensics.core.trace import Boundary, Payload
from forensics.formats.shared.fields import (
    Fields,
    fields_of,
    holds_a_call,
    is_text,
    is_true,
    items_of,
    looks_like_a_call,
    object_in,
    opens_with,
    present,
    spelled,
    text,
    unread_calls,
)
from forensics.formats.shared.messages.draft import Draft, part_of
from forensics.formats.shared.messages.library_parts import (
    LIBRARIES,
    asked_and_ended,
    haystack_call,
    haystack_result,
    is_asked_and_ended,
    is_of_haystack,
    kind_of_part,
)


def _tool_use(draft: Draft, fields: Fields, pointer: str) -> None:
    by_agent = kind_of_part(fields).replace("-", "_") in _RUN_BY_THE_AGENT and not is_true(fields, "providerExecuted")
    boundary = Boundary.TOOL if by_agent else Boundary.PROVIDER_TOOL
    arguments = present(fields, "input", "arguments", "args", "tool_kwargs")
    recorded = text(fields, "tool_call_id") or text(fields, "id", "tool_use_id", "toolCallId")
    draft.call(part_of(text(fields, "name", *_TOOL_NAMES), recorded, arguments, pointer, boundary), fields)


_RUN_BY_THE_AGENT = frozenset({"tool_use", "tool_call", "toolCall"})
_TOOL_NAMES = ("toolName", "tool_name")


def _tool_result(draft: Draft, fields: Fields, pointer: str) -> None:
    content, failed = _tool_output(present(fields, "content", "output", "result"))
    recorded = text(fields, "tool_use_id", "tool_call_id", "toolCallId", "call_id")
    draft.result(part_of(text(fields, "name", "toolName"), recorded, content, pointer), fields, failed=failed)


def _tool_output(told: Payload | None) -> tuple[Payload | None, bool]:
    """What a tool gave back, without the word for its kind that the Vercel AI SDK writes beside it (`{"type": "json",
    "value": …}`), and whether that word says that it failed.
    """
    if told is None or bytes(memoryview(told)[:1]) != b"{":
        return told, False
    fields = fields_of(told)
    kind = text(fields, "type")
    if kind == "execution-denied":
        return present(fields, "reason") or msgspec.Raw(b'"the execution was denied"'), True
    if fields.keys() <= {"type", "value", "providerOptions"} and kind in _OUTPUTS:
        return present(fields, "value"), kind.startswith("error")
    return told, False


_OUTPUTS = frozenset({"text", "json", "content", "error-text", "error-json"})


def _genai_response(draft: Draft, fields: Fields, pointer: str) -> None:
    payload = present(fields, "response", "result", "content")
    draft.result(part_of(text(fields, "name"), text(fields, "id"), payload, pointer), fields)


def _function_call(draft: Draft, fields: Fields, pointer: str) -> None:
    kind = text(fields, "type")
    arguments = present(fields, "arguments", "input", "action", "operation")
    recorded = text(fields, "call_id") or text(fields, "id")
    name = text(fields, "name") or kind.removesuffix("_call")
    draft.call(part_of(name, recorded, arguments, pointer), fields, freeform=kind == "custom_tool_call")


def _tool_search(draft: Draft, fields: Fields, pointer: str) -> None:
    """A search for tools, by the provider or by the agent; what it found follows as an item of its own."""
    ran_by = Boundary.PROVIDER_TOOL if text(fields, "execution") != "client" else Boundary.TOOL
    recorded = text(fields, "call_id") or text(fields, "id")
    draft.call(part_of("tool_search", recorded, present(fields, "arguments"), pointer, ran_by), fields)


def _program(draft: Draft, fields: Fields, pointer: str) -> None:
    """Code that the provider runs and that calls tools on its way; its result follows as an item of its own."""
    recorded = text(fields, "call_id") or text(fields, "id")
    draft.call(part_of("program", recorded, present(fields, "code"), pointer, Boundary.PROVIDER_TOOL), fields)


def _provider_call(draft: Draft, fields: Fields, pointer: str) -> None:
    """A tool that the provider ran: call and result stand in one item, or the result follows as an output item. One
    that ended and shows none was not captured.
    """
    name = text(fields, "name") or text(fields, "type").removesuffix("_call")
    recorded = text(fields, "call_id") or text(fields, "id")
    arguments = present(fields, "arguments", "action", "queries", "code", "input", "operation")
    draft.call(part_of(name, recorded, arguments, pointer, Boundary.PROVIDER_TOOL), fields)
    output = present(fields, "output", "results", "outputs", "result")
    error = present(fields, "error")
    if output is not None or error is not None or text(fields, "status") in ("completed", "failed"):
        told = output if output is not None else error
        draft.result(part_of(name, recorded, told, pointer), fields, failed=output is None and error is not None)


def _function_output(draft: Draft, fields: Fields, pointer: str) -> None:
    output = present(fields, "output", "results", "result", "tools")
    draft.result(part_of("", text(fields, "call_id", "id"), output, pointer), fields)


def _plain_text(draft: Draft, fields: Fields, _pointer: str) -> None:
    said = present(fields, "text", "content", "refusal", "thinking")
    if said is not None:
        draft.texts.append(draft.keep(said))


def _reasoning(draft: Draft, fields: Fields, _pointer: str) -> None:
    """Reasoning is the model's own and may hold values; summaries are read, encrypted content is not text."""
    said = present(fields, "text", "thinking", "content", "summary")
    if said is not None and bytes(said) not in (b"[]", b'""'):
        draft.texts.append(draft.keep(said))


def _media(draft: Draft, fields: Fields, pointer: str) -> None:
    """Images, audio and files are no text; the step keeps its locator to them."""


def _compaction(draft: Draft, fields: Fields, pointer: str) -> None:
    draft.doubt("what was said before was replaced by a summary", pointer, "compacted_history")
    _plain_text(draft, fields, pointer)


_Block = Callable[[Draft, Fields, str], None]
_BLOCKS: dict[str, _Block] = {
    "text": _plain_text,
    "input_text": _plain_text,
    "output_text": _plain_text,
    "refusal": _plain_text,
    "thinking": _reasoning,
    "redacted_thinking": _media,
    "reasoning": _reasoning,
    "thought": _reasoning,
    "tool_call": _tool_use,
    "server_tool_call": _tool_use,
    "tool_call_response": _genai_response,
    "server_tool_call_response": _genai_response,
    "toolCall": _tool_use,
    **LIBRARIES,
    "function_call": _function_call,
    "custom_tool_call": _function_call,
    "local_shell_call": _function_call,
    "shell_call": _function_call,
    "apply_patch_call": _function_call,
    "computer_call": _function_call,
    "tool_search_call": _tool_search,
    "tool_search_output": _function_output,
    "program": _program,
    "program_output": _function_output,
    **dict.fromkeys(
        (f"{tool}_result" for tool in ("google_search", "google_maps", "url_context", "code_execution", "file_search")),
        _function_output,
    ),
    **dict.fromkeys(("retrieval_result", "processing_result", "tool_search_result"), _function_output),
}
_FAMILIES: tuple[tuple[str, _Block], ...] = (
    ("tool_use", _tool_use),
    ("tool_result", _tool_result),
    ("_call_output", _function_output),
    ("_call", _provider_call),
)
"""What a kind that is not in the table means by the end of its name: APIs add tools that way."""
_MEDIA_KINDS = "image image_url input_image input_audio audio document file input_file blob uri video container_upload"
_MEDIA = frozenset(_MEDIA_KINDS.split())
COMPACTED = frozenset({"compaction", "compaction_summary", "context_compaction"})
"""Kinds that stand for a history which was replaced by a summary."""


def _reader_of(kind: str) -> _Block | None:
    kind = kind.replace("-", "_")
    return _BLOCKS.get(kind) or next((reader for end, reader in _FAMILIES if kind.endswith(end)), None)


def read_item(draft: Draft, fields: Fields, pointer: str, kind: str = "") -> bool:
    """Read an object by its type, or by what names its kind instead; False where that is not known."""
    reader = _reader_of(kind or text(fields, "type")) or (asked_and_ended if is_asked_and_ended(fields) else None)
    if reader is None:
        return False
    reader(draft, fields, pointer)
    return True


def read_content(draft: Draft, fields: Fields) -> None:
    """Read what a message says: its content, its parts, or its text."""
    if "role" not in fields and _reader_of(text(fields, "type")) is not None:
        return
    held = next((name for name in _SAID if present(fields, name) is not None), "")
    content = fields[held] if held else None
    if draft.role == "tool" and content is not None and not _holds_results(content):
        _tool_message(draft, fields, content, f"/{held}")
    elif content is not None:
        _read_blocks(draft, content, f"/{held}")
    parts = present(fields, "parts")
    if parts is not None:
        _read_blocks(draft, parts, "/parts")
        if opens_with(parts, b"{") and not _is_one_part(fields_of(parts)):
            draft.doubt("parts that are no list", "/parts")
    said = present(fields, "text")
    if content is None and parts is None and said is not None and is_text(said):
        draft.texts.append(draft.keep(said))


_SAID = ("content", "blocks", "items")
"""Members in which a message says something: LlamaIndex has blocks, Semantic Kernel items."""


def _is_one_part(fields: Fields) -> bool:
    """Whether an object in the place of a list is the one part that stands in it."""
    return bool(text(fields, "type")) or not _PARTS.keys().isdisjoint(fields)


def _holds_results(content: Payload) -> bool:
    return not is_text(content) and any(_is_a_result(fields_of(item)) for item in items_of(content))


def _is_a_result(fields: Fields) -> bool:
    return kind_of_part(fields).replace("-", "_").endswith(_RESULTS) or "tool_call_result" in fields


_RESULTS = ("tool_result", "tool_call_response", "function_result")


def _tool_message(draft: Draft, fields: Fields, content: Payload, pointer: str) -> None:
    recorded = text(fields, *_ANSWERED) or text(object_in(fields, "additional_kwargs"), *_ANSWERED)
    draft.result(part_of(text(fields, "name", "tool_name", "toolName"), recorded, content, pointer), fields)


_ANSWERED = ("tool_call_id", "tool_use_id", "toolCallId")


def _read_blocks(draft: Draft, content: Payload, pointer: str) -> None:
    if is_text(content):
        draft.texts.append(draft.keep(content))
        return
    if bytes(memoryview(content)[:1]) == b"{":
        parts = present(fields_of(content), "parts")  # Mastra keeps the parts of a message a level further down
        if parts is None:
            _read_block(draft, content, pointer)
        else:
            read_parts(draft, items_of(parts), f"{pointer}/parts")
        return
    read_parts(draft, items_of(content), pointer)


def read_parts(draft: Draft, parts: Iterable[Payload], pointer: str, first: int = 0) -> None:
    """Read some of the parts of a message, the first of which stands at that place in its list."""
    for index, raw in enumerate(parts, first):
        _read_block(draft, raw, f"{pointer}/{index}")


def _read_block(draft: Draft, raw: Payload, pointer: str) -> None:
    if is_text(raw):
        draft.texts.append(draft.keep(raw))
        return
    fields = fields_of(raw)
    kind = kind_of_part(fields)
    if kind in COMPACTED:
        _compaction(draft, fields, pointer)
    elif kind in _MEDIA:
        draft.shows(raw)
    elif not read_item(draft, fields, pointer, kind) and not _read_named_part(draft, fields, pointer):
        draft.texts.append(draft.keep(raw))
        looks = looks_like_a_call({name: held for name, held in fields.items() if held != _NULL})
        if looks or (holds_a_call(raw) and _holds_another(value_of(raw), frozenset())):
            draft.doubt(f"a block of a kind that is not known ({one_line(kind, 40)}) looks like a call", pointer)
            return
    for name in () if fields.keys() <= _READ_OF_A_BLOCK else unread_calls(fields, _READ_OF_A_BLOCK):
        draft.doubt(f"what looks like a call in a member of a block that is not read ({one_line(name, 40)})", pointer)


def _read_named_part(draft: Draft, fields: Fields, pointer: str) -> bool:
    """A part of Gemini's or Bedrock's, which names its kind by its one member; several may stand in one."""
    known = False
    for name, raw in fields.items():
        reader = _PARTS.get(name)
        if reader is not None and raw != _NULL:
            known = True
            reader(draft, raw, pointer)
    return known


def _gemini_call(draft: Draft, raw: Payload, pointer: str) -> None:
    inner = fields_of(raw)
    arguments = present(inner, "args", "arguments")
    draft.call(part_of(text(inner, "name"), text(inner, "id"), arguments, pointer), inner)


def _gemini_response(draft: Draft, raw: Payload, pointer: str) -> None:
    inner = fields_of(raw)
    draft.result(part_of(text(inner, "name"), text(inner, "id"), present(inner, "response"), pointer), inner)


def _gemini_code(draft: Draft, raw: Payload, pointer: str) -> None:
    """Code that Gemini wrote and ran itself."""
    recorded = text(fields_of(raw), "id")
    draft.call(part_of(GEMINI_CODE, recorded, raw, pointer, Boundary.PROVIDER_TOOL), {}, freeform=True)


def _gemini_code_result(draft: Draft, raw: Payload, pointer: str) -> None:
    inner = fields_of(raw)
    ended = text(inner, "outcome").upper().removeprefix("OUTCOME_")
    draft.result(part_of(GEMINI_CODE, text(inner, "id"), raw, pointer), {}, failed=ended not in ("OK", ""))


def _gemini_tool(draft: Draft, raw: Payload, pointer: str) -> None:
    """A tool of Gemini's own that ran on the way; under the same name, a call of Haystack's."""
    inner = fields_of(raw)
    if is_of_haystack(inner):
        haystack_call(draft, inner, pointer)
        return
    name = text(inner, "toolType", "tool_type", "name").lower()
    arguments = present(inner, "args")
    draft.call(part_of(name, text(inner, "id"), arguments, pointer, Boundary.PROVIDER_TOOL), inner)


def _gemini_tool_response(draft: Draft, raw: Payload, pointer: str) -> None:
    inner = fields_of(raw)
    name = text(inner, "toolType", "tool_type", "name").lower()
    draft.result(part_of(name, text(inner, "id"), present(inner, "response"), pointer), inner)


def _bedrock_use(draft: Draft, raw: Payload, pointer: str) -> None:
    inner = fields_of(raw)
    draft.call(part_of(text(inner, "name"), text(inner, "toolUseId"), present(inner, "input"), pointer), inner)


def _bedrock_result(draft: Draft, raw: Payload, pointer: str) -> None:
    inner = fields_of(raw)
    draft.result(part_of("", text(inner, "toolUseId"), present(inner, "content"), pointer), inner)


def _bedrock_reasoning(draft: Draft, raw: Payload, _pointer: str) -> None:
    told = present(fields_of(raw), "reasoningText")
    said = None if told is None else present(fields_of(told), "text")
    if said is not None:
        draft.texts.append(draft.keep(said))


def _gemini_text(draft: Draft, raw: Payload, _pointer: str) -> None:
    draft.texts.append(draft.keep(raw))


def _gemini_media(draft: Draft, raw: Payload, _pointer: str) -> None:
    """Media are no text."""
    draft.shows(raw)


_NULL = msgspec.Raw(b"null")
GEMINI_CODE = "code_execution"
_Member = Callable[[Draft, Payload, str], None]
_PARTS: dict[str, _Member] = {
    "functionCall": _gemini_call, "function_call": _gemini_call,
    "functionResponse": _gemini_response, "function_response": _gemini_response,
    "executableCode": _gemini_code, "executable_code": _gemini_code,
    "codeExecutionResult": _gemini_code_result, "code_execution_result": _gemini_code_result,
    "toolCall": _gemini_tool, "tool_call": _gemini_tool,
    "toolResponse": _gemini_tool_response, "tool_response": _gemini_tool_response,
    "tool_call_result": haystack_result,
    "toolUse": _bedrock_use, "toolResult": _bedrock_result, "reasoningContent": _bedrock_reasoning,
    "cachePoint": _gemini_media, "image": _gemini_media, "document": _gemini_media, "video": _gemini_media,
    "inlineData": _gemini_media, "inline_data": _gemini_media,
    "fileData": _gemini_media, "file_data": _gemini_media,
    "text": _gemini_text,
}  # fmt: skip

_READ_OF_A_BLOCK = frozenset(_PARTS) | frozenset(
    {"action", "args", "arguments", "code", "content", "custom", "error", "function", "input", "operation", "output"}
    | {"outputs", "parameters", "queries", "rawInput", "response", "result", "results", "summary", "thinking"}
    | {"id", "is_error", "name", "signature", "text", "toolInvocation", "tool_kwargs", "tool_use_id", "tools", "type"}
    | {"value"}
    | {"audio", "cache_control", "citations", "file", "image_url", "input_audio", "source"}
)
"""The members of blocks that a reader of some kind of block reads, and those that are known to hold no calls: pictures,
sounds, files, where a text is from.
"""


def read_tool_calls(draft: Draft, fields: Fields) -> None:
    """Read the calls that stand beside the content, wherever a library puts them."""
    _read_listed_calls(draft, fields, "/tool_calls")
    for name, held in fields.items():
        if name not in _SEEN and spelled(name) in _CALLS and bytes(held) not in _NOTHING:
            draft.doubt(f"calls in a member that is not read ({one_line(name, 40)})", "")
    legacy = present(fields, "function_call")
    if legacy is not None and text(fields, "type") != "function_call":
        _gemini_call(draft, legacy, "/function_call")
    more = present(fields, "additional_kwargs")
    if more is not None:
        inner = fields_of(more)
        _read_listed_calls(draft, inner, "/additional_kwargs/tool_calls")
    if draft.role in MODEL_ROLES and "role" in fields:
        _doubt_members(draft, fields)


def _doubt_members(draft: Draft, fields: Fields) -> None:
    """Calls that stand in a member of another name, unless they repeat those that were read."""
    told: AbstractSet[str] = {part.recorded_id for part in draft.calls if part.recorded_id}
    for name, held in fields.items():
        if name in _SEEN or name in _REPEATING or spelled(name) in _CALLS:
            continue
        found = items_of(held) if opens_with(held, b"[") else [held] if opens_with(held, b"{") else []
        looks = [inner for inner in map(fields_of, found) if looks_like_a_call(inner)]
        deeper = bool(found) and not looks and holds_a_call(held) and _holds_another(value_of(held), told)
        if deeper or any(text(inner, *_CALL_ID) not in told for inner in looks):
            draft.doubt(f"what looks like calls in a member that is not read ({one_line(name, 40)})", "")


def _holds_another(value: object, told: AbstractSet[str]) -> bool:
    """Whether a tool with its arguments stands somewhere in a value, under an id that is not among those."""
    todo: list[tuple[object, object]] = [(value, None)]
    while todo:
        item, held_by = todo.pop()
        if isinstance(item, dict):
            recorded = next((item[name] for name in _CALL_ID if item.get(name)), held_by)
            known = isinstance(recorded, str) and recorded in told
            if item.get("name") and any(item.get(name) for name in _ASKED_WITH) and not known:
                return True
            todo.extend((member, recorded) for member in item.values())
        elif isinstance(item, list):
            todo.extend((member, held_by) for member in item)
    return False


_ASKED_WITH = ("arguments", "args", "input")
_REPEATING = frozenset({"additional_kwargs", "invalid_tool_calls", "tool_call_chunks", "response_metadata"})
_CALL_ID = ("id", "call_id", "tool_call_id", "toolCallId", "tool_use_id")


def _read_listed_calls(draft: Draft, fields: Fields, pointer: str) -> None:
    calls = present(fields, "tool_calls")
    if calls is None:
        return
    if bytes(memoryview(calls)[:1]) != b"[" and bytes(calls) not in _NOTHING:
        draft.doubt("calls that are no list", pointer)
    for index, raw in enumerate(items_of(calls)):
        _read_tool_call(draft, fields_of(raw), f"{pointer}/{index}")


_SEEN = frozenset({"role", "content", "tool_calls", "function_call", "tool_call_id", "name", "type", "parts", "id"})
_CALLS = frozenset({"tool_calls", "tool_call", "function_call", "function_calls", "tool_use", "tool_uses"})
_NOTHING = (b"null", b"[]", b"{}", b'""', b"false")


def _read_tool_call(draft: Draft, fields: Fields, pointer: str) -> None:
    inner_raw = present(fields, "function", "custom")
    if present(fields, "function") is not None and present(fields, "custom") is not None:
        draft.doubt("one call that is of a function and of a custom tool", pointer)
    inner = fields_of(inner_raw) if inner_raw is not None and not is_text(inner_raw) else fields
    name = text(inner, "name", "toolName") or text(fields, "function")
    if text(fields, "name") not in ("", name):
        draft.doubt("one call that names two tools", pointer)
    arguments = present(inner, "arguments", "args", "input", "parameters")
    recorded = text(fields, "id", "call_id", "tool_call_id", "toolCallId")
    draft.call(part_of(name, recorded, arguments, pointer), inner, freeform="custom" in fields)
