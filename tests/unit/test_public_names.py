"""Does the package say what it offers, and a trace what it is?"""

from __future__ import annotations

from pathlib import Path

import forensics
from forensics.core.places import Places

PAGER = Path(__file__).resolve().parents[2] / "samples" / "pager.chat.json"


def test_the_package_lists_what_it_offers() -> None:
    assert dir(forensics) == sorted(forensics.__all__)
    assert all(getattr(forensics, name) is not None for name in dir(forensics))


def test_a_trace_says_what_it_is() -> None:
    (trace,) = forensics.load(PAGER)
    calls = len(trace.calls)
    assert repr(trace) == f"<Trace '{trace.id}' ({trace.format}): {len(trace)} steps, {calls} calls>"
    assert repr(forensics.Trace("a\x1b[2J\u202e" + "x" * 90, Places(0), "f")).isprintable()
