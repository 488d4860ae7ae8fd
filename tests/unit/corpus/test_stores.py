"""Is a corpus in a store audited as the same files in a folder are, and is nothing told of how it was reached?

The store is a server of S3's interface on loopback (moto). Nothing of this machine's settings is consulted: no proxy,
no configuration and no credentials of a user.
"""

from __future__ import annotations

import http.server
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics.api import examine
from forensics.corpus.engines import Engine, serial
from forensics.corpus.run import LEDGER, Corpus, audit_corpus
from forensics.formats.shared import remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import BinaryIO

s3fs = pytest.importorskip("s3fs", reason="the extra s3 is not installed")
moto = pytest.importorskip("moto.server", reason="no server of S3's interface is installed (moto, flask)")

ROOT = Path(__file__).parents[3]
SAMPLES = ("pager.chat.json", "pager.otlp.jsonl", "double_charge.chat.json")
BUCKET = "traces"
NAMES = ("a.json", "below/b%20c.json", "below/[d]*.json", "below/e?f#g.json", "späte/r.jsonl")
pytestmark = pytest.mark.filterwarnings(
    "ignore:datetime.datetime.utc:DeprecationWarning",  # botocore on Python 3.12 and later
)


def _settings(address: str) -> dict[str, str]:
    """All that the client is told, in place of what this machine has."""
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "reader",
        "AWS_SECRET_ACCESS_KEY": "hush-hush",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "*",
    }


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def store(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An empty bucket, and a client that may do everything."""
    for name in [name for name in os.environ if name.startswith("AWS_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    for name, value in _settings(address).items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    system = s3fs.S3FileSystem(use_listings_cache=False)
    system.mkdir(BUCKET)
    yield system
    system.call_s3("delete_bucket_policy", Bucket=BUCKET)
    system.rm(BUCKET, recursive=True)
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A corpus in a folder: names that a URL would not like, a database with its log, a file that is no trace."""
    base = tmp_path / "corpus"
    for n, name in enumerate(NAMES):
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "samples" / SAMPLES[n % len(SAMPLES)], base / name)
    (base / "broken.json").write_bytes(b'{"no": "trace"}')
    (base / ".hidden.json").write_bytes(b"{}")
    _database(base / "local.db")
    return base


def _database(path: Path) -> None:
    """A database of which the last rows stand in its log alone."""
    shutil.copy(ROOT / "samples" / "pager.db", path)
    base = sqlite3.connect(path)
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("UPDATE spans SET status = 'ERROR'")
    base.commit()
    log = path.with_name(f"{path.name}-wal")
    kept = (path.read_bytes(), log.read_bytes())
    base.close()
    path.write_bytes(kept[0])
    log.write_bytes(kept[1])
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)


def _upload(system: Any, folder: Path, prefix: str = "runs") -> str:
    for path in folder.rglob("*"):
        if path.is_file():
            system.pipe_file(f"{BUCKET}/{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())
    return f"s3://{BUCKET}/{prefix}"


def _outputs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if not path.name.startswith(LEDGER)}


def _rows(into: Path) -> dict[str, Any]:
    rows = map(json.loads, (into / "files-00001.jsonl").read_bytes().splitlines())
    return {name: row for row in rows for name in row["files"]}


