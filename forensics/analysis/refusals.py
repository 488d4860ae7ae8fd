"""What does an error that a call got say of its tool? That the call was refused before it ran, or that it is not told
whether it took effect: neither speaks for or against a class, and both say that the result shows nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.classes import ClassEvidence, Source, Tier
from forensics.core.rpc_errors import RpcEnd, error_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.core.evidence import Locator

_SAYS = {
    RpcEnd.REFUSED: (
        "refused",
        "the server refused the call before it ran: its error shows nothing of what the tool does",
    ),
    RpcEnd.FAILED: ("failed", "the call ended in an error, which is no result: what it did before is not told"),
    RpcEnd.OPEN: ("open", "the call ended in an error of the server, or was lost: whether it took effect is not told"),
}


def error_evidence(result: object, place: Callable[[], Locator] | None = None) -> ClassEvidence | None:
    """What the result of a call, which stands at that place, says where it is an error (`rpc_errors`); None for any
    other.
    """
    error = error_in(result)
    if error is None:
        return None
    name, says = _SAYS[error.end]
    return ClassEvidence(
        Source.BEHAVIOUR, Tier.PACK, says, rule=f"behaviour.{name}", locator=place() if place else None
    )
