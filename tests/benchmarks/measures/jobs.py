"""What is timed? Each function here prepares one job, its imports included, and returns the work to be timed.

The floors parse or read the same bytes and drop what they got; ours do what the public commands do.
"""

from __future__ import annotations

import json
import random
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from forensics.core.trace import Trace

Says = dict[str, Any]
SMALL = Path(__file__).parents[3] / "samples" / "mailing.events.jsonl"
"""With it the interpreter is warm: every module is imported and every rule is loaded before the time is taken."""

# floors --------------------------------------------------------------------------------------------------------------


def read_only(path: str) -> Callable[[], None]:
    """Read the bytes."""

    def work() -> None:
        with Path(path).open("rb") as file:
            while file.read(1 << 20):
                pass

    return work


def orjson_lines(path: str) -> Callable[[], None]:
    """R: `orjson.loads` streamed over the lines."""
    import orjson

    return lambda: _each_line(path, orjson.loads)


def json_lines(path: str) -> Callable[[], None]:
    """J: the same with the standard library."""
    return lambda: _each_line(path, json.loads)


def _each_line(path: str, loads: Callable[[bytes], object]) -> None:
    with Path(path).open("rb") as file:
        for line in file:
            loads(line)


def json_document(path: str) -> Callable[[], None]:
    """`json.load` of one document."""

    def work() -> None:
        with Path(path).open("rb") as file:
            json.load(file)

    return work


# ours ----------------------------------------------------------------------------------------------------------------


def steps(path: str) -> Callable[[], Says]:
    """Bytes to steps: hashed, recognised and read; nothing is looked for in them."""
    from forensics.core.evidence import Evidence
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats import registry
    from forensics.formats.shared.source import open_source

    with open_source(path) as source:
        registry.recognise(source)  # imports the reader

    def work() -> Says:
        with open_source(path) as source:
            reader = registry.recognise(source)
            evidence = Evidence(0, source.name, source.sha256, source.size, reader.NAME)
            build = EvidenceBuilder(evidence, records_calls=reader.RECORDS_CALLS, text=source.data)
            reader.read(source, build)
            return {"steps": sum(map(len, build.finish().traces))}

    return work


def audit(path: str, *, content: bool = True) -> Callable[[], Says]:
    """The whole audit in a warm interpreter: hash, recognition, reading, every analysis, the verdict."""
    from forensics import api

    options = api.Options(content=content, redact=content)
    api.examine(SMALL, options)

    def work() -> Says:
        examination = api.examine(path, options)
        return {"steps": sum(len(one.trace) for one in examination.analyses)}

    return work


def audit_without_scan(path: str) -> Callable[[], Says]:
    """The same without the look at the content for secrets and hostile text (`--no-content`)."""
    return audit(path, content=False)


def audit_document(path: str) -> Callable[[], Says]:
    """That, and the audit document as JSON bytes."""
    from forensics import api
    from forensics.report.jsonout import json_bytes

    json_bytes(api.examine(SMALL).audit())

    return lambda: {"bytes": len(json_bytes(api.examine(path).audit()))}


def inspection_document(path: str) -> Callable[[], Says]:
    """The inspection document as JSON bytes."""
    from forensics import api
    from forensics.report.jsonout import json_bytes

    json_bytes(api.examine(SMALL).inspection())

    return lambda: {"bytes": len(json_bytes(api.examine(path).inspection()))}


def report_of_findings(path: str) -> Callable[[], Says]:
    """The report of an evidence that is examined already, as JSON and as a page."""
    from forensics import api
    from forensics.report.html.report import report_html
    from forensics.report.jsonout import json_bytes

    small = api.examine(SMALL).report()
    json_bytes(small), report_html(small)
    examination = api.examine(path)
    findings = sum(len(one.findings) for one in examination.analyses)

    def work() -> Says:
        document = examination.report()
        return {"bytes": len(json_bytes(document)) + len(report_html(document)), "findings": findings}

    return work


# the graph -----------------------------------------------------------------------------------------------------------


def _edges(count: int) -> tuple[array[int], array[int], array[int]]:
    """Sources of the edges `next` and `value` of a graph, and their targets: each step but the first has both."""
    draw = random.Random(2)  # noqa: S311 - the same graph every time
    targets = array("I", range(1, count))
    return array("I", range(count - 1)), array("I", (draw.randrange(max(0, t - 50), t) for t in targets)), targets


