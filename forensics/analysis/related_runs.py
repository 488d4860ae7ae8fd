"""Which runs of a trace may be related to another: stand elsewhere too, in another case, with other dashes around them,
or inside a longer one? Told without a table of all runs, and with no doubt but one: that they may.

Nearly all runs of a long log stand once and name nothing else, so a table of them would be most of what an analysis
keeps. A sketch of counters by hash tells which ones may not (the idea of a Bloom filter that counts: Fan et al.,
"Summary cache", 2000). The parts of a run that stand before and after its dashes are looked up only where a run of that
shape, lengths between dashes, stands anywhere: a trace full of UUIDs holds no run of their first three groups.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from forensics.analysis.runs import Runs

DASHES = b"-_"
_SHORTEST_PIECE = 4
_LONGEST_HOLDER = 512
_SLOTS = 8  # of the sketch for each run
_MANY = 2
_SHAPE = bytes(ord("-") if byte in DASHES else ord("a") if bytes([byte]).isalnum() else byte for byte in range(256))
_MORE_THAN_ONE = bytes(byte >= _MANY for byte in range(256))
_EDGES = (b" -", b" _", b"- ", b"_ ")  # where a run begins or ends with a dash


class _Sketch:
    """How often a run may stand in blocks of text, in whatever case and without the dashes around it: 0, 1, or 2 for
    more, in the slot that the hash of its letters names under the mask. Never fewer times than it stands.
    """

    def __init__(self, blocks: Sequence[bytes]) -> None:
        runs = sum(map(_count, blocks))
        self._seen = seen = bytearray(1 << (runs * _SLOTS).bit_length())
        self._within = (len(seen) - 1).__and__
        for block in blocks:
            folded = block.lower().split()
            if _is_ragged(block):
                folded += [run.strip(DASHES) for run in ragged(folded)]
            for slot in map(self._within, map(hash, folded)):
                if seen[slot] < _MANY:
                    seen[slot] += 1
        self._many = seen.translate(_MORE_THAN_ONE)

    def standing(self, folded: Iterable[bytes]) -> Iterator[int]:
        """Of each run in lower case, whether it may stand at all (0 or more)."""
        return map(self._seen.__getitem__, map(self._within, map(hash, folded)))

    def repeated(self, folded: Iterable[bytes]) -> Iterator[int]:
        """Of each run in lower case, whether it may stand more than once (0 or 1)."""
        return map(self._many.__getitem__, map(self._within, map(hash, folded)))


class _Parts:
    """Where to part the runs of each shape, so that a part has the shape of a run that stands somewhere."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        shapes: set[bytes] = set()
        for block in blocks:
            shapes.update(_shapes_of(block))
        there = {one for shape in shapes for one in (shape, shape.strip(DASHES))}
        parts = ((shape, [one for one in _parts(shape) if shape[one] in there]) for shape in shapes if b"-" in shape)
        self._of = {shape: found for shape, found in parts if found}

    def held(self, block: bytes, sketch: _Sketch) -> Iterator[tuple[bytes, bytes]]:
        """The runs in a block of text that may hold another, each with what it may hold."""
        shapes = _shapes_of(block)
        longer = compress(zip(block.split(), shapes, strict=True), map(self._of.__contains__, shapes))
        found = [(run, run[part]) for run, shape in longer for part in self._of[shape]]
        return compress(found, sketch.standing(piece.lower() for _, piece in found))


def related_runs(blocks: Sequence[bytes], asked: set[bytes]) -> set[bytes]:
    """The runs in blocks of text that may be related to others; and those that are asked for."""
    sketch, parts = _Sketch(blocks), _Parts(blocks)
    related: set[bytes] = set()
    wanted = set(asked)
    edged: set[bytes] = set()
    for block in blocks:
        runs = block.split()
        related.update(compress(runs, sketch.repeated(block.lower().split())))
        for run, piece in parts.held(block, sketch):
            related.add(run)
            wanted.add(piece)
        if _is_ragged(block):
            edged.update(ragged(runs))
    for block in blocks if wanted else ():
        related.update(wanted.intersection(block.split()))
    bare = [run.strip(DASHES) for run in edged]
    named = zip(edged, bare, sketch.repeated(map(bytes.lower, bare)), strict=True)
    related.update(run for run, text, again in named if again or text in wanted)
    return related


def _count(block: bytes) -> int:
    """How many runs a block of text holds at most: what its spaces part, but the ends of lines."""
    return block.count(b" ") + 1 - block.count(b"\n")


def _shapes_of(block: bytes) -> Runs:
    """The shape of each run in a block of text: a letter `a` for each letter or digit, a dash for each dash."""
    return block.translate(_SHAPE).split()


def cut(runs: Iterable[bytes]) -> Runs:
    """The runs in which a dash stands."""
    return [run for run in runs if b"-" in run or b"_" in run]


def ragged(runs: Iterable[bytes]) -> Runs:
    """The runs that begin or end with a dash."""
    return [run for run in runs if run[0] in DASHES or run[-1] in DASHES]


def _is_ragged(block: bytes) -> bool:
    padded = b" %b " % block
    return any(edge in padded for edge in _EDGES)


def pieces(run: bytes) -> Runs:
    """What stands before and after each dash of a run that is no longer than a holder may be."""
    return [run[part] for part in _parts(run)]


def _parts(run: bytes) -> list[slice]:
    if len(run) > _LONGEST_HOLDER:
        return []
    cuts = [at for at, letter in enumerate(run) if letter in DASHES]
    least, most = _SHORTEST_PIECE, len(run) - _SHORTEST_PIECE
    return [slice(0, at) for at in cuts if at >= least] + [slice(at + 1, None) for at in cuts if at < most]
