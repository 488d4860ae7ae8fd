"""Which duties is the report evidence for, and what must a person add? Data (rules/controls), never a judgement."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import msgspec

from forensics.report.incident.documents import Blank, Obligation
from forensics.rules.shipped import shipped_folder
from forensics.rules.yaml_strict import load_strict

_FILE = "controls/sources.yaml"


class Duty(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One duty of a source: what it needs, how much of that a trace can show, where, and as of when that was known."""

    source: str
    reference: str
    needs: str
    here: Literal["evidence", "partly", "not_in_a_trace"]
    parts: tuple[str, ...]
    also_needed: str
    as_of: str


class Tagged(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Codes of findings that belong to entries of a list of risks: a tag, never a score."""

    codes: tuple[str, ...]
    source: str
    tags: tuple[str, ...]
    as_of: str


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that no trace shows."""

    name: str
    question: str
    asked_by: str


class Reviewed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The controls of a catalogue on which a trace bears, by their identifiers there."""

    source: str
    as_of: str
    controls: tuple[str, ...]


class Controls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file: duties, the tags of findings, and the blanks that a person fills in."""

    schema: Literal["forensics/controls/v1"]
    about: str
    obligations: tuple[Duty, ...]
    tags: tuple[Tagged, ...]
    blanks: tuple[Question, ...]
    reviewed: Reviewed


@lru_cache(maxsize=1)
def controls() -> Controls:
    """The shipped file."""
    return msgspec.convert(load_strict((shipped_folder() / _FILE).read_bytes(), _FILE).value, Controls)


def obligations() -> list[Obligation]:
    """The part of a report about duties."""
    return [
        Obligation(
            source=duty.source,
            reference=duty.reference,
            needs=duty.needs,
            here=duty.here,
            parts=list(duty.parts),
            also_needed=duty.also_needed,
            as_of=duty.as_of,
        )
        for duty in controls().obligations
    ]


def tags_of(code: str) -> list[str]:
    """The tags of a code, each with its source: `ASI02 (OWASP Top 10 for Agentic Applications 2026)`."""
    return [f"{tag} ({row.source})" for row in controls().tags if code in row.codes for tag in row.tags]


def blanks() -> list[Blank]:
    """The part of a report that people fill in."""
    return [Blank(name=one.name, question=one.question, asked_by=one.asked_by, value=None) for one in controls().blanks]
