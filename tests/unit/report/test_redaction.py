"""No output shows a secret, what comes out is read as what went in, and ids that link records stay."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from click.testing import CliRunner

from forensics import api
from forensics.cli.program import program
from forensics.core.secrets import NO_SECRETS, Secret, Secrets, fingerprint, key_of
from forensics.report.redaction import Redactor
from forensics.report.rows import Rows

if TYPE_CHECKING:
    from pathlib import Path

QUOTED = 'Tr0ub4dor"&3'
PLAIN = "9fKq2vLm-77x"
KEY = b"k" * 32


def redactor(*values: str, complete: bool = True) -> Redactor:
    known = {value: Secret("password", "credential", fingerprint(value, KEY)) for value in values}
    return Redactor([Secrets(KEY, known, complete=complete)])


def name(value: str) -> str:
    return f"secret:password:{fingerprint(value, KEY)}"


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "it is {} now",
        "{}",
        'x="{}"',
        "a,{},b",
        '[["X", "{}"]',  # broken JSON is a text
        "ключ {} 鍵",
    ],
)
def test_a_known_value_is_replaced_wherever_it_stands(text: str, *, complete: bool) -> None:
    assert redactor(PLAIN, complete=complete).text(text.format(PLAIN)) == text.format(name(PLAIN))


def test_json_in_a_text_stays_json() -> None:
    text = json.dumps({"a": [f"say {QUOTED}"], "b": json.dumps({"c": QUOTED}), QUOTED: 1})
    shown = json.loads(redactor(QUOTED).text(text))
    assert shown == {"a": [f"say {name(QUOTED)}"], "b": json.dumps({"c": name(QUOTED)}, separators=(",", ":")),
                     name(QUOTED): 1}  # fmt: skip


def test_no_member_is_lost_where_two_names_are_spellings_of_one_value() -> None:
    value = {PLAIN: 1, base64.b64encode(PLAIN.encode()).decode(): 2, "other": 3}
    hidden = {name(PLAIN): 1, f"{name(PLAIN)}#2": 2, "other": 3}
    assert redactor(PLAIN).value(value) == hidden
    assert json.loads(redactor(PLAIN).text(json.dumps(value))) == hidden


def test_a_text_without_a_value_is_the_same_text() -> None:
    text = '{ "spaced":  [1, 2] }'
    assert redactor(PLAIN, complete=False).text(text) is text


@pytest.mark.parametrize("kept", range(4, len(PLAIN)))
def test_the_head_of_a_value_that_is_cut_off_is_replaced(kept: int) -> None:
    assert redactor(PLAIN).text(f"it is {PLAIN[:kept]}…") == f"it is {name(PLAIN)}…"


def test_the_head_of_a_value_of_several_parts_is_hidden_under_one_name() -> None:
    parted = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
    assert redactor(parted).text(f"it holds {parted[:45]}…") == f"it holds {name(parted)}…"


def test_the_name_of_a_value_is_no_value_itself() -> None:
    told = f"1 place: {name(PLAIN)} (step 2), secret: {name(PLAIN)}"
    assert redactor(PLAIN, complete=False).text(told) == told
    assert "hunter-2-Zq81" not in redactor(complete=False).text(f"{told}, password=hunter-2-Zq81")


def test_a_shorter_value_is_part_of_no_longer_word() -> None:
    assert redactor("12345678").text("id 912345678 and 12345678") == f"id 912345678 and {name('12345678')}"


def test_a_word_and_a_short_value_are_replaced_by_their_place_only() -> None:
    shown = redactor("postgres", "k9").value(
        {"tool": "postgres_query", "url": "db://svc:postgres@h", "password": "k9."}
    )
    assert shown["tool"] == "postgres_query"
    assert "svc:postgres@" not in shown["url"]


def test_numbers_under_a_telling_name_are_replaced_and_others_stay() -> None:
    shown = redactor("48213370").value({"pin_code": 48213370, "count": 3, "flags": [True, None, 1.5]})
    assert shown == {"pin_code": name("48213370"), "count": 3, "flags": [True, None, 1.5]}


def test_rows_that_are_made_when_asked_for_are_replaced_when_asked_for() -> None:
    made: list[int] = []

    def make(numbers: range) -> list[str]:
        made.extend(numbers)
        return [f"{number} {PLAIN}" for number in numbers]

    class Document(msgspec.Struct, frozen=True):
        rows: Rows[str]

    shown = redactor(PLAIN).document(Document(Rows(3, make)))
    assert made == []
    assert shown.rows[1] == f"1 {name(PLAIN)}"
    assert made == [1]


def test_where_nothing_is_secret_nothing_is_done() -> None:
    document = object()
    assert Redactor([Secrets(complete=True)]).document(document) is document
    assert Redactor([NO_SECRETS]).text("nothing here") == "nothing here"


def test_a_value_that_no_evidence_holds_has_no_fingerprint() -> None:
    assert Redactor().text("password=hunter2-X") == "password=secret:password:-"


# fingerprints --------------------------------------------------------------------------------------------------------


def test_the_key_follows_what_is_told_and_not_its_order() -> None:
    assert key_of([b"a", b"b"]) == key_of([b"b", b"a", b"a"]) != key_of([b"a", b"c"])


def test_a_fingerprint_differs_by_key_and_value() -> None:
    found = {fingerprint(value, key) for value in ("a", "b") for key in (KEY, b"x" * 32)}
    assert len(found) == 4
    assert all(len(one) == 12 for one in found)


# whole outputs -------------------------------------------------------------------------------------------------------


def evidence(tmp_path: Path, **more: Any) -> Path:
    minted = {"token": "sk_live_4eC39HqLyjWDarjtT1zdp7dc", "account": "acct_991"}
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "create_account", "arguments": "{}"}},
        {
            "id": "c2",
            "type": "function",
            "function": {"name": "charge", "arguments": json.dumps({"key": minted["token"]})},
        },
    ]
    messages = [
        {"role": "user", "content": f"the password is: password={PLAIN}"},
        {"role": "assistant", "content": None, "tool_calls": calls[:1]},
        {"role": "tool", "tool_call_id": "c1", "content": json.dumps(minted)},
        {"role": "assistant", "content": None, "tool_calls": calls[1:]},
        {"role": "tool", "tool_call_id": "c2", "content": "ok"},
        {"role": "assistant", "content": "done"},
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"messages": messages, **more}), "utf-8")
    return path


COMMANDS = (
    "audit {}",
    "audit {} --format json",
    "inspect {}",
    "inspect {} --format json",
    "inspect {} --step 0",
    "classify {}",
    "graph {}",
    "graph {} --to html",
    "graph {} --to svg",
    "explain {} 4",
    "match {} {}",
    "match {} {} --format json",
    "compare {} {} --format json",
    "report {}",
    "policy draft {}",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_shows_a_secret_unless_it_is_asked_to(tmp_path: Path, command: str) -> None:
    path = evidence(tmp_path)
    result = CliRunner().invoke(program, command.replace("{}", str(path)).split())
    assert result.exit_code in {0, 1}, result.output
    for value in (PLAIN, "sk_live_4eC39HqLyjWDarjtT1zdp7dc"):
        assert value not in result.output
        assert value[:12] not in result.output


def test_no_redact_shows_everything(tmp_path: Path) -> None:
    result = CliRunner().invoke(program, ["inspect", str(evidence(tmp_path)), "--no-redact", "--format", "json"])
    assert PLAIN in result.output
    assert "secret:stripe-key:" in result.output  # a finding never shows a value


def test_a_secret_that_is_a_handle_keeps_its_way_under_its_name(tmp_path: Path) -> None:
    audit = api.examine(evidence(tmp_path)).audit()
    (trace,) = audit.traces
    handle = next(h for h in trace.handles if h.value.startswith("secret:stripe-key:"))
    assert [use.role for use in handle.uses if use.role == "argument"]
    assert handle.value in str(trace.calls[1].arguments)
    assert handle.value in trace.calls[0].minted
    assert "acct_991" in {h.value for h in trace.handles}


def test_an_error_that_quotes_a_secret_does_not_show_it(tmp_path: Path) -> None:
    wanted = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"
    result = CliRunner().invoke(program, ["audit", str(evidence(tmp_path)), "--trace", wanted])
    assert result.exit_code == 2
    assert wanted not in result.output
    assert "secret:stripe-key:-" in result.output


def test_one_run_has_the_same_fingerprints_however_it_is_written(tmp_path: Path) -> None:
    path = evidence(tmp_path)
    first = api.examine(path).audit()
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")), indent=4), "utf-8")
    second = api.examine(path).audit()
    assert [f.message for f in first.findings] == [f.message for f in second.findings]
    other = api.examine(evidence(tmp_path, note=f"password={PLAIN}2 too")).audit()
    assert {f.message for f in other.findings if f.code == "secret"}.isdisjoint({f.message for f in first.findings})


def test_a_long_value_is_hidden_whole_wherever_it_stands() -> None:
    value = "sk-" * 10_000 + "apr_1"  # as one literal its automaton has ten thousand states at once
    told = f"sk-sk-{value}, {value[:-1]}2 and {value}"
    assert redactor(value).text(told) == f"sk-sk-{name(value)}, {value[:-1]}2 and {name(value)}"


def test_of_two_long_values_that_begin_alike_each_has_its_name() -> None:
    one, other = "q7" * 200, "q7" * 150 + "Z"
    assert redactor(one, other).text(f"{other} {one}") == f"{name(other)} {name(one)}"


def test_an_endless_run_of_letters_takes_no_long_time() -> None:
    hide = redactor(PLAIN, complete=False)
    for unit in ("a", "sk-", "password=", "x@", "://a:", "eyJ", "QUJD", "%25", '{"a":', PLAIN, "…"):
        hide.text((unit * 40_000)[:100_000])


# what people wrote for the documents themselves ----------------------------------------------------------------------

SLIP = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"


def _written(folder: Path, slip: str) -> list[str]:
    """A report on a file of this name, by a policy and suppressions whose authors wrote this into every field."""
    trace = folder / f"run {slip}.jsonl"
    call = {"type": "tool_call", "id": "c0", "name": "get_x", "args": {}}
    trace.write_text("\n".join(map(json.dumps, [{"type": "user", "text": "hi"}, call])), "utf-8")
    entry = {"tool": "get_x", "effect": "none", "result": "stable", "because": f"as {slip} shows", "by": f"me, {slip}"}
    policy = {"schema": "forensics/policy/v1", "name": f"p {slip}", "extends": "strict", "tools": [entry]}
    (folder / "policy.yaml").write_text(json.dumps(policy), "utf-8")
    aside = {"code": "unanswered_call", "because": f"see {slip}", "by": f"ana@acme.test {slip}", "until": "2999-01-01"}
    suppressions = {"schema": "forensics/suppressions/v1", "suppressions": [aside]}
    (folder / "aside.yaml").write_text(json.dumps(suppressions), "utf-8")
    wishes = ["--title", f"T {slip}", "--author", f"A {slip}", "--case-id", f"C {slip}"]
    return [str(trace), "--policy", str(folder / "policy.yaml"), "--suppressions", str(folder / "aside.yaml"), *wishes]


def test_a_credential_that_somebody_wrote_into_a_reason_a_title_or_a_file_name_is_shown_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ["report", *_written(tmp_path, SLIP), "--bundle", str(tmp_path / "out" / "bundle")]
    monkeypatch.setattr("sys.argv", ["forensics", *given])
    done = CliRunner().invoke(program, given)
    assert done.exit_code == 0, done.output
    texts = {path.name: path.read_text("utf-8") for path in (tmp_path / "out" / "bundle").iterdir()}
    assert len(texts) > 10
    assert [name for name, text in texts.items() if SLIP in text or SLIP[4:] in text] == []
    assert "secret:github-token:" in texts["manifest.intoto.json"]
    assert "ana@acme.test" in texts["report.json"]  # who says so is meant to be read
    assert CliRunner().invoke(program, ["verify", str(tmp_path / "out" / "bundle")]).exit_code == 0


def test_what_somebody_wrote_is_shown_where_that_is_asked_for(tmp_path: Path) -> None:
    done = CliRunner().invoke(program, ["report", *_written(tmp_path, SLIP), "--format", "json", "--no-redact"])
    assert done.output.count(SLIP) >= 6


def test_the_name_of_a_file_is_no_way_around_it_in_a_draft_of_a_policy(tmp_path: Path) -> None:
    trace = _written(tmp_path, SLIP)[0]
    done = CliRunner().invoke(program, ["policy", "draft", trace])
    assert (done.exit_code, SLIP in done.output) == (0, False)
    assert "secret:github-token:" in done.output


@pytest.mark.parametrize("plain", ["jane.roe@corp-mail.com", "mail to jane.roe@corp-mail.com today"])
def test_an_address_in_base64_is_hidden_too(tmp_path: Path, plain: str) -> None:
    packed = base64.b64encode(plain.encode()).decode()
    events: list[dict[str, Any]] = [
        {"type": "user", "text": "Write to jane.roe@corp-mail.com"},
        {"type": "tool_call", "call_id": "1", "name": "store", "args": {"blob": packed}},
        {"type": "tool_result", "call_id": "1", "result": f"stored {packed}"},
    ]
    trace = tmp_path / "trace.jsonl"
    trace.write_text("".join(json.dumps(one) + "\n" for one in events), encoding="utf-8")
    shown = CliRunner().invoke(program, ["inspect", str(trace), "--format", "json"]).output
    assert "personal:email:" in shown
    assert packed.rstrip("=") not in shown
