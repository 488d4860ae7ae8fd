"""What does one agent of Kimi do, step by step? A step is a turn of its model: what it said comes in pieces, then the
calls that it asks for, then their results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import raw, text_of
from forensics.core.trace import Boundary, Payload
from forensics.formats.shared.fields import fields_of, is_text, items_of, present, text
from forensics.formats.shared.server_names import mcp_server
from forensics.formats.shared.wholeness import arguments_damage, cut_short, finish_words, result_damage

if TYPE_CHECKING:
    from forensics.core.build import Lane, Spot, TraceBuilder

_BROKEN_OFF = ("aborted", "cancelled", "manually interrupted", "interrupted before")
_NOT_ALLOWED = ("denied by permission", "rejected by the user", "was rejected")
_CUT = frozenset({"interrupted", "error"})
_OPENING = 400  # characters of a result in which the harness says that it did not run


class Asked(msgspec.Struct, frozen=True):
    """A call as it is asked for: its tool, id and arguments, and whether another agent does the work."""

    tool: str
    recorded_id: str
    arguments: Payload | None
    by_agent: bool = False


class Steps:
    """The steps of one agent. `denied` are the ids of calls that somebody did not allow, `known` those of all calls."""

    def __init__(self, builder: TraceBuilder, lane: Lane) -> None:
        self.builder = builder
        self.lane = lane
        self.model = ""
        self.denied: set[str] = set()
        self.known: set[str] = set()
        self._spot: Spot | None = None
        self._said: list[str] = []
        self._turn = -1
        self._asked = 0
        self._by_agents: dict[str, int] = {}

    def begin(self, spot: Spot) -> None:
        """A step begins; one that did not end is over."""
        self.end(spot, None)
        self._spot = spot

    def says(self, part: Payload, spot: Spot) -> None:
        """A piece of what the model thinks or says."""
        fields = fields_of(part)
        said = present(fields, "text", "think")
        self._spot = self._spot or spot
        if said is not None:
            self._said.append(text_of(said))

    def asks(self, call: Asked, spot: Spot) -> None:
        """A call that the model asks for."""
        self._open(spot)
        self._asked += 1
        self.known.add(call.recorded_id)
        self.builder.request(
            self.lane,
            self._turn,
            call.tool,
            call.recorded_id or None,
            call.arguments,
            spot,
            boundary=Boundary.SUB_AGENT if call.by_agent else Boundary.TOOL,
            server=mcp_server(call.tool),
            tainted=None if call.arguments is None else arguments_damage(call.arguments),
        )

    def gives(self, recorded_id: str, payload: Payload | None, spot: Spot, *, failed: bool) -> None:
        """What came of a call. Where it was broken off, it may have taken effect all the same."""
        said = text_of(payload)[:_OPENING].lower() if failed and payload is not None else ""
        denied = recorded_id in self.denied or any(words in said for words in _NOT_ALLOWED)
        self.builder.show(
            self.lane,
            recorded_id or None,
            "",
            payload,
            spot,
            failed=failed or denied,
            denied=denied,
            unsettled=not denied and any(words in said for words in _BROKEN_OFF),
            tainted=None if payload is None else result_damage(payload),
        )

    def end(self, spot: Spot, why: Payload | None) -> None:
        """A step ends, for a reason that may say that more was to come; one of which nothing is recorded was none."""
        if self._spot is not None and (self._said or self._turn >= 0 or why is not None):
            self._open(spot)
            self.builder.words(self._turn, self._words())  # some may have come behind a call
            words = finish_words(why)
            message = cut_short(words, calls=bool(self._asked))
            if message or not _CUT.isdisjoint(words):
                self.builder.gap("evidence_gap", message or "the model's output is not whole: it broke off", spot)
        self._spot, self._said, self._turn, self._asked = None, [], -1, 0

    def is_sub_agents(self, recorded_id: str) -> None:
        """The call was another agent's work."""
        rows = self.lane.calls.get(recorded_id)
        for row in rows[self._by_agents.get(recorded_id, 0) :]:
            self.builder.trace.calls[row].boundary = Boundary.SUB_AGENT
        self._by_agents[recorded_id] = len(rows)

    def _open(self, spot: Spot) -> None:
        """The turn of this step, which is told with the first thing that follows what it said."""
        self._spot = self._spot or spot
        if self._turn < 0:
            self._turn = self.builder.turn(self.lane, self._spot, text=self._words(), model=self.model)

    def _words(self) -> Payload | None:
        return raw("\n".join(self._said)) if self._said else None


def output_of(value: Payload | None) -> Payload | None:
    """What a tool gave back: a text, or the texts of its parts where it has no others."""
    if value is None or is_text(value):
        return value
    parts = [fields_of(part) for part in items_of(value)]
    if not parts or any(text(part, "type") != "text" for part in parts):
        return value
    return raw("".join(text(part, "text") for part in parts))
