"""Which calls took effect, what are the tools, and which values did they mint? Three sections of an audit."""

from __future__ import annotations

from hashlib import blake2b
from itertools import chain, islice
from typing import TYPE_CHECKING

from forensics.analysis.reruns import NO_RESULT
from forensics.core.handles import REFERENCE
from forensics.core.jsonvalue import canonical
from forensics.report.rows import fields, picked
from forensics.report.terminal_page import Span, cells, name, plural, short, value
from forensics.report.terminal_verdict import flow

if TYPE_CHECKING:
    from collections.abc import Container

    from forensics.report.documents import BasisRow, CallRow, ToolRow, TraceRow
    from forensics.report.terminal_page import Page

MARKS = {"side-effecting": "!", "handle-returning": "#", "idempotent": "="}
LEGEND = "! side-effecting   # handle-returning   = idempotent   ~ volatile"
_MOST = 50
_Groups = tuple[list[list["CallRow"]], int]
_UNKNOWN = "Effect unknown: these may have changed something, or only read"
_CAME_TO_NOTHING = frozenset({"denied", "failed"})
_HANDLES = 30
HIDING = "evidence_gap"
"""The code of the reasons that speak of what was not read or recorded, which may hold more than what was."""
_MORE = "what is missing or not read may have acted too (see the reasons)"


def moment(at: str | None) -> str:
    """`2026-07-01 10:00:00Z`: the document's time without what is zero."""
    if at is None:
        return ""
    whole, _, fraction = at.removesuffix("Z").partition(".")
    fraction = fraction.rstrip("0")
    return whole.replace("T", " ") + (f".{fraction}" if fraction else "") + "Z"


# what took effect ----------------------------------------------------------------------------------------------------


def effects(page: Page, trace: TraceRow) -> None:
    """Each write with time, target, handle, outcome and how often; equal calls that ended alike stand together. Those
    of which nothing tells what they do, and those that were denied, failed or did nothing, stand apart.
    """
    held = _held_back(trace)
    (acted, many), (unknown, unclear), (came_to_nothing, others) = _alike(trace, held)
    page.title("What took effect")
    hidden = any(reason.code == HIDING for reason in trace.verdict.reasons)
    if not acted:
        why = f" in what was read: {_MORE}" if hidden else f": {_why(held, unclear, others)}"
        page.line(f"nothing{why}", first="  ")
    _groups(page, acted, many, unproved=frozenset(trace.unproved))
    if acted and hidden:
        page.line(f"and {_MORE}", first="  ")
    if unknown:
        page.title(_UNKNOWN)
        _groups(page, unknown, unclear)
    if came_to_nothing:
        page.title("Denied or failed")
        _groups(page, came_to_nothing, others, trace.did_nothing)


def _why(held: frozenset[int], unclear: int, others: int) -> str:
    """Why nothing took effect."""
    if unclear:
        return "no call of this run is known to change anything; of those below it is not known"
    if held:
        return "no call of this rerun was really run"
    if others:
        return "what might have was denied or failed, as its record or result says"
    return "no call of this run is known or feared to change anything"


def _groups(
    page: Page,
    groups: list[list[CallRow]],
    many: int,
    nothing: Container[int] = (),
    unproved: Container[int] = (),
) -> None:
    for group in groups:
        _effect(page, group, nothing, unproved)
    page.more(many - _MOST)


def _held_back(trace: TraceRow) -> frozenset[int]:
    """The calls that a rerun was answered without running them, as its record says."""
    did = [] if trace.rerun_of is None else trace.rerun_of.did
    return frozenset(repeat.step for repeat in did if not repeat.executed and repeat.did != NO_RESULT)


