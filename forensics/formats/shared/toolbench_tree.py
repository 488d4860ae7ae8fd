"""What does the tree of a ToolBench answer tell, node by node? What the model thought, each call that it asked for, and
what that was answered.

One response of the model is up to three nodes, one below the other: a thought, the name of an action, and its input,
which holds what was observed. A node with several children is where the search went back to and tried again; what it
had tried until then really ran, and is told. The tree is told from its root downwards, each child with all below it
before the next one: so it grew, and so it ran.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.build import Spot
from forensics.core.evidence import Basis
from forensics.core.jsonvalue import raw
from forensics.core.sanitise import one_line
from forensics.core.trace import StepKind
from forensics.formats.shared.fields import (
    Fields,
    call_marks,
    fields_of,
    is_like_calls,
    items_in,
    opens_with,
    present,
    text,
    whole_number,
)
from forensics.formats.shared.wholeness import arguments_damage, result_damage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from forensics.core.build import Lane, TraceBuilder
    from forensics.core.trace import Payload

THOUGHT, ACTION, INPUT = "Thought", "Action", "Action Input"
_WENT_WELL = frozenset({"", "0", "3", "4"})
"""Codes of what was observed: an answer, the final answer, the model's word that it gives up."""
_MAY_HAVE_ACTED = frozenset({"5", "12"})
"""A call that timed out, and a request that whoever forwards it answered with an error."""
_READ = frozenset({"children", "description", "observation"})
_NOTHING = raw("")


class Node(msgspec.Struct, frozen=True, gc=False):
    """A node that is to be told: its fields, where it stands, the branch that it is on, and what its parent began (the
    turn, -1 for none, and the name of the action).
    """

    fields: Fields
    spot: Spot
    branch: int
    turn: int = -1
    tool: str = ""


class Tree:
    """The nodes of a search on their way to the builder. `told` are the calls so far: tool and arguments as they stand;
    `leaves` counts the ends of the tree.
    """

    def __init__(self, builder: TraceBuilder) -> None:
        self.builder = builder
        self.told: set[tuple[str, bytes]] = set()
        self.leaves = 0
        self.nodes = 0
        self._branches = 1

    def grow(self, root: Fields, spot: Spot, tainted: str | None) -> None:
        """Tell all that is below the root, which is no node of its own: one that says something is a gap."""
        if text(root, "description") or text(root, "observation"):
            self.builder.gap("evidence_gap", "the root of the tree says something, which is not read", spot)
        below = [fields_of(item) for item in items_in(root, "children")]
        todo = self._below(Node(root, spot, 0), below, -1, "")
        while todo:
            node = todo.pop()
            todo.extend(self._tell(node, tainted))

    def chain(self, nodes: Iterable[Payload], spot: Spot, tainted: str | None) -> None:
        """Tell nodes that are listed, each below the one before it."""
        turn, tool = -1, ""
        listed = [fields_of(item) for item in nodes]
        for at, fields in enumerate(listed):
            node = Node(fields, spot.down(f"/{at}"), 0, turn, tool)
            if items_in(fields, "children"):
                self.builder.gap("evidence_gap", "a node of a chain has nodes below it, which are not read", node.spot)
            turn, tool = self._told(node, listed[at + 1 : at + 2], tainted)
        self.leaves += 1

    # one node ----------------------------------------------------------------------------------------------------

    def _tell(self, node: Node, tainted: str | None) -> list[Node]:
        """Tell a node; returns those below it, the first of them last."""
        below = [fields_of(item) for item in items_in(node.fields, "children")]
        turn, tool = self._told(node, below, tainted)
        self.leaves += not below
        return self._below(node, below, turn, tool)

    def _below(self, node: Node, below: Sequence[Fields], turn: int, tool: str) -> list[Node]:
        """The children of a node. The first goes on with what its parent began, and the others are branches."""
        found: list[Node] = []
        for at, fields in enumerate(below):
            spot, branch = node.spot.down(f"/children/{at}"), node.branch if not at else self._branches
            self._branches += bool(at)
            found.append(Node(fields, spot, branch, -1 if at else turn, tool))
        return found[::-1]

    def _told(self, node: Node, below: Sequence[Fields], tainted: str | None) -> tuple[int, str]:
        """Tell a node; returns the turn that goes on below it (-1: none) and the name of its action."""
        self.nodes += 1
        kind, lane = text(node.fields, "node_type"), self._lane(node)
        self._look_through(node)
        if kind == THOUGHT:
            return self._thought(node, lane), ""
        if kind == ACTION:
            turn = node.turn if node.turn >= 0 else self.builder.turn(lane, node.spot)
            tool = text(node.fields, "description")
            if not below or text(below[0], "node_type") != INPUT:
                message = f"the input of an action is not in the file ({one_line(tool or '(no name)', 60)})"
                self.builder.gap("evidence_gap", message, node.spot)
            return turn, tool
        if kind == INPUT and node.tool:
            self._call(node, lane, tainted)
            return -1, ""
        message = f"a node that is not known ({one_line(kind or '(none)', 40)}), or the input of no action"
        self.builder.gap("evidence_gap", message, node.spot)
        return -1, ""

    def _lane(self, node: Node) -> Lane:
        return self.builder.lane(f"#{node.branch}" if node.branch else "")

    def _thought(self, node: Node, lane: Lane) -> int:
        """What the model said. It was asked again behind a thought that was visited; one with a code is what went wrong
        when it was asked.
        """
        said, spot = present(node.fields, "description"), node.spot.down("/description")
        if text(node.fields, "observation_code") not in ("", "0"):
            self.builder.step(StepKind.ERROR, spot, payload=said)
            return -1
        turn = self.builder.turn(lane, spot, text=said)
        return -1 if whole_number(node.fields, "expand_num") else turn

    def _call(self, node: Node, lane: Lane, tainted: str | None) -> None:
        """A call, and what was observed of it; a second input of one action was asked for anew."""
        turn = node.turn if node.turn >= 0 else self.builder.turn(lane, node.spot)
        asked = present(node.fields, "description")
        self.told.add((node.tool, b"" if asked is None else bytes(asked)))
        damage = None if asked is None else arguments_damage(asked)
        spot = node.spot.down("/description")
        self.builder.request(lane, turn, node.tool, None, asked, spot, tainted=tainted or damage)
        code = text(node.fields, "observation_code")
        seen = present(node.fields, "observation")
        if seen is None and not code:
            return
        row = self.builder.show(
            lane,
            None,
            node.tool,
            _NOTHING if seen is None else seen,  # an empty one is left out
            node.spot.down("/observation"),
            failed=code not in _WENT_WELL,
            unsettled=code in _MAY_HAVE_ACTED,
            tainted=None if seen is None else result_damage(seen),
        )
        if row >= 0:
            self.builder.trace.calls[row].pairing = Basis.RECORDED  # it stands in the node of its call

    def _look_through(self, node: Node) -> None:
        """A gap where members that are not read hold a call, and where the nodes below this one are not to be read."""
        listed = node.fields.get("children")
        if listed is not None and not opens_with(listed, b"["):
            self.builder.gap("evidence_gap", "children of a node that are no list: not read", node.spot)
        beside = {name: held for name, held in node.fields.items() if name not in _READ}
        if call_marks(beside) or any(map(is_like_calls, beside.values())):
            self.builder.gap("evidence_gap", "what is not read of a node holds what looks like a call", node.spot)
