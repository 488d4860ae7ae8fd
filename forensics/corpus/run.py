"""How is a whole corpus audited? What changed, in batches, by an engine, into a ledger; then the rows and the sums.

Each place is audited for itself. Where several tell of one run they are audited together once more, so that two
witnesses are compared as `forensics audit A B` compares them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from forensics.analysis.witnesses import run_of
from forensics.api import Options
from forensics.core.evidence import Severity
from forensics.core.jsonvalue import spell_surrogates
from forensics.corpus.engines import Done, Engine, Workers, processes
from forensics.corpus.job import terms_of
from forensics.corpus.ledger import ALONE, TOGETHER, Entry, Ledger, Stamp
from forensics.corpus.outputs import Outputs
from forensics.corpus.parquet import remove_parquet
from forensics.corpus.places import (
    BATCH_BYTES,
    MOST_TOGETHER,
    batches,
    file_at,
    kept_names,
    together,
)
from forensics.corpus.shards import Shards
from forensics.corpus.stamps import looks, stamp, stamps_of
from forensics.corpus.summary import Summary
from forensics.errors import ConfigurationError, ReportError
from forensics.formats.places import found_places, is_folder, is_there
from forensics.formats.shared.remote import is_url
from forensics.formats.shared.source import STDIN
from forensics.report.compose import policy_name, program
from forensics.report.corpus_documents import CORPUS, CorpusDocument, CorpusFile
from forensics.report.documents import Digest
from forensics.report.jsonout import json_bytes
from forensics.report.outputs import check_outputs, write_output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from forensics.api import Judges
    from forensics.corpus.job import Place, Unit
    from forensics.corpus.result import Result
    from forensics.corpus.stamps import Look
    from forensics.formats.places import Where
    from forensics.formats.shared.remote import Found

LEDGER, SUMMARY = "ledger.sqlite", "summary.json"
_ROUNDS, _LEAST_BATCH = 64, 1 << 20  # so many batches a worker, that none waits long for the last; bytes
_PASSING = {"evidence_changed", "extra_missing", "worker_lost", "fault"}  # errors that another run may not meet


class Progress(NamedTuple):
    """How far it is: places and bytes that were audited, of those that have to be."""

    done: int
    of: int
    bytes: int
    of_bytes: int


class Corpus(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for: how to examine, from which severity on a finding ends with 1, who works, how much at a time,
    and whether its size and time (of an object in a store: what that calls its version) say that a file is unchanged.
    """

    options: Options = Options()
    fail_on: Severity = Severity.HIGH
    engine: Engine | None = None
    batch_bytes: int = BATCH_BYTES
    trust_modified: bool = False


def audit_corpus(
    evidence: Sequence[Where], into: Path, corpus: Corpus, tell: Callable[[Progress], None] = lambda _: None
) -> CorpusDocument:
    """Audit all of the evidence into a folder, and sum up. What an earlier run wrote there is not audited again.

    The folder holds the ledger, the rows (`files-*.jsonl`, `findings-*.jsonl`) and the document (`summary.json`).
    Raises ReportError for a folder that is not one of this command, lies among the evidence or can't be written,
    RuleError for broken rules, and ConfigurationError for standard input and a damaged ledger.
    """
    found = _found(evidence)
    _check(into, evidence, [one.where for one in found if not is_url(one.where)])
    terms = terms_of(corpus.options, corpus.fail_on)
    by = terms.judges()
    known_as = kept_names(one.where for one in found)
    places = _named(found, known_as)
    engine = corpus.engine or processes()
    with Ledger(into / LEDGER, terms.digest, known_as) as ledger, Workers(engine, terms) as workers:
        work = _Work(ledger, workers, corpus, looks(found), tell)
        trusted = work.alone(places)
        known = ((known_as.get(where, where), name) for where, name in places)
        outputs = Outputs(into / SUMMARY, ledger, known, policy_name(by.policy).name)
        if (document := outputs.standing(trusted)) is not None:
            return document
        groups = together(places, _traces(ledger, places))
        near = [group for group in groups if len(group) <= MOST_TOGETHER]
        all_told = work.together(near)
        told = {"apart": sum(map(len, groups)) - sum(map(len, near)), "trusted": trusted}
        document = _written(into, _results(ledger, places, near), by, told)
        if all_told:
            outputs.keep(document)
        return document


def _found(evidence: Sequence[Where]) -> list[Found]:
    """The places, each once, in the order of their paths."""
    if STDIN in map(str, evidence):
        raise ConfigurationError("a corpus can't come from standard input", hint="name folders, globs or files")
    return sorted({file_at(one.where): one for one in reversed(found_places(evidence))}.values())


def _named(found: Sequence[Found], known_as: Mapping[str, str]) -> list[Place]:
    """The places with their names in documents; several of one name are called by where they stand."""
    named = Counter(one.name for one in found)
    return [(one.where, known_as.get(one.where, one.where) if named[one.name] > 1 else one.name) for one in found]


def _check(into: Path, evidence: Sequence[Where], files: Sequence[str]) -> None:
    if is_there(into) and not is_there(into / LEDGER) and (not is_folder(into) or any(into.iterdir())):
        raise ReportError(f"{into.name} is no folder of an audited corpus", hint="name a new or an empty folder")
    check_outputs([into / LEDGER, into / SUMMARY], evidence, force=True, files=files)
    try:
        into.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{into.name} can't be made: {error.strerror}"
        raise ReportError(message, hint="name a folder that may be written") from None


