"""Which keys may a configuration file hold, and which values? The border where pydantic names every fault at once
(docs/adr/0001); imported only when there is a configuration file.
"""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from forensics.core.limits import parsed
from forensics.core.meant import meant
from forensics.formats.registry import names


def _one_or_many(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _known_format(value: str) -> str:
    if value not in names():
        raise ValueError(f"there is no format {value!r}; {meant(value, names())}")
    return value


def _limits(value: dict[str, int | str]) -> dict[str, int]:
    return dict(parsed(f"{name}={number}") for name, number in value.items())


class Table(BaseModel):
    """The table of `forensics.toml`, or `[tool.forensics]` of `pyproject.toml`."""

    model_config = ConfigDict(extra="forbid")

    policy: str | None = None
    rules: Annotated[list[str] | None, BeforeValidator(_one_or_many)] = None
    tools: str | None = None
    fail_on: Literal["info", "low", "medium", "high", "critical"] | None = None
    format: Literal["text", "json"] | None = None
    as_of: datetime.date | None = None
    limit: Annotated[dict[str, int | str], AfterValidator(_limits)] | None = None
    redact: bool | None = None
    input_format: Annotated[str, AfterValidator(_known_format)] | None = None

    def options(self) -> dict[str, Any]:
        """The keys that were set, with their values."""
        return {key: value for key, value in self if value is not None}


KEYS = tuple(Table.model_fields)
