"""How does a run of an SWE agent say that it ended? By a word beside its messages: "submitted", or why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.jsonvalue import text_of
from forensics.core.trace import StepKind
from forensics.formats.shared.fields import present

if TYPE_CHECKING:
    from forensics.core.build import Spot, TraceBuilder
    from forensics.formats.shared.fields import Fields


def tell_end(info: Fields, builder: TraceBuilder, spot: Spot) -> None:
    """The end that the info of a run, which stands at `spot`, tells; any but a submission is an error."""
    status = present(info, "exit_status")
    if status is None:
        return
    builder.trace.ended_normally = text_of(status).lower() == "submitted"
    if not builder.trace.ended_normally:
        builder.step(StepKind.ERROR, spot.down("/exit_status"), name="exit", payload=status)
