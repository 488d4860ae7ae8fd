"""What did the chat of VS Code do? A session as it was exported or stored, as one document or as a log of its changes.

A log is folded as the editor does it; what it took back (a request that a person edited, an answer that was begun anew)
was said, and is told as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forensics.core.jsonvalue import raw, value_of
from forensics.formats.shared.document import find_document, note_cut
from forensics.formats.shared.document_values import document_values
from forensics.formats.shared.fields import Fields, as_object, fields_of, items_in, object_in, opens_with, text
from forensics.formats.shared.json_lines import json_lines
from forensics.formats.shared.mutation_log import MutationLog
from forensics.formats.shared.vscode_requests import Session, call_ids

if TYPE_CHECKING:
    from forensics.core.build import Spot
    from forensics.core.reading import EvidenceBuilder
    from forensics.formats.shared.document import Document
    from forensics.formats.shared.json_lines import JsonLine
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "vscode-chat"
ABOUT = "VS Code chat session (Copilot): exported, or as the editor stores it, one document or a log of changes"
CARRIES = "calls, arguments, results, refusals, prompts as they were sent, thoughts, times, tokens"
LACKS = "the rules that the model was given, tool schemas, what sub-agents were asked and given"
RERUN = "the system prompt and the schemas, the files of the folder, and what sub-agents did"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_REQUESTS = "requests"
_MARKS = frozenset({"responderUsername", "initialLocation", "creationDate"})


def sniff(look: Look) -> int:
    """95 for a session or the first entry of a log, 60 for entries of a log that lost it."""
    if look.document is not None and _is_session(look.document):
        return 95
    shown = [look.document] if look.document is not None else look.lines
    return 95 if any(map(_begins, shown)) else 60 if any(map(_goes_on, shown)) else 0


def _is_session(fields: Fields) -> bool:
    listed = fields.get(_REQUESTS)
    if listed is None or not opens_with(listed, b"["):
        return False
    return bool(_MARKS & fields.keys()) or any("requestId" in fields_of(one) for one in items_in(fields, _REQUESTS)[:1])


def _begins(fields: Fields) -> bool:
    return text(fields, "kind") == "0" and _is_session({**_EMPTY, **object_in(fields, "v")})


_EMPTY: Fields = {"creationDate": raw(0)}  # the log of a new session has little more than its empty list


def _goes_on(fields: Fields) -> bool:
    path = items_in(fields, "k")[:1]
    return text(fields, "kind") in ("1", "2") and bool(path) and bytes(path[0]) == b'"requests"'


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell the session. Raises CorruptEvidenceError where no request of it can be read."""
    document = find_document(source, build)
    if document is not None and _REQUESTS in fields_of(document.body):
        _read_document(source, document, build)
        note_cut(document, build)
    else:
        _Log(build).read(source)
    if not build.counts.records:
        raise source.holds_no("request of a chat session")


def _read_document(source: Source, document: Document, build: EvidenceBuilder) -> None:
    fields = fields_of(document.body)
    session = Session(build, _name(fields))
    requests = items_in(fields, _REQUESTS)
    for item, spot, tainted in document_values(source, build, document, requests, f"/{_REQUESTS}"):
        session.request(fields_of(item), spot, tainted)
        build.counts.records += 1
    session.close({name: held for name, held in fields.items() if name != _REQUESTS}, document.spot)


def _name(fields: Fields) -> str:
    return text(fields, "sessionId") or "session"


class _Log:
    """A session as a log: its value so far, and by the id of each request where it was first written, and, where it was
    taken back, what it then was.
    """

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.log = MutationLog({_REQUESTS: []})
        self.first: dict[str, Spot] = {}
        self.gone: dict[str, Any] = {}
        self.odd: list[tuple[str, Spot]] = []
        self.tainted: str | None = None
        self.begun = False

    def read(self, source: Source) -> None:
        """Fold the log and tell what came of it."""
        last: Spot | None = None
        for one in json_lines(source, self.build):
            self._entry(one)
            last = one.spot
        if last is not None:
            self._tell(last)

    def _entry(self, one: JsonLine) -> None:
        entry = value_of(as_object(one.fields))
        self.tainted = self.tainted or one.tainted
        if not self.begun and entry.get("kind") != 0:
            self.odd.append(("the first entry of the log is lost: what it held is not in the file", one.spot))
        self.begun = True
        taken = len(self.log.taken)
        if not self.log.apply(entry):
            self.odd.append(("an entry of the log that does not fit what was written before", one.spot))
        for path, value in self.log.taken[taken:]:
            self._keep(path, value)
        for request in self._written(entry):
            self.first.setdefault(_id_of(request), one.spot)

    def _written(self, entry: dict[str, Any]) -> list[Any]:
        """The requests that an entry writes as a whole."""
        path, value = entry.get("k"), entry.get("v")
        if path is None:
            return self._requests()
        if path == [_REQUESTS]:
            return value if isinstance(value, list) else []
        whole = isinstance(path, list) and path[:1] == [_REQUESTS] and len(path) == len((_REQUESTS, 0))
        return [value] if whole else []

    def _keep(self, path: list[Any], value: Any) -> None:
        """Keep requests that an entry took back, whatever part of the session it replaced."""
        listed = (
            value.get(_REQUESTS) if not path and isinstance(value, dict) else value if path == [_REQUESTS] else None
        )
        if isinstance(listed, list):
            self.gone.update((_id_of(one), one) for one in listed)
        elif path[:1] == [_REQUESTS] and len(path) == len((_REQUESTS, 0)):
            self.gone[_id_of(value)] = value

    def _requests(self) -> list[Any]:
        held = self.log.value.get(_REQUESTS) if isinstance(self.log.value, dict) else None
        return held if isinstance(held, list) else []

    def _tell(self, last: Spot) -> None:
        now: dict[str, list[Any]] = {}
        for one in self._requests():
            now.setdefault(_id_of(one), []).append(one)
        about = self.log.value if isinstance(self.log.value, dict) else {}
        fields = fields_of(raw(about))
        session = Session(self.build, _name(fields), pointers=False)
        for name, spot in self.first.items():
            for told in now.get(name) or [self.gone.get(name)]:
                session.request(fields_of(raw(told)), spot, self.tainted, taken_back=name not in now)
        lost = {one for _, value in self.log.taken for one in call_ids(value)} - session.known
        for message in ("the log took back calls that stand nowhere else in it",) * bool(lost):
            self.odd.append((message, last))
        session.close({name: held for name, held in fields.items() if name != _REQUESTS}, last)
        for message, spot in self.odd:
            session.builder.gap("evidence_gap", message, spot)


def _id_of(request: Any) -> str:
    return str(request.get("requestId", "")) if isinstance(request, dict) else ""
