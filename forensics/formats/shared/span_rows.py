"""What is kept of the spans of one evidence until their trace is told? A row of numbers for each, and where it stands.

A span that is written as most are is read again where it stands when its trace is told, some hundred at a time; what
is asked of all spans of a trace before (who hangs under whom, when, which calls a turn asked for) stands in the rows.
Every other span is kept as it was read.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate, chain, islice
from typing import TYPE_CHECKING, overload

import msgspec

from forensics.core.strings import Strings, Texts
from forensics.core.trace import NOWHERE
from forensics.formats.shared import span_names as names
from forensics.formats.shared.span_messages import plain_answers
from forensics.formats.shared.span_names import Role
from forensics.formats.shared.span_roles import role_of
from forensics.formats.shared.spans import Shape, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Again = Callable[[list[memoryview], list["At"]], list[Span]]
    """Reads spans by their texts, and where each stands."""

_TOGETHER = 32  # spans that are read again where one of them is asked for
_LATEST = 600  # spans that were read again and are kept for a while
_LINKED = 4096  # ids that are looked at together
_FOUR_BYTES = 1 << 32
_AGENT = frozenset(names.AGENT_NAME)


class Stand(msgspec.Struct, frozen=True, gc=False):
    """Where spans stand that follow each other: their place, the pointer that their index follows, and the service that
    they are of.
    """

    place: int
    above: str
    service: str

    def pointer(self, index: int) -> str:
        """The pointer of the span of that index."""
        return f"{self.above}{index}"


At = tuple[Stand, int]
"""Where a span stands: among which, and its index there."""


class SpanRows:
    """The spans of one evidence, in the order in which they were read: `starts` and `ends` in nanoseconds since the
    epoch (-1: not recorded), `roles` by what each says itself. `again` reads those again that stand in `text`.
    """

    def __init__(self, text: memoryview | bytes = b"", again: Again | None = None) -> None:
        self._text = memoryview(text)
        self._again = again
        self._strings, self._shapes = Strings(), _Shapes()
        self._traces, self._agents, self._shape_of = array("i"), array("i"), array("i")
        self._ids, self._parents = Texts(), Texts()
        self.starts, self.ends = array("q"), array("q")
        self.roles = bytearray()
        self._calls, self._calls_end = Texts(), array("i")
        self._plain = bytearray()
        self._offsets = array("I" if len(self._text) < _FOUR_BYTES else "Q")
        self._lengths, self._stand_of, self._indexes = array("i"), array("i"), array("i")
        self._stands: list[Stand] = []
        self._kept: dict[int, Span] = {}

    def __len__(self) -> int:
        return len(self.roles)

    # while they are read -----------------------------------------------------------------------------------------

    def keep(self, spans: list[Span], at: Sequence[At] = ()) -> None:
        """Keep spans as they are; where each stands, if it is known, all of them among the same."""
        self._kept.update(zip(range(len(self), len(self) + len(spans)), spans, strict=True))
        nothing = [0] * len(spans)
        self._add_where(nothing, nothing, at)
        self._note(spans, {})

    def add_all(self, spans: list[Span], begins: Sequence[int], lengths: Sequence[int], at: Sequence[At]) -> None:
        """Keep rows of spans that can be read again: where their texts begin and how long these are, and where each
        stands, all of them among the same.
        """
        self._add_where(begins, lengths, at)
        asked = [at for at, span in enumerate(spans) if role_of(span) is Role.MODEL]
        answers = zip(asked, plain_answers([spans[at] for at in asked], compared=False), strict=True)
        self._note(spans, {
            at: [part.recorded_id or "" for part in said.messages[0].calls] for at, said in answers if said is not None
        })  # fmt: skip

    def _add_where(self, begins: Sequence[int], lengths: Sequence[int], at: Sequence[At]) -> None:
        if at and not (self._stands and self._stands[-1] is at[0][0]):
            self._stands.append(at[0][0])
        self._offsets.extend(array(self._offsets.typecode, begins))
        self._lengths.extend(array("i", lengths))
        self._stand_of.extend(array("i", [len(self._stands) - 1 if at else NOWHERE]) * len(begins))
        self._indexes.extend([index for _, index in at] or array("i", [0]) * len(begins))

    def _note(self, spans: list[Span], asked: dict[int, list[str]]) -> None:
        """Note what is asked of all spans; `asked` are the ids of the calls that a plain answer asks for."""
        strings = self._strings.add_all
        self._traces.extend(strings([span.trace for span in spans]))
        shapes = [self._shapes.number(span.shape) for span in spans]
        self._shape_of.extend(shapes)
        naming = map(self._shapes.names_agent.__getitem__, shapes)
        self._agents.extend(
            [
                self._strings.add(span.text(names.AGENT_NAME)) if named else 0
                for span, named in zip(spans, naming, strict=True)
            ]
        )
        self._ids.add_all([span.id for span in spans])
        self._parents.add_all([span.parent for span in spans])
        self.starts.extend([span.start for span in spans])
        self.ends.extend([span.end for span in spans])
        roles = list(map(role_of, spans))
        self.roles.extend(roles)
        calls = [
            [span.text(names.TOOL_CALL_ID)] if role is Role.TOOL else asked.get(at, ())
            for at, (span, role) in enumerate(zip(spans, roles, strict=True))
        ]
        ends = accumulate(map(len, calls), initial=len(self._calls))
        self._calls_end.extend(islice(ends, 1, None))
        self._calls.add_all(list(chain.from_iterable(calls)))
        self._plain.extend([at in asked for at in range(len(spans))])

    def forget(self, size: int) -> None:
        """Forget the spans that were added since there were so many."""
        self._calls.forget(self._calls_end[size - 1] if size else 0)
        for column in (
            self._traces, self._agents, self._shape_of, self.starts, self.ends, self.roles, self._calls_end,
            self._plain, self._offsets, self._lengths, self._stand_of, self._indexes,
        ):  # fmt: skip
            del column[size:]
        self._ids.forget(size)
        self._parents.forget(size)
        self._kept = {row: span for row, span in self._kept.items() if row < size}

    # when all are read -------------------------------------------------------------------------------------------

    def by_trace(self) -> list[tuple[str, Sequence[int], int]]:
        """The rows of the spans of each trace, with its id and when it began (-1: not recorded), the earliest first."""
        found: dict[int, Sequence[int]] = {trace: range(len(self)) for trace in self._traces[:1]}
        if len(set(self._traces)) > 1:
            parted: dict[int, array[int]] = {}
            for row, trace in enumerate(self._traces):
                parted.setdefault(trace, array("i")).append(row)
            found = {**parted}
        self._traces = array("i")
        told = [(self._strings[trace], rows, self._began(rows)) for trace, rows in found.items()]
        return sorted(told, key=lambda one: (one[2], one[0]))

    def _began(self, rows: Sequence[int]) -> int:
        return min((start for row in rows if (start := self.starts[row]) >= 0), default=NOWHERE)

    def load(self, rows: Sequence[int]) -> list[Span]:
        """The spans of these rows, as they were read."""
        kept, found = self._kept, dict[int, Span]()
        again = [row for row in rows if row not in kept]
        if again and self._again is not None:
            begins = map(self._offsets.__getitem__, again)
            texts = [self._text[at : at + self._lengths[row]] for at, row in zip(begins, again, strict=True)]
            stands = [(self._stands[self._stand_of[row]], self._indexes[row]) for row in again]
            found = dict(zip(again, self._again(texts, stands), strict=True))
        return [found[row] if row in found else kept[row] for row in rows]

    def kept(self, row: int) -> Span | None:
        """A span that is kept as it was read."""
        return self._kept.get(row)

    def links(self, rows: Sequence[int]) -> Iterator[tuple[list[str], list[str]]]:
        """The ids of these spans and those of their parents, some at a time."""
        for start in range(0, len(rows), _LINKED):
            some = rows[start : start + _LINKED]
            yield self._ids.several(some), self._parents.several(some)

    def forget_links(self) -> None:
        """Forget ids and parents, when nobody asks for them any longer."""
        self._ids, self._parents = Texts(), Texts()

    def forget_order(self) -> None:
        """Forget times and the ids of calls, when the order is known in which spans are told."""
        self._calls, self._calls_end = Texts(), array("i")
        self.starts, self.ends = array("q"), array("q")

    def calls(self, row: int) -> list[str]:
        """The ids of the calls that a plain answer asks for, or that of the call that a tool ran; "" for none."""
        return [self._calls[number] for number in range(self._calls_end[row - 1] if row else 0, self._calls_end[row])]

    def shape(self, row: int) -> Shape:
        """The shape of the attributes of a span."""
        return self._shapes[self._shape_of[row]]

    def with_one_of(self, wanted: frozenset[str], rows: Sequence[int]) -> Iterator[int]:
        """Which of these spans, by their positions among them, have one of these attributes."""
        shapes = {number for number, shape in enumerate(self._shapes) if not wanted.isdisjoint(shape.numbers)}
        if not shapes:
            return iter(())
        return (at for at, row in enumerate(rows) if self._shape_of[row] in shapes)

    def agent(self, row: int) -> str:
        """The agent that a span names."""
        return self._strings[self._agents[row]]

    def is_plain(self, row: int) -> bool:
        """Whether a span tells what a model answered, and no more than a plain answer: it is read when it is told."""
        return bool(self._plain[row])

    def service(self, row: int) -> str:
        """The service that a span is of."""
        stand = self._stand_of[row]
        return self._kept[row].service if stand < 0 else self._stands[stand].service

    def where(self, row: int) -> tuple[str, int]:
        """The pointer of a span, parted before its index; where it has none, whole, with -1."""
        stand = self._stand_of[row]
        return (self._kept[row].pointer, NOWHERE) if stand < 0 else (self._stands[stand].above, self._indexes[row])

    def has_failed(self, row: int) -> bool:
        """Whether a span ended in an error, which those that are read again did not."""
        return row in self._kept and self._kept[row].failed

    def has_events(self, row: int) -> bool:
        """Whether something is told that happened inside a span, which those that are read again do not."""
        return row in self._kept and bool(self._kept[row].events)


class _Shapes(list[Shape]):
    """The shapes of attributes that spans of one evidence have, by number, and whether each names an agent."""

    def __init__(self) -> None:
        super().__init__()
        self.names_agent: list[bool] = []
        self._numbers: dict[int, int] = {}

    def number(self, shape: Shape) -> int:
        """The number of a shape."""
        number = self._numbers.get(id(shape))
        if number is None:
            number = self._numbers[id(shape)] = len(self)
            self.names_agent.append(not _AGENT.isdisjoint(shape.numbers))
            self.append(shape)  # which keeps it, so that no other one gets its address
        return number


class TraceSpans(Sequence[Span]):
    """The spans of one trace, in some order; one that is not kept is read again when it is asked for. `starts` and
    `ends` are theirs.
    """

    def __init__(self, rows: SpanRows, members: Sequence[int]) -> None:
        self.rows = rows
        self._members = members
        self._latest: dict[int, Span] = {}
        self.starts, self.ends = self._picked(rows.starts), self._picked(rows.ends)

    @classmethod
    def of(cls, spans: Iterable[Span]) -> TraceSpans:
        """These spans, each kept as it is."""
        rows = SpanRows()
        rows.keep(list(spans))
        return cls(rows, range(len(rows)))

    def _picked(self, column: array[int]) -> array[int]:
        members = self._members
        if isinstance(members, range) and len(members) == len(column):
            return column
        return array(column.typecode, map(column.__getitem__, members))

    def picked(self, order: Sequence[int]) -> TraceSpans:
        """Those of these rows, in that order."""
        return TraceSpans(self.rows, array("i", map(self._members.__getitem__, order)))

    def __len__(self) -> int:
        return len(self._members)

    @overload
    def __getitem__(self, row: int) -> Span: ...
    @overload
    def __getitem__(self, row: slice) -> list[Span]: ...
    def __getitem__(self, row: int | slice) -> Span | list[Span]:
        if isinstance(row, slice):
            return self.several(range(*row.indices(len(self))))
        found = self.rows.kept(self._members[row]) or self._latest.get(row)
        return self.several(range(row, min(row + _TOGETHER, len(self))))[0] if found is None else found

    def several(self, rows: Sequence[int]) -> list[Span]:
        """The spans of these rows."""
        kept = [span for row in rows if (span := self.rows.kept(self._members[row])) is not None]
        if len(kept) == len(rows):
            return kept
        latest = self._latest
        missing = [row for row in rows if row not in latest]
        if len(latest) + len(missing) > _LATEST:
            latest.clear()
            missing = list(rows)
        latest.update(zip(missing, self.rows.load([self._members[row] for row in missing]), strict=True))
        return list(map(latest.__getitem__, rows))

    def rows_of(self, rows: Sequence[int]) -> list[Span]:
        """The spans of these rows, however many, each an object of its own."""
        return self.rows.load([self._members[row] for row in rows])

    def where(self, rows: Sequence[int]) -> list[tuple[str, int]]:
        """The pointers of these spans, each parted before its index; one without an index whole, with -1."""
        return [self.rows.where(self._members[row]) for row in rows]

    def links(self) -> Iterator[tuple[list[str], list[str]]]:
        """Their ids and those of their parents, some at a time."""
        return self.rows.links(self._members)

    def ids(self) -> Iterator[str]:
        """Their ids."""
        return chain.from_iterable(ids for ids, _ in self.links())

    def forget_links(self) -> None:
        """Forget ids and parents where no other trace needs them."""
        if len(self) == len(self.rows):
            self.rows.forget_links()

    def forget_order(self) -> None:
        """Forget times, and the ids of calls where no other trace needs them, when the order of spans is known."""
        self.starts, self.ends = array("q"), array("q")
        if len(self) == len(self.rows):
            self.rows.forget_order()

    def roles(self) -> list[Role]:
        """What each stands for by what it says itself."""
        return list(map(_ROLES.__getitem__, map(self.rows.roles.__getitem__, self._members)))

    def calls(self, row: int) -> list[str]:
        """The ids of the calls that a plain answer asks for, or that of the call that a tool ran; "" for none."""
        return self.rows.calls(self._members[row])

    def shape(self, row: int) -> Shape:
        """The shape of the attributes of a span."""
        return self.rows.shape(self._members[row])

    def agent(self, row: int) -> str:
        """The agent that a span names."""
        return self.rows.agent(self._members[row])

    def is_plain(self, row: int) -> bool:
        """Whether a span tells what a model answered, and no more than a plain answer."""
        return self.rows.is_plain(self._members[row])

    def service(self, row: int) -> str:
        """The service that a span is of."""
        return self.rows.service(self._members[row])

    def has_failed(self, row: int) -> bool:
        """Whether a span ended in an error."""
        return self.rows.has_failed(self._members[row])

    def has_events(self, row: int) -> bool:
        """Whether something is told that happened inside a span."""
        return self.rows.has_events(self._members[row])

    def that_have(self, wanted: frozenset[str]) -> list[int]:
        """The rows of the spans that have one of these attributes."""
        return list(self.rows.with_one_of(wanted, self._members))


_ROLES = tuple(Role)
