"""`forensics classify`: what does each tool or call do to the world, and what says so?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from forensics.cli.options import JUDGING, READING, Settings, shared
from forensics.cli.output import show, write
from forensics.cli.progress import working
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from forensics.analysis.inventory import Classified
    from forensics.api import Examination
    from forensics.core.policy import Policy
    from forensics.report.documents import ClassificationDocument
    from forensics.rules.engine import RuleSet

_EPILOG = """\b
Examples:
  forensics classify trace.json
  forensics classify --tools tools.json --policy team.yaml
  forensics classify --calls calls.jsonl --format jsonl

\b
--tools reads JSON lines, one tool a line (name; and server, description,
input_schema, output_schema, annotations, replay_class, http where known),
TSV with the same names in its first line, or what an MCP server answers to
tools/list.
--calls reads JSON lines (tool, arguments; and server, result where known).
"""
_UNTOLD = 3


@click.command(epilog=_EPILOG)
@click.argument("evidence", required=False)
@click.option("--tools", metavar="FILE", help="Classify the tools of an inventory.")
@click.option("--calls", metavar="FILE", help="Classify the calls of a list.")
@shared(*JUDGING, *READING, formats=("text", "json", "jsonl"))
def command(evidence: str | None, tools: str | None, calls: str | None, settings: Settings) -> int:
    """Say what each tool or call does to the world, with the evidence.

    Give EVIDENCE (a file, a folder, a glob or - for standard input), or --tools, or --calls.
    """
    if sum(given is not None for given in (evidence, tools, calls)) != 1:
        raise click.UsageError("Give one of EVIDENCE, --tools FILE and --calls FILE.")
    if evidence is not None:
        return _of_traces(evidence, settings)
    _say(_of_files(tools, calls, settings), settings)
    return 0


def _of_traces(evidence: str, settings: Settings) -> int:
    from forensics.analysis.inventory import classify_traces
    from forensics.api import examine

    with working(settings):
        examination = examine(evidence, settings.options())
        tools = classify_traces(examination.analyses)
    _say(_document(tools, (), examination.policy, examination.rules), settings)
    return complain(examination)


def complain(examination: Examination) -> int:
    """This document has no row for an evidence that could not be read, so it is named on standard error."""
    for one in examination.examined:
        if one.error is not None:
            hint = f" ({one.error.hint})" if one.error.hint else ""
            click.echo(f"Error: {one_line(f'{one.name}: {one.error.message}{hint}', 400)}", err=True)
    unread = any(one.reading is None for one in examination.examined)
    return _UNTOLD if unread or not examination.analyses else 0


def _of_files(tools: str | None, calls: str | None, settings: Settings) -> ClassificationDocument:
    from forensics.analysis.inventory import classify_calls, classify_tools, read_calls, read_tools
    from forensics.rules import load_policy, load_rules

    options = settings.options()
    rules, policy = load_rules(options.rules), load_policy(options.policy, options.date())
    with working(settings):
        listed = () if tools is None else classify_tools(read_tools(*_content(tools)), rules, policy)
        called = () if calls is None else classify_calls(read_calls(*_content(calls)), rules, policy)
    return _document(listed, called, policy, rules)


def _content(where: str) -> tuple[bytes, str]:
    from forensics.formats.shared.source import open_source

    with open_source(where) as source:
        return bytes(source.data), source.name


def _document(
    tools: tuple[Classified, ...], calls: tuple[Classified, ...], policy: Policy, rules: RuleSet
) -> ClassificationDocument:
    from forensics.report.classification import classification_document

    return classification_document(tools, calls, policy, rules)


def _say(document: ClassificationDocument, settings: Settings) -> None:
    if settings.format != "jsonl":
        show(document, settings)
        return
    from forensics.report.jsonout import json_lines

    write(json_lines([*document.tools, *document.calls]))
