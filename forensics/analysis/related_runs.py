"""Which runs of a trace may be related to another: stand elsewhere too, in another case, with other dashes around them,
or inside a longer one? Told with no doubt but one: that they may.

Nearly all runs of a long log stand once and name nothing else, so a table of them would be most of what an analysis
keeps. Where there are many, a sketch of counters by hash tells which ones may not (the idea of a Bloom filter that
counts: Fan et al., "Summary cache", 2000). The parts of a run that stand before and after its dashes are looked up only
where a run of that shape, lengths between dashes, stands anywhere: a trace full of UUIDs holds no run of their first
three groups.
"""

from __future__ import annotations

from itertools import chain, compress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from forensics.analysis.runs import Runs

DASHES = b"-_"
_SHORTEST_PIECE = 4
LONGEST_HOLDER = 512
_FEW = 1 << 12  # runs, at most, that all count as related
_SLOTS = 8  # of the sketch for each run
_SHAPE = bytes(ord("-") if byte in DASHES else ord("a") if bytes([byte]).isalnum() else byte for byte in range(256))
_EDGES = (b" -", b" _", b"- ", b"_ ")  # where a run begins or ends with a dash


class _Sketch:
    """Which runs may stand in blocks of text at all, and which more than once, in whatever case and without the dashes
    around them: a mark in the slot that the hash of their letters names under the mask. None that stands is without
    one.
    """

    def __init__(self, blocks: Iterable[bytes], count: int) -> None:
        size = 1 << (count * _SLOTS).bit_length()
        self._within = (size - 1).__and__
        self._seen, self._many = bytearray(size), bytearray(size)
        for block in blocks:
            self._mark(block)

    def _mark(self, block: bytes) -> None:
        seen, many = self._seen, self._many
        folded = block.lower().split()
        bare = [run.strip(DASHES) for run in ragged(folded)] if _is_ragged(block) else ()
        for slot in map(self._within, map(hash, chain(folded, bare))):
            if seen[slot]:
                many[slot] = 1
            else:
                seen[slot] = 1

    def _slots_of(self, runs: Iterable[bytes]) -> Iterator[int]:
        return map(self._within, map(hash, map(bytes.lower, runs)))

    def standing(self, runs: Iterable[bytes]) -> list[int]:
        """Of each run, whether it may stand at all (0 or 1)."""
        return list(map(self._seen.__getitem__, self._slots_of(runs)))

    def repeated(self, runs: Iterable[bytes]) -> list[int]:
        """Of each run, whether it may stand more than once (0 or 1)."""
        return list(map(self._many.__getitem__, self._slots_of(runs)))


class Parts:
    """Where to part the runs of each shape, so that a part has the shape of a run that stands somewhere."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        shapes = set[bytes]().union(*map(_shapes_of, blocks))
        there = {one for shape in shapes for one in (shape, shape.strip(DASHES))}
        parts = ((shape, [one for one in _parts(shape) if shape[one] in there]) for shape in shapes if b"-" in shape)
        self._of = {shape: found for shape, found in parts if found}

    def of(self, block: bytes) -> Iterator[tuple[Runs, Runs]]:
        """The runs in a block of text that may hold another, with what each may hold there: at one place in those of
        one shape at a time.
        """
        if not self._of:
            return
        shapes = _shapes_of(block)
        longer = list(map(self._of.__contains__, shapes))
        alike: dict[bytes, Runs] = {}
        for run, shape in zip(compress(block.split(), longer), compress(shapes, longer), strict=True):
            alike.setdefault(shape, []).append(run)
        for shape, runs in alike.items():
            for part in self._of[shape]:
                yield runs, [run[part] for run in runs]


def add_related(related: set[bytes], blocks: Sequence[bytes], asked: set[bytes]) -> None:
    """Add to the runs that are related the others in these blocks of text that may be, and those that are asked for."""
    count = sum(map(_count, blocks))
    if count <= _FEW:
        related.update(asked, *map(bytes.split, blocks))
        return
    told = _Sketch(blocks, count)
    parts = Parts(blocks)
    wanted = set(asked)
    edged: set[bytes] = set()
    for block in blocks:
        runs = block.split()
        related.update(compress(runs, told.repeated(runs)))
        for longer, pieces in parts.of(block):
            stands = told.standing(pieces)
            if any(stands):
                related.update(compress(longer, stands))
                wanted.update(compress(pieces, stands))
        if _is_ragged(block):
            edged.update(ragged(runs))
    for block in blocks if wanted else ():
        related.update(wanted.intersection(block.split()))
    bare = [run.strip(DASHES) for run in edged]
    named = zip(edged, bare, told.repeated(bare), strict=True)
    related.update(run for run, text, again in named if again or text in wanted)


def _count(block: bytes) -> int:
    """How many runs a block of text holds at most: what its spaces part, but the ends of lines."""
    return block.count(b" ") + 1 - block.count(b"\n")


def _shapes_of(block: bytes) -> Runs:
    """The shape of each run in a block of text: a letter `a` for each letter or digit, a dash for each dash."""
    return block.translate(_SHAPE).split()


def ragged(runs: Iterable[bytes]) -> Runs:
    """The runs that begin or end with a dash."""
    return [run for run in runs if run[0] in DASHES or run[-1] in DASHES]


def _is_ragged(block: bytes) -> bool:
    padded = b" %b " % block
    return any(edge in padded for edge in _EDGES)


def _parts(run: bytes) -> list[slice]:
    if len(run) > LONGEST_HOLDER:
        return []
    cuts = [at for at, letter in enumerate(run) if letter in DASHES]
    least, most = _SHORTEST_PIECE, len(run) - _SHORTEST_PIECE
    return [slice(0, at) for at in cuts if at >= least] + [slice(at + 1, None) for at in cuts if at < most]
