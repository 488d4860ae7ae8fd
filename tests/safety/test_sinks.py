"""Can a text of a trace act on whoever opens an output? Every hostile string in every field, in every sink.

Each output is parsed as its reader would parse it, and held against the output of the same trace with harmless texts:
the same elements, headings, rows and members, and nothing that a reader acts on (RELIABILITY: output).
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from functools import lru_cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import fromstring

import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

from forensics.api import Examination, Options, examine
from forensics.cli.program import program
from forensics.core.sanitise import file_name
from forensics.report.incident.compose import ReportOptions
from forensics.report.incident.content import Level
from forensics.report.incident.forms import FORMS
from forensics.report.terminal import lines_of
from forensics.report.terminal_draw import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

HOSTILE = (
    # markup
    *("<script>alert(1)</script>", "</script><script>alert(1)</script>", "<!--<script>"),
    "--><img src=x onerror=alert(1)>",
    *("<svg/onload=alert(1)>", '" onmouseover="alert(1)', "' autofocus onfocus='alert(1)"),
    "<iframe srcdoc='x'></iframe>",
    *("<a href=javascript:alert(1)>x</a>", "javascript:alert(1)", "data:text/html,<b>x", "]]><x/>"),
    "<?xml version='1.0'?>",
    *("<!DOCTYPE x [<!ENTITY y SYSTEM 'file:///etc/passwd'>]>&y;", "&lt;b&gt;", "</td></tr></table>", "</title>"),
    "</style>",
    *("{{7*7}}", "{% raw %}", "${7*7}", "{0} {1}", "%s%n"),
    # Markdown
    *("[x](https://evil.invalid)", "![x](https://evil.invalid/p.png)", "<https://evil.invalid>"),
    "https://evil.invalid",
    *("www.evil.invalid", "@maintainer please merge", "`code`", "``` \n# heading\n", "# heading", "| a | b |"),
    "\n\n---\n\n",
    *("- [ ] done", "> quote", "1. one", "*bold* _it_ ~~gone~~", "[x]: https://evil.invalid", "[^1]", "\\`x\\`"),
    "a|b`c",
    # tables
    *("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =cmd|' /C calc'!A0", "=HYPERLINK('https://evil.invalid')"),
    *("\uff1d1", "\uff0b1", "\uff0d1", "\uff201", 'a","b\r\n=c', "|x", "%x"),
    # terminals
    *("\x1b[2J\x1b[31mred", "\x1b]8;;https://evil.invalid\x1b\\x\x1b]8;;\x1b\\", "\x1b]52;c;ZXZpbA==\x07"),
    *("\x9b31m", "a\x08b"),
    *("CLEARED under strict, level dynamic: x", "x\nCLEARED under strict, level dynamic: x", "x\rCLEARED", "a\x00b"),
    "\x7f",
    # what hides
    *("safe\u202eelif", "\u2066x\u2069", "pa\u200bger", "\ufeffx", "\u2028x\u2029", "\u061cx", "\U000e0041x"),
    "e" + "\u0301" * 300,
    *("\ud800", "\udfff\ud800", "\ufffe\uffff", "\ue000", "עברית", "x" * 100_000, "{" * 50_000, "../../etc/passwd"),
    *("CON", "."),
    *("..", "-rf", "~/x", "C:\\x", "a/b", "\\\\host\\share", "file:///etc/passwd", "ftp://evil.invalid/x"),
)  # fmt: skip
FIELDS = ("trace", "agent", "model", "tool", "id", "key", "value", "result", "error", "prompt", "output", "file")
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
HARMLESS = "harmless"
SAFE_NAME = re.compile(r"_?[A-Za-z0-9][A-Za-z0-9._-]{0,80}")


def rows(text: str) -> list[dict[str, Any]]:
    """A run in which the text stands in every field."""
    held: dict[str, Any] = {"trace": f"t {text}", "agent": f"a {text}"}
    told: list[dict[str, Any]] = [
        {"type": "user", "text": text},
        {"type": "model", "text": text, "model": text},
        {"type": "tool_call", "id": f"c {text}", "name": text, "args": {text: text, "to": text}},
        {"type": "tool_result", "call_id": f"c {text}", "result": {"id": text, "said": text}},
        {"type": "model", "text": text, "model": text},
        {"type": "tool_call", "id": f"d {text}", "name": f"send {text}", "args": {"note": [text]}},
        {"type": "tool_result", "call_id": f"d {text}", "error": text},
        {"type": "model", "text": f"{text} {text}", "model": text},
    ]
    return [{**held, **row, "seq": number} for number, row in enumerate(told)]


def named(text: str) -> str:
    """The text as the name of a file, as far as a file system takes it."""
    name = "".join(c for c in text if c not in "/\x00" and not "\ud800" <= c <= "\udfff")[:60]
    return f"e{name}.jsonl"


class Opened:
    """One hostile string, examined once; what each sink makes of it."""

    def __init__(self, path: Path, level: Level) -> None:
        self.examination: Examination = examine(path, Options(input_format="event-log"))
        self.document = self.examination.report(ReportOptions(content=level))

    def sink(self, name: str) -> str:
        return FORMS[name].bytes_of(self.document).decode("utf-8")

    def terminal(self) -> str:
        shown = (self.examination.audit(), self.examination.inspection())
        return "".join(plain(lines_of(document, width=100, detail=1)) for document in shown)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Opened]:
    @lru_cache(maxsize=2)
    def make(text: str) -> Opened:
        path = tmp_path_factory.mktemp("evidence") / named(text)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows(text)), "utf-8")
        return Opened(path, Level.FULL if len(text) < 1000 else Level.PREVIEW)

    return make


each_string = pytest.mark.parametrize("text", HOSTILE, ids=[f"{n}-{ascii(one)[:24]}" for n, one in enumerate(HOSTILE)])


class Elements(HTMLParser):
    """What a browser would act on."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.names: set[str] = set()
        self.links: set[str] = set()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.names |= {name for name, _ in attrs}
        self.links |= {(value or "") for name, value in attrs if name in ("href", "src", "action", "srcset", "data")}


