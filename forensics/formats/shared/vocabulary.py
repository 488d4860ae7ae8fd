"""What does this message say, in whichever vocabulary it is written? OpenAI Chat and Responses, Anthropic Messages,
Gemini contents, OpenTelemetry GenAI parts and LangChain dumps, told apart message by message from their own keys.

Payloads stay views into the bytes they came from unless `keep` copies them (FORMATS section 0: five encodings of
arguments, calls that stand twice in one message).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b

import msgspec

from forensics.core.jsonvalue import canonical, decode, decode_slowly, text_of, unfold, value_of
from forensics.core.messages import MODEL_ROLES, Message, Part
from forensics.core.trace import Boundary, Payload

Keep = Callable[[Payload], Payload]
Fields = dict[str, Payload]

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_NULL = b"null"


def in_place(raw: Payload) -> Payload:
    """Keep a payload where it stands: for bytes of the mapped evidence."""
    return raw


def copied(raw: Payload) -> Payload:
    """Keep a copy of a payload: for bytes that would otherwise hold a whole decoded prompt in memory."""
    return msgspec.Raw(bytes(raw))


def fields_of(raw: Payload | bytes | memoryview) -> Fields:
    """The fields of a JSON object, each still as JSON; empty where it is no object."""
    try:
        return _fields(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = decode_slowly(bytes(raw)).value
        if isinstance(value, dict):
            return {k: msgspec.Raw(canonical(v)) for k, v in value.items()}
        return {}


def has_each_key_once(fields: Fields, length: int) -> bool:
    """Whether an object of `length` bytes, written compactly or in Python's default style, has no key twice: a key that
    the decoder dropped would leave bytes that the kept fields don't account for.
    """
    kept = len(msgspec.json.encode(fields))
    return length in (kept, kept + 2 * len(fields) - 1)


def items_of(raw: Payload | bytes | memoryview) -> list[Payload]:
    """The items of a JSON array, each still as JSON; empty where it is no array."""
    try:
        return _items(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = decode_slowly(bytes(raw)).value
        return [msgspec.Raw(canonical(v)) for v in value] if isinstance(value, list) else []


def present(fields: Fields, *names: str) -> Payload | None:
    """The first of these fields that is there and not null."""
    for name in names:
        raw = fields.get(name)
        if raw is not None and bytes(raw) != _NULL:
            return raw
    return None


def text(fields: Fields, *names: str) -> str:
    """The text of the first of these fields that holds one, else ""."""
    raw = present(fields, *names)
    if raw is None:
        return ""
    data = bytes(raw)
    if data[:1] == b'"':
        return text_of(raw)
    return data.decode("utf-8", "replace") if data[:1] not in (b"{", b"[") else ""


def is_text(raw: Payload) -> bool:
    return bytes(memoryview(raw)[:1]) == b'"'


class _Draft:
    """A message while its blocks are read."""

    def __init__(self, keep: Keep) -> None:
        self.keep = keep
        self.texts: list[Payload] = []
        self.calls: list[Part] = []
        self.results: list[Part] = []
        self.role = ""

    def call(self, fields: Fields, pointer: str, tool: str, recorded_id: str, payload: Payload | None, boundary: Boundary) -> None:
        if recorded_id and any(c.recorded_id == recorded_id and c.tool == tool and c.pointer.split("/")[1] != pointer.split("/")[1] for c in self.calls):
            return  # LangChain writes a call among its content blocks and again as tool_calls
        kept = None if payload is None else self.keep(payload)
        server = text(fields, "server_label", "server_name") or None
        self.calls.append(Part(tool, recorded_id or None, kept, pointer, boundary, server))

    def result(self, fields: Fields, pointer: str, tool: str, recorded_id: str, payload: Payload | None) -> None:
        kept = None if payload is None else self.keep(payload)
        failed = _says_failed(fields)
        denied = failed and kept is not None and _says_denied(kept)
        self.results.append(Part(tool, recorded_id or None, kept, pointer, failed=failed, denied=denied))


def _says_failed(fields: Fields) -> bool:
    if bytes(fields.get("is_error", b"")) == b"true" or bytes(fields.get("isError", b"")) == b"true":
        return True
    return text(fields, "status") in ("error", "failed", "incomplete")


_DENIALS = (
    "requires approval", "needs approval", "rejected by", "user rejected", "denied", "doesn't want to proceed",
    "permission", "not allowed", "sibling tool call errored", "was not executed",
)  # fmt: skip


def _says_denied(payload: Payload) -> bool:
    said = text_of(payload)[:400].lower()
    return any(word in said for word in _DENIALS)


def parse_message(raw: Payload | memoryview, pointer: str, keep: Keep = in_place) -> Message:
    """One message, or one item of a Responses list, as a Message. Never raises: what is not understood is its text."""
    fields = _unwrap(fields_of(raw))
    draft = _Draft(keep)
    draft.role = _role(fields)
    _read_item(draft, fields, "")
    _read_content(draft, fields)
    _read_tool_calls(draft, fields)
    if not fields or (not draft.texts and not draft.calls and not draft.results and draft.role == "other"):
        draft.texts.append(keep(msgspec.Raw(bytes(raw))))
    return _message(draft, fields, pointer)


_ROLE_OF_ITEM = {"function_call_output": "tool", "custom_tool_call_output": "tool", "local_shell_call_output": "tool",
                 "computer_call_output": "tool", "message": "assistant", "mcp_approval_response": "user"}  # fmt: skip
_ROLE_OF_CLASS = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}


def _unwrap(fields: Fields) -> Fields:
    """A LangChain dump (`lc`, `kwargs`) or dict (`type`, `data`) as the fields of its message."""
    inner = fields.get("kwargs") if "lc" in fields else fields.get("data") if "type" in fields else None
    if inner is None:
        return fields
    kwargs = fields_of(inner)
    kind = text(kwargs, "type") or text(fields, "type")
    if "lc" in fields:
        names = value_of(fields["id"]) if "id" in fields else []
        name = str(names[-1]) if isinstance(names, list) and names else ""
        kind = name.removesuffix("Chunk").removesuffix("Message").lower() or kind
    return {**kwargs, "role": msgspec.Raw(canonical(_ROLE_OF_CLASS.get(kind, kind)))} if kwargs else fields


def _role(fields: Fields) -> str:
    role = text(fields, "role").lower()
    if role:
        return "tool" if role == "function" else role
    kind = text(fields, "type")
    if kind in _ROLE_OF_CLASS and "content" in fields:
        return _ROLE_OF_CLASS[kind]
    if kind in _ROLE_OF_ITEM:
        return _ROLE_OF_ITEM[kind]
    if kind.endswith("_call") or kind == "reasoning":
        return "assistant"
    return "model" if "parts" in fields else "other"


# one block -----------------------------------------------------------------------------------------------------------


def _tool_use(draft: _Draft, fields: Fields, pointer: str) -> None:
    boundary = Boundary.PROVIDER_TOOL if text(fields, "type").startswith("server_") else Boundary.TOOL
    arguments = present(fields, "input", "arguments", "args")
    draft.call(fields, pointer, text(fields, "name"), text(fields, "id"), arguments, boundary)


def _tool_result(draft: _Draft, fields: Fields, pointer: str) -> None:
    content = present(fields, "content", "output")
    draft.result(fields, pointer, text(fields, "name"), text(fields, "tool_use_id", "tool_call_id"), content)


def _genai_call(draft: _Draft, fields: Fields, pointer: str) -> None:
    arguments = present(fields, "arguments", "args", "input")
    boundary = Boundary.PROVIDER_TOOL if text(fields, "type").startswith("server_") else Boundary.TOOL
    draft.call(fields, pointer, text(fields, "name"), text(fields, "id"), arguments, boundary)


def _genai_response(draft: _Draft, fields: Fields, pointer: str) -> None:
    payload = present(fields, "response", "result", "content")
    draft.result(fields, pointer, text(fields, "name"), text(fields, "id"), payload)


def _function_call(draft: _Draft, fields: Fields, pointer: str) -> None:
    arguments = present(fields, "arguments", "input", "action")
    name = text(fields, "name") or text(fields, "type").removesuffix("_call")
    recorded = text(fields, "call_id") or text(fields, "id")
    draft.call(fields, pointer, name, recorded, arguments, Boundary.TOOL)


def _provider_call(draft: _Draft, fields: Fields, pointer: str) -> None:
    """A tool that the provider ran: call and result stand in one item."""
    name = text(fields, "name") or text(fields, "type").removesuffix("_call")
    recorded = text(fields, "id")
    arguments = present(fields, "arguments", "action", "queries", "code", "input")
    draft.call(fields, pointer, name, recorded, arguments, Boundary.PROVIDER_TOOL)
    output = present(fields, "output", "results", "outputs", "error", "result")
    if output is not None:
        draft.result(fields, pointer, name, recorded, output)


def _function_output(draft: _Draft, fields: Fields, pointer: str) -> None:
    draft.result(fields, pointer, "", text(fields, "call_id", "id"), present(fields, "output"))


def _plain_text(draft: _Draft, fields: Fields, pointer: str) -> None:
    said = present(fields, "text", "content", "refusal", "thinking")
    if said is not None:
        draft.texts.append(draft.keep(said))


def _reasoning(draft: _Draft, fields: Fields, pointer: str) -> None:
    """Reasoning is the model's own and may hold values; summaries are read, encrypted content is not text."""
    said = present(fields, "text", "thinking", "content", "summary")
    if said is not None and bytes(said) not in (b"[]", b'""'):
        draft.texts.append(draft.keep(said))


