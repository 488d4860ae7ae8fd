"""How are texts kept that many rows share, and texts that every row has for itself?"""

from __future__ import annotations

from array import array


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

    def __getitem__(self, number: int) -> str:
        return self._texts[number]


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

    def __getitem__(self, number: int) -> str:
        begin = self._ends[number - 1] if number > 0 else 0
        return self._bytes[begin : self._ends[number]].decode("utf-8", "surrogatepass")
