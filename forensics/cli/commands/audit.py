"""`forensics audit`: what did the run do, and may it be repeated?"""

from __future__ import annotations

import click

from forensics.cli.options import JUDGING, READING, Settings, shared
from forensics.cli.output import note, show
from forensics.cli.progress import working

_EPILOG = """\b
Examples:
  forensics audit trace.json
  forensics audit local.db --trace ID --policy inject
  forensics audit runs/ --format json --fail-on medium > audit.json
  forensics audit trace.jsonl --tools tools-list.json
  cat trace.jsonl | forensics audit -
"""


@click.command(epilog=_EPILOG)
@click.argument("evidence", nargs=-1, required=True)
@shared(*JUDGING, *READING, "tools", "fail_on")
def command(evidence: tuple[str, ...], settings: Settings) -> int:
    """Say whether a run may be repeated, and why not.

    EVIDENCE is a file, a folder, a glob or - for standard input. Its content decides how it is read, never its name.
    Nothing in it is executed, and it is never written to.
    """
    from forensics.api import REFUSED, examine, exit_code
    from forensics.core.evidence import Severity

    with working(settings):
        examination = examine(evidence, settings.options())
        document = examination.audit()
    show(document, settings)
    code = exit_code(examination, Severity(settings.fail_on))
    if code == REFUSED and all(analysis.verdict.cleared for analysis in examination.analyses):
        cause = f"a finding at or above {settings.fail_on} (--fail-on)"
        note(f"no trace is refused; the exit code is {code} for {cause}", settings)
    return code
