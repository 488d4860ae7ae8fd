"""Is what a caller of the library handed in of the type that was asked for?

Python lets any value in, and a wrong one would fail far away, in words that say nothing of it.
"""

from __future__ import annotations

from typing import TypeVar

from forensics.errors import ConfigurationError

_T = TypeVar("_T")


def expected(value: _T, what: str, *kinds: type, hint: str = "") -> _T:
    """The value, where it is one of these kinds. Raises ConfigurationError, with what was expected, for any other."""
    if isinstance(value, kinds):
        return value
    names = ["None" if kind is type(None) else kind.__name__ for kind in kinds]
    wanted = " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    raise ConfigurationError(f"{what} must be {wanted}, and is {_kind(value)}", hint=hint)


def _kind(value: object) -> str:
    """What a value is: a class by its own name, anything else by that of its type."""
    return f"the class {value.__name__}" if isinstance(value, type) else f"of type {type(value).__name__}"
