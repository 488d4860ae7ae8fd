"""How does `forensics report` go on where it was given the results of a corpus? With a report on all of its runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics.cli.output import note, write
from forensics.cli.progress import working

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from forensics.cli.options import Settings
    from forensics.report.corpus_report_documents import CorpusReportDocument

    Form = Callable[[CorpusReportDocument], bytes]

_KNOWN_BY = ("ledger.sqlite", "summary.json")  # looked for before anything is loaded
_SUFFIXES = (".html", ".md", ".json")
_STDOUT = "-"


def is_corpus(evidence: Sequence[str]) -> bool:
    """Whether what was named is the one folder of results of a corpus audit."""
    from forensics.formats.places import is_folder, is_there

    (only, *more) = evidence
    if more or not is_folder(only) or not any(is_there(Path(only) / name) for name in _KNOWN_BY):
        return False
    from forensics.corpus.folder import is_results

    return is_results(Path(only))


def report_corpus(folder: Path, to: Sequence[str], title: str | None, settings: Settings, *, force: bool) -> int:
    """Write the report on a corpus into every file that was asked for. Returns the exit code."""
    from forensics.corpus.folder import results_in
    from forensics.corpus.overview import corpus_report, report_exit_code
    from forensics.report.outputs import check_outputs, write_output

    paths = [_path(one) for one in to if one != _STDOUT]
    printed = None if to and _STDOUT not in to else _form("md" if settings.format == "text" else settings.format)
    check_outputs(paths, [folder], force=force)
    with working(settings):
        document = corpus_report(results_in(folder), title)
        written = [(path, _form(path.suffix.lower()[1:])(document)) for path in paths]
    for path, data in written:
        write_output(path, data, force=force)
        note(f"wrote {path}", settings)
    if printed is not None:
        write(printed(document))
    return report_exit_code(document)


def _path(asked: str) -> Path:
    path = Path(asked)
    if path.suffix.lower() not in _SUFFIXES:
        raise click.UsageError(f"The report on a corpus ends in one of {' '.join(_SUFFIXES)}, not as {path.name}.")
    return path


def _form(name: str) -> Form:
    from forensics.report.corpus_markdown import corpus_markdown
    from forensics.report.html.corpus import corpus_html
    from forensics.report.jsonout import json_bytes

    forms: dict[str, Form] = {"html": corpus_html, "md": corpus_markdown, "json": json_bytes}
    if name not in forms:
        raise click.UsageError(f"The report on a corpus has no form {name}; one of: text, html, json.")
    return forms[name]
