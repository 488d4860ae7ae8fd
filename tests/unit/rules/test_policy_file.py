"""Policy files: the shipped two, extends, expiry, digests and faults."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import pytest

from forensics.core.classes import Effect, Scope, Stability
from forensics.core.policy import BasePolicy
from forensics.errors import RuleError
from forensics.rules import load_policy

if TYPE_CHECKING:
    from pathlib import Path

TODAY = datetime.date(2026, 11, 29)
HEAD = "schema: forensics/policy/v1\nname: team\n"
ENTRY = """\
tools:
  - tool: warehouse.*
    server: internal
    arguments: {/mode: read}
    effect: none
    result: stable
    scope: none
    because: Read replica.
    by: on-call lead
    expires: 2027-03-01
"""


def write(folder: Path, text: str, name: str = "policy.yaml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(("source", "base"), [(None, "strict"), ("strict", "strict"), ("inject", "inject")])
def test_shipped_policies(source: str | None, base: str) -> None:
    policy = load_policy(source, TODAY)
    assert (policy.name, policy.base, policy.trust, policy.tools, policy.execute) == (
        base,
        BasePolicy(base),
        (),
        (),
        (),
    )
    assert policy.as_of is None
    assert policy.digest.startswith("sha256:")


def test_an_entry_is_read_whole(tmp_path: Path) -> None:
    policy = load_policy(write(tmp_path, HEAD + "extends: inject\n" + ENTRY + "execute: [a, b]\n"), TODAY)
    entry = policy.tools[0]
    assert policy.base is BasePolicy.INJECT
    assert policy.execute == ("a", "b")
    assert (entry.tool, entry.server, entry.arguments) == ("warehouse.*", "internal", {"/mode": "read"})
    assert (entry.effect, entry.result, entry.scope) == (Effect.NONE, Stability.STABLE, Scope.NONE)
    assert (entry.because, entry.by, entry.line) == ("Read replica.", "on-call lead", 5)
    assert entry.expires == datetime.date(2027, 3, 1)


def test_an_entry_holds_on_its_last_day_and_is_named_after_it(tmp_path: Path) -> None:
    path = write(tmp_path, HEAD + ENTRY + "trust:\n  - {server: s, expires: 2020-01-01}\n")
    last_day = load_policy(path, datetime.date(2027, 3, 1))
    after = load_policy(path, datetime.date(2027, 3, 2))
    assert len(last_day.tools) == 1
    assert after.tools == ()
    assert after.expired == ("trust server s", "tool warehouse.*")
    assert after.as_of == datetime.date(2027, 3, 2)
    assert after.digest == last_day.digest


def test_trust_of_a_server_and_of_a_pinned_one(tmp_path: Path) -> None:
    text = HEAD + 'trust:\n  - server: a\n  - {server: b, version: "1.*"}\n  - pack: coding\n'
    policy = load_policy(write(tmp_path, text), TODAY)
    assert policy.trusts_server("a")
    assert not policy.trusts_server("b")
    assert not policy.trusts_server(None)
    assert policy.trusts_pack("coding")


def test_extends_a_path_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    write(tmp_path / "base", HEAD + "extends: inject\n" + ENTRY)
    policy = load_policy(write(tmp_path, HEAD + "extends: base/policy.yaml\nexecute: [x]\n"), TODAY)
    assert policy.base is BasePolicy.INJECT
    assert [entry.tool for entry in policy.tools] == ["warehouse.*"]


def test_extends_in_a_circle(tmp_path: Path) -> None:
    write(tmp_path, HEAD + "extends: b.yaml\n", "a.yaml")
    write(tmp_path, HEAD + "extends: a.yaml\n", "b.yaml")
    with pytest.raises(RuleError, match=r"^b.yaml:3:10: extends runs in a circle$"):
        load_policy(tmp_path / "a.yaml", TODAY)


def test_a_missing_file_is_named_where_it_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match=r"^policy.yaml:3:10: gone.yaml: No such file"):
        load_policy(write(tmp_path, HEAD + "extends: gone.yaml\n"), TODAY)
    with pytest.raises(
        RuleError, match=r"^neither a policy that is shipped \(inject, strict\) nor a file: .*: No such file"
    ):
        load_policy(tmp_path / "gone.yaml", TODAY)


def test_all_faults_of_a_policy_at_once(tmp_path: Path) -> None:
    text = HEAD + (
        "trust:\n  - {server: a, pack: b}\n  - {}\n"
        "tools:\n  - {tool: a, because: x, by: y}\n"
        "  - {tool: b, because: '', by: y, effect: none, arguments: {mode: 1}}\n"
    )
    with pytest.raises(RuleError) as caught:
        load_policy(write(tmp_path, text), TODAY)
    assert caught.value.faults == (
        "policy.yaml:4:5: a trust entry names one server or one pack",
        "policy.yaml:5:5: a trust entry names one server or one pack",
        "policy.yaml:7:5: the entry says nothing: give effect, result or scope",
        "policy.yaml:8:24: because is empty",
        "policy.yaml:8:67: not a JSON Pointer: 'mode'",
    )


def test_unknown_keys_and_bad_values_at_once(tmp_path: Path) -> None:
    text = HEAD + "exekute: [a]\ntools:\n  - {tool: a, because: x, by: y, effect: unknown, expires: tomorrow}\n"
    with pytest.raises(RuleError) as caught:
        load_policy(write(tmp_path, text), TODAY)
    assert [fault.split(": ")[0] for fault in caught.value.faults] == [
        "policy.yaml:3:10",
        "policy.yaml:5:42",
        "policy.yaml:5:60",
    ]


def test_the_digest_is_over_content_not_text(tmp_path: Path) -> None:
    one = load_policy(write(tmp_path, HEAD + "execute: [a]\n", "1.yaml"), TODAY)
    same = load_policy(
        write(tmp_path, "# words\nexecute: ['a']\nname: team\nschema: forensics/policy/v1\n", "2.yaml"), TODAY
    )
    other = load_policy(write(tmp_path, HEAD + "execute: [b]\n", "3.yaml"), TODAY)
    assert one.digest == same.digest != other.digest


def test_the_faults_of_the_schema_and_all_others_at_once(tmp_path: Path) -> None:
    text = HEAD + (
        "trust:\n  - {}\n"
        "tools:\n  - {tool: a, because: '', by: y, effect: harmless}\n"
        "  - {tool: ' ', because: x, by: y, arguments: {/a~2: 1}}\n"
        "execute: [7, 'get_*']\n"
    )
    with pytest.raises(RuleError) as caught:
        load_policy(write(tmp_path, text), TODAY)
    assert [fault.split(": ")[0] for fault in caught.value.faults] == [
        "policy.yaml:4:5",
        "policy.yaml:6:24",
        "policy.yaml:6:43",
        "policy.yaml:7:5",
        "policy.yaml:7:12",
        "policy.yaml:7:54",
        "policy.yaml:8:11",
        "policy.yaml:8:14",
    ]


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ("tools: [{tool: a, because: x, by: y, effect: none, scope: external}]", "contradict each other"),
        ("tools: [{tool: a, because: x, by: y, effect: repeating, scope: none}]", "contradict each other"),
        ("tools: [{tool: a, server: '', because: x, by: y, effect: none}]", "server is empty"),
        ("trust: [{server: '*'}]", "by its whole name"),
        ("trust: [{server: ''}]", "server is empty"),
        ("trust: [{server: a, tools_digest: abc}]", "no inventory would ever have it"),
        ("execute: ['*']", "by its whole name"),
        ("execute: ['']", "by its whole name"),
    ],
)
def test_an_entry_that_could_never_speak_is_a_fault(tmp_path: Path, entry: str, fault: str) -> None:
    with pytest.raises(RuleError, match=rf"^policy.yaml:3:\d+: .*{fault}"):
        load_policy(write(tmp_path, HEAD + entry + "\n"), TODAY)


@pytest.mark.parametrize(
    "entry", ["tools: 7", "tools: [7]", "trust: [a]", "execute: {a: b}", "tools: [{arguments: [1]}]"]
)
def test_entries_of_another_kind_are_faults_of_their_own(tmp_path: Path, entry: str) -> None:
    with pytest.raises(RuleError, match=r"^policy.yaml:3:\d+: "):
        load_policy(write(tmp_path, HEAD + entry + "\n"), TODAY)


def test_what_it_extends_and_what_is_wrong_in_it_are_named_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, HEAD + "extends: strickt\n" + ENTRY.replace("stable", "stabel"))
    with pytest.raises(RuleError) as raised:
        load_policy(path, TODAY)
    first, second = raised.value.faults
    assert first == "policy.yaml:3:10: strickt: No such file or directory; did you mean strict?"
    assert second.startswith("policy.yaml:9:13: /tools/0/result: 'stabel' is not one of")


@pytest.mark.parametrize("extends", ["3", "[strict]", "null", '"a\\0b"'])
def test_an_odd_name_of_what_it_extends_is_a_fault_or_nothing(extends: str, tmp_path: Path) -> None:
    path = write(tmp_path, HEAD + f"extends: {extends}\nexecute: 7\n")
    with pytest.raises(RuleError, match=r"^policy.yaml:[34]:"):
        load_policy(path, TODAY)
