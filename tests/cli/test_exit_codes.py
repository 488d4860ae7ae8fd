"""Does each command end with the exit code of the contract, and say on which stream what it should?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from forensics.cli.program import program

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
PAGER, READONLY = str(SAMPLES / "pager.chat.json"), str(SAMPLES / "readonly.responses.json")
DATABASE = str(SAMPLES / "crash.db")
POLICY = str(SAMPLES / "policies" / "readonly.yaml")

CASES = [
    (["audit", PAGER], 1),
    (["audit", READONLY, "--policy", POLICY], 0),
    (["audit", READONLY, "--policy", POLICY, "--fail-on", "info"], 0),
    (["audit", PAGER, "--policy", "inject"], 0),
    (["audit", PAGER, "--policy", "inject", "--fail-on", "info"], 1),
    (["audit", "no-such-file.json"], 3),
    (["audit", PAGER, "no-such-file.json"], 3),
    (["audit", POLICY], 3),
    (["audit"], 2),
    (["audit", PAGER, "--fail-on", "loud"], 2),
    (["audit", PAGER, "--input-format", "nonsense"], 2),
    (["audit", PAGER, "--policy", "no-such-policy.yaml"], 2),
    (["audit", PAGER, "--as-of", "yesterday"], 2),
    (["audit", PAGER, "--trace", "no-such-trace"], 2),
    (["audit", "no-such-scheme://host/trace.json"], 3),
    (["inspect", PAGER], 0),
    (["inspect", PAGER, "--step", "7"], 0),
    (["inspect", PAGER, "--step", "12"], 2),
    (["inspect", "no-such-file.json"], 3),
    (["report", PAGER], 0),
    (["report", PAGER, "--fail-on", "info"], 1),
    (["report", "no-such-file.json"], 3),
    (["report", PAGER, "--to", "report.pdf"], 2),
    (["report"], 2),
    (["classify", PAGER], 0),
    (["classify", "no-such-file.json"], 3),
    (["classify"], 2),
    (["classify", PAGER, "--calls", PAGER], 2),
    (["classify", PAGER, "--tools", PAGER], 3),
    (["audit", PAGER, "--tools", "no-such-file.json"], 3),
    (["graph", PAGER], 0),
    (["graph", PAGER, "--slice", "9", "--back", "--depth", "2", "--to", "dot"], 0),
    (["graph", PAGER, "--slice", "12"], 2),
    (["graph", PAGER, "--back"], 2),
    (["graph", PAGER, "--to", "png"], 2),
    (["graph", PAGER, "--output", PAGER], 2),
    (["graph", "no-such-file.json"], 3),
    (["explain", PAGER, "9"], 0),
    (["explain", PAGER, "12"], 2),
    (["explain", PAGER], 2),
    (["explain", PAGER, "9", "--trace", "no-such-trace"], 2),
    (["explain", "no-such-file.json", "9"], 3),
    (["policy", "draft", PAGER], 0),
    (["policy", "draft", "no-such-file.json"], 3),
    (["policy", "check", POLICY], 0),
    (["policy", "check", PAGER], 2),
    (["rules", "list"], 0),
    (["rules", "list", "--pack", "arguments"], 0),
    (["rules", "list", "--pack", "nonsense"], 2),
    (["rules", "list", "--rules", "no-such-pack.yaml"], 2),
    (["rules", "show", "handle_flow"], 0),
    (["rules", "show", "call.free-text"], 0),
    (["rules", "show", "nonsense"], 2),
    (["rules", "show"], 2),
    (["rules", "lint"], 0),
    (["rules", "lint", POLICY], 1),
    (["rules", "lint", "no-such-pack.yaml"], 2),
    (["rules", "test"], 0),
    (["rules", "test", POLICY], 2),
    (["rules", "test", "no-such-pack.yaml"], 2),
    (["rules"], 2),
    (["formats"], 0),
    (["schema"], 0),
    (["schema", "audit"], 0),
    (["schema", "nonsense"], 2),
    (["nonsense"], 2),
    ([], 2),
    (["--help"], 0),
    (["--version"], 0),
]


@pytest.mark.parametrize(
    ("arguments", "code"),
    CASES,
    ids=lambda value: " ".join(Path(a).name for a in value) if isinstance(value, list) else "",
)
def test_exit_code(arguments: list[str], code: int) -> None:
    result = CliRunner().invoke(program, arguments)
    assert result.exit_code == code, result.output
    if code == 2:
        assert result.stdout == ""
        assert result.stderr


def test_a_cleared_run_that_fails_for_a_finding_says_so() -> None:
    told = CliRunner().invoke(program, ["audit", PAGER, "--policy", "inject", "--fail-on", "info"])
    assert told.exit_code == 1
    assert told.stderr == "note: no trace is refused; the exit code is 1 for a finding at or above info (--fail-on)\n"


def test_a_step_out_of_range_names_the_range() -> None:
    result = CliRunner().invoke(program, ["inspect", PAGER, "--step", "12"])
    assert "the steps are 0 to 11" in result.stderr


def test_a_missing_trace_names_those_that_are_there() -> None:
    result = CliRunner().invoke(program, ["audit", PAGER, "--trace", "other"])
    assert "trace-0" in result.stderr


def test_every_evidence_has_its_row_beside_a_bad_one() -> None:
    result = CliRunner().invoke(program, ["audit", PAGER, "no-such-file.json", "--format", "json"])
    rows = json.loads(result.stdout)["evidence"]
    assert [row["status"] for row in rows] == ["read", "refused"]
    assert rows[1]["error"]["code"] == "evidence_missing"


def test_bad_evidence_says_name_code_message_and_hint() -> None:
    result = CliRunner().invoke(program, ["audit", "no-such-file.json"])
    said = " ".join(result.stdout.split())
    assert said.startswith(
        "NOT READ no-such-file.json: evidence_missing: there is no file no-such-file.json; check the path"
    )


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(program, ["audit", "-"], input=Path(PAGER).read_bytes())
    assert result.exit_code == 1
    assert "pg_8812 minted in step 7 by pager.trigger" in result.stdout


# a fault of ours -----------------------------------------------------------------------------------------------------


class BrokenError(Exception):
    """A fault whose text quotes the trace."""


def test_a_fault_is_reported_without_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_unused: object) -> None:
        raise BrokenError("SECRET of the trace")

    monkeypatch.delenv("FORENSICS_DEBUG", raising=False)
    monkeypatch.setattr("forensics.api.examine", fail)
    result = CliRunner().invoke(program, ["audit", PAGER])
    assert result.exit_code == 70
    assert result.stdout == ""
    assert "fault of forensics; please report it" in result.stderr
    assert "BrokenError in cli/commands/audit.py:" in result.stderr
    assert "Python 3." in result.stderr
    assert "SECRET" not in result.stderr
    assert "Traceback" not in result.stderr


def test_the_traceback_is_there_for_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_unused: object) -> None:
        raise BrokenError("asked\x1b[2J for")

    monkeypatch.setenv("FORENSICS_DEBUG", "1")
    monkeypatch.setattr("forensics.api.examine", fail)
    result = CliRunner().invoke(program, ["audit", PAGER])
    assert result.exit_code == 70
    assert "Traceback" in result.stderr
    assert "\x1b" not in result.stderr


# ends from outside ---------------------------------------------------------------------------------------------------


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "forensics", *arguments]


_LISTENING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
for name in ("SIGHUP", "SIGTERM"):
    if hasattr(signal, name):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
"""
"""Whoever started the tests may ignore a signal (nohup, a job in the background), and their children inherit that."""


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
def test_an_interrupt_ends_with_130_and_nothing_half_written() -> None:
    run = f"{_LISTENING}\nfrom forensics.cli.main import main\nmain()"
    process = subprocess.Popen(
        [sys.executable, "-c", run, "audit", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(b" " * (1 << 21))  # more than a pipe holds: it returns when the command is reading
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == b""
    assert b"Traceback" not in err


_WAITING = (
    _LISTENING
    + """
import sys, time
from forensics.cli.main import main
from forensics.formats.shared.source import Source
copied = Source.copy_to_disk
def copy_and_wait(self):
    path = copied(self)
    print(path, file=sys.stderr, flush=True)
    time.sleep(60)
    return path
Source.copy_to_disk = copy_and_wait
main()
"""
)


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGTERM)])
def test_a_command_that_is_told_to_stop_takes_the_copy_of_a_database_with_it(number: signal.Signals) -> None:
    command = [sys.executable, "-c", _WAITING, "audit", DATABASE]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr is not None
    copy = Path(process.stderr.readline().decode().strip())
    assert copy.exists()
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert not copy.parent.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="pipes as POSIX has them")
def test_a_reader_that_leaves_ends_it_quietly_with_the_code_of_the_verdict() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(_command("audit", PAGER), stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert process.stderr == b""
    assert process.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("said", [("audit", PAGER), ("audit", PAGER, "--format", "json"), ("--help",)])
def test_a_full_disk_behind_standard_output_is_no_fault_of_ours(said: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        process = subprocess.run(_command(*said), stdout=full, stderr=subprocess.PIPE, check=False, text=True)
    assert process.returncode == 2
    assert "can't be written: No space left on device" in process.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a shell as POSIX has it")
@pytest.mark.parametrize(
    ("closed", "said", "code", "told"),
    [
        (">&-", ("audit", PAGER), 2, "there is no standard output to write to"),
        ("<&-", ("inspect", "-"), 3, "there is no standard input to read"),
        ("<&-", ("query", "nowhere", "-"), 2, "There is no standard input"),
        ("2>&-", ("audit", PAGER), 1, ""),
    ],
)
def test_what_was_closed_before_it_began_is_named(closed: str, said: tuple[str, ...], code: int, told: str) -> None:
    process = subprocess.run(
        ["/bin/sh", "-c", f'"$@" {closed}', "sh", *_command(*said)], capture_output=True, check=False, text=True
    )
    assert (process.returncode, told in process.stdout + process.stderr) == (code, True)


@pytest.mark.skipif(sys.platform == "win32", reason="a limit of files as POSIX has it")
@pytest.mark.parametrize(
    ("place", "given"), [(str(SAMPLES / "pager.db"), None), ("-", b'{"type": "user"}\n' * 200_000)]
)
def test_where_there_is_no_room_for_a_private_copy_that_is_named(place: str, given: bytes | None) -> None:
    """A database is copied to a file, and so is what is long: the evidence is not at fault, and neither are we."""
    command = ["/bin/sh", "-c", 'ulimit -f 40; exec "$@"', "sh", *_command("inspect", place)]
    process = subprocess.run(command, input=given, capture_output=True, check=False)
    assert process.returncode == 3
    said = " ".join((process.stdout + process.stderr).decode().split())
    assert "can't be written: File too large" in said
