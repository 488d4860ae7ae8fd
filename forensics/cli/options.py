"""Which options do the commands share, and what do they come to, with the configuration file?"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from forensics.cli.values import FILES, POLICIES, day, named

if TYPE_CHECKING:
    from forensics.api import Options

SEVERITIES = ("info", "low", "medium", "high", "critical")
TEXT_JSON = ("text", "json")

Body = Callable[..., int]
Option = Callable[[Body], Body]


class Settings(msgspec.Struct, frozen=True):
    """What was asked for, on the command line or else in the configuration file; `detail` is -1 (quiet), 0 or more."""

    format: str = "text"
    rules: tuple[Path, ...] = ()
    policy: str | None = None
    input_format: str | None = None
    trace: str | None = None
    fail_on: str = "high"
    as_of: datetime.date | None = None
    limit: tuple[tuple[str, int], ...] = ()
    detail: int = 0
    tools: str | None = None
    redact: bool = True
    content: bool = True

    def options(self) -> Options:
        """The same for the library."""
        from forensics.api import Options
        from forensics.core.limits import Limits

        return Options(
            policy=self.policy,
            rules=self.rules,
            input_format=self.input_format,
            trace=self.trace,
            as_of=self.as_of,
            limits=Limits(**dict(self.limit)),
            tools=self.tools,
            redact=self.redact,
            content=self.content,
        )


def format_names(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The names of formats for shell completion."""
    from forensics.formats.registry import names

    return [name for name in names() if name.startswith(incomplete)]


def known_format(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """A click callback: the name of a format, or a usage error that lists them."""
    if value is None:
        return None
    from forensics.core.meant import meant
    from forensics.formats.registry import names

    if value not in names():
        raise click.BadParameter(f"there is no format {value!r}; {meant(value, names())}")
    return value


def _limits(
    _context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]
) -> tuple[tuple[str, int], ...]:
    from forensics.core.limits import parsed

    try:
        return tuple(parsed(one) for one in value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _limit_names(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from forensics.core.limits import NAMES

    return [f"{name}=" for name in NAMES if name.startswith(incomplete)]


_OPTIONS: dict[str, Option] = {
    "rules": click.option(
        "--rules",
        type=click.Path(exists=True, path_type=Path),
        multiple=True,
        help="More rule packs: a file, or a folder of *.yaml. Repeatable.",
    ),
    "policy": click.option(
        "--policy",
        metavar="strict|inject|PATH",
        type=POLICIES,
        callback=named,
        help="The policy to judge by.  [default: strict]",
    ),
    "input_format": click.option(
        "--input-format",
        metavar="NAME",
        callback=known_format,
        shell_complete=format_names,
        help="Read as this format, without recognising it (see `forensics formats`).",
    ),
    "limit": click.option(
        "--limit",
        metavar="NAME=NUMBER",
        multiple=True,
        callback=_limits,
        shell_complete=_limit_names,
        help="Raise or lower a limit on the evidence, such as size=8G (see the page on limits). Repeatable.",
    ),
    "trace": click.option("--trace", metavar="ID", help="Only this trace."),
    "tools": click.option(
        "--tools",
        metavar="FILE",
        type=FILES,
        callback=named,
        help="An inventory of tools beside the evidence: what an MCP server answers to tools/list, the tools of a "
        "request, or JSON lines or TSV.",
    ),
    "redact": click.option(
        "--redact/--no-redact",
        default=None,
        help="Show secrets and personal data by their kind and a fingerprint only.  [default: --redact]",
    ),
    "content": click.option(
        "--content/--no-content",
        default=None,
        help="Look for secrets and for what acts in values. --no-content needs --no-redact.  [default: --content]",
    ),
    "fail_on": click.option(
        "--fail-on",
        type=click.Choice(SEVERITIES),
        help="A finding from this severity on ends with exit code 1.  [default: high]",
    ),
    "as_of": click.option(
        "--as-of",
        callback=day,
        metavar="DATE",
        help="The day by which expiry dates are judged.  [default: today, UTC]",
    ),
}
_LOUDNESS: tuple[Option, ...] = (
    click.option("-q", "--quiet", is_flag=True, help="Show less: verdicts, and no notes."),
    click.option("-v", "--verbose", count=True, help="Show more."),
)
JUDGING = ("rules", "policy", "as_of")
READING = ("input_format", "trace", "limit", "redact")


def shared(*names: str, formats: tuple[str, ...] = TEXT_JSON) -> Option:
    """The shared options of these names, with --format and -q/-v; the command gets them as `settings`.

    Its parameters that name evidence (one place, several, or None) decide which configuration file may be read.
    """

    def wrap(body: Body) -> Body:
        @functools.wraps(body)
        def run(**given: Any) -> int:
            from forensics.cli.config import settle

            asked = {name: given.pop(name) for name in (*(["format"] if formats else []), *names)}
            detail = given.pop("verbose") - given.pop("quiet")
            return body(**given, settings=settle(asked, detail, _places(given)))

        wrapped: Body = run
        options: list[Option] = [*_format_option(formats), *(_OPTIONS[name] for name in names), *_LOUDNESS]
        for option in reversed(options):
            wrapped = option(wrapped)
        return wrapped

    return wrap


_PLACES = ("evidence", "recording", "requests")


def _places(given: dict[str, Any]) -> tuple[str, ...]:
    """Every place of evidence that a command was given."""
    held = (given.get(name) for name in _PLACES)
    return tuple(place for one in held if one is not None for place in ((one,) if isinstance(one, str) else one))


def _format_option(formats: tuple[str, ...]) -> list[Option]:
    about = "Text for a person, or the document for a program.  [default: text]"
    return [click.option("--format", type=click.Choice(formats), help=about)] if formats else []
