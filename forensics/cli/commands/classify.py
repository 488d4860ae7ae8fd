"""`forensics classify`: what does each tool or call do to the world, and what says so?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics.cli.options import JUDGING, READING, Settings, shared
from forensics.cli.output import show, write
from forensics.cli.progress import working
from forensics.cli.quoting import quoted
from forensics.cli.values import FILES
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from forensics.analysis.inventory import Classified
    from forensics.analysis.source_tools import SourceTool
    from forensics.api import Examination
    from forensics.core.policy import Policy
    from forensics.report.documents import ClassificationDocument
    from forensics.rules.engine import RuleSet

_EPILOG = """\b
Examples:
  forensics classify trace.json
  forensics classify --tools tools.json --policy team.yaml
  forensics classify --calls calls.jsonl --format jsonl
  forensics classify --source tools/ trace.json
  forensics classify trace.json --tools tools-list.json

\b
--tools reads JSON lines, one tool a line (name; and server, description,
input_schema, output_schema, annotations, replay_class, http where known),
TSV with the same names in its first line, what an MCP server answers to
tools/list, or the tools of a request to a model API.
--calls reads JSON lines (tool, arguments; and server, result where known).
--source reads Python files (parsed, never imported or run): alone it lists
the tools in them; beside EVIDENCE or --tools it adds what their code calls,
with file and line.
"""
_UNTOLD = 3


@click.command(epilog=_EPILOG)
@click.argument("evidence", nargs=-1, type=FILES)
@click.option("--calls", metavar="FILE", type=FILES, help="Classify the calls of a list.")
@click.option("--source", metavar="PATH", type=FILES, help="Add what the code of the tools calls (Python).")
@shared(*JUDGING, *READING, "tools", formats=("text", "json", "jsonl"))
def command(evidence: tuple[str, ...], calls: str | None, source: str | None, settings: Settings) -> int:
    """Say what each tool or call does to the world, with the evidence.

    Give EVIDENCE (files, folders, globs or - for standard input) or --calls, either with or without --tools beside it,
    or --tools or --source alone.
    """
    if evidence and calls is not None:
        raise click.UsageError("Give one of EVIDENCE and --calls FILE.")
    if not evidence and all(one is None for one in (calls, source, settings.tools)):
        raise click.UsageError("Give EVIDENCE, --tools FILE, --calls FILE or --source PATH.")
    if calls is not None and source is not None:
        raise click.UsageError("--source speaks of tools: give it alone, or with EVIDENCE or --tools.")
    if source is not None and not Path(source).exists():
        from forensics.errors import CorruptEvidenceError

        raise CorruptEvidenceError(f"{Path(source).name} is not there", hint="name a *.py file, or a folder of them")
    if evidence:
        return _of_traces(evidence, source, settings)
    code, unread = _code(source)
    _say(_of_files(calls, code, settings), settings)
    return unread


def _code(where: str | None, first: int = 0) -> tuple[tuple[SourceTool, ...], int]:
    """The tools in the source, whose files are evidences from number `first` on, and the exit code for files that could
    not be read, which are named.
    """
    if where is None:
        return (), 0
    from forensics.analysis.source_modules import read_modules
    from forensics.analysis.source_tools import source_tools

    modules, faults = read_modules(Path(where), first)
    for fault in faults:
        click.echo(f"Error: {one_line(fault, 400)}", err=True)
    return source_tools(modules), _UNTOLD if faults else 0


def _of_traces(evidence: tuple[str, ...], source: str | None, settings: Settings) -> int:
    from forensics.analysis.inventory import classify_traces, with_code
    from forensics.api import examine

    with working(settings):
        examination = examine(evidence, settings.options())
        code, unread = _code(source, len(examination.examined))
        tools = with_code(classify_traces(examination.analyses), code)
    _say(examination.shown(_document(tools, (), examination.policy, examination.rules)), settings)
    return max(complain(examination), unread)


def complain(examination: Examination) -> int:
    """This document has no row for an evidence that could not be read, so it is named on standard error."""
    for one in examination.examined:
        if one.error is not None:
            hint = f" ({one.error.hint})" if one.error.hint else ""
            click.echo(f"Error: {one_line(quoted(f'{one.name}: {one.error.message}{hint}'), 400)}", err=True)
    unread = any(one.error is not None for one in examination.examined)
    return _UNTOLD if unread or not examination.analyses else 0


def _of_files(calls: str | None, code: tuple[SourceTool, ...], settings: Settings) -> ClassificationDocument:
    """The tools of an inventory or of source code or, where there is a list of calls, its calls of those tools."""
    from forensics.analysis.inventory import classify_calls, classify_tools, with_code
    from forensics.analysis.inventory_files import read_calls, read_tools
    from forensics.analysis.listing import Listing
    from forensics.rules import load_policy, load_rules

    options = settings.options()
    rules, policy = load_rules(options.rules), load_policy(options.policy, options.date())
    with working(settings):
        known = () if settings.tools is None else read_tools(*_content(settings.tools))
        if calls is not None:
            called = classify_calls(read_calls(*_content(calls)), rules, policy, Listing(known))
            return _document((), called, policy, rules)
        alone = tuple(one.facts for one in code) if settings.tools is None else ()
        return _document(with_code(classify_tools((*known, *alone), rules, policy), code), (), policy, rules)


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
