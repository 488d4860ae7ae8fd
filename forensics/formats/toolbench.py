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
    is_text,
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
_READ_OF_ANSWER = frozenset({"chain", "function", "query", "train_messages"})
_READ_OF_TREE, _READ_OF_TRY = frozenset({"tree"}), frozenset({"chain"})
_READ_OF_MESSAGE = frozenset({"content", "function_call"})
_NODE = b'"node_type"'


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
    tries: list[tuple[str, Fields | list[Payload], str]] = [*_chains(fields)]
    if _root(fields) or not tries:
        tries.append(("search", _root(fields), "/tree/tree"))
    told: set[tuple[str, bytes]] = set()
    searches = [_Search(build.trace(name), document, answer) for name, _, _ in tries]
    for one, (_, tree, pointer) in zip(searches, tries, strict=True):
        one.prompts()
        one.tell(tree, document.spot.down(pointer))
        told |= one.tree.told
        build.counts.branches += one.tree.leaves
        build.counts.records += one.tree.nodes
    untold = [*_untold(fields, told)]
    for one in searches:
        one.check(fields, untold if one is searches[0] else untold[:1])
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

    def check(self, fields: Fields, untold: list[tuple[str, str]]) -> None:
        """What stands beside the tree and is `untold` (what is wrong, where), and how the search ended."""
        if is_true(fields, "win"):
            self.builder.trace.ended_normally = True
        if is_true(object_in(fields, "forward_args"), "with_filter"):
            message = "the branches were ranked before they were followed: in which order they ran is not recorded"
            self.builder.gap("evidence_gap", message, self.document.spot.down("/forward_args/with_filter"))
        for message, pointer in untold:
            self.builder.gap("evidence_gap", message, self.document.spot.down(pointer))


def _untold(fields: Fields, told: set[tuple[str, bytes]]) -> Iterator[tuple[str, str]]:
    """What holds a call that is not among those that were told of all searches: what is wrong, and where."""
    of_any_tool = {(_UNKNOWN_TOOL, asked) for _, asked in told}
    for tool, asked, pointer in _copied(fields):
        if (tool, asked) not in told and (tool, asked) not in of_any_tool:
            yield f"a copy of the answer's way holds a call of {one_line(tool, 60)} that the tree lacks", pointer
    for name, pointer in _not_read(fields):
        yield f"what looks like a call in a member that is not read ({one_line(name, 40)})", pointer


def _not_read(fields: Fields) -> Iterator[tuple[str, str]]:
    """The members that are not read and hold a node or what looks like a call: their names, and where they stand."""
    parts = [(fields, _READ, ""), (object_in(fields, "answer_generation"), _READ_OF_ANSWER, "/answer_generation")]
    parts.append((object_in(fields, "tree"), _READ_OF_TREE, "/tree"))
    parts += [(fields_of(one), _READ_OF_TRY, f"/trys/{at}") for at, one in enumerate(items_in(fields, "trys"))]
    for at, listed in enumerate(items_in(object_in(fields, "answer_generation"), "train_messages")):
        place = f"/answer_generation/train_messages/{at}"
        parts += [(fields_of(one), _READ_OF_MESSAGE, f"{place}/{below}") for below, one in enumerate(items_of(listed))]
    for part, read_of_it, pointer in parts:
        for name, held in part.items():
            if name not in read_of_it and (is_like_calls(held) or (not is_text(held) and _NODE in bytes(held))):
                yield name, f"{pointer}/{name}"


def _copied(fields: Fields) -> Iterator[tuple[str, bytes, str]]:
    """The calls that copies of parts of the tree hold: tool, arguments as they stand, and where."""
    for at, listed in enumerate(items_in(object_in(fields, "answer_generation"), "train_messages")):
        for below, message in enumerate(map(fields_of, items_of(listed))):
            call = object_in(message, "function_call")
            if call:
                pointer = f"/answer_generation/train_messages/{at}/{below}/function_call"
                yield text(call, "name"), bytes(call.get("arguments", b"")), pointer
    chains = [
        (items_of(one), f"/compare_candidates/{at}") for at, one in enumerate(items_in(fields, "compare_candidates"))
    ]
    chains.append((items_in(object_in(fields, "answer_generation"), "chain"), "/answer_generation/chain"))
    for chain, pointer in chains:
        for below, (one, other) in enumerate(pairwise(map(fields_of, chain)), 1):
            if text(one, "node_type") == ACTION and text(other, "node_type") == INPUT:
                yield text(one, "description"), bytes(other.get("description", b"")), f"{pointer}/{below}"
