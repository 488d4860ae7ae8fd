"""`forensics case save`: what does this run do, so that it can be held to it?"""

from __future__ import annotations

from pathlib import Path

import click

from forensics.cli.options import Settings, shared
from forensics.cli.output import note, show
from forensics.cli.progress import working
from forensics.cli.quoting import quoted
from forensics.cli.values import FILES, FOLDERS, Place, step_number

_EPILOG = """\b
Examples:
  forensics case save local.db --policy inject --to cases/cases.jsonl
  forensics case save local.db --policy inject --to cases/cases.jsonl \\
      --name pages-once --with-evidence
  forensics case save fixed.jsonl --policy inject --to cases/cases.jsonl \\
      --agent agents.oncall:run

\b
What a live model said is kept by its trace: forensics replay --trace-out.

\b
Exit codes:
  0  the case is kept
  1  the rerun was refused or stopped: there is nothing to keep
  3  could not tell: nothing could be read
"""


@click.command(epilog=_EPILOG)
@click.argument("evidence", type=FILES)
@click.option(
    "--to", required=True, type=Place(dir_okay=False, path_type=Path), metavar="FILE", help="The file of cases."
)
@click.option("--name", default="", metavar="NAME", help="The case's name.  [default: that of the trace]")
@click.option("--with-evidence", is_flag=True, help="Copy the evidence beside the file, where a run looks for it.")
@click.option("--agent", metavar="MODULE:FUNCTION", help="The agent, called with its ports, in the cell.")
@click.option("--set-prompt", metavar="TEXT", help="Another system prompt.")
@click.option("--set-input", metavar="TEXT", help="Another input.")
@click.option("--set", "settings_", metavar="KEY=VALUE", multiple=True, help="A setting of the model. Repeatable.")
@click.option("--stub", metavar="NAME=JSON", multiple=True, help="A result for a tool; repeated for one, call by call.")
@click.option(
    "--tool", metavar="NAME=MODULE:FUNCTION", multiple=True, help="A function for a tool, run in the cell. Repeatable."
)
@click.option("--fork", callback=step_number, metavar="STEP", help="Changes count from this step on.")
@click.option("--path", metavar="FOLDER", type=FOLDERS, multiple=True, help="Where that code lies.  [default: .]")
@click.option("--force", is_flag=True, help="Replace a case of the same name.")
@shared("rules", "policy", "as_of", "input_format", "trace", "limit", "redact")
def command(
    evidence: str, to: Path, name: str, *, with_evidence: bool, force: bool, settings: Settings, **asked: object
) -> int:
    """Rerun a run and keep what it does as a regression case.

    The record answers, as in `forensics replay`. Input, output and every tuple are kept, with the digests of evidence,
    policy, rules and plan, as one line of a JSONL file that evaluate() of FastAIAgent reads too. Code that was handed
    in is not kept: who runs the case hands it in again.
    """
    from forensics.api_cases import keep_case, save_case
    from forensics.api_replay import REFUSED
    from forensics.cli.plans import FROM_RECORD, planned
    from forensics.report.outputs import check_outputs

    check_outputs([to], [evidence], force=True)
    plan = planned({**asked, **FROM_RECORD})
    with working(settings):
        saved = save_case(evidence, settings.options(), plan, name)
    if saved.case is None:
        show(saved.replayed.document(), settings)
        return REFUSED
    for one in saved.replayed.findings:
        note(quoted(f"{one.code}: {one.message}"), settings)
    for path in keep_case(saved.case, to, Path(evidence) if with_evidence else None, force=force):
        note(f"wrote {path}", settings)
    show(saved.case, settings)
    return 0
