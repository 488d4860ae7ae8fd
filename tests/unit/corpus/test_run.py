"""Is a corpus audited once, whole and alike, whoever works and whatever happens meanwhile?"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import Options, examine
from forensics.core.jsonvalue import spell_surrogates
from forensics.corpus.engines import Engine, processes, serial
from forensics.corpus.job import audit_batch
from forensics.corpus.run import LEDGER, SUMMARY, Corpus, Progress, audit_corpus
from forensics.errors import ConfigurationError, ReportError

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[3]
SAMPLES = ("pager.db", "pager.otlp.jsonl", "double_charge.chat.json", "readonly.db", "pager.chat.json")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "traces"
    (folder / "below").mkdir(parents=True)
    for name in SAMPLES:
        shutil.copy(ROOT / "samples" / name, folder / name)
    shutil.copy(ROOT / "samples" / "crash.db", folder / "below" / "pager.db")
    (folder / "broken.json").write_bytes(b'{"no": "trace"}')
    return folder


def _outputs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if not path.name.startswith(LEDGER)}


def _audited(engine: Engine) -> tuple[Engine, list[str]]:
    """The engine, and the names that go through it."""
    names: list[str] = []

    class Listening(Executor):
        def __init__(self, workers: int) -> None:
            self._inner = engine.start(workers)

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            names.extend(name for unit in args[0] for _, name in unit)
            return self._inner.submit(fn, *args, **kwargs)

        def shutdown(self, *args: Any, **kwargs: Any) -> None:
            self._inner.shutdown(*args, **kwargs)

    return Engine("listening", Listening, engine.workers), names


def test_the_sums_and_rows_are_those_of_single_audits(corpus: Path, tmp_path: Path) -> None:
    document = audit_corpus([corpus], tmp_path / "out", Corpus(engine=serial()))
    whole = examine(corpus).audit()
    counts = document.counts
    assert (counts.files, counts.refused, counts.traces) == (7, 1, len(whole.traces))
    assert counts.calls == sum(len(trace.calls) for trace in whole.traces)
    assert counts.findings == len(whole.findings)
    rows = [json.loads(line) for line in (tmp_path / "out" / "files-00001.jsonl").read_bytes().splitlines()]
    assert [row["files"][0] for row in rows] == sorted(row["files"][0] for row in rows)
    levels = {trace["id"]: trace["level"] for row in rows for trace in row["traces"]}
    assert levels == {trace.id: trace.verdict.level for trace in whole.traces}
    assert document.exit_code == 3


def test_processes_write_the_same_bytes_as_one(corpus: Path, tmp_path: Path) -> None:
    audit_corpus([corpus], tmp_path / "one", Corpus(engine=serial()))
    audit_corpus([corpus], tmp_path / "two", Corpus(engine=processes(2), batch_bytes=1))
    assert _outputs(tmp_path / "one") == _outputs(tmp_path / "two")


def test_two_files_of_one_run_are_audited_together(corpus: Path, tmp_path: Path) -> None:
    document = audit_corpus([corpus], tmp_path / "out", Corpus(engine=serial()))
    of_one_run = [corpus / "pager.db", corpus / "pager.otlp.jsonl"]
    together = {finding.message for finding in examine(of_one_run).audit().findings}
    told = [json.loads(line) for line in (tmp_path / "out" / "findings-00001.jsonl").read_bytes().splitlines()]
    if document.counts.together:
        assert together <= {row["message"] for row in told}


def test_each_of_the_files_of_one_run_counts_as_it_was_read(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    whole = (ROOT / "samples" / "pager.json").read_bytes()
    (folder / "whole.json").write_bytes(whole)
    (folder / "cut.json").write_bytes(whole[:9000])
    counts = audit_corpus([folder], tmp_path / "out", Corpus(engine=serial())).counts
    assert (counts.together, counts.read, counts.partial, counts.refused) == (2, 1, 1, 0)
    assert counts.bytes == len(whole) + 9000


def test_a_second_run_audits_only_what_changed(corpus: Path, tmp_path: Path) -> None:
    into = tmp_path / "out"
    audit_corpus([corpus], into, Corpus(engine=serial()))
    first = _outputs(into)
    engine, names = _audited(serial())
    audit_corpus([corpus], into, Corpus(engine=engine))
    assert names == []
    assert _outputs(into) == first
    (corpus / "broken.json").write_bytes(b'{"still": "none"}')
    shutil.copy(ROOT / "samples" / "pager.json", corpus / "new.json")
    audit_corpus([corpus], into, Corpus(engine=engine))
    assert {"broken.json", "new.json"} <= set(names)
    assert not set(names) & {"readonly.db", "double_charge.chat.json"}


def test_other_terms_audit_everything_again(corpus: Path, tmp_path: Path) -> None:
    into = tmp_path / "out"
    audit_corpus([corpus], into, Corpus(engine=serial()))
    engine, names = _audited(serial())
    document = audit_corpus([corpus], into, Corpus(engine=engine, options=Options(policy="inject")))
    assert set(SAMPLES) <= set(names)
    assert document.policy.base == "inject"


def test_a_file_that_is_gone_is_gone_from_the_sums(corpus: Path, tmp_path: Path) -> None:
    into = tmp_path / "out"
    before = audit_corpus([corpus], into, Corpus(engine=serial())).counts.files
    (corpus / "readonly.db").unlink()
    assert audit_corpus([corpus], into, Corpus(engine=serial())).counts.files == before - 1


def test_progress_is_told_up_to_the_end(corpus: Path, tmp_path: Path) -> None:
    told: list[Progress] = []
    audit_corpus([corpus], tmp_path / "out", Corpus(engine=serial(), batch_bytes=1), told.append)
    alone = [one for one in told if one.of == 7]
    assert [one.done for one in alone] == list(range(8))
    assert alone[-1].bytes == alone[-1].of_bytes > 0


# workers that die ----------------------------------------------------------------------------------------------------


def _dying(with_it: set[str], raised: Exception) -> Engine:
    """An engine that breaks on every batch that holds one of these names."""

    class Dying(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            if {name for unit in args[0] for _, name in unit} & with_it:
                future.set_exception(raised)
            else:
                future.set_result(fn(*args, **kwargs))
            return future

    return Engine("dying", lambda _: Dying(), 2)


@pytest.mark.parametrize(
    ("raised", "code"), [(BrokenProcessPool("killed"), "worker_lost"), (RecursionError("deep"), "fault")]
)
def test_what_kills_its_worker_is_a_row_and_nothing_else_is_lost(
    corpus: Path, tmp_path: Path, raised: Exception, code: str
) -> None:
    document = audit_corpus([corpus], tmp_path / "out", Corpus(engine=_dying({"readonly.db"}, raised)))
    assert document.counts.files == 7
    assert {(row.name, row.count) for row in document.errors} == {(code, 1), ("format_unknown", 1)}
    engine, names = _audited(serial())
    audit_corpus([corpus], tmp_path / "out", Corpus(engine=engine))
    assert names == ["readonly.db"], "what was lost is tried again the next time"


def test_a_real_worker_that_is_killed_loses_nothing(corpus: Path, tmp_path: Path) -> None:
    victims: list[int] = []

    def kill(_: Progress) -> None:
        if not victims:
            children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
            if not children.exists():
                pytest.skip("this system does not list the children of a process")
            grand = [
                int(pid)
                for child in children.read_text().split()
                for pid in Path(f"/proc/{child}/task/{child}/children").read_text().split()
            ]
            victims.extend(grand[:1])
            for pid in victims:
                os.kill(pid, signal.SIGKILL)

    audit_corpus([corpus], tmp_path / "one", Corpus(engine=serial()))
    told = [0]

    def tell(progress: Progress) -> None:
        told[0] += 1
        if told[0] == 2:  # the first batch came back: workers stand
            kill(progress)

    audit_corpus([corpus], tmp_path / "two", Corpus(engine=processes(2), batch_bytes=1), tell)
    assert _outputs(tmp_path / "one") == _outputs(tmp_path / "two")


def _kept(into: Path) -> int:
    """How many results a ledger holds; -1 where there is none yet."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{into / LEDGER}?mode=ro", uri=True)) as base:
            return int(base.execute("SELECT count(*) FROM results").fetchone()[0])
    except sqlite3.OperationalError:
        return -1


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
@pytest.mark.parametrize("results", [-1, 0, 1, 20])
def test_a_run_that_is_killed_goes_on_where_it_ended(corpus: Path, tmp_path: Path, results: int) -> None:
    for n in range(40):
        shutil.copy(ROOT / "samples" / "pager.chat.json", corpus / f"copy{n:02}.json")
    into = tmp_path / "out"
    told = (
        f"from pathlib import Path; from forensics.corpus.engines import serial; from forensics.corpus.run import *\n\
audit_corpus([{str(corpus)!r}], Path({str(into)!r}), Corpus(engine=serial(), batch_bytes=1))"
    )
    process = subprocess.Popen([sys.executable, "-c", told], cwd=ROOT)
    deadline = time.monotonic() + 60
    while not (into / LEDGER).exists() or _kept(into) < results:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.kill()
    process.wait()
    engine, names = _audited(serial())
    kept = max(_kept(into), 0)
    audit_corpus([corpus], into, Corpus(engine=engine))
    assert len(names) - 2 <= 47 - kept <= len(names), "at most what was not kept, and what tells of one run"
    audit_corpus([corpus], tmp_path / "whole", Corpus(engine=serial()))
    assert _outputs(into) == _outputs(tmp_path / "whole")


