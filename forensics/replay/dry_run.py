"""What would the gate serve to these requests? A rerun without an agent: nothing is run, asked or contacted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.evidence import Basis
from forensics.core.findings import Finding, finding
from forensics.core.sanitise import one_line
from forensics.replay.gate import Gate, Reply, Status
from forensics.replay.nearest import Near, nearest
from forensics.replay.recordings import Record, Recording, Request
from forensics.replay.sameness import exact_key, value_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.core.evidence import Locator

_LOCATORS = 100  # of one finding; its message says how many there are
_NAMED = 5


class Matching(msgspec.Struct, frozen=True):
    """Each request of a dry run with the gate's reply. `stop` is the number of the request that was not served (None:
    all were), and `nearest` belongs to it.
    """

    record: Record
    requests: tuple[Request, ...]
    replies: tuple[Reply, ...]
    stop: int | None
    nearest: tuple[Near, ...]
    findings: tuple[Finding, ...]


def dry_run(record: Record, requests: Sequence[Request]) -> Matching:
    """Put every request to the gate, in order."""
    gate = Gate(record.recordings)
    replies = tuple(gate.ask(request) for request in requests)
    stop = next((n for n, reply in enumerate(replies) if reply.row is None), None)
    near = () if stop is None else nearest(gate, requests[stop], replies[stop])
    findings = [*record.findings]
    if not record.compared:
        findings += _different_answers(record.recordings)
    findings += _order(record.recordings, requests, replies)
    if stop is None:
        findings += _unused(gate, requests)
    else:
        findings.append(_stopped(stop, requests[stop], replies[stop], near))
    return Matching(record, tuple(requests), replies, stop, near, tuple(findings))


# findings ------------------------------------------------------------------------------------------------------------


def _different_answers(recordings: Sequence[Recording]) -> Iterator[Finding]:
    """Equal requests in one lane whose answers differ; one that failed was made again, not answered otherwise."""
    groups: dict[tuple[bytes, str | None], list[Recording]] = {}
    for recording in recordings:
        if not recording.missing and not recording.failed:
            groups.setdefault((exact_key(recording.request), recording.request.lane), []).append(recording)
    for group in groups.values():
        different = len({value_key(recording.answer) for recording in group}) if len(group) > 1 else 1
        if different > 1:
            message = (
                f"the same request{_of(group[0].request)} was made {len(group)} times and has {different} different "
                "answers: only their order tells which is which"
            )
            yield _found("same_request_different_answers", message, [one.request.locator for one in group])


def _order(recordings: Sequence[Recording], requests: Sequence[Request], replies: Sequence[Reply]) -> Iterator[Finding]:
    """Served requests that come in another order than recorded, in their lane."""
    moved = {"replay_order_changed": list[int](), "parallel_order_differs": list[int]()}
    latest: dict[str | None, int] = {}
    for number, reply in enumerate(replies):
        if reply.row is None:
            continue
        lane = recordings[reply.row].request.lane
        before = latest.get(lane, -1)
        latest[lane] = max(before, reply.row)
        if reply.row < before:
            batch = recordings[reply.row].batch
            parallel = batch is not None and batch == recordings[before].batch
            moved["parallel_order_differs" if parallel else "replay_order_changed"].append(number)
    for code, numbers in moved.items():
        if numbers:
            where = "within one parallel batch" if code == "parallel_order_differs" else "than recorded"
            message = f"{_numbers(numbers)} in another order {where}"
            yield _found(code, message, [requests[number].locator for number in numbers])


def _unused(gate: Gate, requests: Sequence[Request]) -> Iterator[Finding]:
    """Recordings that nobody asked for, of a kind that was asked for: a list of calls says nothing of models."""
    kinds = {request.kind for request in requests}
    left = [
        row
        for row, recording in enumerate(gate.recordings)
        if gate.served_to[row] is None and any(form.kind in kinds for form in (recording.request, *recording.others))
    ]
    if left:
        listed = ", ".join(map(str, left[:_NAMED])) + (", …" if len(left) > _NAMED else "")
        message = f"{len(left)} of {len(gate.recordings)} recordings were never asked for: {listed}"
        yield _found("unused_recording", message, [gate.recordings[row].request.locator for row in left])


def _stopped(number: int, request: Request, reply: Reply, near: Sequence[Near]) -> Finding:
    code = "replay_miss" if reply.status is Status.MISS else "ambiguous_pairing"
    message = f"request {number}{_of(request)} is not served: {reply.because}"
    if near and near[0].pointer is not None:
        nothing = "nothing"
        message += (
            f"; recording {near[0].row} comes nearest and differs at {one_line(near[0].pointer, 80) or 'the whole'}: "
            f"recorded {one_line(near[0].left or nothing, 100)}, asked {one_line(near[0].right or nothing, 100)}"
        )
    return _found(code, message, [request.locator])


def _of(request: Request) -> str:
    return f" ({one_line(f'{request.kind} {request.name}'.strip(), 80)})" if request.kind else ""


def _numbers(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:_NAMED])) + (", …" if len(numbers) > _NAMED else "")
    return f"request {shown} comes" if len(numbers) == 1 else f"{len(numbers)} requests ({shown}) come"


def _found(code: str, message: str, locators: Sequence[Locator]) -> Finding:
    return finding(code, message, locators=tuple(locators[:_LOCATORS]), basis=Basis.DERIVED)