def _alike(trace: TraceRow, held: frozenset[int]) -> tuple[_Groups, _Groups, _Groups]:
    """The first groups of equal calls with an effect that ended alike, and how many groups there are: of those that
    took effect or may have, of those of which the effect is not known, and of those that came to nothing.
    """
    calls, nothing = trace.executions, frozenset(trace.did_nothing)
    groups: tuple[dict[bytes, int], ...] = ({}, {}, {})
    kept: list[tuple[int, int, int]] = []  # places of calls, which of the three they are of, the number of their group
    told = fields(calls, "step", "effect", "tool", "arguments", "outcome", "absence")
    for at, (step, effect, tool, arguments, outcome, absence) in enumerate(told):
        if effect == "none" or step in held:
            continue
        ended = "nothing" if step in nothing else f"{outcome} {absence}"
        apart = 2 if step in nothing or outcome in _CAME_TO_NOTHING else int(effect == "unknown")
        key = f"{ended}\n{tool}\n".encode("utf-8", "surrogatepass") + canonical(arguments)
        known = groups[apart]
        group = known.setdefault(blake2b(key, digest_size=16).digest(), len(known))
        if group < _MOST:
            kept.append((at, apart, group))
    found: tuple[list[list[CallRow]], ...] = tuple([[] for _ in range(min(len(known), _MOST))] for known in groups)
    for (_, apart, group), call in zip(kept, picked(calls, [at for at, *_ in kept]), strict=True):
        found[apart][group].append(call)
    return (found[0], len(groups[0])), (found[1], len(groups[1])), (found[2], len(groups[2]))


def _effect(page: Page, group: list[CallRow], nothing: Container[int], unproved: Container[int]) -> None:
    call = group[0]
    when = moment(call.at)
    often = "once" if len(group) == 1 else f"{len(group)} times (steps {', '.join(str(c.step) for c in group[:20])})"
    page.line(
        f"step {call.step}{'  ' + when if when else ''}  ",
        Span(name(call.tool), call.class_),
        "  ",
        Span(often, "" if len(group) == 1 else "high"),
        first="  ",
    )
    if call.arguments is not None:
        page.line(Span(value(call.arguments, 160), "quote"), first="    with ", rest="         ")
    page.line(*_outcome(group, nothing, unproved), *_minted(group), first="    ")


_DID = {
    "recorded": "returned",  # what a tool returned may still say that it failed
    "failed": "failed",
    "denied": "denied, not run",
    "indeterminate": "may have taken effect",
    "absent": "its result is absent",
}
_DID_NOTHING = "failed or was done already, as its result says:"
_LEADS = frozenset({_DID["recorded"], _DID_NOTHING})
_LEFT = {"denied": "", "failed": "what it did before it failed is not told"}
_KIND = {
    "overwriting": "overwrites",
    "repeating": "adds an effect each time",
    "irreversible": "can't be undone",
    "unknown": "effect unknown",
}
_UNPROVED = "nothing proves that it only reads"


def _outcome(group: list[CallRow], nothing: Container[int], unproved: Container[int]) -> list[Span]:
    """What became of calls that ended alike; where no result minted anything its text is shown, since it may say that
    the call failed.
    """
    call = group[0]
    said = _DID[call.outcome] + (f" ({call.absence})" if call.absence else "")
    if call.step in nothing:
        said = _DID_NOTHING
    told = set() if any(one.minted for one in group) else {one.result_preview for one in group if one.result_preview}
    lead = " " if said in _LEADS else ", answered with "
    result = [Span(lead), Span(value(told.pop(), 100), "quote")] if len(told) == 1 else []
    kind = _UNPROVED if call.step in unproved else _KIND[call.effect]
    left = _LEFT.get(call.outcome, kind) if said != _DID_NOTHING else ""
    return [Span(said), *result, *([Span(f"; {left}")] if left else [])]


def _minted(group: list[CallRow]) -> list[Span]:
    values = [value for call in group for value in call.minted]
    if not values:
        return []
    shown = [name(value) for value in values[:6]] + ([f"and {len(values) - 6} more"] if len(values) > 6 else [])  # noqa: PLR2004 - a line's worth
    return [Span("; minted "), Span(", ".join(shown), "handle")]


# tools ---------------------------------------------------------------------------------------------------------------


