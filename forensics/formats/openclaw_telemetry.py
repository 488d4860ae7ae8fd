"""What did the agents of OpenClaw do, as its telemetry plugin tells it? One event a line: agents that begin and end
with their messages, tools that begin and end, and what came from and went to people.

(The writers are the plugins `openclaw-telemetry` and `openclaw-telemetry-hal`; the former keeps lengths, no words.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.formats.shared.fields import Fields, text
from forensics.formats.shared.json_lines import json_lines
from forensics.formats.shared.openclaw_events import KINDS, Telemetry

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "openclaw-telemetry"
ABOUT = "OpenClaw telemetry: the events of its plugin, one a line"
CARRIES = "calls, arguments, results and prompts (of agents whose messages are there), failures, times, tokens"
LACKS = "system prompt, tool schemas, results of agents whose messages are not there, ids of executions"
RERUN = "the system prompt and the schemas, the files that its tools read, and what sub-agents were given"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_WHOSE = frozenset({"sessionKey", "channel"})


def sniff(look: Look) -> int:
    """95 for an event of a kind that is known, with the session or the channel that it is of."""
    shown = [look.document] if look.document is not None else look.lines
    return 95 if any(map(_is_event, shown)) else 0


def _is_event(fields: Fields) -> bool:
    return text(fields, "type") in KINDS and bool(_WHOSE & fields.keys())


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell the events. Raises CorruptEvidenceError where none can be read."""
    telemetry = Telemetry(build)
    for one in json_lines(source, build):
        telemetry.line(one)
    if not build.counts.records:
        raise source.holds_no("event")
    telemetry.tell()
