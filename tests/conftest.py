"""What holds for every test? Hypothesis keeps no clock and, in CI, draws the same examples every time."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("work", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "work")