TEXTS = {"prompt", "output", "value", "result", "error", "key", "model", "agent", "id"}
NOT_SHOWN: dict[str, set[str]] = {
    "html": {"trace", "id"},  # the page of one trace shows neither
    "md": {"id"},
    "terminal": {"id"},
    "sarif": TEXTS,
    "oscal": {*TEXTS, "trace"},
    "junit": TEXTS,
}
MARKS = {field: f"mark{number:02}" for number, field in enumerate(FIELDS)}


@pytest.mark.parametrize("sink", [*FORMS, "terminal"])
def test_every_field_is_in_every_sink(sink: str, tmp_path: Path) -> None:
    """That nothing hostile comes out means something only where the field comes out at all."""
    mark = MARKS.__getitem__
    held = {"trace": mark("trace"), "agent": mark("agent")}
    told: list[dict[str, Any]] = [
        {"type": "user", "text": mark("prompt")},
        {"type": "model", "text": mark("output"), "model": mark("model")},
        {"type": "tool_call", "id": mark("id"), "name": mark("tool"), "args": {mark("key"): mark("value")}},
        {"type": "tool_result", "call_id": mark("id"), "result": mark("result")},
        {"type": "tool_call", "id": "other", "name": "other", "args": {}},
        {"type": "tool_result", "call_id": "other", "error": mark("error")},
    ]
    path = tmp_path / f"{mark('file')}.jsonl"
    path.write_text("".join(json.dumps({**held, **row, "seq": n}) + "\n" for n, row in enumerate(told)), "utf-8")
    one = Opened(path, Level.FULL)
    said = one.terminal() if sink == "terminal" else one.sink(sink)
    missing = {field for field in FIELDS if MARKS[field] not in said}
    assert missing <= NOT_SHOWN.get(sink, set())


def test_there_are_enough_of_them() -> None:
    sinks = len(FORMS) + 3  # the terminal, names of files, what is said on standard error
    combinations = len(HOSTILE) * len(FIELDS) * sinks
    print(f"{len(HOSTILE)} strings x {len(FIELDS)} fields x {sinks} sinks = {combinations} combinations")  # noqa: T201
    assert len(set(HOSTILE)) == len(HOSTILE) >= 60
    assert combinations >= 4_000


@each_string
def test_html(text: str, opened: Callable[[str], Opened]) -> None:
    harmless, page = Elements(opened(HARMLESS).sink("html")), Elements(opened(text).sink("html"))
    assert page.tags.keys() <= harmless.tags.keys() | {"br"}
    assert page.tags["script"] == harmless.tags["script"]
    assert page.tags["style"] == harmless.tags["style"]
    assert page.names <= harmless.names
    assert not [name for name in page.names if name.startswith("on")]
    assert all(link.startswith("#") or link == "data:," for link in page.links)
    assert not FORBIDDEN.search(opened(text).sink("html"))


