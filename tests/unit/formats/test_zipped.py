"""Is an archive read by its directory or by its members' own headers, within limits, and without trusting its names?"""

from __future__ import annotations

import io
import struct
import zipfile
from typing import TYPE_CHECKING

import pytest

from forensics.core.evidence import Evidence
from forensics.core.limits import Limits, under
from forensics.core.reading import EvidenceBuilder
from forensics.errors import EvidenceError, LimitExceededError
from forensics.formats.shared.packed import unpacking
from forensics.formats.shared.packed.unpacking import Budget, unpack
from forensics.formats.shared.packed.zipped import content_of, note_names, open_archive
from forensics.formats.shared.source import Source, open_source

if TYPE_CHECKING:
    from pathlib import Path

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def packed(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


def opened(tmp_path: Path, data: bytes) -> Source:
    path = tmp_path / "archive"
    path.write_bytes(data)
    return open_source(str(path))


MEMBERS = {"a.json": b'{"a": 1}' * 50, "b/c.json": b"[]"}


@pytest.mark.parametrize("method", METHODS)
def test_members_are_read_by_the_directory_and_without_it(tmp_path: Path, method: int) -> None:
    whole = packed(MEMBERS, method)
    for data, recovered in ((whole, False), (whole[: whole.index(b"PK\x01\x02")], True)):
        source = opened(tmp_path, data)
        archive = open_archive(source)
        assert archive.recovered is recovered
        assert {m.name: content_of(source, m, Budget("x")).data for m in archive.members} == MEMBERS


def test_a_member_whose_sizes_follow_it_is_recovered(tmp_path: Path) -> None:
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.data = b""

        def writable(self) -> bool:
            return True

        def write(self, piece: object) -> int:
            self.data += bytes(piece)  # type: ignore[call-overload]
            return len(piece)  # type: ignore[arg-type]

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in MEMBERS.items():
            archive.writestr(name, data)
    source = opened(tmp_path, pipe.data[: pipe.data.index(b"PK\x01\x02")])
    found = open_archive(source)
    assert {m.name: content_of(source, m, Budget("x")) for m in found.members if m.size < 0}.keys() == MEMBERS.keys()
    assert [content_of(source, m, Budget("x")).data for m in found.members] == list(MEMBERS.values())


@pytest.mark.parametrize("cut", range(31, 90, 7))
def test_a_member_that_breaks_off_gives_what_is_there(tmp_path: Path, cut: int) -> None:
    data = bytes(range(256)) * 8
    whole = packed({"a": data})
    source = opened(tmp_path, whole[:cut])
    for member in open_archive(source).members:
        content = content_of(source, member, Budget("x"))
        assert content.fault
        assert data.startswith(content.data)


def test_bytes_that_are_not_those_of_the_checksum_are_told(tmp_path: Path) -> None:
    whole = bytearray(packed({"a": b"good"}, zipfile.ZIP_STORED))
    at = whole.index(b"good")
    whole[at : at + 4] = b"evil"
    source = opened(tmp_path, bytes(whole))
    assert (
        content_of(source, open_archive(source).members[0], Budget("x")).fault
        == "its checksum is not that of its bytes"
    )


def test_an_encrypted_member_and_a_method_that_is_not_read_are_told(tmp_path: Path) -> None:
    for field, value, told in ((6, 1, "encrypted"), (8, 12, "method")):
        whole = bytearray(packed({"a": b"x"}))
        struct.pack_into("<H", whole, field, value)
        struct.pack_into("<H", whole, whole.index(b"PK\x01\x02") + field + 2, value)
        source = opened(tmp_path, bytes(whole))
        assert told in content_of(source, open_archive(source).members[0], Budget("x")).fault


def test_a_bomb_ends_at_the_ratio_and_at_the_total(tmp_path: Path) -> None:
    source = opened(tmp_path, packed({"a": bytes(32 << 20)}))
    member = open_archive(source).members[0]
    with pytest.raises(LimitExceededError, match="times its size, more than the limit of 200"):
        content_of(source, member, Budget("x"))
    with under(Limits(unpacked=1 << 20)), pytest.raises(LimitExceededError, match="more than the limit of 1048576"):
        content_of(source, member, Budget("x"))


def test_members_that_share_their_bytes_count_together(tmp_path: Path) -> None:
    source = opened(tmp_path, packed({"a": bytes(1 << 20)}))
    member = open_archive(source).members[0]
    budget = Budget("x")
    with under(Limits(unpacked=3 << 20)):
        for _ in range(3):
            content_of(source, member, budget)
        with pytest.raises(LimitExceededError):
            content_of(source, member, budget)


def test_too_many_members_are_refused(tmp_path: Path) -> None:
    whole = packed({str(i): b"x" for i in range(3)})
    for data in (whole, whole[: whole.index(b"PK\x01\x02")]):
        source = opened(tmp_path, data)
        with under(Limits(members=2)), pytest.raises(LimitExceededError, match="3 members, more than the limit of 2"):
            open_archive(source)


def test_names_that_leave_their_folder_or_stand_twice_are_said(tmp_path: Path) -> None:
    source = opened(tmp_path, packed({"../up": b"", "/root": b"", "c:\\x": b"", "Same": b"", "same": b"", "fine": b""}))
    build = EvidenceBuilder(Evidence(0, "x", "", 0), records_calls=True)
    note_names(open_archive(source).members, build)
    assert [f.locators[0].member for f in build.finish().findings] == ["../up", "/root", "c:\\x", "same"]


@pytest.mark.parametrize("noise", [b"PK\x03\x04", b"PK\x03\x04" * 100, b"PK\x03\x04" + b"\xff" * 300])
def test_noise_that_begins_like_an_archive_has_no_member_that_can_be_read(tmp_path: Path, noise: bytes) -> None:
    source = opened(tmp_path, noise)
    assert all(content_of(source, m, Budget("x")).fault for m in open_archive(source).members)


def test_zstandard_is_unpacked_in_pieces_and_within_limits() -> None:
    codec = pytest.importorskip("zstandard")
    data = codec.ZstdCompressor().compress(b"text" * 1000)
    assert unpack(memoryview(data), 93, Budget("x")).data == b"text" * 1000
    assert not unpack(memoryview(b"not packed at all"), 93, Budget("x")).whole
    bomb = codec.ZstdCompressor(level=19).compress(bytes(64 << 20))
    with pytest.raises(LimitExceededError):
        unpack(memoryview(bomb), 93, Budget("x"))


def test_without_a_module_for_zstandard_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "_ZSTANDARD", ("forensics.no_such_module",))
    with pytest.raises(EvidenceError, match="Zstandard") as told:
        unpack(memoryview(b"x"), 93, Budget("x"))
    assert told.value.code == "extra_missing"
    assert "trace-forensics[zstd]" in told.value.hint
