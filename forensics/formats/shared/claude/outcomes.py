"""Did the call run? What the texts and marks of a Claude Code tool result say about it, as tables.

A result need not mean that anything ran: refusals of a person, of a rule or of a hook and cancelled siblings are
written as results as well (FORMATS section 0.3). A timeout or an interruption leaves open whether the call took effect.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import text_of
from forensics.formats.shared.claude.kinds import CONTENT
from forensics.formats.shared.fields import Fields, fields_of, is_text, items_of, present, text

if TYPE_CHECKING:
    from forensics.core.trace import Payload

_HEAD = 400  # characters of a result in which the harness says that it refused
_REFUSED = re.compile(
    r"(?:<tool_use_error>)?\s*(?:Error: )?"
    r"(?:The user doesn't want to (?:proceed|take this action)"
    r"|(?:The )?(?:user|tool use) (?:was )?rejected"
    r"|Permission (?:to|for) .{1,200}?\bdenied"
    r"|Claude requested permissions? (?:to|for) "
    r"|.{0,80}?\b(?:requires|needs|requiring) approval"
    r"|.{0,80}?\bPreToolUse\b"
    r"|.{1,200}? was blocked\. For security"
    r"|Sibling tool call errored"
    r"|Cancelled: parallel tool call)",
    re.IGNORECASE | re.DOTALL,
)
_UNSETTLED = re.compile(
    r"\[Request interrupted by user|\btimed out\b|\bwas aborted\b|MCP error -3200[01]", re.IGNORECASE
)
INTERRUPTION = "[Request interrupted by user"
MAY_SAY = (b'"[', b'"\\')
"""How a text begins, as it is written, that may begin with that."""


class Told(msgspec.Struct, frozen=True, gc=False):
    """What a result says about its call; all False: it ran and succeeded."""

    failed: bool = False
    denied: bool = False
    unsettled: bool = False


def outcome(block: Fields, structured: Payload | None, marks: Fields) -> Told:
    """What a tool result says: `block` holds it, `structured` is the record's own copy of it (`toolUseResult`), `marks`
    are the fields of the record.
    """
    content = present(block, *CONTENT)
    said = "" if content is None else _head(content)
    own = structured is not None and is_text(structured) and text_of(structured).startswith("Error")
    failed = bytes(block.get("is_error", b"")) == b"true" or own
    if text(marks, "toolDenialKind"):
        return Told(failed=True, denied=True)
    if failed and _REFUSED.match(said):
        return Told(failed=True, denied=True)
    stopped = said.startswith(INTERRUPTION) or _was_interrupted(structured)
    if stopped or (failed and _UNSETTLED.search(said)):
        return Told(failed=failed, unsettled=True)
    return Told(failed=failed)


def ran_plainly(content: Payload | None, structured: Payload | None) -> bool:
    """Whether a result that is not marked as an error can but say that its call ran and succeeded: nothing in it, as it
    is written, is what the harness says otherwise.
    """
    begins = b"" if content is None else bytes(memoryview(content)[:2])
    if begins in MAY_SAY or begins[:1] != b'"':
        return False
    told = b"{" if structured is None else bytes(structured)
    return told[:1] != b'"' and b"true" not in told


def _was_interrupted(structured: Payload | None) -> bool:
    if structured is None or bytes(memoryview(structured)[:1]) != b"{":
        return False
    return bytes(fields_of(structured).get("interrupted", b"")) == b"true"


def _head(content: Payload) -> str:
    """The first characters of a result's text."""
    if is_text(content):
        return text_of(content)[:_HEAD]
    for item in items_of(content):
        said = text(fields_of(item), "text")
        if said:
            return said[:_HEAD]
    return ""
