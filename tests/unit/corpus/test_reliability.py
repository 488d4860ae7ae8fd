"""What happens to an audited corpus that is killed, has no room, or finds its ledger old, damaged or in use? Nothing is
lost, nothing is counted twice, and whoever asked is told in one sentence."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.corpus.engines import serial
from forensics.corpus.ledger import Ledger
from forensics.corpus.run import LEDGER, SUMMARY, Corpus, audit_corpus
from forensics.errors import ConfigurationError, ForensicsError, ReportError

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
SERIAL = Corpus(engine=serial())
PATIENCE = 120  # seconds, on a machine that has much else to do


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "traces"
    folder.mkdir()
    for name in ("pager.chat.json", "double_charge.chat.json", "pager.otlp.jsonl"):
        shutil.copy(ROOT / "samples" / name, folder / name)
    (folder / "broken.json").write_bytes(b'{"no": "trace"}')
    return folder


def _outputs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if not path.name.startswith(LEDGER)}


# killed --------------------------------------------------------------------------------------------------------------


def _session(leader: int) -> list[int]:
    """The processes of a session, by /proc."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def _until(holds: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _kept(into: Path) -> int:
    """How many results a ledger holds."""
    with contextlib.closing(sqlite3.connect(f"file:{into / LEDGER}?mode=ro", uri=True)) as base:
        return int(base.execute("SELECT count(*) FROM results").fetchone()[0])


