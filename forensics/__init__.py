"""What may be rerun, and what did it do? Static-plus-dynamic trace forensics for AI agents' runs."""

from __future__ import annotations

__version__ = "0.1.0"
