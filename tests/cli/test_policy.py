"""Does a drafted policy vouch for nothing, and does a check say what each entry does?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from forensics.cli.program import program

if TYPE_CHECKING:
    from pathlib import Path


def check(*arguments: str | Path) -> list[dict[str, Any]]:
    result = CliRunner().invoke(program, ["policy", "check", *map(str, arguments), "--format", "json"])
    assert result.exit_code == 0, result.output
    entries: list[dict[str, Any]] = json.loads(result.stdout)["entries"]
    return entries


def policy(folder: Path, entries: str) -> Path:
    path = folder / "policy.yaml"
    path.write_text(f"schema: forensics/policy/v1\nname: test\nextends: strict\n{entries}")
    return path


def entry(tool: str, expires: str = "") -> str:
    more = f"    expires: {expires}\n" if expires else ""
    return f'  - tool: "{tool}"\n    effect: none\n    result: stable\n    because: "known"\n    by: "me"\n{more}'


def test_a_draft_names_every_tool_and_vouches_for_none(samples: Path, tmp_path: Path) -> None:
    drafted = CliRunner().invoke(program, ["policy", "draft", str(samples / "pager.db")]).stdout
    assert all(f'#  - tool: "{tool}"' in drafted for tool in ("query_metrics", "pager.trigger", "incident.annotate"))
    path = tmp_path / "draft.yaml"
    path.write_text(drafted, encoding="utf-8")
    assert check(path, samples / "pager.db") == []


def test_a_draft_without_its_marks_waits_for_a_person(samples: Path, tmp_path: Path) -> None:
    """An entry with nothing filled in is no valid one: because and by are empty."""
    drafted = CliRunner().invoke(program, ["policy", "draft", str(samples / "readonly.db")]).stdout
    lines = drafted.splitlines()
    single = [line.startswith("#") and not line.startswith("##") for line in lines]
    assert any("remove the single #" in line for line in lines)
    opened = [line[1:] if one else line for line, one in zip(lines, single, strict=True)]  # as the draft says it
    path = tmp_path / "draft.yaml"
    path.write_text("\n".join(opened) + "\n", encoding="utf-8")
    result = CliRunner().invoke(program, ["policy", "check", str(path)])
    assert result.exit_code == 2
    assert "because is empty" in result.stderr
    assert "by is empty" in result.stderr
    one = lines.index("#tools:"), lines.index(next(line for line in lines if line.startswith("#  - tool")))
    path.write_text(
        "\n".join(line[1:] if one[0] == at or one[1] <= at < one[1] + 6 else line for at, line in enumerate(lines))
    )
    path.write_text(path.read_text().replace('because: ""', 'because: "seen"').replace('by: ""', 'by: "me"'))
    assert [row["state"] for row in check(path)] == ["in force"]  # the others still are comments
    path.write_text("\n".join(opened) + "\n", encoding="utf-8")
    path.write_text(path.read_text().replace('because: ""', 'because: "seen"').replace('by: ""', 'by: "me"'))
    assert [row["state"] for row in check(path, samples / "readonly.db")] == ["in force"] * 3  # a server, two tools


def test_each_entry_says_what_it_changes(samples: Path) -> None:
    rows = check(samples / "policies" / "readonly.yaml", samples / "readonly.responses.json")
    assert [row["state"] for row in rows] == ["in force", "in force"]
    for row in rows:
        assert any("level of trace" in change and change.endswith("inject -> dynamic") for change in row["changes"])


def test_expired_and_unused_entries_are_named(samples: Path, tmp_path: Path) -> None:
    path = policy(
        tmp_path, "tools:\n" + entry("read_file", "2026-01-01") + entry("nobody_calls_this") + entry("get_config")
    )
    rows = check(path, samples / "readonly.db", "--as-of", "2026-06-01")
    assert [row["state"] for row in rows] == ["expired", "unused", "in force"]
    assert rows[0]["expires"] == "2026-01-01"
    assert [row["line"] for row in rows] == [5, 11, 16]
    early = check(path, samples / "readonly.db", "--as-of", "2025-06-01")
    assert early[0]["state"] == "in force"


def test_without_evidence_nothing_is_unused(tmp_path: Path) -> None:
    rows = check(policy(tmp_path, 'trust:\n  - server: "x"\ntools:\n' + entry("anything") + 'execute: ["anything"]\n'))
    assert [row["state"] for row in rows] == ["in force"] * 3


def test_trust_in_a_server_changes_what_its_tools_rest_on(samples: Path, tmp_path: Path) -> None:
    (row,) = check(policy(tmp_path, 'trust:\n  - server: "oncall"\n'), samples / "pager.db")
    assert row["state"] == "in force"
    assert any("query_metrics" in change and "rests on declaration" in change for change in row["changes"])


def test_every_fault_is_named_with_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("schema: forensics/policy/v1\nname: x\nbogus: 1\ntools:\n  - tool: a\n    because: b\n")
    result = CliRunner().invoke(program, ["policy", "check", str(path)])
    assert result.exit_code == 2
    assert "bad.yaml:3:" in result.stderr
    assert "bad.yaml:5:" in result.stderr
    assert result.stdout == ""


def test_contradicting_entries_are_named_wherever_the_policy_is(samples: Path, tmp_path: Path) -> None:
    path = policy(tmp_path, "tools:\n" + entry("get_config") + entry("get_config").replace("none", "repeating"))
    told = "speak of the same calls: effect repeating counts"
    for arguments in (["policy", "check", str(path)], ["audit", str(samples / "readonly.db"), "--policy", str(path)]):
        document = json.loads(CliRunner().invoke(program, [*arguments, "--format", "json"]).stdout)
        (warning,) = document["policy"]["warnings"]
        assert told in warning
        assert told in " ".join(CliRunner().invoke(program, arguments).stdout.split())
    written = tmp_path / "out" / "report.md"
    asked = ["report", str(samples / "readonly.db"), "--policy", str(path), "--to", str(written)]
    asked += ["--to", str(written.with_suffix(".html"))]
    assert CliRunner().invoke(program, asked).exit_code == 0
    assert told in written.read_text("utf-8")
    assert told in written.with_suffix(".html").read_text("utf-8")


def test_a_policy_that_is_meant_as_it_stands_has_no_warning(samples: Path) -> None:
    asked = ["policy", "check", str(samples / "policies" / "readonly.yaml"), "--format", "json"]
    assert "warnings" not in json.loads(CliRunner().invoke(program, asked).stdout)["policy"]


def told(*arguments: str | Path) -> list[str]:
    """The lines of a text, whatever the exit code."""
    return CliRunner().invoke(program, [*map(str, arguments)]).stdout.splitlines()


def first_with(lines: list[str], text: str) -> int:
    return next(at for at, line in enumerate(lines) if text in line)


def test_a_policy_that_vouches_for_everything_is_told_near_the_verdict(samples: Path, tmp_path: Path) -> None:
    under = ("--policy", policy(tmp_path, "tools:\n" + entry("*")))
    warning = "line 5 (tool *) vouches for every tool"
    for command in ("audit", "inspect", "replay"):
        lines = told(command, samples / "pager.db", *under)
        assert first_with(lines, warning) <= 2, lines
        assert first_with(told(command, samples / "pager.db", *under, "-q"), warning) <= 2
    audited = ("audit", samples / "pager.db", *under, "--into")
    assert first_with(told(*audited, tmp_path / "into"), warning) == 1
    assert first_with(told(*audited, tmp_path / "quiet", "-q"), warning) == 1
    assert first_with(told("audit", samples, *under), warning) <= 3
    assert any(warning in line for line in told("classify", samples / "pager.db", *under))


def test_the_report_on_a_corpus_tells_the_warning_first(samples: Path, tmp_path: Path) -> None:
    told("audit", samples / "pager.db", "--policy", policy(tmp_path, "tools:\n" + entry("*")), "--into", tmp_path / "o")
    written = tmp_path / "report.md"
    told("report", tmp_path / "o", "--to", written, "--to", written.with_suffix(".html"))
    lines = written.read_text("utf-8").splitlines()
    assert first_with(lines, "vouches for every tool") < first_with(lines, "## ")
    assert "vouches for every tool" in written.with_suffix(".html").read_text("utf-8")


def checked(*arguments: str | Path) -> dict[str, Any]:
    result = CliRunner().invoke(program, ["policy", "check", *map(str, arguments), "--format", "json"])
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_what_two_entries_clear_together_is_told_of_the_whole_file(samples: Path, tmp_path: Path) -> None:
    """Each of the two could be left out, so neither changes the level alone."""
    path = policy(tmp_path, "tools:\n" + entry("read_*") + entry("*_file") + entry("get_config"))
    document = checked(path, samples / "readonly.db")
    assert [row.get("changes", []) == [] for row in document["entries"]] == [True, True, False]
    assert any(change.startswith("read_file: ") for change in document["changes"])
    assert any(change.endswith("inject -> dynamic") for change in document["changes"])
    assert document["refused"] == []
    text = " ".join(told("policy", "check", path, samples / "readonly.db"))
    assert text.count("nothing alone: without it the same would count") == 2
    assert "All entries together, beside strict" in text
    assert "before the arrow without that entry" in text


def test_a_trace_that_half_a_policy_leaves_refused_is_told(samples: Path, tmp_path: Path) -> None:
    path = policy(tmp_path, "tools:\n" + entry("read_file"))
    document = checked(path, samples / "readonly.db")
    (refused,) = document["refused"]
    assert refused.endswith("by get_config (unvouched, step 6)")
    assert "still refused: trace" in "\n".join(told("policy", "check", path, samples / "readonly.db"))


def test_without_evidence_nothing_is_said_of_the_whole_file(tmp_path: Path) -> None:
    path = policy(tmp_path, "tools:\n" + entry("read_file"))
    assert not {"changes", "refused"} & set(checked(path))
    assert not any("together" in line or "nothing alone" in line for line in told("policy", "check", path))


def test_a_file_that_changes_nothing_says_so(samples: Path, tmp_path: Path) -> None:
    path = policy(tmp_path, "tools:\n" + entry("nobody_calls_this"))
    text = "\n".join(told("policy", "check", path, samples / "readonly.db"))
    assert "nothing: every class and level is the same" in text


def test_an_audit_says_which_of_two_entries_counts(samples: Path, tmp_path: Path) -> None:
    path = policy(tmp_path, "tools:\n" + entry("get_config") + entry("get_*").replace("stable", "volatile"))
    lines = [line.strip() for line in told("audit", samples / "readonly.db", "--policy", path)]
    at = lines.index("the policy says effect none, result stable: known (me)")
    assert lines[at + 1 : at + 3] == [
        "the policy says effect none, result volatile: known (me)",
        "of these the worst counts: effect none, result volatile",
    ]


def test_two_entries_that_say_the_same_need_no_such_line(samples: Path, tmp_path: Path) -> None:
    path = policy(tmp_path, "tools:\n" + entry("get_config") + entry("get_*"))
    assert not any("the worst counts" in line for line in told("audit", samples / "readonly.db", "--policy", path))


def test_an_empty_reason_is_named_where_it_stands(tmp_path: Path) -> None:
    path = policy(tmp_path, "tools:\n" + entry("a").replace('"known"', '""'))
    told_of = CliRunner().invoke(program, ["policy", "check", str(path)]).stderr
    assert "policy.yaml:8:14: because is empty" in told_of


def test_an_unused_entry_says_which_tool_was_meant(samples: Path, tmp_path: Path) -> None:
    path = policy(tmp_path, "execute: [querymetrics]\ntools:\n" + entry("query_metric") + entry("unlike-any"))
    rows = check(path, samples / "pager.db")
    assert [(row["state"], row.get("hint")) for row in rows] == [
        ("unused", "did you mean query_metrics?"),
        ("unused", None),
        ("unused", "did you mean query_metrics?"),
    ]
    told = CliRunner().invoke(program, ["policy", "check", str(path), str(samples / "pager.db")]).stdout
    assert "hint     did you mean query_metrics?" in told
