"""How does a comparison end, and what does it print?"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from forensics.cli.program import program

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
HOSTILE = "x\n\x1b[2J\u202eIDENTICAL: 2 events\ud800" + "y" * 300


def run(tool: str = "pay", argument: Any = 1, result: str = "ok") -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": tool, "arguments": json.dumps({"amount": argument})}}
    return {
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": result},
            {"role": "assistant", "content": "done"},
        ]
    }


def zipped(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.mkdir("folder")
        for name, text in members.items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def compare(tmp_path: Path) -> Callable[..., Result]:
    def invoked(left: Any, right: Any, *options: str) -> Result:
        places = [str(one) for one in (left, right) if isinstance(one, Path)]
        if not places:
            for name, one in (("a.json", left), ("b.json", right)):
                (tmp_path / name).write_text(json.dumps(one), encoding="utf-8")
                places.append(str(tmp_path / name))
        return CliRunner().invoke(program, ["compare", *places, *options], env={"COLUMNS": "80"})

    return invoked


def test_the_result_alone_decides_how_it_ends(compare: Callable[..., Result]) -> None:
    assert compare(run(), run()).exit_code == 0
    assert compare(run(), run(argument=2)).exit_code == 1
    assert compare(SAMPLES / "pager.db", SAMPLES / "pager.mcp.jsonl").exit_code == 3
    assert compare(SAMPLES / "pager.db", SAMPLES / "README.md").exit_code == 3
    assert compare(SAMPLES / "pager.db", SAMPLES / "pager.db", "--trace-b", "nothing").exit_code == 2


def test_an_archive_with_one_run_is_that_run(compare: Callable[..., Result], tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.json", zipped(tmp_path / "b.zip", **{"run.json": json.dumps(run())})
    plain.write_text(json.dumps(run()), encoding="utf-8")
    ended = compare(plain, packed, "--format", "json")
    evidence = json.loads(ended.stdout)["evidence"]
    assert (ended.exit_code, [one["name"] for one in evidence]) == (0, ["a.json", "b.zip/run.json"])
    assert evidence[1]["sha256"] == hashlib.sha256(packed.read_bytes()).hexdigest()


def test_of_an_archive_with_several_runs_each_is_named(compare: Callable[..., Result], tmp_path: Path) -> None:
    runs = {f"{name}.json": json.dumps(run()) for name in ("one", "two")}
    ended = compare(SAMPLES / "pager.db", zipped(tmp_path / "b.zip", **runs))
    assert ended.exit_code == 2
    assert "it is not clear which file of b.zip is meant" in ended.stderr
    assert "b.zip/one.json, b.zip/two.json" in " ".join(ended.stderr.split())


@pytest.mark.parametrize(
    ("members", "says"),
    [({}, "without a file in it"), ({"a.json": "{}", "b.zip": "PK\x03\x04"}, "b.zip is packed itself")],
)
def test_an_archive_that_is_no_run_says_why(
    compare: Callable[..., Result], tmp_path: Path, members: dict[str, str], says: str
) -> None:
    ended = compare(SAMPLES / "pager.db", zipped(tmp_path / "b.zip", **members))
    assert ended.exit_code == 3
    assert says in " ".join(ended.stderr.split())


def test_the_result_comes_first_then_the_causing_step_with_both_sides(compare: Callable[..., Result]) -> None:
    lines = compare(run(), run(argument=2)).stdout.splitlines()
    assert lines[0] == "DIVERGED at step 2 of the left run"
    assert "  at          /amount" in lines
    assert "  left        step 2: 1" in lines
    assert "  right       step 2: 2" in lines
    assert max(map(len, lines)) <= 80
    assert compare(run(), run()).stdout.startswith("IDENTICAL: 3 events side by side, no difference\n")
    assert "Evidence" not in compare(run(), run(argument=2), "-q").stdout


@pytest.mark.parametrize(("left", "right"), [(run(), run(argument=2)), (run(), run(tool="refund")), (run(), run())])
def test_the_document_is_as_its_schema_says(compare: Callable[..., Result], left: Any, right: Any) -> None:
    schema = json.loads(CliRunner().invoke(program, ["schema", "comparison"]).stdout)
    Draft202012Validator.check_schema(schema)
    document = json.loads(compare(left, right, "--format", "json").stdout)
    assert document["schema"] == "forensics/comparison/v1"
    Draft202012Validator(schema).validate(document)
    assert (document["first_divergence"] is None) == (document["result"] != "diverged")


def test_a_divergence_has_its_place_on_both_sides(compare: Callable[..., Result]) -> None:
    first = json.loads(compare(run(), run(argument=2), "--format", "json").stdout)["first_divergence"]
    assert (first["index"], first["left"], first["right"], first["kind"]) == (2, "1", "2", "arguments")
    assert (first["left_locator"]["evidence"], first["right_locator"]["evidence"]) == (0, 1)
    assert first["explained_by"] is None


def test_nothing_in_a_run_acts_or_forges_a_line(compare: Callable[..., Result]) -> None:
    left, right = run(HOSTILE, HOSTILE, HOSTILE), run(HOSTILE, HOSTILE + "z", HOSTILE + "z")
    text = compare(left, right, "-v").stdout
    assert all(c.isprintable() or c == "\n" for c in text)
    assert not any(line.startswith("IDENTICAL") for line in text.splitlines())
    assert max(map(len, text.splitlines())) <= 80
    data = compare(left, right, "--format", "json").stdout_bytes
    assert b"\x1b" not in data
    json.loads(data.decode("utf-8"))


def test_the_evidence_stands_as_it_stood(compare: Callable[..., Result], tmp_path: Path) -> None:
    compare(run(), run(argument=2))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    compare(tmp_path / "a.json", tmp_path / "b.json")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


# both runs drawn -----------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """What a browser would find in a page: tags, attributes, ids, links and the text."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: dict[str, list[str]] = {}
        self.text = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, []).append(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def drawn(compare: Callable[..., Result], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[str, str]]:
    def both(left: Any, right: Any, *options: str) -> tuple[str, str]:
        folder = tmp_path_factory.mktemp("out")
        paths = folder / "out.html", folder / "out.md"
        done = compare(left, right, *options, *(word for path in paths for word in ("--to", str(path))))
        assert done.exit_code in (0, 1, 3), done.output
        assert sorted(path.name for path in folder.iterdir()) == ["out.html", "out.md"]
        return paths[0].read_text("utf-8"), paths[1].read_text("utf-8")

    return both


def test_page_and_ticket_tell_the_cause_first_then_the_rest(drawn: Callable[..., tuple[str, str]]) -> None:
    page, ticket = drawn(SAMPLES / "pager.db", SAMPLES / "pager.db", "--trace-b", "b8e63f8c")
    assert "DIVERGED at step 8 of the left run" in Page(page).text
    told = [
        "pg_8812 is pg_9147 in the right run",
        "What follows from it",
        "the arguments of incident.annotate",
        "enamed handles",
        "prefixed-id",
        "Both runs",
        "tool call pager.trigger of oncall",
        "SHA-256",
    ]
    for text in (Page(page[page.index("<main") :]).text, ticket):
        places = [text.index(words) for words in told]
        assert places == sorted(places)
    assert "side-effecting" in Page(page).text


def test_what_differs_within_a_step_is_marked(drawn: Callable[..., tuple[str, str]]) -> None:
    page, _ = drawn(run(result="shipped on the 12th by air"), run(result="shipped on the 13th by air"))
    assert "shipped on the 1<mark>2</mark>th by air" in page
    assert "shipped on the 1<mark>3</mark>th by air" in page


def test_what_is_alone_and_what_was_not_compared_is_told(drawn: Callable[..., tuple[str, str]]) -> None:
    page, ticket = drawn(SAMPLES / "pager.db", SAMPLES / "pager.mcp.jsonl")
    for text in (Page(page).text, ticket):
        assert "NOT COMPARABLE" in text
        assert "the right run (mcp-jsonrpc) tells nothing of the kind" in text
    more = run()
    more["messages"].append({"role": "user", "content": "and now?"})
    page, ticket = drawn(run(), more)
    assert "left: nothing stands here" in Page(page).text
    lone = run()
    lone["messages"][1:3] = []
    page, ticket = drawn(run(), lone)
    for text in (Page(page).text, ticket):
        assert "in one run alone" in text
    assert "(nothing)" in ticket


def test_runs_that_are_alike_are_drawn_without_a_cause(drawn: Callable[..., tuple[str, str]]) -> None:
    page, ticket = drawn(run(), run())
    assert "Where they part" not in page + ticket
    assert "IDENTICAL: 3 events side by side, no difference" in Page(page).text
    assert ticket.startswith("# IDENTICAL: 3 events side by side, no difference\n")


ACTS = HOSTILE + '"><script>alert(1)</script><img src=x onerror=alert(1)>|`x`\n# forged\n```\n</style></pre>'


def test_the_page_acts_on_nobody(drawn: Callable[..., tuple[str, str]]) -> None:
    page, _ = drawn(run(ACTS, ACTS, ACTS), run(ACTS, ACTS + "z", ACTS + "z"))
    parsed = Page(page)
    assert not set(parsed.tags) & {"script", "img", "iframe", "object", "embed", "form", "base", "link", "svg"}
    assert not [name for name in parsed.attributes if name.startswith("on") or name in ("src", "style")]
    assert all(link.startswith("#") for link in parsed.attributes["href"])
    assert {link[1:] for link in parsed.attributes["href"]} <= set(parsed.attributes["id"])
    assert len(parsed.attributes["id"]) == len(set(parsed.attributes["id"]))
    assert all(c.isprintable() or c == "\n" for c in page)
    assert "default-src 'none'" in parsed.attributes["content"][0]
    assert "<script>alert(1)</script>" in parsed.text


def test_the_ticket_has_no_line_but_ours(drawn: Callable[..., tuple[str, str]]) -> None:
    _, ticket = drawn(run(ACTS, ACTS, ACTS), run(ACTS, ACTS + "z", ACTS + "z"))
    assert all(c.isprintable() or c == "\n" for c in ticket)
    fence = ""
    for line in ticket.splitlines():
        if fence:
            fence = "" if line == fence else fence
        elif line.endswith("text") and line.startswith("```"):
            fence = line.removesuffix("text")
        else:
            assert not line.startswith(("# forged", "<", "&"))
            bare = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", line)
            assert "<script" not in re.sub(r"<code>[^<]*</code>", "", bare)
    assert not fence


def test_the_same_runs_give_the_same_bytes(drawn: Callable[..., tuple[str, str]]) -> None:
    assert drawn(run(), run(argument=2)) == drawn(run(), run(argument=2))


def test_a_long_text_and_a_long_run_stay_small(drawn: Callable[..., tuple[str, str]]) -> None:
    long = "x" * 400_000
    page, ticket = drawn(run(result=long + "a" + long), run(result=long + "b" + long))
    assert f"<mark>a</mark>{'x' * 1000} …" in page
    assert len(page) < 30_000
    assert len(ticket) < 10_000


def test_no_file_is_replaced_and_none_goes_to_the_evidence(compare: Callable[..., Result], tmp_path: Path) -> None:
    out = tmp_path / "out" / "parted.html"
    assert compare(run(), run(), "--to", str(out)).exit_code == 0
    before = out.read_bytes()
    again = compare(run(), run(argument=2), "--to", str(out))
    assert (again.exit_code, out.read_bytes()) == (2, before)
    assert "exists already" in again.stderr
    assert compare(run(), run(argument=2), "--to", str(out), "--force").exit_code == 1
    assert out.read_bytes() != before
    beside = compare(run(), run(), "--to", str(tmp_path / "parted.html"))
    assert (beside.exit_code, "folder of the evidence" in beside.stderr) == (2, True)
    assert compare(run(), run(), "--to", str(tmp_path / "out" / "parted.pdf")).exit_code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.json", "out"]
