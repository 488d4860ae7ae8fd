"""What does one message say, whatever API wrote it? The common shape of OpenAI, Anthropic, Gemini and OTel messages."""

from __future__ import annotations

import msgspec

from forensics.core.trace import NOWHERE, Boundary, Payload, StepKind

MODEL_ROLES = frozenset({"assistant", "model", "ai"})
_KINDS = {
    "system": StepKind.SYSTEM,
    "developer": StepKind.SYSTEM,
    "user": StepKind.USER,
    "human": StepKind.USER,
    "error": StepKind.ERROR,
    "tool": StepKind.TOOL_RESULT,
    "approval_request": StepKind.APPROVAL_REQUEST,
    "approval": StepKind.APPROVAL,
}


class Part(msgspec.Struct, frozen=True, gc=False):
    """A call that a message asks for, or a result that it shows. `payload` holds the arguments or the result."""

    tool: str
    recorded_id: str | None
    payload: Payload | None
    pointer: str
    boundary: Boundary = Boundary.TOOL
    server: str | None = None
    failed: bool = False
    denied: bool = False
    tainted: str | None = None
    unsettled: bool = False
    freeform: bool = False


class Doubt(msgspec.Struct, frozen=True, gc=False):
    """Something in a message or a response that may hide a call, a result or a turn: a code of the contract, what it
    is, and where below its message.
    """

    says: str
    pointer: str = ""
    code: str = "evidence_gap"


class Message(msgspec.Struct, frozen=True, gc=False):
    """A message: its role, its text (None: none), the calls and results in it, and a key equal for equal content (b"":
    none, where no message is compared with another).

    `item` marks one item of a Responses list, of which several make one turn; `place` is the message's own place in
    the evidence where the reader knows it, and `pointer` still starts at the root of its record. `doubts` are what in
    it was not understood and may hide something; `media` are the digests of the pictures, sounds and files in it.
    """

    role: str
    key: bytes
    pointer: str
    text: Payload | None = None
    calls: tuple[Part, ...] = ()
    results: tuple[Part, ...] = ()
    name: str = ""
    finish: str = ""
    item: bool = False
    place: int = NOWHERE
    doubts: tuple[Doubt, ...] = ()
    media: tuple[str, ...] = ()

    @property
    def says_model(self) -> bool:
        """Whether the model said it."""
        return self.role in MODEL_ROLES

    @property
    def step_kind(self) -> StepKind:
        """The kind of step that the message is when it is not the model's."""
        return _KINDS.get(self.role, StepKind.OTHER)
