"""`forensics replay`: what does a run do when it is run again, as far as it may be?"""

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
  forensics replay local.db --policy inject
  forensics replay trace.json --policy inject --agent agents.oncall:run
  forensics replay local.db --policy inject --stub 'pager.trigger={"id":7}'
  forensics replay local.db --policy inject --trace-out out/rerun.jsonl
  forensics replay local.db --policy inject --tool 'pager.trigger=fakes:page'
  forensics replay local.db --policy inject --mode live --fork 5
      --set-prompt 'Never page twice.' --endpoint https://HOST/v1

\b
Without --agent the agent is rebuilt from the trace alone.

\b
Exit codes:
  0  it went through, and is the recorded run
  1  refused, stopped, diverged, or a finding of the rerun (not of the
     recorded run) at or above --fail-on
  3  could not tell: nothing could be read or compared, or no isolation
"""


@click.command(epilog=_EPILOG)
@click.argument("evidence", type=FILES)
@click.option("--agent", metavar="MODULE:FUNCTION", help="The agent, called with its ports, in the cell.")
@click.option(
    "--mode",
    type=click.Choice(["recorded", "deterministic", "live"]),
    default="recorded",
    show_default=True,
    help="Where the model's words come from.",
)
@click.option("--set-prompt", metavar="TEXT", help="Another system prompt.")
@click.option("--set-input", metavar="TEXT", help="Another input.")
@click.option(
    "--set-state", metavar="POINTER=JSON", multiple=True, help="Another value in the state at --fork. Repeatable."
)
@click.option("--set", "settings_", metavar="KEY=VALUE", multiple=True, help="A setting of the model. Repeatable.")
@click.option("--stub", metavar="NAME=JSON", multiple=True, help="A result for a tool; repeated for one, call by call.")
@click.option(
    "--tool", metavar="NAME=MODULE:FUNCTION", multiple=True, help="A function for a tool, run in the cell. Repeatable."
)
@click.option(
    "--on-miss",
    type=click.Choice(["error", "live"]),
    default="error",
    show_default=True,
    help="What happens where no recording answers; live in --mode live alone.",
)
@click.option("--endpoint", metavar="URL", help="Where a model is asked, in --mode deterministic and live.")
@click.option(
    "--provider",
    type=click.Choice(["openai-chat", "openai-responses", "anthropic"]),
    default="openai-chat",
    show_default=True,
    help="How that endpoint is spoken to.",
)
@click.option("--fork", callback=step_number, metavar="STEP", help="Changes count from this step on.")
@click.option("--path", metavar="FOLDER", type=FOLDERS, multiple=True, help="Where that code lies.  [default: .]")
@click.option(
    "--trace-out",
    type=Place(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the rerun as a trace, which inspect, audit and compare read.",
)
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@shared("rules", "policy", "as_of", "input_format", "trace", "limit", "redact", "fail_on", "tools")
def command(evidence: str, trace_out: Path | None, *, force: bool, settings: Settings, **asked: object) -> int:
    """Rerun a cleared run: the record answers, nothing reaches the world.

    The model's words and the results of tools come from the record, the agent runs in a cell, and what happened is
    compared with the recorded run. A run that is not cleared is not rerun: the verdict and its inspection are shown.
    """
    from forensics.api_replay import prepare, replay_exit_code
    from forensics.cli.plans import planned
    from forensics.core.evidence import Severity
    from forensics.report.outputs import check_outputs, write_output

    check_outputs([] if trace_out is None else [trace_out], [evidence], force=force)
    with working(settings):
        replayed = prepare(evidence, settings.options(), planned(asked)).run(
            say=lambda told: note(quoted(told), settings)
        )
        document = replayed.document()
    written = replayed.trace_out()
    if trace_out is not None and written is not None:
        write_output(trace_out, written, force=force)
        note(f"wrote {trace_out}", settings)
    show(document, settings)
    return replay_exit_code(replayed, Severity(settings.fail_on))
