"""The strict YAML loader: JSON scalars, no tricks, every fault at once with its place."""

from __future__ import annotations

import pytest
import yaml

from forensics.errors import RuleError
from forensics.rules import yaml_strict
from forensics.rules.yaml_strict import load_strict


def faults(text: str | bytes) -> tuple[str, ...]:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(RuleError) as caught:
        load_strict(data, "p.yaml")
    return caught.value.faults


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("12:30:45", "12:30:45"),
        ("2027-03-01", "2027-03-01"),
        ("~", "~"),
        ("True", "True"),
        ("NULL", "NULL"),
        (".inf", ".inf"),
        ("0x10", "0x10"),
        ("012", "012"),
        ("1_000", "1_000"),
        ("+1", "+1"),
        ("true", True),
        ("false", False),
        ("null", None),
        ("-7", -7),
        ("1.5e3", 1500.0),
        ('"true"', "true"),
        ("'7'", "7"),
    ],
)
def test_plain_scalars_mean_what_json_means(text: str, value: object) -> None:
    loaded = load_strict(f"a: {text}\n".encode(), "p.yaml").value
    assert loaded == {"a": value}
    assert isinstance(loaded, dict)
    assert type(loaded["a"]) is type(value)


def test_python_parser_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"a: [1, no, 'x', \"y\"]\nb: {c: true, d: |\n  two\n  lines\n}\n".replace(b", d: |\n  two\n  lines\n", b"")
    with_libyaml = load_strict(text, "p.yaml")
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert load_strict(text, "p.yaml").value == with_libyaml.value == {"a": [1, "no", "x", "y"], "b": {"c": True}}


def test_every_fault_is_named_with_its_place() -> None:
    text = "a: &x 1\nb: *x\nc: !!python/object:os.system 1\na: 2\n<<: {d: 1}\ne:\nf: 1e999\n? [g]\n: 1\n"
    assert faults(text) == (
        "p.yaml:1:4: anchor &x is not allowed",
        "p.yaml:2:4: alias *x is not allowed",
        "p.yaml:3:4: tag tag:yaml.org,2002:python/object:os.system is not allowed",
        "p.yaml:4:1: duplicate key 'a'",
        "p.yaml:5:1: merge key << is not allowed",
        'p.yaml:6:3: a value is missing (write null or "")',
        "p.yaml:7:4: 1e999 is not a finite number",
        "p.yaml:8:3: a key must be a string",
    )


def test_syntax_ends_reading_but_keeps_the_faults_before_it() -> None:
    found = faults("a: &x 1\nb: [1\nc: 2\n")
    assert found[0] == "p.yaml:1:4: anchor &x is not allowed"
    assert found[-1].startswith("p.yaml:3:")
    assert "not YAML" in found[-1]


def test_alias_bomb_is_refused_without_growing() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}, *a{i - 1}]" for i in range(1, 30)]
    found = faults("\n".join(lines))
    assert "p.yaml:2:10: alias *a0 is not allowed" in found
    assert len(found) <= yaml_strict.MAX_FAULTS


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b"\xff", "p.yaml:1:1: not UTF-8"),
        (b"a: 1\nb: \xff", "p.yaml:2:4: not UTF-8"),
        (b"", "p.yaml:1:1: nothing in the document"),
        (b"a: 1\n---\nb: 2\n", "p.yaml:2:1: a second document"),
        (b"[" * 200, "p.yaml:1:65: nested too deep"),
        (b"a: [" + b"1," * 100, "p.yaml:2:1: not YAML: did not find expected node content"),
    ],
)
def test_hostile_text_gives_one_error(text: bytes, fault: str) -> None:
    assert fault in faults(text)


def test_size_and_node_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_strict, "MAX_BYTES", 10)
    assert faults("a: 12345678901") == ("p.yaml:1:1: larger than 10 bytes",)
    monkeypatch.setattr(yaml_strict, "MAX_BYTES", 100)
    monkeypatch.setattr(yaml_strict, "MAX_NODES", 3)
    assert faults("[1, 2, 3, 4]") == ("p.yaml:1:1: more than 3 values",)


def test_positions_of_nodes_and_of_what_is_missing() -> None:
    document = load_strict(b"a:\n  - b: 1\n  - c: 2\n", "p.yaml")
    assert document.position(("a", 1, "c")) == (3, 8)
    assert document.position(("a", 1, "nothing", "there")) == (3, 5)
    assert document.position(("z",)) == (1, 1)


def test_message_counts_the_other_faults() -> None:
    with pytest.raises(RuleError, match=r"^p.yaml:1:4: alias \*x is not allowed \(and 1 more\)$"):
        load_strict(b"a: *x\nb: *x\n", "p.yaml")
