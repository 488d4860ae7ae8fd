"""Does a record say of itself that it is not whole? Finish reasons of a cut output, marks of redaction, arguments that
begin as JSON and are none, and flags that say "truncated".

What a prompt shows is what its model was given, so a shown result whose text merely ends in a cut mark is whole.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from forensics.core.jsonvalue import decode, text_of, texts_of, value_of
from forensics.core.late import late

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from forensics.core.trace import Payload

TRUNCATED = "truncated_payload"
REDACTED = "redaction_damage"

_CUT_REASONS = (
    "length max_tokens max_output_tokens max_length token_limit model_length model_context_window_exceeded "
    "content_filter content_filtered safety recitation blocklist prohibited_content spii image_safety "
    "malformed_function_call unexpected_tool_call too_many_tool_calls malformed_response "
    "pause_turn incomplete in_progress queued cancelled guardrail_intervened"
)
_CUT = frozenset(_CUT_REASONS.split())
_ENDS_IN_CALLS = frozenset({"tool_calls", "tool_use", "function_call", "tool_call"})
_UNFINISHED = frozenset({"incomplete", "in_progress", "queued", "searching", "interpreting", "generating"})
UNSETTLED = frozenset(
    {"timeout", "timed_out", "timedout", "pending", "running", "in_progress", "queued", "interrupted", "unknown"}
)
"""What a status says of a call that may still take effect, or may have taken it."""
_WORD = late(r"[a-z_]+")

_MARK = (
    r"(?:\*{3,}(?:[a-z_ ]{1,20}\*{3,})?"
    r"|__redacted__"
    r"|[\[<(]{1,2}/?\s?(?:redacted|masked|filtered|scrubbed)\b[^\"\]>)]{0,40}[\]>)]{1,2})"
)
_IS_MARK = late(rf"\s*{_MARK}\s*", re.IGNORECASE)
_WORTH_A_LOOK = late(rb'"(?:[*\[<(_]|(?<=\A"))')  # a text that opens as a mark does, or nothing but a text
_ONE_OPENING = bytes(ord("*") if value in b"*[<(_" else value for value in range(256))
_ANY_MARK = late(rb"\*{3}[a-z_ ]{1,20}\*{3}|__redacted__|[\[<](?:redacted|masked)\b", re.IGNORECASE)
LONGEST_MARK = 80
_OPENS_MARK = (b"*", b"_", b"[", b"<", b"(", b" ", b"\\")
_BEGINS_AS_JSON = late(r"\s*(?:\{\s*(?:[\"}]|$)|\[\s*(?:[\"\[{\]]|$))")


def finish_words(raw: Payload | None) -> tuple[str, ...]:
    """The finish reasons in a text or a list of texts, in lower case."""
    return () if raw is None else tuple(_WORD.findall(text_of(raw).lower().replace("-", "_")))


def cut_short(words: Iterable[str], *, calls: bool) -> str:
    """Why a turn that ended for these reasons may hide a call or words, as a sentence; "" where it doesn't. `calls`
    says whether the turn shows a call.
    """
    for word in words:
        if word in _CUT:
            return f"the model's output is not whole: it ended by {word}"
        if word in _ENDS_IN_CALLS and not calls:
            return "the turn ended to call tools and shows none"
    return ""


def ends_in_calls(words: Iterable[str]) -> bool:
    """Whether a turn ended to call tools."""
    return any(word in _ENDS_IN_CALLS for word in words)


def is_unfinished(status: str) -> bool:
    """Whether the status of an item says that it was recorded before it was whole."""
    return status.lower() in _UNFINISHED


def arguments_damage(payload: Payload, *, freeform: bool = False) -> str | None:
    """The code of what arguments say they lost: a value replaced by a redaction mark, or JSON text that breaks off.
    `freeform` arguments are any text.
    """
    if _WORTH_A_LOOK.search(payload) is None:
        return None
    if any(_IS_MARK.fullmatch(t) for t in texts_of(value_of(payload))):
        return REDACTED
    if freeform or not bytes(payload).startswith(b'"'):
        return None
    said = text_of(payload)
    if not _BEGINS_AS_JSON.match(said):
        return None
    return TRUNCATED if decode(said.encode("utf-8", "surrogatepass")).error is not None else None


def damaged_arguments(payloads: Sequence[Payload | None]) -> list[int]:
    """Which of these arguments lost something."""
    told = b"\n".join([b"", *filter(None, payloads)])
    if b'\n"' not in told and b'"*' not in told.translate(_ONE_OPENING):
        return []
    return [row for row, payload in enumerate(payloads) if payload is not None and arguments_damage(payload)]


def damaged_results(payloads: Sequence[Payload | None]) -> list[int]:
    """Which of these results lost something."""
    short = [row for row, one in enumerate(payloads) if one is not None and len(one) <= LONGEST_MARK]
    return [row for row in short if (one := payloads[row]) is not None and result_damage(one)]


def result_damage(payload: Payload) -> str | None:
    """The code of what a result says it lost: the whole of it replaced by a redaction mark."""
    view = memoryview(payload)
    if view.nbytes > LONGEST_MARK or bytes(view[1:2]) not in _OPENS_MARK:
        return None
    return REDACTED if _IS_MARK.fullmatch(text_of(payload)) else None


def holds_redaction(data: bytes) -> bool:
    """Whether a text that can't be read holds a mark of redaction."""
    return _ANY_MARK.search(data) is not None
