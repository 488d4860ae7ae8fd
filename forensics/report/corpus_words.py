"""Which sentences does the report on a corpus say in every form? What was read, what may be rerun, and since when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.terminal_page import plural

if TYPE_CHECKING:
    from forensics.report.corpus_report_documents import BlockingTool, CorpusReportDocument, HandleWays, Trend

LEVELS = {
    "dynamic": "strict clears it: tools that only read may run again",
    "inject": "a rerun may be given every recorded result",
    "static": "only static inspection",
}
"""What each level of a trace means for a rerun."""


def cleared(document: CorpusReportDocument) -> str:
    """How many runs the policy clears."""
    counts = document.counts
    return f"{counts.cleared:,} of {plural(counts.traces, 'trace')} cleared under {document.policy.name}"


def read(document: CorpusReportDocument) -> str:
    """How much was read, and that nothing is known of the rest."""
    part = document.coverage
    whole = f"{part.read:,} of {plural(part.evidences, 'evidence')} read whole, {part.partial:,} in part"
    rest = f", {part.refused:,} not at all: nothing is known of those" if part.refused else ""
    return f"{whole}{rest}."


def compared(document: CorpusReportDocument) -> str | None:
    """Which files tell of one run; None where none do."""
    counts = document.counts
    said = []
    if counts.together:
        said.append(f"{plural(counts.together, 'file')} tell of one run with another file and were compared with it")
    if counts.apart:
        said.append(f"{counts.apart:,} tell of one run with too many others and were not compared")
    return f"{'; '.join(said)}." if said else None


def dated(trend: Trend) -> str:
    """Over which time, and what is not known of it."""
    if not trend.periods:
        return f"Unknown: none of {plural(trend.undated, 'trace')} records a time."
    whole = f"{plural(trend.dated, 'trace')} by the first time that each records (UTC), a row a {trend.unit}"
    rest = f"; {trend.undated:,} more record none and stand nowhere here" if trend.undated else ""
    return f"{whole}{rest}."


def way(one: HandleWays) -> str:
    """Where the values went, as far as is recorded."""
    roles = (
        (one.in_argument, "in arguments"),
        (one.in_model_output, "in model outputs"),
        (one.in_final_answer, "in final answers"),
    )
    return ", ".join(f"{count:,} {role}" for count, role in roles if count) or "none later on"


def footing(tool: BlockingTool) -> str:
    """The axes of a tool and what its effect rests on."""
    return f"effect {tool.effect}, result {tool.result}, rests on {tool.rests_on}"
