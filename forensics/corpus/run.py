"""How is a whole corpus audited? What changed, in batches, by an engine, into a ledger; then the rows and the sums.

Each place is audited for itself. Where several tell of one run they are audited together once more, so that two
witnesses are compared as `forensics audit A B` compares them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from forensics.analysis.witnesses import run_of
from forensics.api import Options, judges
from forensics.core.evidence import Severity
from forensics.core.jsonvalue import spell_surrogates
from forensics.corpus.engines import Engine, processes, run
from forensics.corpus.job import terms_of
from forensics.corpus.ledger import ALONE, TOGETHER, Entry, Ledger, Stamp
from forensics.corpus.places import BATCH_BYTES, MOST_TOGETHER, batches, file_at, stamp_of, together
from forensics.corpus.shards import Shards
from forensics.corpus.summary import Summary
from forensics.errors import ConfigurationError, ReportError
from forensics.formats.places import is_folder, is_there, named_places
from forensics.formats.shared.source import STDIN
from forensics.report.compose import policy_name, program
from forensics.report.corpus_documents import CORPUS, CorpusDocument
from forensics.report.documents import Digest
from forensics.report.jsonout import json_bytes
from forensics.report.outputs import check_outputs, write_output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from forensics.corpus.job import Place, Terms, Unit
    from forensics.corpus.result import Result
    from forensics.formats.places import Where

LEDGER, SUMMARY = "ledger.sqlite", "summary.json"


class Progress(NamedTuple):
    """How far it is: places and bytes that were audited, of those that have to be."""

    done: int
    of: int
    bytes: int
    of_bytes: int


class Corpus(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for: how to examine, from which severity on a finding ends with 1, who works, how much at a time,
    and whether size and time of a file say that it is unchanged.
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
    Raises ReportError for a folder that is not one of this command or lies among the evidence, RuleError for broken
    rules, and ConfigurationError for standard input.
    """
    places = _places(evidence)
    _check(into, evidence)
    terms = terms_of(corpus.options, corpus.fail_on)
    with Ledger(into / LEDGER, terms.digest) as ledger:
        work = _Work(ledger, terms, corpus, tell)
        work.alone(places)
        groups = together(places, _traces(ledger, places))
        near = [group for group in groups if len(group) <= MOST_TOGETHER]
        work.together(near)
        apart = sum(len(group) for group in groups if len(group) > MOST_TOGETHER)
        return _written(into, _results(ledger, places, near), corpus, apart)


def _places(evidence: Sequence[Where]) -> list[Place]:
    if STDIN in map(str, evidence):
        raise ConfigurationError("a corpus can't come from standard input", hint="name folders, globs or files")
    places = sorted({file_at(where): (where, name) for where, name in reversed(named_places(evidence))}.values())
    named = Counter(name for _, name in places)
    return [(where, where if named[name] > 1 else name) for where, name in places]


def _check(into: Path, evidence: Sequence[Where]) -> None:
    if is_there(into) and not is_there(into / LEDGER) and (not is_folder(into) or any(into.iterdir())):
        raise ReportError(f"{into.name} is no folder of an audited corpus", hint="name a new or an empty folder")
    check_outputs([into / LEDGER, into / SUMMARY], evidence, force=True)
    try:
        into.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{into.name} can't be made: {error.strerror}"
        raise ReportError(message, hint="name a folder that may be written") from None


