"""Is each file of an archive an evidence of its own, within limits, and is nothing in it a path?"""

from __future__ import annotations

import bz2
import io
import lzma
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest

from forensics.api import Options, examine, load
from forensics.core.limits import Limits
from forensics.errors import EvidenceError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from forensics.report.documents import AuditDocument, EvidenceRow

LOG = (
    b'{"type":"user","text":"x"}\n{"type":"tool_call","id":"c","name":"get","args":{}}\n'
    b'{"type":"tool_result","call_id":"c","result":"ok"}\n{"type":"model","text":"done"}\n'
)


def zipped(*files: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return out.getvalue()


def tarred(*files: tuple[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def audit(tmp_path: Path, data: bytes, limits: Limits | None = None) -> AuditDocument:
    path = tmp_path / "evidence.bin"
    path.write_bytes(data)
    return examine(path, Options(limits=limits or Limits())).audit()


def errors(rows: list[EvidenceRow]) -> dict[str, str]:
    return {row.name: row.error.code for row in rows if row.error is not None}


@pytest.mark.parametrize(
    ("pack", "kind"),
    [
        (zipped, "zip"),
        (tarred, "tar"),
        (lambda *files: tarred(*files, mode="w:gz"), "gzip, tar"),
        (lambda *files: tarred(*files, mode="w:bz2"), "bzip2, tar"),
        (lambda *files: tarred(*files, mode="w:xz"), "xz, tar"),
    ],
)
def test_each_file_is_an_evidence(tmp_path: Path, pack: Callable[..., bytes], kind: str) -> None:
    data = pack(("a/one.jsonl", LOG), ("two.jsonl", LOG.replace(b"get", b"list")))
    document = audit(tmp_path, data)
    assert [(row.name, row.compression, row.size) for row in document.evidence] == [
        ("evidence.bin/a/one.jsonl", kind, len(data)),
        ("evidence.bin/two.jsonl", kind, len(data)),
    ]
    assert [tool.name for trace in document.traces for tool in trace.tools] == ["get", "list"]
    assert [trace.evidence for trace in document.traces] == [0, 1]
    assert len({row.member_sha256 for row in document.evidence}) == 2
    assert len(load(tmp_path / "evidence.bin")) == 2


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
def test_streams_of_other_packers_are_unpacked(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    document = audit(tmp_path, pack(LOG[:60]) + pack(LOG[60:]))
    assert document.counts.records == 4
    cut = audit(tmp_path, pack(LOG)[:-12])
    assert not cut.evidence[0].error or cut.evidence[0].error.code in {"evidence_corrupt", "no_trace"}
    assert not any(trace.verdict.cleared for trace in cut.traces)


def test_one_file_that_is_no_evidence_is_a_row_and_the_rest_is_read(tmp_path: Path) -> None:
    data = zipped(("good.jsonl", LOG), ("notes.txt", b"hello"), ("inner.zip", zipped(("x", LOG))), ("empty", b""))
    document = audit(tmp_path, data)
    assert errors(document.evidence) == {
        "evidence.bin/notes.txt": "format_unknown",
        "evidence.bin/inner.zip": "container_nested",
        "evidence.bin/empty": "format_unknown",
    }
    assert len(document.traces) == 1


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_names_are_told_and_never_followed(tmp_path: Path, pack: Callable[..., bytes]) -> None:
    document = audit(tmp_path, pack(("../../up.jsonl", LOG), ("/etc/root.jsonl", LOG), ("A", LOG), ("a", LOG)))
    odd = [f.message for f in document.findings if f.code == "unsafe_identifier"]
    assert len(odd) == 3
    assert not (tmp_path.parents[1] / "up.jsonl").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["evidence.bin"]


def test_links_and_devices_of_a_tar_are_no_evidence(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
            entry = tarfile.TarInfo(f"entry-{kind.decode()}")
            entry.type, entry.linkname = kind, "/etc/passwd"
            archive.addfile(entry)
    document = audit(tmp_path, out.getvalue())
    assert set(errors(document.evidence).values()) == {"evidence_not_a_file"}


@pytest.mark.parametrize("pack", [zipped, tarred])
@pytest.mark.parametrize(
    ("limits", "name"), [(Limits(members=2), "members"), (Limits(unpacked=3 * len(LOG)), "unpacked")]
)
def test_a_limit_stops_at_the_member_that_exceeds_it(
    tmp_path: Path, pack: Callable[..., bytes], limits: Limits, name: str
) -> None:
    document = audit(tmp_path, pack(*((f"{n}.jsonl", LOG) for n in range(5))), limits)
    last = document.evidence[-1]
    assert last.error is not None
    assert f"--limit {name}=" in last.error.hint


def test_a_bomb_in_a_zip_is_refused(tmp_path: Path) -> None:
    document = audit(tmp_path, zipped(("bomb", bytes(64 << 20))))
    assert set(errors(document.evidence).values()) == {"decompression_limit"}


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_a_cut_archive_keeps_what_is_whole(tmp_path: Path, pack: Callable[..., bytes]) -> None:
    noise = LOG + b"".join(b'{"type":"user","text":"%d"}\n' % (n * 7919) for n in range(200))
    data = pack(("one.jsonl", LOG), ("two.jsonl", noise))
    document = audit(tmp_path, data[: data.index(b"two.jsonl") + 700])
    told = {f.code for f in document.findings} | set(errors(document.evidence).values())
    assert "container_truncated" in told
    assert [tool.name for tool in document.traces[0].tools] == ["get"]


def test_load_raises_what_a_document_would_show(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(zipped(("notes.txt", b"hello")))
    with pytest.raises(EvidenceError):
        load(path)


@pytest.mark.parametrize("cut", range(0, 100, 7))
def test_no_cut_gives_anything_but_our_errors(tmp_path: Path, cut: int) -> None:
    for data in (zipped(("a", LOG), ("b", LOG)), tarred(("a", LOG), ("b", LOG)), tarred(("a", LOG), mode="w:xz")):
        audit(tmp_path, data[: len(data) * cut // 100])