def _media(draft: _Draft, fields: Fields, pointer: str) -> None:
    """Images, audio and files are no text; the step keeps its locator to them."""


_Block = Callable[[_Draft, Fields, str], None]
_BLOCKS: dict[str, _Block] = {
    "text": _plain_text,
    "input_text": _plain_text,
    "output_text": _plain_text,
    "refusal": _plain_text,
    "thinking": _reasoning,
    "redacted_thinking": _media,
    "reasoning": _reasoning,
    "tool_use": _tool_use,
    "server_tool_use": _tool_use,
    "mcp_tool_use": _tool_use,
    "tool_result": _tool_result,
    "mcp_tool_result": _tool_result,
    "tool_call": _genai_call,
    "server_tool_call": _genai_call,
    "tool_call_response": _genai_response,
    "server_tool_call_response": _genai_response,
    "function_call": _function_call,
    "custom_tool_call": _function_call,
    "local_shell_call": _function_call,
    "computer_call": _function_call,
    "function_call_output": _function_output,
    "custom_tool_call_output": _function_output,
    "local_shell_call_output": _function_output,
    "computer_call_output": _function_output,
    "mcp_call": _provider_call,
    "web_search_call": _provider_call,
    "file_search_call": _provider_call,
    "code_interpreter_call": _provider_call,
    "image_generation_call": _provider_call,
}
_MEDIA = frozenset({"image", "image_url", "input_image", "input_audio", "audio", "document", "file", "input_file", "blob", "uri", "video"})