class _Work:
    """Audits what has no result yet, and writes each batch down when it comes."""

    def __init__(self, ledger: Ledger, terms: Terms, corpus: Corpus, tell: Callable[[Progress], None]) -> None:
        self._ledger, self._terms, self._corpus, self._tell = ledger, terms, corpus, tell
        self._engine = corpus.engine or processes()

    def alone(self, places: Sequence[Place]) -> None:
        """Each place for itself."""
        known = self._ledger.stamps()
        trust = self._corpus.trust_modified
        now = {where: stamp_of(where, known.get(where), trust_modified=trust) for where, _ in places}
        same = {where for where, stamp in now.items() if stamp.evidence and _same(stamp, known.get(where))}
        self._ledger.restamp({where: now[where] for where in same if now[where] != known[where]})
        self._audit([(place,) for place in places if place[0] not in same], now, ALONE)

    def together(self, groups: Sequence[Unit]) -> None:
        """Each group of places that tell of one run; it stands in the ledger under its first place."""
        alone, known = self._ledger.stamps(), self._ledger.stamps(TOGETHER)
        now = {group[0][0]: _joint([alone.get(where) for where, _ in group]) for group in groups}
        changed = [group for group in groups if not _same(now[group[0][0]], known.get(group[0][0]))]
        self._audit(changed, now, TOGETHER)

    def _audit(self, units: Sequence[Unit], stamps: dict[str, Stamp], stage: str) -> None:
        sizes = {where: stamps[where].size if where in stamps else 0 for unit in units for where, _ in unit}
        done = Progress(0, len(units), 0, sum(sizes.values()))
        self._tell(done)
        for results in run(self._engine, batches(units, sizes, self._corpus.batch_bytes), self._terms):
            self._ledger.keep(_entry(unit, stage, stamps[unit[0][0]], result) for unit, result in results)
            size = sum(sizes[where] for unit, _ in results for where, _ in unit)
            done = done._replace(done=done.done + len(results), bytes=done.bytes + size)
            self._tell(done)


def _entry(unit: Unit, stage: str, stamp: Stamp, result: Result) -> Entry:
    """A result with its stamp; one of other bytes than were stamped (changed in between) will not count as known."""
    meant = stage == TOGETHER or stamp.evidence.partition("+")[0] == result.digest
    return Entry(unit[0][0], stage, stamp if meant else Stamp("", 0, 0), result)


def _same(now: Stamp, known: Stamp | None) -> bool:
    return known is not None and (now.evidence, now.size) == (known.evidence, known.size)


def _joint(stamps: Sequence[Stamp | None]) -> Stamp:
    held = [stamp for stamp in stamps if stamp is not None]
    return Stamp(",".join(stamp.evidence for stamp in held), sum(stamp.size for stamp in held), 0)


def _traces(ledger: Ledger, places: Sequence[Place]) -> dict[str, list[str]]:
    return {where: [*filter(None, (run_of(one.id) for one in ledger.result(where).traces))] for where, _ in places}


def _results(ledger: Ledger, places: Sequence[Place], groups: Sequence[Unit]) -> Iterator[tuple[Unit, Result]]:
    """Every result with what it is of, in the order of the places; a group stands where its first place does."""
    group_of = {where: group for group in groups for where, _ in group}
    for place in places:
        unit = group_of.get(place[0], (place,))
        if unit[0] != place:
            continue
        yield unit, ledger.result(place[0], TOGETHER if len(unit) > 1 else ALONE)


# the outputs ---------------------------------------------------------------------------------------------------------


def _written(into: Path, results: Iterator[tuple[Unit, Result]], corpus: Corpus, apart: int) -> CorpusDocument:
    summary, files, findings = Summary(), Shards(into, "files"), Shards(into, "findings")
    for unit, result in results:
        names = [spell_surrogates(name) for _, name in unit]
        summary.add(result, len(unit))
        files.add([_file_row(names, result)])
        findings.add({"files": names, **msgspec.to_builtins(row)} for row in result.findings)
    by = judges(corpus.options)
    document = CorpusDocument(
        schema=CORPUS,
        tool=program(),
        policy=policy_name(by.policy),
        rules=Digest(digest=by.rules.digest),
        exit_code=summary.exit_code,
        counts=summary.counts(apart),
        **summary.tallies(),
        tools=summary.tools(),
        findings=summary.findings(),
        rows=files.close(),
        found=findings.close(),
    )
    write_output(into / SUMMARY, json_bytes(document), force=True)
    return document


def _file_row(names: list[str], result: Result) -> dict[str, object]:
    return {
        "files": names,
        "status": result.status,
        "exit_code": result.exit_code,
        "evidence": result.evidence,
        "traces": result.traces,
        "findings": len(result.findings),
    }
