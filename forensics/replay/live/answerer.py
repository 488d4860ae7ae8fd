"""What does a model say when it is asked again? The answerer of the modes `deterministic` and `live`.

`deterministic` asks at temperature 0 with a seed, which makes answers more alike and promises nothing: what the
provider did not take, or did not say that it took, stands in the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from forensics.core.sanitise import one_line
from forensics.errors import ReplayFault
from forensics.replay.live.endpoint import Line, RefusedSettingError
from forensics.replay.live.leaving import leaving
from forensics.replay.plan import Mode
from forensics.replay.ports import ModelAnswer

if TYPE_CHECKING:
    from forensics.replay.live.endpoint import Endpoint
    from forensics.replay.live.leaving import Sent
    from forensics.replay.ports import ModelRequest

_UNCONFIRMED = "seed (no system_fingerprint came back: whether it was used is not known)"


def what_leaves(to: Endpoint, request: ModelRequest) -> str:
    """What one request sends to whom, in a sentence, to be said before the first is sent."""
    messages = request.messages or ()
    size = sum(len(str(one.get("content") or "")) for one in messages)
    encrypted = "" if to.url.startswith("https:") else ", not encrypted"
    return (
        f"{len(messages)} messages of {size} characters (with every recorded result that the model was shown), "
        f"{len(request.tools or ())} tools with their schemas and the model's settings go to {to.host}{encrypted}"
    )


class LiveAnswerer:
    """Asks the endpoint once for each request. It tells the tools to nobody but the model: none is run here."""

    def __init__(self, to: Endpoint, mode: Mode, *, seed: int = 0) -> None:
        self._to = to
        self._line = Line(to)
        wanted: dict[str, Any] = {"temperature": 0, "seed": seed} if mode is Mode.DETERMINISTIC else {}
        self._forced = {name: value for name, value in wanted.items() if name in to.provider.settings}
        self._unknown = tuple(f"{name} (the provider has none)" for name in wanted if name not in self._forced)
        self._refused: list[str] = []

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """The model's answer. Raises ReplayFault where it gives none, or one that can't be read."""
        if request.messages is None:
            message = "a model is asked with its messages, and the agent gave none"
            raise ReplayFault(message, hint="ask the model port with the messages of the prompt")
        sent = leaving(request.tools or (), {**request.settings, **self._forced}, self._to.provider.settings)
        body, heard = self._heard(request, sent)
        try:
            answer = msgspec.convert(msgspec.to_builtins(self._to.provider.answer(heard)), ModelAnswer)
        except (KeyError, IndexError, TypeError, AttributeError, msgspec.ValidationError) as error:
            message = f"{self._to.host} answered in a form that is not that of {self._to.provider.name}"
            raise ReplayFault(message) from error
        return msgspec.structs.replace(answer, ignored=(*self._ignored(body, heard), *sent.taken_out))

    def close(self) -> None:
        """End the connection."""
        self._line.close()

    def _heard(self, request: ModelRequest, sent: Sent) -> tuple[dict[str, Any], dict[str, Any]]:
        """What was asked in the end, and the answer; a setting that the provider does not take is left out for good."""
        body = self._to.provider.body(request, sent)
        while True:
            for name in self._refused:
                body.pop(name, None)
            try:
                return body, self._line.ask(body)
            except RefusedSettingError as refused:
                if refused.name in self._refused:
                    raise ReplayFault(f"{self._to.host} refuses {one_line(refused.name, 80)} again and again") from None
                self._refused.append(refused.name)

    def _ignored(self, body: dict[str, Any], heard: dict[str, Any]) -> list[str]:
        told = [*self._unknown, *(f"{name} (refused by the provider)" for name in self._refused)]
        if "seed" in body and heard.get("system_fingerprint") is None:
            told.append(_UNCONFIRMED)
        return told
