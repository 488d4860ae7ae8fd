"""Is the causal graph written in every form, whole and sliced, bounded, the same every time, and harmless?"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import networkx as nx
import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

import forensics
from forensics.cli.commands.graph import FORMS
from forensics.cli.program import program

if TYPE_CHECKING:
    from .conftest import Run

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted(p for p in (ROOT / "samples").iterdir() if p.suffix in (".json", ".jsonl", ".db"))
PAGER = ROOT / "samples" / "pager.db"
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = {
    "script": "</title></style><script>alert(1)</script>",
    "attribute": '" onload="alert(1)" x=\'',
    "cdata": "]]></data><x/>",
    "entity": "&lt;b&gt; &#60;i&#62; #quot;",
    "dot": '\\N \\" ]; n0 [URL="https://evil.invalid"',
    "mermaid": '"] click n0 "javascript:alert(1)"',
    "directive": '%%{init: {"securityLevel": "loose"}}%%',
    "markdown": "1. `**b**` fa:fa-user $$x$$",
    "lines": "a\nflowchart TD\r\n  n9 --> n8\u2028x",
    "controls": "a\x1b[2J\x00\u202eb\ufffe\uffff\ud800",
    "wide": "界" * 200,
    "combining": "e" + "\u0301" * 300,
}
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff]")


def graph(*arguments: object) -> Result:
    return CliRunner().invoke(program, ["graph", *map(str, arguments)])


def written(*arguments: object) -> str:
    result = graph(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout_bytes.decode("utf-8")


def parsed(text: str | bytes) -> ElementTree.Element:
    return ElementTree.fromstring(text)  # noqa: S314 - our own output, which has no document type


def document(*arguments: object) -> Any:
    return json.loads(written(*arguments, "--to", "json"))


def hostile(folder: Path, text: str) -> Path:
    """An event log whose names, ids and values are the text."""
    rows: list[dict[str, Any]] = [
        {"type": "user", "text": text},
        {"type": "model", "text": text, "name": text},
        {"type": "tool_call", "call_id": text, "name": text, "args": {text: text}},
        {"type": "tool_result", "call_id": text, "result": {"status": "created", "id": f"{text}id_7731x"}},
        {"type": "model", "text": f"made {text}id_7731x"},
    ]
    path = folder / "trace.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def many(folder: Path, turns: int) -> Path:
    """An event log of so many turns, a call and a result each."""
    path = folder / "many.jsonl"
    with path.open("w") as out:
        for n in range(turns):
            out.write('{"type":"model","text":"t"}\n')
            out.write(f'{{"type":"tool_call","call_id":"c{n}","name":"get_it","args":{{}}}}\n')
            out.write(f'{{"type":"tool_result","call_id":"c{n}","result":"ok"}}\n')
    return path


# the document --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_the_document_is_as_its_schema_says_and_holds_every_edge(sample: Path) -> None:
    found = document(sample)
    schema = json.loads(CliRunner().invoke(program, ["schema", "graph"]).stdout)
    Draft202012Validator(schema).validate(found)
    assert found["schema"] == "forensics/graph/v1"
    trace = next(t for t in forensics.load(sample) if t.id == found["trace"]["id"])
    first = found["trace"]["first_step"]
    edges = [(first + e.source, first + e.target, e.kind.label, e.basis.value) for e in forensics.graph(trace).edges()]
    assert [(e["source"], e["target"], e["kind"], e["basis"]) for e in found["edges"]] == edges
    assert [step["index"] for step in found["steps"]] == list(range(first, first + len(trace)))


def test_steps_have_the_numbers_and_classes_of_the_audit() -> None:
    found = document(PAGER)
    audit = json.loads(CliRunner().invoke(program, ["audit", str(PAGER), "--format", "json"]).stdout)
    calls = {call["step"]: (call["tool"], call["occurrence"], call["class"]) for call in audit["traces"][0]["calls"]}
    told = {s["index"]: (s["name"], s["occurrence"], s["class"]) for s in found["steps"] if s["kind"] == "tool_call"}
    assert told == calls


def test_an_edge_of_a_value_says_the_value_and_how_it_stands_there() -> None:
    edges = {(e["source"], e["target"]): e for e in document(PAGER)["edges"] if e["kind"] == "value"}
    assert sorted(edges) == [(7, 8), (7, 9), (7, 10), (7, 11)]
    assert edges[7, 9]["basis"] == "inferred"
    (value,) = edges[7, 9]["values"]
    assert (value["value"], value["role"], value["as"], value["pointer"]) == (
        "pg_8812",
        "argument",
        "verbatim",
        "/page_id",
    )


def test_the_library_gives_the_same_graph() -> None:
    (trace,) = forensics.load(ROOT / "samples" / "pager.chat.json")
    found = forensics.graph(trace)
    assert (found.node_count, found.edge_count) == (12, 26)
    view = forensics.to_networkx(trace)
    assert nx.has_path(view, 1, 11)
    assert view.nodes[6] == {"kind": "tool_call", "name": "pager.trigger", "agent": "", "occurrence": "1.0"}
    assert view.edges[7, 9, "value"] == {"kind": "value", "basis": "inferred"}


# slices --------------------------------------------------------------------------------------------------------------


def test_a_slice_takes_both_directions_unless_one_is_given() -> None:
    back = [s["index"] for s in document(PAGER, "--slice", 6, "--back")["steps"]]
    forward = [s["index"] for s in document(PAGER, "--slice", 6, "--forward")["steps"]]
    both = document(PAGER, "--slice", 6)
    assert back == [0, 1, 2, 3, 4, 5, 6]
    assert forward == [6, 7, 8, 9, 10, 11]
    assert [s["index"] for s in both["steps"]] == sorted({*back, *forward})
    assert both["slice"] == {"step": 6, "back": True, "forward": True}
    assert [s["index"] for s in document(PAGER, "--slice", 6, "--back", "--forward")["steps"]] == list(range(12))


def test_a_slice_is_that_of_networkx_without_sequence() -> None:
    (trace,) = forensics.load(ROOT / "samples" / "double_charge.chat.json")
    view = forensics.to_networkx(trace)
    causes: nx.DiGraph[int] = nx.DiGraph()
    causes.add_edges_from((s, t) for s, t, key in view.edges(keys=True) if key != "next")
    for row in causes:
        sample = ROOT / "samples" / "double_charge.chat.json"
        back = {s["index"] for s in document(sample, "--slice", row, "--back")["steps"]}
        assert back == {*nx.ancestors(causes, row), row}


def test_depth_bounds_a_slice() -> None:
    found = document(PAGER, "--slice", 9, "--back", "--depth", 1)
    assert [s["index"] for s in found["steps"]] == [7, 8, 9]
    assert found["slice"]["depth"] == 1
    kept = {s["index"] for s in found["steps"]}
    assert all({e["source"], e["target"]} <= kept for e in found["edges"])


# which trace ---------------------------------------------------------------------------------------------------------


def test_the_run_that_repeats_no_other_is_taken() -> None:
    assert document(PAGER)["trace"]["id"].startswith("7ef89abc")


def test_a_rerun_is_drawn_when_it_is_asked_for() -> None:
    audit = json.loads(CliRunner().invoke(program, ["audit", str(PAGER), "--format", "json"]).stdout)
    rerun = next(t["id"] for t in audit["traces"] if "rerun_of" in t)
    found = document(PAGER, "--trace", rerun)
    assert found["trace"]["id"] == rerun
    assert found["trace"]["rerun_of"] == audit["traces"][0]["id"]


def test_of_several_runs_the_person_chooses_from_a_list(tmp_path: Path) -> None:
    for number in range(25):
        shutil.copy(ROOT / "samples" / "pager.chat.json", tmp_path / f"{number:02}.json")
    result = CliRunner().invoke(program, ["graph", str(tmp_path)])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "The evidence holds 25 traces; name the file, and choose one with --trace ID:" in result.stderr
    assert "  trace-0  (12 steps, in 00.json)\n" in result.stderr
    assert "  … 5 more" in result.stderr


def test_a_trace_of_another_name_is_chosen_by_it(tmp_path: Path) -> None:
    rows = [{"type": "user", "text": "go", "trace": name} for name in ("one", "two\nError: x")]
    path = tmp_path / "two.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    listed = graph(path)
    assert listed.exit_code == 2
    assert "choose one with --trace ID" in listed.stderr
    assert "\nError: x" not in listed.stderr
    assert document(path, "--trace", "one")["trace"]["id"] == "one"


# limits --------------------------------------------------------------------------------------------------------------


def test_beyond_the_limit_of_a_form_the_advice_is_to_slice(tmp_path: Path) -> None:
    path = many(tmp_path, 700)
    result = graph(path, "--to", "svg")
    assert result.exit_code == 3
    assert result.stdout == ""
    assert result.stderr == (
        "Error: an SVG holds at most 2,000 steps, and this one has 2,100 or more\n"
        "Hint: draw what surrounds one step: --slice STEP --depth 5\n"
    )
    assert len(document(path)["steps"]) == 2_100
    assert written(path, "--to", "svg", "--slice", 1_000, "--depth", 5).count("<g><title>step ") == 11


def test_beyond_fifty_thousand_steps_nothing_is_drawn_whole(tmp_path: Path) -> None:
    path = many(tmp_path, 16_700)
    result = graph(path, "--to", "dot")
    assert result.exit_code == 3
    assert "a graph holds at most 50,000 steps, and this one has 50,100 or more" in result.stderr
    assert len(document(path, "--slice", 40_000, "--depth", 2)["steps"]) == 5


def test_many_edges_for_mermaid_are_said(tmp_path: Path) -> None:
    assert (
        "note: Mermaid draws more than 500 edges only where maxEdges is raised"
        in graph(many(tmp_path, 200), "--to", "mermaid").stderr
    )
    assert graph(PAGER, "--to", "mermaid").stderr == ""


# forms ---------------------------------------------------------------------------------------------------------------


def test_graphml_is_read_by_networkx_as_the_document_says(tmp_path: Path) -> None:
    path = tmp_path / "graph.graphml"
    assert written(PAGER, "--to", "graphml", "--output", path) == ""
    read = nx.read_graphml(path, force_multigraph=True)
    found = document(PAGER)
    assert {int(node[1:]) for node in read} == {step["index"] for step in found["steps"]}
    edges = sorted((int(s[1:]), int(t[1:]), d["kind"], d["basis"]) for s, t, d in read.edges(data=True))
    assert edges == sorted((e["source"], e["target"], e["kind"], e["basis"]) for e in found["edges"])
    assert read.nodes["n6"]["name"] == "pager.trigger"
    assert read.nodes["n6"]["step"] == 6
    assert read.nodes["n6"]["labels"] == "side-effecting handle-returning"


def test_dot_says_kind_name_occurrence_mark_and_basis() -> None:
    lines = written(PAGER, "--to", "dot").splitlines()
    assert '  n6 [label="6 tool_call 1.0 !#\\npager.trigger", fillcolor="#e3cdf5"];' in lines
    assert '  n5 -> n6 [label="requests recorded", style=solid];' in lines
    assert '  n7 -> n8 [label="feeds derived", style=dashed];' in lines
    value = next(line for line in lines if line.startswith("  n7 -> n9 "))
    assert '[label="value inferred: pg_8812", style=dotted,' in value


def test_mermaid_says_the_same() -> None:
    lines = written(PAGER, "--to", "mermaid").splitlines()
    assert lines[0] == "flowchart TD"
    assert '  n6["6 tool#95;call 1#46;0 #33;#35;<br/>pager#46;trigger"]:::handle' in lines
    edges = [line for line in lines if "-->" in line]
    (dotted,) = [line for line in lines if line.endswith("stroke-dasharray:2 3")]
    places = [int(place) for place in dotted.split()[1].split(",")]
    assert all("value inferred" in edges[place] for place in places)
    assert len(places) == sum("inferred" in edge for edge in edges)


def test_the_svg_is_one_file_that_needs_nothing_else() -> None:
    text = written(PAGER, "--to", "svg")
    root = parsed(text)
    assert root.tag == f"{SVG}svg"
    kinds = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert kinds == {"svg", "title", "style", "defs", "marker", "rect", "text", "path", "g"}
    assert "prefers-color-scheme:dark" in text
    assert text.count("http") == 1  # the name of the SVG namespace
    assert not re.search(r"(?:href|src|@import|url\((?!#to-))", text)
    titles = [title.text or "" for title in root.iter(f"{SVG}title")]
    assert "step 6, tool_call; pager.trigger; agent oncall; side-effecting and handle-returning; recorded; " in "".join(
        titles
    )
    assert "value, inferred: pg_8812 of step 7 in step 9" in titles
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert "7 to 8, 9, 10, 11: pg_8812" in texts
    assert "9 from 7: pg_8812" in texts


@pytest.mark.parametrize("sample", ["pager.db", "parallel.anthropic.json"])
@pytest.mark.parametrize("form", FORMS)
def test_the_same_input_gives_the_same_bytes(form: str, sample: str, forensics: Run, tmp_path: Path) -> None:
    shutil.copy(ROOT / "samples" / sample, tmp_path / sample)
    first = forensics("graph", ROOT / "samples" / sample, "--to", form, PYTHONHASHSEED="1")
    again = forensics("graph", sample, "--to", form, cwd=tmp_path, PYTHONHASHSEED="77", TZ="Asia/Kathmandu", LC_ALL="C")
    assert first.stdout
    assert again.stdout == first.stdout


# hostile texts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", HOSTILE)
@pytest.mark.parametrize("form", FORMS)
def test_nothing_of_the_trace_acts_in_any_form(form: str, label: str, tmp_path: Path) -> None:
    text = written(hostile(tmp_path, HOSTILE[label]), "--to", form, "--input-format", "event-log")
    assert ACTS.search(text.replace("\n", "")) is None
    _HARMLESS[form](text)


def _json(text: str) -> None:
    assert len(json.loads(text)["steps"]) == 5


def _xml(text: str) -> None:
    root = parsed(text)
    assert not any(key.startswith("on") for element in root.iter() for key in element.attrib)
    assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
        *("graphml", "key", "graph", "node", "edge", "data"),
        *("svg", "title", "style", "defs", "marker", "rect", "text", "path", "g"),
    }


_DOT_LINE = re.compile(
    r"  (?:n\d+|n\d+ -> n\d+|graph|node|edge) \[(?:(?:[a-z]+=)(?:\"(?:[^\"\\]|\\.)*\"|[#\w]+)(?:, )?)+\];"
)
_MERMAID_TEXT = r'"(?:[^\W_]|[ ]|#\d+;|<br/>)*"'
_MERMAID_LINE = re.compile(
    rf"flowchart TD|  n\d+(?:\[|\(\[|\[/|\{{\{{){_MERMAID_TEXT}(?:\]|\]\)|/\]|\}}\}})(?::::[a-z]+)?|"
    rf"  n\d+ -->\|{_MERMAID_TEXT}\| n\d+|  classDef [a-z]+ [#a-z0-9:,]+|  linkStyle [\d,]+ stroke-dasharray:\d \d"
)


def _dot(text: str) -> None:
    head, *lines, end = text.splitlines()
    assert (head, end) == ("digraph causal {", "}")
    for line in lines:
        assert _DOT_LINE.fullmatch(line), line
        assert not re.search(r"\\[NGLET]", re.sub(r"\\\\", "", line)), line
        assert not re.search(r"&(?!amp;)", line), line
    if shutil.which("dot"):
        command = ["dot", "-Tsvg"]  # Graphviz, where it is installed
        drawn = subprocess.run(command, input=text.encode(), capture_output=True, check=True, timeout=60).stdout
        assert not any(e.tag.rpartition("}")[2] in ("a", "image", "script") for e in parsed(drawn).iter())


def _mermaid(text: str) -> None:
    for line in text.splitlines():
        assert _MERMAID_LINE.fullmatch(line), line


class _Elements(HTMLParser):
    """The elements and attributes of a page as a browser would read them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update(name for name, _ in attrs)


