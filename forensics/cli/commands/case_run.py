"""`forensics case run`: which runs do no longer what they did?"""

from __future__ import annotations

from pathlib import Path

import click
from msgspec.structs import replace

from forensics.cli.options import Settings, shared
from forensics.cli.output import show
from forensics.cli.progress import working
from forensics.cli.values import FOLDERS, POLICIES

_EPILOG = """\b
Examples:
  forensics case run cases/cases.jsonl
  forensics case run cases/cases.jsonl --agent agents.oncall:run
  forensics case run cases/cases.jsonl --baseline last.json --format json

\b
Exit codes:
  0  every case passes, or fails as in the baseline
  1  a case fails or is refused
  3  could not tell: the evidence of a case is missing or changed
"""


@click.command(epilog=_EPILOG)
@click.argument("cases", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--agent", metavar="MODULE:FUNCTION", help="The agent, called with its ports, in the cell.")
@click.option(
    "--tool", metavar="NAME=MODULE:FUNCTION", multiple=True, help="A function for a tool, run in the cell. Repeatable."
)
@click.option("--path", metavar="FOLDER", type=FOLDERS, multiple=True, help="Where that code lies.  [default: .]")
@click.option(
    "--evidence",
    "places",
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH",
    multiple=True,
    help="Where the evidence of the cases lies, beside their own folder. Repeatable.",
)
@click.option(
    "--baseline",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The document of an earlier run: what failed there alike is known.",
)
@click.option(
    "--policy",
    metavar="strict|inject|PATH",
    type=POLICIES,
    help="The policy of the reruns.  [default: that of each case]",
)
@shared("rules", "as_of", "limit")
def command(  # noqa: PLR0917 - as click hands its options over
    cases: Path,
    agent: str | None,
    tool: tuple[str, ...],
    path: tuple[str, ...],
    places: tuple[Path, ...],
    baseline: Path | None,
    policy: str | None,
    settings: Settings,
) -> int:
    """Rerun every case of a file, free of charge.

    What each does is compared with what was kept. Model and results come from the record, and a miss stops: no model is
    asked, nothing is run but the agent, in its cell. The agent comes from --agent, else it is rebuilt from each trace;
    nothing that a case names is imported.
    """
    from forensics.api_case_runs import Setup, cases_exit_code, handed_in, run_cases
    from forensics.report.case_files import read_baseline

    before = None if baseline is None else read_baseline(baseline)
    with working(settings):
        code = handed_in(agent, tool, path)
        setup = Setup(**code, evidence=places, options=replace(settings, policy=policy).options())
        document = run_cases(cases, setup, before)
    show(document, settings)
    return cases_exit_code(document)
