"""Which tools and handles of a corpus stand in the way most? Summed up one trace at a time, so that none is held."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, TypeAlias

from forensics.report.corpus_documents import CorpusBasis, Tally
from forensics.report.corpus_report_documents import BlockingTool, HandleWays, ReasonTally

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from forensics.report.corpus_documents import CorpusHandles, CorpusTool, CorpusTrace

_ToolKey: TypeAlias = tuple[str, str, str, str, str, str, str]
_Piece: TypeAlias = tuple[str, str, str]
_PIECES, _SAYINGS = 3, 200  # of evidence told, and counted apart: what a tool returned may say another thing each time
_NAMES = 5
_ROLES = ("number", "in_argument", "in_model_output", "in_final_answer", "in_prompt", "shown")
REFERENCE = "reference"


class Named:
    """How often each name was met, and in how many files."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._files: dict[str, str] = {}
        self._in: Counter[str] = Counter()

    def add(self, names: Iterable[str], file: str) -> None:
        """The names of one trace; files come one after the other."""
        for name in names:
            self._count[name] += 1
            if self._files.get(name) != file:
                self._files[name] = file
                self._in[name] += 1

    def tallies(self, most: int | None = None) -> list[Tally]:
        """The most frequent first."""
        ordered = sorted(self._count.items(), key=lambda pair: (-pair[1], pair[0]))
        return [Tally(name=name, count=count, files=self._in[name]) for name, count in ordered[:most]]


class _Tool:
    """What is known of one tool in the way."""

    def __init__(self) -> None:
        self.sums: Counter[str] = Counter()
        self.reasons = Named()
        self.basis: Counter[_Piece] = Counter()

    def add(self, tool: CorpusTool, file: str, *, alone: bool) -> None:
        self.sums.update(traces=1, alone=int(alone), calls=tool.calls)
        self.reasons.add(tool.reasons, file)
        for one in tool.basis:
            piece = (one.source, one.says, one.rule or "")
            if piece in self.basis or len(self.basis) < _SAYINGS:
                self.basis[piece] += 1


class InTheWay:
    """The tools that reasons name, and the reasons."""

    def __init__(self) -> None:
        self._tools: dict[_ToolKey, _Tool] = defaultdict(_Tool)
        self._reasons: dict[str, Named] = defaultdict(Named)
        self._traces: Counter[str] = Counter()

    def add(self, trace: CorpusTrace, file: str) -> None:
        """One trace."""
        blocking = [tool for tool in trace.tools if tool.reasons]
        told = {code for tool in blocking for code in tool.reasons}
        alone = len(blocking) == 1 and told == set(trace.reasons)
        for tool in blocking:
            self._tools[_key(tool)].add(tool, file, alone=alone)
        self._traces.update(trace.reasons)
        for code in trace.reasons:
            self._reasons[code].add(sorted({tool.name for tool in blocking if code in tool.reasons}), file)

    def tools(self) -> list[BlockingTool]:
        """Those first that are named in most traces."""
        rows = [_row(key, tool) for key, tool in self._tools.items()]
        return sorted(
            rows, key=lambda row: (-row.traces, -row.alone, -row.calls, row.name, row.server or "", row.class_)
        )

    def reasons(self) -> list[ReasonTally]:
        """Those first that refuse most traces."""
        ordered = sorted(self._traces.items(), key=lambda pair: (-pair[1], pair[0]))
        return [
            ReasonTally(code=code, traces=count, tools=self._reasons[code].tallies(_NAMES)) for code, count in ordered
        ]


def _key(tool: CorpusTool) -> _ToolKey:
    return (tool.name, tool.server or "", tool.class_, tool.effect, tool.result, tool.scope, tool.rests_on)


def _row(key: _ToolKey, tool: _Tool) -> BlockingTool:
    name, server, kind, effect, result, scope, rests_on = key
    pieces = sorted(tool.basis.items(), key=lambda pair: (-pair[1], pair[0]))[:_PIECES]
    return BlockingTool(
        name=name,
        server=server or None,
        class_=kind,
        effect=effect,
        result=result,
        scope=scope,
        rests_on=rests_on,
        traces=tool.sums["traces"],
        alone=tool.sums["alone"],
        calls=tool.sums["calls"],
        reasons=tool.reasons.tallies(),
        basis=[CorpusBasis(source=source, says=says, rule=rule or None) for (source, says, rule), _ in pieces],
    )


class Ways:
    """Where the values went that tools brought."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._into: dict[tuple[str, str], Named] = defaultdict(Named)

    def add(self, trace: CorpusTrace, file: str) -> None:
        """The values of one trace."""
        for one in trace.handles:
            carried = one.in_argument + one.in_model_output + one.in_final_answer > 0
            counted = {name: getattr(one, name) for name in _ROLES}
            self._sums[_way(one)].update({"traces": 1, "carried": int(carried), **counted})
            self._into[_way(one)].add(one.into_tools, file)

    def rows(self, *, references: bool) -> list[HandleWays]:
        """Those first that are carried on in most traces: of values that were minted, or else only found."""
        chosen = {way: sums for way, sums in self._sums.items() if (way[1] == REFERENCE) is references}
        return [self._row(way, sums) for way, sums in sorted(chosen.items(), key=_carried)]

    def _row(self, way: tuple[str, str], sums: Mapping[str, int]) -> HandleWays:
        counted = {name: sums[name] for name in ("traces", "carried", *_ROLES)}
        return HandleWays(tool=way[0], kind=way[1], into_tools=self._into[way].tallies(_NAMES), **counted)


def _way(one: CorpusHandles) -> tuple[str, str]:
    return (one.tool, one.kind)


def _carried(pair: tuple[tuple[str, str], Counter[str]]) -> tuple[int, int, tuple[str, str]]:
    way, sums = pair
    return (-sums["carried"], -sums["in_argument"], way)
