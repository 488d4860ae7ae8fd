"""What do the words mean? For a reader who was not there and has not read the manual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.report.html.parts import facts, section

if TYPE_CHECKING:
    from forensics.report.markup import Markup

# In few words what docs/glossary.md says; that page is the authority.
_WORDS = {
    "Run, trace": "One run of an agent as it was recorded. A rerun repeats one.",
    "Step": "One event of a run: an input, a model turn, a call, a result, an approval, an error. Steps count from 0.",
    "Call 1.0": "The call's place: the first call (.0) of the second model turn (1). Both count from 0.",
    "Two times of a call": "Its step has the time at which it was asked for, its effect that at which it ran.",
    "Unvouched": "Its own words say that it only reads, and nobody who answers for it has said so.",
    "Minted": "A value is minted where it first appears: in a result, and in nothing that was asked before.",
    "Side-effecting (!)": "Calling it changes something outside the agent, or may.",
    "Handle-returning (#)": "It brings a new value into the run, such as the id of what it made.",
    "Idempotent (=), volatile (~)": "It only reads; a volatile answer may be another one next time.",
    "Effect": "What one more call does: nothing, overwrite, repeat (it adds), what can't be undone, or unknown.",
    "Confirmed, answered": "Confirmed: the result holds what was made, or says so. Answered: it says anything else.",
    "Rests on": "What vouches for the effect: the operator, a trusted declaration, a proof. Words vouch for nothing.",
    "Handle, thread": "A value that a call minted, and its way to every later step that holds it.",
    "Strict, inject": "Policies. Strict lets tools run again if all are safe. Inject takes results from the record.",
    "Level": "What may be done: dynamic (strict clears it), inject (only inject does), static (read, run nothing).",
    "Recorded": "An id or a field of the evidence says so.",
    "Derived": "A rule says so, and it is named.",
    "Inferred": "Values were matched. Another explanation is possible, and it is named.",
}


def words() -> Markup:
    """The words of this report."""
    return section("words", "What the words mean", facts(*_WORDS.items()))
