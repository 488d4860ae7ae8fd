"""Which commands are there, and how does each end? A lazy click group: a command is imported when it is called.

The table of names and one-line helps is static, so that `--help` imports no command (PERFORMANCE: start-up); a test
compares it with the commands' own docstrings.
"""

from __future__ import annotations

import errno
import importlib
import sys
from typing import Any, NoReturn

import click

from forensics import __version__
from forensics.core.sanitise import visible
from forensics.errors import EngineUnavailableError, EvidenceError, ForensicsError, IsolationUnavailableError, RuleError

USAGE, UNTOLD, FAULT, INTERRUPTED = 2, 3, 70, 130

_COMMANDS = {
    "audit": ("forensics.cli.commands.audit", "Say whether a run may be repeated, and why not."),
    "inspect": ("forensics.cli.commands.inspect", "Show every step and tuple, of refused and damaged traces too."),
    "classify": ("forensics.cli.commands.classify", "Say what each tool or call does to the world, with the evidence."),
    "graph": ("forensics.cli.commands.graph", "Draw what led to what, whole or around one step."),
    "explain": ("forensics.cli.commands.explain", "Say why a step happened and what it led to."),
    "report": ("forensics.cli.commands.report", "Write what happened, for people who were not there."),
    "query": ("forensics.cli.commands.query", "Ask the results of a corpus audit, in SQL."),
    "replay": (
        "forensics.cli.commands.replay",
        "Rerun a cleared run: the record answers, nothing reaches the world.",
    ),
    "match": ("forensics.cli.commands.match", "Say what each request of a rerun would be served, without one."),
    "compare": ("forensics.cli.commands.compare", "Say where two runs part, and why."),
    "verify": ("forensics.cli.commands.verify", "Check an evidence bundle against its manifest."),
    "case": ("forensics.cli.commands.case", "Keep reruns as regression cases, and run them."),
    "policy": ("forensics.cli.commands.policy", "Draft a policy file, or check one."),
    "rules": ("forensics.cli.commands.rules", "List, show, lint and test rules; show what a code of a finding means."),
    "formats": (
        "forensics.cli.commands.formats",
        "List what is read, what each carries and lacks, and what a rerun would miss.",
    ),
    "doctor": ("forensics.cli.commands.doctor", "Say what this machine can isolate, and which extras are there."),
    "schema": ("forensics.cli.commands.schema", "Print the JSON Schema of a document or of a file that you write."),
}

_EPILOG = """\b
Examples:
  forensics audit trace.json
  forensics inspect trace.json --step 6
  forensics audit runs/ --format json > audit.json

\b
Exit codes:
  0   cleared, and no finding at or above --fail-on
  1   refused, or a finding at or above --fail-on
  2   the command was used wrongly
  3   could not tell: nothing could be read
  70  a fault of this program
  130 interrupted

\b
Options may also stand in forensics.toml, or under [tool.forensics] in
pyproject.toml, of the working folder or a folder above it.

\b
Shell completion, for bash (zsh and fish alike):
  eval "$(_FORENSICS_COMPLETE=bash_source forensics)"
"""


class LazyGroup(click.Group):
    """A group whose commands are named in a table of name to (module, help) and imported on demand."""

    def __init__(self, name: str | None = None, *, table: dict[str, tuple[str, str]], **more: Any) -> None:
        super().__init__(name, **more)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names, in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The command of that name, imported now, or None."""
        if cmd_name not in self.table:
            return None
        command: click.Command = importlib.import_module(self.table[cmd_name][0]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name where there is no such command."""
        if args and args[0] not in self.table and not args[0].startswith("-"):
            from forensics.core.meant import meant

            raise click.UsageError(f"There is no command {args[0]!r}; {meant(args[0], self.table)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """The list of commands for `--help`, out of the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in self.table.items()])


class Program(LazyGroup):
    """The outermost group. It turns every way a command can end into an exit code (CONTRACT: exit codes)."""

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run and leave with the exit code."""
        extra["standalone_mode"] = False
        try:
            code = super().main(*args, **extra)
        except click.exceptions.Abort:
            click.echo("Interrupted: no file was left half written.", err=True)
            sys.exit(INTERRUPTED)
        except click.ClickException as error:
            sys.exit(_say_usage(error))
        except ForensicsError as error:
            sys.exit(_say_error(error))
        except OSError as error:
            sys.exit(_say_full(error) if error.errno in _FULL else _fault(error))
        except Exception as error:  # noqa: BLE001 - the last line of defence: never a bare traceback
            sys.exit(_fault(error))
        sys.exit(code or 0)


def _say_usage(error: click.ClickException) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return error.exit_code
    context = getattr(error, "ctx", None)
    if context is not None:
        click.echo(context.get_usage(), err=True)
        click.echo(f"Try '{context.command_path} --help' for help.", err=True)
    click.echo(f"Error: {visible(error.format_message())}", err=True)
    return error.exit_code


_UNTOLD = (EvidenceError, EngineUnavailableError, IsolationUnavailableError)


def _say_error(error: ForensicsError) -> int:
    from forensics.cli.quoting import quoted

    faults = error.faults if isinstance(error, RuleError) and len(error.faults) > 1 else (error.message,)
    for fault in faults:
        click.echo(f"Error: {quoted(fault)}", err=True)
    if error.hint:
        click.echo(f"Hint: {quoted(error.hint)}", err=True)
    return UNTOLD if isinstance(error, _UNTOLD) else USAGE


_FULL = (errno.ENOSPC, errno.EDQUOT)


def _say_full(error: OSError) -> int:
    click.echo(f"Error: it can't be written: {error.strerror}", err=True)
    return USAGE


def _fault(error: Exception) -> int:
    from forensics.cli.faults import report

    report(error)
    return FAULT


@click.group(
    cls=Program,
    table=_COMMANDS,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "--version", prog_name="forensics")
def program() -> None:
    """Read the trace of an agent's run: what did it do, and may it be repeated?"""
