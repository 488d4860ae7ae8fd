"""Which rows stand in a result folder? Each file with its findings, one after the other, so that none has to be held.

Both kinds of rows stand in the order of the corpus, and a row of a file says how many findings are its own: what does
not go on together was not written together.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from forensics.core.evidence import Severity
from forensics.core.verdict import Level
from forensics.errors import CorruptEvidenceError
from forensics.report.corpus_documents import CorpusFile, CorpusFinding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from forensics.corpus.folder import Results

_Row = TypeVar("_Row")
_LEVELS = {level.value for level in Level}
_STATUS = {"read", "partial", "refused"}
_SEVERITIES = {severity.value for severity in Severity}


class Told(NamedTuple):
    """A row of a file with its findings."""

    file: CorpusFile
    findings: list[CorpusFinding]


def told(results: Results) -> Iterator[Told]:
    """Every row of a file, in the order of the corpus. Raises CorruptEvidenceError for rows that are none."""
    found = _rows(results.findings, msgspec.json.Decoder(CorpusFinding))
    for file in _rows(results.files, msgspec.json.Decoder(CorpusFile)):
        findings = list(islice(found, file.findings))
        if len(findings) != file.findings or any(one.files != file.files for one in findings):
            raise _broken("the findings are not those of the files")
        if not _is_known(file, findings):
            raise _broken("a row of a file is none")
        yield Told(file, findings)
    if next(found, None) is not None:
        raise _broken("there are findings of no file")


def _is_known(file: CorpusFile, findings: Sequence[CorpusFinding]) -> bool:
    """Whether the words that are counted are words of this program."""
    return (
        bool(file.files)
        and {trace.level for trace in file.traces} <= _LEVELS
        and {row.status for row in file.evidence} <= _STATUS
        and {one.severity for one in findings} <= _SEVERITIES
    )


def _rows(paths: Sequence[Path], decoder: msgspec.json.Decoder[_Row]) -> Iterator[_Row]:
    for path in paths:
        try:
            with path.open("rb") as lines:
                for line in lines:
                    yield decoder.decode(line)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise _broken(f"{path.name} can't be read: {error}") from None


def _broken(message: str) -> CorruptEvidenceError:
    return CorruptEvidenceError(message, hint="audit the corpus again with `forensics audit EVIDENCE --into`")
