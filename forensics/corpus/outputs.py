"""Do the files of an earlier run still tell what the ledger holds? Then they stand, and nothing is written again."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from forensics.core.digests import sha256_of
from forensics.report.corpus_documents import CorpusDocument
from forensics.report.jsonout import json_bytes
from forensics.report.outputs import write_output

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from forensics.corpus.job import Place
    from forensics.corpus.ledger import Ledger

_states = msgspec.json.Decoder(dict[str, str])


class Outputs:
    """The files that a run writes beside its summary, of these places (as the ledger knows them, with their names) and
    under a policy of that name; by which rules and of which results, the ledger knows. That rows stand as they were
    written is told by their size and time; a summary is read, and by its digest.
    """

    def __init__(self, summary: Path, ledger: Ledger, places: Iterable[Place], policy: str) -> None:
        self._summary, self._ledger = summary, ledger
        told = hashlib.sha256(policy.encode("utf-8", "surrogatepass"))
        for where, name in places:
            told.update(f"\0{where}\0{name}".encode("utf-8", "surrogatepass"))
        self._of = told.hexdigest()

    def standing(self, trusted: int) -> CorpusDocument | None:
        """The document, where its files stand as they were written and no result changed; None where they don't. How
        many files were trusted in this run is set right in it.
        """
        told = self._ledger.outputs(self._of)
        if told is None or not self._as_written(_states.decode(told)):
            return None
        document = msgspec.json.decode(self._summary.read_bytes(), type=CorpusDocument)
        if document.counts.trusted == trusted:
            return document
        counts = msgspec.structs.replace(document.counts, trusted=trusted)
        document = msgspec.structs.replace(document, counts=counts)
        write_output(self._summary, json_bytes(document), force=True)
        self.keep(document)
        return document

    def keep(self, document: CorpusDocument) -> None:
        """Remember the files of a document that was just written."""
        names = [*document.rows, *document.found, self._summary.name]
        self._ledger.wrote(self._of, msgspec.json.encode({name: self._state(name) for name in names}))

    def _as_written(self, states: dict[str, str]) -> bool:
        try:
            return all(self._state(name) == state for name, state in states.items())
        except OSError:
            return False

    def _state(self, name: str) -> str:
        path = self._summary.with_name(name)
        if path == self._summary:
            return sha256_of(path)
        found = path.stat()
        return f"{found.st_size} {found.st_mtime_ns}"