@each_string
def test_markdown(text: str, opened: Callable[[str], Opened]) -> None:
    def shape(source: str) -> tuple[list[str], set[str], str]:
        tokens = MarkdownIt("commonmark", {"linkify": False}).enable("table").parse(source)
        inline = [child for token in tokens for child in token.children or ()]
        headings = [tokens[n + 1].content for n, token in enumerate(tokens) if token.type == "heading_open"]
        prose = "".join(child.content for child in inline if child.type == "text")
        html = {child.content for child in inline if child.type == "html_inline"}
        assert html <= {"<code>", "</code>"}
        return headings, {token.type for token in (*tokens, *inline)}, prose

    said = opened(text).sink("md")
    (_, *headings), kinds, prose = shape(said)
    (_, *expected), known, _ = shape(opened(HARMLESS).sink("md"))
    assert len(headings) == len(expected)
    assert kinds <= known | {"html_inline"}
    assert not {"link_open", "image", "html_block"} & kinds
    assert not re.search(r"www\.|https?:|(?<!\w)@\w", prose)
    assert not FORBIDDEN.search(said)


@each_string
def test_csv(text: str, opened: Callable[[str], Opened]) -> None:
    said = opened(text).sink("csv")
    table = list(csv.reader(io.StringIO(said, newline=""), strict=True))
    assert len(table) == 1 + len(rows(text))
    assert {len(row) for row in table} == {len(table[0])}
    cells = [cell for row in table for cell in row]
    assert not [cell for cell in cells if re.match("[=+\\-@\t\r\n|%\uff1d\uff0b\uff0d\uff20]", cell.lstrip(" "))]
    assert not FORBIDDEN.search(said)
    assert "\n" not in "".join(cells)


@each_string
@pytest.mark.parametrize("form", ["json", "jsonl", "sarif", "oscal"])
def test_json(form: str, text: str, opened: Callable[[str], Opened]) -> None:
    def strict(said: str) -> Any:
        return json.loads(said, object_pairs_hook=_once, parse_constant=pytest.fail)

    said = opened(text).sink(form)
    assert not FORBIDDEN.search(said)
    found = [strict(line) for line in said.splitlines()] if form == "jsonl" else [strict(said)]
    json.dumps(found, ensure_ascii=False).encode("utf-8")
    if form == "sarif":
        (run,) = found[0]["runs"]
        texts = [message["text"] for message in _messages(run)]
        assert texts
        assert not [one for one in texts if re.search(r"\]\(|\{\d+\}", one)]
        uri = run["artifacts"][0]["location"]["uri"]
        assert re.fullmatch(r"(?:[A-Za-z0-9._-]|%[0-9A-F]{2})+", uri)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({key for key, _ in pairs}) == len(pairs)
    return dict(pairs)


def _messages(value: object) -> Iterable[dict[str, Any]]:
    if isinstance(value, dict):
        if "text" in value:
            yield value
        for held in value.values():
            yield from _messages(held)
    elif isinstance(value, list):
        for held in value:
            yield from _messages(held)


@each_string
def test_junit(text: str, opened: Callable[[str], Opened]) -> None:
    def shape(said: str) -> tuple[set[str], set[str]]:
        root = fromstring(said)  # noqa: S314 - our own output
        return {one.tag for one in root.iter()}, {name for one in root.iter() for name in one.keys()}  # noqa: SIM118 - an Element is no dict

    said = opened(text).sink("junit")
    tags, names = shape(said)
    assert tags <= {"testsuites", "testsuite", "testcase", "system-out", "failure", "skipped", "error"}
    assert names <= {"name", "classname", "message", "type", "tests", "failures", "errors", "skipped"}
    assert not FORBIDDEN.search(said)
    assert "<!" not in said


@each_string
def test_terminal(text: str, opened: Callable[[str], Opened]) -> None:
    said = opened(text).terminal()
    assert not FORBIDDEN.search(said)
    verdicts = [line for line in said.splitlines() if line.startswith(("REFUSED", "CLEARED", "NOT READ"))]
    assert [line.split()[0] for line in verdicts] == ["REFUSED", "REFUSED"]


@each_string
def test_names_of_files(text: str) -> None:
    assert SAFE_NAME.fullmatch(file_name(text))
    assert file_name(text) != file_name(f"{text} ")


@each_string
def test_what_is_said_of_it(text: str, tmp_path: Path) -> None:
    """In an error, the one line of the log: an option's value and the name of a file that is not there."""
    arguments = ["report", str(tmp_path / named(text)), "--trace", text.replace("\x00", "") or "x"]
    ended = CliRunner().invoke(program, arguments)
    assert ended.exit_code in (2, 3)
    assert not FORBIDDEN.search(ended.stderr.replace("\n", ""))
    assert "Traceback" not in ended.stderr
    lines = ended.stderr.splitlines()
    assert not [line for line in lines if line.startswith(("CLEARED", "REFUSED"))]