def graph_ours(count: str) -> Callable[[], Says]:
    """Our causal graph, both directions, from columns of edges."""
    from forensics.core.evidence import Basis
    from forensics.core.graph import EdgeKind, GraphBuilder

    following, minting, targets = _edges(int(count))

    def work() -> Says:
        builder = GraphBuilder()
        builder.add_all(following, targets, EdgeKind.NEXT, Basis.DERIVED)
        builder.add_all(minting, targets, EdgeKind.VALUE, Basis.INFERRED)
        graph = builder.build(int(count))
        return {"edges": graph.edge_count, "held_mb": graph.size / 1e6}

    return work


def graph_networkx(count: str) -> Callable[[], Says]:
    """The same graph, with the same attributes, as `networkx.DiGraph`."""
    import networkx as nx

    following, minting, targets = _edges(int(count))

    def work() -> Says:
        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_nodes_from(range(int(count)))
        for sources, kind, basis in ((following, "next", "derived"), (minting, "value", "inferred")):
            pairs = zip(sources, targets, strict=True)
            graph.add_edges_from((a, b, {"kind": kind, "basis": basis}) for a, b in pairs)
        return {"edges": graph.number_of_edges()}

    return work


def ancestors_in_view(count: str) -> Callable[[], Says]:
    """`networkx.ancestors` of the last step, in our view."""
    import networkx as nx

    from forensics.analysis.graph_view import to_digraph
    from forensics.core.evidence import Basis
    from forensics.core.graph import EdgeKind, GraphBuilder

    following, minting, targets = _edges(int(count))
    builder = GraphBuilder()
    builder.add_all(following, targets, EdgeKind.NEXT, Basis.DERIVED)
    builder.add_all(minting, targets, EdgeKind.VALUE, Basis.INFERRED)
    graph = builder.build(int(count))
    return lambda: {"ancestors": len(nx.ancestors(to_digraph(graph), int(count) - 1))}


def ancestors_in_networkx(count: str) -> Callable[[], Says]:
    """The same in an ordinary graph."""
    import networkx as nx

    following, minting, targets = _edges(int(count))
    graph: nx.DiGraph[int] = nx.DiGraph()
    for sources in (following, minting):
        graph.add_edges_from(zip(sources, targets, strict=True))
    return lambda: {"ancestors": len(nx.ancestors(graph, int(count) - 1))}


# values --------------------------------------------------------------------------------------------------------------


def follow_values(path: str) -> Callable[[], Says]:
    """The pass that follows values, over a trace that is read and classified: every key, near ones included."""
    from forensics.analysis.flow import flow
    from forensics.analysis.survey import survey
    from forensics.rules import load_policy, load_rules

    trace, rules = _trace(path), load_rules()
    classified = survey(trace, rules, load_policy(None, _day())).classified

    def work() -> Says:
        return {"handles": len(flow(trace, classified, rules).handles), "payload": payload}

    payload = sum(len(text) for _, text in _texts(trace))
    return work


def split_and_look_up(path: str) -> Callable[[], Says]:
    """What anybody would write: each text is cut into words, those of results are noted, those of others looked up."""
    table = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) in "_-.:/+=")}
    texts = list(_texts(_trace(path)))

    def work() -> Says:
        seen: dict[str, int] = {}
        flows = set()
        for row, (is_result, text) in enumerate(texts):
            words = {word for word in text.translate(table).split() if len(word) > 4 and not word.isalpha()}
            for word in words:
                if word in seen:
                    flows.add((seen[word], row))
                elif is_result:
                    seen[word] = row
        return {"flows": len(flows)}

    return work


def _trace(path: str) -> Trace:
    from forensics import api

    (trace,) = api.load(path)
    return trace


def _texts(trace: Trace) -> Iterator[tuple[bool, str]]:
    """Each step's payload as text, and whether it is a result."""
    from forensics.core.trace import StepKind

    for step in trace.steps():
        if step.payload is not None:
            yield step.kind is StepKind.TOOL_RESULT, bytes(step.payload).decode("utf-8", "replace")


def _day() -> Any:
    import datetime

    return datetime.date(2027, 1, 1)


# verbs ---------------------------------------------------------------------------------------------------------------


def compare_two(left: str, right: str) -> Callable[[], Says]:
    """Two runs, aligned and told apart."""
    from forensics.api_compare import compare_runs
    from forensics.report.jsonout import json_bytes

    json_bytes(compare_runs(SMALL, SMALL).document())
    return lambda: {"bytes": len(json_bytes(compare_runs(left, right).document()))}
