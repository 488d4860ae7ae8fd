"""Which lines are written just as objects of known forms would be written, and what do these hold?

A session of one program has a few dozen kinds of objects, whose keys nearly always stand in the same order. That order
is learned from lines that were met and becomes a type, into which later lines are decoded all together, with all that
stands in them. What was decoded is taken only where it is, written again, the very bytes of its line: then each key
stands once, none was passed over, and nothing is written between the fields but commas. Other lines are for others to
read.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from operator import attrgetter, eq
from typing import Any

import msgspec

Keys = tuple[str, ...]
Orders = frozenset[tuple[str, Keys]]
"""The orders in which the keys of objects stand, each with the name of their form."""

ABSENT = msgspec.UNSET
"""What an object has instead of a field that is not there."""

TEXT: Any = str | None
FLAG: Any = bool | None
SCALAR: Any = str | int | float | bool | None
_SCALARS = (TEXT, FLAG, SCALAR)
_KEYS = 256  # of the objects of one form
_SPELLINGS = 6  # of one evidence
_LESSONS = 1000  # lines of one evidence of which the order of the keys is asked
_FEW = 24  # lines from which nothing is learned yet
_CACHED = 64
_REFUSED = (msgspec.DecodeError, UnicodeDecodeError, UnicodeEncodeError, RecursionError)
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_write = msgspec.json.Encoder().encode
_write_lines = msgspec.json.Encoder().encode_lines


class Form(msgspec.Struct, frozen=True, eq=False):
    """Objects of one kind: the types of the fields that are read, `Raw` for JSON as it stands, a form or what holds one
    for what is opened; those of which it is asked where they stand; and names that none of these objects may have.
    """

    name: str
    types: Mapping[str, Any]
    sought: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()


class Items(msgspec.Struct, frozen=True, eq=False):
    """A list of objects of a form, or a text in its place."""

    of: Form


class OrText(msgspec.Struct, frozen=True, eq=False):
    """An object of a form, or a text in its place."""

    of: Form


def keys_of(one: Any) -> list[str]:
    """The keys that an object has."""
    named = zip(one.__struct_encode_fields__, one.__struct_fields__, strict=True)
    return [key for key, name in named if getattr(one, name) is not ABSENT]


class Spelling:
    """One order of the keys of each form, and the type of the objects that are written so.

    The class of each object says in `free`, for each field that is sought, whether nothing but scalars stands before
    it.
    """

    def __init__(self, root: Form, orders: Orders) -> None:
        self.orders = orders
        decoder = msgspec.json.Decoder(_type_of_objects(root, orders))
        self._decode, self._decode_lines = decoder.decode, decoder.decode_lines

    def whole(self, text: bytes) -> list[Any] | None:
        """The objects of a text of lines; None where it holds anything else."""
        try:
            found: list[Any] = self._decode_lines(text)
            written = _write_lines(found)
        except _REFUSED:
            return None
        return found if text == written or text == written[:-1] else None

    def each(self, lines: Sequence[bytes]) -> list[Any]:
        """The object of each line; None for one that is not written so."""
        try:
            found = list(map(self._decode, lines))
            same = map(eq, map(_write, found), lines)
            return [one if is_same else None for one, is_same in zip(found, same, strict=True)]
        except _REFUSED:
            return list(map(self._one, lines))

    def _one(self, line: bytes) -> Any:
        try:
            found = self._decode(line)
            return found if _write(found) == line else None
        except _REFUSED:
            return None


_spelling = functools.lru_cache(_CACHED)(Spelling)


class Spellings:
    """The spellings of the lines of one evidence, as far as they were met. Lines that contradict each other in the
    order of their keys are of several spellings.
    """

    def __init__(self, root: Form) -> None:
        self._root = root
        self._known: list[Spelling] = []
        self._lessons = _LESSONS

    def whole(self, text: bytes) -> list[Any] | None:
        """The objects of a text of lines; None where not all of these are of the first spelling that was met."""
        return self._known[0].whole(text) if self._known else None

    def each(self, lines: Sequence[bytes]) -> list[Any]:
        """The object of each line; None for one that is of no spelling."""
        found: list[Any] = [None] * len(lines)
        left = _take(self._known, lines, range(len(lines)), found)
        if len(left) >= _FEW and self._lessons > 0:
            self._lessons -= len(left)
            _take(self._learned([lines[at] for at in left]), lines, left, found)
        return found

    def _learned(self, lines: Iterable[bytes]) -> list[Spelling]:
        """What is learned from lines that are of no spelling."""
        every = [set(one.orders) for one in self._known]
        for met in dict.fromkeys(filter(None, (_orders_of(self._root, line) for line in lines))):
            fitting = next((one for one in every if _fits(one, met)), None)
            if fitting is not None:
                fitting |= met
            elif len(every) < _SPELLINGS and _fits((), met):
                every.append(set(met))
        before, self._known = self._known, [_spelling(self._root, frozenset(one)) for one in every]
        return [one for one in self._known if one not in before]


def _take(
    spellings: Iterable[Spelling], lines: Sequence[bytes], left: Sequence[int], found: list[Any]
) -> Sequence[int]:
    """Note the objects of the lines that are of one of these spellings; returns which lines are left."""
    for spelling in spellings:
        told = spelling.each([lines[at] for at in left])
        for at, one in zip(left, told, strict=True):
            found[at] = one
        left = [at for at, one in zip(left, told, strict=True) if one is None]
    return left


# types ---------------------------------------------------------------------------------------------------------------


def _type_of_objects(form: Form, orders: Orders) -> Any:
    """The type of the objects of a form. What stands before a field that is sought has to be a scalar, so that the key
    of that one is the first of its spelling behind the object's beginning.
    """
    met = sorted(keys for name, keys in orders if name == form.name)
    keys = _merged([*met, *((key,) for key in form.types)])
    before = _standing_before(form.sought, met)
    names = [key if key in form.types else f"_{at}" for at, key in enumerate(keys)]
    types = [_type_of(form.types.get(key, msgspec.Raw), orders, scalar=key in before) for key in keys]
    free = {
        key: _is_free([name for name, one in zip(names[:at], types, strict=False) if one not in _SCALARS])
        for at, key in enumerate(keys)
        if key in form.sought
    }
    fields = [(name, one | msgspec.UnsetType, ABSENT) for name, one in zip(names, types, strict=True)]
    renamed = dict(zip(names, keys, strict=True))
    return msgspec.defstruct(form.name, fields, namespace={"free": free}, rename=renamed, gc=False)


def _is_free(opaque: list[str]) -> Callable[[Any], bool]:
    """Whether an object has none of these fields."""
    if not opaque:
        return _always
    held, nothing = attrgetter(*opaque, opaque[0]), (ABSENT,) * (len(opaque) + 1)
    return lambda one: bool(held(one) == nothing)


def _always(_: Any) -> bool:
    return True


def _type_of(told: Any, orders: Orders, *, scalar: bool) -> Any:
    if isinstance(told, Form):
        return _type_of_objects(told, orders) | None
    if isinstance(told, OrText):
        return _type_of_objects(told.of, orders) | str | None
    if isinstance(told, Items):
        return list.__class_getitem__(_type_of_objects(told.of, orders)) | str | None
    return SCALAR if scalar and told is msgspec.Raw else told


def _standing_before(sought: frozenset[str], met: Iterable[Keys]) -> frozenset[str]:
    """The keys that stand before one that is sought, and are not sought themselves."""
    ends = ((keys, max((at for at, key in enumerate(keys) if key in sought), default=0)) for keys in met)
    return frozenset(key for keys, end in ends for key in keys[:end]) - sought


# orders --------------------------------------------------------------------------------------------------------------


def _orders_of(root: Form, line: bytes) -> Orders:
    """The orders of the keys of all objects of a line; none where it holds one that is read otherwise."""
    try:
        return frozenset(_met(root, line))
    except (*_REFUSED, ValueError):
        return frozenset()


def _met(form: Form, text: bytes | msgspec.Raw) -> Iterator[tuple[str, Keys]]:
    """The order of the keys of an object, and those of the objects in it. Raises ValueError for what is read otherwise,
    and what the decoder raises.
    """
    fields = _fields(text)
    if form.never & fields.keys() or len(fields) > _KEYS or not all(map(_can_be_named, fields)):
        raise ValueError(form.name)
    yield form.name, tuple(fields)
    for name, held in form.types.items():
        told = fields.get(name)
        opened = b"" if told is None else bytes(memoryview(told)[:1])
        if isinstance(held, (Form, OrText)) and told is not None and opened == b"{":
            yield from _met(held if isinstance(held, Form) else held.of, told)
        elif isinstance(held, Items) and told is not None and opened == b"[":
            for item in _items(told):
                yield from _met(held.of, item)


def _can_be_named(key: str) -> bool:
    return key.isprintable() and '"' not in key and "\\" not in key


def _fits(orders: Iterable[tuple[str, Keys]], met: Orders) -> bool:
    """Whether the keys of all these objects can stand in one order."""
    try:
        every = {*orders, *met}
        return all(len(_merged(keys for of, keys in every if of == name)) <= _KEYS for name, _ in met)
    except CycleError:
        return False


def _merged(orders: Iterable[Keys]) -> Keys:
    """One order of all keys. Raises CycleError where there is none."""
    follows: dict[str, list[str]] = {}
    for keys in orders:
        for key in keys:
            follows.setdefault(key, [])
        for one, after in pairwise(keys):
            follows[after].append(one)
    return tuple(TopologicalSorter(follows).static_order())
