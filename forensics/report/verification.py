"""How does a checked bundle become a document? What differs, and what was not checked, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.core.jsonvalue import spell_surrogates
from forensics.core.sanitise import one_line
from forensics.custody.verify import Signature
from forensics.report.compose import program
from forensics.report.custody_documents import VERIFICATION, BundleFault, BundleInput, VerificationDocument
from forensics.report.documents import Program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.custody.statement import Input
    from forensics.custody.verify import Verification

_TEXT = 200


def verification_document(verification: Verification) -> VerificationDocument:
    """The document of a checked bundle."""
    said = verification.statement.predicate
    return VerificationDocument(
        schema=VERIFICATION,
        tool=program(),
        verified=verification.verified,
        vouched=verification.vouched,
        manifest=f"sha256:{verification.sha256}",
        signature=verification.signature,
        written_by=Program(name=_text(said.tool.get("name", "")), version=_text(said.tool.get("version", ""))),
        finished=_text(said.finished),
        files=len(said.outputs),
        matching=verification.matching,
        events=0 if said.events is None else said.events.count,
        inputs=[_input(one) for one in said.inputs],
        faults=[
            BundleFault(kind=one.kind, file=_text(one.file), message=one.message, event=one.event)
            for one in verification.faults
        ],
        notes=list(_notes(verification)),
    )


def _input(one: Input) -> BundleInput:
    after = None if one.sha256_after is None else (one.sha256_after, one.size_after) == (one.sha256, one.size)
    return BundleInput(name=_text(one.name), sha256=_text(one.sha256), size=one.size, unchanged=after)


def _notes(verification: Verification) -> Iterator[str]:
    known = verification.expected is not None
    if verification.signature is Signature.NONE and not known:
        yield (
            "the manifest is not signed: whoever can write the folder can also rewrite the manifest; compare its "
            "digest with one noted elsewhere (--expect)"
        )
    if verification.signature is Signature.UNCHECKED:
        yield "the manifest is signed, and no key was given to check the signature with (--key)"
    inputs = verification.statement.predicate.inputs
    missing = sum((one.sha256, one.size) not in verification.compared for one in inputs)
    if missing:
        yield (
            f"the evidence of {missing} of {len(inputs)} inputs was not given (--evidence): what it was is the "
            "manifest's word alone"
        )
    if any(one.sha256_after is None for one in inputs):
        yield "an input could not be read a second time, so its digest after the examination is not known"


def _text(text: str) -> str:
    return spell_surrogates(one_line(text, _TEXT))