def _read_item(draft: _Draft, fields: Fields, pointer: str) -> bool:
    kind = text(fields, "type")
    reader = _BLOCKS.get(kind)
    if reader is None and kind.endswith("_tool_result"):
        reader = _tool_result
    if reader is None:
        return False
    reader(draft, fields, pointer)
    return True


def _read_content(draft: _Draft, fields: Fields) -> None:
    content = present(fields, "content")
    if text(fields, "type") in _BLOCKS and "role" not in fields:
        return
    if draft.role == "tool" and content is not None and not _holds_results(content):
        _tool_message(draft, fields, content)
    elif content is not None:
        _read_blocks(draft, content, "/content")
    parts = present(fields, "parts")
    if parts is not None:
        _read_blocks(draft, parts, "/parts")
    said = present(fields, "text")
    if content is None and parts is None and said is not None and is_text(said):
        draft.texts.append(draft.keep(said))


def _holds_results(content: Payload) -> bool:
    if is_text(content):
        return False
    return any(text(fields_of(item), "type").endswith(("tool_result", "tool_call_response")) for item in items_of(content))


def _tool_message(draft: _Draft, fields: Fields, content: Payload) -> None:
    draft.result(fields, "/content", text(fields, "name", "tool_name"), text(fields, "tool_call_id", "tool_use_id"), content)


def _read_blocks(draft: _Draft, content: Payload, pointer: str) -> None:
    if is_text(content):
        draft.texts.append(draft.keep(content))
        return
    for index, raw in enumerate(items_of(content)):
        _read_block(draft, raw, f"{pointer}/{index}")


