"""What did the samples of an Inspect evaluation do? A log as one JSON document, or as a zip archive (`.eval`) with one
document a sample; each sample is a trace.

An evaluation that crashed leaves an archive without its directory, and samples that break off: what is there is read
(FORMATS section 8; the models are those of Inspect's `log/_log.py` and `event/`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.build import Spot
from forensics.core.sanitise import one_line
from forensics.errors import CorruptEvidenceError, UnknownFormatError
from forensics.formats.shared.document import document_of, note_cut, open_document
from forensics.formats.shared.fields import fields_of, items_in, present, text
from forensics.formats.shared.inspect_logs.walk import SampleWalk
from forensics.formats.shared.messages.telling import taint
from forensics.formats.shared.packed.kinds import ZIP_MAGIC
from forensics.formats.shared.packed.unpacking import Budget
from forensics.formats.shared.packed.zipped import content_of, note_names, open_archive

if TYPE_CHECKING:
    from forensics.core.reading import EvidenceBuilder
    from forensics.core.trace import Payload
    from forensics.formats.shared.fields import Fields
    from forensics.formats.shared.packed.zipped import Archive, Member
    from forensics.formats.shared.reader import Look
    from forensics.formats.shared.source import Source

NAME = "inspect"
ABOUT = "Inspect AI evaluation log: .eval (a zip archive) or JSON; each sample is a trace"
CARRIES = "prompts, calls, executions, results, errors, approvals, sub-agents, tool schemas, times, tokens"
LACKS = "what earlier attempts at a sample did; inputs and outputs of a sandbox beyond 100 lines"
RERUN = "the sandbox and its files; earlier attempts at a sample"
RECORDS_CALLS = True
SPANS_ARE_COMPLETE = False

_SAMPLES = "samples/"
_MEMBERS = (b"_journal/start.json", b"samples/", b"header.json")
_BESIDE = frozenset({"results", "plan", "stats", "status", "samples"})


def sniff(look: Look) -> int:
    """95 for a log, 90 for an archive that begins with one of its members."""
    if look.head.startswith(ZIP_MAGIC):
        return 90 if any(name in look.head for name in _MEMBERS) else 0
    fields = look.members()
    if "eval" not in fields or not _BESIDE & fields.keys():
        return 0
    return 95 if {"task", "model"} & fields_of(fields["eval"]).keys() else 0


def read(source: Source, build: EvidenceBuilder) -> None:
    """Tell every sample. Raises CorruptEvidenceError where nothing can be read, UnknownFormatError for a log without
    samples, LimitExceededError, and EvidenceError (`extra_missing`) for an archive packed with Zstandard where nothing
    unpacks it.
    """
    log = _Log(build)
    if source.data[:4] == ZIP_MAGIC:
        log.archive(source)
    else:
        log.document(source)
    if not build.counts.records and not log.gaps:
        message = f"{source.name} holds no sample"
        raise UnknownFormatError(message, hint="the evaluation kept none, or ended before the first", code="no_trace")


class _Log:
    """One log on its way to the builder."""

    def __init__(self, build: EvidenceBuilder) -> None:
        self.build = build
        self.names: dict[str, int] = {}
        self.gaps = 0

    def document(self, source: Source) -> None:
        """A log that is one JSON document."""
        document = open_document(source, self.build)
        fields = fields_of(document.body)
        self._version(fields)
        last: str | None = None
        for at, raw in enumerate(items_in(fields, "samples")):
            last = self._sample(raw, document.spot.down(f"/samples/{at}"), document.taint_of(raw))
        note_cut(document, self.build, last)
        self.gaps += document.cut is not None

    def archive(self, source: Source) -> None:
        """A log that is an archive with a member a sample."""
        archive = open_archive(source)
        if not archive.members:
            raise CorruptEvidenceError(f"{source.name} is no zip archive that can be read", hint="is the file whole?")
        note_names(archive.members, self.build)
        if archive.recovered:
            self._recovered(archive, source)
        budget = Budget(source.name)
        for member in archive.members:
            if member.name.startswith(_SAMPLES) or member.name == "header.json":
                self._member(source, member, budget)

    def _recovered(self, archive: Archive, source: Source) -> None:
        """Without its directory nothing tells how many members an archive had; those that are there are whole or say
        that they are not.
        """
        end = max(member.start + member.packed for member in archive.members)
        place = self.build.places.add(offset=end, length=source.size - end)
        count = len(archive.members)
        message = f"the archive has no directory: {count} members were recovered by their own headers"
        self.build.unread("container_truncated", message, Spot(place), hides=False)
        self.build.counts.recovered_records += sum(m.name.startswith(_SAMPLES) for m in archive.members)
        self.gaps += 1

    def _member(self, source: Source, member: Member, budget: Budget) -> None:
        content = content_of(source, member, budget)
        spot = Spot(self.build.places.add_member(member.name, len(content.data)))
        if member.name == "header.json":
            self._version(fields_of(content.data))
            return
        try:
            document = document_of(memoryview(content.data), spot, self.build, one_line(member.name, 80))
        except CorruptEvidenceError as error:
            self._lost(f"{error.message}{': ' if content.fault else ''}{content.fault}", spot, None)
            return
        trace = self._sample(document.body, spot, document.tainted)
        if content.fault:
            self._lost(f"a sample of which not all can be read: {content.fault}", spot, trace)
        else:
            note_cut(document, self.build, trace)

    def _lost(self, message: str, spot: Spot, trace: str | None) -> None:
        """A sample, or the rest of one, that can't be read."""
        self.gaps += 1
        self.build.unread("container_truncated", message, spot, trace=trace)

    def _version(self, fields: Fields) -> None:
        packages = fields_of(fields_of(fields["eval"]).get("packages", b"null")) if "eval" in fields else {}
        self.build.dialect = text(packages, "inspect_ai") or self.build.dialect

    def _sample(self, raw: Payload, spot: Spot, tainted: str | None) -> str:
        """Tell one sample; returns the id of its trace."""
        fields = fields_of(raw)
        name = self._name(fields)
        builder = self.build.trace(name)
        self.build.counts.records += 1
        SampleWalk(fields, builder, self.build, spot).run()
        if present(fields, "events") is None:
            message = "a sample without events: its messages do not tell what sub-agents and solvers did"
            builder.gap("evidence_gap", message, spot)
        taint(builder, tainted, spot)
        return name

    def _name(self, fields: Fields) -> str:
        """The name of a sample in its log, which the archive gives its member as well."""
        name = f"{text(fields, 'id') or 'sample'}_epoch_{text(fields, 'epoch') or '1'}"
        self.names[name] = number = self.names.get(name, 0) + 1
        return name if number == 1 else f"{name}#{number}"
