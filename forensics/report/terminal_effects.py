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
    from collections.abc import Sequence

    from forensics.report.documents import BasisRow, CallRow, ToolRow, TraceRow
    from forensics.report.terminal_page import Page

MARKS = {"side-effecting": "!", "handle-returning": "#", "idempotent": "="}
LEGEND = "! side-effecting   # handle-returning   = idempotent   ~ volatile"
_MOST = 50
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
    """Each write with time, target, handle, outcome and how often; equal calls stand together."""
    held = _held_back(trace)
    told, count = _alike(trace.executions, held)
    page.title("What took effect")
    hidden = any(reason.code == HIDING for reason in trace.verdict.reasons)
    if not told:
        why = (
            "no call of this rerun was really run"
            if held
            else "no call of this run is known or feared to change anything"
        )
        page.line(f"nothing in what was read: {_MORE}" if hidden else f"nothing: {why}", first="  ")
    for group in told:
        _effect(page, group)
    page.more(count - _MOST)
    if told and hidden:
        page.line(f"and {_MORE}", first="  ")


def _held_back(trace: TraceRow) -> frozenset[int]:
    """The calls that a rerun was answered without running them, as its record says."""
    did = [] if trace.rerun_of is None else trace.rerun_of.did
    return frozenset(repeat.step for repeat in did if not repeat.executed and repeat.did != NO_RESULT)


def _alike(calls: Sequence[CallRow], held: frozenset[int]) -> tuple[list[list[CallRow]], int]:
    """The first groups of equal calls with an effect, and how many groups there are."""
    groups: dict[bytes, int] = {}
    kept: list[tuple[int, int]] = []  # places of calls, with the number of their group
    for at, (step, effect, tool, arguments) in enumerate(fields(calls, "step", "effect", "tool", "arguments")):
        if effect == "none" or step in held:
            continue
        key = tool.encode("utf-8", "surrogatepass") + b"\n" + canonical(arguments)
        group = groups.setdefault(blake2b(key, digest_size=16).digest(), len(groups))
        if group < _MOST:
            kept.append((at, group))
    told: list[list[CallRow]] = [[] for _ in range(min(len(groups), _MOST))]
    for (_, group), call in zip(kept, picked(calls, [at for at, _ in kept]), strict=True):
        told[group].append(call)
    return told, len(groups)


def _effect(page: Page, group: list[CallRow]) -> None:
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
    page.line(*_outcome(group), *_minted(group), first="    ")


_DID = {
    "recorded": "returned",  # what a tool returned may still say that it failed
    "failed": "failed",
    "denied": "denied, not run",
    "indeterminate": "may have taken effect",
    "absent": "its result is absent",
}
_KIND = {
    "overwriting": "overwrites",
    "repeating": "adds an effect each time",
    "irreversible": "can't be undone",
    "unknown": "effect unknown",
}


def _outcome(group: list[CallRow]) -> list[Span]:
    """What became of the calls; where a result minted nothing its text is shown, since it may say that it failed."""
    said = [_DID[call.outcome] + (f" ({call.absence})" if call.absence else "") for call in group]
    told = {call.result_preview for call in group if call.result_preview and not call.minted}
    lead = " " if said == ["returned"] * len(said) else ", answered with "
    result = [Span(lead), Span(value(told.pop(), 100), "quote")] if len(told) == 1 else []
    return [Span(", ".join(dict.fromkeys(said))), *result, Span(f"; {_KIND[group[0].effect]}")]


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
