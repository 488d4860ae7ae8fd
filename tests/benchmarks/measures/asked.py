"""What was asked of a run of the suite? The data, the sizes, how many rounds, and whether peers run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tests.benchmarks.measures.data import Data


class Asked(NamedTuple):
    """The options of the suite. Sizes are megabytes of one file."""

    data: Data
    sizes: tuple[float, ...] = (1, 10, 100)
    rounds: int = 5
    document: float = 500
    """Megabytes of the one large OTLP document."""
    peers: bool = False

    @property
    def most(self) -> float:
        """The largest size."""
        return max(self.sizes)
