"""How is a sentence shown on standard error that may quote a trace? Without what looks like a secret, and safe."""

from __future__ import annotations

from forensics.core.sanitise import visible


def quoted(sentence: str) -> str:
    """The sentence as it may be shown. What finds secrets is loaded only here, where something went wrong."""
    from forensics.report.redaction import Redactor

    return visible(Redactor().text(sentence))
