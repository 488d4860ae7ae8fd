"""Does each trace of an evidence have the gaps that concern it, in the order in which they were met?"""

from __future__ import annotations

from forensics.core.build import Spot
from forensics.core.evidence import Evidence
from forensics.core.reading import EvidenceBuilder


def test_the_gaps_of_a_trace_are_its_own_and_those_of_every_one() -> None:
    build = EvidenceBuilder(Evidence(0, "x", "", 0, "plain"), records_calls=True, spans_are_complete=False)
    spot = Spot(build.places.add(line=1, offset=0, length=1))
    one, other = build.trace("one"), build.trace("other")
    for number, trace in enumerate(["one", None, "other", "one", None]):
        build.gap("evidence_gap", f"{number}", spot, trace=trace)
    other.gap("evidence_gap", "last of other", spot)
    one.gap("evidence_gap", "last of one", spot)
    told = {trace.id: [gap.message for gap in trace.gaps] for trace in build.finish().traces}
    assert told == {"one": ["0", "1", "3", "4", "last of one"], "other": ["1", "2", "4", "last of other"]}
