"""`forensics doctor`: what can this machine isolate, and which optional parts are there?"""

from __future__ import annotations

import click

from forensics.cli.options import Settings, shared
from forensics.cli.output import show

_EPILOG = """\b
Examples:
  forensics doctor
  forensics doctor --format json

\b
Every way to isolate a rerun is tried, with a child that does nothing.
Exit code 0, whatever is found.
"""


@click.command(epilog=_EPILOG)
@shared()
def command(settings: Settings) -> int:
    """Say what this machine can isolate, and which extras are there."""
    from forensics.replay.cell.survey import survey
    from forensics.report.doctor import doctor_document

    show(doctor_document(survey()), settings)
    return 0
