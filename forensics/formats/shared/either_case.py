"""What does an object hold under a name that may be spelled in snake or in camel case, and where does that stand?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.formats.shared.fields import Fields, fields_of, items_in, present, spelled, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from forensics.core.build import Spot
    from forensics.core.trace import Payload


class EitherCase:
    """An object and its spot; names are asked for in snake case. A member that stands there in both spellings is kept
    once more under a name that nobody asks for.
    """

    def __init__(self, raw: Payload, spot: Spot) -> None:
        self.raw, self.spot = raw, spot
        self.fields: Fields = {}
        self._written: dict[str, str] = {}
        for written, held in fields_of(raw).items():
            name = spelled(written)
            name = f"{name} (again)" if name in self.fields else name
            self.fields[name], self._written[name] = held, written

    @staticmethod
    def names(fields: Iterable[str]) -> set[str]:
        """The names of these members, in snake case."""
        return {spelled(name) for name in fields}

    def held(self, name: str) -> Payload | None:
        """What the member holds; None where it is not there, or null."""
        return present(self.fields, name)

    def text(self, *names: str) -> str:
        """The text of the first of these members that holds one, else ""."""
        return text(self.fields, *names)

    def spot_of(self, name: str) -> Spot:
        """Where the member stands."""
        return self.spot.down(f"/{self._written.get(name, name)}")

    def inner(self, name: str) -> EitherCase | None:
        """The object in the member; None where it is not there, or null."""
        held = self.held(name)
        return None if held is None else EitherCase(held, self.spot_of(name))

    def items(self, name: str) -> Iterator[tuple[Payload, Spot]]:
        """The items of the list in the member."""
        for at, item in enumerate(items_in(self.fields, name)):
            yield item, self.spot_of(name).down(f"/{at}")

    def objects(self, name: str) -> Iterator[EitherCase]:
        """The objects in the list of the member."""
        for item, spot in self.items(name):
            yield EitherCase(item, spot)
