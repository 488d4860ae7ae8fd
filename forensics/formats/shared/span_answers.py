"""What did the models of one trace answer? Plain answers are read when they are asked for, and not kept before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.formats.shared.span_messages import plain_answers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forensics.formats.shared.span_messages import MessageReader, Said
    from forensics.formats.shared.span_rows import TraceSpans

_TOGETHER = 64  # answers that are read together


class Answers:
    """What the models of one trace answered, by the rows of these spans. A plain answer is read when it is asked for:
    until then nothing is kept of it but the ids of its calls; every other one is kept. Where no message is `compared`
    with another, a plain one has no content key.
    """

    def __init__(self, spans: TraceSpans, asked: Sequence[int], reader: MessageReader, *, compared: bool) -> None:
        self._spans = spans
        self._compared = compared
        self._plain = bytearray(len(spans))
        self._kept: dict[int, Said] = {}
        for row in asked:
            if spans.is_plain(row):
                self._plain[row] = 1
        others = [row for row in asked if not self._plain[row]]
        for start in range(0, len(others), _TOGETHER):
            some = others[start : start + _TOGETHER]
            told = zip(some, reader.answers(spans.several(some), compared=compared), strict=True)
            self._kept.update((row, said) for row, said in told if said is not None)

    def __contains__(self, row: int) -> bool:
        return bool(self._plain[row]) or row in self._kept

    def __setitem__(self, row: int, said: Said) -> None:
        self._kept[row] = said
        self._plain[row] = 0

    def rows(self) -> Iterator[int]:
        """The rows of which the answer was captured."""
        return (row for row, plain in enumerate(self._plain) if plain or row in self._kept)

    def calls(self, row: int) -> list[str]:
        """The ids of the calls that an answer asks for, in order; "" for none."""
        if self._plain[row]:
            return self._spans.calls(row)
        return [part.recorded_id or "" for part in self._kept[row].messages[0].calls]

    def get(self, row: int) -> Said | None:
        """What was answered there; None where that was not captured."""
        return self.several([row])[0] if row in self else None

    def several(self, rows: Sequence[int]) -> list[Said | None]:
        """What was answered in each of these."""
        plain = [row for row in rows if self._plain[row]]
        read = dict(zip(plain, plain_answers(self._spans.several(plain), compared=self._compared), strict=True))
        return [read[row] if row in read else self._kept.get(row) for row in rows]

    def forget(self, row: int) -> None:
        """Forget an answer that was told."""
        self._plain[row] = 0
        self._kept.pop(row, None)