class _Work:
    """Audits what has no result yet, and writes each batch down when it comes."""

    def __init__(
        self,
        ledger: Ledger,
        workers: Workers,
        corpus: Corpus,
        looked: Mapping[str, Look],
        tell: Callable[[Progress], None],
    ) -> None:
        self._ledger, self._workers, self._corpus, self._looked, self._tell = ledger, workers, corpus, looked, tell

    def alone(self, places: Sequence[Place]) -> int:
        """Each place for itself. Returns how many were taken for unchanged without being read."""
        known = self._ledger.stamps()
        now = stamps_of(self._looked, known, trust_marks=self._corpus.trust_modified)
        same = {where for where, one in now.items() if one.evidence and one.evidence == known[where].evidence}
        self._ledger.restamp({where: now[where] for where in same if now[where] != known[where]})
        changed: list[Unit] = [(place,) for place in places if place[0] not in same]
        for results in self._audit(changed):
            self._ledger.keep(Entry(unit[0][0], ALONE, self._stamp(unit, result), result) for unit, result in results)
        return sum(now[where].trusted for where in same)

    def together(self, groups: Sequence[Unit]) -> bool:
        """Each group of places that tell of one run; it stands in the ledger under its first place. Returns whether all
        of them could be audited.
        """
        alone, known = self._ledger.stamps(), self._ledger.stamps(TOGETHER)
        now = {group[0][0]: _joint([alone.get(where) for where, _ in group]) for group in groups}
        changed = [group for group in groups if not _same(now[group[0][0]], known.get(group[0][0]))]
        lost = False
        for results in self._audit(changed):
            stamps = [_NEVER if _is_passing(result) else now[unit[0][0]] for unit, result in results]
            lost |= _NEVER in stamps
            self._ledger.keep(
                Entry(unit[0][0], TOGETHER, one, result) for (unit, result), one in zip(results, stamps, strict=True)
            )
        return not lost

    def _audit(self, units: Sequence[Unit]) -> Iterator[list[Done]]:
        sizes = {where: self._looked[where].size for unit in units for where, _ in unit}
        done = Progress(0, len(units), 0, sum(sizes.values()))
        self._tell(done)
        most = min(self._corpus.batch_bytes, max(done.of_bytes // (_ROUNDS * self._workers.number), _LEAST_BATCH))
        for results in self._workers.audit(batches(units, sizes, most)):
            yield results
            size = sum(sizes[where] for unit, _ in results for where, _ in unit)
            done = done._replace(done=done.done + len(results), bytes=done.bytes + size)
            self._tell(done)

    def _stamp(self, unit: Unit, result: Result) -> Stamp:
        """The stamp of the bytes that were audited, with the look that was taken before; a result that another run may
        not come to does not count as known.
        """
        return _NEVER if _is_passing(result) else stamp(result.digest, self._looked[unit[0][0]])


_NEVER = Stamp("", 0, "")


def _is_passing(result: Result) -> bool:
    return any(row.error is not None and row.error.code in _PASSING for row in result.evidence)


def _same(now: Stamp, known: Stamp | None) -> bool:
    return known is not None and now.evidence != "" and now.evidence == known.evidence


def _joint(stamps: Sequence[Stamp | None]) -> Stamp:
    """The stamp of several places; of no known bytes where one of them is of none."""
    held = [stamp for stamp in stamps if stamp is not None]
    known = len(held) == len(stamps) and all(stamp.evidence for stamp in held)
    return Stamp(",".join(stamp.evidence for stamp in held) if known else "", sum(stamp.size for stamp in held), "")


def _traces(ledger: Ledger, places: Sequence[Place]) -> dict[str, list[str]]:
    return {where: [*filter(None, map(run_of, ledger.traces(where)))] for where, _ in places}


def _results(ledger: Ledger, places: Sequence[Place], groups: Sequence[Unit]) -> Iterator[tuple[Unit, Result]]:
    """Every result with what it is of, in the order of the places; a group stands where its first place does."""
    group_of = {where: group for group in groups for where, _ in group}
    for place in places:
        unit = group_of.get(place[0], (place,))
        if unit[0] != place:
            continue
        yield unit, ledger.result(place[0], TOGETHER if len(unit) > 1 else ALONE)


# the outputs ---------------------------------------------------------------------------------------------------------


def _written(into: Path, results: Iterator[tuple[Unit, Result]], by: Judges, told: Mapping[str, int]) -> CorpusDocument:
    """Rows and sums. What sums there are of an earlier run go first: rows that are half new have none."""
    (into / SUMMARY).unlink(missing_ok=True)
    remove_parquet(into)
    summary, files, findings = Summary(), Shards(into, "files"), Shards(into, "findings")
    for unit, result in results:
        names = [spell_surrogates(name) for _, name in unit]
        summary.add(result, len(unit))
        files.add([_file_row(names, result)])
        findings.add({"files": names, **msgspec.to_builtins(row)} for row in result.findings)
    document = CorpusDocument(
        schema=CORPUS,
        tool=program(),
        policy=policy_name(by.policy),
        rules=Digest(digest=by.rules.digest),
        exit_code=summary.exit_code,
        counts=summary.counts(**told),
        **summary.tallies(),
        tools=summary.tools(),
        findings=summary.findings(),
        rows=files.close(),
        found=findings.close(),
    )
    write_output(into / SUMMARY, json_bytes(document), force=True)
    return document


def _file_row(names: list[str], result: Result) -> CorpusFile:
    return CorpusFile(
        files=names,
        status=result.status,
        exit_code=result.exit_code,
        evidence=result.evidence,
        traces=result.traces,
        findings=len(result.findings),
    )
