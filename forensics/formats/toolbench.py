"""What did a search of ToolBench try on its way to an answer? The tree of its depth-first search, or its single chains.

Beside the tree stand copies of parts of it: the messages of the chosen way, from which the prompts are read, and the
chains of the answers. What they hold and the tree does not is a gap (FORMATS section 19; the writer is ToolBench's
`inference/Algorithms`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from forensics.core.sanitise import one_line
from forensics.core.trace import StepKind
from forensics.formats.shared.document import note_cut, open_document
from forensics.formats.shared.fields import (
    Fields,
    fields_of,
    is_like_calls,
    is_true,
    items_in,
    items_of,
    object_in,
    present,
    text,
)
from forensics.formats.shared.messages.telling import Offers, taint
from forensics.formats.shared.toolbench_tree import ACTION, INPUT, Tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.core.build import Spot, TraceBuilder
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "toolbench"
ABOUT = "ToolBench answer: the tree of a depth-first search, or single chains, with what was observed"
CARRIES = "calls, arguments, results, how each call ended, every branch, tool schemas, prompts (mostly)"
LACKS = "call ids, times, the prompts that asked for another try"
RERUN = "the search itself, the prompts that asked for another try, and the services behind the tools"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_PROMPTS = {"system": StepKind.SYSTEM, "user": StepKind.USER}
_UNKNOWN_TOOL = "invalid_hallucination_function_name"
"""What the copies call an action of which no tool has the name."""
_READ = frozenset({"answer_generation", "compare_candidates", "tree", "trys"})


def sniff(look: Look) -> int:
    """95 for a tree of nodes, or for tries with their chains."""
    fields = look.members()
    if "node_type" in _root(fields):
        return 95
    tries = items_in(fields, "trys")[:1]
    return 95 if any("node_type" in fields_of(one) for item in tries for one in _chain(item)[:1]) else 0


def _root(fields: Fields) -> Fields:
    return object_in(object_in(fields, "tree"), "tree")


def _chain(item: Payload) -> list[Payload]:
    return items_in(fields_of(item), "chain")


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell the search. Raises CorruptEvidenceError where nothing of it is JSON."""
    document = open_document(source, build)
    fields = fields_of(document.body)
    answer = object_in(fields, "answer_generation")
    tries = _chains(fields) if "trys" in fields else [("search", _root(fields), "/tree/tree")]
    for name, tree, pointer in tries:
        one = _Search(build.trace(name), document, answer)
        one.prompts()
        one.tell(tree, document.spot.down(pointer))
        one.check(fields, copies=len(tries) == 1)
        build.counts.branches += one.tree.leaves
        build.counts.records += one.tree.nodes
    note_cut(document, build)


def _chains(fields: Fields) -> list[tuple[str, list[Payload], str]]:
    """The tries of a run without a search, each a run of its own."""
    return [
        (f"try-{number}", _chain(item), f"/trys/{number - 1}/chain")
        for number, item in enumerate(items_in(fields, "trys"), 1)
    ]


class _Search:
    """One search on its way to the builder."""

    def __init__(self, builder: TraceBuilder, document: Document, answer: Fields) -> None:
        self.builder = builder
        self.document = document
        self.answer = answer
        self.tree = Tree(builder)

    def prompts(self) -> None:
        """What the model was first told, and the tools that it was offered; of a run without an answer the query."""
        spot = self.document.spot.down("/answer_generation")
        Offers().note(self.builder, present(self.answer, "function"), spot.down("/function"))
        first = next(iter(items_in(self.answer, "train_messages")), None)
        told = False
        for at, message in enumerate(map(fields_of, [] if first is None else items_of(first))):
            kind = _PROMPTS.get(text(message, "role"))
            if kind is None:
                break
            place = spot.down(f"/train_messages/0/{at}/content")
            self.builder.step(kind, place, payload=present(message, "content"))
            told = True
        query = present(self.answer, "query")
        if query is not None and not told:
            self.builder.step(StepKind.USER, spot.down("/query"), payload=query)

    def tell(self, tree: Fields | list[Payload], spot: Spot) -> None:
        """Tell the tree, or the chain."""
        if isinstance(tree, list):
            self.tree.chain(tree, spot, self.document.tainted)
        else:
            self.tree.grow(tree, spot, self.document.tainted)
        taint(self.builder, self.document.tainted, self.document.spot)

    def check(self, fields: Fields, *, copies: bool) -> None:
        """What stands beside the tree, and how the search ended. The `copies` are of the only one that is told."""
        if is_true(fields, "win"):
            self.builder.trace.ended_normally = True
        if is_true(object_in(fields, "forward_args"), "with_filter"):
            message = "the branches were ranked before they were followed: in which order they ran is not recorded"
            self.builder.gap("evidence_gap", message, self.document.spot.down("/forward_args/with_filter"))
        for tool, asked, pointer in _copied(fields) if copies else ():
            if not self._is_told(tool, asked):
                message = f"a copy of the answer's way holds a call of {one_line(tool, 60)} that the tree lacks"
                self.builder.gap("evidence_gap", message, self.document.spot.down(pointer))
        for name, held in fields.items():
            if name not in _READ and is_like_calls(held):
                message = f"what looks like a call in a member that is not read ({one_line(name, 40)})"
                self.builder.gap("evidence_gap", message, self.document.spot.down(f"/{name}"))

    def _is_told(self, tool: str, asked: bytes) -> bool:
        if tool == _UNKNOWN_TOOL:
            return any(arguments == asked for _, arguments in self.tree.told)
        return (tool, asked) in self.tree.told


def _copied(fields: Fields) -> Iterator[tuple[str, bytes, str]]:
    """The calls that copies of parts of the tree hold: tool, arguments as they stand, and where."""
    for at, listed in enumerate(items_in(object_in(fields, "answer_generation"), "train_messages")):
        for below, message in enumerate(map(fields_of, items_of(listed))):
            call = object_in(message, "function_call")
            if call:
                pointer = f"/answer_generation/train_messages/{at}/{below}/function_call"
                yield text(call, "name"), bytes(call.get("arguments", b"")), pointer
    for at, listed in enumerate(items_in(fields, "compare_candidates")):
        for below, (one, other) in enumerate(pairwise(map(fields_of, items_of(listed)))):
            if text(one, "node_type") == ACTION and text(other, "node_type") == INPUT:
                pointer = f"/compare_candidates/{at}/{below + 1}"
                yield text(one, "description"), bytes(other.get("description", b"")), pointer