_KILLED = """
import os, signal, sys
from pathlib import Path
from forensics.corpus.engines import processes
from forensics.corpus.run import Corpus, audit_corpus
told, at = [], int(sys.argv[3])
def tell(progress):
    told.append(progress)
    if len(told) == at:
        os.kill(os.getpid(), signal.SIGKILL)
if __name__ == "__main__":
    audit_corpus([sys.argv[1]], Path(sys.argv[2]), Corpus(engine=processes(2), batch_bytes=1), tell)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
def test_a_run_with_a_pool_may_be_killed_again_and_again_and_leaves_no_worker(corpus: Path, tmp_path: Path) -> None:
    """With the first file, nine files later, and when each was audited by itself. Each run tells once of what there is
    to do, and then of every file that is done.
    """
    files = 24
    for n in range(files - 4):
        shutil.copy(ROOT / "samples" / "pager.chat.json", corpus / f"copy{n:02}.json")
    script, into = tmp_path / "run.py", tmp_path / "out"
    script.write_text(_KILLED, "utf-8")
    counted = [0]
    for moment in (2, 10, 1 + (files - 1 - 9) + 1):
        command = [sys.executable, str(script), str(corpus), str(into), f"{moment}"]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}"}
        running = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
        assert running.wait(PATIENCE) == -signal.SIGKILL
        _until(lambda leader=running.pid: not _session(leader))
        counted.append(_kept(into))
    assert counted == sorted(counted)
    audit_corpus([corpus], into, SERIAL)
    audit_corpus([corpus], tmp_path / "whole", SERIAL)
    assert _outputs(into) == _outputs(tmp_path / "whole")
    assert counted[-1] <= _kept(into) == _kept(tmp_path / "whole")


# no room -------------------------------------------------------------------------------------------------------------


_NO_ROOM = """
import json, resource, sys
from pathlib import Path
from forensics.corpus.engines import serial
from forensics.corpus.run import Corpus, audit_corpus
from forensics.errors import ForensicsError
corpus, into, steps = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
said = []
for step in range(steps):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(600 * 1.45**step), resource.RLIM_INFINITY))
    try:
        audit_corpus([corpus], into / str(step), Corpus(engine=serial(), batch_bytes=1))
        said.append([""])
    except ForensicsError as error:
        said.append([type(error).__name__, error.message, error.hint])
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(json.dumps(said))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of a file")
def test_where_there_is_no_room_the_error_says_so_and_the_next_run_goes_on(corpus: Path, tmp_path: Path) -> None:
    """At twenty sizes that no file may exceed: each first ends at another moment."""
    steps = 20
    command = [sys.executable, "-c", _NO_ROOM, str(corpus), str(tmp_path / "out"), f"{steps}"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": f"{ROOT}"}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    said = json.loads(done.stdout)
    assert {one[0] for one in said} == {"", "ReportError"}
    assert all("can't be written" in one[1] for one in said if one[0])
    audit_corpus([corpus], tmp_path / "whole", SERIAL)
    for step in range(steps):
        audit_corpus([corpus], tmp_path / "out" / f"{step}", SERIAL)
        assert _outputs(tmp_path / "out" / f"{step}") == _outputs(tmp_path / "whole"), step


def test_a_folder_that_may_not_be_written_is_one_sentence(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit_corpus([corpus], tmp_path / "out", SERIAL)
    (corpus / "broken.json").write_bytes(b"{}")
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **more: connect(f"file:{path}?mode=ro", uri=True, **more))
    with pytest.raises(ReportError, match="can't be written"):
        audit_corpus([corpus], tmp_path / "out", SERIAL)


def test_a_ledger_in_use_is_one_sentence(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit_corpus([corpus], tmp_path / "out", SERIAL)
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **more: connect(path, timeout=0, **more))
    with contextlib.closing(connect(tmp_path / "out" / LEDGER, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ReportError, match="in use"):
            audit_corpus([corpus], tmp_path / "out", SERIAL)


def test_one_run_at_a_time_has_the_folder(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    into = tmp_path / "out"
    audit_corpus([corpus], into, SERIAL)
    before = _outputs(into)
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **more: connect(path, timeout=0, **more))
    with Ledger(into / LEDGER, "of the other run"), pytest.raises(ReportError, match=r"out/ledger\.sqlite is in use"):
        audit_corpus([corpus], into, SERIAL)
    assert _outputs(into) == before
    assert audit_corpus([corpus], into, SERIAL).counts.files == 4  # it can be had again


# another version, and damage -----------------------------------------------------------------------------------------


def _change(ledger: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(ledger, isolation_level=None)) as base:
        base.execute("PRAGMA journal_mode = DELETE")
        for statement in statements:
            base.execute(statement)


def test_a_ledger_of_an_older_version_is_begun_anew(corpus: Path, tmp_path: Path) -> None:
    audit_corpus([corpus], tmp_path / "out", SERIAL)
    written = _outputs(tmp_path / "out")
    old = "CREATE TABLE results (place BLOB, evidence TEXT, terms TEXT, result BLOB)"
    row = "INSERT INTO results VALUES (x'61', 'e', 't', x'7b7d')"
    drop = [f"DROP TABLE {name}" for name in ("results", "stamps", "outputs")]
    _change(tmp_path / "out" / LEDGER, *drop, old, row, "PRAGMA user_version = 2")
    audit_corpus([corpus], tmp_path / "out", SERIAL)
    assert _outputs(tmp_path / "out") == written
    assert _kept(tmp_path / "out") == 4


def test_a_ledger_of_a_newer_version_is_left_alone(corpus: Path, tmp_path: Path) -> None:
    audit_corpus([corpus], tmp_path / "out", SERIAL)
    _change(tmp_path / "out" / LEDGER, "PRAGMA user_version = 99")
    with pytest.raises(ConfigurationError, match="newer version"):
        audit_corpus([corpus], tmp_path / "out", SERIAL)
    assert _kept(tmp_path / "out") == 4


def _damages(ledger: Path) -> Iterator[bytes]:
    """The file cut and overwritten at many places."""
    _change(ledger)
    whole = ledger.read_bytes()
    for at in range(0, len(whole), max(len(whole) // 12, 1)):
        yield whole[:at]
        yield whole[:at] + b"\xa5" * 512 + whole[at + 512 :]


def test_a_damaged_ledger_is_one_sentence_or_nothing_counts(corpus: Path, tmp_path: Path) -> None:
    into = tmp_path / "out"
    audit_corpus([corpus], into, SERIAL)
    written = _outputs(into)
    hints: list[str] = []
    for damaged in _damages(into / LEDGER):
        (into / SUMMARY).unlink(missing_ok=True)  # so that everything that was kept is asked for
        for beside in into.glob(f"{LEDGER}*"):
            beside.unlink()
        (into / LEDGER).write_bytes(damaged)
        try:
            audit_corpus([corpus], into, SERIAL)
        except ForensicsError as error:
            hints.append(error.hint)
        else:
            assert _outputs(into) == written
    assert hints
    assert all(hints)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE results SET result = x'7b7d'",
        "UPDATE results SET result = CAST(replace(result, 'irreversible', 'none') AS BLOB)",
        "UPDATE results SET result = (SELECT max(result) FROM results)",  # of another place
        "UPDATE results SET result = x''",
    ],
)
def test_a_result_that_is_not_what_was_written_is_damage(corpus: Path, tmp_path: Path, change: str) -> None:
    audit_corpus([corpus], tmp_path / "out", SERIAL)
    (tmp_path / "out" / SUMMARY).unlink()
    _change(tmp_path / "out" / LEDGER, change)
    with pytest.raises(ConfigurationError, match="damaged"):
        audit_corpus([corpus], tmp_path / "out", SERIAL)


def test_what_was_kept_of_the_outputs_is_damaged(corpus: Path, tmp_path: Path) -> None:
    audit_corpus([corpus], tmp_path / "out", SERIAL)
    _change(tmp_path / "out" / LEDGER, "UPDATE outputs SET told = substr(told, 1, length(told) - 1)")
    with pytest.raises(ConfigurationError, match="damaged"):
        audit_corpus([corpus], tmp_path / "out", SERIAL)


# the files of the results --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [SUMMARY, "files-00001.jsonl", "findings-00001.jsonl"])
@pytest.mark.parametrize("done", ["changed", "removed"])
def test_results_that_were_changed_or_removed_are_written_again(
    corpus: Path, tmp_path: Path, name: str, done: str
) -> None:
    into = tmp_path / "out"
    audit_corpus([corpus], into, SERIAL)
    written = _outputs(into)
    times = {path.name: path.stat().st_mtime_ns for path in into.iterdir()}
    audit_corpus([corpus], into, SERIAL)
    assert {other: (into / other).stat().st_mtime_ns for other in written} == {key: times[key] for key in written}
    if done == "removed":
        (into / name).unlink()
    else:
        (into / name).write_bytes(b"{}\n")
    audit_corpus([corpus], into, SERIAL)
    assert _outputs(into) == written


def test_what_was_kept_counts_for_the_places_and_names_of_that_run_alone(corpus: Path, tmp_path: Path) -> None:
    into = tmp_path / "out"
    whole = audit_corpus([corpus], into, SERIAL)
    one = audit_corpus([corpus / "pager.chat.json"], into, SERIAL)
    assert (whole.counts.files, one.counts.files) == (4, 1)
    shutil.copytree(corpus, tmp_path / "other")
    again = audit_corpus([corpus, tmp_path / "other"], into, SERIAL)
    assert again.counts.files == 8
    names = [json.loads(line)["files"] for line in (into / "files-00001.jsonl").read_bytes().splitlines()]
    assert f"{corpus / 'broken.json'}" in {name for files in names for name in files}


def test_a_ledger_keeps_one_result_a_place(tmp_path: Path) -> None:
    from forensics.corpus.ledger import ALONE, Entry, Stamp
    from forensics.corpus.result import unread

    rows = [unread("a", "fault", message, "") for message in ("one", "other")]
    with Ledger(tmp_path / LEDGER, "terms") as ledger:
        for row in (*rows, rows[1]):
            ledger.keep([Entry("a", ALONE, Stamp("digest", 1, "mark"), row)])
            ledger.wrote("those", b"{}")
            assert ledger.outputs("those") == b"{}"
        ledger.keep([Entry("a", ALONE, Stamp("digest", 1, "mark"), rows[1])])
        assert ledger.outputs("those") == b"{}", "the same result again changes nothing"
        ledger.keep([Entry("a", ALONE, Stamp("digest", 1, "mark"), rows[0])])
        assert ledger.outputs("those") is None
        assert ledger.result("a") == rows[0]
        assert ledger.stamps() == {"a": Stamp("digest", 1, "mark")}
    with Ledger(tmp_path / LEDGER, "other terms") as ledger:
        assert ledger.stamps() == {}
        with pytest.raises(KeyError):
            ledger.result("a")
