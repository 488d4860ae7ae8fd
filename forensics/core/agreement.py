"""Do two records of one thing say the same? The written ladder of agreement, its rung named.

1. equal bytes; 2. equal JSON values; 3. text of the same value (`str`, `repr`, content blocks, an error prefix);
4. a recorded prefix that is marked as cut. Below the ladder two records contradict each other.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.jsonvalue import decode, equal_values, unfold

if TYPE_CHECKING:
    from collections.abc import Iterable
from forensics.core.late import late


class Rung(StrEnum):
    """The rungs of the ladder, best first."""

    BYTES = "equal bytes"
    VALUES = "equal JSON values"
    TEXT = "text of the same value"
    CUT = "a recorded prefix marked as cut"


_CUT_MARK = late(
    r"(?:\.\.\.|…|\[(?:\.\.\. ?)?(?:output )?(?:was )?truncated[^\]]{0,60}\]|<(?:response clipped|truncated)[^>]{0,60}>"
    r"|\(truncated[^)]{0,60}\)|\.\.\. ?\d+ (?:more )?(?:characters|chars|bytes)[^\n]{0,40})\s*$",
    re.IGNORECASE,
)
_TAIL = 240
_LEAST_PREFIX = 8
_ERROR_PREFIX = late(r"^[\w .'\"`/-]{0,80}\b(?:error|exception|failed)\b[\w .'\"`/()-]{0,80}:\s*$", re.IGNORECASE)


def agree(left: msgspec.Raw, right: msgspec.Raw, *, error: bool = False) -> Rung | None:
    """The best rung on which two payloads agree, or None where they contradict each other. `error` says that one of
    them is an error's text, which the other may show behind a prefix.
    """
    a, b = bytes(left), bytes(right)
    if a == b:
        return Rung.BYTES
    one, other = decode(a).value, decode(b).value
    if equal_values(one, other):
        return Rung.BYTES if isinstance(one, str) else Rung.VALUES
    if equal_values(unfold(one), unfold(other)):
        return Rung.VALUES
    if _is_object_of(one, other) or _is_object_of(other, one):
        return Rung.TEXT
    if _texts(one) & _texts(other) or (error and (_error_of(one, other) or _error_of(other, one))):
        return Rung.TEXT
    return Rung.CUT if is_cut_of(one, other) or is_cut_of(other, one) else None


def _texts(value: object) -> frozenset[str]:
    """The texts by which a value may have been shown: its own, its JSON, Python's `str` and `repr`, its content blocks
    joined; blanks around it and the notation of a number aside.
    """
    unfolded = unfold(value)
    texts = {str(value), repr(value), str(unfolded), repr(unfolded), _json(unfolded)}
    blocks = content_text(unfolded)
    if blocks is not None:
        texts |= {blocks, str(unfold(blocks))}
    if isinstance(value, str):
        texts.add(_scalar(value))
    return frozenset(text.strip() for text in texts)


_CLASS = late(r"\A[A-Za-z_]\w{0,80}(?=\()")


def _is_object_of(members: object, said: object) -> bool:
    """Whether a text is how Python spells an object with these members: a dataclass, whatever its name, or a pydantic
    model.
    """
    members = unfold(members)
    if not isinstance(members, dict) or not members or not isinstance(said, str):
        return False
    told = [f"{name}={value!r}" for name, value in members.items()]
    return said.strip() == " ".join(told) or _CLASS.sub("", said.strip(), 1) == f"({', '.join(told)})"


_WORDS = {"true": "True", "false": "False", "null": "None", "none": "None"}


def _scalar(text: str) -> str:
    """A text that spells one scalar, in one spelling: `42.0` and `42`, `true` and `True`, `"x"` and `x`."""
    bare = text.strip()
    if bare.lower() in _WORDS:
        return _WORDS[bare.lower()]
    decoded = decode(bare.encode("utf-8", "surrogatepass")) if bare[:1] in _OPENS else None
    value = None if decoded is None or decoded.error else decoded.value
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return bare if value is None else str(value)


_OPENS = tuple('"-0123456789')


def _json(value: object) -> str:
    try:
        return msgspec.json.encode(value).decode("utf-8")
    except (UnicodeEncodeError, ValueError, RecursionError):
        return ""


def content_text(value: object) -> str | None:
    """The joined text of content blocks (MCP, Anthropic, OpenAI), bare or under `content`; None if there are none."""
    if isinstance(value, dict) and value.keys() <= {"content", "isError", "is_error", "structuredContent", "_meta"}:
        value = value.get("content")
    if not isinstance(value, list) or not value or not all(isinstance(b, dict) for b in value):
        return None
    texts = [block.get("text") for block in value]
    return "".join(t for t in texts if isinstance(t, str)) if all(isinstance(t, str) for t in texts) else None


_BESIDE_TEXT = frozenset({"type", "text", "annotations", "citations", "logprobs", "cache_control", "index"})


def only_text(value: object) -> str | None:
    """The joined text of content blocks that hold nothing else (what a provider notes beside a text aside); None where
    one does: a file, an image or a value is part of what is said.
    """
    blocks = value.get("content") if isinstance(value, dict) else value
    if not isinstance(blocks, list) or not all(isinstance(b, dict) and b.keys() <= _BESIDE_TEXT for b in blocks):
        return None
    return content_text(value)


def _error_of(shown: object, error: object) -> bool:
    """Whether one text is the other behind an error prefix ("Error: ...", "Error executing tool x: ...")."""
    if not isinstance(shown, str) or not isinstance(error, str) or not error or not shown.endswith(error):
        return False
    return bool(_ERROR_PREFIX.match(shown[: -len(error)]))


def is_cut_of(cut: object, whole: object) -> bool:
    """Whether one text is the beginning of the other and says that it was cut; a few characters prove nothing."""
    if not isinstance(cut, str):
        return False
    mark = _CUT_MARK.search(cut)
    head = "" if mark is None else cut[: mark.start()].rstrip(".… \n")
    if len(head) < _LEAST_PREFIX:
        return False
    return any(text.startswith(head) for text in _texts(whole))


def says_it_was_cut(payload: msgspec.Raw) -> bool:
    """Whether a recorded text ends in words that say it was cut (an ellipsis alone may be the text's own)."""
    tail = bytes(memoryview(payload)[-_TAIL:]).lower()
    if b"truncat" not in tail and b"clipped" not in tail:
        return False
    value = decode(payload).value
    return isinstance(value, str) and _CUT_MARK.search(value[-_TAIL:]) is not None


def may_say_cut(texts: Iterable[bytes]) -> bool:
    """Whether one of these payloads may be one that says it was cut."""
    tails = b"\n".join([text[-_TAIL:] for text in texts]).lower()
    return b"truncat" in tails or b"clipped" in tails


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
    if rung is not None and rung is not Rung.CUT:
        return ArgumentChange(rung=rung)
    asked, ran = unfold(decode(requested).value), unfold(decode(executed).value)
    if _is_nothing(asked) and _is_nothing(ran):
        return ArgumentChange(rung=Rung.VALUES)
    if is_bare(requested, executed):
        return ArgumentChange(rung=Rung.TEXT)
    if not isinstance(asked, dict) or not isinstance(ran, dict):
        return ArgumentChange(changed=("",))
    return _compare_objects(asked, ran)


def is_bare(requested: msgspec.Raw, executed: msgspec.Raw) -> bool:
    """Whether what ran is recorded as the value of the only argument that was asked for, without its name (frameworks
    whose simplest tools take one text do so).
    """
    if bytes(memoryview(executed)[:2]).startswith((b"{", b"[", b'"{', b'"[')):
        return False
    asked = unfold(decode(requested).value)
    if not isinstance(asked, dict) or len(asked) != 1:
        return False
    return bool(_texts(next(iter(asked.values()))) & _texts(decode(executed).value))


def _is_nothing(value: object) -> bool:
    """Whether a value says "no arguments": null, an empty text, an empty object."""
    return value in (None, "", {})


def _compare_objects(asked: dict[str, Any], ran: dict[str, Any]) -> ArgumentChange:
    """Key by key, into nested objects; what was asked as null and left out is no difference. Keys below the top are
    named by their path (`filter/limit`).
    """
    added: list[str] = []
    changed: list[str] = []
    missing: list[str] = []
    todo = [("", asked, ran)]
    while todo:
        path, one, other = todo.pop()
        added.extend(path + k for k in other if k not in one)
        missing.extend(path + k for k in one if k not in other and one[k] is not None)
        for key in one.keys() & other.keys():
            a, b = one[key], other[key]
            if isinstance(a, dict) and isinstance(b, dict):
                todo.append((f"{path}{key}/", a, b))
            elif not _same(a, b):
                changed.append(path + key)
    return ArgumentChange(tuple(sorted(added)), tuple(sorted(changed)), tuple(sorted(missing)), Rung.VALUES)


def _same(one: object, other: object) -> bool:
    return equal_values(one, other) or equal_values(unfold(one), unfold(other))
