"""What does an option or argument take, and what is said of anything else? Callbacks of click that commands share."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from click.shell_completion import CompletionItem

_LONGEST = 18  # digits of a number of a step
_NO_NAME = "no name is given (a variable of the shell that is not set gives an empty one)"


class Completed(click.types.StringParamType):
    """A text that the shell completes as the name of a file (or folder): what it names is opened later, by what knows
    standard input, URLs, globs and archives. `also` tells words that may stand instead.
    """

    def __init__(self, what: str, also: Callable[[], Sequence[str]] = tuple) -> None:
        self._what, self._also = what, also

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002 - click's signature
        incomplete: str,
    ) -> list[CompletionItem]:
        """The words that begin so; where none does, the names of files."""
        from click.shell_completion import CompletionItem

        words = [CompletionItem(word) for word in self._also() if word.startswith(incomplete)]
        return words if words and incomplete else [CompletionItem(incomplete, type=self._what), *words]


def _shipped_policies() -> Sequence[str]:
    from forensics.rules.policy_file import SHIPPED

    return SHIPPED


FILES = Completed("file")
FOLDERS = Completed("dir")
POLICIES = Completed("file", _shipped_policies)


class Place(click.Path):
    """A file or folder that is named: an empty name would be this folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The place. Raises BadParameter for an empty name."""
        if value == "":
            self.fail(_NO_NAME, param, ctx)
        return super().convert(value, param, ctx)


def named(_context: click.Context, _parameter: click.Parameter, value: Any) -> Any:
    """One name, or several, or none: but no empty one."""
    if "" in (value if isinstance(value, tuple) else (value,)):
        raise click.BadParameter(_NO_NAME)
    return value


def step_number(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """The number of a step, as audit and inspect tell it. Says so where the arguments seem to be in another order."""
    if value is None:
        return None
    if value.isascii() and value.isdecimal() and len(value) <= _LONGEST:
        return int(value)
    swapped = parameter.param_type_name == "argument" and str(context.params.get("evidence", "")).isdecimal()
    order = "; EVIDENCE comes first, and then STEP" if swapped else ""
    raise click.BadParameter(f"{value!r} is no number of a step: they count from 0, as inspect shows them{order}")


def day(_context: click.Context, _parameter: click.Parameter, value: str | None) -> datetime.date | None:
    """A day."""
    try:
        return (
            None if value is None else datetime.datetime.strptime(value, "%Y-%m-%d").replace(tzinfo=datetime.UTC).date()
        )
    except ValueError:
        raise click.BadParameter(f"{value!r} is no day such as 2027-01-31") from None
