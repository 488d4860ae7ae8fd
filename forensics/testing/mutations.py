"""What can happen to a file between the run that wrote it and the person who reads it? Seeded damage, the same for the
same seed: bytes are cut, flipped, moved and put in; values of JSON records are replaced by hostile ones.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ROUNDS = 3  # of damage in one mutation, at most
_LONGEST_SLICE = 4096
_TOKENS = (
    b"\x00" * 64, b"\n", b"\r\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\xe9", b"\xed\xb2\x80", b'"', b"\\", b"\\ud800",
    b"\\u0000", b"{", b"}", b"[", b"]", b",", b":", b"null", b"NaN", b"-Infinity", b"1e400", b"9" * 40, b"[" * 600,
    b'{"a":' * 600, b"<script>", b"\x1b[2J", b"../../", b"\xe2\x80\xa8", b'{"type":"tool_call"}\n',
    b"&x *x !!python/object",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**53 + 1, 2**70, 1.5, 1e308, "", " ", "0", "\x00", "\ud800", "\u202e", "\x1b]0;x\x07",
    "../../etc/passwd", "<script>alert(1)</script>", "{", '{"a": 1, "a": 2}', "[REDACTED]", "x" * 5000, [], {}, [[]],
    [None], {"": None}, {"type": "tool_use"}, {"name": {}, "arguments": []}, ["\ud800"], "1970-01-01T00:00:00Z",
    "9999-99-99", "tool_call", "error",
)  # fmt: skip


class Mutation(msgspec.Struct, frozen=True):
    """Damaged bytes and how they came about; `number` and the seed make them again."""

    number: int
    how: str
    data: bytes


def truncations(data: bytes, parts: int = 50) -> Iterator[Mutation]:
    """The file cut at each of `parts` equal parts, the empty file included."""
    for number in range(parts):
        cut = len(data) * number // parts
        yield Mutation(number, f"cut after {cut} bytes", data[:cut])


def mutations(data: bytes, seed: int, count: int) -> Iterator[Mutation]:
    """`count` damaged copies of the file."""
    for number in range(count):
        chance = random.Random(f"{seed}:{number}")  # noqa: S311 - damage has to be made again, not to be secret
        damaged, done = data, []
        for _ in range(chance.randint(1, _ROUNDS)):
            how = chance.choice(_DAMAGE)
            damaged = how(damaged, chance)
            done.append(how.__name__.strip("_"))
        yield Mutation(number, ", ".join(done), damaged)


def shuffles(data: bytes, seed: int, count: int) -> Iterator[Mutation]:
    """The lines of the file in other orders."""
    lines = data.splitlines(keepends=True) if b"\n" in data else [data]
    for number in range(count):
        mixed = lines[:]
        random.Random(f"{seed}:{number}").shuffle(mixed)  # noqa: S311 - as above
        yield Mutation(number, "lines in another order", b"".join(mixed))


# damage to bytes -----------------------------------------------------------------------------------------------------


def _slice(data: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randint(0, len(data))
    return start, min(len(data), start + chance.randint(1, min(_LONGEST_SLICE, max(1, len(data) // 4))))


def _cut_out(data: bytes, chance: random.Random) -> bytes:
    start, end = _slice(data, chance)
    return data[:start] + data[end:]


def _cut_off(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randint(0, len(data))]


def _double(data: bytes, chance: random.Random) -> bytes:
    start, end = _slice(data, chance)
    return data[:end] + data[start:end] + data[end:]


def _move(data: bytes, chance: random.Random) -> bytes:
    start, end = _slice(data, chance)
    rest = data[:start] + data[end:]
    to = chance.randint(0, len(rest))
    return rest[:to] + data[start:end] + rest[to:]


def _flip(data: bytes, chance: random.Random) -> bytes:
    if not data:
        return data
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]


def _put_in(data: bytes, chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    return data[:at] + chance.choice(_TOKENS) + data[at:]


def _zero(data: bytes, chance: random.Random) -> bytes:
    start, end = _slice(data, chance)
    return data[:start] + bytes(end - start) + data[end:]


# damage to JSON ------------------------------------------------------------------------------------------------------


def _replace_value(data: bytes, chance: random.Random) -> bytes:
    return _in_json(data, chance, _replaced)


def _drop_member(data: bytes, chance: random.Random) -> bytes:
    return _in_json(data, chance, _dropped)


def _say_twice(data: bytes, chance: random.Random) -> bytes:
    return _in_json(data, chance, _said_twice)


def _in_json(data: bytes, chance: random.Random, change: Callable[[Any, random.Random], None]) -> bytes:
    """One JSON text of the file (a line, or the whole) with a change at one place; the file where it holds none."""
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    for one, put_back in ((lines[at], lambda new: b"\n".join((*lines[:at], new, *lines[at + 1 :]))), (data, bytes)):
        try:
            value = json.loads(one)
        except (ValueError, RecursionError):
            continue
        holders = list(_holders(value))
        if holders:
            change(chance.choice(holders), chance)
            return put_back(json.dumps(value, separators=(",", ":")).encode())
    return data


def _holders(value: Any) -> Iterator[Any]:
    """Every object and array of a value that holds something."""
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, (dict, list)) and one:
            yield one
            todo.extend(one.values() if isinstance(one, dict) else one)


def _key_of(holder: Any, chance: random.Random) -> Any:
    return chance.choice(list(holder)) if isinstance(holder, dict) else chance.randrange(len(holder))


def _replaced(holder: Any, chance: random.Random) -> None:
    holder[_key_of(holder, chance)] = chance.choice(_VALUES)


def _dropped(holder: Any, chance: random.Random) -> None:
    del holder[_key_of(holder, chance)]


def _said_twice(holder: Any, chance: random.Random) -> None:
    """An item twice in its array; of an object, a member under another member's name."""
    value = holder[_key_of(holder, chance)]
    if isinstance(holder, list):
        holder.append(value)
    else:
        holder[_key_of(holder, chance)] = value


_DAMAGE: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _cut_out, _cut_off, _double, _move, _flip, _put_in, _zero,
    _replace_value, _replace_value, _replace_value, _drop_member, _drop_member, _say_twice,
)  # fmt: skip
