"""What was asked, and what was answered? Requests and recordings, whatever evidence they come from."""

from __future__ import annotations

from typing import Any

import msgspec

from forensics.core.evidence import Locator
from forensics.core.findings import Finding

MODEL, TOOL, HTTP = "model", "tool", "http"
CONTENT_TYPE = "/headers/content-type"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request to a model, a tool or a server.

    `value` is what is asked, as JSON: `{"tool", "arguments"}` of a tool, `{"method", "uri", "headers"?, "body"}` over
    HTTP, and of a model the request as it was recorded. `spelled` holds the bytes in which it stands, and `beside` what
    chooses nothing, by its JSON Pointer: both grade a match, and neither makes one. `lane` is the agent that asks
    (None: not told), `recorded_id` the id of a call, `doubt` why it can't be told what is asked ("": it can).
    """

    kind: str
    value: Any
    locator: Locator
    lane: str | None = None
    recorded_id: str | None = None
    spelled: bytes = b""
    beside: dict[str, str] = {}
    doubt: str = ""
    step: int | None = None

    @property
    def name(self) -> str:
        """The tool, or the method and the address; "" of a model."""
        if not isinstance(self.value, dict):
            return ""
        names = {TOOL: ("tool",), HTTP: ("method", "uri")}.get(self.kind, ())
        return " ".join(str(self.value[name]) for name in names if self.value.get(name))


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded request with its answer.

    `others` are further forms in which the same may be asked: the body of an HTTP request as a request to a model.
    `missing` says why it has no answer ("": it has one), `doubt` why its answer can't be trusted to be this request's
    ("": it can), and `batch` the turn whose calls ran side by side (None: it stands alone). An answer that says that
    the request `failed` is served like any other.
    """

    request: Request
    answer: Any
    others: tuple[Request, ...] = ()
    missing: str = ""
    doubt: str = ""
    batch: int | None = None
    failed: bool = False

    def form(self, kind: str) -> Request:
        """The form that is of that kind, else the one that was recorded."""
        return next((form for form in (self.request, *self.others) if form.kind == kind), self.request)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Every recording of one evidence, in recorded order, and what was found while they were read. `compared` says that
    the findings tell already which equal requests have different answers.
    """

    recordings: tuple[Recording, ...]
    findings: tuple[Finding, ...] = ()
    compared: bool = False
