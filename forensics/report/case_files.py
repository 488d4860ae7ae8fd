"""How are regression cases kept in a file? One JSON object a line, read strictly: every line is a case, or its fault is
named with the line.

A case is data. Nothing that it names is imported, and its evidence is looked for by digest, never by a path out of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from forensics.core.jsonvalue import canonical, decode, strict_value
from forensics.core.sanitise import one_line
from forensics.errors import ConfigurationError
from forensics.report.case_documents import CASE, CASE_RUN, CaseDocument, CaseRunDocument
from forensics.report.cases import calls_of
from forensics.report.jsonout import compact

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_MOST_BYTES = 256 * 1024 * 1024
_FAULTS = 10
_CODE = "case_invalid"


class Kept(msgspec.Struct, frozen=True):
    """A case with its line in the file (from 1)."""

    line: int
    case: CaseDocument


def read_cases(path: Path) -> list[Kept]:
    """The cases of a file. Raises ConfigurationError, with every fault and its line, where one line is no case, where
    two cases have one name, or where there is none.
    """
    try:
        data = path.read_bytes() if path.stat().st_size <= _MOST_BYTES else None
    except OSError as error:
        raise ConfigurationError(f"{_name(path)} can't be read: {error.strerror}", code=_CODE) from None
    if data is None:
        raise ConfigurationError(f"{_name(path)} is larger than {_MOST_BYTES:,} bytes", code=_CODE)
    return cases_of(data, _name(path))


def cases_of(data: bytes, name: str) -> list[Kept]:
    """The cases in the bytes of a file of that name; raises as `read_cases` does."""
    faults: list[str] = []
    found: list[Kept] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                found.append(Kept(number, _case(line)))
            except ValueError as error:
                faults.append(f"{name}:{number}: {error}")
    faults += [f"{name}:{one.line}: there is a case {one_line(one.case.name, 60)!r} already" for one in _twice(found)]
    if not found and not faults:
        faults.append(f"{name} holds no case")
    if faults:
        more = f"; and {len(faults) - _FAULTS} more" if len(faults) > _FAULTS else ""
        hint = "a file of cases is what `forensics case save` writes"
        raise ConfigurationError("; ".join(faults[:_FAULTS]) + more, hint=hint, code=_CODE)
    return found


def _case(line: bytes) -> CaseDocument:
    """Raises ValueError for what is no case."""
    decoded = decode(line)
    if decoded.error is not None:
        raise ValueError(f"no JSON: {one_line(decoded.error, 120)}")
    if decoded.faults:
        raise ValueError(f"it can be read in two ways: {one_line(decoded.faults[0].message, 120)}")
    value = decoded.value
    if not isinstance(value, dict) or value.get("schema") != CASE:
        raise ValueError(f"no case: its schema is not {CASE}")
    try:
        case = msgspec.convert(value, CaseDocument)
    except msgspec.ValidationError as error:
        raise ValueError(one_line(str(error), 200)) from None
    for name, said in _said_twice(case):
        if canonical(msgspec.to_builtins(getattr(case, name))) != canonical(msgspec.to_builtins(said)):
            raise ValueError(f"it can be read in two ways: {name} does not say what expected_tuples says")
    return case


def _said_twice(case: CaseDocument) -> Iterator[tuple[str, object]]:
    """The members that hold the calls once more, for `evaluate()` of FastAIAgent, and what they have to hold."""
    yield "expected_trajectory", [one.tool for one in case.expected_tuples]
    yield "expected_tool_calls", calls_of(case.expected_tuples)


def _twice(cases: Sequence[Kept]) -> Iterator[Kept]:
    seen: set[str] = set()
    for one in cases:
        if one.case.name in seen:
            yield one
        seen.add(one.case.name)


def case_line(case: CaseDocument) -> bytes:
    """The case as one line; what JSON can't hold in every reader (lone surrogates, long integers) is spelled out."""
    return compact(strict_value(msgspec.to_builtins(case))) + b"\n"


def read_baseline(path: Path) -> CaseRunDocument:
    """The document of an earlier run. Raises ConfigurationError for what is none."""
    try:
        document = msgspec.json.decode(path.read_bytes(), type=CaseRunDocument)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        message = f"{_name(path)} is no document of a run of cases: {one_line(str(error), 200)}"
        raise ConfigurationError(message, hint="write one: forensics case run FILE --format json", code=_CODE) from None
    if document.schema != CASE_RUN:
        raise ConfigurationError(f"{_name(path)} is no document of a run of cases: its schema is another", code=_CODE)
    return document


def with_case(before: bytes, case: CaseDocument, name: str, *, replace: bool) -> bytes:
    """The bytes of a file with one case more, at its end or, where `replace` allows it, in the place of the one of its
    name. Raises ConfigurationError where the name is taken, and for a file that holds anything else.
    """
    kept = cases_of(before, name) if before.strip() else []
    taken = next((one.line for one in kept if one.case.name == case.name), None)
    if taken is None:
        return before + (b"" if not before or before.endswith(b"\n") else b"\n") + case_line(case)
    if not replace:
        message = f"{name}:{taken}: there is a case {one_line(case.name, 60)!r} already"
        raise ConfigurationError(message, hint="give another --name, or replace it with --force", code=_CODE)
    lines = before.split(b"\n")
    lines[taken - 1] = case_line(case).rstrip(b"\n")
    return b"\n".join(lines)


def _name(path: Path) -> str:
    return one_line(path.name, 80)
