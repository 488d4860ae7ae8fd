"""`forensics audit`: what did the run do, and may it be repeated?"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forensics.cli.options import JUDGING, READING, Settings, shared
from forensics.cli.output import note, show
from forensics.cli.progress import counted, working
from forensics.cli.values import FILES, Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_EPILOG = """\b
Examples:
  forensics audit trace.json
  forensics audit local.db --trace ID --policy inject
  forensics audit runs/ --format json --fail-on medium > audit.json
  forensics audit trace.jsonl --tools tools-list.json
  cat trace.jsonl | forensics audit -
  forensics audit traces/ --into audited/ --workers 4
  forensics audit runs/ --into out/ --engine dask --scheduler tcp://HOST:8786

\b
With --into, each file is audited for itself and the results are kept in
that folder: a second run audits only what changed, and one that was ended
goes on. It shows sums; the rows are JSON lines in the folder.
"""

ENGINES = ("process", "serial", "dask", "ray")
_CLUSTERS = {"dask": "scheduler", "ray": "address"}  # by which option each is named


@click.command(epilog=_EPILOG)
@click.argument("evidence", nargs=-1, required=True, type=FILES)
@click.option("--into", type=Place(path_type=Path), help="Audit a corpus: keep the results in this folder.")
@click.option("--workers", type=click.IntRange(min=1), help="With --into: how many processes.  [default: one a core]")
@click.option("--engine", type=click.Choice(ENGINES), help="With --into: who works.  [default: process]")
@click.option("--scheduler", metavar="ADDRESS", help="With --engine dask: the cluster.  [default: one on this machine]")
@click.option("--address", metavar="ADDRESS", help="With --engine ray: the cluster.  [default: one on this machine]")
@click.option("--trust-mtime", is_flag=True, help="With --into: size and time of a file say that it is unchanged.")
@click.option("--parquet", is_flag=True, help="With --into: write the rows as Parquet too (extra parquet).")
@shared(*JUDGING, *READING, "content", "tools", "fail_on")
def command(evidence: tuple[str, ...], settings: Settings, **corpus: Any) -> int:
    """Say whether a run may be repeated, and why not.

    EVIDENCE is a file, a folder, a glob or - for standard input. Its content decides how it is read, never its name.
    Nothing in it is executed, and it is never written to.
    """
    if corpus["into"] is not None:
        return _corpus(evidence, settings, **corpus)
    if any(corpus.values()):
        of_corpus = "--workers, --engine, --scheduler, --address, --trust-mtime and --parquet"
        raise click.UsageError(f"{of_corpus} belong to --into FOLDER.")
    from forensics.api import REFUSED, examine, exit_code
    from forensics.core.evidence import Severity

    with working(settings):
        examination = examine(evidence, settings.options())
        document = examination.audit(at_once=False)
    show(document, settings)
    code = exit_code(examination, Severity(settings.fail_on))
    if code == REFUSED and all(analysis.verdict.cleared for analysis in examination.analyses):
        cause = f"a finding at or above {settings.fail_on} (--fail-on)"
        note(f"no trace is refused; the exit code is {code} for {cause}", settings)
    return code


def _cluster(engine: str, asked: Mapping[str, Any]) -> str | None:
    """The address of the cluster that was named, if any."""
    for owner, option in _CLUSTERS.items():
        if asked[option] is not None and owner != engine:
            raise click.UsageError(f"--{option} belongs to --engine {owner}.")
    return asked[_CLUSTERS[engine]] if engine in _CLUSTERS else None


def _corpus(evidence: tuple[str, ...], settings: Settings, into: Path, **asked: Any) -> int:
    """Audit a corpus into a folder."""
    import logging

    from forensics.core.evidence import Severity
    from forensics.corpus.named_engines import engine_named
    from forensics.corpus.run import Corpus, audit_corpus

    if settings.tools is not None or settings.trace is not None or not settings.content:
        raise click.UsageError("--tools, --trace and --no-content are for single evidences, not for --into FOLDER.")
    engine = asked["engine"] or "process"
    if (
        settings.detail <= 0
    ):  # the libraries of clusters log what befalls them; what it means for the audit is said here
        logging.disable()
    corpus = Corpus(
        options=settings.options(),
        fail_on=Severity(settings.fail_on),
        engine=engine_named(engine, asked["workers"], _cluster(engine, asked)),
        trust_modified=asked["trust_mtime"],
    )
    if asked["parquet"]:
        _check_duckdb()
    with counted(settings) as tell, _kept(into, settings):
        document = audit_corpus(evidence, into, corpus, tell)
    if asked["parquet"]:
        _write_parquet(into)
    show(document, settings)
    return document.exit_code


@contextlib.contextmanager
def _kept(into: Path, settings: Settings) -> Iterator[None]:
    """Say to who interrupts that the work is not lost."""
    try:
        yield
    except KeyboardInterrupt:
        note(f"what was audited is kept in {into}: the same command goes on from there", settings)
        raise


def _check_duckdb() -> None:
    """Say that DuckDB is missing before any work."""
    from forensics.corpus.database import duckdb

    duckdb()


def _write_parquet(into: Path) -> None:
    """The rows as Parquet, unless they stand there already."""
    from forensics.corpus.folder import results_in
    from forensics.corpus.parquet import is_parquet, write_parquet

    if not is_parquet(into):
        write_parquet(results_in(into), into)
