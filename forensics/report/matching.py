"""How does a dry run of the gate become a document? Each request with what it is served, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import spell_surrogates, strict_value
from forensics.core.sanitise import one_line
from forensics.report.compose import evidence_row, finding_row, place, program
from forensics.report.documents import MATCHING, MatchedRow, MatchingCounts, MatchingDocument, NearRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.replay.dry_run import Matching
    from forensics.replay.gate import Reply
    from forensics.replay.nearest import Near
    from forensics.replay.recordings import Request
    from forensics.report.compose import Examined

_POINTER = 200


def matching_document(matching: Matching, evidence: Sequence[Examined], trace: str | None) -> MatchingDocument:
    """The document of a dry run; `evidence` is the recording and the requests, `trace` the recorded run, if it has a
    name.
    """
    rows = [_row(matching, n, *both) for n, both in enumerate(zip(matching.requests, matching.replies, strict=True))]
    findings = [finding_row(one) for one in matching.findings]
    served = sum(row.status == "served" for row in rows)
    stop = matching.stop
    return MatchingDocument(
        schema=MATCHING,
        tool=program(),
        evidence=[evidence_row(one) for one in evidence],
        trace=None if trace is None else spell_surrogates(trace),
        result="served" if stop is None else rows[stop].status,
        stopped_at=stop,
        counts=MatchingCounts(
            recordings=len(matching.record.recordings),
            unused=len(matching.record.recordings) - served,
            requests=len(rows),
            served=served,
            not_reached=sum(row.status == "not_reached" for row in rows),
        ),
        requests=rows,
        findings=list({msgspec.json.encode(row): row for row in findings}.values()),
    )


def _row(matching: Matching, number: int, request: Request, reply: Reply) -> MatchedRow:
    recording = None if reply.row is None else matching.record.recordings[reply.row]
    agreed = reply.agreement
    return MatchedRow(
        index=number,
        kind=spell_surrogates(request.kind),
        lane=None if request.lane is None else spell_surrogates(request.lane),
        id=None if request.recorded_id is None else spell_surrogates(request.recorded_id),
        asked=strict_value(request.value),
        status=reply.status.value,
        served=None if recording is None else strict_value(recording.answer),
        recorded=reply.row,
        recorded_step=None if recording is None else recording.request.step,
        rung=None if agreed is None else agreed.rung,
        set_aside=[] if agreed is None else [spell_surrogates(one_line(p, _POINTER)) for p in agreed.set_aside],
        because=spell_surrogates(reply.because) or None,
        nearest=[_near(matching, near) for near in matching.nearest] if number == matching.stop else [],
        locator=place(request.locator),
    )


def _near(matching: Matching, near: Near) -> NearRow:
    request = matching.record.recordings[near.row].request
    return NearRow(
        recorded=near.row,
        because=spell_surrogates(near.because),
        locator=place(request.locator),
        step=request.step,
        pointer=None if near.pointer is None else spell_surrogates(near.pointer),
        left=near.left,
        right=near.right,
    )