def _before(act: Callable[[str], object]) -> Engine:
    """This process, which does something before it audits a place."""

    class Acting(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            for unit in args[0]:
                act(unit[0][1])
            future.set_result(fn(*args, **kwargs))
            return future

    return Engine("acting", lambda _: Acting(), 1)


def test_two_processes_write_of_a_bucket_what_one_writes_of_a_folder(
    store: Any, address: str, folder: Path, tmp_path: Path
) -> None:
    url = _upload(store, folder)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}", "HOME": f"{tmp_path}", **_settings(address)}
    command = [sys.executable, "-m", "forensics", "audit", url, "--into", f"{tmp_path / 'there'}", "--workers", "2"]
    done = subprocess.run(command, env=environment, capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 3, done.stderr.decode()
    audit_corpus([folder], tmp_path / "here", Corpus(engine=serial()))
    assert _outputs(tmp_path / "there") == _outputs(tmp_path / "here")
    assert {*NAMES, "broken.json", "local.db", "local.db-wal"} == set(_rows(tmp_path / "there"))


def test_a_database_in_a_bucket_is_read_with_its_log(store: Any, folder: Path) -> None:
    url = _upload(store, folder)
    here, there = (examine(where).audit() for where in (folder / "local.db", f"{url}/local.db"))
    assert there == here
    (folder / "local.db-wal").unlink()
    assert examine(folder / "local.db").audit() != there


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("", {*NAMES, "broken.json", "local.db", "local.db-wal"}),
        ("/*.json", {"a.json", "broken.json"}),
        ("/below", {"b%20c.json", "[d]*.json", "e?f#g.json"}),
        ("/below/[d]*.json", {"[d]*.json"}),
        ("/**/r.jsonl", {"r.jsonl"}),
    ],
)
def test_a_prefix_a_glob_and_an_object_mean_what_they_mean_here(
    store: Any, folder: Path, asked: str, names: set[str]
) -> None:
    url = _upload(store, folder)
    assert {row.name for row in examine(url + asked).audit().evidence} == names


def test_the_second_run_reads_and_the_trusting_one_does_not(
    store: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, into = _upload(store, folder), tmp_path / "out"
    first = audit_corpus([url], into, Corpus(engine=serial()))
    written = _outputs(into)
    audited: list[str] = []
    engine = _before(audited.append)
    audit_corpus([url], into, Corpus(engine=engine))
    assert audited == []
    assert _outputs(into) == written

    opened: list[str] = []

    def noted(url: str) -> AbstractContextManager[BinaryIO]:
        opened.append(url)
        return remote.opened(url)

    monkeypatch.setattr("forensics.corpus.stamps.opened", noted)
    trusting = Corpus(engine=engine, trust_modified=True)
    document = audit_corpus([url], into, trusting)
    assert (opened, document.counts.trusted) == ([], first.counts.files)

    store.pipe_file(f"{BUCKET}/runs/a.json", (ROOT / "samples" / "readonly.db").read_bytes())
    audited.clear()
    document = audit_corpus([url], into, trusting)
    assert (audited, document.counts.trusted) == (["a.json"], first.counts.files - 1)
    with sqlite3.connect(into / LEDGER) as base:
        trusted = dict(base.execute("SELECT CAST(place AS TEXT), trusted FROM stamps WHERE stage = 'alone'"))
    base.close()
    assert (trusted[f"{url}/a.json"], trusted[f"{url}/broken.json"]) == (0, 1)


def test_what_is_missing_denied_or_gone_meanwhile_is_a_row(store: Any, folder: Path, tmp_path: Path) -> None:
    url, into = _upload(store, folder), tmp_path / "out"
    deny = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:GetObject",
        "Resource": f"arn:aws:s3:::{BUCKET}/runs/below/*",
    }
    store.call_s3("put_bucket_policy", Bucket=BUCKET, Policy=json.dumps({"Version": "2012-10-17", "Statement": [deny]}))

    def vanish(name: str) -> None:
        if name == "a.json":
            store.rm_file(f"{BUCKET}/runs/a.json")

    document = audit_corpus(
        [url, f"s3://{BUCKET}/none.json", "s3://no-such-bucket/x"], into, Corpus(engine=_before(vanish))
    )
    assert document.exit_code == 3
    errors = {
        name: row["evidence"][0]["error"]["code"] for name, row in _rows(into).items() if row["status"] == "refused"
    }
    assert errors.pop("broken.json") == "format_unknown"
    assert errors.pop("local.db-wal")
    assert errors == {
        "a.json": "evidence_missing",
        "none.json": "evidence_missing",
        "x": "evidence_missing",
        **{name: "evidence_unreadable" for name in NAMES if name.startswith("below/")},
    }


