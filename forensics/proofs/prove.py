"""Is this text proven to read only?"""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from forensics.proofs.plain import is_plain

if TYPE_CHECKING:
    from forensics.proofs.proof import Proof

_REMEMBERED = 1024
_PROVERS = {
    "sql": "forensics.proofs.sql",
    "shell": "forensics.proofs.shell",
    "graphql": "forensics.proofs.graphql",
}
"""The module for each kind of text. Code in a general language is not here: no parser shows what it does."""


class _Prover(Protocol):
    """What each of those modules offers."""

    def prove_text(self, text: str, dialect: str | None) -> Proof | None: ...


@lru_cache(maxsize=len(_PROVERS))
def _prover(module: str) -> _Prover:
    found: _Prover = importlib.import_module(module)  # asking for it anew costs as much as most texts do
    return found


@lru_cache(maxsize=_REMEMBERED)
def prove(kind: str, text: str, dialect: str | None = None) -> Proof | None:
    """The proof that a text of this kind (`sql`, `shell`, `graphql`) only reads, or None. Raises nothing.

    `dialect` names the database or the shell. Without it an SQL text must be proven in every dialect known, because
    what is a comment or a string in one is a statement in another. The parser is imported when the first such text
    is met. Time grows about linearly with the text, which is bounded.
    """
    module = _PROVERS.get(kind)
    if module is None or not is_plain(text):
        return None
    prover = _prover(module)
    try:
        return prover.prove_text(text, dialect.strip().lower() if dialect else None)
    except Exception:  # noqa: BLE001  a fault in a parser is no proof, whatever its type; the parsers are not ours
        return None
