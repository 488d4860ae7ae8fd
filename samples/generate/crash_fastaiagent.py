"""Makes crash.db: the card is charged, then the model's provider fails and the run ends in an exception."""

from __future__ import annotations

from contextlib import suppress

from fastai_store import agent, database
from scenarios import crash


class ProviderError(RuntimeError):
    """What the model's client raises when the provider answers 503."""


def main() -> None:
    """Charge, then fail: the exception is the sample's point and ends here."""
    with database("crash.db"), suppress(ProviderError):
        scenario = crash()
        agent(scenario, after_turns=ProviderError("provider returned 503")).run(scenario.user)


if __name__ == "__main__":
    main()
