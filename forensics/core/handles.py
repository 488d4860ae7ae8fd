"""Which value did a call mint, and where did it go? Handles, references, and their uses, in columns."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from operator import le, lt
from typing import overload

import msgspec

from forensics.core.places import NOWHERE
from forensics.core.strings import Strings, Texts

REFERENCE = "reference"
BRANCH = "branch"
BARE = "bare"
"""How a value is written of which only what follows its prefix stands there: that it is meant is inferred."""


class Use(msgspec.Struct, frozen=True, gc=False):
    """One later place of a value: the step, its role (argument, prompt, model_output, final_answer, branch), the JSON
    Pointer where there is one, and how it stands there (verbatim, number, case, url, base64, embedded, bare).

    `echo` marks a result that repeats the value. A `branch` is the first model turn that was shown it (inferred).
    """

    step: int
    role: str
    written: str
    pointer: str | None = None
    echo: bool = False

    @property
    def stands_as(self) -> str:
        """How the value stands there in the words of documents, which know no `bare`."""
        return "embedded" if self.written == BARE else self.written

    @property
    def is_inferred(self) -> bool:
        """Whether that the text means this value is inferred, not recorded."""
        return self.role == BRANCH or self.written == BARE


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
        return len(self.uses) > 1 or any(use.role != BRANCH for use in self.uses)

    @property
    def minted(self) -> bool:
        """Whether the call made the value, rather than found it."""
        return self.kind != REFERENCE


UseTold = tuple[int, int, str, str, str | None, bool]
"""A use: the number of its handle, step, role, written, pointer, echo."""


class Handles(Sequence[Handle]):
    """The handles of one trace; each is made when somebody asks. While values are followed they stand in the order in
    which they were found, and their number is that in this order; once closed, in the order of their steps. `turns` are
    the rows of the model's turns: the first one after a step was shown what the step brought.
    """

    def __init__(self, turns: Sequence[int] = ()) -> None:
        self._turns = turns
        self._values = Texts()
        self._kinds = Strings()
        self._reference = self._kinds.add(REFERENCE)
        self._pointers = Strings()
        self._kind = array("i")
        self._call = array("i")
        self._step = array("i")
        self._pointer = array("i")
        self._item = array("i")
        self._uses = _Uses()
        self._order = array("i")
        self._by_call = array("i")
        self._begin = array("i")

    def __len__(self) -> int:
        return len(self._step)

    def add_all(  # noqa: PLR0917 - the columns of a handle
        self,
        values: Sequence[str],
        kinds: Sequence[str],
        calls: Sequence[int],
        steps: Sequence[int],
        pointers: Sequence[str],
        items: Sequence[int],
    ) -> range:
        """Add handles, those of one step in their order; returns their numbers. The pointer of one that is an item of
        an array may be that of the array, with the number of the item beside it (NOWHERE: the pointer is its own).
        """
        first = len(self)
        self._values.add_all(values)
        self._kind.extend(self._kinds.add_all(kinds))
        self._call.extend(calls)
        self._step.extend(steps)
        self._pointer.extend(self._pointers.add_all(pointers))
        self._item.extend(items)
        return range(first, len(self))

    def use_all(self, told: Sequence[UseTold]) -> None:
        """Add uses to the handles that they name."""
        if told:
            self._uses.add_all(told)

    def value(self, number: int) -> tuple[str, str]:
        """The value of the handle of that number, and its kind."""
        return self._values[number], self._kinds[self._kind[number]]

    def close(self) -> None:
        """Put the handles into the order of their steps, when the last one and its last use are there."""
        self._order = _places_by(self._step)
        self._uses.close(len(self))
        calls = array("i", (self._call[number] for number in self._order))
        self._begin, self._by_call = _sorted_by(calls, max(calls, default=NOWHERE) + 1)

    def minted_by(self, call: int) -> list[str]:
        """The values that a call minted, by their steps."""
        if call + 1 >= len(self._begin):
            return []
        numbers = (self._order[at] for at in self._by_call[self._begin[call] : self._begin[call + 1]])
        return [self._values[number] for number in numbers if self._kind[number] != self._reference]

    def minted_in(self, calls: range) -> list[list[str]]:
        """The values that each of these calls minted, by their steps."""
        found: list[list[str]] = [[] for _ in calls]
        stop = min(calls.stop, len(self._begin) - 1)
        if stop <= calls.start:
            return found
        places = self._by_call[self._begin[calls.start] : self._begin[stop]]
        numbers = [number for at in places if self._kind[number := self._order[at]] != self._reference]
        for number, value in zip(numbers, self._values.several(numbers), strict=True):
            found[self._call[number] - calls.start].append(value)
        return found

    @overload
    def __getitem__(self, at: int) -> Handle: ...
    @overload
    def __getitem__(self, at: slice) -> list[Handle]: ...
    def __getitem__(self, at: int | slice) -> Handle | list[Handle]:
        if isinstance(at, slice):
            return self._several(self._order[at])
        return self._handle(self._order[at])

    def __iter__(self) -> Iterator[Handle]:
        return map(self._handle, self._order)

    def first_by_call(self) -> Iterator[tuple[int, int]]:
        """Each call that minted a value, with the place among the handles of the first one: by their steps."""
        told = bytearray(max(self._call, default=NOWHERE) + 1)
        for at, number in enumerate(self._order):
            call = self._call[number]
            if self._kind[number] != self._reference and not told[call]:
                told[call] = True
                yield call, at

    def call(self, at: int) -> int:
        """The call of the handle at that place."""
        return self._call[self._order[at]]

    def carried(self) -> Iterator[int]:
        """The places of the handles that were minted and that a later text holds."""
        used, kinds, reference = self._uses.any(), self._kind, self._reference
        return (at for at, number in enumerate(self._order) if used[number] and kinds[number] != reference)

    def _handle(self, number: int) -> Handle:
        return self._several((number,))[0]

    def _several(self, numbers: Sequence[int]) -> list[Handle]:
        branches = list(map(self._branch, numbers))
        shown = {branch: [Use(branch, BRANCH, "verbatim")] for branch in branches if branch >= 0}
        return [
            Handle(
                value,
                self._kinds[self._kind[number]],
                self._call[number],
                self._step[number],
                self._pointer_of(number),
                [*shown.get(branch, ()), *self._uses.of(number)],
            )
            for number, branch, value in zip(numbers, branches, self._values.several(numbers), strict=True)
        ]

    def _pointer_of(self, number: int) -> str:
        pointer, item = self._pointers[self._pointer[number]], self._item[number]
        return pointer if item < 0 else f"{pointer}/{item}"

    def _branch(self, number: int) -> int:
        """The first turn of the model that was shown that handle: what it did next may rest on it (-1: none)."""
        after = bisect_right(self._turns, self._step[number])
        return self._turns[after] if after < len(self._turns) else NOWHERE


def _sorted_by(keys: Sequence[int], count: int) -> tuple[array[int], array[int]]:
    """The places of keys below `count`, sorted by key and, of one key, in their order; and where each key begins among
    them, with one more for the end.
    """
    held = Counter(keys)
    begins = accumulate((held.get(key, 0) for key in range(count)), initial=0)
    return array("i", begins), _places_by(keys)


def _places_by(keys: Sequence[int]) -> array[int]:
    """The places of keys, sorted by key and, of one key, in their order: most often as they stand."""
    stand = all(map(le, keys, islice(keys, 1, None)))
    return array("i", range(len(keys)) if stand else sorted(range(len(keys)), key=keys.__getitem__))


class _Uses:
    """The uses of all handles, in the order in which they were found and, once closed, by handle."""

    def __init__(self) -> None:
        self._words = Strings()
        self._pointers = Strings()
        self._handle = array("i")
        self._step = array("i")
        self._role = array("B")
        self._written = array("B")
        self._pointer = array("i")
        self._echo = bytearray()
        self._begin = array("i")
        self._sorted = array("i")

    def add_all(self, told: Sequence[UseTold]) -> None:
        handles, steps, roles, written, pointers, echoes = zip(*told, strict=True)
        self._handle.extend(handles)
        self._step.extend(steps)
        self._role.extend(self._words.add_all(roles))
        self._written.extend(self._words.add_all(written))
        self._pointer.extend(NOWHERE if one is None else self._pointers.add(one) for one in pointers)
        self._echo += bytes(echoes)

    def close(self, handles: int) -> None:
        """Sort them by handle: each in the order in which they were found."""
        self._begin, self._sorted = _sorted_by(self._handle, handles)

    def any(self) -> bytes:
        """By handle, whether it has any."""
        return bytes(map(lt, self._begin, self._begin[1:]))

    def of(self, handle: int) -> list[Use]:
        return [self._use(at) for at in self._sorted[self._begin[handle] : self._begin[handle + 1]]]

    def _use(self, at: int) -> Use:
        pointer = self._pointer[at]
        return Use(
            self._step[at],
            self._words[self._role[at]],
            self._words[self._written[at]],
            None if pointer < 0 else self._pointers[pointer],
            bool(self._echo[at]),
        )
