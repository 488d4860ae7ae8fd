"""`forensics report`: what happened, for people who were not there?"""

from __future__ import annotations

import datetime
import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from forensics.cli.commands.classify import complain
from forensics.cli.corpus_report import is_corpus, report_corpus
from forensics.cli.options import JUDGING, READING, SEVERITIES, Body, Settings, shared
from forensics.cli.output import note, write
from forensics.cli.progress import working
from forensics.cli.values import FILES, Place, named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forensics.api import Examination
    from forensics.api_bundle import Commission
    from forensics.report.incident.compose import ReportOptions
    from forensics.report.incident.documents import ReportDocument
    from forensics.report.incident.targets import Target

CONTENTS = ("none", "preview", "full")
EXPORTS = ("oscal",)
PRINTED = ("text", "html", "json", "sarif", "csv", "jsonl", "junit")
_EPILOG = """\b
Examples:
  forensics report trace.json --to out/report.html --to out/report.md
  forensics report trace.json
  forensics report runs/ --to out/ --case-id INC-42 --author "on call"
  forensics report trace.json --format sarif --fail-on high > report.sarif
  forensics report trace.json --to out/new.json --baseline last.json
  forensics report local.db --bundle out/incident-42/ --key team.pem
  forensics report audited/ --to corpus.html
  forensics report trace.json --export oscal > results.json

\b
Suffixes: .html  .md  .json  .sarif  .csv and .jsonl (timeline)  .xml (JUnit)
          .oscal.json (assessment results)

\b
Exit codes:
  0  the report was written
  1  with --fail-on: a finding at or above it that nobody suppressed and that
     the baseline has not
  3  an evidence could not be read, or nothing of a trace was in it (the
     report says so)
"""
_UNTOLD, _FAILED = 3, 1


class Wish(NamedTuple):
    """What a person wants of the report, as it was said on the command line."""

    content: str
    title: str | None
    case_id: str | None
    author: str | None
    baseline: Path | None
    suppressions: Path | None
    fail_on: str | None

    def options(self, settings: Settings) -> ReportOptions:
        """The same for the library; files are read here."""
        from forensics.core.evidence import Severity
        from forensics.report.incident.baseline import load_baseline
        from forensics.report.incident.compose import ReportOptions
        from forensics.report.incident.content import Level
        from forensics.report.incident.suppressions import load_suppressions

        as_of = settings.options().date()
        return ReportOptions(
            title=self.title,
            case_id=self.case_id,
            author=self.author,
            content=Level(self.content),
            fail_on=Severity(self.fail_on or settings.fail_on),
            baseline=None if self.baseline is None else load_baseline(self.baseline),
            suppressions=None if self.suppressions is None else load_suppressions(self.suppressions, as_of),
        )


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_WISHES = (
    click.option(
        "--content",
        type=click.Choice(CONTENTS),
        default="preview",
        show_default=True,
        help="How much of the trace's own texts the report holds.",
    ),
    click.option("--title", metavar="TEXT", help="The title of the report."),
    click.option("--case-id", metavar="TEXT", help="The id of the case."),
    click.option("--author", metavar="TEXT", help="Who answers for the report."),
    click.option(
        "--baseline", type=_FILE, metavar="REPORT", help="An earlier report (.json): say which findings are new."
    ),
    click.option(
        "--suppressions",
        type=_FILE,
        metavar="FILE",
        help="Findings that somebody set aside: code or fingerprint, why, who, until when.",
    ),
    click.option(
        "--fail-on", type=click.Choice(SEVERITIES), help="A finding from this severity on ends with exit code 1."
    ),
)


def _wishing(body: Body) -> Body:
    """The options that say what is wanted of the report; the command gets them as `wish`."""

    @functools.wraps(body)
    def run(**given: Any) -> int:
        wish = Wish(**{name: given.pop(name) for name in Wish._fields})
        return body(**given, wish=wish)

    wrapped: Body = run
    for option in reversed(_WISHES):
        wrapped = option(wrapped)
    return wrapped


