"""Is a bundle what was handed over? Every way to change one is tried on a real folder."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
import pytest

from forensics.custody.bundle import sealed
from forensics.custody.events import Kind
from forensics.custody.statement import EVENTS, MANIFEST
from forensics.custody.verify import Signature, verify
from forensics.errors import CorruptEvidenceError, EvidenceError, LimitExceededError
from tests.unit.custody.bundles import CUSTODY, EVIDENCE, INPUT, OUTPUTS, TIMELINE, bundle, faults, write

if TYPE_CHECKING:
    from collections.abc import Callable


def _lines(folder: Path, to: Callable[[list[bytes]], list[bytes]]) -> None:
    path = folder / "timeline.jsonl"
    path.write_bytes(b"".join(to(path.read_bytes().splitlines(keepends=True))))


def test_an_untouched_bundle_is_verified(tmp_path: Path) -> None:
    found = verify(bundle(tmp_path))
    assert found.verified
    assert (found.signature, found.matching) == (Signature.NONE, 4)
    assert verify(tmp_path, expect=found.sha256).verified
    assert verify(tmp_path, expect=f"sha256:{found.sha256.upper()}").verified


@pytest.mark.parametrize(
    ("kind", "to"),
    [
        (Kind.EDITED, lambda lines: [*lines[:3], b"{}\n", *lines[4:]]),
        (Kind.INSERTED, lambda lines: [*lines[:3], b"{}\n", *lines[3:]]),
        (Kind.DELETED, lambda lines: [*lines[:3], *lines[4:]]),
        (Kind.REORDERED, lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]]),
    ],
)
def test_what_was_done_to_an_event_is_named_with_its_number(
    tmp_path: Path, kind: Kind, to: Callable[[list[bytes]], list[bytes]]
) -> None:
    _lines(bundle(tmp_path), to)
    found = verify(tmp_path)
    assert not found.verified
    assert [(one.kind, one.event) for one in found.faults if one.event] == [(kind, 4)]


def test_a_cut_tail_is_named(tmp_path: Path) -> None:
    _lines(bundle(tmp_path), lambda lines: lines[:4])
    told = next(one for one in verify(tmp_path).faults if one.event)
    assert (told.kind, told.event) == (Kind.CUT_TAIL, 5)
    assert told.message == "the tail is cut: 2 of 6 events are gone, from event 5 on"


def test_files_that_are_edited_gone_or_new_are_named(tmp_path: Path) -> None:
    bundle(tmp_path)
    (tmp_path / "report.json").write_bytes(b'{"schema": "y"}\n')
    (tmp_path / "traces/a.md").unlink()
    (tmp_path / "traces/b.md").write_bytes(b"")
    assert faults(verify(tmp_path)) == {
        (Kind.EDITED, "report.json"),
        (Kind.DELETED, "traces/a.md"),
        (Kind.INSERTED, "traces/b.md"),
    }


def test_a_list_of_digests_that_was_edited_too_is_found_by_the_head(tmp_path: Path) -> None:
    bundle(tmp_path)
    changed = TIMELINE.replace(b"3", b"9")
    other = sealed({"timeline.jsonl": changed}, CUSTODY, timeline="timeline.jsonl")
    write(tmp_path, {"timeline.jsonl": changed, EVENTS: other[EVENTS]})
    assert (Kind.EDITED, EVENTS) in faults(verify(tmp_path))


def test_a_manifest_that_was_rewritten_with_the_files_is_found_by_a_digest_noted_elsewhere(tmp_path: Path) -> None:
    noted = verify(bundle(tmp_path)).sha256
    write(tmp_path, sealed({**OUTPUTS, "report.json": b"{}\n"}, CUSTODY, timeline="timeline.jsonl"))
    assert verify(tmp_path).verified
    assert faults(verify(tmp_path, expect=noted)) == {("unexpected_manifest", MANIFEST)}


def test_the_evidence_is_one_of_the_inputs_or_it_is_not(tmp_path: Path) -> None:
    evidence = write(tmp_path, {"local.db": EVIDENCE}) / "local.db"
    one = msgspec.structs.replace(INPUT, sha256=hashlib.sha256(EVIDENCE).hexdigest())
    folder = write(tmp_path / "bundle", sealed(OUTPUTS, msgspec.structs.replace(CUSTODY, inputs=(one,))))
    assert verify(folder, evidence=[evidence]).verified
    evidence.write_bytes(EVIDENCE.upper())
    assert faults(verify(folder, evidence=[evidence])) == {("evidence", "local.db")}


@pytest.mark.parametrize("change", [{"sha256_after": "0" * 64}, {"size_after": 13}])
def test_an_evidence_that_changed_while_it_was_examined_is_a_fault(tmp_path: Path, change: dict[str, Any]) -> None:
    same = msgspec.structs.replace(INPUT, sha256_after=INPUT.sha256, size_after=INPUT.size)
    other = msgspec.structs.replace(same, **change)
    for name, one, found in (("same", same, set()), ("other", other, {("evidence", "local.db")})):
        custody = msgspec.structs.replace(CUSTODY, inputs=(one,))
        folder = write(tmp_path / name, sealed(OUTPUTS, custody, timeline="timeline.jsonl"))
        assert faults(verify(folder)) == found


# hostile folders -----------------------------------------------------------------------------------------------------


def test_a_folder_without_a_manifest_can_not_be_told(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(EvidenceError) as caught:
            verify(folder)
        assert caught.value.code == "no_manifest"


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b"[" * 100_000, b'{"payload": "AAAA", "payloadType": "x"}'])
def test_a_manifest_that_is_none_can_not_be_told(tmp_path: Path, data: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(data)
    with pytest.raises(CorruptEvidenceError):
        verify(tmp_path)


def test_a_manifest_whose_subjects_are_not_its_outputs_is_none(tmp_path: Path) -> None:
    bundle(tmp_path)
    whole = json.loads((tmp_path / MANIFEST).read_bytes())
    whole["subject"].pop()
    (tmp_path / MANIFEST).write_bytes(json.dumps(whole).encode())
    with pytest.raises(CorruptEvidenceError, match="subjects"):
        verify(tmp_path)


def test_a_huge_manifest_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / MANIFEST).open("wb") as stream:
        stream.truncate(1 << 30)
    with pytest.raises(LimitExceededError):
        verify(tmp_path)


def test_no_link_is_followed_and_no_path_of_the_manifest_is_opened(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(OUTPUTS["report.json"])
    folder = bundle(tmp_path / "bundle")
    (folder / "report.json").unlink()
    (folder / "report.json").symlink_to(outside)
    (folder / "more").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    assert faults(verify(folder)) == {
        (Kind.EDITED, "report.json"),
        (Kind.INSERTED, "more"),
        (Kind.INSERTED, "pipe"),
    }
    hostile = sealed({"../outside": outside.read_bytes()}, CUSTODY)
    elsewhere = write(tmp_path / "other", {MANIFEST: hostile[MANIFEST]})
    assert faults(verify(elsewhere)) == {(Kind.DELETED, "../outside")}


# a manifest that is not as it was written ----------------------------------------------------------------------------


def _rewritten(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    whole = json.loads((folder / MANIFEST).read_bytes())
    change(whole)
    (folder / MANIFEST).write_bytes(json.dumps(whole).encode())
    return folder


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda whole: whole.update(more=1), "holds what no manifest holds, at /more"),
        (lambda whole: whole["predicate"].update(more={"a": 1}), "holds what no manifest holds, at /predicate/more"),
        (lambda whole: whole["predicate"]["inputs"][0].update(by="me"), "at /predicate/inputs/0/by"),
        (
            lambda whole: whole["predicate"].pop("events"),
            "lacks a member that every manifest has, at /predicate/events",
        ),
        (lambda whole: whole.pop("_type"), "lacks a member that every manifest has, at /_type"),
    ],
)
def test_members_of_a_manifest_that_nobody_wrote_are_named(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], told: str
) -> None:
    found = verify(_rewritten(bundle(tmp_path), change))
    assert faults(found) == {(Kind.EDITED, MANIFEST)}
    assert told in found.faults[0].message


def test_a_member_that_stands_twice_is_named(tmp_path: Path) -> None:
    """Another reader may take the first."""
    text = (bundle(tmp_path) / MANIFEST).read_text()
    (tmp_path / MANIFEST).write_text(text.replace('"outputs":', '"outputs": [], "outputs":'))
    found = verify(tmp_path)
    assert faults(found) == {(Kind.EDITED, MANIFEST)}
    assert "stands 2 times" in found.faults[0].message


def test_a_file_that_is_listed_twice_is_named(tmp_path: Path) -> None:
    """Once with another digest: of two that differ one is not as it was."""

    def change(whole: dict[str, Any]) -> None:
        other = {**whole["predicate"]["outputs"][0], "sha256": "0" * 64}
        whole["predicate"]["outputs"].insert(0, other)
        whole["subject"].append({"name": other["name"], "digest": {"sha256": other["sha256"]}})

    found = verify(_rewritten(bundle(tmp_path), change))
    assert "it lists report.json more than once" in [one.message for one in found.faults]


def test_a_bundle_of_nothing_is_not_verified(tmp_path: Path) -> None:
    folder = write(tmp_path, {MANIFEST: sealed({}, CUSTODY)[MANIFEST]})
    assert [one.message for one in verify(folder).faults] == ["it lists no file"]


def test_a_folder_that_is_new_is_named_also_where_it_is_empty(tmp_path: Path) -> None:
    bundle(tmp_path)
    (tmp_path / "empty/within").mkdir(parents=True)
    (tmp_path / "traces/empty").mkdir()
    assert faults(verify(tmp_path)) == {
        (Kind.INSERTED, "empty/"),
        (Kind.INSERTED, "empty/within/"),
        (Kind.INSERTED, "traces/empty/"),
    }


def test_what_vouches_for_a_manifest_is_told(tmp_path: Path) -> None:
    found = verify(bundle(tmp_path))
    assert (found.verified, found.vouched) == (True, False)
    assert verify(tmp_path, expect=found.sha256).vouched
    assert not verify(tmp_path, expect="0" * 64).vouched


@pytest.mark.parametrize("at", range(12))
def test_a_manifest_is_byte_for_byte_what_this_program_writes(tmp_path: Path, at: int) -> None:
    """Another spelling says the same; that somebody else wrote it is told all the same."""
    path = bundle(tmp_path) / MANIFEST
    data = path.read_bytes()
    spaces = [n for n, one in enumerate(data) if one in b" \n"]
    place = spaces[at * len(spaces) // 12]
    path.write_bytes(data[:place] + data[place : place + 1] * 2 + data[place + 1 :])
    with contextlib.suppress(CorruptEvidenceError):
        assert not verify(tmp_path).verified


def test_a_manifest_that_lost_the_head_of_its_events_is_no_whole_one(tmp_path: Path) -> None:
    path = bundle(tmp_path) / MANIFEST
    statement = json.loads(path.read_bytes())
    statement["predicate"]["events"] = None
    path.write_bytes(json.dumps(statement, indent=1).encode() + b"\n")
    assert faults(verify(tmp_path)) == {(Kind.EDITED, MANIFEST)}


def test_subjects_that_stand_twice_are_not_the_outputs(tmp_path: Path) -> None:
    path = bundle(tmp_path) / MANIFEST
    statement = json.loads(path.read_bytes())
    statement["subject"].append(statement["subject"][0])
    path.write_bytes(json.dumps(statement, indent=1).encode() + b"\n")
    assert faults(verify(tmp_path)) == {(Kind.EDITED, MANIFEST)}


def test_what_can_not_be_read_is_not_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file, and a folder in which anything may lie."""

    def refuse(path: Path) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    bundle(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("forensics.custody.verify.digest_and_size", refuse)
        with pytest.raises(EvidenceError, match="can't be read: Permission denied"):
            verify(tmp_path)
    walked = os.scandir
    (tmp_path / "locked").mkdir()
    monkeypatch.setattr(os, "scandir", lambda at: refuse(Path(at)) if Path(at).name == "locked" else walked(at))
    with pytest.raises(EvidenceError, match="locked can't be read"):
        verify(tmp_path)


def test_events_of_files_that_are_not_listed_are_no_events(tmp_path: Path) -> None:
    """Nothing says then that the events are those that were counted."""
    for name in ("elsewhere.jsonl", "../../etc/passwd"):
        path = bundle(tmp_path) / MANIFEST
        statement = json.loads(path.read_bytes())
        statement["predicate"]["events"]["file"] = name
        path.write_bytes(json.dumps(statement, indent=1).encode() + b"\n")
        assert [one.message for one in verify(tmp_path).faults] == ["it tells of events in files that it does not list"]


def test_a_bundle_about_nothing_is_not_verified(tmp_path: Path) -> None:
    custody = msgspec.structs.replace(CUSTODY, inputs=())
    write(tmp_path, sealed(OUTPUTS, custody, timeline="timeline.jsonl"))
    assert [one.message for one in verify(tmp_path).faults] == ["it names no input"]
