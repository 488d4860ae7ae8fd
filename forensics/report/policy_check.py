"""What does a policy file say? One row an entry: in force, expired or unused, and what it changes for an evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from forensics.core.jsonvalue import short_json, spell_surrogates
from forensics.report.compose import policy_name
from forensics.report.documents import POLICY_CHECK, PolicyCheckDocument, PolicyEntryRow

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from forensics.analysis.policy_effects import Changes, PolicyEffects
    from forensics.core.policy import Policy, ToolEntry, TrustEntry

UNUSED = "unused"
_Entry = TypeVar("_Entry", "TrustEntry", "ToolEntry")


def policy_check_document(
    policy: Policy, whole: Policy, as_of: datetime.date, effects: PolicyEffects | None
) -> PolicyCheckDocument:
    """The check of a policy as it is applied; `whole` is the same one with its expired entries."""
    rows = [*_trust_rows(whole, as_of, effects), *_tool_rows(whole, as_of, effects), *_execute_rows(policy, effects)]
    document = PolicyCheckDocument(schema=POLICY_CHECK, policy=policy_name(policy), entries=rows)
    if effects is None:
        return document
    return msgspec.structs.replace(
        document, changes=_spelled(effects.of_all().changes), refused=_spelled(effects.still_refused())
    )


def _spelled(sentences: Iterable[str]) -> list[str]:
    return [spell_surrogates(sentence) for sentence in sentences]


def _trust_rows(whole: Policy, as_of: datetime.date, effects: PolicyEffects | None) -> Iterator[PolicyEntryRow]:
    of_trust = None if effects is None else effects.of_trust
    for entry, over, changes in _effective(whole.trust, as_of, of_trust):
        yield _row(_trust_title(entry), over=over, expires=entry.expires, changes=changes)


def _tool_rows(whole: Policy, as_of: datetime.date, effects: PolicyEffects | None) -> Iterator[PolicyEntryRow]:
    of_tool = None if effects is None else effects.of_tool
    for entry, over, changes in _effective(whole.tools, as_of, of_tool):
        row = _row(_tool_title(entry), over=over, expires=entry.expires, changes=changes)
        because, by = spell_surrogates(entry.because), spell_surrogates(entry.by)
        hint = _hint(entry.tool, row.state, effects)
        yield msgspec.structs.replace(row, because=because, by=by, line=entry.line, hint=hint)


def _hint(tool: str, state: str, effects: PolicyEffects | None) -> str:
    return "" if effects is None or state != UNUSED else spell_surrogates(effects.meant(tool))


def _effective(
    entries: Sequence[_Entry], as_of: datetime.date, changes_of: Callable[[int], Changes] | None
) -> Iterator[tuple[_Entry, bool, Changes | None]]:
    """Each entry, whether it expired, and what it changes: effects count the entries in force only."""
    in_force = 0
    for entry in entries:
        over = entry.expires is not None and entry.expires < as_of
        yield entry, over, None if over or changes_of is None else changes_of(in_force)
        in_force += not over


def _execute_rows(policy: Policy, effects: PolicyEffects | None) -> Iterator[PolicyEntryRow]:
    for tool in policy.execute:
        unused = effects is not None and not effects.calls_tool(tool)
        state = UNUSED if unused else "in force"
        yield PolicyEntryRow(what=f"execute {spell_surrogates(tool)}", state=state, hint=_hint(tool, state, effects))


def _row(what: str, *, over: bool, expires: datetime.date | None, changes: Changes | None) -> PolicyEntryRow:
    state = "expired" if over else UNUSED if changes is not None and not changes.used else "in force"
    return PolicyEntryRow(
        what=what,
        state=state,
        expires=None if expires is None else expires.isoformat(),
        changes=[] if changes is None else _spelled(changes.changes),
    )


def _trust_title(entry: TrustEntry) -> str:
    if entry.pack is not None:
        return f"trust pack {spell_surrogates(entry.pack)}"
    pins = "".join(f", {pin}" for pin in (entry.version, entry.tools_digest) if pin is not None)
    return f"trust server {spell_surrogates(entry.server or '')}{pins}"


def _tool_title(entry: ToolEntry) -> str:
    server = "" if entry.server is None else f" of {entry.server}"
    where = f" with {short_json(entry.arguments, 200)}" if entry.arguments else ""
    said = [
        f"{axis} {axis_value.name.lower()}"
        for axis, axis_value in (("effect", entry.effect), ("result", entry.result), ("scope", entry.scope))
        if axis_value is not None
    ]
    return spell_surrogates(f"tool {entry.tool}{server}{where}: {', '.join(said)}")
