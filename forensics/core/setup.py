"""How was an agent of the run set up, by its own record? What a reader found beside the steps, as it stands there."""

from __future__ import annotations

import msgspec

from forensics.core.evidence import Locator

Payload = msgspec.Raw


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What the record of one agent, or of what steers several, holds beside its steps. Payloads that are None are not
    in it.

    `kind` is agent, or the word of the format for what is none (chain, swarm, supervisor, workflow). `streamed` says
    that the run was told as a stream, `resumed` that it went on from an earlier run, and `paused` that it waits for a
    person.
    """

    kind: str
    name: str
    locator: Locator
    input: Payload | None = None
    prompt: Payload | None = None
    model: Payload | None = None
    tools: Payload | None = None
    guardrails: Payload | None = None
    config: Payload | None = None
    output_type: Payload | None = None
    streamed: bool = False
    resumed: bool = False
    paused: bool = False
