"""What is each run called where a report tells several? By its file, and by its id where a file holds more than one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from forensics.report.terminal_page import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.report.documents import EvidenceRow, TraceRow

_LONGEST = 60
ITS_RERUN = "a rerun of that run"
"""The name of a rerun where there is one run that it can be of."""


def run_names(traces: Sequence[TraceRow], evidence: Sequence[EvidenceRow]) -> list[str]:
    """The name of each run in a sentence. Where there is one run it needs none (""), and its reruns are told apart."""
    reruns = [trace.rerun_of is not None for trace in traces]
    if reruns.count(False) <= 1:
        return [ITS_RERUN if rerun else "" for rerun in reruns]
    files = [short(evidence[trace.evidence].name, _LONGEST) for trace in traces]
    held = Counter(files)
    names = [
        file if held[file] == 1 else f"{short(trace.id, _LONGEST)} of {file}"
        for trace, file in zip(traces, files, strict=True)
    ]
    return [f"the rerun {name}" if rerun else name for name, rerun in zip(names, reruns, strict=True)]
