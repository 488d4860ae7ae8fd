"""What is the report of one trace by itself, where the evidence holds many? The same parts, over its own evidence.

Evidences are numbered by their position in what was examined, so the report is made beside the others, emptied, and
then keeps the rows of its own (and of an inventory beside it), numbered anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from forensics.core.reading import Counts
from forensics.report.documents import Place
from forensics.report.incident.keeping import custody

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from forensics.analysis.run import TraceAnalysis
    from forensics.report.compose import Examined
    from forensics.report.incident.documents import ReportDocument

T = TypeVar("T")


def singles(examined: Sequence[Examined]) -> Iterator[tuple[tuple[Examined, ...], tuple[int, ...]]]:
    """For each trace, the evidences with nothing in them but that trace, and the numbers of those that it needs."""
    emptied = [_emptied(one) for one in examined]
    beside = [number for number, one in enumerate(examined) if one.declares is not None]
    for number, one in enumerate(examined):
        for analysis in one.analyses:
            alone = [*emptied]
            alone[number] = _holding(one, analysis)
            yield tuple(alone), (number, *beside)


def _emptied(one: Examined) -> Examined:
    if one.reading is None:
        return one
    reading = msgspec.structs.replace(one.reading, traces=(), gaps=(), findings=(), counts=Counts())
    return msgspec.structs.replace(one, reading=reading, analyses=())


def _holding(one: Examined, analysis: TraceAnalysis) -> Examined:
    return msgspec.structs.replace(one, analyses=(analysis,))


def alone(document: ReportDocument, kept: Sequence[int], exit_code: int) -> ReportDocument:
    """The report with only these evidences, which are numbered anew; `exit_code` is that of their audit."""
    numbers = {old: new for new, old in enumerate(kept)}
    renumbered = _renumbered(document, numbers)
    traces = [msgspec.structs.replace(t, evidence=numbers[t.evidence]) for t in renumbered.traces]
    inputs = [document.custody.inputs[number] for number in kept]
    verdict = msgspec.structs.replace(renumbered.verdict, exit_code=exit_code)
    return msgspec.structs.replace(renumbered, traces=traces, verdict=verdict, custody=custody(inputs))


def _renumbered(value: T, numbers: Mapping[int, int]) -> T:
    """The same value with the evidence of every place by its new number."""
    renumbered = _walked(value, numbers)
    return renumbered if isinstance(renumbered, type(value)) else value


def _walked(value: object, numbers: Mapping[int, int]) -> object:
    if isinstance(value, Place):
        return msgspec.structs.replace(value, evidence=numbers.get(value.evidence, 0))
    if isinstance(value, list):
        return [_walked(item, numbers) for item in value]
    if isinstance(value, msgspec.Struct):
        held = ((name, getattr(value, name)) for name in value.__struct_fields__)
        made = {name: _walked(item, numbers) for name, item in held if isinstance(item, (list, msgspec.Struct))}
        return msgspec.structs.replace(value, **made)
    return value
