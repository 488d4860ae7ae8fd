"""What does each span of a trace stand for, and which spans record one call twice? By the tables of `span_names`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.agreement import agree
from forensics.core.jsonvalue import text_of
from forensics.formats.shared import span_names as names
from forensics.formats.shared.span_messages import MessageReader, Said, may_show
from forensics.formats.shared.span_names import Role
from forensics.formats.shared.span_order import NO_PARENT, Clocks, Tree, nearest_above
from forensics.formats.shared.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVER, CLIENT, PRODUCER, CONSUMER = 2, 3, 4, 5
_INBOUND = (SERVER, CONSUMER)
_OUTBOUND = (CLIENT, PRODUCER)
_SCOPES = frozenset({Role.AGENT, Role.TOOL})
_CALLS = frozenset({Role.AGENT, Role.TOOL, Role.MODEL})
AGENTS = frozenset({Role.AGENT, Role.WORKFLOW})
_ASKED = frozenset({Role.AGENT, Role.WORKFLOW, Role.TOOL, Role.MODEL})
_BY_CLIENT = frozenset({Role.HTTP, Role.DATABASE, Role.MESSAGING, Role.REMOTE})
OUTSIDE = _BY_CLIENT | {Role.RETRIEVER, Role.MEMORY, Role.REMOTE_AGENT}
"""Roles that leave the agent otherwise than by a tool."""


def role_of(span: Span) -> Role:
    """By its operation, its runner, else by the attributes that it carries."""
    attributes = span.names
    operation = span.value("gen_ai.operation.name")
    if operation is not None:
        role = _OPERATIONS.get(bytes(operation)) or names.ROLE_OF_OPERATION.get(text_of(operation).strip().lower())
        if role is not None:
            return role
    kind = None if _KINDS.isdisjoint(attributes) else _told_kind(span)
    runner = names.ROLE_OF_RUNNER.get(span.text(names.RUNNER)) if kind is None else kind
    if runner is not None:
        return runner
    method = span.text(names.MCP_METHOD)
    if method:
        return _mcp_role(span, method)
    carried = _carried(span, names.ROLE_OF_ATTRIBUTES)
    if carried is not None:
        return carried
    if any(event.name.startswith("gen_ai.") for event in span.events):
        return Role.MODEL
    return _client_role(span, operation is not None or not _KINDS.isdisjoint(attributes))


def _told_kind(span: Span) -> Role | None:
    """The kind that another vocabulary tells by a word of its own."""
    for name, roles in names.ROLE_OF_KIND.items():
        told = span.value(name)
        role = None if told is None else roles.get(text_of(told).strip().lower())
        if role is Role.TOOL and span.name.lower().startswith(names.HANDOFF_HEADS) and span.get(_TOLD_TOOL) is None:
            return Role.HANDOFF
        if role is not None:
            return role
    return None


_KINDS = frozenset(names.ROLE_OF_KIND)
_TOLD_TOOL = tuple(name for name in names.TOOL_NAME if name != "traceloop.entity.name")


def _mcp_role(span: Span, method: str) -> Role:
    if method == "tools/call":
        return Role.TOOL
    served = span.kind in _INBOUND or method in names.MCP_HOUSEKEEPING or method.startswith("notifications/")
    return Role.OTHER if served else Role.REMOTE


def _client_role(span: Span, unknown_operation: bool) -> Role:  # noqa: FBT001 - asked in one place
    """What leaves the agent by any sign, and what is not understood. What was served or consumed came from outside."""
    inbound = span.kind in _INBOUND or (span.kind not in _OUTBOUND and span.get(names.HTTP_SERVED) is not None)
    role = _carried(span, names.ROLE_OF_CLIENT) if not inbound else None
    if role is not None and not (span.shape.foreign and role in _AFTER_FOREIGN):
        return role
    if span.shape.foreign or unknown_operation:
        return Role.FOREIGN
    if span.name.startswith(names.TOOL_HEADS):
        return Role.TOOL
    return Role.REMOTE if span.kind in _OUTBOUND else Role.OTHER


def _carried(span: Span, table: tuple[tuple[tuple[str, ...], Role], ...]) -> Role | None:
    return next((role for carried, role in table if any(name in span.names for name in carried)), None)


_AFTER_FOREIGN = frozenset({Role.HTTP, Role.REMOTE})
"""Roles that say less of a span than the vocabulary that it is written in."""
_OPERATIONS = {f'"{name}"'.encode(): role for name, role in names.ROLE_OF_OPERATION.items()}


class Cast(msgspec.Struct):
    """The spans of one trace with what each stands for, by row of `tree.spans`.

    `within` is the nearest agent, tool or model span above, `scope` the nearest agent or tool, `agent` the nearest
    agent; `twin` maps a span that records again what another one records to that one, `twins_of` the other way round;
    `answers` and `prompts` hold the messages of model spans, `told_again` the prompts of their twins.
    """

    tree: Tree
    roles: list[Role]
    within: list[int]
    scope: list[int]
    agent: list[int]
    twin: dict[int, int]
    twins_of: dict[int, list[int]]
    answers: dict[int, Said]
    prompts: dict[int, Said]
    clocks: Clocks

    spans: list[Span]
    told_again: dict[int, list[tuple[int, Said]]] = {}
    _by_agent: dict[Role, dict[int, list[int]]] = {}

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
    roles = [role_of(span) for span in tree.spans]
    _correct_by_place(tree, roles)
    asked = [row for row, role in enumerate(roles) if role is Role.MODEL]
    within = nearest_above(tree, roles, _CALLS)
    compared = may_show(tree.spans) or not {within[row] for row in asked}.isdisjoint(asked)
    told = zip(asked, messages.answers([tree.spans[row] for row in asked], compared=compared), strict=True)
    answers = {row: said for row, said in told if said is not None}
    scope = nearest_above(tree, roles, _SCOPES)
    agent = nearest_above(tree, roles, frozenset({Role.AGENT}))
    found = Cast(tree, roles, within, scope, agent, {}, {}, answers, {}, Clocks(tree.spans), tree.spans)
    _pair_twins(found)
    for row in found.rows(Role.MODEL):
        for one in (row, *found.twins_of.get(row, ())):
            said = messages.prompt(tree.spans[one])
            if said is not None and row in found.prompts:
                found.told_again.setdefault(row, []).append((one, said))
            elif said is not None:
                found.prompts[row] = said
    return found


def _correct_by_place(tree: Tree, roles: list[Role]) -> None:
    """What a span stands for may show only by what is around it and inside it."""
    for row, span in enumerate(tree.spans):
        if roles[row] is Role.AGENT and span.kind == CLIENT and span.parent and not tree.children[row]:
            roles[row] = Role.REMOTE_AGENT
    for row in _around_the_agent(tree, roles):
        roles[row] = Role.OTHER
    for row in _around_agents(tree, roles):
        roles[row] = Role.WORKFLOW


def _around_the_agent(tree: Tree, roles: list[Role]) -> list[int]:
    """Requests inside which an agent acts, and of which nothing says that they were sent: they came from outside."""
    if _BY_CLIENT.isdisjoint(roles):
        return []
    acts = [role in _ASKED for role in roles]
    for row in reversed(tree.down):
        if acts[row] and tree.parent[row] != NO_PARENT:
            acts[tree.parent[row]] = True
    return [
        row
        for row, span in enumerate(tree.spans)
        if acts[row] and roles[row] in _BY_CLIENT and span.kind not in _OUTBOUND
    ]


def _around_agents(tree: Tree, roles: list[Role]) -> list[int]:
    """Agent spans that name no agent and hold nothing but agents: the run around them."""
    nameless = {
        row for row, role in enumerate(roles) if role is Role.AGENT and tree.spans[row].get(names.AGENT_NAME) is None
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


def tool_name(span: Span) -> str:
    """The tool that a span ran: its attribute, else its name without the operation."""
    return span.text(names.TOOL_NAME) or named_tool(span.name) or "tool"


def named_tool(name: str) -> str:
    """The tool in the name of a span, without the operation before it."""
    head = next((head for head in (*names.TOOL_HEADS, "tool.") if name.startswith(head)), "")
    return name[len(head) :].strip()
