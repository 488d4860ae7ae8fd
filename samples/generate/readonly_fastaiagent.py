"""Makes readonly.db: a run that only reads."""

from __future__ import annotations

from fastai_store import agent, database
from scenarios import readonly


def main() -> None:
    """Run the two reads."""
    with database("readonly.db"):
        scenario = readonly()
        agent(scenario).run(scenario.user)


if __name__ == "__main__":
    main()