def test_what_reaches_the_store_is_written_nowhere(store: Any, address: str, folder: Path, tmp_path: Path) -> None:
    _upload(store, folder)
    store.call_s3("put_object_acl", Bucket=BUCKET, Key="runs/a.json", ACL="public-read")
    host = address.partition("://")[2]
    urls = [
        f"http://me:s3cr3t@{host}/{BUCKET}/runs/{name}?X-Amz-Signature=s3cr3t{n}"
        for n, name in enumerate(("a.json",) * 2)
    ]
    urls += [f"http://me:s3cr3t@{host}/{BUCKET}/runs/none.json?X-Amz-Signature=s3cr3t"]
    for corpus in (Corpus(engine=serial()), Corpus(engine=serial(), trust_modified=True)):
        document = audit_corpus(urls, tmp_path / "out", corpus)
        assert (document.counts.files, document.counts.read) == (3, 2)
    for path in (tmp_path / "out").iterdir():
        assert b"s3cr3t" not in path.read_bytes(), path.name
    assert set(_rows(tmp_path / "out")) == {
        f"http://{host}/{BUCKET}/runs/a.json",
        f"http://{host}/{BUCKET}/runs/a.json#2",
        "none.json",
    }


# a web server --------------------------------------------------------------------------------------------------------


class _Pages(http.server.BaseHTTPRequestHandler):
    """A server that says of everything that it is a page, and remembers what it was asked for."""

    pages: Mapping[str, bytes] = {}
    asked: list[str] = []  # noqa: RUF012 - one server, one list

    def do_GET(self) -> None:
        self.asked.append(self.path)
        body = self.pages.get(self.path)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", f"{len(body or b'')}")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body or b"")

    do_HEAD = do_GET  # noqa: N815 - the names that the server looks for

    def log_message(self, *told: object) -> None:
        """Nothing."""


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    trace = (ROOT / "samples" / "pager.chat.json").read_bytes().replace(b"checkout", b"<a href='/runs/bait.json'>", 1)
    names = ("a.json", "below/", ".c.json", "../out.json", "../", "../../", "%2e%2e/out.json", "a.json?other", "/runs/")
    pages = {
        "/runs/": "".join(f'<a href="{name}">' for name in names).encode(),
        "/runs/below/": b'<a href="b.json"><a href="http://192.0.2.1/runs/out.json">',
    }
    monkeypatch.setattr(_Pages, "pages", {**pages, "/runs/a.json": trace, "/runs/below/b.json": trace})
    monkeypatch.setattr(_Pages, "asked", [])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Pages)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_no_link_in_a_trace_is_followed(web: str) -> None:
    (row,) = examine(f"{web}/runs/a.json").audit().evidence
    assert (row.name, row.status) == ("a.json", "read")
    assert set(_Pages.asked) == {"/runs/a.json"}


def test_a_page_whose_url_ends_like_a_folder_is_one(web: str) -> None:
    assert [row.name for row in examine(f"{web}/runs/").audit().evidence] == ["a.json", "below/b.json"]
    assert set(_Pages.asked) == {"/runs/", "/runs/a.json", "/runs/below/", "/runs/below/b.json"}


# what is not installed -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scheme", "extra"), [("s3", "s3"), ("gs", "gs"), ("az", "az"), ("https", "http")])
def test_a_scheme_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, scheme: str, extra: str) -> None:
    def missing(url: str, **_: object) -> object:
        raise ImportError(f"install something to read {url}")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    (row,) = examine(f"{scheme}://bucket/run.jsonl").audit().evidence
    assert row.error is not None
    assert (row.error.code, f"trace-forensics[{extra}]" in row.error.hint) == ("extra_missing", True)