# folders -------------------------------------------------------------------------------------------------------------


def test_no_result_is_written_among_the_evidence_or_into_a_folder_of_something_else(
    corpus: Path, tmp_path: Path
) -> None:
    for into in (corpus, corpus / "below"):
        with pytest.raises(ReportError):
            audit_corpus([corpus], into, Corpus(engine=serial()))
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_bytes(b"")
    with pytest.raises(ReportError, match="no folder of an audited corpus"):
        audit_corpus([corpus], other, Corpus(engine=serial()))


@pytest.mark.parametrize("made", ["text", "database"])
def test_a_file_in_the_place_of_the_ledger_is_not_taken_for_one(corpus: Path, tmp_path: Path, made: str) -> None:
    into = tmp_path / "out"
    into.mkdir()
    if made == "text":
        (into / LEDGER).write_bytes(b"x" * 4096)
    else:
        base = sqlite3.connect(into / LEDGER)
        base.execute("CREATE TABLE a (b)")
        base.close()
    with pytest.raises(ConfigurationError, match="no ledger"):
        audit_corpus([corpus], into, Corpus(engine=serial()))


def test_standard_input_is_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        audit_corpus(["-"], tmp_path / "out", Corpus(engine=serial()))


def test_a_worker_with_other_rules_refuses_to_judge(corpus: Path) -> None:
    import msgspec

    from forensics.core.evidence import Severity
    from forensics.corpus.job import terms_of

    terms = msgspec.structs.replace(terms_of(Options(), Severity.HIGH), rules="sha256:other")
    with pytest.raises(ConfigurationError, match="other rules"):
        audit_batch([((str(corpus / "pager.db"), "pager.db"),)], terms)


