"""Which ids and names of a trace could lead somewhere when they are used as a file name?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from forensics.core.findings import finding
from forensics.core.late import late
from forensics.core.sanitise import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.core.findings import Finding
    from forensics.core.trace import Trace

_LONGEST = 255  # bytes of a file name on common file systems
_SHORT = _LONGEST // 4  # characters, which have four bytes at most
_ESCAPES = (
    (late(r"(?:.*[/\\])?\.\.(?:[/\\].*)?", re.DOTALL), "leads to the folder above"),
    (late(r"[A-Za-z]:[/\\].*", re.DOTALL), "names a drive"),
    (late(r".*[\x00-\x1f\x7f].*", re.DOTALL), "holds a control character"),
)
_PLACES = (
    (late(r"(?:/|\\\\|~[/\\]).+", re.DOTALL), "begins at the root of the file system"),
    (late(r"(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\..*)?", re.IGNORECASE), "is a device on Windows"),
)
_SUSPECT = late(r"\.\.|[/\\%~\x00-\x1f\x7f]|(?:^|\u2028)(?:con|prn|aux|nul|com[1-9]|lpt[1-9])\b", re.IGNORECASE)
_APART = "\u2028"  # between names that are looked at together: nothing that is suspect itself
_AT_ONCE = 512
_NAMED = 20  # identifiers of a trace that are named; a log that holds more holds them for the same reason


def unsafe_identifiers(trace: Trace) -> list[Finding]:
    """A finding for each id or name that is no safe file name, with the first step that bears it."""
    found: dict[str, Finding] = {}
    for what, name, step in _identifiers(trace):
        why = None if name in found else _why(name, is_id=what.endswith("id"))
        if why is not None:
            message = f"the {what} {one_line(name, 80)} {why}: as a file name it would act"
            found[name] = finding("unsafe_identifier", message, steps=(step,) if step < len(trace) else ())
        if len(found) == _NAMED:
            break
    return list(found.values())


def _identifiers(trace: Trace) -> Iterator[tuple[str, str, int]]:
    yield "trace id", trace.id, 0
    yield "session id", trace.session, 0
    for start in range(0, len(trace.calls), _AT_ONCE):
        rows = range(start, min(start + _AT_ONCE, len(trace.calls)))
        ids = trace.calls.recorded_ids(rows)
        tools = [tool for tool, _ in trace.calls.tools(rows)]
        if _may_act([*filter(None, ids), *set(tools)]):
            yield from _of_calls(ids, tools, trace.calls.column("step", rows))
    for agent in trace.agents:
        yield "agent", agent, 0


def _of_calls(ids: Sequence[str | None], tools: Sequence[str], steps: Sequence[int]) -> Iterator[tuple[str, str, int]]:
    for recorded_id, tool, step in zip(ids, tools, steps, strict=True):
        if recorded_id:
            yield "call id", recorded_id, step
        yield "tool", tool, step


def _may_act(names: Sequence[str]) -> bool:
    """Whether one of the names is to be looked at; one look at all of them."""
    return max(map(len, names), default=0) > _SHORT or _SUSPECT.search(_APART.join(names)) is not None


def _why(name: str, *, is_id: bool) -> str | None:
    """Why a name is not safe; percent-escapes are read as a web server reads them."""
    if _SUSPECT.search(name) is None and len(name) <= _SHORT:
        return None
    plain = unquote(name)
    checks = (*_ESCAPES, *_PLACES) if is_id else _ESCAPES
    why = next((why for pattern, why in checks if pattern.fullmatch(plain)), None)
    if why is None and is_id and len(name.encode("utf-8", "surrogatepass")) > _LONGEST:
        return "is longer than a file name may be"
    return why
