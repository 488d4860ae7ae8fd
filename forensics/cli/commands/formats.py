"""`forensics formats`: what is read?"""

from __future__ import annotations

import click

from forensics.cli.options import Settings, shared
from forensics.cli.output import show

_EPILOG = """\b
Examples:
  forensics formats
  forensics formats --format json
"""


@click.command(epilog=_EPILOG)
@shared()
def command(settings: Settings) -> int:
    """List what is read, what each carries and lacks, and what a rerun would miss."""
    show(_document(), settings)
    return 0


def _document() -> object:
    from forensics.formats.registry import names, reader
    from forensics.report.documents import FORMATS, FormatRow, FormatsDocument

    readers = [reader(name) for name in names()]
    rows = [
        FormatRow(
            name=r.NAME,
            about=r.ABOUT,
            carries=r.CARRIES,
            lacks=r.LACKS,
            rerun_misses=r.RERUN,
            records_calls=r.RECORDS_CALLS,
        )
        for r in readers
    ]
    return FormatsDocument(schema=FORMATS, formats=rows)
