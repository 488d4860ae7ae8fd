"""Is packed or re-encoded evidence unwrapped within limits, with what was lost said?"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from forensics.api import examine
from forensics.core.limits import Limits, under
from forensics.errors import CorruptEvidenceError, LimitExceededError
from forensics.formats.shared.packed.unwrap import unwrap
from forensics.formats.shared.source import open_source

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = b"".join(
    b'{"type": "%s", "text": "step %d"}\n' % (kind, n) for n, kind in enumerate([b"user", b"model"] * 200)
)


def test_plain_bytes_stay_where_they_are() -> None:
    assert unwrap(memoryview(b'{"a": 1}'), "x") is None


def test_members_of_gzip_follow_one_another() -> None:
    found = unwrap(memoryview(gzip.compress(b"one") + gzip.compress(b"two")), "x")
    assert found is not None
    assert (bytes(found.mapped), found.compression, found.notes) == (b"onetwo", "gzip", ())


@pytest.mark.parametrize("damage", [lambda d: d[: len(d) // 2], lambda d: d[:-4] + b"\x00abc", lambda d: d + b"more"])
def test_what_stands_before_a_damaged_place_is_kept(damage: object) -> None:
    assert callable(damage)
    found = unwrap(memoryview(damage(gzip.compress(EVENTS, mtime=0))), "x")
    assert found is not None
    assert EVENTS.startswith(bytes(found.mapped)[:100])
    assert [(n.code, n.hides) for n in found.notes] == [("container_truncated", True)]


def test_nothing_to_unpack_is_corrupt() -> None:
    with pytest.raises(CorruptEvidenceError):
        unwrap(memoryview(b"\x1f\x8b\x08\x00"), "x")


@pytest.mark.parametrize("chosen", [Limits(ratio_floor=1 << 20), Limits(unpacked=1 << 20)])
def test_a_bomb_is_refused_before_it_is_unpacked(chosen: Limits) -> None:
    bomb = gzip.compress(bytes(8 << 20))
    with under(chosen), pytest.raises(LimitExceededError) as caught:
        unwrap(memoryview(bomb), "bomb.gz")
    assert caught.value.code == "decompression_limit"


def test_half_a_surrogate_pair_becomes_its_json_escape() -> None:
    found = unwrap(memoryview(b"\xff\xfe" + '"\udcb2"'.encode("utf-16-le", "surrogatepass")), "x")
    assert found is not None
    assert bytes(found.mapped) == rb'"\udcb2"'


def test_digest_and_size_are_those_of_the_evidence(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(EVENTS, mtime=0))
    with open_source(str(path)) as source:
        assert (source.size, len(source.data)) == (path.stat().st_size, len(EVENTS))


def test_the_document_names_the_container_and_refuses_behind_a_cut(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    packed = gzip.compress(EVENTS, mtime=0)
    path.write_bytes(packed[: len(packed) * 3 // 4])
    document = examine(path).audit()
    (row,) = document.evidence
    assert (row.compression, row.status) == ("gzip", "partial")
    assert "container_truncated" in {f.code for f in document.findings}
    assert not document.traces[0].verdict.cleared
