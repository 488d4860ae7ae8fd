"""Every test proves its texts anew."""

from __future__ import annotations

import pytest

from forensics.proofs.prove import prove


@pytest.fixture(autouse=True)
def forgets_proofs() -> None:
    """A proof is remembered by its text: without this a test could pass by what an earlier one proved, and a mutation
    run would take it for a test of nothing.
    """
    prove.cache_clear()
