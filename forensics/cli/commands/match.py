"""`forensics match`: what would a rerun be served from the record?"""

from __future__ import annotations

import click

from forensics.cli.options import Settings, shared
from forensics.cli.output import note, show
from forensics.cli.progress import working
from forensics.cli.values import FILES

_EPILOG = """\b
Examples:
  forensics match recording.jsonl requests.jsonl
  forensics match cassette.yaml requests.json --format json
  forensics match trace.json rerun.json
  forensics match local.db local.db --trace ID --requests-trace ID

\b
RECORDING is a log of {"kind": "model|tool", "request", "response"} lines, an
HTTP cassette (VCR and its relatives, HAR), or any trace that is read.
REQUESTS is the same without the answers, a JSON list of requests (over HTTP:
method, uri, headers, body), or the trace of another run.

\b
Exit codes:
  0  every request is served
  1  one is not, or a finding at or above --fail-on
  3  could not tell: nothing could be read
"""


@click.command(epilog=_EPILOG)
@click.argument("recording", type=FILES)
@click.argument("requests", type=FILES)
@click.option("--requests-trace", metavar="ID", help="Only this trace of REQUESTS.")
@shared("input_format", "trace", "limit", "redact", "fail_on")
def command(recording: str, requests: str, requests_trace: str | None, settings: Settings) -> int:
    """Say what each request of a rerun would be served, without one.

    A request is served what was recorded for an equal one in its lane, in recorded order, and each recording answers
    once. Where nothing fits, the run stops, and the nearest recordings are named. Nothing is run, asked or contacted.
    """
    from forensics.api_match import STOPPED, match, match_exit_code
    from forensics.core.evidence import Severity

    with working(settings):
        matched = match(recording, requests, settings.options(), requests_trace=requests_trace)
        document = matched.document()
    show(document, settings)
    code = match_exit_code(matched, Severity(settings.fail_on))
    if code == STOPPED and matched.matching.stop is None:
        cause = f"a finding at or above {settings.fail_on} (--fail-on)"
        note(f"every request is served; the exit code is {code} for {cause}", settings)
    return code
