"""Does a proof over the text in a call's arguments answer the vetoes that say no more than *nothing proved this*?

The one place that both the calls of a trace and a list of calls go through. A proof counts only where the proven text
is all that the call does: any other argument that is set and not known to be harmless keeps the vetoes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from forensics.core.classes import ClassEvidence, Effect, Source, Tier
from forensics.core.late import late
from forensics.proofs.prove import prove
from forensics.proofs.tables import CallTables, Harmless, call_tables
from forensics.rules.conditions import key_words
from forensics.rules.words import split_words

if TYPE_CHECKING:
    from forensics.core.classes import ToolFacts

Evidence = tuple[ClassEvidence, ...]

_MAX_ARGUMENTS = 64
_BOUND = late(r"(?:[\w .:@%+/]|-(?!-)){0,256}")
_DIALECT_KINDS = frozenset({"sql", "shell"})


class _Text(msgspec.Struct, frozen=True):
    """A text to run: the argument that holds it, and what it may be."""

    key: str
    text: str
    kinds: tuple[str, ...]


def answer(
    pieces: Evidence, facts: ToolFacts, arguments: object, answered: frozenset[str], dialect: str | None = None
) -> Evidence:
    """The evidence about one call, with the vetoes of the rules in `answered` replaced by a proof where there is one.

    `dialect` is what the operator says of the text's language; a trace is not asked, because a wrong dialect could
    make a false proof.
    """
    if not answerable(pieces, answered):
        return pieces
    proof = proof_of(facts, arguments, dialect)
    return pieces if proof is None else (*without(pieces, answered), proof)


def answerable(pieces: Evidence, answered: frozenset[str]) -> bool:
    """Whether one of the pieces is a veto that a proof would answer."""
    return any(piece.rule in answered for piece in pieces)


def without(pieces: Evidence, answered: frozenset[str]) -> Evidence:
    """The pieces but those that a proof answers."""
    return tuple(piece for piece in pieces if piece.rule not in answered)


def proof_of(facts: ToolFacts, arguments: object, dialect: str | None = None) -> ClassEvidence | None:
    """What a proof over the one text in these arguments says of the call, or None."""
    found = _only_text(arguments) if isinstance(arguments, Mapping) else None
    if found is None or not isinstance(arguments, Mapping):
        return None
    for kind in found.kinds:
        if kind == "shell" and _runs_other_shell(facts.name):
            continue
        proof = prove(kind, found.text, dialect if kind in _DIALECT_KINDS else None)
        if proof is not None and _nothing_else(arguments, found.key, kind):
            return _evidence(kind, proof.reads, proof.parser)
    return None


def _evidence(kind: str, reads: str, parser: str) -> ClassEvidence:
    says = f"the text that it runs was parsed ({parser}) and only reads: {reads}"
    return ClassEvidence(Source.PROOF, Tier.PACK, says, effect=Effect.NONE, rule=f"proof.{kind}")


def _only_text(arguments: Mapping[object, object]) -> _Text | None:
    """The one argument that holds a text to run; where there are two, neither is the whole effect."""
    if len(arguments) > _MAX_ARGUMENTS:
        return None
    texts = [
        _Text(key, value, kinds)
        for key, kinds in _keys_of_texts(tuple(arguments))
        if isinstance(value := arguments[key], str) and value
    ]
    return texts[0] if len(texts) == 1 else None


@lru_cache(maxsize=1024)
def _keys_of_texts(keys: tuple[object, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Which of these names are of arguments that may hold a text to run, and the kinds that it may be."""
    known = _kinds_by_key()
    found = ((key, known.get(key_words(key))) for key in keys if isinstance(key, str))
    return tuple((key, kinds) for key, kinds in found if kinds is not None)


@lru_cache(maxsize=1)
def _kinds_by_key() -> dict[str, tuple[str, ...]]:
    """What kinds of text an argument may hold, by the words of its name."""
    return {key_words(key): row.kinds for row in call_tables().texts for key in row.keys}


def _runs_other_shell(tool: str) -> bool:
    return not call_tables().other_shells.isdisjoint(split_words(tool[:256]))


def _nothing_else(arguments: Mapping[object, object], text_key: str, kind: str) -> bool:
    tables = call_tables()
    rows = (tables.any_kind, _of_kind(tables, kind))
    others = ((key, value) for key, value in arguments.items() if key != text_key)
    return all(not _is_set(value) or any(_harmless(row, key, value) for row in rows) for key, value in others)


def _of_kind(tables: CallTables, kind: str) -> Harmless:
    row: Harmless = getattr(tables, kind)
    return row


def _is_set(value: object) -> bool:
    return value is not None and value not in ("", [], {})


def _harmless(row: Harmless, key: object, value: object) -> bool:
    if not isinstance(key, str):
        return False
    words = key_words(key)
    if any(key_words(known) == words for known in row.off):
        return value is False
    if any(key_words(known) == words for known in row.bound):
        return _is_bound(value)
    return any(key_words(known) == words for known in row.keys)


def _is_bound(value: object) -> bool:
    """Plain values that stay values even in a tool that pastes them into the text."""
    if isinstance(value, Mapping):
        return all(map(_is_scalar, value.values()))
    return all(map(_is_scalar, value)) if isinstance(value, (list, tuple)) else False


def _is_scalar(value: object) -> bool:
    return (
        _BOUND.fullmatch(value) is not None if isinstance(value, str) else not isinstance(value, (Mapping, list, tuple))
    )