def _page(text: str) -> None:
    found = _Elements()
    found.feed(text)
    assert (found.tags.count("script"), found.tags.count("style"), found.tags.count("link")) == (2, 1, 1)
    assert set(found.tags) <= {
        *("html", "head", "meta", "link", "title", "style", "body", "script", "header", "main", "section", "h1", "h2"),
        *("div", "p", "details", "summary", "table", "thead", "tbody", "tr", "th", "td", "a", "bdi", "code"),
    }
    assert not found.attributes & {"src", "action", "style", "srcdoc"}
    assert not any(name.startswith("on") for name in found.attributes)


_HARMLESS = {"json": _json, "graphml": _xml, "svg": _xml, "dot": _dot, "mermaid": _mermaid, "html": _page}


# where to ------------------------------------------------------------------------------------------------------------


def test_a_file_holds_what_standard_output_would(tmp_path: Path) -> None:
    path = tmp_path / "none" / "graph.svg"
    for _ in range(2):  # it takes the place of what stood there
        result = graph(PAGER, "--to", "svg", "--output", path)
        assert (result.exit_code, result.stdout) == (0, "")
        assert path.read_text(encoding="utf-8") == written(PAGER, "--to", "svg")
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_evidence_is_never_written_to(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    shutil.copy(ROOT / "samples" / "pager.chat.json", path)
    before = path.read_bytes()
    for place in (path, tmp_path):
        for name in ("trace.json", "graph.json"):
            result = graph(place, "--output", tmp_path / name)
            assert result.exit_code == 2
            assert f"{name} would be written into the folder of the evidence" in result.stderr
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_can_not_be_written_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "none").write_text("a file")
    result = graph(PAGER, "--output", tmp_path / "none" / "of" / "graph.json")
    assert result.exit_code == 2
    assert "of/graph.json can't be written: " in result.stderr
    assert "none is no folder" in result.stderr


def test_a_step_out_of_range_names_the_range() -> None:
    assert "there is no step 24: the steps are 0 to 23" in graph(PAGER, "--slice", 24).stderr


def test_a_slice_is_of_the_run_that_has_the_step() -> None:
    assert {s["index"] for s in document(PAGER, "--slice", 18)["steps"]} == set(range(12, 24))
