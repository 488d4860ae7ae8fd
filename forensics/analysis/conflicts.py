"""Where does what a server declares of a tool contradict what the tool is called, says of itself or returned?

A declaration that a tool only reads costs its server the trust in its words: for the whole trace, nothing that such a
server's names and descriptions say makes a tool a reading one (CONTRACT: rests on). Published servers have marked
tools that rewrite files as read-only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.classes import (
    Classes,
    ClassEvidence,
    Classification,
    Effect,
    Source,
    Stability,
    Tier,
    ToolFacts,
    resolve,
)
from forensics.core.evidence import Basis, Severity
from forensics.core.findings import Finding, finding
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from forensics.analysis.survey import Evidence, Survey, ToolKey
    from forensics.core.trace import Trace

_WORDS = frozenset({Source.NAME, Source.DESCRIPTION})
_TELLING = _WORDS | {Source.RESULT}
_PLAIN_WRITES = frozenset({Effect.OVERWRITING, Effect.IRREVERSIBLE})
_SHOWN = 4
# What these rules hear is a write or a harmless run, view or download, as the case may be: no contradiction by itself.
_VAGUE = frozenset(
    {
        "code.act",
        "words.write.execute",
        "words.write.name-only",
        "words.write.run",
        "words.write.verb_or_noun",
    }
)


class Contradiction(msgspec.Struct, frozen=True):
    """One tool that is declared to read, and the evidence that it writes."""

    tool: ToolFacts
    declared: ClassEvidence
    against: tuple[ClassEvidence, ...]


def contradictions(studied: Survey) -> tuple[Contradiction, ...]:
    """Every tool whose declaration is contradicted, in order of the survey; each once."""
    found = (_contradiction(studied.facts[name], pieces) for name, pieces in studied.tools.items())
    return tuple(one for one in found if one is not None)


def _contradiction(facts: ToolFacts, pieces: Evidence) -> Contradiction | None:
    declared = next((p for p in pieces if p.source is Source.DECLARATION and p.effect is Effect.NONE), None)
    if declared is None:
        return None
    against = tuple(p for p in pieces if p.source in _TELLING and p.effect not in (None, Effect.NONE))
    clear = tuple(p for p in against if p.rule not in _VAGUE)
    return Contradiction(facts, declared, clear) if _say_a_write(facts, clear) else None


def _say_a_write(facts: ToolFacts, pieces: Evidence) -> bool:
    """Whether this is enough: two kinds of evidence, what a result shows, or a plain word where nothing else speaks."""
    kinds = {p.source for p in pieces}
    if len(kinds) > 1 or Source.RESULT in kinds:
        return True
    plain = [p for p in pieces if p.effect in _PLAIN_WRITES]
    return any(p.effect is Effect.IRREVERSIBLE or p.source is Source.DESCRIPTION for p in plain) or (
        bool(plain) and not facts.description
    )


def conflicts(trace: Trace, contradicted: tuple[Contradiction, ...]) -> Iterator[Finding]:
    """One finding for each contradicted tool, at its first call and at its declaration."""
    first: dict[str, int] = {}
    for call in trace.calls if contradicted else ():
        first.setdefault(call.tool, call.step)
    for one in contradicted:
        steps = (first[one.tool.name],) if one.tool.name in first else ()
        locators = (one.tool.locator,) if one.tool.locator is not None else ()
        if steps or locators:
            said = list(dict.fromkeys(piece.says for piece in one.against))[:_SHOWN]
            message = f"{one_line(one.tool.name, 60)}: {one.declared.says}, but {', '.join(said)}"
            yield finding("annotation_contradicted", message, steps=steps, locators=locators, basis=Basis.DERIVED)


def overruled(trace: Trace, studied: Survey) -> Iterator[Finding]:
    """One finding for each called tool whose evidence the operator's entry overrules, and one where the record shows
    that its result is not as stable as the entry says. The entry stands (it is what an entry is for), and whoever reads
    the report sees what it stands against.
    """
    first: dict[ToolKey, int] = {}
    for key, step in zip(trace.calls.tools(), trace.calls.column("step"), strict=True):
        first.setdefault(key, step)
    for key, step in first.items():
        pieces = studied.tools[key]
        entry = _what_counts(pieces)
        against = [p for p in pieces if entry is not None and p.tier is not Tier.OPERATOR and _is_worse(p, entry)]
        if entry is not None and against:
            yield _overruled(key, step, f"{_effect(entry)} ({entry.says})", against)
    yield from _unsteady(trace, studied)


def _overruled(tool: ToolKey, step: int, entry: str, against: Iterable[ClassEvidence]) -> Finding:
    said = ", ".join(list(dict.fromkeys(piece.says for piece in against))[:_SHOWN])
    message = f"{one_line(tool[0], 60)}: the policy says {entry}, against: {said}"
    return finding("annotation_contradicted", message, steps=(step,), basis=Basis.DERIVED, severity=Severity.LOW)


def _unsteady(trace: Trace, studied: Survey) -> Iterator[Finding]:
    """The first call of each tool that gave another result than before, though the operator says that it is stable."""
    told: set[ToolKey] = set()
    kinds = studied.classified.each(_not_as_stable)
    for key, step, found in zip(trace.calls.tools(), trace.calls.column("step"), kinds, strict=True):
        if found is not None and key not in told:
            told.add(key)
            yield _overruled(key, step, f"result stable ({found[0].says})", found[1:])


def _not_as_stable(kind: Classification) -> tuple[ClassEvidence, ...] | None:
    """The entry that says stable, where it is what counts, and what the record shows against it."""
    entries = [p for p in kind.evidence if p.tier is Tier.OPERATOR and p.result is not None]
    shown = [p for p in kind.evidence if p.source is Source.BEHAVIOUR and p.result is Stability.VOLATILE]
    if not shown or not entries or any(p.result is not Stability.STABLE for p in entries):
        return None
    return (entries[0], *shown)


def _what_counts(pieces: Evidence) -> ClassEvidence | None:
    """The entry of the operator that says the worst, which is what counts of several."""
    entries = [p for p in pieces if p.tier is Tier.OPERATOR and p.effect is not None]
    return max(entries, key=lambda p: p.effect or Effect.NONE, default=None)


def _is_worse(piece: ClassEvidence, entry: ClassEvidence) -> bool:
    return piece.effect is not None and entry.effect is not None and piece.effect > entry.effect


def _effect(entry: ClassEvidence) -> str:
    return "nothing" if entry.effect is None else f"effect {entry.effect.name.lower()}"


# trust ---------------------------------------------------------------------------------------------------------------


def distrusted(trace: Trace, studied: Survey, contradicted: tuple[Contradiction, ...]) -> Survey:
    """The survey without the words of the servers that were contradicted, as far as they say that a tool reads."""
    if not contradicted:
        return studied
    servers = {one.tool.server for one in contradicted}
    keys = {key for key, facts in studied.facts.items() if facts.server in servers}
    tools = {key: _without_words(pieces) if key in keys else pieces for key, pieces in studied.tools.items()}
    classes = studied.classified
    lowered = {
        number for number, call in zip(classes.numbers, trace.calls, strict=True) if (call.tool, call.server) in keys
    }
    kinds = tuple(
        resolve(_without_words(kind.evidence)) if number in lowered else kind
        for number, kind in enumerate(classes.kinds)
    )
    return msgspec.structs.replace(studied, classified=Classes(kinds, classes.numbers), tools=tools)


def _without_words(pieces: Evidence) -> Evidence:
    return tuple(p for p in pieces if not (p.source in _WORDS and p.effect is Effect.NONE))
