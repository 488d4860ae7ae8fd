"""In what is a rerun not what a case expects? Input, output and tuples, each difference with both sides and its place.

Calls are set side by side by what they ask for, so that one call more is one difference and not a difference of every
call after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from forensics.compare.alignment import aligned
from forensics.core.differences import differences, shown
from forensics.core.jsonvalue import canonical, short_json, spell_surrogates
from forensics.core.sanitise import one_line
from forensics.report.case_documents import CaseDifference, ExpectedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.report.case_documents import CaseDocument

MOST = 20  # places of one value that are told
_SHOWN = 200


class Got(msgspec.Struct, frozen=True, kw_only=True):
    """What a rerun did, as a case keeps it: input, output, tuples, and what stopped it, as a code and words. `asked`
    says that it asked a model: an agent of the user's that asked none tells nothing of prompts and of what was said.
    """

    input: Any
    output: Any
    tuples: tuple[ExpectedTuple, ...]
    stopped: tuple[str, str] | None = None
    asked: bool = True


def case_differences(case: CaseDocument, got: Got) -> list[CaseDifference]:
    """Every difference; what stopped the rerun first, since what is missing rests on it."""
    return list(_differences(case, got))


def _differences(case: CaseDocument, got: Got) -> Iterator[CaseDifference]:
    if got.stopped is not None:
        code, message = got.stopped
        yield told(code, message)
    yield from _values("input", case.input, got.input, None)
    yield from _tuples(case.expected_tuples, got)
    if got.stopped is None:
        yield from _values("output", case.expected_output, got.output, None)


def told(what: str, message: str) -> CaseDifference:
    """A difference that is no value: a code and what it means here."""
    return CaseDifference(
        what=what, occurrence=None, tool=None, pointer=None, expected=None, got=None, message=one_line(message, 1_000)
    )


def _tuples(expected: Sequence[ExpectedTuple], got: Got) -> Iterator[CaseDifference]:
    for one, other in aligned([_keys(row) for row in expected], [_keys(row) for row in got.tuples]):
        if one is not None and other is not None:
            yield from _tuple(expected[one], got.tuples[other], asked=got.asked)
        elif one is not None:
            yield _alone("missing", expected[one])
        elif other is not None:
            yield _alone("extra", got.tuples[other])


def _keys(row: ExpectedTuple) -> tuple[tuple[str, bytes], tuple[str]]:
    return (row.tool, canonical(row.arguments)), (row.tool,)


def _tuple(one: ExpectedTuple, other: ExpectedTuple, *, asked: bool) -> Iterator[CaseDifference]:
    """What differs of one call, in the order in which it came about; what another call returned is no difference."""
    if asked:
        if one.prompt_sha256 != other.prompt_sha256:
            yield _difference("prompt", one, *_texts(one.prompt, other.prompt), "the model was shown something else")
        yield from _values("said", one.said, other.said, one)
    asked_for = list(_values("arguments", one.arguments, other.arguments, one))
    yield from asked_for
    if asked_for:
        return
    if one.outcome != other.outcome:
        yield _difference("outcome", one, one.outcome, other.outcome, "the call ended otherwise")
    yield from _values("result", one.result, other.result, one)


_SAYS = {
    "input": "the run was given something else",
    "output": "the run answered something else",
    "said": "the model said something else",
    "arguments": "the call has other arguments",
    "result": "the call returned something else",
}


def _values(what: str, expected: Any, got: Any, row: ExpectedTuple | None) -> Iterator[CaseDifference]:
    for number, one in enumerate(differences(expected, got)):
        if number == MOST:
            yield _difference(what, row, None, None, "and more places differ")
            return
        yield _difference(what, row, *shown(one), _SAYS[what], one.pointer)


def _alone(what: str, row: ExpectedTuple) -> CaseDifference:
    call = spell_surrogates(f"{one_line(row.tool, 60)}({short_json(row.arguments, _SHOWN)})")
    says = "an expected call was not made" if what == "missing" else "a call was made that is not expected"
    return _difference(what, row, call if what == "missing" else None, call if what == "extra" else None, says)


def _difference(  # noqa: PLR0917 - the fields of one row
    what: str,
    row: ExpectedTuple | None,
    expected: str | None,
    got: str | None,
    message: str,
    pointer: str | None = None,
) -> CaseDifference:
    return CaseDifference(
        what=what,
        occurrence=None if row is None else row.occurrence,
        tool=None if row is None else row.tool,
        pointer=None if pointer is None else spell_surrogates(pointer),
        expected=expected,
        got=got,
        message=message,
    )


def _texts(expected: str, got: str) -> tuple[str | None, str | None]:
    """The last words of two prompts; where these are alike, something before them differs."""
    found = next(differences(expected, got), None)
    return ("(not in its last words)", "(not in its last words)") if found is None else shown(found)
