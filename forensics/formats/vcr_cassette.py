"""What went over the wire in a recorded test or run? HTTP cassettes of VCR.py, and of its relatives in other languages.

The best record there is: exact requests with tool schemas, exact answers. One cassette may hold several runs, told
apart by how their prompts begin, and retries; the order of the file is that of the exchanges (FORMATS section 18).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from forensics.core.build import Spot
from forensics.errors import CorruptEvidenceError
from forensics.formats.shared.cassettes.file import cassette_file
from forensics.formats.shared.cassettes.recorded_http import HAR, LISTS, exchange_of
from forensics.formats.shared.cassettes.walk import Cassette
from forensics.formats.shared.fields import Fields, fields_of, is_text, items_of
from forensics.formats.shared.yaml_evidence import note_place, note_rest

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "vcr-cassette"
ABOUT = "HTTP cassette of VCR.py (YAML or JSON), Ruby's VCR, go-vcr, or HAR: requests to model APIs, MCP and others"
CARRIES = "prompts, tool schemas, model outputs (streamed ones put together), calls, retries, other HTTP requests"
LACKS = "tool executions (their results as prompts show them), which run an exchange belongs to (told by its prompt)"
RERUN = "what tools did between two requests: their results are known as prompts show them"
RECORDS_CALLS = False
SPANS_ARE_COMPLETE = False

_HEAD = re.compile(rb"^(?:interactions|http_interactions):\s*$", re.MULTILINE)
_REQUEST = re.compile(rb"^\s*(?:-\s+)?request:\s*$", re.MULTILINE)


def sniff(look: Look) -> int:
    """95 for a list of interactions that have a request."""
    if look.document is not None:
        return 95 if _holds_requests(look.document) else 0
    if look.head.lstrip()[:1] in (b"{", b"["):
        return 95 if re.search(rb'\A\s*\{(?:[^{}\[\]]{0,200},)?\s*"interactions"\s*:', look.head) else 0
    return 95 if _HEAD.search(look.head) and _REQUEST.search(look.head) else 0


def _holds_requests(document: Fields) -> bool:
    listed = next((document[name] for name in LISTS if name in document), None)
    if HAR[0] in document and not is_text(document[HAR[0]]):
        listed = fields_of(document[HAR[0]]).get(HAR[1])
    if listed is None or is_text(listed):
        return False
    return any("request" in fields_of(item) for item in items_of(listed)[:1])


def read(source: Source, build: EvidenceBuilder) -> None:
    """Walk the exchanges. Raises CorruptEvidenceError where there are none that can be read, LimitExceededError."""
    file = cassette_file(source.data)
    whole = Spot(note_place(file.whole, build))
    tainted = build.faults(file.faults, whole)
    note_rest(file.told, build)
    if not file.interactions:
        message = f"{source.name} holds no exchange that can be read"
        raise CorruptEvidenceError(message, hint=file.error or "is this the whole file?")
    cassette = Cassette(build)
    for value, (pointer, extent) in zip(file.interactions, file.places(), strict=True):
        place = whole.place if extent is file.whole else note_place(extent, build)
        one = exchange_of(value)
        if one is None:
            build.gap("evidence_gap", "an interaction without a request", Spot(place, pointer))
            continue
        build.counts.records += 1
        cassette.exchange(one, Spot(place, pointer, one.at), tainted)
    cassette.close()