def tools(page: Page, trace: TraceRow) -> None:
    """One line a tool: marks, class, effect, result, what it rests on, calls, name."""
    called = [tool for tool in trace.tools if tool.calls or page.detail > 0]
    if not trace.tools:
        return
    server = _common_server(called)
    page.title("Tools" if server is None else f"Tools of {name(server)}")
    rows = [_cells(tool, server) for tool in called]
    header = ("", "class", "effect", "result", "rests on", "", "tool")
    widths = [max(cells(row[n]) for row in [header, *rows]) for n in range(len(header) - 1)]
    if rows:
        _row(page, header, widths, "dim")
    for tool, row in zip(called, rows, strict=True):
        _row(page, row, widths, tool.class_)
        if page.detail <= 0:
            _vouched(page, tool)
        else:
            basis(page, tool, indent=8)
    uncalled = len(trace.tools) - len(called)
    if uncalled:
        page.line(Span(f"and {plural(uncalled, 'tool')} offered and not called (-v lists them)", "dim"), first="  ")
    if rows:
        page.line(Span(LEGEND, "dim"), first="  ")


def _vouched(page: Page, tool: ToolRow) -> None:
    """What the policy says of a tool; where several entries do, what each says, and what counts of it."""
    entries = [piece for piece in tool.basis if piece.source == "operator"]
    several = len(entries) > 1
    for piece in entries:
        said = f"the policy says {_axes(piece, piece)}: " if several else "the policy says: "
        page.line(Span(said, "dim"), Span(short(piece.says, 200), "quote"), first="      ", rest="        ")
    if len({_axes(piece, piece) for piece in entries}) > 1:
        said = ", ".join(dict.fromkeys(part for piece in entries for part in _axes(piece, tool).split(", ")))
        page.line(Span(f"of these the worst counts: {said}", "dim"), first="      ", rest="        ")


def _axes(entry: BasisRow, row: BasisRow | ToolRow) -> str:
    """What a row says of each axis of which the entry speaks: `effect none, result stable`."""
    spoken = [axis for axis in ("effect", "result", "scope") if getattr(entry, axis) is not None]
    return ", ".join(f"{axis} {getattr(row, axis)}" for axis in spoken)


def mark(labels: list[str]) -> str:
    """The marks of the labels, one character each."""
    return "".join(MARKS.get(label, "~") for label in labels)


def _common_server(tools: list[ToolRow]) -> str | None:
    """The server of all the tools, where there is one."""
    servers = {tool.server for tool in tools}
    return servers.pop() if len(servers) == 1 else None


def _cells(tool: ToolRow, server: str | None) -> tuple[str, ...]:
    of = "" if tool.server in (None, server) else f" of {name(tool.server or '')}"
    times = f"{tool.calls}x"
    return (mark(tool.labels), tool.class_, tool.effect, tool.result, tool.rests_on, times, name(tool.name) + of)


def _row(page: Page, row: tuple[str, ...], widths: list[int], style: str) -> None:
    *fixed, last = row
    padded = [text + " " * (width - cells(text)) for text, width in zip(fixed, widths, strict=True)]
    padded[5] = fixed[5].rjust(widths[5])
    page.line(Span("  ".join(padded[:2]), style), "  " + "  ".join([*padded[2:], last]), first="  ", rest="      ")


def basis(page: Page, tool: ToolRow, indent: int) -> None:
    """Each piece of evidence of a tool on one line."""
    for piece in tool.basis:
        rule = f" [{piece.rule}]" if piece.rule else ""
        page.line(f"{piece.source}: {short(piece.says, 300)}{rule}", first=" " * indent, rest=" " * (indent + 2))


# handles -------------------------------------------------------------------------------------------------------------


def handles(page: Page, trace: TraceRow) -> None:
    """Every value that a call brought into the trace, and its way; minted ones first."""
    if not trace.handles:
        return
    page.title("Handles")
    minted = (handle for handle in trace.handles if handle.kind != REFERENCE)
    read = (handle for handle in trace.handles if handle.kind == REFERENCE)
    for handle in islice(chain(minted, read), _HANDLES):
        page.line(*flow(trace, handle), Span(f" ({handle.kind})", "dim"), first="  ", rest="    ")
    page.more(len(trace.handles) - _HANDLES)
