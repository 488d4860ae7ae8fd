"""Which value did a call mint, and where did it go? Handles, references, and their uses."""

from __future__ import annotations

import msgspec

REFERENCE = "reference"


class Use(msgspec.Struct, frozen=True, gc=False):
    """One later place of a value: the step, its role (argument, prompt, model_output, final_answer, branch), the JSON
    Pointer where there is one, and how it stands there (verbatim, number, case, url, base64, embedded).

    `echo` marks a result that repeats the value. A `branch` is the first model turn that was shown it (inferred).
    """

    step: int
    role: str
    written: str
    pointer: str | None = None
    echo: bool = False


class Handle(msgspec.Struct, gc=False):
    """A value that a result brought into the trace: new in no earlier input, prompt, argument or result.

    `kind` is the shape of a minted value, or `reference` for an identifier that a read returned without any sign that
    the call made it. Filled by one pass; only read after that.
    """

    value: str
    kind: str
    call: int
    step: int
    pointer: str
    uses: list[Use]

    @property
    def carried(self) -> bool:
        """Whether a later text holds the value: a use beside the branch, which stands first where there is one."""
        return len(self.uses) > 1 or any(use.role != "branch" for use in self.uses)

    @property
    def minted(self) -> bool:
        """Whether the call made the value, rather than found it."""
        return self.kind != REFERENCE