def test_every_file_of_the_results_is_told_of_in_the_documentation(corpus: Path, tmp_path: Path) -> None:
    audit_corpus([corpus], tmp_path / "out", Corpus(engine=serial()))
    told = (ROOT / "docs/how-to/audit-a-corpus.md").read_text(encoding="utf-8")
    assert [path.name for path in (tmp_path / "out").iterdir() if f"| `{path.name}`" not in told] == []


def test_the_summary_is_the_document(corpus: Path, tmp_path: Path) -> None:
    document = audit_corpus([corpus], tmp_path / "out", Corpus(engine=serial()))
    written = json.loads((tmp_path / "out" / SUMMARY).read_bytes())
    assert written["counts"]["files"] == document.counts.files
    assert written["schema"] == "forensics/corpus/v2"


def test_what_rested_on_an_entry_that_is_over_by_now_is_judged_anew(tmp_path: Path) -> None:
    trace = tmp_path / "traces" / "run.jsonl"
    trace.parent.mkdir()
    call = {"type": "tool_call", "id": "c0", "name": "frobnicate", "args": {}}
    steps = [{"type": "user", "text": "hi"}, call, {"type": "tool_result", "call_id": "c0", "result": "ok"}]
    trace.write_text("\n".join(map(json.dumps, steps)), "utf-8")
    entry = {"tool": "frobnicate", "effect": "none", "result": "stable", "because": "b", "by": "me"}
    dated = {"schema": "forensics/policy/v1", "name": "p", "tools": [{**entry, "expires": "2027-03-01"}]}
    policy = tmp_path / "policy.yaml"
    policy.write_text(json.dumps(dated), "utf-8")
    cleared = []
    for day in ("2027-02-28", "2027-03-01", "2027-03-02", "2027-03-03", "2027-02-28"):
        options = Options(policy=policy, as_of=datetime.date.fromisoformat(day))
        engine, names = _audited(serial())
        document = audit_corpus([trace.parent], tmp_path / "out", Corpus(options=options, engine=engine))
        whole = examine(trace, options).audit()
        assert document.counts.cleared == sum(one.verdict.cleared for one in whole.traces)
        cleared.append((document.counts.cleared, len(names)))
    assert [count for count, _ in cleared] == [1, 1, 0, 0, 1]
    assert [audited for _, audited in cleared] == [1, 0, 1, 0, 1]  # a day on which nothing ended asks for no work


