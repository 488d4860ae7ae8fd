"""`forensics compare`: where do two runs part, and why?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics.cli.options import Settings, format_names, known_format, shared
from forensics.cli.output import note, show
from forensics.cli.progress import working
from forensics.cli.values import FILES, Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from forensics.api_compare import Compared
    from forensics.report.comparison_view import View
    from forensics.report.documents import ComparisonDocument

FORMS = (".html", ".md")
_EPILOG = """\b
Examples:
  forensics compare monday.json tuesday.json
  forensics compare trace.json trace.otlp.jsonl --format json
  forensics compare a.json b.json --to out/parted.html --to out/parted.md
  forensics compare local.db local.db --trace ID --trace-b ID

\b
Any two traces that are read can be compared, also of different formats.

\b
Exit codes (the result decides alone):
  0  identical, equivalent (the order of parallel calls aside),
     or equal_modulo_handles (renamed handles aside)
  1  diverged
  3  not_comparable: something could not be compared, or not be read
"""


def _known_forms(_context: click.Context, _parameter: click.Parameter, value: tuple[Path, ...]) -> tuple[Path, ...]:
    for path in value:
        if path.suffix.lower() not in FORMS:
            raise click.BadParameter(f"{path.name} ends in neither {' nor '.join(FORMS)}, which says what to write")
    return value


def _two(_context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, str]:
    if len(value) != 2:  # noqa: PLR2004 - two runs
        raise click.UsageError(f"Name two runs, A and B, which may be in one file: {len(value)} given.")
    return value[0], value[1]


@click.command(epilog=_EPILOG)
@click.argument("evidence", metavar="A B", nargs=-1, type=FILES, callback=_two)
@click.option("--trace-b", metavar="ID", help="Only this trace of B; --trace chooses one of A.")
@click.option(
    "--input-format-b",
    metavar="NAME",
    callback=known_format,
    shell_complete=format_names,
    help="Read B as this format; --input-format is that of A.",
)
@click.option(
    "--to",
    type=Place(path_type=Path),
    metavar="FILE",
    multiple=True,
    callback=_known_forms,
    help="Draw both runs side by side in this file as well: .html or .md. Repeatable.",
)
@click.option("--force", is_flag=True, help="Replace files that exist.")
@shared("rules", "policy", "as_of", "input_format", "trace", "limit", "redact")
def command(
    evidence: tuple[str, str],
    trace_b: str | None,
    input_format_b: str | None,
    to: tuple[Path, ...],
    *,
    force: bool,
    settings: Settings,
) -> int:
    """Say where two runs part, and why.

    Turns, calls, arguments and results are set side by side, whatever order parallel calls ended in and whatever their
    handles are called. The first difference is told with both sides and its cause; what follows from it comes after.
    """
    from forensics.api_compare import Other, compare_exit_code, compare_runs
    from forensics.report.outputs import check_outputs, write_output

    check_outputs(to, evidence, force=force)
    with working(settings):
        compared = compare_runs(*evidence, settings.options(), Other(trace=trace_b, input_format=input_format_b))
        document = compared.document()
        drawn = _drawn(compared, document, to)
    for path, data in drawn:
        write_output(path, data, force=force)
        note(f"wrote {path}", settings)
    show(document, settings)
    return compare_exit_code(compared.comparison.result)


def _drawn(compared: Compared, document: ComparisonDocument, to: tuple[Path, ...]) -> list[tuple[Path, bytes]]:
    """Every file that was asked for with its bytes."""
    if not to:
        return []
    from forensics.report.comparison_html import comparison_html
    from forensics.report.comparison_markdown import comparison_markdown
    from forensics.report.comparison_view import view_of

    forms: dict[str, Callable[[View], bytes]] = {".html": comparison_html, ".md": comparison_markdown}
    view = view_of(document, *compared.inspections())
    return [(path, forms[path.suffix.lower()](view)) for path in to]
