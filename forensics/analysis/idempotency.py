"""Was an act tried again under another idempotency key? The service takes such a try for a new request."""

from __future__ import annotations

from itertools import compress, pairwise
from typing import TYPE_CHECKING, Any

from forensics.analysis.outcomes import is_unanswered
from forensics.core.evidence import Basis
from forensics.core.findings import Finding, finding
from forensics.core.jsonvalue import canonical, value_of
from forensics.core.late import late
from forensics.core.rpc_errors import RpcEnd, error_in
from forensics.core.sanitise import one_line
from forensics.core.trace import Call, Outcome
from forensics.rules.conditions import compile_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.core.trace import Calls, Payload

_SPELLED = late(r"[^a-z]")
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
MAY_HOLD_A_KEY = "(?i)idempot|client.?token|request.?id|dedup"
"""What stands in arguments that hold such a key."""
_UNSETTLED = frozenset({Outcome.INDETERMINATE, Outcome.FAILED})


def is_idempotency_key(name: str) -> bool:
    """Whether an argument of that name tells the service which tries are one request."""
    return _SPELLED.sub("", name.lower()) in _NAMES


def changed_keys(calls: Calls, adding: Sequence[int]) -> Iterator[Finding]:
    """A finding for each act that was tried again with another key, or with none, after a try of which it is not known
    that it did nothing. `adding` says which calls add to the world. Two acts that both went well are two acts.
    """
    keyed = {(call.agent, call.tool) for call in _with_a_key(calls, adding)}
    tries: dict[tuple[str, str, bytes], list[tuple[Call, bytes]]] = {}
    for call in map(calls.__getitem__, compress(range(len(calls)), adding)) if keyed else ():
        arguments = call.arguments
        if arguments is not None and (call.agent, call.tool) in keyed and call.again_of < 0:
            rest, key = _parted(arguments)
            tries.setdefault((call.agent, call.tool, rest), []).append((call, key))
    for held in tries.values():
        yield from _told(held)


def _with_a_key(calls: Calls, adding: Sequence[int]) -> Iterator[Call]:
    """The acts of which an argument is such a key. One look at the arguments of many calls says whether one may be."""
    may_hold_one = compile_pattern(MAY_HOLD_A_KEY).search
    for rows in calls.parts() if any(adding) else ():
        texts = calls.arguments(rows)
        if may_hold_one(b"\n".join(filter(None, texts))) is None:
            continue
        for row, text in zip(rows, texts, strict=True):
            if adding[row] and text and may_hold_one(text) and calls[row].again_of < 0 and _parted(text)[1] != b"":
                yield calls[row]


def _parted(arguments: Payload | bytes) -> tuple[bytes, bytes]:
    """The canonical bytes of arguments without their idempotency keys, and those of the keys ("" for none)."""
    value: Any = value_of(arguments)
    keys = {n: item for n, item in value.items() if is_idempotency_key(n)} if isinstance(value, dict) else {}
    if not keys:
        return canonical(value), b""
    return canonical({name: item for name, item in value.items() if name not in keys}), canonical(keys)


def idempotency_keys(arguments: Payload | bytes) -> bytes:
    """The canonical bytes of the idempotency keys among arguments; none where there is none."""
    return _parted(arguments)[1]


def _may_have_acted(call: Call) -> bool:
    """Whether it is not known that a try did nothing: a server that refused the request ran nothing."""
    if call.outcome is Outcome.FAILED and call.result is not None:
        error = error_in(value_of(call.result))
        return error is None or error.end is not RpcEnd.REFUSED
    return call.outcome in _UNSETTLED or is_unanswered(call)


def _told(tries: list[tuple[Call, bytes]]) -> Iterator[Finding]:
    for (first, key), (second, other) in pairwise(tries):
        if key == other or not key or not _may_have_acted(first):
            continue
        how = "with another idempotency key" if other else "without an idempotency key"
        message = (
            f"{one_line(first.tool, 60)} was tried again {how}, and the first try may have taken effect: the service "
            "takes it for a new request"
        )
        yield finding("idempotency_key_changed", message, steps=(first.step, second.step), basis=Basis.DERIVED)
