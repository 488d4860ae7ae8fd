"""How is it said that the model went on from something else than all of what stands before? That stands in the evidence
all the same, and is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.evidence import Severity
from forensics.core.findings import finding

if TYPE_CHECKING:
    from forensics.core.build import Spot, TraceBuilder

SUMMARY = "the history was compacted: from here on the model saw a summary of what stands before"


def note_rewritten(builder: TraceBuilder, step: int, spot: Spot, message: str = SUMMARY) -> None:
    """Note that the history was rewritten, in the step at that spot."""
    place = (builder.trace.places.locator(spot.place, spot.pointer),)
    builder.note(finding("compacted_history", message, steps=(step,), locators=place, severity=Severity.INFO))