@pytest.mark.parametrize("engine", [serial(), processes(1)], ids=["serial", "process"])
def test_no_name_of_a_file_stops_a_corpus(tmp_path: Path, engine: Engine) -> None:
    names = [b"a.json", b"-a.json", b"=a.json", b"[a]*.json", b"new\nline.json", b"esc\x1b[31m.json", b"sur\xff.json"]
    (tmp_path / "traces").mkdir()
    for name in names:
        shutil.copy(ROOT / "samples" / "pager.chat.json", tmp_path / "traces" / os.fsdecode(name))
    (tmp_path / "traces" / "empty.json").touch()
    for _ in range(2):
        document = audit_corpus([tmp_path / "traces"], tmp_path / "out", Corpus(engine=engine))
        assert (document.counts.files, document.counts.read, document.counts.refused) == (len(names) + 1, len(names), 1)
    rows = [json.loads(line) for line in (tmp_path / "out" / "files-00001.jsonl").read_bytes().splitlines()]
    whole = examine(tmp_path / "traces").audit()
    assert [row["files"] for row in rows] == [[spell_surrogates(row.name)] for row in whole.evidence]


def test_a_file_that_is_named_in_two_ways_counts_once_and_a_link_to_one_as_in_an_audit(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    shutil.copy(ROOT / "samples" / "pager.chat.json", folder / "a.json")
    (folder / "link.json").symlink_to("a.json")
    (tmp_path / "other").symlink_to("traces")
    given: list[str | Path] = [folder, tmp_path / "other", f"{folder}/../traces/a.json", f"{tmp_path}//traces/a.json"]
    document = audit_corpus(given, tmp_path / "out", Corpus(engine=serial()))
    assert document.counts.files == len(examine(folder).examined) == 2


@pytest.mark.parametrize("into", ["a file", "a file/below", "/proc/none", "a folder"])
def test_a_place_where_no_results_can_stand_is_said_before_any_work(corpus: Path, tmp_path: Path, into: str) -> None:
    (tmp_path / "a file").touch()
    (tmp_path / "a folder" / LEDGER).mkdir(parents=True)
    engine, names = _audited(serial())
    with pytest.raises((ReportError, ConfigurationError)):
        audit_corpus([corpus], tmp_path / into, Corpus(engine=engine))
    assert names == []
