"""What does a finding or reason code mean, and what is to be done about it? The pages are data (rules/codes)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import msgspec

from forensics.core.findings import GROUP_OF, default_severity
from forensics.rules.shipped import shipped_folder
from forensics.rules.yaml_strict import load_strict

if TYPE_CHECKING:
    from collections.abc import Mapping

REASONS_ONLY = "reasons"
"""The group of the codes that refuse and are no findings."""

_FOLDER = "codes"


class CodePage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One code: what it means, why that matters, what it looks like in the evidence, what it does not prove, what to
    do. Every member is a text in the words of the glossary; `see` names pages below docs/.
    """

    code: str
    means: str
    matters: str
    example: str
    does_not_prove: str
    do: str
    see: tuple[str, ...] = ()


class CodeGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of pages: a group of the catalogue, and what its codes have in common."""

    schema: Literal["forensics/codes/v1"]
    group: str
    about: str
    codes: tuple[CodePage, ...]


@lru_cache(maxsize=1)
def code_pages() -> Mapping[str, CodePage]:
    """The page of every code, by code, in the order of the groups."""
    return {page.code: page for group in code_groups() for page in group.codes}


@lru_cache(maxsize=1)
def code_groups() -> tuple[CodeGroup, ...]:
    """The pages in their groups, in the order of the catalogue."""
    order = [*dict.fromkeys(GROUP_OF.values()), REASONS_ONLY]
    folder = shipped_folder() / _FOLDER
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".yaml"))
    groups = [msgspec.convert(load_strict((folder / name).read_bytes(), name).value, CodeGroup) for name in names]
    return tuple(sorted(groups, key=lambda group: order.index(group.group)))


def severity_of(code: str) -> str | None:
    """The usual severity of a finding with this code; None for a code that is only ever a reason."""
    return default_severity(code).value if code in GROUP_OF else None
