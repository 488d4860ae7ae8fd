"""`forensics verify`: is this bundle what was handed over?"""

from __future__ import annotations

from pathlib import Path

import click

from forensics.cli.options import Settings, shared
from forensics.cli.output import show
from forensics.cli.values import Place

_EPILOG = """\b
Examples:
  forensics verify incident-42/
  forensics verify incident-42/ --expect sha256:9f2c...
  forensics verify incident-42/ --key team.pub --evidence local.db

\b
The manifest lists every file with its digest. Without a key or a digest
that was noted elsewhere, whoever can write the folder can rewrite both.

\b
Exit codes:
  0  verified: nothing differs
  1  not verified: what differs is named
  3  could not tell: no manifest, or one that can't be read
"""


@click.command(epilog=_EPILOG)
@click.argument("bundle", type=Place(path_type=Path))
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The signer's public key (PEM, ed25519).",
)
@click.option("--expect", metavar="DIGEST", help="The manifest's SHA-256 as it was noted elsewhere.")
@click.option(
    "--evidence",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="An evidence that must be one of the manifest's inputs. Repeatable.",
)
@shared()
def command(bundle: Path, key: Path | None, expect: str | None, evidence: tuple[Path, ...], settings: Settings) -> int:
    """Check an evidence bundle against its manifest.

    Every file is hashed again, and each that differs is named. Of timeline.jsonl the events are compared too: an edit,
    an insertion, a deletion, another order and a cut tail are each named, with the first event that they touch.
    """
    from forensics.custody.verify import verify
    from forensics.report.verification import verification_document

    found = verify(bundle, key=key, expect=expect, evidence=evidence)
    show(verification_document(found), settings)
    return 0 if found.verified else 1
