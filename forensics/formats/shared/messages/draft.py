"""What has been read of one message so far: texts, calls, results, and what was not understood?

A call that one message writes twice is one call; a call or a result that says it is not whole is tainted.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

import msgspec

from forensics.core.agreement import compare_arguments
from forensics.core.jsonvalue import canonical, text_of, value_of
from forensics.core.messages import Doubt, Part
from forensics.core.sanitise import one_line
from forensics.core.trace import Boundary, Payload
from forensics.formats.shared.fields import Fields, hides_arguments, is_true, text
from forensics.formats.shared.wholeness import TRUNCATED, UNSETTLED, arguments_damage, is_unfinished, result_damage

Keep = Callable[[Payload], Payload]


def part_of(
    tool: str, recorded_id: str, payload: Payload | None, pointer: str, boundary: Boundary = Boundary.TOOL
) -> Part:
    """A call or a result; an id that is empty is none."""
    return Part(tool, recorded_id or None, payload, pointer, boundary)


class Draft:
    """A message while its blocks are read."""

    def __init__(self, keep: Keep) -> None:
        self.keep = keep
        self.texts: list[Payload] = []
        self.calls: list[Part] = []
        self.results: list[Part] = []
        self.doubts: list[Doubt] = []
        self.role = ""
        self.media: list[str] = []
        self._asked: dict[str, int] = {}

    def call(self, part: Part, fields: Fields, *, freeform: bool = False) -> None:
        """A call that the message asks for; `fields` are those of the object that says so."""
        held = self._asked.setdefault(part.recorded_id, len(self.calls)) if part.recorded_id else len(self.calls)
        if held < len(self.calls) and _container(self.calls[held]) != _container(part):
            self._asked_again(held, part)
            return
        payload, tainted = part.payload, None
        if payload is not None:
            tainted = arguments_damage(payload, freeform=freeform)
            payload = self.keep(payload)
        elif hides_arguments(fields):
            self.doubt(f"arguments of {one_line(part.tool, 40)} in a member that is not read", part.pointer)
        if is_cut(fields):
            tainted = tainted or TRUNCATED
        server = text(fields, "server_label", "server_name") or None
        self.calls.append(
            msgspec.structs.replace(part, payload=payload, server=server, tainted=tainted, freeform=freeform)
        )

    def _asked_again(self, held: int, part: Part) -> None:
        """LangChain writes a call among its content blocks and again as tool_calls, perhaps with the arguments in one
        place only; two stories under one id contradict each other.
        """
        one = self.calls[held]
        if one.tool != part.tool or _differ(one.payload, part.payload):
            self.calls[held] = msgspec.structs.replace(one, tainted="inconsistent_tuple")
        elif _says_nothing(one.payload) and part.payload is not None:
            self.calls[held] = msgspec.structs.replace(one, payload=self.keep(part.payload), pointer=part.pointer)

    def result(self, part: Part, fields: Fields, *, failed: bool = False, denied: bool = False) -> None:
        """A result that the message shows; `fields` are those of the object that says so."""
        kept = None if part.payload is None else self.keep(part.payload)
        status = text(fields, "status").lower()
        failed = failed or _says_failed(fields)
        tainted = TRUNCATED if is_cut(fields) else None if kept is None else result_damage(kept)
        self.results.append(
            msgspec.structs.replace(
                part,
                payload=kept,
                failed=failed,
                denied=denied or (failed and kept is not None and _says_denied(kept)),
                unsettled=status in UNSETTLED,
                tainted=tainted,
            )
        )

    def shows(self, medium: Payload) -> None:
        """A picture, a sound or a file: no text, but another one is another message. Where a prompt may be cached is
        no part of it.
        """
        value = value_of(medium)
        if isinstance(value, dict):
            value = {name: held for name, held in value.items() if name != "cache_control"}
        self.media.append(sha256(canonical(value)).hexdigest())

    def doubt(self, says: str, pointer: str = "", code: str = "evidence_gap") -> None:
        """Note what was not understood and may hide a call, a result or a turn."""
        self.doubts.append(Doubt(says, pointer, code))


def _container(part: Part) -> str:
    """The member of the message in which a part stands."""
    return part.pointer.split("/", 2)[1] if part.pointer else ""


def _says_nothing(payload: Payload | None) -> bool:
    return payload is None or bytes(payload) in (b"{}", b'""', b"null")


def _differ(one: Payload | None, other: Payload | None) -> bool:
    """Whether two records of the same arguments differ; an empty one was not filled in."""
    if one is None or other is None or _says_nothing(one) or _says_nothing(other):
        return False
    change = compare_arguments(one, other)
    return change.contradicts or bool(change.added)


def is_cut(fields: Fields) -> bool:
    """Whether an object says that it was recorded in part."""
    return is_true(fields, "truncated", "is_truncated", "willContinue") or is_unfinished(text(fields, "status"))


def _says_failed(fields: Fields) -> bool:
    return is_true(fields, "is_error", "isError", "tool_call_error") or text(fields, "status") in (
        "error",
        "failed",
        "incomplete",
    )


_DENIALS = (
    "requires approval", "needs approval", "rejected by", "user rejected", "denied", "doesn't want to proceed",
    "permission", "not allowed", "sibling tool call errored", "was not executed",
)  # fmt: skip


def _says_denied(payload: Payload) -> bool:
    said = text_of(payload)[:400].lower()
    return any(word in said for word in _DENIALS)
