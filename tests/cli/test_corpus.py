"""Does `forensics audit --into` have the work done where it was told, and say so where that is nowhere?"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--engine", "ray", "--scheduler", "tcp://127.0.0.1:1"), b"--scheduler belongs to --engine dask"),
        (("--engine", "dask", "--address", "127.0.0.1:1"), b"--address belongs to --engine ray"),
        (("--scheduler", "tcp://127.0.0.1:1"), b"--scheduler belongs to --engine dask"),
        (("--engine", "spark"), b"'spark' is not one of"),
    ],
)
def test_an_option_without_its_engine_is_an_error_of_use(
    forensics: Run, samples: Path, tmp_path: Path, given: tuple[str, ...], says: bytes
) -> None:
    ended = forensics("audit", samples, "--into", tmp_path / "out", *given)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert says in ended.stderr


def test_a_scheduler_without_a_corpus_is_an_error_of_use(forensics: Run, samples: Path) -> None:
    ended = forensics("audit", samples, "--engine", "dask", "--scheduler", "tcp://127.0.0.1:1")
    assert ended.returncode == 2
    assert b"belong to --into" in ended.stderr


def test_a_scheduler_that_does_not_answer_is_said_before_any_work(
    forensics: Run, samples: Path, tmp_path: Path
) -> None:
    pytest.importorskip("distributed", reason="needs the extra dask")
    with socket.socket() as shut:
        shut.bind(("127.0.0.1", 0))
        address = "tcp://{}:{}".format(*shut.getsockname())
        ended = forensics("audit", samples, "--into", tmp_path / "out", "--engine", "dask", "--scheduler", address)
    assert (ended.returncode, ended.stdout) == (3, b"")
    assert ended.stderr.startswith(f"Error: nobody answers at {address}: ".encode())
    assert not (tmp_path / "out").exists()


def test_the_numbers_of_tools_stand_below_their_names(forensics: Run, samples: Path, tmp_path: Path) -> None:
    ended = forensics("audit", samples / "pager.db", "--into", tmp_path / "out", "--engine", "serial")
    lines = ended.stdout.decode().splitlines()
    title = next(number for number, line in enumerate(lines) if line.startswith("Tools,"))
    named, row = lines[title + 1], lines[title + 2]
    assert named.split() == ["refused", "calls", "class", "tool"]
    assert (row[:10].strip().isdigit(), row[10:18].strip().isdigit()) == (True, True)
    assert [named.index(word) + len(word) for word in ("refused", "calls")] == [10, 18]


def test_the_name_of_a_tool_is_shown_whole_and_what_was_not_read_can_be_asked_for(
    forensics: Run, tmp_path: Path
) -> None:
    tool = "mcp__a_server_with_a_long_name__a_tool_with_a_long_one"
    traces = tmp_path / "traces"
    traces.mkdir()
    (traces / "run.jsonl").write_text(
        '{"type": "user", "text": "go"}\n{"type": "tool_call", "id": "c", "name": "' + tool + '", "args": {}}\n'
        '{"type": "tool_result", "call_id": "c", "result": "ok"}\n'
    )
    (traces / "no.json").write_text("hello")
    told = forensics("audit", traces, "--into", tmp_path / "out").stdout.decode()
    assert tool in told
    assert all(len(line) <= 80 for line in told.splitlines())
    assert "forensics query RESULTS --question unread" in told


@pytest.mark.skipif(os.name == "nt", reason="a signal is sent to a group of processes")
def test_an_interrupt_ends_at_once_and_says_what_is_kept(samples: Path, tmp_path: Path) -> None:
    corpus, into = tmp_path / "corpus", tmp_path / "out"
    corpus.mkdir()
    trace = (samples / "pager.langsmith.json").read_bytes()
    for number in range(400):
        (corpus / f"{number}.json").write_bytes(trace)
    # a job in the background of a shell ignores interrupts, and so would what it starts
    begin = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    given = [
        sys.executable,
        "-c",
        f"{begin}; from forensics.cli.main import main; main()",
        "audit",
        str(corpus),
        "--into",
        str(into),
        "--workers",
        "2",
    ]
    with subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as run:
        while not (into / "ledger.sqlite").exists() and run.poll() is None:
            time.sleep(0.02)
        os.killpg(run.pid, signal.SIGINT)
        _, said = run.communicate(timeout=120)
    assert run.returncode == 130, said
    assert b"the same command goes on from there" in said
    assert said.endswith(b"Interrupted: no file was left half written.\n")
    assert b"Traceback" not in said
