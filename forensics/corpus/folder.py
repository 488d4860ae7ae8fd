"""Is this folder the result of a corpus audit, and where do its rows stand?

The folder may come from somebody else: a row file is found by its own name in the folder, and what `summary.json` says
of names is held against it. A folder without a summary is one whose audit has not ended.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from forensics.core.sanitise import one_line
from forensics.corpus.run import LEDGER, SUMMARY
from forensics.errors import CorruptEvidenceError, EvidenceError, UnsupportedVersionError
from forensics.formats.places import is_folder, is_there
from forensics.report.corpus_documents import CORPUS, CorpusDocument
from forensics.report.outputs import as_given

if TYPE_CHECKING:
    from pathlib import Path

_SHARD = re.compile(r"(?:files|findings)-\d{5}\.jsonl")
_AGAIN = "audit the corpus again with `forensics audit EVIDENCE --into`, which keeps what is unchanged"


class Results(NamedTuple):
    """A result folder: its sums, and the files that hold its rows."""

    document: CorpusDocument
    files: tuple[Path, ...]
    findings: tuple[Path, ...]


class _Head(msgspec.Struct):
    schema: str = ""


def is_results(folder: Path) -> bool:
    """Whether an audit of a corpus wrote here: its ledger or its sums stand there."""
    return is_folder(folder) and (is_there(folder / LEDGER) or _schema(folder).startswith("forensics/corpus/"))


def results_in(folder: Path) -> Results:
    """The results that stand in a folder.

    Raises EvidenceError for a folder that holds none or none that are whole, UnsupportedVersionError for those of
    another version, and CorruptEvidenceError where a file of rows is missing.
    """
    name = as_given(folder)
    if not is_results(folder):
        message = f"{name} is no folder of an audited corpus"
        raise EvidenceError(message, hint="make one with `forensics audit EVIDENCE --into FOLDER`", code="no_results")
    if not is_there(folder / SUMMARY):
        raise EvidenceError(f"the audit into {name} has not ended", hint=_AGAIN, code="results_unfinished")
    found = _schema(folder)
    if found != CORPUS:
        message = f"{name} holds results of another version ({one_line(found, 60) or 'unknown'}, not {CORPUS})"
        raise UnsupportedVersionError(message, hint=_AGAIN)
    try:
        document = msgspec.json.decode((folder / SUMMARY).read_bytes(), type=CorpusDocument)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptEvidenceError(f"{SUMMARY} of {name} can't be read: {error}", hint=_AGAIN) from None
    return Results(document, _shards(folder, document.rows), _shards(folder, document.found))


def _schema(folder: Path) -> str:
    try:
        return msgspec.json.decode((folder / SUMMARY).read_bytes(), type=_Head).schema
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return ""


def _shards(folder: Path, names: list[str]) -> tuple[Path, ...]:
    for name in names:
        if not _SHARD.fullmatch(name) or not os.path.isfile(folder / name):  # noqa: PTH113 - as `is_there`
            raise CorruptEvidenceError(f"{one_line(name, 80)}, which {SUMMARY} names, is not there", hint=_AGAIN)
    return tuple(folder / name for name in names)
