"""What does each span of a trace stand for where it stands, and which spans record one call twice?"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import msgspec

from forensics.core.agreement import agree
from forensics.formats.shared import span_names as names
from forensics.formats.shared.span_answers import Answers
from forensics.formats.shared.span_messages import MessageReader, Said, may_show, shows_prompts
from forensics.formats.shared.span_names import Role
from forensics.formats.shared.span_order import NO_PARENT, Clocks, Tree, nearest_above
from forensics.formats.shared.span_roles import BY_CLIENT, CLIENT, OUTBOUND, tool_name
from forensics.formats.shared.span_rows import TraceSpans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.formats.shared.spans import Span

_SCOPES = frozenset({Role.AGENT, Role.TOOL})
_CALLS = frozenset({Role.AGENT, Role.TOOL, Role.MODEL})
_ASKED = frozenset({Role.AGENT, Role.WORKFLOW, Role.TOOL, Role.MODEL})
_NAMES = frozenset(names.AGENT_NAME)


class Cast(msgspec.Struct):
    """The spans of one trace with what each stands for, by row of `tree.spans`.

    `within` is the nearest agent, tool or model span above, `scope` the nearest agent or tool, `agent` the nearest
    agent; `twin` maps a span that records again what another one records to that one, `twins_of` the other way round;
    `answers` and `prompts` hold the messages of model spans, `told_again` the prompts of their twins.
    """

    tree: Tree
    roles: list[Role]
    within: array[int]
    scope: array[int]
    agent: array[int]
    twin: dict[int, int]
    twins_of: dict[int, list[int]]
    answers: Answers
    prompts: dict[int, Said]
    clocks: Clocks

    spans: TraceSpans
    told_again: dict[int, list[tuple[int, Said]]] = {}
    _by_agent: dict[Role, dict[int, list[int]]] = {}

    def forget_order(self) -> None:
        """Forget what is asked for the order of spans alone, when that is known."""
        self.tree.forget_order()
        self.within = array("i")

    def rows(self, *wanted: Role) -> list[int]:
        """The rows of these roles that are no twin, in order."""
        return [row for row, role in enumerate(self.roles) if role in wanted and row not in self.twin]

    def of_agent(self, wanted: Role, agent: int) -> list[int]:
        """Those of them whose nearest agent is the span of that row. Asked when every twin is known."""
        by_agent = self._by_agent.get(wanted)
        if by_agent is None:
            by_agent = self._by_agent[wanted] = {}
            for row in self.rows(wanted):
                by_agent.setdefault(self.agent[row], []).append(row)
        return by_agent.get(agent, [])


def cast(tree: Tree, messages: MessageReader) -> Cast:
    """Give every span of a trace its role."""
    roles = tree.spans.roles()
    _correct_by_place(tree, roles)
    asked = [row for row, role in enumerate(roles) if role is Role.MODEL]
    within = nearest_above(tree, roles, _CALLS)
    around = map(within.__getitem__, asked)
    compared = may_show(tree.spans) or any(row != NO_PARENT and roles[row] is Role.MODEL for row in around)
    answers = Answers(tree.spans, asked, messages, compared=compared)
    scope = nearest_above(tree, roles, _SCOPES)
    agent = nearest_above(tree, roles, frozenset({Role.AGENT}))
    found = Cast(tree, roles, within, scope, agent, {}, {}, answers, {}, Clocks(tree.spans), tree.spans)
    _pair_twins(found)
    shown = frozenset(shows_prompts(tree.spans))
    for row in found.rows(Role.MODEL) if shown else ():
        for one in (row, *found.twins_of.get(row, ())):
            said = messages.prompt(tree.spans[one]) if one in shown else None
            if said is not None and row in found.prompts:
                found.told_again.setdefault(row, []).append((one, said))
            elif said is not None:
                found.prompts[row] = said
    return found


def _correct_by_place(tree: Tree, roles: list[Role]) -> None:
    """What a span stands for may show only by what is around it and inside it."""
    for row, role in enumerate(roles):
        if role is Role.AGENT and not tree.children.has(row):
            span = tree.spans[row]
            if span.kind == CLIENT and span.parent:
                roles[row] = Role.REMOTE_AGENT
    for row in _around_the_agent(tree, roles):
        roles[row] = Role.OTHER
    for row in _around_agents(tree, roles):
        roles[row] = Role.WORKFLOW


def _around_the_agent(tree: Tree, roles: list[Role]) -> list[int]:
    """Requests inside which an agent acts, and of which nothing says that they were sent: they came from outside."""
    if BY_CLIENT.isdisjoint(roles):
        return []
    acts = [role in _ASKED for role in roles]
    for row in reversed(tree.down):
        if acts[row] and tree.parent[row] != NO_PARENT:
            acts[tree.parent[row]] = True
    return [
        row
        for row, role in enumerate(roles)
        if acts[row] and role in BY_CLIENT and tree.spans[row].kind not in OUTBOUND
    ]


def _around_agents(tree: Tree, roles: list[Role]) -> list[int]:
    """Agent spans that name no agent and hold nothing but agents: the run around them."""
    nameless = {
        row for row, role in enumerate(roles) if role is Role.AGENT and _NAMES.isdisjoint(tree.spans.shape(row).numbers)
    }
    if not nameless:
        return []
    around: set[int] = set()
    scope = nearest_above(tree, roles, _SCOPES)
    for row, role in enumerate(roles):
        if role in _CALLS and scope[row] in nameless:
            around.add(scope[row])
            if role is not Role.AGENT:
                nameless.discard(scope[row])
    return sorted(around & nameless)


# twins: one call that two instrumentations recorded ------------------------------------------------------------------


def _pair_twins(found: Cast) -> None:
    for inner, outer in _twins(found):
        first = found.twin.get(outer, outer)
        found.twin[inner] = first
        found.twins_of.setdefault(first, []).append(inner)


def _twins(found: Cast) -> Iterator[tuple[int, int]]:
    inner_models: dict[int, list[int]] = {}
    for row in found.tree.down:
        over = found.within[row]
        if over == NO_PARENT or found.roles[row] is not found.roles[over]:
            continue
        if found.roles[row] is Role.TOOL and _same_call(found.spans[over], found.spans[row]):
            yield row, over
        elif found.roles[row] is Role.MODEL:
            inner_models.setdefault(over, []).append(row)
    for over, inner in inner_models.items():
        yield from _model_twins(found, over, inner)


def _same_call(outer: Span, inner: Span) -> bool:
    ids = [s.text(names.TOOL_CALL_ID) for s in (outer, inner)]
    if all(ids):
        return ids[0] == ids[1]
    if tool_name(outer) != tool_name(inner):
        return False
    one, other = (s.payload(names.TOOL_ARGUMENTS) for s in (outer, inner))
    return one is None or other is None or agree(one, other) is not None


def _model_twins(found: Cast, over: int, inner: list[int]) -> Iterator[tuple[int, int]]:
    """A model span around another: the same request where they say the same or one says nothing; a span that says
    nothing around several requests is only their wrapper.
    """
    outer = found.answers.get(over)
    if outer is None and len(inner) > 1:
        yield over, inner[0]
        return
    for row in inner:
        said = found.answers.get(row)
        if said is None or outer is None or said.messages[0].key == outer.messages[0].key:
            if outer is None and said is not None:
                outer = found.answers[over] = said
            yield row, over
