"""`forensics compare`: where do two runs part, and why?"""

from __future__ import annotations

import click

from forensics.cli.options import Settings, format_names, known_format, shared
from forensics.cli.output import show
from forensics.cli.progress import working

_EPILOG = """\b
Examples:
  forensics compare monday.json tuesday.json
  forensics compare trace.json trace.otlp.jsonl --format json
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


@click.command(epilog=_EPILOG)
@click.argument("evidence", metavar="A B", nargs=2)
@click.option("--trace-b", metavar="ID", help="Only this trace of B; --trace chooses one of A.")
@click.option(
    "--input-format-b",
    metavar="NAME",
    callback=known_format,
    shell_complete=format_names,
    help="Read B as this format; --input-format is that of A.",
)
@shared("rules", "policy", "as_of", "input_format", "trace", "limit")
def command(evidence: tuple[str, str], trace_b: str | None, input_format_b: str | None, settings: Settings) -> int:
    """Say where two runs part, and why.

    Turns, calls, arguments and results are set side by side, whatever order parallel calls ended in and whatever their
    handles are called. The first difference is told with both sides and its cause; what follows from it comes after.
    """
    from forensics.api_compare import Other, compare_exit_code, compare_runs

    with working(settings):
        compared = compare_runs(*evidence, settings.options(), Other(trace=trace_b, input_format=input_format_b))
        document = compared.document()
    show(document, settings)
    return compare_exit_code(compared.comparison.result)
