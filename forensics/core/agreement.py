"""Do two records of one thing say the same? The written ladder of agreement, its rung named.

1. equal bytes; 2. equal JSON values; 3. text of the same value (`str`, `repr`, content blocks, an error prefix);
4. a recorded prefix that is marked as cut. Below the ladder two records contradict each other.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any

import msgspec

from forensics.core.jsonvalue import decode, equal_values, unfold


class Rung(StrEnum):
    """The rungs of the ladder, best first."""

    BYTES = "equal bytes"
    VALUES = "equal JSON values"
    TEXT = "text of the same value"
    CUT = "a recorded prefix marked as cut"


_CUT_MARK = re.compile(
    r"(?:\.\.\.|…|\[(?:\.\.\. ?)?(?:output )?(?:was )?truncated[^\]]{0,60}\]|<(?:response clipped|truncated)[^>]{0,60}>"
    r"|\(truncated[^)]{0,60}\)|\.\.\. ?\d+ (?:more )?(?:characters|chars|bytes)[^\n]{0,40})\s*$",
    re.IGNORECASE,
)
_TAIL = 240
_ERROR_PREFIX = re.compile(r"^[\w .'\"`/-]{0,80}\b(?:error|exception|failed)\b[\w .'\"`/()-]{0,80}:\s*$", re.IGNORECASE)


def agree(left: msgspec.Raw, right: msgspec.Raw) -> Rung | None:
    """The best rung on which two payloads agree, or None where they contradict each other."""
    a, b = bytes(left), bytes(right)
    if a == b:
        return Rung.BYTES
    one, other = decode(a).value, decode(b).value
    if equal_values(one, other):
        return Rung.BYTES if isinstance(one, str) else Rung.VALUES
    if equal_values(unfold(one), unfold(other)):
        return Rung.VALUES
    if _texts(one) & _texts(other) or _error_of(one, other) or _error_of(other, one):
        return Rung.TEXT
    if _is_cut(one, other) or _is_cut(other, one):
        return Rung.CUT
    return None


def _texts(value: object) -> frozenset[str]:
    """The texts by which a value may have been shown: its own, Python's `str` and `repr`, its content blocks joined."""
    unfolded = unfold(value)
    texts = {str(value), repr(value), str(unfolded), repr(unfolded)}
    blocks = content_text(unfolded)
    if blocks is not None:
        texts |= {blocks, str(unfold(blocks))}
    if isinstance(value, bool) or value is None:
        texts.add({True: "true", False: "false", None: "null"}[value])
    return frozenset(texts)


def content_text(value: object) -> str | None:
    """The joined text of a list of content blocks (MCP, Anthropic, OpenAI), or None where the value is no such list."""
    if not isinstance(value, list) or not value or not all(isinstance(b, dict) for b in value):
        return None
    parts: list[str] = []
    for block in value:
        text = block.get("text")
        if not isinstance(text, str):
            return None
        parts.append(text)
    return "".join(parts)


def _error_of(shown: object, error: object) -> bool:
    """Whether one text is the other behind an error prefix ("Error: ...", "Error executing tool x: ...")."""
    if not isinstance(shown, str) or not isinstance(error, str) or not error or not shown.endswith(error):
        return False
    return bool(_ERROR_PREFIX.match(shown[: -len(error)]))


def _is_cut(cut: object, whole: object) -> bool:
    if not isinstance(cut, str):
        return False
    mark = _CUT_MARK.search(cut)
    if mark is None:
        return False
    head = cut[: mark.start()].rstrip(".… \n")
    return bool(head) and any(text.startswith(head) for text in _texts(whole) | {_compact(whole)})


def _compact(value: object) -> str:
    return msgspec.json.encode(value).decode("utf-8", "replace") if not isinstance(value, str) else value


def says_it_was_cut(payload: msgspec.Raw) -> bool:
    """Whether a recorded text ends in words that say it was cut (an ellipsis alone may be the text's own)."""
    tail = bytes(memoryview(payload)[-_TAIL:]).lower()
    if b"truncat" not in tail and b"clipped" not in tail:
        return False
    value = decode(payload).value
    return isinstance(value, str) and _CUT_MARK.search(value[-_TAIL:]) is not None


class ArgumentChange(msgspec.Struct, frozen=True):
    """How the executed arguments differ from those that the model asked for: keys added, changed, missing."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    rung: Rung | None = None

    @property
    def contradicts(self) -> bool:
        """Whether what ran is not what was asked: a key changed or missing, not one added."""
        return bool(self.changed or self.missing)


def compare_arguments(requested: msgspec.Raw, executed: msgspec.Raw) -> ArgumentChange:
    """Compare what the model asked for with what ran: added keys are the harness's, others contradict."""
    rung = agree(requested, executed)
    if rung is not None:
        return ArgumentChange(rung=rung)
    asked, ran = unfold(decode(requested).value), unfold(decode(executed).value)
    if not isinstance(asked, dict) or not isinstance(ran, dict):
        return ArgumentChange(changed=("",))
    return _compare_objects(asked, ran)


def _compare_objects(asked: dict[str, Any], ran: dict[str, Any]) -> ArgumentChange:
    changed = tuple(k for k in asked if k in ran and not _same(asked[k], ran[k]))
    return ArgumentChange(
        added=tuple(k for k in ran if k not in asked),
        changed=changed,
        missing=tuple(k for k in asked if k not in ran),
        rung=Rung.VALUES,
    )


def _same(one: object, other: object) -> bool:
    return equal_values(one, other) or equal_values(unfold(one), unfold(other))
