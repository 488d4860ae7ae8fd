"""How are texts kept that many rows share, texts of which many differ by a number alone, and texts that every row has
for itself?
"""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import TYPE_CHECKING

from forensics.core.late import late

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence


class Strings:
    """Interned strings: equal strings share one small number."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {"": 0}
        self._texts = [""]

    def add(self, text: str) -> int:
        """The number of a text."""
        number = self._index.get(text)
        if number is None:
            number = self._index[text] = len(self._texts)
            self._texts.append(text)
        return number

    def add_all(self, texts: Sequence[str]) -> list[int]:
        """The number of each text."""
        known = map(self._index.get, texts)
        return [self.add(text) if number is None else number for number, text in zip(known, texts, strict=True)]

    def __getitem__(self, number: int) -> str:
        return self._texts[number]


Parted = tuple[str, int, str]
"""A text as what stands before a number in it, the number (not below 0), and what stands behind it."""

_NUMBER = late(r"[1-9][0-9]{0,8}")
_LATEST = 4096  # texts that are kept once where they come again soon
_NO_NUMBER = -1
_WHOLE = 256  # texts, more than most traces have


class Numbered:
    """Texts of which many differ by a number alone, as the JSON Pointers of what one list holds. Those that are alike
    around their longest number have that once, and each of them eight bytes; the first ones are kept whole. The text ""
    has the number 0.
    """

    def __init__(self) -> None:
        self._around: dict[tuple[str, str], int] = {("", ""): 0}
        self._parts = [("", "")]
        self._part_of, self._number_in = array("i", [0]), array("i", [_NO_NUMBER])
        self._latest: dict[str | Parted, int] = {"": 0}

    def add(self, text: str | Parted) -> int:
        """The number of a text; one that stood long ago has another than it had then."""
        number = self._latest.get(text)
        if number is None:
            if len(self._latest) >= _LATEST:
                self._latest = {"": 0}
            number = self._latest[text] = len(self._part_of)
            before, told, behind = self._parted(text) if isinstance(text, str) else text
            part = self._around.setdefault((before, behind), len(self._parts))
            if part == len(self._parts):
                self._parts.append((before, behind))
            self._part_of.append(part)
            self._number_in.append(told)
        return number

    def add_all(self, texts: Sequence[str | Parted]) -> list[int]:
        """The number of each text."""
        return list(map(self.add, texts))

    def _parted(self, text: str) -> Parted:
        found = max(_NUMBER.finditer(text), key=_size, default=None) if len(self._parts) > _WHOLE else None
        if found is None:
            return text, _NO_NUMBER, ""
        return text[: found.start()], int(found[0]), text[found.end() :]

    def __getitem__(self, number: int) -> str:
        before, behind = self._parts[self._part_of[number]]
        told = self._number_in[number]
        return f"{before}{told}{behind}" if told >= 0 else before + behind


def _size(found: re.Match[str]) -> int:
    return found.end() - found.start()


class Texts:
    """Texts in one run of bytes, for those that hardly ever come again: ids. A text costs its bytes and eight more."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._ends = array("q")

    def __len__(self) -> int:
        return len(self._ends)

    def add(self, text: str) -> int:
        """Keep a text; returns its number."""
        self._bytes += text.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._bytes))
        return len(self._ends) - 1

    def add_all(self, texts: Sequence[str]) -> range:
        """Keep texts; returns their numbers."""
        first, end = len(self._ends), len(self._bytes)
        told: Sequence[str | bytes] = list(texts)
        written = "".join(texts).encode("utf-8", "surrogatepass")
        if not written.isascii():
            told = [text.encode("utf-8", "surrogatepass") for text in texts]
        self._bytes += written
        self._ends.extend(array("q", list(accumulate(map(len, told), initial=end))[1:]))
        return range(first, len(self._ends))

    def forget(self, size: int) -> None:
        """Forget the texts that were added since there were so many."""
        del self._ends[size:]
        del self._bytes[self._ends[-1] if self._ends else 0 :]

    def __getitem__(self, number: int) -> str:
        begin = self._ends[number - 1] if number > 0 else 0
        return self._bytes[begin : self._ends[number]].decode("utf-8", "surrogatepass")

    def several(self, numbers: Sequence[int]) -> list[str]:
        """The texts of these numbers. Those of a run of numbers, as neighbours have, are decoded together."""
        if not numbers:
            return []
        first, last = numbers[0], numbers[-1]
        begin = self._ends[first - 1] if first > 0 else 0
        run = self._bytes[begin : self._ends[last]]
        if list(numbers) != list(range(first, last + 1)) or not run.isascii():
            return [self[number] for number in numbers]
        text, ends = run.decode(), [end - begin for end in self._ends[first : last + 1]]
        return [text[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
