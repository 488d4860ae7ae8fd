"""Which declarations tell nothing? The same hints on every tool of a server, or those that an absent hint means.

Published servers stamp one set of hints on all their tools, and some libraries write the defaults of the specification
where the author said nothing. Only what differs from the words of the tools is reported: a server whose tools all read
may well say so of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.classes import Effect, Source, ToolFacts
from forensics.core.evidence import Basis
from forensics.core.findings import Finding, finding
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.analysis.survey import Evidence, Survey
    from forensics.core.trace import Trace

_WORDS = frozenset({Source.NAME, Source.DESCRIPTION})
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_TELLING = _HINTS[:2]
_DEFAULTS = (False, True, False, True)  # of the MCP specification, in the order of the hints
_FEWEST = 3  # tools with the same hints that are no chance
_SHOWN = 4


def uninformative(trace: Trace, studied: Survey, liars: frozenset[str | None]) -> Iterator[Finding]:
    """One finding for each server whose hints tell nothing. `liars` are servers whose hints are contradicted, which is
    said already.
    """
    for server, tools in _by_server(studied).items():
        if server in liars:
            continue
        reading = [facts for facts, pieces in tools if _only_reads(pieces)]
        writing = [facts for facts, pieces in tools if _says_a_write(pieces)]
        if _are_stamped([facts for facts, _ in tools]) and reading and writing:
            yield _finding(trace, reading, f"all {len(tools)} tools{_of(server)} carry the same hints")
        elif empty := [facts for facts in reading if _hints(facts, _HINTS) == _DEFAULTS]:
            yield _finding(trace, empty, f"the hints{_of(server)} are those that absent ones mean")


def _by_server(studied: Survey) -> dict[str | None, list[tuple[ToolFacts, Evidence]]]:
    """The tools that carry a hint about their effect, by server."""
    found: dict[str | None, list[tuple[ToolFacts, Evidence]]] = {}
    for key, facts in studied.facts.items():
        if any(name in facts.hints for name in _TELLING):
            found.setdefault(facts.server, []).append((facts, studied.tools[key]))
    return found


def _are_stamped(tools: list[ToolFacts]) -> bool:
    """Whether these tools all carry one set of hints; that all of them read is something to say."""
    told = {_hints(facts, _TELLING) for facts in tools}
    return len(tools) >= _FEWEST and len(told) == 1 and told.pop()[0] is not True


def _hints(facts: ToolFacts, names: tuple[str, ...]) -> tuple[object, ...]:
    """The values of these hints; one that is no truth value tells nothing, like an absent one."""
    return tuple(value if isinstance(value := facts.hints.get(name), bool) else None for name in names)


def _only_reads(pieces: Evidence) -> bool:
    """Whether name and description both say that the tool reads, and no evidence but its hints says that it writes."""
    kinds = {piece.source for piece in pieces if piece.source in _WORDS and piece.effect is Effect.NONE}
    against = any(p.effect not in (None, Effect.NONE) for p in pieces if p.source is not Source.DECLARATION)
    return kinds == _WORDS and not against


def _says_a_write(pieces: Evidence) -> bool:
    return any(piece.source in _WORDS and piece.effect not in (None, Effect.NONE) for piece in pieces)


def _of(server: str | None) -> str:
    return "" if server is None else f" of {one_line(server, 40)}"


def _finding(trace: Trace, reading: list[ToolFacts], what: str) -> Finding:
    named = ", ".join(one_line(facts.name, 40) for facts in reading[:_SHOWN])
    more = f" and {len(reading) - _SHOWN} more" if len(reading) > _SHOWN else ""
    told = ", ".join(f"{name} {_word(reading[0].hints[name])}" for name in _HINTS if name in reading[0].hints)
    message = f"{what} ({told}), though {named}{more} only read by their words: the hints tell nothing"
    names = {facts.name for facts in reading}
    steps = tuple(dict.fromkeys(call.step for call in trace.calls if call.tool in names))[:_SHOWN]
    locators = tuple(facts.locator for facts in reading if facts.locator is not None)[:_SHOWN]
    return finding(
        "annotation_uninformative", message, steps=steps, locators=locators, basis=Basis.DERIVED, confidence="medium"
    )


def _word(hint: object) -> str:
    return str(hint).lower() if isinstance(hint, bool) else "not said"