def _read_block(draft: _Draft, raw: Payload, pointer: str) -> None:
    if is_text(raw):
        draft.texts.append(draft.keep(raw))
        return
    fields = fields_of(raw)
    if _read_item(draft, fields, pointer) or text(fields, "type") in _MEDIA:
        return
    if not _read_gemini_part(draft, fields, pointer):
        draft.texts.append(draft.keep(raw))


def _read_gemini_part(draft: _Draft, fields: Fields, pointer: str) -> bool:
    asked = present(fields, "functionCall", "function_call")
    shown = present(fields, "functionResponse", "function_response")
    said = present(fields, "text")
    if asked is not None:
        inner = fields_of(asked)
        draft.call(inner, pointer, text(inner, "name"), text(inner, "id"), present(inner, "args", "arguments"), Boundary.TOOL)
    if shown is not None:
        inner = fields_of(shown)
        draft.result(inner, pointer, text(inner, "name"), text(inner, "id"), present(inner, "response"))
    if said is not None:
        draft.texts.append(draft.keep(said))
    media = present(fields, "inlineData", "inline_data", "fileData", "file_data")
    return any(x is not None for x in (asked, shown, said, media))


def _read_tool_calls(draft: _Draft, fields: Fields) -> None:
    calls = present(fields, "tool_calls")
    if calls is not None:
        for index, raw in enumerate(items_of(calls)):
            _read_tool_call(draft, fields_of(raw), f"/tool_calls/{index}")
    legacy = present(fields, "function_call")
    if legacy is not None and text(fields, "type") != "function_call":
        inner = fields_of(legacy)
        draft.call(inner, "/function_call", text(inner, "name"), "", present(inner, "arguments"), Boundary.TOOL)


def _read_tool_call(draft: _Draft, fields: Fields, pointer: str) -> None:
    inner_raw = present(fields, "function", "custom")
    inner = fields_of(inner_raw) if inner_raw is not None and not is_text(inner_raw) else fields
    name = text(inner, "name") or text(fields, "function")
    arguments = present(inner, "arguments", "args", "input", "parameters")
    draft.call(inner, pointer, name, text(fields, "id", "call_id", "tool_call_id"), arguments, Boundary.TOOL)


# the whole message ---------------------------------------------------------------------------------------------------


def _message(draft: _Draft, fields: Fields, pointer: str) -> Message:
    said = joined(draft.texts)
    return Message(
        role=draft.role,
        key=content_key(draft.role, said, draft.calls, draft.results),
        pointer=pointer,
        text=said,
        calls=tuple(draft.calls),
        results=tuple(draft.results),
        name=text(fields, "name") if draft.role not in ("tool",) else "",
        finish=text(fields, "finish_reason", "stop_reason", "finishReason"),
        item=_is_item(fields),
    )


def _is_item(fields: Fields) -> bool:
    kind = text(fields, "type")
    return kind in ("reasoning", "message") or kind.endswith("_call")


def joined(texts: list[Payload]) -> Payload | None:
    """The texts of one message as one, a line each."""
    if len(texts) < 2:
        return texts[0] if texts else None
    return msgspec.Raw(canonical("\n".join(text_of(t) for t in texts)))


def content_key(role: str, said: Payload | None, calls: Iterable[Part], results: Iterable[Part]) -> bytes:
    """Equal for messages that say the same, however they are written (arguments as text or as an object).

    Each piece is framed by its length, so that no text can pass for a call.
    """
    speaker = "assistant" if role in MODEL_ROLES else role
    spoken = "" if said is None else text_of(said).strip()
    digest = blake2b(_utf8(f"{len(speaker)}:{speaker}{len(spoken)}:{spoken}"), digest_size=16)
    for part in calls:
        digest.update(_framed("call", part, part.tool))
    for part in results:
        digest.update(_framed("result", part, ""))
    return digest.digest()


def _framed(kind: str, part: Part, name: str) -> bytes:
    recorded_id = part.recorded_id or ""
    payload = b"" if part.payload is None else canonical(unfold(decode(part.payload).value))
    return _utf8(f"{kind}{len(recorded_id)}:{recorded_id}{len(name)}:{name}{len(payload)}:") + payload


def _utf8(told: str) -> bytes:
    return told.encode("utf-8", "surrogatepass")
