"""What did an agent of OpenHands (before its SDK) do? The events of its conversation: a list, the history in the output
of an evaluation or of its resolver, or one event a line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.errors import UnknownFormatError
from forensics.formats.shared.document_values import document_values
from forensics.formats.shared.fields import Fields, fields_of, items_of, opens_with, text
from forensics.formats.shared.json_lines import json_values
from forensics.formats.shared.openhands_events import Conversation
from forensics.formats.shared.walks import walk_evidence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forensics.core.build import Spot
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "openhands"
ABOUT = "OpenHands events (before its SDK): a list, the history in an evaluation's or the resolver's output, or lines"
CARRIES = "calls, arguments, results, exit codes, refusals, thoughts, system prompt, tool schemas, times, tokens"
LACKS = "prompts as they were sent; the calls of delegates apart from the agent's own"
RERUN = "the prompts as they were sent, and the container that its tools ran in"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_ACTIONS = frozenset(
    {"browse", "browse_interactive", "call_tool_mcp", "change_agent_state", "condensation", "delegate", "edit"}
    | {"finish", "message", "read", "recall", "reject", "run", "run_ipython", "system", "think", "write"}
)
_OBSERVATIONS = frozenset(
    {"agent_state_changed", "browse", "condense", "delegate", "edit", "error", "mcp", "read", "recall", "run"}
    | {"run_ipython", "success", "think", "user_rejected", "write"}
)
_ARGUMENTS = frozenset(
    {"args", "action_risk", "is_confirmed", "thought"}
)  # in older files they stand in the event itself
"""What this format is known by; an action or an observation of another name is read as well."""
_NAMES = ("instance_id", "conversation_id", "id")
_Value = tuple["Payload", "Spot", "str | None"]


def sniff(look: Look) -> int:
    """93 for events, and for a record with the history of some: an SWE agent of another kind has one, too."""
    if look.document is not None:
        return 93 if _has_history(look.document) or _is_event(look.document) else 0
    shown = look.items() if look.array is not None else look.lines
    return 93 if any(_is_event(fields) or _has_history(fields) for fields in shown) else 0


def _is_event(fields: Fields) -> bool:
    """Whether it is an event: an action or an observation of a name that is known, with what belongs to it."""
    if "role" in fields or "type" in fields:
        return False
    acts = bool(_ARGUMENTS & fields.keys()) and text(fields, "action") in _ACTIONS
    return acts or ("content" in fields and text(fields, "observation") in _OBSERVATIONS)


def _has_history(fields: Fields) -> bool:
    listed = fields.get("history")
    if listed is None or "trajectory" in fields or not opens_with(listed, b"["):
        return False
    return any(_is_event(fields_of(one)) for item in items_of(listed)[:2] for one in _one_or_pair(item))


def _one_or_pair(item: Payload) -> list[Payload]:
    """An event or, in older files, an action with its observation."""
    return items_of(item) if opens_with(item, b"[") else [item]


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell the conversations. Raises UnknownFormatError for one event alone, CorruptEvidenceError where none can be
    read.
    """
    walk_evidence(source, build, _Conversations(build), json_values(source, build), "event of a conversation")


class _Conversations:
    """The conversations of one evidence: each record with a history is one, and so are the events that stand loose."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self._build = build
        self._loose: Conversation | None = None

    def document(self, source: Source, document: Document) -> None:
        """A record with a history, or the list of the events. Raises UnknownFormatError for one event alone."""
        fields = {} if opens_with(document.body, b"[") else fields_of(document.body)
        if fields and not _has_history(fields):
            message = f"{source.name} is one event of an OpenHands conversation, and no run"
            raise UnknownFormatError(message, hint="put the events of the conversation into one list", code="no_trace")
        items, base = (items_of(fields["history"]), "/history") if fields else (items_of(document.body), "")
        events = document_values(source, self._build, document, items, base)
        self._record(text(fields, *_NAMES) or "conversation", fields, document.spot, events)

    def line(self, one: _Value) -> None:
        """An event of the one conversation, or a record with the history of its own."""
        value, spot, tainted = one
        fields = fields_of(value)
        if "history" not in fields:
            self._loose = self._loose or Conversation(self._build.trace("conversation"), self._build)
            _tell(self._loose, value, spot, tainted)
            return
        name = text(fields, *_NAMES) or f"conversation-{self._build.counts.lines - 1}"
        history = enumerate(items_of(fields["history"]))
        self._record(name, fields, spot, ((item, spot.down(f"/history/{at}"), tainted) for at, item in history))

    def close(self) -> None:
        """The events that stood loose are whole."""
        if self._loose is not None:
            self._loose.close()

    def _record(self, name: str, fields: Fields, spot: Spot, events: Iterable[_Value]) -> None:
        conversation = Conversation(self._build.trace(name), self._build)
        conversation.look_through(_beside(fields), spot)
        for item, at, tainted in events:
            _tell(conversation, item, at, tainted)
        conversation.close()


def _beside(fields: Fields) -> Fields:
    """What a record says beside the history of its conversation."""
    return {name: held for name, held in fields.items() if name != "history"}


def _tell(conversation: Conversation, item: Payload, spot: Spot, tainted: str | None) -> None:
    conversation.build.counts.records += 1
    pair = opens_with(item, b"[")
    for at, one in enumerate(_one_or_pair(item)):
        conversation.event(fields_of(one), spot.down(f"/{at}") if pair else spot, tainted)
