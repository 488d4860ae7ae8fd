"""What would the gate serve to these requests? The dry run as a verb of the library: two evidences, one outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.api import Options, one_evidence, one_trace, options_asked, read, without_cycle_collection
from forensics.core.evidence import Severity
from forensics.core.limits import under
from forensics.errors import ConfigurationError, UnknownFormatError
from forensics.formats.places import names_of
from forensics.formats.shared.reader import look_at
from forensics.formats.shared.source import STDIN, Source
from forensics.replay import cassettes, request_log, traced
from forensics.replay.dry_run import Matching, dry_run
from forensics.report.compose import Examined
from forensics.report.matching import matching_document
from forensics.report.redaction import redactor_of

if TYPE_CHECKING:
    from forensics.core.reading import Reading
    from forensics.formats.places import Where
    from forensics.replay.recordings import Record, Request
    from forensics.report.documents import MatchingDocument

SERVED, STOPPED = 0, 1
_RECORDING, _REQUESTS = 0, 1


class Matched(msgspec.Struct, frozen=True):
    """A dry run with the evidence that it rests on: the recording, and the requests. `trace` is the recorded run."""

    matching: Matching
    evidence: tuple[Examined, Examined]
    trace: str | None = None
    redact: bool = True

    def document(self) -> MatchingDocument:
        """The matching document, without secrets unless they were asked for."""
        document = matching_document(self.matching, self.evidence, self.trace)
        return redactor_of(one.reading for one in self.evidence).document(document) if self.redact else document


def match(
    recording: Where, requests: Where, options: Options | None = None, *, requests_trace: str | None = None
) -> Matched:
    """Put every request to the gate over the recording; nothing is run, asked or contacted.

    `options.trace` chooses a trace of the recording, `requests_trace` one of the requests. Raises EvidenceError for
    what can't be read, and ConfigurationError where it is not clear which trace is meant.
    """
    options = options_asked(options)
    if str(recording) == STDIN and str(requests) == STDIN:
        message = "recording and requests can't both come from standard input"
        raise ConfigurationError(message, hint="name one of them as a file")
    names = names_of(recording, requests)
    with (
        without_cycle_collection(),
        under(options.limits),
        one_evidence(recording, names[0]) as one,
        one_evidence(requests, names[1]) as other,
    ):
        record, recorded, trace = _record(one, options)
        asked, read_of = _requests(other, requests_trace)
        one.check_unchanged()
        other.check_unchanged()
        matching = dry_run(record, asked)
    return Matched(matching, (_examined(one, recorded), _examined(other, read_of)), trace, options.redact)


def match_exit_code(matched: Matched, fail_on: Severity = Severity.HIGH) -> int:
    """0 where every request is served and no finding is at or above `fail_on`, else 1."""
    loud = any(one.severity.rank >= fail_on.rank for one in matched.matching.findings)
    return STOPPED if loud or matched.matching.stop is not None else SERVED


def _examined(source: Source, reading: Reading) -> Examined:
    return Examined(source.name, source.sha256, source.size, reading)


def _record(source: Source, options: Options) -> tuple[Record, Reading, str | None]:
    """The recordings, what was read, and the id of the trace where they are those of one."""
    if options.input_format is None and request_log.is_request_log(look_at(source)):
        record, reading = request_log.log_record(source, _RECORDING)
        trace = None
    else:
        reading = read(source, _RECORDING, options.input_format)
        record, trace = _recorded(source, reading, options.trace)
    _check_choice(options.trace, reading, "--trace")
    if not record.recordings:
        message = f"{source.name} holds no recorded request ({reading.evidence.format})"
        raise UnknownFormatError(message, hint="check that this is the right file", code="no_recording")
    return record, reading, trace


def _recorded(source: Source, reading: Reading, wanted: str | None) -> tuple[Record, str | None]:
    if reading.evidence.format == cassettes.FORMAT:
        return cassettes.cassette_record(source, reading), None
    trace = one_trace(reading, wanted, "--trace")
    record = traced.trace_record(trace)
    return msgspec.structs.replace(record, findings=(*reading.findings, *record.findings)), trace.id


def _requests(source: Source, wanted: str | None) -> tuple[tuple[Request, ...], Reading]:
    """The requests, and what was read."""
    reading = None if request_log.is_request_list(look_at(source)) else _known(source)
    if reading is None:
        requests, reading = request_log.log_requests(source, _REQUESTS)
        _check_choice(wanted, reading, "--requests-trace")
        return requests, reading
    if reading.evidence.format == cassettes.FORMAT:
        _check_choice(wanted, reading, "--requests-trace")
        return cassettes.cassette_requests(source, reading), reading
    requests = traced.trace_requests(one_trace(reading, wanted, "--requests-trace"))
    if not requests:
        message = f"{source.name} holds no request ({reading.evidence.format})"
        raise UnknownFormatError(message, hint="check that this is the right file", code="no_request")
    return requests, reading


def _known(source: Source) -> Reading | None:
    """The reading of a trace or cassette; None for what no reader knows."""
    try:
        return read(source, _REQUESTS)
    except UnknownFormatError:
        return None


def _check_choice(wanted: str | None, reading: Reading, option: str) -> None:
    """Raise ConfigurationError where a trace was asked for of what is no trace."""
    if wanted is not None and reading.evidence.format in {request_log.FORMAT, cassettes.FORMAT}:
        message = f"{reading.evidence.name} is one record ({reading.evidence.format}), of which no trace is chosen"
        raise ConfigurationError(message, hint=f"leave out {option}")
