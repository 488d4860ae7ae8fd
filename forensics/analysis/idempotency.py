"""Was an act tried again under another idempotency key? The service takes such a try for a new request."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from forensics.analysis.outcomes import is_unanswered
from forensics.core.evidence import Basis
from forensics.core.findings import Finding, finding
from forensics.core.jsonvalue import canonical, value_of
from forensics.core.sanitise import one_line
from forensics.core.trace import Call, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.core.trace import Payload

_SPELLED = re.compile(r"[^a-z]")
_NAMES = frozenset(
    {
        "idempotencykey",
        "clienttoken",
        "requestid",
        "clientrequestid",
        "dedupekey",
        "deduplicationid",
    }
)
_MAY_HOLD_ONE = re.compile(rb"(?i)idempot|client.?token|request.?id|dedup")
_UNSETTLED = frozenset({Outcome.INDETERMINATE, Outcome.FAILED})


def is_idempotency_key(name: str) -> bool:
    """Whether an argument of that name tells the service which tries are one request."""
    return _SPELLED.sub("", name.lower()) in _NAMES


def changed_keys(calls: Sequence[Call], arguments: Sequence[bytes], adding: Sequence[bool]) -> Iterator[Finding]:
    """A finding for each act that was tried again with another key, or with none, after a try of which it is not known
    that it did nothing. `arguments` are the canonical ones of each call, `adding` says which calls add to the world.
    Two acts that both went well are two acts.
    """
    tries: dict[tuple[str, str, bytes], list[tuple[Call, bytes]]] = {}
    for call, whole, adds in zip(calls, arguments, adding, strict=True):
        if adds and call.again_of < 0 and call.arguments is not None:
            rest, key = _parted(call.arguments, whole)
            tries.setdefault((call.agent, call.tool, rest), []).append((call, key))
    for held in tries.values():
        yield from _told(held)


def _parted(arguments: Payload, whole: bytes) -> tuple[bytes, bytes]:
    """The canonical bytes of arguments without their idempotency keys, and those of the keys ("" for none)."""
    value: Any = value_of(arguments) if _MAY_HOLD_ONE.search(arguments) else None
    if not isinstance(value, dict):
        return whole, b""
    keys = {name: item for name, item in value.items() if is_idempotency_key(name)}
    rest = {name: item for name, item in value.items() if name not in keys}
    return (canonical(rest), canonical(keys)) if keys else (whole, b"")


def _told(tries: list[tuple[Call, bytes]]) -> Iterator[Finding]:
    for (first, key), (second, other) in pairwise(tries):
        if key == other or not key or not (first.outcome in _UNSETTLED or is_unanswered(first)):
            continue
        how = "with another idempotency key" if other else "without an idempotency key"
        message = (
            f"{one_line(first.tool, 60)} was tried again {how}, and the first try may have taken effect: the service "
            "takes it for a new request"
        )
        yield finding("idempotency_key_changed", message, steps=(first.step, second.step), basis=Basis.DERIVED)
