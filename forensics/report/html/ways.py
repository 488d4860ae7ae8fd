"""Which way did each minted value go? In words, for whoever reads without the drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.html.parts import FULL, folded, row, table
from forensics.report.html.words import named, step, tool
from forensics.report.markup import Markup, el, join, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.report.incident.documents import Thread, ThreadUse

_USES = 12  # named of one value
_WAYS = ("Value", "Kind", "Minted in", "Held by")


def values(threads: Sequence[Thread]) -> Markup | None:
    """The ways of the minted values in words; those of references stand in the drawing alone."""
    minted = [thread for thread in threads if thread.kind != "reference"]
    if not minted:
        return None
    rows = [_value(thread) for thread in minted[:FULL]]
    more = len(minted) - FULL
    told = el("p", f"{more:,} more values are in the form .json of the report.") if more > 0 else None
    return folded(f"Values and their ways: {len(minted):,}", table("Values and their ways", _WAYS, rows), told)


def _value(thread: Thread) -> Markup:
    used = [use for use in thread.uses if use.role != "branch"]
    ways = [join(", " if number else None, _use(use)) for number, use in enumerate(used[:_USES])]
    more = f" and {len(used) - _USES:,} more" if len(used) > _USES else None
    held = join(*ways, more) if used else "no later step holds it"
    return row(_WAYS, tool(thread.value), thread.kind, join(step(thread.minted), " by ", tool(thread.tool)), held)


def _use(use: ThreadUse) -> Markup:
    """`step 9, argument /page_id`."""
    at = join(" ", quoted(named(use.pointer))) if use.pointer else None
    how = None if use.written == "verbatim" else f" as {use.written}"
    return join(step(use.step), f" {'echo' if use.echo else use.role.replace('_', ' ')}", at, how)
