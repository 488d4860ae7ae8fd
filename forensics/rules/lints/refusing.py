"""What refuses a rule pack, beside faults of its form?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.rules.lints.because import BecauseMissing
from forensics.rules.lints.identity import IdReused
from forensics.rules.lints.outcomes import NegativeTestMissing
from forensics.rules.lints.patterns import ShapeNotLinear
from forensics.rules.lints.refinement import RefinesNothing

if TYPE_CHECKING:
    from forensics.rules.lints.complaint import Lint

REFUSING: tuple[Lint, ...] = (IdReused(), BecauseMissing(), NegativeTestMissing(), RefinesNothing(), ShapeNotLinear())