@click.command(epilog=_EPILOG)
@click.argument("evidence", nargs=-1, required=True, type=FILES)
@click.option(
    "--to",
    metavar="FILE",
    type=FILES,
    multiple=True,
    callback=named,
    help="Write this file, in the form of its suffix; DIR/ or 'DIR/*.md': one file a trace; -: standard output. "
    "Repeatable.  [default: -]",
)
@click.option(
    "--bundle",
    type=Place(path_type=Path),
    metavar="FOLDER",
    help="Write every form into this new folder, with a manifest that `forensics verify` checks.",
)
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With --bundle: sign the manifest with this private key (PEM, ed25519).",
)
@click.option("--export", type=click.Choice(EXPORTS), help="Print this form to standard output.")
@_wishing
@click.option("--force", is_flag=True, help="Replace files that exist.")
@shared(*JUDGING, *READING, "tools", formats=PRINTED)
def command(
    evidence: tuple[str, ...],
    to: tuple[str, ...],
    wish: Wish,
    *,
    bundle: Path | None,
    key: Path | None,
    export: str | None,
    force: bool,
    settings: Settings,
) -> int:
    """Write what happened, for people who were not there.

    EVIDENCE is a file, a folder, a glob or - for standard input. The report says of each statement whether it is
    recorded, derived or inferred, and leaves blank what no trace shows. Nothing of the trace is run, and nothing is
    written over a file that exists, or into the folder of the evidence. Of a folder of `audit --into`, it tells what
    stands in the way of all its runs (.html, .md, .json).
    """
    from forensics.api import examine
    from forensics.api_bundle import Commission, check_bundle
    from forensics.report.incident.targets import STDOUT, targets
    from forensics.report.outputs import check_outputs

    if is_corpus(evidence):
        _check_corpus(wish, settings, bundle, key, export)
        return report_corpus(Path(evidence[0]), to, wish.title, settings, force=force)
    commission = Commission(command=tuple(sys.argv), started=datetime.datetime.now(datetime.UTC), key=key)
    if key is not None and bundle is None:
        raise click.UsageError("--key belongs to --bundle FOLDER.")
    if bundle is not None:
        check_bundle(bundle, evidence)
    wanted = targets(to)
    check_outputs([target.path for target in wanted], evidence, force=force)
    options = wish.options(settings)
    with working(settings):
        examination = examine(evidence, settings.options())
        document = examination.report(options)
        written = _written(examination, document, wanted, options)
    complain(examination)
    check_outputs([path for path, _ in written], evidence, force=force)
    _deliver(written, settings, force=force)
    if bundle is not None:
        _hand_over(bundle, evidence, examination, document, commission)
    if export is not None:
        write(_form(export, document))
    elif (not to and bundle is None) or STDOUT in to:
        write(_form("md" if settings.format == "text" else settings.format, document))
    return _code(document, failing=wish.fail_on is not None)


def _check_corpus(wish: Wish, settings: Settings, *of_traces: object) -> None:
    """Refuse what only a report on traces has."""
    asked = (wish.case_id, wish.author, wish.baseline, wish.suppressions, wish.fail_on, *of_traces)
    if any(one is not None for one in (*asked, settings.trace, settings.tools, settings.input_format)):
        raise click.UsageError("The report on a corpus takes --to, --format, --title and --force alone.")


def _written(
    examination: Examination, document: ReportDocument, wanted: Iterable[Target], options: ReportOptions
) -> list[tuple[Path, bytes]]:
    """Every file that was asked for, with its bytes."""
    found: list[tuple[Path, bytes]] = []
    for target in wanted:
        if target.each:
            paths = target.of_traces([trace.id for trace in document.traces])
            single = zip(paths, examination.reports(options), strict=True)
            found += [(path, target.form.bytes_of(one)) for path, one in single]
        else:
            found.append((target.path, target.form.bytes_of(document)))
    return found


def _deliver(written: Iterable[tuple[Path, bytes]], settings: Settings, *, force: bool) -> None:
    from forensics.report.outputs import write_output

    for path, data in written:
        write_output(path, data, force=force)
        note(f"wrote {path}", settings)


def _hand_over(
    folder: Path,
    evidence: tuple[str, ...],
    examination: Examination,
    document: ReportDocument,
    commission: Commission,
) -> None:
    from forensics.api_bundle import write_bundle

    digest = write_bundle(folder, evidence, examination, document, commission)
    write(f"sha256:{digest}  {folder.name}/manifest.intoto.json\n".encode("utf-8", "backslashreplace"))


def _form(name: str, document: ReportDocument) -> bytes:
    from forensics.report.incident.forms import FORMS

    return FORMS[name].bytes_of(document)


def _code(document: ReportDocument, *, failing: bool) -> int:
    """3 where an evidence could not be read, or nothing of a trace was in it."""
    unread = any(row.status == "refused" for row in document.custody.inputs)
    if unread or not document.traces:
        return _UNTOLD
    return _FAILED if failing and document.findings.counting.count else 0
