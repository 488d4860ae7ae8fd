"""What stands in the content of an evidence is found in its bytes, with its place, whatever a step shows of it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics import api
from forensics.analysis.content.matcher import spans
from forensics.analysis.content.scan import Judged, fired_in
from forensics.core.pointers import pointer_tokens

if TYPE_CHECKING:
    from forensics.report.documents import AuditDocument, FindingRow

SAMPLES = Path(__file__).resolve().parents[4] / "samples"
KEY = "sk-A1b2C3d4E5f6G7h8I9j0K1l2"
TURNS = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": "done"},
]


def audited(tmp_path: Path, messages: list[dict[str, Any]], *, indent: int | None = None, **more: Any) -> AuditDocument:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"messages": messages, **more}, indent=indent), "utf-8")
    return api.examine(path).audit()


def of(document: AuditDocument, code: str) -> list[FindingRow]:
    return [one for one in document.findings if one.code == code]


def test_a_value_that_no_step_shows_is_found_with_its_place(tmp_path: Path) -> None:
    document = audited(tmp_path, TURNS, metadata={"retry": [{"settings": json.dumps({"api_key": KEY})}]})
    (found,) = of(document, "secret")
    (place,) = found.locators
    data = (tmp_path / "trace.json").read_bytes()
    assert place.offset is not None
    assert place.length is not None
    assert data[place.offset : place.offset + place.length] == KEY.encode()
    assert place.pointer == "/metadata/retry/0/settings/api_key"
    assert (found.steps, found.trace, found.severity) == ([], None, "medium")
    assert KEY not in found.message


def test_a_value_in_a_step_names_the_step(tmp_path: Path) -> None:
    document = audited(tmp_path, [{"role": "user", "content": f"my key is {KEY}"}, TURNS[1]])
    (found,) = of(document, "secret")
    assert found.steps == [0]
    assert found.trace == document.traces[0].id


@pytest.mark.parametrize("indent", [None, 2])
def test_the_pointer_leads_to_the_value_in_a_large_document(tmp_path: Path, indent: int | None) -> None:
    filler = [{"n": n, "text": "x" * 200, "odd~/key": {"é": ["y"] * 3}} for n in range(500)]
    filler[300]["text"] = f"a {KEY} b"
    document = audited(tmp_path, TURNS, indent=indent, extra={"rows": filler})
    (found,) = of(document, "secret")
    pointer = found.locators[0].pointer
    assert pointer == "/extra/rows/300/text"
    value: Any = json.loads((tmp_path / "trace.json").read_text("utf-8"))
    for token in pointer_tokens(pointer):
        value = value[int(token)] if isinstance(value, list) else value[token]
    assert KEY in value


def test_a_key_of_a_large_object_is_looked_at_like_a_value(tmp_path: Path) -> None:
    many: dict[str, Any] = {f"member {n}": "x" * 100 for n in range(400)}
    many["<script>alert(1)</script>"] = "quiet"
    many |= {"password": "Tr0ub4dor"}
    document = audited(tmp_path, TURNS, extra=many)
    assert of(document, "active_content")[0].locators[0].pointer == "/extra/<script>alert(1)<~1script>"
    assert of(document, "secret")[0].locators[0].pointer == "/extra/password"


def test_the_same_value_is_one_finding_with_every_place(tmp_path: Path) -> None:
    document = audited(tmp_path, TURNS, a=KEY, b={"c": f"{KEY} again"}, d=[f"token={KEY}"])
    (found,) = of(document, "secret")
    assert len(found.locators) == 3
    assert document.counts.secrets == 1


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (base64.b64encode(json.dumps({"user": "a", "api_key": "hunter22"}).encode()).decode(), "api-key"),
        ("callback=https%3A%2F%2Fu%3Ap4ssw0rd%40h.example%2F", "url-password"),
        ("curl -H 'X-Api-Key: 9fKq2vLm' https://h.example", "api-key"),
        ("export DB_PASSWORD=hunter2", "password"),
        ("mysql --password hunter2 -h db", "password"),
        ('headers: {"authorization": "Bearer mF_9.B5f-4.1JqM"}', "bearer-token"),
    ],
)
def test_texts_are_looked_into(tmp_path: Path, text: str, kind: str) -> None:
    (found,) = of(audited(tmp_path, [{"role": "user", "content": text}, TURNS[1]]), "secret")
    assert found.tags == [kind]


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "\t=SUM(A1:A9)", '@HYPERLINK("http://h.example")'])
def test_a_formula_is_found_where_a_value_begins_with_it(tmp_path: Path, text: str) -> None:
    document = audited(tmp_path, [{"role": "user", "content": text}, TURNS[1]])
    (found,) = of(document, "formula_like_text")
    assert found.locators[0].pointer == "/messages/0/content"
    assert not of(audited(tmp_path, [{"role": "user", "content": f"a {text}"}, TURNS[1]]), "formula_like_text")


def test_a_span_attribute_and_a_pair_name_their_value(tmp_path: Path) -> None:
    attributes = [{"key": "db.password", "value": {"stringValue": "Tr0ub4dor"}}]
    document = audited(tmp_path, TURNS, attributes=attributes, headers=[["X-Api-Key", "9fKq2vLm"]])
    assert sorted(one.tags[0] for one in of(document, "secret")) == ["api-key", "password"]


def test_letters_written_as_escapes_hide_nothing(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    written = "".join(f"\\u{ord(c):04x}" for c in KEY)
    path.write_text(json.dumps({"messages": [{"role": "user", "content": "?"}, TURNS[1]]}).replace("?", written))
    document = api.examine(path).audit()
    assert document.counts.secrets == 1


@pytest.mark.parametrize("name", ["id", "trace_id", "call_id", "order_number", "spanId"])
def test_numbers_under_the_name_of_an_id_are_no_cards(tmp_path: Path, name: str) -> None:
    document = audited(tmp_path, TURNS, extra={name: "4539148803436467"})
    assert not of(document, "secret")


def test_personal_data_is_one_finding_a_kind_and_info(tmp_path: Path) -> None:
    text = "ada@analytical-engines.co.uk, bob@analytical-engines.co.uk, card 4539 1488 0343 6467, +1-702-555-1212"
    document = audited(tmp_path, [{"role": "user", "content": text}, TURNS[1]])
    found = of(document, "secret")
    assert sorted(one.tags[1] for one in found) == ["card", "email", "phone"]
    assert {one.severity for one in found} == {"info"}
    assert (document.counts.secrets, document.counts.personal_data) == (0, 4)


def test_lines_that_are_no_json_are_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    good = json.dumps({"type": "user", "text": "hello"})
    path.write_text(f'{good}\n{{"type": "tool_call", "name": "x", "args": {{"api_key": "{KEY}"\n{good}\n', "utf-8")
    document = api.examine(path).audit()
    (found,) = of(document, "secret")
    assert found.locators[0].line == 2
    assert found.locators[0].pointer is None


def test_a_log_in_which_one_line_comes_again_and_again_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    line = json.dumps({"type": "user", "text": f"password: {KEY}"})
    path.write_text((line + "\n") * 300, "utf-8")
    document = api.examine(path).audit()
    (found,) = of(document, "secret")
    assert "300 places" in found.message
    assert len(found.locators) == 20


@pytest.mark.parametrize(
    ("trace_id", "why"),
    [
        ("../../etc/x", "above"),
        ("..%2f..%2fetc", "above"),
        ("C:\\x", "drive"),
        ("/etc/passwd", "root"),
        ("a\u0000b", "control"),
        ("nul", "device"),
        ("x" * 300, "longer"),
    ],
)
def test_an_id_that_is_no_file_name_is_told(tmp_path: Path, trace_id: str, why: str) -> None:
    document = audited(tmp_path, TURNS, trace_id=trace_id)
    (found,) = of(document, "unsafe_identifier")
    assert why in found.message


@pytest.mark.parametrize("name", ["../x", "con", "NUL.txt", "a\u2028con", "x" * 300])
@pytest.mark.parametrize("at", [0, 300, 519])
def test_such_an_id_is_found_among_those_of_many_calls(tmp_path: Path, name: str, at: int) -> None:
    ids = [name if number == at else f"call_{number}" for number in range(520)]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(json.dumps({"type": "tool_call", "id": one, "name": "get"}) for one in ids), "utf-8")
    found = of(api.examine(path).audit(), "unsafe_identifier")
    assert [(one.steps, one.message.split()[1]) for one in found] == ([] if "\u2028" in name else [([at], "call")])


@pytest.mark.parametrize("gap", [0, 1, 5_000])
def test_lines_are_counted_to_the_place_of_each_value(tmp_path: Path, gap: int) -> None:
    filler = [json.dumps({"type": "user", "text": "x" * 40})] * gap
    told = [json.dumps({"type": "user", "text": f"password: {KEY}{number}"}) for number in range(3)]
    lines = [*filler, told[0], told[1], *filler, "", told[2]]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    places = [place for one in of(api.examine(path).audit(), "secret") for place in one.locators]
    assert [place.line for place in places] == [gap + 1, gap + 2, 2 * gap + 4]
    data = path.read_bytes()
    for number, place in enumerate(places):
        assert data[place.offset or 0 :][: place.length] == f"{KEY}{number}".encode()


@pytest.mark.parametrize("trace_id", ["trace-1", "run.2026-11-13", "a/b", "con-1"])
def test_other_ids_are_not(tmp_path: Path, trace_id: str) -> None:
    assert not of(audited(tmp_path, TURNS, trace_id=trace_id), "unsafe_identifier")


@pytest.mark.parametrize("sample", ["crash.db", "pager.db", "pager.langgraph.db", "readonly.db"])
def test_the_pages_of_a_database_are_no_text(sample: str) -> None:
    """What parts the records of a database drives no terminal; its rows are looked through as steps."""
    assert not of(api.examine(SAMPLES / sample).audit(), "control_sequence")


def test_in_bytes_that_are_no_text_only_what_is_secret_is_looked_for() -> None:
    pages = bytes(range(1, 32)) * 100 + f'\x0c"{KEY}"\x07'.encode() + bytes(range(128, 256)) * 10
    assert [pages[one.start : one.start + 3] for one in fired_in(pages, Judged(), binary=True)] == [b"sk-"]
    assert len([*fired_in(pages, Judged())]) > 1000


@pytest.mark.parametrize("filler", [0, 400])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize(
    ("one", "other"),
    [("amount", "\u0430mount"), ("caf\u00e9", "cafe\u0301"), ("id", "i\u200bd"), ("key", "\uff4bey")],
)
def test_keys_that_look_alike_are_told(tmp_path: Path, one: str, other: str, filler: int, *, ascii_only: bool) -> None:
    members: dict[str, Any] = {one: 1, **{f"member {n}": "x" * 100 for n in range(filler)}, other: "two"}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"messages": TURNS, "extra": members}, ensure_ascii=ascii_only), "utf-8")
    (found,) = of(api.examine(path).audit(), "lookalike_key")
    assert found.locators[0].pointer == "/extra"
    assert ascii(other) in found.message


def test_keys_of_another_script_are_not(tmp_path: Path) -> None:
    members = {"\u0441\u0443\u043c\u043c\u0430": 1, "\u91d1\u984d": 2, "na\u00efve": 3, "naive": 4, "ID": 5, "id": 6}
    assert not of(audited(tmp_path, TURNS, extra=[members]), "lookalike_key")


def test_texts_full_of_what_acts_are_each_judged_once(tmp_path: Path) -> None:
    """Hostile bytes can hold a thousand places in one text: they are stepped over, and every text is counted."""
    said = "\x1b[31m\u202e" * 500
    document = audited(
        tmp_path, [{"role": role, "content": f"{said}{n}"} for n in range(40) for role in ("user", "assistant")]
    )
    (found,) = of(document, "control_sequence")
    assert "stands in 80 texts" in found.message
    assert found.steps == list(range(20))


def test_a_place_that_is_judged_is_stepped_over() -> None:
    judged, told = Judged(), []
    for one in fired_in(b"\x1b[1m" * 1000 + f' "{KEY}"'.encode(), judged):
        told.append(one.start)
        judged.until = 3_990
    assert told[0] == 0
    assert all(start >= 3_990 for start in told[1:])
    assert 4_002 in told


@pytest.mark.parametrize("filler", ["a.b", "%41", "1."])
def test_a_long_text_that_is_no_address_is_not_tried_again_at_each_of_its_words(filler: str) -> None:
    told = f"{filler * 70_000}.{KEY}.ann@example.com and {KEY}@1"  # each try read the rest
    found = spans(told.encode(), None)
    assert [(one.value, one.kind) for one in found] == [(KEY, "openai-key")] * 2
