"""What went over the wire in a recorded test or run? HTTP cassettes of VCR.py, and of its relatives in other languages.

The best record there is: exact requests with tool schemas, exact answers. One cassette may hold several runs, told
apart by how their prompts begin, and retries; the order of the file is that of the exchanges (FORMATS section 18).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from forensics.core.build import Spot
from forensics.core.findings import finding
from forensics.core.jsonvalue import decode
from forensics.core.trace import NOWHERE
from forensics.errors import CorruptEvidenceError
from forensics.formats.shared.cassette_walk import Cassette
from forensics.formats.shared.fields import Fields, fields_of, is_text, items_of
from forensics.formats.shared.lines import BOM
from forensics.formats.shared.recorded_http import HAR, LISTS, exchange_of
from forensics.formats.shared.yaml_tree import Place, YamlTree, load_yaml

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "vcr-cassette"
ABOUT = "HTTP cassette of VCR.py (YAML or JSON), Ruby's VCR, go-vcr, or HAR: requests to model APIs, MCP and others"
CARRIES = "prompts, tool schemas, model outputs (streamed ones put together), calls, retries, other HTTP requests"
LACKS = "tool executions (their results as prompts show them), which run an exchange belongs to (told by its prompt)"
RECORDS_CALLS = False
SPANS_ARE_COMPLETE = False

_HEAD = re.compile(rb"^(?:interactions|http_interactions):\s*$", re.MULTILINE)
_REQUEST = re.compile(rb"^\s*(?:-\s+)?request:\s*$", re.MULTILINE)
_NO_PLACE = Place(0, NOWHERE)


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
    start = len(BOM) if bytes(source.data[:3]) == BOM else 0
    body = source.data[start:]
    whole = Spot(build.places.add(offset=start, length=len(body)))
    tree = _tree(body)
    tainted = build.faults(tree.faults, whole)
    name, listed = _listed(tree.value)
    if tree.error is not None:
        build.gap("malformed_line", f"the cassette can't be read to its end: {tree.error}", whole)
        locators = (build.places.locator(whole.place),)
        build.found(finding("malformed_line", f"the cassette breaks off: {tree.error}", locators=locators))
    if not listed:
        message = f"{source.name} holds no exchange that can be read"
        raise CorruptEvidenceError(message, hint=tree.error or "is this the whole file?")
    cassette = Cassette(build)
    places = [_moved(tree.items.get((name, index), _NO_PLACE), start) for index in range(len(listed))]
    for index, value in enumerate(listed):
        spot = _spot(build, whole, places, index, len(source.data))
        one = exchange_of(value)
        if one is None:
            build.gap("evidence_gap", "an interaction without a request", spot.down(f"/{name}/{index}"))
            continue
        build.counts.records += 1
        at = Spot(spot.place, f"/{name}/{index}", one.at)
        cassette.exchange(one, at, tainted)
    cassette.close()


def _tree(body: memoryview) -> YamlTree:
    """The value of the file: JSON, or YAML, of which JSON that breaks off is read as a part."""
    if bytes(body[:64]).lstrip()[:1] == b"{":
        decoded = decode(body)
        if decoded.error is None:
            return YamlTree(decoded.value, {}, decoded.faults)
    return load_yaml(bytes(body))


def _listed(value: object) -> tuple[str, list[object]]:
    """The interactions, and the name of their list."""
    if isinstance(value, dict):
        for name in LISTS:
            if isinstance(value.get(name), list):
                return name, value[name]
        log = value.get(HAR[0])
        if isinstance(log, dict) and isinstance(log.get(HAR[1]), list):
            return "/".join(HAR), log[HAR[1]]
    return "", []


def _moved(place: Place, by: int) -> Place:
    return place if place.offset < 0 else Place(place.line, place.offset + by)


def _spot(build: EvidenceBuilder, whole: Spot, places: list[Place], index: int, size: int) -> Spot:
    """Where an interaction stands: from its first line to the next one's."""
    here = places[index]
    if here.offset < 0:
        return whole
    end = places[index + 1].offset if index + 1 < len(places) else size
    return Spot(build.places.add(line=here.line, offset=here.offset, length=max(0, end - here.offset)))
